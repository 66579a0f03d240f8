//! The file of a source: an address, and HEADER:, FILTER:, METADATA: and further lines
//! (docs/spec/openmetrics.md, OM-15 to OM-22). A script has some of them in comments at its head.
//!
//! Regular expressions match at the beginning of a name and need not reach its end. They may look
//! ahead and look behind, as those of PCP's agent in Python may.

mod own;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fancy_regex::Regex;

use crate::exposition::Shortened;
use crate::fetch::{Proof, Secure, Url, is_header};
use crate::secret::Secret;

/// The first characters of a line in a script. Such lines are comments before the script's first
/// line that is no comment.
const IN_SCRIPT: &str = "#OPENMETRICS ";

/// The most lines of one file that its status names.
const UNUSED: usize = 3;

/// The most lines of one file that are named in the log.
const FAULTS: usize = 50;

/// The effect of a filter on a metric or a label.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Shown; a label names the instance.
    Include,
    /// Not shown.
    Exclude,
    /// Of labels: shown, but no part of the instance's name.
    Optional,
}

/// The lines of a source. The default is those of a script without any: no address, nothing
/// filtered.
#[derive(Clone, Default)]
pub struct Config {
    /// The address, which the first line has.
    pub url: Url,
    /// Headers of the request, with names and values; of two with one name the last counts.
    pub headers: Vec<(String, Secret)>,
    /// The files with secrets for the request, if there are any.
    pub proof: Option<Arc<Proof>>,
    /// The settings of the source's own connections with TLS, and the certificates that are
    /// trusted.
    pub secure: Option<Arc<Secure>>,
    /// The time that the source may take altogether, in place of `limits::BACKGROUND`.
    pub timeout: Option<Duration>,
    /// The time for which a document serves requests before it is fetched again.
    pub interval: Option<Duration>,
    /// The time for which series are remembered that are no longer in documents; `None` for ever.
    pub forget: Option<Duration>,
    /// True if the type of a metric is the one of its `# TYPE`, whatever words its name has.
    pub has_types_of_document: bool,
    /// Lines that have no effect, each with the reason; of many the first ones, and how many more.
    pub unused: Vec<String>,
    metrics: Vec<Filter>,
    labels: Vec<Filter>,
    metadata: Vec<(Pattern, String)>,
}

/// The address alone: the rest has secrets.
impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Config({})", self.url)
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Filter {
    action: Action,
    pattern: Pattern,
}

/// A regular expression that matches at the beginning.
#[derive(Clone, Debug)]
struct Pattern {
    text: String,
    regex: Regex,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Pattern {
    fn new(text: &str) -> Result<Pattern, String> {
        // First as it is: what is wrong alone must not be right within parentheses.
        Regex::new(text)
            .and_then(|_| Regex::new(&format!(r"\A(?:{text})")))
            .map(|regex| Pattern {
                text: text.to_owned(),
                regex,
            })
            .map_err(|error| format!("not a regular expression: {error}").replace('\n', " "))
    }

    /// An expression that would take too long does not match.
    fn matches(&self, name: &str) -> bool {
        self.regex.is_match(name).unwrap_or(false)
    }
}

impl Config {
    /// Reads the text of the file of an address. The second value is what the log is to say: a line
    /// for each of the file that cannot be used, and has no effect.
    #[must_use]
    pub fn read(text: &str) -> (Config, Vec<String>) {
        let mut config = Config::default();
        // As Python reads text: CR LF, CR and LF end lines.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut lines = (1..)
            .zip(text.trim_end().split('\n'))
            .skip_while(|(_, line)| line.trim().is_empty());
        config.url = Url::new(lines.next().map_or("", |(_, line)| line));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let name = config.url.to_string();
        let faults = config.take_all(&name, lines, Config::take);
        (config, faults)
    }

