//! libpcp's log, debug output on stderr, and the debug options. All messages of the library are
//! written here.
//!
//! To add a message, provoke it in the C library first: text, severity, stream and order are those
//! of that PCP. `pmda_core` collects it in a [`Journal`]; elsewhere a macro of this file prints it,
//! without memory (no `format!`). What changed between releases depends on a constant of
//! [`super`], such as `SINCE_6_0_5`.

use std::ffi::{CStr, c_char, c_int};
use std::fmt::{self, Display};
use std::mem::{offset_of, zeroed};
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::sys::libpcp::SINCE_6_0_5;
use crate::sys::libpcp::bindings as pcp;
use crate::sys::libpcp::pmGetProgname;
use crate::sys::lock::{Token, uncancelled};
use pmda_core::error::Error;
use pmda_core::log::{Bytes, Journal, Level, Line, Message, Whole};

/// A debug option of `-D`. It is read each time, since agents and `pmStore` change options while
/// the library runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Debug {
    Pdu,
    Context,
    Indom,
    Libpmda,
    Auth,
    Attr,
    Desperate,
    Labels,
    Pmns,
}

/// The variable of libpcp for a debug option. It is an atomic number here, since other code may
/// write it at any time.
fn flag(option: Debug) -> &'static AtomicI32 {
    /// The offset of an option in the structure. The constant compiles only if the field is an int.
    macro_rules! offset_of_field {
        ($field:ident) => {{
            const _: fn(&pcp::pmdebugoptions_t) -> c_int = |options| options.$field;
            offset_of!(pcp::pmdebugoptions_t, $field)
        }};
    }
    let field = match option {
        Debug::Pdu => offset_of_field!(pdu),
        Debug::Context => offset_of_field!(context),
        Debug::Indom => offset_of_field!(indom),
        Debug::Libpmda => offset_of_field!(libpmda),
        Debug::Auth => offset_of_field!(auth),
        Debug::Attr => offset_of_field!(attr),
        Debug::Desperate => offset_of_field!(desperate),
        Debug::Labels => offset_of_field!(labels),
        Debug::Pmns => offset_of_field!(pmns),
    };
    let flag = (&raw mut pcp::pmDebugOptions).wrapping_byte_add(field).cast();
    // SAFETY: the address of a field of libpcp's variable, which lives as long as the process. The
    // field is an int, as `offset_of_field` checks, aligned as such. Rust code reads and writes it
    // through this reference alone. (C code writes plain ints: each is one store on every
    // architecture.)
    unsafe { AtomicI32::from_ptr(flag) }
}

/// Returns whether a debug option is set.
pub(crate) fn debug(option: Debug) -> bool {
    flag(option).load(Ordering::Relaxed) != 0
}

/// Does `work` with a debug option cleared. It is cleared for other threads, too.
pub(crate) fn without<R>(option: Debug, work: impl FnOnce() -> R) -> R {
    let before = flag(option).swap(0, Ordering::Relaxed);
    let result = work();
    flag(option).store(before, Ordering::Relaxed);
    result
}

/// The name of the program. It is read at once, since the agent may set another one.
fn program() -> Bytes<'static> {
    // SAFETY: libpcp always has a name: a C string that stays.
    Bytes(unsafe { CStr::from_ptr(pmGetProgname()) }.to_bytes())
}

/// Writes a line to the log through `pmNotifyErr`:
/// `notify!(token, Level::Err, "{}: no such metric", Bytes(name))`.
///
/// All messages go through this macro and its sisters (`debug_line!`, `trace!`, `warning!`). They
/// put the text together on the stack, or in memory that may be refused: then the line is shorter.
/// `format!`, `to_string` and the like end the process without memory.
///
/// A stream may be locked by another thread, or lead to a full pipe: so they take the token of the
/// step, and write apart from the lock.
macro_rules! notify_macro {
    ($token:expr, $level:expr, $($text:tt)+) => {
        $crate::sys::libpcp::log::notify_line($token, $level, format_args!($($text)+))
    };
}

/// Writes a line of debug output. Its start depends on the release of PCP: since 6.0.5 time and
/// program name on stderr, before that a line of the log with severity `Debug`.
macro_rules! debug_macro {
    ($token:expr, $($text:tt)+) => {
        $crate::sys::libpcp::log::debug_args($token, format_args!($($text)+))
    };
}

/// Writes text to stderr as it is; the text has its own newline.
macro_rules! trace_macro {
    ($token:expr, $($text:tt)+) => {
        $crate::sys::libpcp::log::trace($token, ::pmda_core::log::Line::new(format_args!($($text)+)).bytes())
    };
}

/// Writes a warning to stderr beside the log, in the form of PCP since 6.0.5: time with
/// microseconds, severity, text (MAIN-31).
macro_rules! warning_macro {
    ($token:expr, $($text:tt)+) => {
        $crate::sys::libpcp::log::warning_args($token, format_args!($($text)+))
    };
}

