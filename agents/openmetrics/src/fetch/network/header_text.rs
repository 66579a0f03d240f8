//! Text of headers: UTF-8 or ISO 8859-1.

/// A text as `requests` sends it: in ISO 8859-1 where that has all of it, else in UTF-8.
pub(in crate::fetch) fn bytes(text: &str) -> Vec<u8> {
    let narrow: Result<Vec<u8>, _> = text.chars().map(|letter| u8::try_from(u32::from(letter))).collect();
    narrow.unwrap_or_else(|_| text.as_bytes().to_vec())
}

/// A text as it was received: UTF-8, else ISO 8859-1.
pub(in crate::fetch) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}
