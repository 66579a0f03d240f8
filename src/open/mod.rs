//! The setup of an agent: its extension and methods (`pmdaDaemon`, `pmdaDSO`), its command line,
//! its tables (`pmdaInit`), its flags and callbacks, and its connection to pmcd (`pmdaConnect`).

pub(crate) mod connect;
pub(crate) mod exports;
pub(crate) mod init;

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::Ordering;
use std::{fmt, ptr};

use crate::state;
use crate::sys::libpcp::log::{self, Debug};
use crate::sys::libpcp::{self, PMAPI, SINCE_6_0_5, fit, free_result_values};
use crate::sys::lock::Token;
use crate::view::arg::{CText, Pointer, Shown};
use crate::view::interface::{self, Arguments, Dispatch, Ext, ExtTexts, Options, Transport, number, pmdaInterface};
use crate::view::types::Comm;
use pmda_core::constants::PMDA_EXT_SETUPDONE;
use pmda_core::error::{Error, Result};
use pmda_core::ident::Interface;
use pmda_core::log::{Bytes, Level};

/// The bytes of a text for a message; none for NULL.
fn text<'t>(text: Option<&'t CText<'_>>) -> Bytes<'t> {
    Bytes(text.map_or(&[], CText::bytes))
}

/// Returns whether the library serves nobody in this process ([`fit`]). The status says so to the
/// host: pmcd drops an agent with a negative one, and a daemon ends.
pub(crate) fn is_refused(dispatch: Option<Dispatch<'_>>) -> bool {
    if fit::fits() {
        return false;
    }
    if let Some(dispatch) = dispatch {
        dispatch.set_status(Error::ELIBACC.code());
    }
    true
}

/// Gives an agent that is refused an extension and methods all the same, beside its status: some
/// agents look at the status last (pmcd's own). It is not in a step, since none begins.
pub(crate) fn stand_in(dispatch: Option<Dispatch<'_>>, version: c_int, texts: &ExtTexts<'_>, methods: &pmdaInterface) {
    let Some(dispatch) = dispatch else { return };
    let interface = Interface(u32::try_from(version).unwrap_or(u32::MAX));
    if !interface.is_supported() {
        return;
    }
    if let Ok(ext) = interface::create(texts) {
        dispatch.set_ext(ext);
        dispatch.set_methods(methods, interface);
    }
}

/// Gives a dispatch table an extension with copies of the `texts`, and the default `methods`.
/// Returns whether that was possible; if not, the reason is logged, and the status of the dispatch
/// table is negative (INIT-10 … INIT-13). `daemon`: the agent is a process of its own.
pub(crate) fn set_up(
    token: &mut Token,
    dispatch: Dispatch<'_>,
    version: c_int,
    texts: &ExtTexts<'_>,
    daemon: bool,
    methods: &pmdaInterface,
) -> bool {
    let interface = Interface(u32::try_from(version).unwrap_or(u32::MAX));
    let name = Shown(texts.name);
    if !interface.is_supported() {
        let domain = dispatch.domain();
        log::notify!(
            token,
            Level::Crit,
            "__pmdaSetup: {name} PMDA: interface version {version} not supported (domain={domain})"
        );
        dispatch.set_status(Error::GENERIC.code());
        return false;
    }
    let Ok(ext) = extension(token, dispatch, texts, daemon) else {
        log::notify!(token, Level::Err, "{name}: Unable to allocate memory for pmdaExt");
        dispatch.set_status(Error::GENERIC.code());
        return false;
    };
    dispatch.set_status(0);
    dispatch.set_comm(Comm {
        interface: interface.0 as u8,
        pmapi: PMAPI,
        flags: 0,
    });
    dispatch.set_ext(ext);
    dispatch.set_methods(methods, interface);
    state::note_dispatch(token, dispatch);
    true
}

/// A new extension, with all fields that are not zero at first (INIT-10).
///
/// # Errors
/// `-ENOMEM`.
fn extension(token: &mut Token, dispatch: Dispatch<'_>, texts: &ExtTexts<'_>, daemon: bool) -> Result<Ext<'static>> {
    let ext = state::register_agent(token, dispatch, daemon, || interface::create(texts))?;
    ext.set_infd(-1);
    ext.set_outfd(-1);
    ext.set_port(-1);
    ext.set_singular(-1);
    ext.set_ordinal(-1);
    ext.set_help(-1);
    ext.set_domain(dispatch.domain());
    ext.set_io(Transport::Unknown.number());
    ext.add_flags(PMDA_EXT_SETUPDONE);
    ext.set_result_callback(Some(free_result_values));
    Ok(ext)
}

