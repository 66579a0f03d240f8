//! The usage message, as `pmUsageMessage` of PCP prints it.

use super::{CONNECTIONS, OTHERS, STANDARD, standard};
use crate::env::Opt;

/// The column of the descriptions.
const COLUMN: usize = 24;

/// The usage message of a program with these options of its own.
pub(crate) fn usage(program: &str, own: &[Opt]) -> String {
    let mut text = format!("Usage: {program} [options]\n\nOptions:\n");
    lines(&mut text, own.iter().copied());
    lines(&mut text, standard(&STANDARD, own));
    text.push_str("\nExactly one of the following options may appear:\n");
    lines(&mut text, standard(&CONNECTIONS, own));
    text.push_str("\nOther options:\n");
    lines(&mut text, standard(&OTHERS, own));
    text
}

fn lines(text: &mut String, options: impl Iterator<Item = Opt>) {
    for option in options {
        line(text, &option);
    }
}

fn line(text: &mut String, option: &Opt) {
    let argument = option.argument.unwrap_or_default();
    let short = match (option.short, argument) {
        (None, _) => String::new(),
        (Some(letter), "") => format!("-{letter}, "),
        (Some(letter), argument) => format!("-{letter} {argument}, "),
    };
    let equals = if argument.is_empty() { "" } else { "=" };
    let head = format!("  {short}--{}{equals}{argument}", option.long);
    text.push_str(&head);
    let used = head.chars().count();
    if used >= COLUMN {
        text.push('\n');
        text.push_str(&" ".repeat(COLUMN));
    } else {
        text.push_str(&" ".repeat(COLUMN - used));
    }
    text.push_str(option.help);
    text.push('\n');
}
