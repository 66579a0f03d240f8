//! Constants of PCP, under the names that `<pcp/pmapi.h>` and `<pcp/pmda.h>` give them.

/// Labels of a client's context; in requests and replies, as are those that follow.
pub const PM_LABEL_CONTEXT: i32 = 1 << 0;
/// Labels of all metrics of a domain (an agent).
pub const PM_LABEL_DOMAIN: i32 = 1 << 1;
/// Labels of an instance domain.
pub const PM_LABEL_INDOM: i32 = 1 << 2;
/// Labels of the metrics of a cluster.
pub const PM_LABEL_CLUSTER: i32 = 1 << 3;
/// Labels of one metric.
pub const PM_LABEL_ITEM: i32 = 1 << 4;
/// Labels of the instances of a domain, one set each.
pub const PM_LABEL_INSTANCES: i32 = 1 << 5;
/// A label whose name is a path through nested objects, such as `groups.admin`.
pub const PM_LABEL_COMPOUND: i32 = 1 << 6;
/// A label that does not tell apart what it is about: a note.
pub const PM_LABEL_OPTIONAL: i32 = 1 << 7;

/// Asks for the one-line help text.
pub const PM_TEXT_ONELINE: i32 = 1;
/// Asks for the long help text.
pub const PM_TEXT_HELP: i32 = 2;
/// The help text of a metric.
pub const PM_TEXT_PMID: i32 = 4;
/// The help text of an instance domain.
pub const PM_TEXT_INDOM: i32 = 8;

/// A value of 32 bits with a sign; in the heads of value blocks, as are those that follow.
pub const PM_TYPE_32: u32 = 0;
/// A value of 32 bits without a sign.
pub const PM_TYPE_U32: u32 = 1;
/// A value of 64 bits with a sign.
pub const PM_TYPE_64: u32 = 2;
/// A value of 64 bits without a sign.
pub const PM_TYPE_U64: u32 = 3;
/// A floating-point number of 32 bits.
pub const PM_TYPE_FLOAT: u32 = 4;
/// A floating-point number of 64 bits.
pub const PM_TYPE_DOUBLE: u32 = 5;
/// An array of event records with microseconds.
pub const PM_TYPE_EVENT: u32 = 9;
/// An array of event records with nanoseconds.
pub const PM_TYPE_HIGHRES_EVENT: u32 = 10;

/// `valfmt` of values in place.
pub const PM_VAL_INSITU: i32 = 0;
/// `valfmt` of blocks that go with the result.
pub const PM_VAL_DPTR: i32 = 1;
/// `valfmt` of blocks that stay their agent's.
pub const PM_VAL_SPTR: i32 = 2;

/// The instance of a metric without an instance domain.
pub const PM_IN_NULL: i32 = -1;

/// Of `pmdaCacheOp`: reads the file.
pub const PMDA_CACHE_LOAD: i32 = 1;
/// Of `pmdaCacheStore`: makes an instance, or makes it active again.
pub const PMDA_CACHE_ADD: i32 = 2;
/// Of `pmdaCacheStore`: makes an instance inactive.
pub const PMDA_CACHE_HIDE: i32 = 3;
/// Of `pmdaCacheStore` and `pmdaCacheOp`: forgets an instance, or all of them.
pub const PMDA_CACHE_CULL: i32 = 4;
/// The file is written when the set of instances has changed.
pub const PMDA_CACHE_SAVE: i32 = 6;
/// Whole names distinguish instances, rather than those before the first blank.
pub const PMDA_CACHE_STRINGS: i32 = 7;
/// All instances become active; also what a lookup returns for one that is.
pub const PMDA_CACHE_ACTIVE: i32 = 8;
/// All instances become inactive; also what a lookup returns for one that is.
pub const PMDA_CACHE_INACTIVE: i32 = 9;
/// Counts all instances, culled ones included.
pub const PMDA_CACHE_SIZE: i32 = 10;
/// Counts the active instances.
pub const PMDA_CACHE_SIZE_ACTIVE: i32 = 11;
/// Counts the inactive instances.
pub const PMDA_CACHE_SIZE_INACTIVE: i32 = 12;
/// The ids of culled instances are used again.
pub const PMDA_CACHE_REUSE: i32 = 13;
/// Begins a walk over the active instances.
pub const PMDA_CACHE_WALK_REWIND: i32 = 14;
/// Goes on to the next one.
pub const PMDA_CACHE_WALK_NEXT: i32 = 15;
/// Tells whether there is a cache.
pub const PMDA_CACHE_CHECK: i32 = 16;
/// Puts the tables in order.
pub const PMDA_CACHE_REORG: i32 = 17;
/// The file is written when anything has changed.
pub const PMDA_CACHE_SYNC: i32 = 18;
/// Prints the instances.
pub const PMDA_CACHE_DUMP: i32 = 19;
/// Prints the hash chains as well.
pub const PMDA_CACHE_DUMP_ALL: i32 = 20;
/// The file is written in any case.
pub const PMDA_CACHE_WRITE: i32 = 21;
