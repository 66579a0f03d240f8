//! The command line of an agent: the options that every agent has (`pmdaGetOptions`, `pmdaGetOpt`).

use std::ffi::c_int;
use std::fmt;

use crate::sys::libpcp::{self, log};
use crate::sys::lock::Token;
use crate::view::arg::{CText, Shown};
use crate::view::interface::Transport;
use crate::view::interface::{Arguments, Options, number};
use crate::view::interface::{Dispatch, Ext};
use pmda_core::log::{Bytes, Level};

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
