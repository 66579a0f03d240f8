//! One PDU to the method that serves it, and the answer back (the table in front of MAIN-10).
//!
//! Methods may do what they like: change the dispatch table, the descriptors and the callbacks, send PDUs of their
//! own, even call the main loop. So every public field is read at the moment when it is needed, and nothing is
//! locked while a method runs (MAIN-53).

use std::ffi::{c_char, c_int};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::channel::Channel;
use super::mark::outside;
use super::received;
use super::reply::{self, OwnedInstances, OwnedNames};
use super::session::Session;
use super::types::{pmDesc, pmID, pmInResult, pmLabelSet, pmdaExt, pmdaInterface, pmdaResult};
use super::{arg, memory, spoken};
use crate::error::{Error, Result};
use crate::libpcp::labels::Sets;
use crate::libpcp::log::{self, Debug};
use crate::libpcp::version::SINCE_6_0_5;
use crate::log::{Bytes, Level};
use crate::wire::encode::Reply;
use crate::wire::receive::Pdu;
use crate::wire::{HEADER, Kind, decode, show, store};

/// The first interface version with names of its own.
const WITH_NAMES: u32 = 4;
/// The first interface version with client contexts.
pub(super) const WITH_CONTEXT: u32 = 5;
/// The first interface version with attributes.
pub(super) const WITH_ATTRIBUTES: u32 = 6;
/// The first interface version with labels.
const WITH_LABELS: u32 = 7;

/// `PM_LABEL_INSTANCES`: the only type with more than one set (MAIN-22).
const INSTANCE_LABELS: c_int = 32;

/// `PM_LABEL_CONTEXT`, and the bits that say whose labels are asked for.
const CONTEXT_LABELS: c_int = 1;
const LABEL_KINDS: c_int = 0x3f;

/// An agent whose PDU is being served.
#[derive(Clone, Copy)]
pub(super) struct Agent {
    pub(super) dispatch: *mut pmdaInterface,
    pub(super) ext: *mut pmdaExt,
    pub(super) session: &'static Session,
}

/// A method of the dispatch table, read at this moment; an agent without it answers "not yet implemented" (MAIN-10).
macro_rules! method {
    ($agent:expr, $name:ident) => {
        // SAFETY: the dispatch table is valid, and its version has this method.
        unsafe { (*$agent.dispatch).$name }.ok_or(Error::NYI)
    };
}

pub(super) use method;

/// Shows a request under -Dlibpmda, and says what `decode` says of it: behind the line before PCP 6.0.5, inside of it,
/// in front of the details, since then.
fn show_request(pdu: &Pdu, interface: u32, decode: impl FnOnce()) {
    let line = if log::debug(Debug::Libpmda) {
        let context = (interface >= WITH_ATTRIBUTES).then_some(pdu.header.from);
        show::request(pdu.header.kind, pdu.bytes(), context, SINCE_6_0_5)
    } else {
        None
    };
    let Some(line) = line else { return decode() };
    if SINCE_6_0_5 && (log::debug(Debug::Pmns) || log::debug(Debug::Attr)) {
        let (head, details) = show::split(pdu.header.kind, line.bytes());
        log::debug_start(head);
        decode();
        log::trace!("{}\n", Bytes(details));
    } else {
        log::debug_line!("{}", Bytes(line.bytes()));
        decode();
    }
}

/// How a request is named when its answer cannot be sent (MAIN-31).
pub(super) struct Names {
    pub(super) request: &'static str,
    pub(super) reply: &'static str,
}