    /// Reads the lines at the head of a script with this name, as [`Config::read`]. What does not
    /// begin with `#!` is a program, which has none.
    #[must_use]
    pub fn of_script(name: &str, text: &str) -> (Config, Vec<String>) {
        let mut config = Config::default();
        if !text.starts_with("#!") {
            return (config, Vec::new());
        }
        let head = (1..).zip(text.split('\n').map(str::trim_end));
        let head = head.take_while(|(_, line)| line.is_empty() || line.starts_with('#'));
        let lines = head.filter_map(|(number, line)| Some((number, line.strip_prefix(IN_SCRIPT)?.trim_start())));
        let faults = config.take_all(name, lines, Config::take_of_script);
        (config, faults)
    }

    fn take_all<'l>(
        &mut self,
        name: &str,
        lines: impl Iterator<Item = (usize, &'l str)>,
        take: impl Fn(&mut Config, &str) -> Result<(), Unusable>,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        let (mut unused, mut more) = (0_usize, 0_usize);
        for (number, line) in lines {
            if let Err(reason) = take(self, line) {
                unused += 1;
                if unused <= UNUSED {
                    let (line, reason) = (shown(line), reason.text());
                    self.unused.push(format!(
                        "line {number} \"{}\" has no effect: {reason}",
                        Shortened(&line)
                    ));
                }
                if faults.len() < FAULTS {
                    faults.push(format!("{name} ignored {reason} \"{}\"", shown(line)));
                } else {
                    more += 1;
                }
            }
        }
        match unused.saturating_sub(UNUSED) {
            0 => {}
            1 => self.unused.push("1 more line has no effect, see the log".to_owned()),
            more => self
                .unused
                .push(format!("{more} more lines have no effect, see the log")),
        }
        if more > 0 {
            faults.push(format!("{name} ignored {more} more config entries"));
        }
        faults
    }

    fn take_of_script(&mut self, line: &str) -> Result<(), Unusable> {
        let has_network = [
            "HEADER",
            "CERT",
            "KEY",
            "CA",
            "VERIFY",
            "TOKEN_FILE",
            "USER",
            "PASSWORD_FILE",
        ];
        match line.split_once(':') {
            Some((word, _)) if has_network.contains(&word) => {
                Err(Unusable::Wrong("which is for addresses, not for scripts".to_owned()))
            }
            _ => self.take(line),
        }
    }

    fn take(&mut self, line: &str) -> Result<(), Unusable> {
        let outcome = if let Some(header) = line.strip_prefix("HEADER:") {
            self.take_header(header)
        } else if let Some(filter) = line.strip_prefix("FILTER:") {
            // Up to the next colon: names in the expression have none.
            self.take_filter(filter.split(':').next().unwrap_or_default())
        } else if let Some(metadata) = line.strip_prefix("METADATA:") {
            self.take_metadata(metadata)
        } else {
            self.take_own(line).ok_or(Unusable::Unknown)?
        };
        outcome.map_err(Unusable::Wrong)
    }

    fn take_header(&mut self, text: &str) -> Result<(), String> {
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let name: String = name.split_whitespace().collect();
        if !is_header(&name, value.trim()) {
            return Err("no header of HTTP".to_owned());
        }
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(&name));
        self.headers.push((name, Secret::new(value.trim())));
        Ok(())
    }

    fn take_filter(&mut self, text: &str) -> Result<(), String> {
        let words: Vec<_> = text.split_whitespace().collect();
        let [action, kind, regex @ ..] = words.as_slice() else {
            return Err("not INCLUDE, EXCLUDE or OPTIONAL, METRIC or LABEL, and a regular expression".to_owned());
        };
        let action = match *action {
            "INCLUDE" => Action::Include,
            "EXCLUDE" => Action::Exclude,
            "OPTIONAL" => Action::Optional,
            _ => return Err("neither INCLUDE, EXCLUDE nor OPTIONAL".to_owned()),
        };
        let list = match *kind {
            "METRIC" => &mut self.metrics,
            "LABEL" => &mut self.labels,
            _ => return Err("neither METRIC nor LABEL".to_owned()),
        };
        let pattern = Pattern::new(&regex.join(" "))?;
        list.push(Filter { action, pattern });
        Ok(())
    }

