//! The address of a source: what may be shown of it, and what the request takes.

use std::fmt;

use super::address::{Address, without_login};

/// The first line of a source's file. Shown it has neither user nor password.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    shown: Box<str>,
    address: Result<Address, String>,
}

impl Url {
    /// Reads an address. One that is none is an error once it is asked.
    #[must_use]
    pub fn new(text: &str) -> Url {
        let address = Address::parse(text);
        let shown = if is_file(text) {
            text.into()
        } else {
            without_login(text).into()
        };
        Url { shown, address }
    }

    /// As the file has it, but without user and password.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// The path of an address of `file:`.
    #[must_use]
    pub fn file(&self) -> Option<&str> {
        self.shown.strip_prefix("file://")
    }

    /// As the request takes it.
    ///
    /// # Errors
    /// Why it is no address, in the words of PCP's agent.
    pub(super) fn address(&self) -> Result<&Address, String> {
        self.address.as_ref().map_err(Clone::clone)
    }
}

fn is_file(text: &str) -> bool {
    text.starts_with("file://")
}

impl Default for Url {
    fn default() -> Url {
        Url::new("")
    }
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

#[cfg(test)]
mod tests {
    use super::Url;

    /// No part of a user and a password is shown, whatever is wrong with the address.
    #[test]
    fn what_is_shown() {
        for (text, shown) in [
            ("http://h:9100/metrics", "http://h:9100/metrics"),
            ("http://us:s3cret@h:9100/metrics", "http://h:9100/metrics"),
            ("  HTTPS://us@h/a@b?c@d", "  HTTPS://h/a@b?c@d"),
            ("http://us:s3@cret@h", "http://h"),
            ("http://us:s3cret@h:99999/x", "http://h:99999/x"),
            // A password that is not encoded.
            ("http://us:s3/cret@h/x", "http://...@h/x"),
            ("http://us:s3?cret#x@h/x", "http://...@h/x"),
            ("http:us:s3cret@h/x", "http:...@h/x"),
            ("htp://us:s3cret@h/x", "htp://...@h/x"),
            ("us:s3cret@h/x", "...@h/x"),
            ("file:///a@b", "file:///a@b"),
            ("", ""),
        ] {
            let url = Url::new(text);
            assert_eq!(
                (url.as_str(), format!("{url:?}")),
                (shown, format!("{shown:?}")),
                "{text}"
            );
            if let Err(reason) = url.address() {
                assert!(!reason.contains("s3"), "{text}: {reason}");
            }
        }
    }
}