/// Name and path of the log file of an agent that was set up.
pub(crate) fn log_file(dispatch: Dispatch<'_>) -> Option<(CText<'_>, CText<'_>)> {
    let ext = dispatch.ext().filter(|_| dispatch.status() >= 0)?;
    ext.name().zip(ext.logfile())
}

/// Sets a callback if the interface version has it. If not, that is logged, and the status of the
/// dispatch table is negative (INIT-50).
pub(crate) fn set_callback(
    token: &mut Token,
    dispatch: Option<Dispatch<'_>>,
    name: &str,
    has: impl FnOnce(Interface) -> bool,
    set: impl FnOnce(Ext<'_>),
) {
    let Some(dispatch) = dispatch else { return };
    let interface = dispatch.interface();
    if !has(interface) {
        log::notify!(
            token,
            Level::Crit,
            "Unable to set {name} callback for PMDA interface version {}.",
            interface.0
        );
        dispatch.set_status(Error::GENERIC.code());
        return;
    }
    if let Some(ext) = dispatch.ext() {
        set(ext);
    }
}

/// The extension of an agent, if its interface version exists. If not, that is logged with the name
/// of the exported `function`, and the status of the dispatch table is negative (INIT-47).
pub(crate) fn supported<'call>(
    token: &mut Token,
    dispatch: Option<Dispatch<'call>>,
    function: &str,
) -> Option<Ext<'call>> {
    let dispatch = dispatch?;
    if !is_supported(token, dispatch, function) {
        dispatch.set_status(Error::GENERIC.code());
        return None;
    }
    dispatch.ext()
}

/// Returns whether the interface version exists. If not, that is logged with the name of the
/// exported `function`.
fn is_supported(token: &mut Token, dispatch: Dispatch<'_>, function: &str) -> bool {
    let (interface, domain) = (dispatch.interface(), dispatch.domain());
    if !interface.is_supported() {
        log::notify!(
            token,
            Level::Crit,
            "{function}: PMDA interface version {} not supported (domain={domain})",
            interface.0
        );
    }
    interface.is_supported()
}

/// Adds flags to an agent. No function takes one away (INIT-47).
pub(crate) fn add_flags(token: &mut Token, ext: Option<Ext<'_>>, flags: c_uint) {
    let Some(ext) = ext else { return };
    ext.add_flags(flags);
    if log::debug(Debug::Libpmda) {
        log::debug_line!(token, "pmdaExtSetFlags: flags={flags:x}");
    }
}

/// Adds flags to those that the agent sends to pmcd when it connects (INIT-48).
pub(crate) fn add_comm_flags(token: &mut Token, dispatch: Option<Dispatch<'_>>, flags: c_uint) {
    let Some(dispatch) = dispatch else { return };
    let mut comm = dispatch.comm();
    comm.flags |= flags as u16;
    dispatch.set_comm(comm);
    if !log::debug(Debug::Libpmda) {
        return;
    }
    if SINCE_6_0_5 {
        log::debug_line!(token, "pmdaSetCommFlags: flags={flags:#x}");
    } else {
        log::debug_line!(token, "pmdaSetCommFlags: flags={flags:x}");
    }
}

/// Stores a pointer of the agent's own in place of the one before (INIT-49).
pub(crate) fn attach(token: &mut Token, ext: Option<Ext<'_>>, data: *mut c_void) {
    if let Some(record) = ext.and_then(|ext| state::agent(token, ext)) {
        record.user.store(data, Ordering::Release);
        if log::debug(Debug::Libpmda) {
            log::debug_line!(token, "pmdaExtSetData: data={}", Pointer(data));
        }
    }
}

/// The pointer that the agent has stored; NULL at first.
pub(crate) fn attached(token: &mut Token, ext: Option<Ext<'_>>) -> *mut c_void {
    let record = ext.and_then(|ext| state::agent(token, ext));
    record.map_or(ptr::null_mut(), |record| record.user.load(Ordering::Acquire))
}

/// The return value of getopt at the end of the options.
pub(crate) const END: c_int = -1;

/// The search for the next option that is the agent's own. Options that every agent has are handled
/// on the way (INIT-20).
pub(crate) struct OptionSearch<'call> {
    arguments: Arguments<'call>,
    options: Options<'call>,
    dispatch: Dispatch<'call>,
    /// True if `-U` is one of those that every agent has: for `pmdaGetOptions`.
    with_user: bool,
}

