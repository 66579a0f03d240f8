//! The structures of an agent: its dispatch table (`pmdaInterface`), the types of the methods in
//! it, and its extension (`pmdaExt`), which has what belongs to an agent beside the table; its
//! command line (`argc`, `argv` and `pmdaOptions`), and the kind of its connection with pmcd.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::sys::libpcp;
use crate::sys::lock::Token;
use crate::view::arg::{CText, MutableText, Out, view};
use crate::view::label_set::LabelSets;
use crate::view::memory::{Array, Block, Lasting};
use crate::view::table::{Indom, IndomTable, MetricTable, Profile};
use crate::view::types::{
    Comm, pmDesc, pmID, pmInDom, pmInResult, pmProfile, pmdaCheckCallBack, pmdaDoneCallBack, pmdaEndContextCallBack,
    pmdaExt, pmdaFetchCallBack, pmdaIndom, pmdaLabelCallBack, pmdaMetric, pmdaOptionOverride, pmdaOptions, pmdaResult,
    pmdaResultCallBack,
};
use pmda_core::error::{Error, Result};
use pmda_core::ident::Interface;

/// Takes the instance profile.
pub type ProfileMethod = unsafe extern "C-unwind" fn(*mut pmProfile, Option<Ext<'_>>) -> c_int;
/// Fetches values.
pub type FetchMethod =
    unsafe extern "C-unwind" fn(c_int, *mut pmID, Out<'_, *mut pmdaResult>, Option<Ext<'_>>) -> c_int;
/// Describes a metric.
pub type DescMethod = unsafe extern "C-unwind" fn(pmID, Out<'_, pmDesc>, Option<Ext<'_>>) -> c_int;
/// Lists instances.
pub type InstanceMethod = unsafe extern "C-unwind" fn(
    pmInDom,
    c_int,
    Option<MutableText<'_>>,
    Out<'_, *mut pmInResult>,
    Option<Ext<'_>>,
) -> c_int;
/// Gives help.
pub type TextMethod = unsafe extern "C-unwind" fn(c_int, c_int, Out<'_, *mut c_char>, Option<Ext<'_>>) -> c_int;
/// Stores values.
pub type StoreMethod = unsafe extern "C-unwind" fn(*mut pmdaResult, Option<Ext<'_>>) -> c_int;
/// Gives the identifier of a name.
pub type PmidMethod = unsafe extern "C-unwind" fn(Option<CText<'_>>, Out<'_, pmID>, Option<Ext<'_>>) -> c_int;
/// Gives the names of an identifier.
pub type NameMethod = unsafe extern "C-unwind" fn(pmID, Out<'_, *mut *mut c_char>, Option<Ext<'_>>) -> c_int;
/// Gives the names below a name.
pub type ChildrenMethod = unsafe extern "C-unwind" fn(
    Option<CText<'_>>,
    c_int,
    Out<'_, *mut *mut c_char>,
    Out<'_, *mut c_int>,
    Option<Ext<'_>>,
) -> c_int;
/// Takes an attribute of a client.
pub type AttributeMethod =
    unsafe extern "C-unwind" fn(c_int, c_int, Option<CText<'_>>, c_int, Option<Ext<'_>>) -> c_int;
/// Gives label sets.
pub type LabelMethod = unsafe extern "C-unwind" fn(c_int, c_int, Option<LabelSets<'_>>, Option<Ext<'_>>) -> c_int;

/// The dispatch table of an agent. The structure has grown with the interface version: an agent of
/// an older version may own a shorter one, so a method is touched only when its version has it
/// (INIT-1).
#[repr(C)]
#[allow(non_camel_case_types)]
pub struct pmdaInterface {
    /// The agent's domain.
    pub domain: c_int,
    /// Versions and flags: see [`Comm`].
    pub comm: Comm,
    /// 0 is good.
    pub status: c_int,
    /// The extension; allocated by this library.
    pub ext: *mut pmdaExt,
    /// Takes the instance profile.
    pub profile: Option<ProfileMethod>,
    /// Fetches values.
    pub fetch: Option<FetchMethod>,
    /// Describes a metric.
    pub desc: Option<DescMethod>,
    /// Lists instances.
    pub instance: Option<InstanceMethod>,
    /// Gives help.
    pub text: Option<TextMethod>,
    /// Stores values.
    pub store: Option<StoreMethod>,
    /// Version 4 and up: the identifier of a name.
    pub pmid: Option<PmidMethod>,
    /// Version 4 and up: the names of an identifier.
    pub name: Option<NameMethod>,
    /// Version 4 and up: the names below a name.
    pub children: Option<ChildrenMethod>,
    /// Version 6 and up: takes an attribute of a client.
    pub attribute: Option<AttributeMethod>,
    /// Version 7 and up: gives label sets.
    pub label: Option<LabelMethod>,
}

/// A callback type of C, whose NULL is none.
pub(crate) trait Callback {
    /// The type of the function, which is never NULL.
    type Function;
}

impl<F> Callback for Option<F> {
    type Function = F;
}

/// The function of a callback type of C, which `view/types.rs` declares.
pub(crate) type Function<C> = <C as Callback>::Function;

/// Runs when a PDU has arrived.
pub(crate) type Check = Function<pmdaCheckCallBack>;
/// Runs when a client context ends.
pub(crate) type EndContext = Function<pmdaEndContextCallBack>;
/// Cleans up a result after it was sent.
pub(crate) type CleanUp = Function<pmdaResultCallBack>;
/// Frees what an agent has attached to an instance; C's header has no name for it.
pub(crate) type Free = unsafe extern "C-unwind" fn(*mut c_void);

view! {
    /// An agent's dispatch table. An agent of an older interface version may own a shorter
    /// structure, so a method is read or written only when the version has it (INIT-1).
    Dispatch of pmdaInterface, contract
    "`pointer` is NULL, or points to a dispatch table as its interface version has it, with a valid extension, and with \
     methods that do what their types say: what they store is valid when they succeed."
    fields {
        /// The agent's domain.
        domain [set_domain]: domain as c_int;
        /// Interface version, PMAPI version and flags.
        comm [set_comm]: comm as Comm;
        /// 0 unless the agent setup has failed.
        status [set_status]: status as c_int;
        /// The extension, or NULL.
        ext_ptr: ext as *mut pmdaExt;
        /// Takes the instance profile.
        profile [set_profile]: profile as Option<ProfileMethod>;
        /// Fetches values.
        fetch [set_fetch]: fetch as Option<FetchMethod>;
        /// Describes a metric.
        desc [set_desc]: desc as Option<DescMethod>;
        /// Lists instances.
        instance [set_instance]: instance as Option<InstanceMethod>;
        /// Gives help.
        text [set_text]: text as Option<TextMethod>;
        /// Stores values.
        store [set_store]: store as Option<StoreMethod>;
        /// Version 4 and up: the identifier of a name.
        pmid [set_pmid]: pmid as Option<PmidMethod>;
        /// Version 4 and up: the names of an identifier.
        name [set_name]: name as Option<NameMethod>;
        /// Version 4 and up: the names below a name.
        children [set_children]: children as Option<ChildrenMethod>;
        /// Version 6 and up: takes an attribute of a client.
        attribute [set_attribute]: attribute as Option<AttributeMethod>;
        /// Version 7 and up: gives label sets.
        label [set_label]: label as Option<LabelMethod>;
    }
    kept {
        /// Stores the extension.
        set_ext: ext as Ext<'static>;
    }
    views {
        /// The extension, if there is one.
        ext: ext as Ext;
    }
}

impl Dispatch<'_> {
    /// The interface version.
    pub(crate) fn interface(self) -> Interface {
        Interface(self.comm().interface.into())
    }

    /// Stores the methods that this interface version has. Nothing after them is touched: the
    /// structure may end with them (INIT-1).
    pub(crate) fn set_methods(self, methods: &pmdaInterface, interface: Interface) {
        self.set_profile(methods.profile);
        self.set_fetch(methods.fetch);
        self.set_desc(methods.desc);
        self.set_instance(methods.instance);
        self.set_text(methods.text);
        self.set_store(methods.store);
        if interface.has_names() {
            self.set_pmid(methods.pmid);
            self.set_name(methods.name);
            self.set_children(methods.children);
        }
        if interface.has_attributes() {
            self.set_attribute(methods.attribute);
        }
        if interface.has_labels() {
            self.set_label(methods.label);
        }
    }

    /// Returns whether the `fetch` method is that of `methods`.
    pub(crate) fn has_fetch_of(self, methods: &pmdaInterface) -> bool {
        self.fetch().map(|method| method as usize) == methods.fetch.map(|method| method as usize)
    }

    /// Returns whether the `text` method is that of `methods`.
    pub(crate) fn has_text_of(self, methods: &pmdaInterface) -> bool {
        self.text().map(|method| method as usize) == methods.text.map(|method| method as usize)
    }
}

/// The dispatch table of an agent, as its last call has shown it. A local context moves the table of
/// a DSO without notice (MAIN-41), so the address is read through for daemons alone.
#[repr(C)]
#[derive(Debug)]
pub struct LastDispatch {
    /// The address of the table: the first word, which another library may write (INIT-51).
    table: AtomicPtr<pmdaInterface>,
    /// The `desc` method in the table.
    desc: AtomicPtr<c_void>,
    /// True if the agent is a daemon, whose table does not move.
    daemon: bool,
}

impl LastDispatch {
    /// No call has shown a table yet.
    pub(crate) const fn none() -> LastDispatch {
        LastDispatch {
            table: AtomicPtr::new(ptr::null_mut()),
            desc: AtomicPtr::new(ptr::null_mut()),
            daemon: false,
        }
    }

    /// The dispatch table of a new agent.
    pub(crate) fn new(dispatch: Dispatch<'_>, daemon: bool) -> LastDispatch {
        LastDispatch {
            table: AtomicPtr::new(dispatch.as_ptr()),
            daemon,
            ..LastDispatch::none()
        }
    }

    /// Notes the address of the dispatch table and its `desc` method, whenever a call brings the
    /// table: it may move or go without notice (MAIN-56).
    pub(crate) fn note(&self, dispatch: Dispatch<'_>) {
        self.table.store(dispatch.as_ptr(), Ordering::Relaxed);
        let desc = dispatch.desc().map_or(ptr::null_mut(), |method| method as *mut c_void);
        self.desc.store(desc, Ordering::Relaxed);
    }

    /// The dispatch table of a daemon; `None` for a DSO, whose table may have moved (MAIN-56).
    pub(crate) fn table(&self) -> Option<Dispatch<'_>> {
        if !self.daemon {
            return None;
        }
        // SAFETY: NULL, or the address of a dispatch table that `new` or `note` got as a view. The
        // main program of a daemon keeps its table at one address, with its extension and methods,
        // for as long as it calls the library.
        unsafe { Dispatch::new(self.table.load(Ordering::Relaxed)) }
    }

    /// The `desc` method of an agent. That of a daemon is read from its dispatch table at this
    /// moment, as agents exchange it; that of a DSO is the one that its last call with a table has
    /// shown, since the table may have moved (MAIN-56).
    pub(crate) fn desc(&self, ext: Ext<'_>) -> Option<DescMethod> {
        match self.table() {
            Some(table) if ptr::eq(table.ext_ptr(), ext.as_ptr()) => table.desc(),
            _ => {
                let method = self.desc.load(Ordering::Relaxed);
                // SAFETY: NULL, which is `None`, or a method of this type: `note` alone stores one. An
                // `Option` of a function is as large as a pointer, with NULL as `None`.
                unsafe { std::mem::transmute::<*mut c_void, Option<DescMethod>>(method) }
            }
        }
    }
}

impl Ext<'_> {
    /// Updates the back pointer from a record that another library has made, or another copy of
    /// this one: the first word of such a record is the address of the dispatch table (INIT-51).
    ///
    /// # Safety
    /// The extension has NULL for its record, or the address of a record that a library like this
    /// one has made.
    pub unsafe fn tell_other_library(self, dispatch: Dispatch<'_>) {
        let record = self.record().cast::<*mut pmdaInterface>();
        if !record.is_null() {
            // SAFETY: not NULL, so the record of another library, as the caller promises. Its first
            // word is the address of the dispatch table.
            unsafe { record.write(dispatch.as_ptr()) };
        }
    }
}