    fn take_metadata(&mut self, text: &str) -> Result<(), String> {
        let mut words = text.split_whitespace();
        let regex = words.next().ok_or("no regular expression")?;
        let pattern = Pattern::new(regex)?;
        self.metadata.push((pattern, words.collect::<Vec<_>>().join(" ")));
        Ok(())
    }

    /// Returns whether a new metric is shown; `name` is that of the sample (OM-17, OM-18).
    #[must_use]
    pub fn includes_metric(&self, name: &str) -> bool {
        decide(&self.metrics, name) == Action::Include
    }

    /// Returns whether both have the same filters of metrics.
    #[must_use]
    pub fn has_same_metrics(&self, other: &Config) -> bool {
        self.metrics == other.metrics
    }

    /// Returns whether both have the same filters of labels.
    #[must_use]
    pub fn has_same_labels(&self, other: &Config) -> bool {
        self.labels == other.labels
    }

    /// Returns whether both have the same lines that say what a metric is.
    #[must_use]
    pub fn has_same_definitions(&self, other: &Config) -> bool {
        (&self.metadata, self.has_types_of_document) == (&other.metadata, other.has_types_of_document)
    }

    /// Returns whether a filter takes one of these labels out of the names of instances.
    #[must_use]
    pub fn takes_label<N: AsRef<str>>(&self, mut names: impl Iterator<Item = N>) -> bool {
        !self.labels.is_empty() && names.any(|name| self.label(name.as_ref()) != Action::Include)
    }

    /// The effect of the filters on a label.
    #[must_use]
    pub fn label(&self, name: &str) -> Action {
        decide(&self.labels, name)
    }

    /// The regular expression and the words of the METADATA line for a metric (OM-20).
    #[must_use]
    pub fn metadata(&self, name: &str) -> Option<(&str, &str)> {
        let line = self.metadata.iter().find(|(pattern, _)| pattern.matches(name));
        line.map(|(pattern, words)| (pattern.text.as_str(), words.as_str()))
    }
}

/// The reason why a line has no effect.
enum Unusable {
    /// The line begins with no known word.
    Unknown,
    /// The text after that word is wrong.
    Wrong(String),
}

impl Unusable {
    /// The reason alone.
    fn text(&self) -> &str {
        match self {
            Unusable::Unknown => "unrecognised config entry",
            Unusable::Wrong(reason) => reason,
        }
    }
}

/// As PCP's agent words it, in front of the line.
impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unusable::Unknown => f.write_str("unrecognised config entry"),
            Unusable::Wrong(reason) => write!(f, "config entry, {reason}:"),
        }
    }
}

/// A line for the log. It may have a secret that a slip has put in an odd place, so only lines that
/// have none by their kind are shown whole, and of others how they begin.
fn shown(line: &str) -> String {
    let line = line.trim_start();
    let end = line.find(|letter: char| !letter.is_ascii_alphabetic() && letter != '_');
    let (word, rest) = line.split_at(end.unwrap_or(line.len()));
    let has_colon = rest.starts_with(':');
    match word {
        "FILTER" | "METADATA" | "TIMEOUT" | "INTERVAL" | "FORGET" | "TYPES" | "VERIFY" if has_colon => line.to_owned(),
        "HEADER" if has_colon => match rest[1..].split_once(':') {
            Some((name, _)) if !name.trim().contains(char::is_whitespace) => format!("HEADER: {}: ...", name.trim()),
            _ => "HEADER: ...".to_owned(),
        },
        _ if has_colon => format!("{word}: ..."),
        // Two words, of which the first looks like that of a line.
        _ if rest.starts_with(' ') && word.bytes().all(|letter| !letter.is_ascii_lowercase()) => format!("{word} ..."),
        _ => "...".to_owned(),
    }
}

/// The first filter that matches decides.
fn decide(filters: &[Filter], name: &str) -> Action {
    let filter = filters.iter().find(|filter| filter.pattern.matches(name));
    filter.map_or(Action::Include, |filter| filter.action)
}
