//! A declared metric.

use std::rc::Rc;

use crate::client::{Client, ClientId};
use crate::error::{Error, Result};
use crate::labels::Labels;
use crate::profile::Profile;
use crate::unit::Unit;
use crate::value::{Encoder, Semantics, Stored, Type};

/// The most metrics of a cluster.
pub(super) const ITEMS: u32 = 1 << 10;

/// Writes the values of a metric into the reply.
pub(super) type Fetch<S> = Box<dyn Fn(&mut S, &mut Encoder<'_>, &Profile, &Client) -> Result<()>>;
/// Stores a value of an instance.
pub(super) type Store<S> = Box<dyn Fn(&mut S, i32, Stored<'_>, Unit, &Client) -> Result<()>>;
/// Returns whether a client may store a metric.
pub(crate) type Access = Box<dyn Fn(&Client) -> bool>;
/// Tells a queue that the context of a client has ended.
pub(super) type End<S> = Box<dyn Fn(&mut S, ClientId)>;

/// A metric and its functions.
pub(crate) struct Metric<S> {
    /// Without the root. The table has the same text as its key.
    pub(crate) name: Rc<str>,
    /// Its other names.
    pub(crate) aliases: Vec<Rc<str>>,
    pub(crate) cluster: u32,
    pub(crate) item: u32,
    pub(crate) kind: Type,
    pub(crate) semantics: Semantics,
    pub(crate) unit: Unit,
    /// The serial of its instance domain.
    pub(crate) indom: Option<u32>,
    pub(crate) help: String,
    pub(crate) labels: Labels,
    /// `None` for a parameter of events, which has values in their records only.
    pub(crate) fetch: Option<Fetch<S>>,
    pub(crate) store: Option<Store<S>>,
    /// `None` if only the superuser may store it.
    pub(crate) writable_by: Option<Access>,
    pub(crate) ended: Option<End<S>>,
    /// Serial of the file that keeps its number.
    pub(super) cache: Option<u32>,
}

impl<S> Metric<S> {
    /// Its names, the first one first.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.aliases.iter().map(|name| &**name))
    }
}

/// A declared metric: its number, by which [`Metrics::edit`](crate::Metrics::edit) finds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct MetricRef {
    cluster: u32,
    item: u32,
}

impl MetricRef {
    pub(super) fn new(cluster: u32, item: u32) -> MetricRef {
        MetricRef { cluster, item }
    }

    /// The cluster of its number.
    #[must_use]
    pub fn cluster(self) -> u32 {
        self.cluster
    }

    /// The item of its number.
    #[must_use]
    pub fn item(self) -> u32 {
        self.item
    }
}

/// The problem of a declaration, in words.
///
/// `?` makes an [`Error`] of it, `-EINVAL` with this text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem(pub(super) String);

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Problem {}

/// `-EINVAL`.
impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::EINVAL.text(problem)
    }
}

/// The rule for names, in words.
pub(super) const NAME_RULE: &str =
    "a name is made of parts between dots, each a letter and then letters, digits and underscores";

/// Returns whether a metric may have this name below the root.
pub(crate) fn is_name(name: &str) -> bool {
    name.split('.').all(|part| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}