view! {
    /// An agent's extension record. Its fields are the live state of the agent, which the agent
    /// itself reads and writes at any time (INIT-2): each is read when it is needed.
    Ext of pmdaExt, contract
    "`pointer` is NULL, or points to a `pmdaExt` whose tables, names and profile are valid, and whose callbacks do what \
     their types say."
    fields {
        /// `PMDA_EXT_FLAG_*` bits.
        flags [set_flags]: e_flags as c_uint;
        /// The address of the record of the library that has made the extension, or NULL. It is
        /// compared with the known records, and never followed unchecked.
        record: e_ext as *mut c_void;
        /// 0 unless the agent setup has failed.
        status [set_status]: e_status as c_int;
        /// The descriptor that PDUs come from.
        infd [set_infd]: e_infd as c_int;
        /// The descriptor that PDUs go to.
        outfd [set_outfd]: e_outfd as c_int;
        /// 0 while a singular value is due, else -1 (INST-4).
        singular [set_singular]: e_singular as c_int;
        /// The position in an instance domain, -1 at its end (INST-4).
        ordinal [set_ordinal]: e_ordinal as c_int;
        /// Not 0 when the item of a PMID is its place in the metric table.
        direct [set_direct]: e_direct as c_int;
        /// The agent's domain.
        domain [set_domain]: e_domain as c_int;
        /// Handle of the help database, negative for none.
        help [set_help]: e_help as c_int;
        /// The client context of the request.
        context [set_context]: e_context as c_int;
        /// The agent's connection to pmcd.
        io [set_io]: e_io as c_uint;
        /// The port number.
        port [set_port]: e_port as c_int;
        /// Cleans up after a fetch.
        result_callback [set_result_callback]: e_resultCallBack as pmdaResultCallBack;
        /// Gives the values.
        fetch_callback [set_fetch_callback]: e_fetchCallBack as pmdaFetchCallBack;
        /// Runs when a PDU has arrived.
        check_callback [set_check_callback]: e_checkCallBack as pmdaCheckCallBack;
        /// Runs when a PDU has been served.
        done_callback [set_done_callback]: e_doneCallBack as pmdaDoneCallBack;
        /// Runs when a client context ends.
        end_callback [set_end_callback]: e_endCallBack as pmdaEndContextCallBack;
        /// Gives the labels of one instance.
        label_callback [set_label_callback]: e_labelCallBack as pmdaLabelCallBack;
    }
    followed {
        /// Stores the address of the metric table.
        set_first_metric: e_metrics as *mut pmdaMetric;
        /// Stores the number of metrics.
        set_metric_count: e_nmetrics as c_int;
        /// Stores the address of the table of instance domains.
        set_first_indom: e_indoms as *mut pmdaIndom;
        /// Stores the number of instance domains.
        set_indom_count: e_nindoms as c_int;
        /// Stores the profile.
        set_profile: e_prof as *mut pmProfile;
    }
    kept {
        /// Stores the address of the library's own record, which begins with the word that other
        /// libraries read and write through this pointer (INIT-51).
        set_record: e_ext as &'static LastDispatch;
        /// Stores the instance domain that is walked: an entry of the agent's table, which the
        /// agent keeps meanwhile, or our node for a cached one, which is never freed.
        set_walked: e_idp as Indom<'_>;
        /// Stores the socket or service name.
        set_sockname: e_sockname as CText<'static>;
        /// Stores the name of the agent.
        set_name: e_name as Option<CText<'static>>;
        /// Stores the path of the log file.
        set_logfile: e_logfile as Option<CText<'static>>;
        /// Stores the path of the help database.
        set_helptext: e_helptext as Option<CText<'static>>;
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
        /// The profile that the agent has accepted last. Agents may exchange it at any time.
        profile: e_prof as Profile;
        /// The instance domain that is walked.
        walked: e_idp as Indom;
    }
    arrays {
        /// The metric table at this moment.
        metrics: e_metrics[e_nmetrics] as MetricTable;
        /// The table of classic instance domains at this moment.
        indoms: e_indoms[e_nindoms] as IndomTable;
    }
}

