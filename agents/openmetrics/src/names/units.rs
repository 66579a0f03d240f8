//! Units in words, as pmParseUnitsStr(3) reads them (OM-34).

use std::fmt;

use pmda::Unit;

/// Scales of space by prefix: `kbyte`, `kilobyte`, `kibibyte`, `kb` and `kib` are one.
const SPACE: [(&[&str], i8); 9] = [
    (&["byte"], 0),
    (&["kbyte", "kilobyte", "kibibyte", "kb", "kib"], 1),
    (&["mbyte", "megabyte", "mebibyte", "mb", "mib"], 2),
    (&["gbyte", "gigabyte", "gibibyte", "gb", "gib"], 3),
    (&["tbyte", "terabyte", "tebibyte", "tb", "tib"], 4),
    (&["pbyte", "petabyte", "pebibyte", "pb", "pib"], 5),
    (&["ebyte", "exabyte", "exbibyte", "eb", "eib"], 6),
    (&["zbyte", "zettabyte", "zebibyte", "zb", "zib"], 7),
    (&["ybyte", "yottabyte", "yobibyte", "yb", "yib"], -8),
];

/// Scales of time.
const TIME: [(&[&str], i8); 6] = [
    (&["ns", "nanosec", "nanosecond"], 0),
    (&["us", "microsec", "microsecond"], 1),
    (&["ms", "millisec", "millisecond"], 2),
    (&["s", "sec", "second"], 3),
    (&["min", "minute"], 4),
    (&["h", "hr", "hour"], 5),
];

/// The place of the dimension of counts, behind space and time.
const COUNTS: usize = 2;

/// The scale of each dimension when it stands on both sides of the slash: bytes, seconds, ones.
const CANONICAL: [i8; 3] = [0, 3, 0];

/// Powers and scales have four bits and a sign.
const BOUNDS: std::ops::RangeInclusive<i32> = -8..=7;

/// Why a text is no unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitsError {
    /// A word that is none, or one dimension twice.
    Unrecognized,
    /// A power or scale that does not fit, of the space (0), time (1) or count (2) dimension.
    OutOfBounds(usize),
}

impl fmt::Display for UnitsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnitsError::Unrecognized => f.write_str("unrecognized or duplicate base unit"),
            UnitsError::OutOfBounds(dimension) => {
                let name = ["space", "time", "count"][*dimension];
                write!(f, "{name} dimension out of bounds")
            }
        }
    }
}

/// Power and scale of a dimension.
#[derive(Clone, Copy, Default)]
struct Part {
    power: i32,
    scale: i8,
}

/// Reads units: words for space, time and count, then a slash and the divisor. Numbers are passed
/// over, as PCP's agent does not scale values.
///
/// # Errors
/// What is wrong with the text.
pub fn units(text: &str) -> Result<Unit, UnitsError> {
    let (above, below) = text.split_once('/').unwrap_or((text, ""));
    let (above, below) = (side(above)?, side(below)?);
    let mut word = 0;
    for dimension in 0..3 {
        let (left, right) = (above[dimension], below[dimension]);
        let power = left.power - right.power;
        if !BOUNDS.contains(&power) {
            return Err(UnitsError::OutOfBounds(dimension));
        }
        let scale = match (left.power, right.power) {
            _ if power == 0 => 0,
            (_, 0) => left.scale,
            (0, _) => right.scale,
            _ => CANONICAL[dimension],
        };
        let nibble = |value: i32| u32::from(value.to_le_bytes()[0] & 0xf);
        word |= nibble(power) << (28 - 4 * dimension) | nibble(i32::from(scale)) << (16 - 4 * dimension);
    }
    Ok(Unit::from_word(word))
}

/// Reads what stands on one side of the slash.
fn side(text: &str) -> Result<[Part; 3], UnitsError> {
    let mut parts: [Option<Part>; 3] = [None; 3];
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let word = without_number(word);
        if word.is_empty() {
            continue;
        }
        let (dimension, mut part) = base(word).ok_or(UnitsError::Unrecognized)?;
        if dimension == COUNTS && !word.contains('^') && words.next_if_eq(&"x").is_some() {
            part = thousands(words.next().unwrap_or_default())?;
        }
        if parts[dimension].replace(part).is_some() {
            return Err(UnitsError::Unrecognized);
        }
    }
    Ok(parts.map(Option::unwrap_or_default))
}

/// The word without a number in front of it.
fn without_number(word: &str) -> &str {
    let digits = word.trim_start_matches('-');
    if !digits.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
        return word;
    }
    // The longest prefix that is a number; letters behind it are the unit.
    let mut ends = (1..=word.len()).rev().filter(|end| word.is_char_boundary(*end));
    let end = ends.find(|end| word[..*end].parse::<f64>().is_ok());
    end.map_or(word, |end| &word[end..])
}

/// Dimension, scale and power of a word such as `kbyte^2`.
fn base(word: &str) -> Option<(usize, Part)> {
    let (name, power) = match word.split_once('^') {
        Some((name, power)) => (name, exponent(power)?),
        None => (word, 1),
    };
    let (dimension, scale) = keyword(&name.to_ascii_lowercase())?;
    Some((dimension, Part { power, scale }))
}

fn keyword(name: &str) -> Option<(usize, i8)> {
    if matches!(name, "count" | "counts") {
        return Some((COUNTS, 0));
    }
    let find = |table: &[(&[&str], i8)]| {
        // Words have a plural, abbreviations do not.
        let is = |word: &str| name == word || is_long(word) && name.strip_suffix('s') == Some(word);
        let mut rows = table.iter().filter(|(words, _)| words.iter().any(|word| is(word)));
        rows.next().map(|(_, scale)| *scale)
    };
    let space = find(&SPACE).map(|scale| (0, scale));
    space.or_else(|| find(&TIME).map(|scale| (1, scale)))
}

fn is_long(word: &str) -> bool {
    ["byte", "second", "minute", "hour"]
        .iter()
        .any(|end| word.ends_with(end))
}

/// Reads an exponent of -8 to 8.
fn exponent(text: &str) -> Option<i32> {
    let is_plain = !text.starts_with('+');
    let value: i32 = text.parse().ok().filter(|_| is_plain)?;
    (-8..=8).contains(&value).then_some(value)
}

/// Reads what follows `count x`: `10`, `10^3`, and a power of the whole, `10^3^2`.
fn thousands(text: &str) -> Result<Part, UnitsError> {
    let mut pieces = text.split('^');
    if pieces.next() != Some("10") {
        return Err(UnitsError::Unrecognized);
    }
    let mut number = |missing| {
        pieces
            .next()
            .map_or(Some(missing), exponent)
            .ok_or(UnitsError::Unrecognized)
    };
    let (scale, power) = (number(1)?, number(1)?);
    if !BOUNDS.contains(&scale) {
        return Err(UnitsError::OutOfBounds(COUNTS));
    }
    // Ones that are written as a power of ten are no unit at all.
    let power = if scale == 0 { 0 } else { power };
    Ok(Part {
        power,
        scale: scale as i8,
    })
}