impl Agent {
    /// Serves one PDU. The caller guarantees what `__pmdaMainPDU` asks for.
    ///
    /// # Safety
    /// The dispatch table and the extension are valid, and the methods of its interface version follow their contracts.
    pub(super) unsafe fn serve(self, pdu: &Pdu) {
        let bytes = pdu.bytes();
        show_request(pdu, self.interface(), || {
            spoken::decoding(self.input(), pdu.header.kind, bytes);
        });
        match pdu.header.kind {
            Kind::PROFILE => self.profile(bytes),
            Kind::ATTR => self.attribute(bytes, pdu.header.from),
            Kind::ERROR => self.notice(bytes, pdu.header.from),
            Kind::RESULT => self.store(bytes),
            Kind::CONTROL_REQ => {}
            Kind::FETCH => self.fetch(bytes),
            Kind::DESC_REQ => self.answer("DESC_REQ", "__pmSendDesc", |reply| self.desc(bytes, reply)),
            Kind::INSTANCE_REQ => {
                self.answer("INSTANCE_REQ", "__pmSendInstance", |reply| self.instance(bytes, reply));
            }
            Kind::TEXT_REQ => self.answer("TEXT_REQ", "__pmSendText", |reply| self.text(bytes, reply)),
            Kind::PMNS_NAMES => self.answer("PMNS_NAMES", "__pmSendIDList", |reply| self.pmid(bytes, reply)),
            Kind::PMNS_IDS => self.answer("PMNS_IDS", "__pmSendNameList", |reply| self.name(bytes, reply)),
            Kind::PMNS_CHILD => {
                self.answer("PMNS_CHILD", "__pmSendNameList", |reply| {
                    self.children(bytes, reply, false)
                });
            }
            Kind::PMNS_TRAVERSE => {
                self.answer("PMNS_TRAVERSE", "__pmSendNameList", |reply| {
                    self.children(bytes, reply, true)
                });
            }
            Kind::LABEL_REQ => self.answer("LABEL_REQ", "__pmSendLabel", |reply| self.label(bytes, reply)),
            other => {
                log::notify!(Level::Err, "{}: Unrecognised pdu type: {other}?", self.name_text());
            }
        }
    }

    /// The interface version at this moment.
    pub(super) fn interface(self) -> u32 {
        // SAFETY: the dispatch table is valid while its PDU is served.
        unsafe { (*self.dispatch).comm.interface() }
    }

    /// The descriptor that requests come from, at this moment.
    fn input(self) -> Channel {
        // SAFETY: the extension is valid while its PDU is served.
        Channel(unsafe { (*self.ext).e_infd })
    }

    /// The descriptor for replies at this moment.
    fn out(self) -> Channel {
        // SAFETY: the extension is valid while its PDU is served.
        Channel(unsafe { (*self.ext).e_outfd })
    }