impl<'call> Ext<'call> {
    /// The view of a table that this agent keeps beyond the call.
    pub(crate) fn table<T: Copy>(self, table: Lasting<T>) -> Array<'call, T> {
        table.during()
    }

    /// Stores another metric table, with its number of metrics.
    pub fn set_metrics(self, table: Lasting<pmdaMetric>) {
        // SAFETY: a table whose entries stay valid for as long as its agent uses it, by the
        // contract of `Lasting::new`, and their number.
        unsafe {
            self.set_first_metric(table.view().first());
            self.set_metric_count(table.view().count());
        }
    }

    /// Stores another table of instance domains, with their number.
    pub fn set_indoms(self, table: Lasting<pmdaIndom>) {
        // SAFETY: as in `set_metrics`.
        unsafe {
            self.set_first_indom(table.view().first());
            self.set_indom_count(table.view().count());
        }
    }
}

/// The texts of an agent that its extension keeps.
#[derive(Clone, Copy)]
pub(crate) struct ExtTexts<'call> {
    /// The agent's name.
    pub(crate) name: Option<CText<'call>>,
    /// The path of the log file.
    pub(crate) logfile: Option<CText<'call>>,
    /// The path of the help database.
    pub(crate) helptext: Option<CText<'call>>,
}

/// Makes an extension that is zero but for its texts. It is never freed. The texts follow it in the
/// same block, so an agent that stores other texts in their place leaks nothing.
///
/// # Errors
/// `-ENOMEM`.
pub(crate) fn create(texts: &ExtTexts<'_>) -> Result<Ext<'static>> {
    let texts = [texts.logfile, texts.helptext, texts.name];
    let size = texts.iter().flatten().try_fold(size_of::<pmdaExt>(), |size, text| {
        size.checked_add(text.bytes().len())?.checked_add(1)
    });
    let block = Block::<u8>::zeroed(size.ok_or(Error::ENOMEM)?)?;
    let mut end = size_of::<pmdaExt>();
    let [logfile, helptext, name] = texts.map(|text| {
        let text = text?;
        let text = text.bytes();
        // SAFETY: `size` counts the extension and each text with a NUL, so this text fits at `end`.
        // The block is new, so it does not overlap with the text; it is zero, so a NUL follows the
        // copy; and it is never freed.
        unsafe {
            let copy = block.as_ptr().add(end);
            ptr::copy_nonoverlapping(text.as_ptr(), copy, text.len());
            end += text.len() + 1;
            CText::new(copy.cast_const().cast())
        }
    });
    // SAFETY: the block has room for a `pmdaExt` at its start, is aligned as all that comes from
    // malloc, and is never freed. Zero is a valid value of each field: numbers, and pointers and
    // functions that are NULL.
    let ext = unsafe { Ext::new(block.into_raw().cast()) }.ok_or(Error::ENOMEM)?;
    ext.set_logfile(logfile);
    ext.set_helptext(helptext);
    ext.set_name(name);
    Ok(ext)
}

impl Ext<'_> {
    /// Returns whether a flag is set at this moment.
    pub(crate) fn has(self, flag: u32) -> bool {
        self.flags() & flag != 0
    }

    pub(crate) fn add_flags(self, flags: u32) {
        self.set_flags(self.flags() | flags);
    }

    pub(crate) fn clear_flags(self, flags: u32) {
        self.set_flags(self.flags() & !flags);
    }
}

