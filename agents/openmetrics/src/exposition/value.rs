//! The values of samples: words, read when a metric is fetched (OM-40 to OM-42).

/// Reads a floating point number.
#[must_use]
pub fn float(word: &str) -> Option<f64> {
    if let Ok(value) = word.parse() {
        return Some(value);
    }
    without_underscores(word)?.parse().ok()
}

/// Reads a signed integer of 32 bits.
#[must_use]
pub fn signed_32(word: &str) -> Option<i32> {
    signed_64(word)?.try_into().ok()
}

/// Reads a signed integer of 64 bits.
#[must_use]
pub fn signed_64(word: &str) -> Option<i64> {
    if let Ok(value) = word.parse() {
        return Some(value);
    }
    without_underscores(word)?.parse().ok()
}

/// Reads an unsigned integer modulo 2^32 (OM-41).
#[must_use]
pub fn unsigned_32(word: &str) -> Option<u32> {
    unsigned_64(word).map(|value| value as u32)
}

/// Reads an unsigned integer modulo 2^64 (OM-41).
#[must_use]
pub fn unsigned_64(word: &str) -> Option<u64> {
    if let Ok(value) = word.parse() {
        return Some(value);
    }
    let (is_negative, digits) = match word.as_bytes() {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if !digits.first().is_some_and(u8::is_ascii_digit) || !has_good_underscores(digits) {
        return None;
    }
    let mut value = 0_u64;
    for digit in digits.iter().filter(|byte| **byte != b'_') {
        if !digit.is_ascii_digit() {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    }
    Some(if is_negative { value.wrapping_neg() } else { value })
}

/// The word without its underscores, if it has some and each stands between two digits.
fn without_underscores(word: &str) -> Option<String> {
    let is_one = word.contains('_') && has_good_underscores(word.as_bytes());
    is_one.then(|| word.replace('_', ""))
}

fn has_good_underscores(bytes: &[u8]) -> bool {
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_digit);
    let mut places = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    places.all(|(at, _)| is_digit(at.checked_sub(1)) && is_digit(at.checked_add(1)))
}
