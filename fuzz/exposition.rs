//! What a source of the agent openmetrics sends, and the file of its address.

use pmda_openmetrics::exposition::{Parser, Shortened, text, value};
use pmda_openmetrics::filter::Config;
use pmda_openmetrics::names::{self, Definition, SampleLabels};

/// The longest file of an address: expressions may take as long as they like to compile, and are
/// the administrator's own.
const CONFIG: usize = 200;

/// The bytes are the lines of an address's file, a zero byte, and a document; or a document.
pub fn exposition(data: &[u8]) {
    let zero = data.iter().take(CONFIG).position(|byte| *byte == 0);
    let (config, document) = zero.map_or((&[][..], data), |at| (&data[..at], &data[at + 1..]));
    let (config, faults) = Config::read(&format!("http://x\n{}", String::from_utf8_lossy(config)));
    assert!(faults.iter().all(|fault| !fault.contains('\n')), "{faults:?}");
    let document = text(document);
    let read = read(&document, &config);
    // Neither the end of the last line nor empty lines count.
    let spaced = document.replace('\n', "\n \n") + "\n";
    assert_eq!(read, self::read(&spaced, &config));
}

/// What the document says, in words.
fn read(document: &str, config: &Config) -> Vec<String> {
    let mut parser = Parser::new(document);
    let mut found = Vec::new();
    while let Some(sample) = parser.next_sample() {
        let sample = match sample {
            Ok(sample) => sample,
            Err(fault) => {
                let line = fault.to_string();
                assert!(line.chars().count() < 3000 && !line.contains('\n'), "{line}");
                found.push(line);
                continue;
            }
        };
        assert!(!sample.name.is_empty() && !sample.value.is_empty());
        // The text of the labels says all of them: it is what the agent looks instances up by.
        let again = format!("x{{{}}} 1", sample.label_text);
        let mut parser = Parser::new(&again);
        let same = parser.next_sample().expect("one").expect("as before");
        assert_eq!(same.labels, sample.labels);
        let labels = SampleLabels::of(&sample, config);
        for set in [&labels.naming, &labels.optional] {
            assert!(set.is_sorted_by(|a, b| a.0 < b.0), "{set:?}");
        }
        let definition = Definition::of(&sample, config);
        let (name, is_numbered) = names::instance_name(&labels.naming, definition.has_pcp_line);
        let integers = (value::signed_64(sample.value), value::unsigned_64(sample.value));
        if let (Some(signed), unsigned) = integers {
            assert_eq!(unsigned, Some(signed as u64), "{}", sample.value);
        }
        let word = (value::float(sample.value).map(f64::to_bits), integers);
        let shown = names::is_valid(&sample.name) && config.includes_metric(&sample.name);
        found.push(format!(
            "{shown} {name} {is_numbered} {word:?} {definition:?} {}",
            Shortened(sample.line)
        ));
    }
    found
}
