//! The address of a source: what may be shown of it, and what the request takes.

use std::fmt;

use super::address::{Address, NO_SCHEME, without_login};

/// What to write into the first line.
const ADVICE: &str = "it has to begin with http://, https:// or file:///";

/// An address of which nothing is shown.
const HIDDEN: &str = "...";

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
        let text = text.trim();
        let is_wrong = |letter: char| letter.is_control() || letter.is_whitespace() && !is_file(text);
        if text.contains(is_wrong) {
            // What follows the blank may be another line, with a secret.
            return Url {
                shown: HIDDEN.into(),
                address: Err(
                    "the first line is no address: it has a blank (an address has %20 for it) or a control character"
                        .to_owned(),
                ),
            };
        }
        if text.is_empty() {
            return Url {
                shown: text.into(),
                address: Err(format!("the first line has no address: {ADVICE}")),
            };
        }
        let address = Address::parse(text).map_err(|reason| match reason.starts_with(NO_SCHEME) {
            true => format!("{reason}: {ADVICE}"),
            false => reason,
        });
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
    pub(in crate::fetch) fn address(&self) -> Result<&Address, String> {
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
            ("  HTTPS://us@h/a@b?c@d\t", "HTTPS://h/a@b?c@d"),
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
            // A blank may end the address where another line was meant to begin.
            ("http://h/m HEADER: Authorization: s3cret", "..."),
            ("http://h/m\u{b}s3cret", "..."),
            ("http://h/m\u{2028}s3cret", "..."),
            ("file:///m\u{85}s3cret", "..."),
            ("\u{1}", "..."),
            ("h:9100/m", "h:9100/m"),
            ("s3 cret", "..."),
            ("file:///a b", "file:///a b"),
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

    /// What is no address says what to write.
    #[test]
    fn advice() {
        for (text, advice) in [
            (
                "",
                "the first line has no address: it has to begin with http://, https:// or file:///",
            ),
            (
                "h:9100/m",
                "'h:9100/m': it has to begin with http://, https:// or file:///",
            ),
            (
                "http://h/a b",
                "it has a blank (an address has %20 for it) or a control character",
            ),
        ] {
            let reason = Url::new(text).address().map(|_| ()).expect_err("no address");
            assert!(reason.ends_with(advice), "{reason}");
        }
    }
}