#[allow(unused_imports, reason = "a release of PCP may have no use for one of them")]
pub(crate) use {debug_macro as debug_line, notify_macro as notify, trace_macro as trace, warning_macro as warning};

/// See [`debug_line!`].
pub(crate) fn debug_args(token: &mut Token, text: fmt::Arguments<'_>) {
    if SINCE_6_0_5 {
        stamped(token, format_args!("{}: {text}", program()));
    } else {
        notify_line(token, Level::Debug, text);
    }
}

/// See [`warning!`].
pub(crate) fn warning_args(token: &mut Token, text: fmt::Arguments<'_>) {
    stamped(token, format_args!("Warning: {text}"));
}

/// See [`notify!`]. A NUL in the text ends it, and so does [`LINE_MAX`](pmda_core::log::LINE_MAX).
pub(crate) fn notify_line(token: &mut Token, level: Level, text: fmt::Arguments<'_>) {
    let mut line = Line::new(text);
    line.limit();
    let text = line.c_str();
    let priority = match level {
        Level::Crit => libc::LOG_CRIT,
        Level::Err => libc::LOG_ERR,
        Level::Warning => libc::LOG_WARNING,
        Level::Info => libc::LOG_INFO,
        Level::Debug => libc::LOG_DEBUG,
    };
    if memory_is_short() {
        return without_libpcp(token, level, text);
    }
    token.apart(|| pass_on(priority, text));
}

/// Writes the one line of a library that serves no call. It is not in a step: none begins.
pub(crate) fn refusal(text: fmt::Arguments<'_>) {
    let mut line = Line::new(text);
    line.limit();
    if !memory_is_short() {
        uncancelled(|| pass_on(libc::LOG_CRIT, line.c_str()));
    }
}

/// Passes a line on to libpcp's log.
fn pass_on(priority: c_int, text: &CStr) {
    // SAFETY: the format asks for one C string, which is valid during the call.
    unsafe { pcp::pmNotifyErr(priority, c"%s".as_ptr(), text.as_ptr()) };
}

/// Returns whether libpcp cannot even get the memory for a line. Without that memory `pmNotifyErr`
/// calls itself to report the lack, until the stack ends.
fn memory_is_short() -> bool {
    /// Bytes: more than libpcp takes for a line.
    const ENOUGH: usize = 16 * 1024;
    let mut probe = Vec::<u8>::new();
    if probe.try_reserve_exact(ENOUGH).is_err() {
        return true;
    }
    // Of memory that nobody uses the optimiser asks none, and takes it for granted that there was
    // enough: it cannot leave out a volatile write.
    // SAFETY: the block has ENOUGH bytes, and this function alone has it.
    unsafe { probe.as_mut_ptr().write_volatile(0) };
    false
}

/// Writes a line to stderr in the form of libpcp's log.
#[cold]
fn without_libpcp(token: &mut Token, level: Level, text: &CStr) {
    let severity = match level {
        Level::Crit => "Critical",
        Level::Err => "Error",
        Level::Warning => "Warning",
        Level::Info => "Info",
        Level::Debug => "Debug",
    };
    let (program, text) = (program(), Whole(text.to_bytes()));
    let now = time();
    let stamp = stamp(now);
    let process = std::process::id();
    trace(
        token,
        Line::new(format_args!("[{stamp}] {program}({process}) {severity}: {text}\n")).bytes(),
    );
}

/// Writes debug output to stderr. A failure is ignored, as no better place can report it.
///
/// It goes through stdio's stream, as the output of libpcp and agents does: since PCP 7.0 that
/// stream has a buffer, so lines that bypass it would overtake others. `std::io::stderr` is not
/// used either, since a thread that does not exist in the child of a fork may have its lock.
pub(crate) fn trace(token: &mut Token, text: &[u8]) {
    // SAFETY: the slice has the length that is passed along. The stream is stdio's own; fwrite
    // fails on one that is closed.
    token.apart(|| unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), stream()) });
}

/// A number that prints as by C's `%#x`: 0 has no prefix.
pub(crate) fn hex(number: u32) -> Hex {
    Hex(number)
}

/// See [`hex`].
pub(crate) struct Hex(u32);

impl Display for Hex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => out.write_str("0"),
            number => write!(out, "{number:#x}"),
        }
    }
}

/// Writes out the messages of a journal, and empties it.
pub(crate) fn flush(token: &mut Token, journal: &mut Journal) {
    if !journal.messages.is_empty() {
        write_out(token, journal);
    }
}

