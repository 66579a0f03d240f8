//! The description of a metric, from what stands above its first sample.

use pmda::{BYTE, COUNT, SEC, Semantics, Type, USEC, Unit};

use super::below_source;
use crate::exposition::{Sample, joined};
use crate::filter::Config;

/// The definition of a metric. It stays the same until the agent ends (OM-57).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// The name below those of the root and the source.
    pub name: String,
    /// The type of its values.
    pub kind: Type,
    /// The meaning of the values.
    pub semantics: Semantics,
    /// Their unit.
    pub unit: Unit,
    /// True if the line says that there is no instance domain, whatever labels there are (OM-34).
    pub is_singular: bool,
    /// True if a PCP, PCP5 or METADATA line is used: then a label may be the name of an instance
    /// (OM-61).
    pub has_pcp_line: bool,
    /// Its help text.
    pub help: Option<Help>,
    /// The lines for the log: the parts of a PCP line that are used, or cannot be.
    pub notes: Vec<Note>,
}

/// The help text of a metric (OM-56).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Help {
    /// The first line.
    pub short: String,
    /// The other lines, or the first one if there are no others.
    pub long: String,
}

/// A line for the log about a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The definition is as it should be.
    Info(String),
    /// A part of it is not.
    Error(String),
}

impl Definition {
    /// The definition of a new metric with this sample; `config` is that of its source.
    #[must_use]
    pub fn of(sample: &Sample<'_, '_>, config: &Config) -> Definition {
        let mut notes = Vec::new();
        let line = match config.metadata(&sample.name) {
            Some((regex, rest)) => {
                let line = format!("METADATA {} {rest}", sample.name);
                notes.push(Note::Info(format!(
                    "metric \"{}\" config metadata matches \"{regex}\": pcpline = \"{line}\"",
                    sample.name
                )));
                Some(line)
            }
            None => sample.metadata.pcp().map(joined),
        };
        let described = line.as_deref().and_then(|line| described(line, &mut notes));
        let mut definition = described.unwrap_or_else(|| {
            if config.has_types_of_document {
                let kind = sample.metadata.kind_of_family(&sample.name);
                let guessed = guessed(&sample.name, kind);
                let semantics = semantics_of_document(&sample.name, kind).unwrap_or(guessed.semantics);
                return Definition { semantics, ..guessed };
            }
            guessed(&sample.name, sample.metadata.kind())
        });
        definition.help = sample.metadata.help().and_then(|text| Help::of(&text));
        definition.notes = notes;
        definition
    }
}

impl Help {
    fn of(text: &str) -> Option<Help> {
        // In this order: the second step sees what the first one has left (OM-56).
        let text = text.replace("\\\\", "\\").replace("\\n", "\n");
        let (short, long) = text.split_once('\n').unwrap_or((&text, ""));
        let long = if long.is_empty() { short } else { long };
        (!text.is_empty()).then(|| Help {
            short: short.to_owned(),
            long: long.to_owned(),
        })
    }
}

/// The definition by a line such as `PCP5 NAME PMID TYPE INDOM SEMANTICS UNITS…`. A word that is
/// missing has the value that it has without such a line. `None` if the name is missing (OM-35).
fn described(line: &str, notes: &mut Vec<Note>) -> Option<Definition> {
    let word = |at: usize| line.split(' ').nth(at);
    let rest = |at: usize| line.splitn(at + 1, ' ').nth(at).unwrap_or_default();
    let mut incomplete = |what: &str| notes.push(Note::Error(format!("\"{line}\" lacks {what}")));
    let Some(name) = word(1) else {
        incomplete("the name of the metric, and is ignored");
        return None;
    };
    // `PCP5` has a PMID that is ignored, `METADATA` has none, `PCP` has neither type nor instance
    // domain.
    let first = word(0).unwrap_or_default();
    let (kind, semantics) = match first {
        "PCP5" => (word(3), 5),
        "METADATA" => (word(2), 4),
        _ => (None, 2),
    };
    if word(semantics).is_none() && first != "PCP" {
        incomplete("type, instance domain or semantics");
    }
    let text = rest(semantics + 1);
    let unit = if text.is_empty() || text == "none" {
        Unit::NONE
    } else {
        // The factor counts for nothing, as values are not scaled.
        Unit::parse_scaled(text).map(|(unit, _)| unit).unwrap_or_else(|_| {
            let reason = "PM_ERR_CONV Impossible value or scale conversion";
            notes.push(Note::Error(format!("parse_pcp_units \"{text}\" Error: {reason}")));
            Unit::NONE
        })
    };
    Some(Definition {
        // PCP allows no colon in a name, and the name of a METADATA line is that of the sample.
        name: below_source(name).into_owned(),
        kind: kind.map_or(Type::F64, type_of),
        semantics: word(semantics).map_or(Semantics::Instant, semantics_of),
        unit,
        is_singular: line.split(' ').any(|word| word == "PM_INDOM_NULL"),
        has_pcp_line: true,
        help: None,
        notes: Vec::new(),
    })
}

fn type_of(word: &str) -> Type {
    match word {
        "32" => Type::I32,
        "u32" => Type::U32,
        "64" => Type::I64,
        "u64" => Type::U64,
        "float" => Type::F32,
        "string" => Type::String,
        "aggregate" => Type::Aggregate,
        _ => Type::F64,
    }
}

fn semantics_of(word: &str) -> Semantics {
    match word {
        "counter" => Semantics::Counter,
        "discrete" => Semantics::Discrete,
        _ => Semantics::Instant,
    }
}

/// The semantics by the type of the format alone, where it says any (OM-22). A sample `_created` is
/// a time.
fn semantics_of_document(name: &str, kind: &str) -> Option<Semantics> {
    let ends = |ends: &[&str]| ends.iter().any(|end| name.ends_with(end));
    let is_counter = match kind {
        "counter" => !ends(&["_created"]),
        "histogram" => ends(&["_bucket", "_count", "_sum"]),
        "summary" => ends(&["_count", "_sum"]),
        "gauge" | "gaugehistogram" | "info" | "stateset" => false,
        // Without a type the name is all that there is.
        _ => return None,
    };
    Some(if is_counter {
        Semantics::Counter
    } else {
        Semantics::Instant
    })
}

/// The definition by the words of the name and the type of the format (OM-54, OM-55).
fn guessed(name: &str, kind: &str) -> Definition {
    let has = |wanted: &str| name.split('_').any(|word| word == wanted);
    let is_bucket = kind == "histogram" && has("bucket");
    let is_counter = kind == "counter" || has("total") || has("count") || has("sum") || is_bucket;
    let is_count = matches!(kind, "histogram" | "summary") && has("count") || is_bucket;
    let unit = if is_count {
        COUNT
    } else if has("seconds") {
        SEC
    } else if has("microseconds") {
        USEC
    } else if has("bytes") {
        BYTE
    } else {
        Unit::NONE
    };
    Definition {
        name: below_source(name).into_owned(),
        kind: Type::F64,
        semantics: if is_counter {
            Semantics::Counter
        } else {
            Semantics::Instant
        },
        unit,
        is_singular: false,
        has_pcp_line: false,
        help: None,
        notes: Vec::new(),
    }
}
