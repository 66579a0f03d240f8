//! What belongs to an agent beside its dispatch table: `pmdaExt`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::view::arg::CText;
use crate::view::declare::view;
use crate::view::profile::Profile;
use crate::view::table::{Indom, IndomTable, MetricTable};
use crate::view::types::{
    pmProfile, pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack, pmdaExt, pmdaFetchCallBack, pmdaIndom,
    pmdaLabelCallBack, pmdaMetric, pmdaResultCallBack,
};

view! {
    /// An agent's extension record. Its fields are the live state of the agent, which the agent
    /// reads and writes itself (INIT-2): each is read when it is needed.
    Ext of pmdaExt, contract
    "`pointer` is NULL, or points to a `pmdaExt` whose tables, names and profile are valid, and whose callbacks do what \
     their types say."
    get {
        /// `PMDA_EXT_FLAG_*` bits.
        flags: e_flags as c_uint;
        /// Where the library's own record is, if there is one; never to be followed unchecked.
        record: e_ext as *mut c_void;
        /// 0 unless the agent setup has failed.
        status: e_status as c_int;
        /// The descriptor that PDUs come from.
        infd: e_infd as c_int;
        /// The descriptor that PDUs go to.
        outfd: e_outfd as c_int;
        /// 0 while a singular value is due, else -1 (INST-4).
        singular: e_singular as c_int;
        /// The position in an instance domain, -1 at its end (INST-4).
        ordinal: e_ordinal as c_int;
        /// Not 0 when the item of a PMID is its place in the metric table.
        direct: e_direct as c_int;
        /// The agent's domain.
        domain: e_domain as c_int;
        /// Handle of the help database, negative when there is none.
        help: e_help as c_int;
        /// The profile received last.
        profile_ptr: e_prof as *mut pmProfile;
        /// The instance domain being walked.
        idp: e_idp as *mut pmdaIndom;
        /// The client context of the request.
        context: e_context as c_int;
        /// How the agent talks to pmcd.
        io: e_io as c_uint;
        /// The port number.
        port: e_port as c_int;
        /// Cleans up after a fetch.
        result_callback: e_resultCallBack as pmdaResultCallBack;
        /// Gives the values.
        fetch_callback: e_fetchCallBack as pmdaFetchCallBack;
        /// Runs when a PDU has arrived.
        check_callback: e_checkCallBack as pmdaCheckCallBack;
        /// Runs when a PDU has been served.
        done_callback: e_doneCallBack as pmdaDoneCallBack;
        /// Runs when a client context ends.
        end_callback: e_endCallBack as pmdaEndContextCallBack;
        /// Gives the labels of one instance.
        label_callback: e_labelCallBack as pmdaLabelCallBack;
    }
    set {
        /// Stores the address of the metric table.
        set_first_metric: e_metrics as *mut pmdaMetric;
        /// Stores the number of metrics.
        set_metric_count: e_nmetrics as c_int;
        /// Stores the address of the table of instance domains.
        set_first_indom: e_indoms as *mut pmdaIndom;
        /// Stores the number of instance domains.
        set_indom_count: e_nindoms as c_int;
        /// Stores `PMDA_EXT_FLAG_*` bits.
        set_flags: e_flags as c_uint;
        /// Stores the address of the library's own record.
        set_record: e_ext as *mut c_void;
        /// Stores the status of the agent setup.
        set_status: e_status as c_int;
        /// Stores the descriptor that PDUs come from.
        set_infd: e_infd as c_int;
        /// Stores the descriptor that PDUs go to.
        set_outfd: e_outfd as c_int;
        /// Stores whether a singular value is due.
        set_singular: e_singular as c_int;
        /// Stores the position in an instance domain.
        set_ordinal: e_ordinal as c_int;
        /// Stores whether the item of a PMID is its place in the metric table.
        set_direct: e_direct as c_int;
        /// Stores the agent's domain.
        set_domain: e_domain as c_int;
        /// Stores the handle of the help database.
        set_help: e_help as c_int;
        /// Stores the profile.
        set_profile_ptr: e_prof as *mut pmProfile;
        /// Stores the instance domain being walked.
        set_idp: e_idp as *mut pmdaIndom;
        /// Stores the client context of the request.
        set_context: e_context as c_int;
        /// Stores how the agent talks to pmcd.
        set_io: e_io as c_uint;
        /// Stores the port number.
        set_port: e_port as c_int;
        /// Stores the socket or service name; the pointer is kept.
        set_sockname: e_sockname as *mut c_char;
        /// Stores the name of the agent; the pointer is kept.
        set_name: e_name as *const c_char;
        /// Stores the path of the log file; the pointer is kept.
        set_logfile: e_logfile as *const c_char;
        /// Stores the path of the help database; the pointer is kept.
        set_helptext: e_helptext as *const c_char;
        /// Stores the callback that gives values.
        set_fetch_callback: e_fetchCallBack as pmdaFetchCallBack;
        /// Stores the callback that cleans up after a fetch.
        set_result_callback: e_resultCallBack as pmdaResultCallBack;
        /// Stores the callback that runs when a PDU has arrived.
        set_check_callback: e_checkCallBack as pmdaCheckCallBack;
        /// Stores the callback that runs when a PDU has been served.
        set_done_callback: e_doneCallBack as pmdaDoneCallBack;
        /// Stores the callback that runs when a client context ends.
        set_end_callback: e_endCallBack as pmdaEndContextCallBack;
        /// Stores the callback that gives the labels of one instance.
        set_label_callback: e_labelCallBack as pmdaLabelCallBack;
    }
    views {
        /// The agent's name.
        name: e_name as CText;
        /// The socket or service name.
        sockname: e_sockname as CText;
        /// The path of the log file.
        logfile: e_logfile as CText;
        /// The path of the help database.
        helptext: e_helptext as CText;
        /// The profile received last, at this moment.
        profile: e_prof as Profile;
        /// The instance domain that is walked: one of the agent, or our node for a cached one,
        /// which is never freed.
        walked: e_idp as Indom;
    }
    arrays {
        /// The metric table at this moment.
        metrics: e_metrics[e_nmetrics] as MetricTable;
        /// The table of classic instance domains at this moment.
        indoms: e_indoms[e_nindoms] as IndomTable;
    }
}

impl Ext {
    /// Takes another metric table into use.
    pub(crate) fn set_metrics(self, table: MetricTable) {
        self.set_first_metric(table.first());
        self.set_metric_count(table.count());
    }

    /// Takes another table of instance domains into use.
    pub(crate) fn set_indoms(self, first: *mut pmdaIndom, count: c_int) {
        self.set_first_indom(first);
        self.set_indom_count(count);
    }
}
