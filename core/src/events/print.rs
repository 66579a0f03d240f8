//! Event data as text for a log line.

/// The `size` bytes of a message that shows `data`: printable text, one NUL, and dots up to the end
/// (QUEUE-50).
///
/// The NUL takes the place of the last byte that was copied, so that byte is never shown. White
/// space becomes a space, what cannot be printed a dot. Without data the message is empty (E-16).
pub fn printable(data: &[u8], size: usize) -> impl Iterator<Item = u8> {
    let shown = data.len().min(size).saturating_sub(1);
    let text = data.iter().take(shown).map(|byte| match byte {
        b' ' | 0x09..=0x0d => b' ',
        0x21..=0x7e => *byte,
        _ => b'.',
    });
    text.chain([0]).chain(std::iter::repeat(b'.')).take(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(data: &[u8], size: usize) -> Vec<u8> {
        printable(data, size).collect()
    }

    /// QUEUE-50, E-16: the examples of the specification.
    #[test]
    fn text_nul_and_dots() {
        assert_eq!(print(b"ab\tc\n\x01d", 16), b"ab c .\0.........");
        assert_eq!(print(b"0123456789abcdef", 8), b"0123456\0");
        assert_eq!(print(b"x", 4), b"\0...");
        assert_eq!(print(b"", 4), b"\0...");
        assert_eq!(print(b"\x80\xff\x7f ", 5), b"...\0.");
    }
}