impl<'call> OptionSearch<'call> {
    /// A search; `None`, with an error counted, if the agent was not set up.
    pub(crate) fn new(
        token: &mut Token,
        arguments: Arguments<'call>,
        options: Options<'call>,
        dispatch: Dispatch<'call>,
        with_user: bool,
    ) -> Option<OptionSearch<'call>> {
        if dispatch.status() != 0 {
            options.count_error();
            return None;
        }
        let (interface, domain) = (dispatch.interface(), dispatch.domain());
        if !interface.is_supported() || dispatch.ext().is_none() {
            log::notify!(
                token,
                Level::Crit,
                "pmdaGetOptions: PMDA interface version {} not supported (domain={domain})",
                interface.0
            );
            options.count_error();
            return None;
        }
        options.set_version(0);
        Some(OptionSearch {
            arguments,
            options,
            dispatch,
            with_user,
        })
    }

    /// The letter of the next option, or [`END`].
    pub(crate) fn next(&self, token: &mut Token) -> c_int {
        self.arguments.next(token, self.options)
    }

    /// Handles an option that every agent has. Returns whether it is one.
    pub(crate) fn is_handled(&self, token: &mut Token, letter: c_int) -> bool {
        match u8::try_from(letter) {
            Ok(b'?') => self.options.count_error(),
            Ok(b'U') if self.with_user => self.options.set_username(self.options.argument_if_any()),
            Ok(letter) => {
                return self
                    .dispatch
                    .ext()
                    .is_some_and(|ext| self.is_common(token, letter, ext));
            }
            Err(_) => return false,
        }
        true
    }

    /// [`OptionSearch::is_handled`] for the options but `-?` and `-U`.
    fn is_common(&self, token: &mut Token, letter: u8, ext: Ext<'_>) -> bool {
        let text = self.options.argument();
        match letter {
            b'd' => {
                let (number, is_clean) = number(text);
                self.dispatch.set_domain(number);
                ext.set_domain(number);
                if !is_clean {
                    self.complain(token, ext, format_args!("-d requires numeric domain number"));
                }
            }
            b'D' => {
                if !libpcp::set_debug(token, text.c_str()) {
                    let text = Bytes(text.bytes());
                    self.complain(
                        token,
                        ext,
                        format_args!("unrecognized debug options specification ({text})"),
                    );
                }
            }
            b'h' => ext.set_helptext(copy(token, text)),
            b'l' => ext.set_logfile(copy(token, text)),
            b'p' => _ = self.choose(token, ext, Transport::Pipe),
            b'i' | b'6' => {
                let wanted = if letter == b'i' {
                    Transport::Inet
                } else {
                    Transport::Ipv6
                };
                if self.choose(token, ext, wanted) {
                    let (number, is_clean) = number(text);
                    ext.set_port(number);
                    if !is_clean {
                        ext.set_sockname(text);
                    }
                }
            }
            // The name is not copied: it stays where it is in the arguments, as in the C library.
            b'u' => {
                if self.choose(token, ext, Transport::Unix) {
                    ext.set_sockname(text);
                }
            }
            _ => return false,
        }
        true
    }

    /// Chooses the transport to pmcd. The first choice stays: another one is an error (INIT-21).
    /// Returns whether the transport is the wanted one.
    fn choose(&self, token: &mut Token, ext: Ext<'_>, wanted: Transport) -> bool {
        let current = Transport::new(ext.io());
        if current == Some(wanted) || current == Some(Transport::Unknown) {
            ext.set_io(wanted.number());
            return true;
        }
        let (wanted, current) = (wanted.letter(), current.unwrap_or(Transport::Unknown).letter());
        self.complain(
            token,
            ext,
            format_args!("-{wanted} option clashes with -{current} option"),
        );
        false
    }

    /// Adds a message and counts an error (INIT-22).
    fn complain(&self, token: &mut Token, ext: Ext<'_>, text: fmt::Arguments<'_>) {
        let name = Shown(ext.name());
        libpcp::option_message(token, format_args!("{name}: {text}\n"));
        self.options.count_error();
    }
}

/// A copy that is never freed, since the text that it replaces is not either: that may be in use
/// elsewhere (INIT-20). NULL without memory, which is logged.
fn copy(token: &mut Token, text: CText<'_>) -> Option<CText<'static>> {
    let copied = CText::copied(text.bytes());
    copied
        .inspect_err(|error| log::notify!(token, Level::Err, "pmdaGetOptions: {}", log::errstr(*error)))
        .ok()
}