    /// The agent's name as it prints.
    pub(super) fn name_text(&self) -> Bytes<'_> {
        // SAFETY: the extension is valid, and its name NULL or a C string.
        Bytes(unsafe { arg::bytes((*self.ext).e_name) }.unwrap_or_default())
    }

    /// Sends what `fill` makes, or its error.
    pub(super) fn answer(
        self,
        request: &'static str,
        reply: &'static str,
        fill: impl FnOnce(&mut Reply) -> Result<()>,
    ) {
        let names = Names { request, reply };
        let mut buffer = self.session.take_reply();
        let outcome = fill(&mut buffer);
        self.send(&mut buffer, outcome, &names);
        self.session.give_reply(buffer);
    }

    /// Sends the reply that is in the buffer, or the error; a failure is said and forgotten (MAIN-6, WIRE-22).
    pub(super) fn send(self, buffer: &mut Reply, outcome: Result<()>, names: &Names) {
        let code = outcome.err().map(Error::code);
        if let Some(code) = code {
            buffer.error(code);
        }
        let channel = self.out();
        let Err(error) = channel.send(buffer.bytes()) else {
            return;
        };
        let (fd, reason) = (channel.0, log::errstr(error));
        let Names { request, reply } = names;
        match code {
            Some(code) => warn(format_args!(
                "__pmSendError({fd},...,{code}) {request} failed: {reason}"
            )),
            None if *reply == "__pmSendNameList" => {
                warn(format_args!("{reply}({fd},...) {request} failed: {reason}"));
            }
            None => warn(format_args!("{reply}({fd},...) failed: {reason}")),
        }
    }

    /// Answers a PDU that the check callback has refused (MAIN-5). An end of context gets no answer, as pmcd would take
    /// it for that of its next request (MAIN-52).
    pub(super) fn refuse(self, kind: Kind, code: c_int) {
        if matches!(kind, Kind::PROFILE | Kind::ATTR | Kind::ERROR) {
            return;
        }
        let channel = self.out();
        if let Err(error) = send_error(self.session, channel, code) {
            let (fd, reason) = (channel.0, log::errstr(error));
            warn(format_args!("__pmSendError({fd},...,{code}) ACK failed:{reason}"));
        }
    }

    fn fetch(self, pdu: &[u8]) {
        if self.has_stock_fetch() {
            let (request, reply) = ("FETCH", "__pmSendResult");
            return self.stock_fetch(pdu, &Names { request, reply });
        }
        let mut values = ptr::null_mut();
        self.answer("FETCH", "__pmSendResult", |buffer| {
            values = self.fetch_values(pdu)?;
            // SAFETY: the method has given a result that stays valid until the result callback has seen it.
            unsafe { reply::result(buffer, values) }
        });
        // SAFETY: the extension is valid.
        let callback = unsafe { (*self.ext).e_resultCallBack };
        if let Some(callback) = callback.filter(|_| !values.is_null()) {
            // SAFETY: the result of the method, as the contract of the callback asks for (MAIN-20).
            outside(|| unsafe { callback(values) });
        }
    }

    fn fetch_values(self, pdu: &[u8]) -> Result<*mut pmdaResult> {
        let metrics = decode::fetch(pdu)?;
        let count = metrics.len() as c_int;
        let metrics = received::metrics(metrics)?;
        let mut values = ptr::null_mut();
        let method = method!(self, fetch)?;
        // SAFETY: the block holds `count` metrics; all pointers are valid during the call.
        Error::check(outside(|| unsafe {
            method(count, metrics.as_ptr(), &raw mut values, self.ext)
        }))?;
        Ok(values)
    }

    fn store(self, pdu: &[u8]) {
        let status = self.store_values(pdu).unwrap_or_else(Error::code);
        // The C library does not report a failure here either (MAIN-6).
        let _ = send_error(self.session, self.out(), status);
    }

    fn store_values(self, pdu: &[u8]) -> Result<c_int> {
        let block = received::result(store::store(pdu)?)?;
        let method = method!(self, store)?;
        // SAFETY: the block holds a complete result; both pointers are valid during the call.
        Error::check(outside(|| unsafe { method(block.as_ptr().cast(), self.ext) }))
    }

    fn desc(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let metric = decode::desc_request(pdu)?;
        // SAFETY: the structure has nothing but integers.
        let mut desc: pmDesc = unsafe { std::mem::zeroed() };
        let method = method!(self, desc)?;
        // SAFETY: both pointers are valid during the call.
        Error::check(outside(|| unsafe { method(metric.0, &raw mut desc, self.ext) }))?;
        reply::desc(reply, &desc)
    }

    fn instance(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let request = decode::instance_request(pdu)?;
        if self.has_stock_instance() {
            return self.stock_instance(request, reply);
        }
        let name = request.name.map(memory::string).transpose()?;
        let name = name.as_ref().map_or(ptr::null_mut(), memory::Block::as_ptr);
        let mut list: *mut pmInResult = ptr::null_mut();
        let method = method!(self, instance)?;
        // SAFETY: the name is NULL or a C string of ours; all pointers are valid during the call.
        let status = outside(|| unsafe { method(request.indom.0, request.inst, name, &raw mut list, self.ext) });
        Error::check(status)?;
        let list = OwnedInstances(list);
        // SAFETY: the method has succeeded, so the list is NULL or valid.
        unsafe { reply::instances(reply, list.0) }
    }

    fn text(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let request = decode::text_request(pdu)?;
        let mut text: *mut c_char = ptr::null_mut();
        let method = method!(self, text)?;
        // SAFETY: both pointers are valid during the call.
        let status = outside(|| unsafe { method(request.ident as i32, request.kind, &raw mut text, self.ext) });
        Error::check(status)?;
        // SAFETY: the method has succeeded, so the text is NULL or a C string that is valid until the reply is sent.
        unsafe { reply::text(reply, request.ident, text) }
    }

    /// Says, once in a process and kind of request, that the interface version of the agent has no such method: under -Dlibpmda, since PCP
    /// 6.0.5 (MAIN-30).
    pub(super) fn tell_missing(self, since: u32, method: &str, told: &AtomicBool) {
        if SINCE_6_0_5 && log::debug(Debug::Libpmda) && !told.swap(true, Ordering::Relaxed) {
            let interface = self.interface();
            log::warning!("PMDA version {interface} < {since}, no PMDA {method}() callback possible");
        }
    }

    fn pmid(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let name = memory::string(decode::names_request(pdu)?)?;
        if self.interface() < WITH_NAMES {
            return Err(Error::NAME);
        }
        let mut metric: pmID = 0;
        let method = method!(self, pmid)?;
        // SAFETY: a C string of ours; all pointers are valid during the call.
        let status = Error::check(outside(|| unsafe { method(name.as_ptr(), &raw mut metric, self.ext) }))?;
        reply::id(reply, status, metric)
    }

    fn name(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let metric = decode::ids_request(pdu)?;
        if self.interface() < WITH_NAMES {
            static TOLD: AtomicBool = AtomicBool::new(false);
            self.tell_missing(WITH_NAMES, "name", &TOLD);
            return Err(Error::PMID);
        }
        let mut list = OwnedNames {
            names: ptr::null_mut(),
            states: ptr::null_mut(),
        };
        let method = method!(self, name)?;
        // SAFETY: all pointers are valid during the call.
        let count = Error::check(outside(|| unsafe { method(metric.0, &raw mut list.names, self.ext) }))?;
        // SAFETY: the method has succeeded with so many names.
        unsafe { list.encode(reply, count, false) }
    }

    fn children(self, pdu: &[u8], reply: &mut Reply, all: bool) -> Result<()> {
        let request = decode::names_below(pdu)?;
        let name = memory::string(request.name)?;
        if self.interface() < WITH_NAMES {
            static TOLD: [AtomicBool; 2] = [AtomicBool::new(false), AtomicBool::new(false)];
            self.tell_missing(WITH_NAMES, "children", &TOLD[usize::from(all)]);
            return Err(Error::NAME);
        }
        let mut list = OwnedNames {
            names: ptr::null_mut(),
            states: ptr::null_mut(),
        };
        let method = method!(self, children)?;
        let (names, states) = (&raw mut list.names, &raw mut list.states);
        // SAFETY: a C string of ours; all pointers are valid during the call.
        let count = Error::check(outside(|| unsafe {
            method(name.as_ptr(), c_int::from(all), names, states, self.ext)
        }))?;
        // SAFETY: the method has succeeded with so many names, and as many states if any.
        unsafe { list.encode(reply, count, request.with_states && !all) }
    }

    fn label(self, pdu: &[u8], reply: &mut Reply) -> Result<()> {
        let request = decode::label_request(pdu)?;
        let mut first: *mut pmLabelSet = ptr::null_mut();
        let mut count = 0;
        if self.interface() >= WITH_LABELS {
            let method = method!(self, label)?;
            // SAFETY: all pointers are valid during the call.
            let status = outside(|| unsafe { method(request.ident as i32, request.kind, &raw mut first, self.ext) });
            count = Error::check(status)?;
        } else {
            static TOLD: AtomicBool = AtomicBool::new(false);
            self.tell_missing(WITH_LABELS, "label", &TOLD);
        }
        // libpcp's labels of a context may come with a 0 (L-11): what is in the set is to be freed all the same.
        let owned = if request.kind & LABEL_KINDS == CONTEXT_LABELS && !first.is_null() {
            count.max(1)
        } else {
            count
        };
        // SAFETY: the method has succeeded and handed over so many sets; freed after the reply is made, all of them, not
        // only those that are sent.
        let sets = unsafe { Sets::own(first, owned) };
        let sent = if request.kind & INSTANCE_LABELS == 0 {
            count.min(1)
        } else {
            count
        };
        if log::debug(Debug::Labels) {
            // SAFETY: as above.
            unsafe { spoken::labels(request.ident, request.kind, sets.as_ptr(), sent) };
        }
        // SAFETY: as above.
        unsafe { reply::labels(reply, request.ident, request.kind, sets.as_ptr(), sent) }
    }
}

/// Sends a status; the buffer of the session is used when it is free.
pub(super) fn send_error(session: &Session, channel: Channel, code: c_int) -> Result<()> {
    let mut buffer = session.take_reply();
    buffer.error(code);
    debug_assert!(buffer.bytes().len() > HEADER);
    let outcome = channel.send(buffer.bytes());
    session.give_reply(buffer);
    outcome
}

/// Says what went wrong with a reply: a debug line before PCP 6.0.5, a warning with its own time stamp since (MAIN-31).
fn warn(text: fmt::Arguments<'_>) {
    if SINCE_6_0_5 {
        log::warning!("{text}");
    } else {
        log::notify!(Level::Debug, "{text}");
    }
}
