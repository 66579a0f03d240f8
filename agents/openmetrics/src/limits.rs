//! The limits that keep a source from costing more than its own values.

use std::time::Duration;

/// The most sources: a cluster has twelve bits, and 0 is that of the control metrics.
pub const SOURCES: u32 = 4095;

/// The most metrics of a source: an item has ten bits.
pub const METRICS: u32 = 1024;

/// The most instances of a metric.
pub const INSTANCES: u32 = 4_194_304;

/// The largest document of a source, in bytes, when what was compressed is not so any more.
pub const DOCUMENT: usize = 64 << 20;

/// The memory of all documents that are being read, in bytes.
pub const DOCUMENTS: usize = 256 << 20;

/// The memory that the names of a source's metrics and series may take, in bytes: those that the
/// agent remembers, from files of numbers or from documents. A source that invents new labels for
/// each fetch meets this limit.
pub const NAMES: usize = 256 << 20;

/// The memory for the names that the filters of a source exclude, in bytes: such names are
/// remembered, and named in the log.
pub const EXCLUDED: usize = 1 << 20;

/// The largest file of a source's address, and that of passwords (`.netrc`), in bytes.
pub const CONFIG: usize = 1 << 20;

/// The largest file of certificates that are trusted, in bytes.
pub const BUNDLE: u64 = 64 << 20;

/// The depth to which folders are searched for sources.
pub const DEPTH: usize = 32;

/// The number of redirections of an address that are followed.
pub const REDIRECTS: u32 = 30;

/// The time that a source may take altogether: a request does not wait so long, and the document is
/// for a later one.
pub const BACKGROUND: Duration = Duration::from_secs(60);

/// The age of a source's document up to which a request does not wait for a newer one.
pub const FRESH: Duration = Duration::from_secs(60);

/// The most addresses of a host that are tried, and remembered.
pub const ADDRESSES: usize = 16;

/// The most connections at a time, if the limit of descriptors allows them.
pub const CONNECTIONS: usize = 4 * SOURCES as usize;

/// The bytes that may arrive from the network before the head of a reply is complete.
pub const HEAD: usize = 256 << 10;

/// The bytes that may arrive after the head, beyond [`WIRE_BYTES`] for each byte of the body: a
/// body in pieces of one byte has a length and a line end around each piece, and TLS adds more.
pub const BESIDE_BODY: usize = 1 << 20;
/// The bytes that may arrive for each byte of the body.
pub const WIRE_BYTES: usize = 32;

/// The most pieces in which a document comes, beside one for each so many bytes of it: each piece is
/// work for the loop that all sources share.
pub const PIECES: usize = 100_000;
/// As above: the bytes of a piece.
pub const PIECE: usize = 16;

/// The most cookies of a source.
pub const COOKIES: usize = 64;
/// The longest cookie with its attributes, in bytes.
pub const COOKIE: usize = 4096;

/// The most labels of a sample: each takes ten times the bytes that it has in a line.
pub const SAMPLE_LABELS: usize = 1024;

/// The longest comment that describes samples, in bytes: it is read again for each new metric below
/// it, of which a document may have a thousand.
pub const COMMENT: usize = 16 << 10;

/// The most codings of a document, and the most parts that gzip has packed one by one: each is
/// unpacked, whoever waits for it.
pub const CODINGS: usize = 5;
/// As above: the parts.
pub const PARTS: usize = 4096;

/// The time in which a request takes documents: they are read one by one, and pmcd gives up an
/// agent that does not answer for five seconds.
pub const TAKES: Duration = Duration::from_secs(3);

/// The time of the processor for which one document is read; what it has beyond that is lost. The
/// known series of the next one are read much faster than new ones.
pub const READS: Duration = Duration::from_secs(1);

/// A document of more bytes is read when those of the other sources have been.
pub const LARGE: usize = 1 << 20;

/// The most labels that clients are shown of a metric or an instance. Clients merge them with those
/// of agent, source and domain, and may have 255.
pub const LABELS: usize = 245;
/// Their length in bytes of JSON; clients may have 65530.
pub const LABEL_BYTES: usize = 60_000;

/// The longest name of a label, in bytes.
pub const LABEL_NAME: usize = 254;
