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
/// A label that does not help to identify what it is about: a note.
pub const PM_LABEL_OPTIONAL: i32 = 1 << 7;

/// Asks for the one-line help text.
pub const PM_TEXT_ONELINE: i32 = 1;
/// Asks for the long help text.
pub const PM_TEXT_HELP: i32 = 2;
/// The help text of a metric.
pub const PM_TEXT_PMID: i32 = 4;
/// The help text of an instance domain.
pub const PM_TEXT_INDOM: i32 = 8;

/// Type of a metric that the system does not support.
pub const PM_TYPE_NOSUPPORT: i32 = -1;
/// A number of 32 bits with a sign.
pub const PM_TYPE_32: i32 = 0;
/// A number of 32 bits without a sign.
pub const PM_TYPE_U32: i32 = 1;
/// A number of 64 bits with a sign.
pub const PM_TYPE_64: i32 = 2;
/// A number of 64 bits without a sign.
pub const PM_TYPE_U64: i32 = 3;
/// A floating-point number of 32 bits.
pub const PM_TYPE_FLOAT: i32 = 4;
/// A floating-point number of 64 bits.
pub const PM_TYPE_DOUBLE: i32 = 5;
/// A C string.
pub const PM_TYPE_STRING: i32 = 6;
/// A block of bytes.
pub const PM_TYPE_AGGREGATE: i32 = 7;
/// A block of bytes that stays its agent's.
pub const PM_TYPE_AGGREGATE_STATIC: i32 = 8;
/// An array of event records with microseconds.
pub const PM_TYPE_EVENT: i32 = 9;
/// An array of event records with nanoseconds.
pub const PM_TYPE_HIGHRES_EVENT: i32 = 10;
/// Type of a metric that is not known.
pub const PM_TYPE_UNKNOWN: i32 = 255;

/// `valfmt` of values in place.
pub const PM_VAL_INSITU: i32 = 0;
/// `valfmt` of blocks that go with the result.
pub const PM_VAL_DPTR: i32 = 1;
/// `valfmt` of blocks that stay their agent's.
pub const PM_VAL_SPTR: i32 = 2;

/// The instance of a metric without an instance domain.
pub const PM_IN_NULL: i32 = -1;

/// Interface version: methods take a `pmdaExt`.
pub const PMDA_INTERFACE_2: u32 = 2;
/// Interface version: a fetch callback may return `PMDA_FETCH_NOVALUES`.
pub const PMDA_INTERFACE_3: u32 = 3;
/// Interface version: names that come and go.
pub const PMDA_INTERFACE_4: u32 = 4;
/// Interface version: client contexts, and `PMDA_FETCH_DYNAMIC`.
pub const PMDA_INTERFACE_5: u32 = 5;
/// Interface version: attributes of clients.
pub const PMDA_INTERFACE_6: u32 = 6;
/// Interface version: labels.
pub const PMDA_INTERFACE_7: u32 = 7;
/// The newest interface version.
pub const PMDA_INTERFACE_LATEST: u32 = PMDA_INTERFACE_7;

/// Bit of `e_flags`: the item of a metric is its place in the table.
pub const PMDA_EXT_FLAG_DIRECT: u32 = 1 << 0;
/// Bit of `e_flags`: metrics are found by a hash.
pub const PMDA_EXT_FLAG_HASHED: u32 = 1 << 1;
/// Bit of `e_flags`: `pmdaDaemon` or `pmdaDSO` was called.
pub const PMDA_EXT_SETUPDONE: u32 = 1 << 2;
/// Bit of `e_flags`: `pmdaConnect` has succeeded.
pub const PMDA_EXT_CONNECTED: u32 = 1 << 3;
/// Bit of `e_flags`: pmcd is told that labels have changed.
pub const PMDA_EXT_LABEL_CHANGE: u32 = 1 << 5;
/// Bit of `e_flags`: pmcd is told that names have changed.
pub const PMDA_EXT_NAMES_CHANGE: u32 = 1 << 6;

/// Bit of a result's time stamp: labels have changed.
pub const PMCD_LABEL_CHANGE: u8 = 1 << 3;
/// Bit of a result's time stamp: names have changed.
pub const PMCD_NAMES_CHANGE: u8 = 1 << 4;

/// Returned by a fetch callback: there is no value now.
pub const PMDA_FETCH_NOVALUES: i32 = 0;
/// Returned by a fetch callback: a value, whose memory stays the agent's.
pub const PMDA_FETCH_STATIC: i32 = 1;
/// Returned by a fetch callback: a value, whose memory is freed when it has been copied.
pub const PMDA_FETCH_DYNAMIC: i32 = 2;

/// State of a profile: the instances that are not listed are wanted.
pub const PM_PROFILE_INCLUDE: i32 = 0;
/// State of a profile: the instances that are not listed are not wanted.
pub const PM_PROFILE_EXCLUDE: i32 = 1;

