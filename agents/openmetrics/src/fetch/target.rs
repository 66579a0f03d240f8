//! The origin of a source's documents: an address, a file or a script.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::fetch::network::proof::Proof;
use crate::fetch::network::secure::Secure;
use crate::fetch::network::url::Url;
use crate::secret::Secret;

/// The origin of a document.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// An address, with headers for the request.
    Http {
        /// The address.
        url: Url,
        /// Names and values.
        headers: Vec<(String, Secret)>,
        /// The files with secrets for the request, if there are any.
        proof: Option<Arc<Proof>>,
        /// The settings of the source's own connections with TLS.
        secure: Option<Arc<Secure>>,
    },
    /// A file of this host.
    File(PathBuf),
    /// A program, whose stdout it is.
    Script(PathBuf),
}

impl Target {
    /// Returns whether documents come from the same place as those of `other`, be it that they are
    /// asked for in another way.
    #[must_use]
    pub fn is_at_the_place_of(&self, other: &Target) -> bool {
        match (self, other) {
            (Target::Http { url, .. }, Target::Http { url: other, .. }) => url == other,
            _ => self == other,
        }
    }
}

/// As the log shows it at level `debug`: of headers the names.
impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::File(path) | Target::Script(path) => write!(out, "{}", path.display()),
            Target::Http { url, headers, .. } => {
                write!(out, "{url} HEADERS:")?;
                headers.iter().try_for_each(|(name, _)| write!(out, " {name}: ...;"))
            }
        }
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}