/// [`flush`] of a journal with messages.
#[cold]
fn write_out(token: &mut Token, journal: &mut Journal) {
    for message in journal.messages.drain(..) {
        match message {
            Message::Notify(level, text) => notify!(token, level, "{}", Whole(&text)),
            Message::Debug(text) => debug_line!(token, "{}", Whole(&text)),
            Message::Trace(text) => trace(token, &text),
        }
    }
}

/// A text that libpcp or the C library has written, in a buffer of `SIZE` bytes without allocation.
pub(crate) struct TextBuffer<const SIZE: usize>([u8; SIZE]);

impl<const SIZE: usize> TextBuffer<SIZE> {
    /// The text that `write` stores at the start of the buffer, which it gets with its size.
    fn filled(write: impl FnOnce(*mut c_char, usize)) -> TextBuffer<SIZE> {
        let mut buffer = [0; SIZE];
        write(buffer.as_mut_ptr().cast(), SIZE);
        TextBuffer(buffer)
    }

    /// The bytes before the NUL.
    pub(crate) fn bytes(&self) -> &[u8] {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default().to_bytes()
    }
}

impl<const SIZE: usize> Display for TextBuffer<SIZE> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        Whole(self.bytes()).fmt(out)
    }
}

/// The text of an error code.
pub(crate) type ErrorText = TextBuffer<{ pcp::PM_MAXERRMSGLEN as usize }>;

/// The text of an error code, as `pmErrStr` gives it.
pub(crate) fn errstr(error: Error) -> ErrorText {
    errstr_of(error.code())
}

/// The text of any code, also of one that is no error, as `pmErrStr` gives it.
pub(crate) fn errstr_of(code: c_int) -> ErrorText {
    // SAFETY: the buffer has the size that is passed along.
    TextBuffer::filled(|buffer, size| unsafe {
        pcp::pmErrStr_r(code, buffer, size as c_int);
    })
}

/// Redirects stderr to a log file. libpcp itself reports a failure. Since PCP 6.0.5 the file is
/// written line by line under `-Dlibpmda,desperate` (INIT-30).
pub(crate) fn open(token: &mut Token, program: &CStr, file: &CStr) {
    let mut status = 0;
    let stream = stream();
    let by_lines = SINCE_6_0_5 && debug(Debug::Libpmda) && debug(Debug::Desperate);
    token.apart(|| {
        if by_lines {
            // SAFETY: stdio's own stderr, which allocates its buffer itself.
            unsafe { libc::setvbuf(stream, std::ptr::null_mut(), libc::_IOLBF, 0) };
        }
        // SAFETY: two C strings, stdio's own stderr, and a status to write to.
        unsafe { pcp::pmOpenLog(program.as_ptr(), file.as_ptr(), stream, &raw mut status) };
    });
}

/// The stream that debug output goes to, as C's type.
pub(super) fn stream() -> *mut libc::FILE {
    unsafe extern "C" {
        /// stdio's own variable, which programs may change.
        safe static stderr: AtomicPtr<libc::FILE>;
    }
    stderr.load(Ordering::Relaxed)
}

/// The text of an error number, as `strerror` gives it.
pub(crate) fn os_text(errno: i32) -> ErrorText {
    // SAFETY: the buffer has the size that is passed along.
    TextBuffer::filled(|buffer, size| unsafe {
        libc::strerror_r(errno, buffer, size);
    })
}

/// Writes the local time with microseconds, and a line, to stderr.
fn stamped(token: &mut Token, text: fmt::Arguments<'_>) {
    let now = time();
    let (stamp, micros) = (stamp(now), now.subsec_micros());
    let mut line = Line::new(format_args!("[{stamp}.{micros:06}] {text}\n"));
    line.limit();
    trace(token, line.bytes());
}

/// The time since 1970.
fn time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A time as libpcp's log has it: local, in seconds.
fn stamp(time: Duration) -> TextBuffer<64> {
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(0);
    // SAFETY: the structure has integers and a pointer, for which zero is a value.
    let mut parts: libc::tm = unsafe { zeroed() };
    // SAFETY: a time to read, and a structure to write, both in this frame.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut parts) };
    // SAFETY: a C string, a structure that localtime_r has filled in or left zero, and a buffer of
    // the size that is passed along.
    TextBuffer::filled(|buffer, size| unsafe {
        libc::strftime(buffer, size, c"%a %b %d %H:%M:%S".as_ptr(), &raw const parts);
    })
}

/// The text `name=value` of a client's attribute; `None` for one that libpcp does not know.
pub(crate) fn attribute_text(attribute: c_int, value: &CStr) -> Option<TextBuffer<256>> {
    let mut is_known = false;
    // SAFETY: a C string, and a buffer of the size that is passed along.
    let text = TextBuffer::filled(|buffer, size| unsafe {
        is_known = !pcp::__pmAttrStr_r(attribute, value.as_ptr(), buffer, size).is_null();
    });
    is_known.then_some(text)
}
