//! Units as texts: what PCP's `pmParseUnitsStr` reads.

use std::str::FromStr;

use pmda_core::log::cut;

use super::extra::Extra;
use super::{COUNTS, LEAST, MOST, Part, SPACE, TIME, Unit};
use crate::error::{Error, Result};

impl Unit {
    /// The unit of a text, and the number by which values are to be multiplied to have it, as PCP's
    /// `pmParseUnitsStr` reads it: words for space, time and count, in any order and case, each
    /// with an optional power after `^`, and the same again after a slash. Numbers beside the words
    /// go into the second part of the result. One extra unit, as PCP shows it, may be among the
    /// words, without a power.
    ///
    /// ```
    /// use pmda::{KBYTE, SEC, Unit};
    /// assert_eq!(Unit::parse_scaled("kilobytes / 10 sec"), Ok((KBYTE.per(SEC), 10.0)));
    /// assert_eq!(Unit::parse_scaled("temperature (C)"), Ok((pmda::CELSIUS, 1.0)));
    /// ```
    ///
    /// # Errors
    /// `PM_ERR_CONV` for anything else, with the word that is no unit, for a dimension that is named
    /// twice, for two extra units, and for powers outside of -8 to 7.
    pub fn parse_scaled(text: &str) -> Result<(Unit, f64)> {
        let mut sides = text.split('/');
        let (dividend, mut factor) = side(sides.next().unwrap_or_default())?;
        let (divisor, number) = side(sides.next().unwrap_or_default())?;
        if sides.next().is_some() {
            return Err(Error::CONV);
        }
        factor = number / factor;
        let mut scales = Vec::new();
        let mut unit = Unit::NONE;
        unit.extra = match (dividend.extra, divisor.extra) {
            (extra, Extra::NONE) => extra,
            (Extra::NONE, extra) => extra.inverse(),
            _ => return Err(Error::CONV.text("two extra units")),
        };
        for dimension in [SPACE, TIME, COUNTS] {
            let (above, below) = (dividend.parts[dimension], divisor.parts[dimension]);
            let power = above.power - below.power;
            if !(LEAST..=MOST).contains(&power) {
                return Err(Error::CONV);
            }
            let scale = match (above.power, below.power) {
                (_, 0) => above.scale,
                (0, _) => below.scale,
                _ => {
                    // Two scales: values are converted to the one without a prefix.
                    scales.push((size(dimension, below.scale), below.power));
                    scales.push((size(dimension, above.scale), -above.power));
                    if dimension == TIME { 3 } else { 0 }
                }
            };
            if power != 0 {
                unit.parts[dimension] = Part { power, scale };
            }
        }
        Ok((unit, converted(factor, &scales)))
    }
}

/// A number times each size to its power. A part of this product, such as the size of `zb^15`, may be
/// out of range where the whole is not: so the sizes are taken one by one, and in an order that keeps
/// the product near 1.
fn converted(mut number: f64, scales: &[(f64, i8)]) -> f64 {
    let steps = scales
        .iter()
        .flat_map(|&(size, power)| std::iter::repeat_n((size, power > 0), usize::from(power.unsigned_abs())));
    let (mut larger, mut smaller): (Vec<_>, Vec<_>) = steps.partition(|&(size, is_factor)| (size > 1.0) == is_factor);
    loop {
        let (first, second) = if number.abs() < 1.0 {
            (&mut larger, &mut smaller)
        } else {
            (&mut smaller, &mut larger)
        };
        match first.pop().or_else(|| second.pop()) {
            Some((size, true)) => number *= size,
            Some((size, false)) => number /= size,
            None => return number,
        }
    }
}

/// As [`Unit::parse_scaled`], for texts that need no number.
impl FromStr for Unit {
    type Err = Error;

    /// # Errors
    /// `PM_ERR_CONV` also for a text whose values would have to be multiplied, such as `10 bytes`.
    fn from_str(text: &str) -> Result<Unit> {
        let (unit, factor) = Unit::parse_scaled(text)?;
        // Without numbers, and scales that have to be converted, the factor is exactly 1.
        if factor == 1.0 { Ok(unit) } else { Err(Error::CONV) }
    }
}

/// The size of a scale in bytes, seconds, ones.
fn size(dimension: usize, scale: i8) -> f64 {
    match (dimension, scale) {
        (SPACE, _) => 1024_f64.powi(i32::from(scale)),
        (TIME, 4) => 60.0,
        (TIME, 5) => 3600.0,
        (TIME, _) => 1000_f64.powi(i32::from(scale) - 3),
        _ => 10_f64.powi(i32::from(scale)),
    }
}

