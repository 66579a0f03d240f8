//! The settings for TLS that a source has of its own (OM-22).

use std::path::PathBuf;

/// Certificates and trust of a source. The default is the host's.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Secure {
    /// The file with the client certificate.
    pub certificate: Option<PathBuf>,
    /// The file with the certificate's key; `None` if the key is in the certificate's file.
    pub key: Option<PathBuf>,
    /// The file or folder with the only certificates that are trusted.
    pub authorities: Option<PathBuf>,
    /// True if the server's certificate is not checked.
    pub is_unverified: bool,
    /// The reason why no server is asked: a line about these settings cannot be used.
    pub fault: Option<String>,
}

impl Secure {
    /// The files that it names.
    pub(in crate::fetch) fn files(&self) -> Vec<PathBuf> {
        let files = [&self.certificate, &self.key, &self.authorities];
        files.into_iter().flatten().cloned().collect()
    }
}

/// Returns whether the reason of a failure is a file of this host that a line names.
#[must_use]
pub fn is_about_a_file(reason: &str) -> bool {
    [
        "CERT: /",
        "KEY: ",
        "CA: /",
        "TOKEN_FILE: /",
        "PASSWORD_FILE: ",
        "USER: ",
    ]
    .iter()
    .any(|begin| reason.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::is_about_a_file;

    /// A failure that a user has to mend on this host is logged; a refusal by a server is not.
    #[test]
    fn reasons_that_name_a_file() {
        for reason in [
            "CERT: /own.pem: it is gone",
            "KEY: there is no line CERT: for it",
            "CA: /all: it is gone",
            "TOKEN_FILE: /token: it is gone",
            "PASSWORD_FILE: there is no line USER: for it",
        ] {
            assert!(is_about_a_file(reason), "{reason}");
        }
        for reason in ["", "404 Client Error: Not Found for url: http://host/CA: /all", "CA"] {
            assert!(!is_about_a_file(reason), "{reason}");
        }
    }
}