/// Status of a name: it is a metric; in PMNS_NAMES, as is the one that follows.
pub const PMNS_LEAF_STATUS: i32 = 0;
/// Status of a name: there are names below it.
pub const PMNS_NONLEAF_STATUS: i32 = 1;

/// Type of the credential with the version of the protocol (CREDS).
pub const CVERSION: u8 = 1;
/// The version of the protocol.
pub const PDU_VERSION2: u8 = 2;

/// A status that an agent sends: it is not ready yet (WIRE-31).
pub const PM_ERR_PMDANOTREADY: i32 = -13394;
/// A status that an agent sends: it is ready again (WIRE-31).
pub const PM_ERR_PMDAREADY: i32 = -13393;

/// Of `pmdaCacheOp`: reads the file.
pub const PMDA_CACHE_LOAD: i32 = 1;
/// Of `pmdaCacheStore`: makes an instance, or makes it active again.
pub const PMDA_CACHE_ADD: i32 = 2;
/// Of `pmdaCacheStore`: makes an instance inactive.
pub const PMDA_CACHE_HIDE: i32 = 3;
/// Of `pmdaCacheStore` and `pmdaCacheOp`: forgets an instance, or all of them.
pub const PMDA_CACHE_CULL: i32 = 4;
/// Of `pmdaCacheOp`: writes the file if the set of instances has changed.
pub const PMDA_CACHE_SAVE: i32 = 6;
/// Of `pmdaCacheOp`: whole names identify instances, not only their part before the first space.
pub const PMDA_CACHE_STRINGS: i32 = 7;
/// Of `pmdaCacheOp`: makes all instances active; also the result of a lookup of an active one.
pub const PMDA_CACHE_ACTIVE: i32 = 8;
/// Of `pmdaCacheOp`: makes all instances inactive; also the result of a lookup of an inactive one.
pub const PMDA_CACHE_INACTIVE: i32 = 9;
/// Of `pmdaCacheOp`: counts all instances, culled ones included.
pub const PMDA_CACHE_SIZE: i32 = 10;
/// Of `pmdaCacheOp`: counts the active instances.
pub const PMDA_CACHE_SIZE_ACTIVE: i32 = 11;
/// Of `pmdaCacheOp`: counts the inactive instances.
pub const PMDA_CACHE_SIZE_INACTIVE: i32 = 12;
/// Of `pmdaCacheOp`: the ids of culled instances are used again.
pub const PMDA_CACHE_REUSE: i32 = 13;
/// Of `pmdaCacheOp`: begins a walk over the active instances.
pub const PMDA_CACHE_WALK_REWIND: i32 = 14;
/// Of `pmdaCacheOp`: returns the next active instance of the walk.
pub const PMDA_CACHE_WALK_NEXT: i32 = 15;
/// Of `pmdaCacheOp`: says whether there is a cache.
pub const PMDA_CACHE_CHECK: i32 = 16;
/// Of `pmdaCacheOp`: reclaims the culled instances.
pub const PMDA_CACHE_REORG: i32 = 17;
/// Of `pmdaCacheOp`: writes the file if anything has changed.
pub const PMDA_CACHE_SYNC: i32 = 18;
/// Of `pmdaCacheOp`: prints the instances.
pub const PMDA_CACHE_DUMP: i32 = 19;
/// Of `pmdaCacheOp`: prints the instances and the hash chains.
pub const PMDA_CACHE_DUMP_ALL: i32 = 20;
/// Of `pmdaCacheOp`: writes the file in any case.
pub const PMDA_CACHE_WRITE: i32 = 21;

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits and negative numbers are those of PCP's headers, in which some are written as shifts.
    #[test]
    fn as_in_the_headers() {
        let labels = [
            PM_LABEL_CONTEXT,
            PM_LABEL_DOMAIN,
            PM_LABEL_INDOM,
            PM_LABEL_CLUSTER,
            PM_LABEL_ITEM,
            PM_LABEL_INSTANCES,
            PM_LABEL_COMPOUND,
            PM_LABEL_OPTIONAL,
        ];
        assert_eq!(labels, [0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80]);
        let extension = [
            PMDA_EXT_FLAG_DIRECT,
            PMDA_EXT_FLAG_HASHED,
            PMDA_EXT_SETUPDONE,
            PMDA_EXT_CONNECTED,
            PMDA_EXT_LABEL_CHANGE,
            PMDA_EXT_NAMES_CHANGE,
        ];
        assert_eq!(extension, [0x01, 0x02, 0x04, 0x08, 0x20, 0x40]);
        assert_eq!((PMCD_LABEL_CHANGE, PMCD_NAMES_CHANGE), (0x08, 0x10));
        assert_eq!((PM_TYPE_NOSUPPORT, PM_IN_NULL), (-1, -1));
        assert_eq!((PM_ERR_PMDANOTREADY, PM_ERR_PMDAREADY), (-13394, -13393));
    }
}