/// The kind of connection between an agent and pmcd: `pmdaIoType`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Transport {
    /// stdin and stdout.
    Pipe,
    /// A port.
    Inet,
    /// A socket in the file system.
    Unix,
    /// Not chosen yet.
    Unknown,
    /// A port, over IPv6.
    Ipv6,
}

impl Transport {
    /// The transport of a number; `None` for a number without one.
    pub(crate) fn new(number: c_uint) -> Option<Transport> {
        const ALL: [Transport; 5] = [
            Transport::Pipe,
            Transport::Inet,
            Transport::Unix,
            Transport::Unknown,
            Transport::Ipv6,
        ];
        ALL.get(number as usize).copied()
    }

    /// The number in C.
    pub(crate) const fn number(self) -> c_uint {
        self as c_uint
    }

    /// The letter of the option that chooses the transport.
    pub(crate) const fn letter(self) -> char {
        match self {
            Transport::Pipe => 'p',
            Transport::Inet => 'i',
            Transport::Unix => 'u',
            Transport::Unknown => '?',
            Transport::Ipv6 => '6',
        }
    }
}

view! {
    /// The options of an agent's command line, and the parser's state (INIT-3).
    Options of pmdaOptions, contract
    "`pointer` is NULL, or points to options whose texts and tables are valid, zeroed before their first use."
    fields {
        /// Sees each option first.
        override_callback: r#override as pmdaOptionOverride;
        /// The argument of the option that was found, or NULL.
        optarg: optarg as *mut c_char;
        /// The position of the next argument.
        optind: optind as c_int;
        /// The end of the arguments that are no options, and were passed over so far.
        last_nonopt: __last_nonopt as c_int;
        /// The number of errors.
        errors [set_errors]: errors as c_int;
        /// The version of the structure.
        version [set_version]: version as c_int;
    }
    kept {
        /// Stores the argument of `-U`.
        set_username: username as Option<CText<'static>>;
    }
}

