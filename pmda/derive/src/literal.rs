//! The text of a string literal: `proc_macro` shows only its source.

/// The text of a string literal in source; `None` for another literal.
pub fn text(source: &str) -> Option<String> {
    if let Some(raw) = source.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let quoted = raw.get(hashes..raw.len() - hashes)?;
        return quoted.strip_prefix('"')?.strip_suffix('"').map(str::to_owned);
    }
    unescape(source.strip_prefix('"')?.strip_suffix('"')?)
}

fn unescape(source: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = source.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match rest.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            '0' => text.push('\0'),
            'x' => text.push(code(&rest.by_ref().take(2).collect::<String>())?),
            'u' => {
                let digits: String = rest.by_ref().skip(1).take_while(|digit| *digit != '}').collect();
                text.push(code(&digits.replace('_', ""))?);
            }
            // A continued line, without the blanks of the next one.
            '\n' => {
                let blanks = rest.as_str();
                rest = blanks.trim_start().chars();
            }
            other => text.push(other),
        }
    }
    Some(text)
}

fn code(digits: &str) -> Option<char> {
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn literals_become_their_text() {
        let cases = [
            (r#""plain""#, Some("plain")),
            (r#""say \"it\"\\""#, Some("say \"it\"\\")),
            (r#""\u{20ac} \x41\n""#, Some("\u{20ac} A\n")),
            ("\"one \\\n   two\"", Some("one two")),
            (r###"r#"a "raw" \n"#"###, Some(r#"a "raw" \n"#)),
            (r#"r"""#, Some("")),
            ("42", None),
            ("b\"bytes\"", None),
            (r#""\u{110000}""#, None),
        ];
        for (source, expected) in cases {
            assert_eq!(text(source).as_deref(), expected, "{source}");
        }
    }
}