/// The most bytes of a wrong word that an error shows.
const SHOWN: usize = 40;

/// One side of the slash: words and numbers.
///
/// # Errors
/// As [`Unit::parse_scaled`].
fn side(text: &str) -> Result<(Unit, f64)> {
    let (mut unit, mut product) = (Unit::NONE, 1.0);
    let mut rest = trim(text);
    while !rest.is_empty() {
        if let Some((number, behind)) = number(rest) {
            product *= number?;
            rest = trim(behind);
            continue;
        }
        if let Some((extra, behind)) = Extra::parse(rest) {
            if unit.extra != Extra::NONE {
                return Err(Error::CONV.text("two extra units"));
            }
            unit.extra = extra;
            rest = trim(behind);
            continue;
        }
        let unknown = || {
            let end = rest.find(|next| is_space(next) || next == '^').unwrap_or(rest.len());
            let (shown, missing) = cut(&rest[..end], SHOWN);
            Error::CONV.text(format_args!("{shown:?}{missing} is no unit of space, time or count"))
        };
        let (dimension, scale, behind) = word(rest).ok_or_else(unknown)?;
        let (power, behind) = power(behind).ok_or(Error::CONV)?;
        // The text after a word or a power is separated from it.
        if behind.starts_with(|next| !is_space(next)) || unit.parts[dimension].power != 0 {
            return Err(Error::CONV);
        }
        unit.parts[dimension] = Part { power, scale };
        rest = trim(behind);
    }
    Ok((unit, product))
}

/// White space as C's `isspace`.
fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}

fn trim(text: &str) -> &str {
    text.trim_start_matches(is_space)
}