impl Options<'_> {
    /// The argument of the option that was found; an empty text if the option has none.
    pub(crate) fn argument(self) -> CText<'static> {
        self.argument_if_any().unwrap_or(CText::EMPTY)
    }

    /// The argument of the option that was found, if it has one.
    pub(crate) fn argument_if_any(self) -> Option<CText<'static>> {
        // SAFETY: NULL, or libpcp's parser has stored a part of one of the strings in `argv`, which
        // are terminated. They stay as long as the process: agents and the C library keep pointers
        // to them as well.
        unsafe { CText::new(self.optarg()) }
    }

    /// Prints the messages that were collected, and the usage of the agent, to stderr.
    pub(crate) fn show_usage(self, token: &mut Token) {
        // SAFETY: valid options by the contract of `new`. They begin with libpcp's `pmOptions`
        // (INIT-3).
        unsafe { libpcp::print_usage(token, self.as_ptr()) };
    }

    /// Counts an error.
    pub(crate) fn count_error(self) {
        self.set_errors(self.errors().wrapping_add(1));
    }
}

/// A decimal number as `strtol` reads it, cut to an `int`, and whether nothing follows it.
pub(crate) fn number(text: CText<'_>) -> (c_int, bool) {
    let mut end = text.as_ptr();
    // SAFETY: a C string by the contract of `CText`. strtol stores an address within it in `end`,
    // its NUL at the latest.
    unsafe {
        let number = libc::strtol(text.as_ptr(), &raw mut end, 10);
        (number as c_int, *end == 0)
    }
}

