//! Values as text, in one line.

use pmda_core::constants::*;
use pmda_core::events::{Form, Stamp};
use pmda_core::log::{TEXT_MAX, cut};
use pmda_core::wire::block;
use pmda_core::wire::client::EventRecords;
use pmda_core::wire::result::SentValue;

/// A text in quotes; what cannot be shown in a line is escaped.
pub(crate) fn quoted(text: &[u8]) -> String {
    format!("\"{}\"", text.escape_ascii())
}

/// A text of an agent, of the host or of another user's process, in one line of at most
/// [`TEXT_MAX`] bytes: control characters and those that turn the direction of writing are shown as
/// escapes, so that they do nothing to the terminal.
pub(crate) fn plain(text: &str) -> String {
    let shown = |letter: char| match letter {
        '"' | '\'' | '\\' => letter.to_string(),
        other => other.escape_debug().to_string(),
    };
    let (kept, missing) = cut(text, TEXT_MAX);
    let plain: String = kept.chars().map(shown).collect();
    format!("{plain}{missing}")
}

/// A number, if the value of a metric of this type is one.
pub(crate) fn integer(kind: i32, value: SentValue<'_>) -> Option<i128> {
    match (kind, value) {
        (PM_TYPE_32, SentValue::Word(word)) => Some((word as i32).into()),
        (PM_TYPE_U32, SentValue::Word(word)) => Some(word.into()),
        (PM_TYPE_64, SentValue::Block(_, payload)) => Some(i64::from_be_bytes(*payload.first_chunk()?).into()),
        (PM_TYPE_U64, SentValue::Block(_, payload)) => Some(u64::from_be_bytes(*payload.first_chunk()?).into()),
        _ => None,
    }
}

/// The value of a metric of this type, with the type that it has itself.
pub(crate) fn text(kind: i32, value: SentValue<'_>) -> String {
    match value {
        SentValue::Word(word) if kind == PM_TYPE_U32 => format!("{word}"),
        SentValue::Word(word) => format!("{}", word as i32),
        SentValue::Block(header, payload) => block_text(block::kind(header) as i32, payload),
    }
}

fn block_text(kind: i32, payload: &[u8]) -> String {
    let eight = || payload.first_chunk::<8>().copied();
    let number = match kind {
        PM_TYPE_64 => eight().map(|bytes| i64::from_be_bytes(bytes).to_string()),
        PM_TYPE_U64 => eight().map(|bytes| u64::from_be_bytes(bytes).to_string()),
        PM_TYPE_DOUBLE => eight().map(|bytes| f64::from_be_bytes(bytes).to_string()),
        PM_TYPE_FLOAT => payload
            .first_chunk::<4>()
            .map(|bytes| f32::from_be_bytes(*bytes).to_string()),
        PM_TYPE_STRING => Some(quoted(payload.strip_suffix(b"\0").unwrap_or(payload))),
        PM_TYPE_EVENT => Some(records(Form::Low, payload)),
        PM_TYPE_HIGHRES_EVENT => Some(records(Form::High, payload)),
        _ => Some(quoted(payload)),
    };
    format!("{} {}", type_name(kind), number.unwrap_or_else(|| quoted(payload)))
}

/// The records of an event array, without their times.
fn records(form: Form, payload: &[u8]) -> String {
    let Ok(records) = EventRecords::new(form, payload) else {
        return format!("malformed {}", quoted(payload));
    };
    let shown = records.map(|record| {
        let stamp = match record.stamp {
            Stamp::Low(..) => "microseconds",
            Stamp::High(..) => "nanoseconds",
        };
        let missed = record
            .missed
            .map_or_else(String::new, |missed| format!(" missed {missed}"));
        let parameters = record
            .parameters
            .map(|found| format!(" {} {}", found.metric, text(found.kind, found.value)));
        format!("[{stamp}{missed}{}]", parameters.collect::<String>())
    });
    shown.collect()
}

/// The name of a type, as `pminfo -d` shows it.
pub(crate) fn type_name(kind: i32) -> String {
    let name = match kind {
        PM_TYPE_NOSUPPORT => "unsupported",
        PM_TYPE_32 => "32",
        PM_TYPE_U32 => "U32",
        PM_TYPE_64 => "64",
        PM_TYPE_U64 => "U64",
        PM_TYPE_FLOAT => "float",
        PM_TYPE_DOUBLE => "double",
        PM_TYPE_STRING => "string",
        PM_TYPE_AGGREGATE => "aggregate",
        PM_TYPE_AGGREGATE_STATIC => "aggregate static",
        PM_TYPE_EVENT => "event",
        PM_TYPE_HIGHRES_EVENT => "highres event",
        _ => return format!("type {kind}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(plain("a\u{1b}[2Jb\n\u{9b}1mé\t"), "a\\u{1b}[2Jb\\n\\u{9b}1mé\\t");
        assert_eq!(plain("\"it's\\\" \u{202e}x"), "\"it's\\\" \\u{202e}x");
        assert_eq!(plain(&"é".repeat(258)), "é".repeat(256) + "... (4 bytes more)");
        assert_eq!(plain(&"é".repeat(256)), "é".repeat(256));
    }
}