/// The number that a text begins with, and the rest. A number that is too large or too small for a
/// double is an error. `None` if the text begins with no number.
fn number(text: &str) -> Option<(Result<f64>, &str)> {
    let digits = |from: usize| {
        let rest = text.as_bytes().get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    let at = |index: usize, bytes: &[u8]| text.as_bytes().get(index).is_some_and(|byte| bytes.contains(byte));
    let start = usize::from(at(0, b"-"));
    let whole = digits(start);
    let mut end = if at(whole, b".") { digits(whole + 1) } else { whole };
    if whole == start && end <= start + 1 {
        return None;
    }
    if at(end, b"eE") {
        let sign = end + 1 + usize::from(at(end + 1, b"+-"));
        let exponent = digits(sign);
        end = if exponent > sign { exponent } else { end };
    }
    let (number, behind) = text.split_at(end);
    let is_zero = !number
        .split(['e', 'E'])
        .next()?
        .bytes()
        .any(|byte| (b'1'..=b'9').contains(&byte));
    let value = number.parse().map_err(|_| Error::CONV);
    let is_in_range = |value: &f64| is_zero || value.is_normal();
    Some((
        value.and_then(|value| {
            if is_in_range(&value) {
                Ok(value)
            } else {
                Err(Error::CONV)
            }
        }),
        behind,
    ))
}

/// The power after a word, 1 by default.
fn power(text: &str) -> Option<(i8, &str)> {
    match text.strip_prefix('^') {
        // Below the slash a power may be greater than a unit can hold: it is subtracted.
        Some(rest) => small(rest, 15),
        None => Some((1, text)),
    }
}

/// The number from -8 to `most` that a text begins with, and the rest.
fn small(text: &str, most: i8) -> Option<(i8, &str)> {
    let sign = usize::from(text.starts_with('-'));
    let digits = text.bytes().skip(sign).take_while(u8::is_ascii_digit).count();
    let (number, behind) = text.split_at(sign + digits);
    let value: i8 = number.parse().ok()?;
    // Written in the one way that PCP takes: without a plus sign or zeros in front.
    ((LEAST..=most).contains(&value) && value.to_string() == number).then_some((value, behind))
}

/// The word that a text begins with: its dimension and scale, and the rest.
fn word(text: &str) -> Option<(usize, i8, &str)> {
    let end = text
        .find(|next: char| !next.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let (word, behind) = text.split_at(end);
    let word = word.to_ascii_lowercase();
    if word == "count" {
        let (exponent, behind) = exponent(behind);
        return Some((COUNTS, exponent, behind));
    }
    if word == "counts" {
        return Some((COUNTS, 0, behind));
    }
    let scale = time(&word).map(|scale| (TIME, scale));
    let (dimension, scale) = scale.or_else(|| Some((SPACE, space(&word)?)))?;
    Some((dimension, scale, behind))
}

/// The power of ten in `count x 10^3`.
fn exponent(text: &str) -> (i8, &str) {
    let ten = text.get(..5).filter(|start| start.eq_ignore_ascii_case(" x 10"));
    let Some(behind) = ten.and_then(|ten| text.get(ten.len()..)) else {
        return (0, text);
    };
    // As PCP reads it, `count x 10^0` and `count x 10^1` are `count x 10` followed by a power.
    let power = behind.strip_prefix('^').and_then(|rest| small(rest, MOST));
    power
        .filter(|(power, _)| *power != 0 && *power != 1)
        .unwrap_or((1, behind))
}

fn time(word: &str) -> Option<i8> {
    Some(match word {
        "ns" | "nanosec" | "nanosecond" | "nanoseconds" => 0,
        "us" | "microsec" | "microsecond" | "microseconds" => 1,
        "ms" | "millisec" | "millisecond" | "milliseconds" => 2,
        "s" | "sec" | "second" | "seconds" => 3,
        "min" | "minute" | "minutes" => 4,
        "h" | "hr" | "hour" | "hours" => 5,
        _ => return None,
    })
}

fn space(word: &str) -> Option<i8> {
    /// The first letter, and what is between it and `byte` in the two long forms.
    const PREFIXES: [(char, &str, &str); 8] = [
        ('k', "ilo", "ibi"),
        ('m', "ega", "ebi"),
        ('g', "iga", "ibi"),
        ('t', "era", "ebi"),
        ('p', "eta", "ebi"),
        ('e', "xa", "xbi"),
        ('z', "etta", "ebi"),
        ('y', "otta", "obi"),
    ];
    if matches!(word, "byte" | "bytes") {
        return Some(0);
    }
    let first = word.chars().next()?;
    let at = PREFIXES.iter().position(|(letter, ..)| *letter == first)?;
    let (_, long, binary) = PREFIXES[at];
    let rest = &word[1..];
    let prefix = match rest {
        "b" | "ib" => "",
        _ => rest.strip_suffix("bytes").or_else(|| rest.strip_suffix("byte"))?,
    };
    let is_prefix = prefix.is_empty() || prefix == long || prefix == binary;
    is_prefix.then_some(at as i8 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{BYTE, COUNT, HOUR, KBYTE, MBYTE, MICROVOLT, MSEC, NSEC, SEC, WATT};

    /// The examples of the manual page, with the numbers as PCP gives them.
    #[test]
    fn of_the_manual() {
        let count = |exponent| Unit::counts(exponent);
        let examples = [
            ("2 count", COUNT, 0.5),
            ("count / 7.5 nanosecond", COUNT.per(NSEC), 7.5),
            ("10 kilobytes / 2.5e2 count x 10^3", KBYTE.per(count(3)), 25.0),
            ("millisecond / second^2", Unit::NONE.per(SEC), 1000.0),
            ("mib/s", MBYTE.per(SEC), 1.0),
        ];
        for (text, unit, factor) in examples {
            assert_eq!(Unit::parse_scaled(text), Ok((unit, factor)), "{text}");
        }
    }

    #[test]
    fn alone() {
        let good = [
            ("", Unit::NONE),
            ("Kbyte / sec", KBYTE.per(SEC)),
            ("hr BYTES count x 10^-2", HOUR.times(BYTE).times(Unit::counts(-2))),
            ("count x 10^0", Unit::NONE),
            ("ms^-1", Unit::NONE.per(MSEC)),
            ("kb POWER (w)sec", KBYTE.times(SEC).times(WATT)),
            ("count/voltage (UV) s", COUNT.per(SEC).per(MICROVOLT)),
        ];
        for (text, unit) in good {
            assert_eq!(text.parse(), Ok(unit), "{text}");
        }
        for bad in [
            "none",
            "10 bytes",
            "sec sec",
            "a/b/c",
            "kb^8",
            "kb^01",
            "kb^+1",
            "1bytesec",
            "count^2x",
            "-",
            "power",
            "power(W)",
            "power  (W)",
            "power (V)",
            "power (W)^2",
            "power (W)x",
            "secpower (W)",
            "power (W) power (W)",
            "power (W) / voltage (V)",
        ] {
            assert_eq!(bad.parse::<Unit>(), Err(Error::CONV), "{bad}");
        }
    }

    /// The word that is no unit is named, and not more of it than a line holds.
    #[test]
    fn unknown_words() {
        let error = |text: &str| text.parse::<Unit>().unwrap_err().to_string();
        let expected = "\"parsec\" is no unit of space, time or count: ";
        assert!(
            error("Kbyte / parsec^2").starts_with(expected),
            "{}",
            error("Kbyte / parsec^2")
        );
        assert!(error(&"\u{1b}".repeat(5000)).len() < 500);
    }
}