/// The arguments of a program: `argc` and `argv`.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'call> {
    count: c_int,
    first: *const *mut c_char,
    call: PhantomData<&'call c_char>,
}

impl<'call> Arguments<'call> {
    /// The arguments of `main`; `None` for NULL.
    ///
    /// # Safety
    /// `first` is NULL or holds `count` C strings, until the view was used for the last time.
    pub(crate) unsafe fn new(count: c_int, first: *const *mut c_char) -> Option<Arguments<'call>> {
        (!first.is_null()).then_some(Arguments {
            count,
            first,
            call: PhantomData,
        })
    }

    /// Finds the next option, and returns its letter, or -1 at the end. Where the parser has already
    /// gone beyond these arguments, with others, there is none, and an error is counted: libpcp would
    /// read behind the list.
    pub(crate) fn next(self, token: &mut Token, options: Options<'_>) -> c_int {
        if options.optind() > self.count || options.last_nonopt() > self.count {
            options.count_error();
            return -1;
        }
        // SAFETY: the arguments are C strings by the contract of `Arguments::new`, and the options
        // are valid by the contract of `Options::new`.
        unsafe { libpcp::next_option(token, self.count, self.first, options.as_ptr()) }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::{c_int, c_long};

    use super::{CText, number};

    /// The number after `-d` is read as by `strtol` (INIT-20).
    #[test]
    fn numbers() {
        for (text, expected) in [
            (c"", (0, true)),
            (c"12", (12, true)),
            (c" \t\n\x0b\x0c\r+12", (12, true)),
            (c"-7", (-7, true)),
            (c"12x", (12, false)),
            (c"12 ", (12, false)),
            (c"x", (0, false)),
            (c" ", (0, false)),
            (c"-", (0, false)),
            (c"+-1", (0, false)),
            (c"0x10", (0, false)),
            (c"2147483647", (c_int::MAX, true)),
        ] {
            assert_eq!(number(CText::of(text)), expected, "{text:?}");
        }
        let [most, least] = [c"99999999999999999999", c"-99999999999999999999"].map(|text| number(CText::of(text)));
        assert_eq!(
            (most, least),
            ((c_long::MAX as c_int, true), (c_long::MIN as c_int, true))
        );
    }
}
