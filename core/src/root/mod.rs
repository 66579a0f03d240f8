//! The messages between agents, pmcd and pmdaroot, the server for operations that need privileges.
//! These are pure functions from and to bytes.
//!
//! ```text
//! header     type | length | status | version                            16 bytes
//! info       header | features | 0                                       24 bytes
//! container  header | pid | length of name | name                        24 bytes and the name
//! start      header | pid | infd | outfd | ipctype |
//!            length of name | length of arguments | name[64] |           104 bytes
//!            arguments                                                   and the arguments
//! stop       header | pid | code | force | 0                             32 bytes
//! ```
//!
//! All numbers have 32 bits in native byte order; strings have no NUL (ROOT-1 … ROOT-6). No byte
//! that a peer sends is trusted.

use crate::error::{Error, Result};

/// The version of the protocol that is sent; receivers accept it and all versions before it
/// (ROOT-4).
pub const VERSION: i32 = 2;

/// Types of messages (ROOT-3).
pub mod kind {
    /// The server introduces itself.
    pub const INFO: i32 = 0x9000;
    /// Asks for the host name of a container.
    pub const HOSTNAME_REQ: i32 = 0x9001;
    /// The host name of a container.
    pub const HOSTNAME: i32 = 0x9002;
    /// Asks for the first process of a container.
    pub const PROCESSID_REQ: i32 = 0x9003;
    /// The first process of a container.
    pub const PROCESSID: i32 = 0x9004;
    /// Asks for the control group of a container.
    pub const CGROUPNAME_REQ: i32 = 0x9005;
    /// The control group of a container.
    pub const CGROUPNAME: i32 = 0x9006;
    /// Asks for an agent to be started.
    pub const START_REQ: i32 = 0x9007;
    /// An agent was started.
    pub const START: i32 = 0x9008;
    /// Asks about the end of an agent.
    pub const STOP_REQ: i32 = 0x9009;
    /// The end of an agent.
    pub const STOP: i32 = 0x900a;
}

/// The size of an information message in bytes.
pub const INFO_SIZE: usize = 24;
/// The size of a container message in bytes, without its name.
pub const CONTAINER_SIZE: usize = 24;
/// The size of a start message in bytes, without its arguments.
pub const START_SIZE: usize = 104;
/// The size of a stop message in bytes.
pub const STOP_SIZE: usize = 32;
/// The size in bytes of the field for an agent's name in a start message: it has this size whatever
/// the name is.
pub const AGENT_NAME_SIZE: usize = 64;
/// The size in bytes of the C structures' fields for the name of a container or the arguments of an
/// agent.
pub const TEXT_SIZE: usize = 4096;

/// Offsets of the numbers in the messages.
mod at {
    pub(super) const KIND: usize = 0;
    pub(super) const LENGTH: usize = 4;
    pub(super) const STATUS: usize = 8;
    pub(super) const VERSION: usize = 12;
    pub(super) const PID: usize = 16;
    /// Information.
    pub(super) const FEATURES: usize = 16;
    /// Container.
    pub(super) const CONTAINER_NAMELEN: usize = 20;
    /// Start.
    pub(super) const INFD: usize = 20;
    pub(super) const OUTFD: usize = 24;
    pub(super) const IPCTYPE: usize = 28;
    pub(super) const NAMELEN: usize = 32;
    pub(super) const ARGSLEN: usize = 36;
    pub(super) const NAME: usize = 40;
    /// Stop.
    pub(super) const CODE: usize = 20;
    pub(super) const FORCE: usize = 24;
}

/// The offsets of the two descriptors in a start message: the receiver stores the descriptors that
/// it has received at these offsets (ROOT-25).
pub const START_DESCRIPTORS: [usize; 2] = [at::INFD, at::OUTFD];

/// The number at an offset; `None` beyond the end.
fn number(message: &[u8], offset: usize) -> Option<i32> {
    let bytes = message.get(offset..offset + 4)?;
    bytes.try_into().ok().map(i32::from_ne_bytes)
}

/// A message of `size` bytes: a header, and zeros. Sizes are far below 2^31.
fn message(size: usize, kind: i32, status: i32) -> Result<Vec<u8>> {
    let mut message = Vec::new();
    message.try_reserve_exact(size).map_err(|_| Error::ENOMEM)?;
    message.resize(size, 0);
    put(&mut message, at::KIND, kind);
    put(&mut message, at::LENGTH, i32::try_from(size).unwrap_or(i32::MAX));
    put(&mut message, at::STATUS, status);
    put(&mut message, at::VERSION, VERSION);
    Ok(message)
}

/// Writes a number at an offset.
fn put(message: &mut [u8], offset: usize, value: i32) {
    message[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
}

/// Writes a text at an offset, cut to the size of its field.
fn put_text(message: &mut [u8], offset: usize, limit: usize, text: &[u8]) {
    let text = &text[..text.len().min(limit)];
    message[offset..offset + text.len()].copy_from_slice(text);
}

/// Makes the server's introduction (ROOT-20).
///
/// # Errors
/// `-ENOMEM`.
pub fn info(features: i32, status: i32) -> Result<Vec<u8>> {
    let mut message = message(INFO_SIZE, kind::INFO, status)?;
    put(&mut message, at::FEATURES, features);
    Ok(message)
}

/// Makes a request or a reply about a container (ROOT-21). The field for the name has `length`
/// bytes: the name, filled up with zeros (R-10). `name` is called when the length was checked.
///
/// # Errors
/// `-EINVAL` for a negative length, `-E2BIG` for one beyond the field, `-ENOMEM`; the errors of
/// `name`.
pub fn container<'a>(
    kind: i32,
    pid: i32,
    length: i32,
    name: impl FnOnce() -> Result<&'a [u8]>,
    status: i32,
) -> Result<Vec<u8>> {
    let limit = usize::try_from(length).map_err(|_| Error::EINVAL)?;
    if limit >= TEXT_SIZE {
        return Err(Error::E2BIG);
    }
    let mut message = message(CONTAINER_SIZE + limit, kind, status)?;
    put(&mut message, at::PID, pid);
    put(&mut message, at::CONTAINER_NAMELEN, length);
    put_text(&mut message, CONTAINER_SIZE, limit, name()?);
    Ok(message)
}

/// The length of a text, which has to be positive and below the size of its field in C.
fn positive(length: i32, limit: usize) -> Result<usize> {
    match usize::try_from(length) {
        Ok(0) | Err(_) => Err(Error::EINVAL),
        Ok(length) if length >= limit => Err(Error::E2BIG),
        Ok(length) => Ok(length),
    }
}

/// Makes a request to start an agent (ROOT-23). `texts` returns name and arguments, and is called
/// when the lengths were checked.
///
/// # Errors
/// `-EINVAL` for a length that is not positive, `-E2BIG` for one beyond its field, `-ENOMEM`; those
/// of `texts`.
pub fn start_request<'a>(
    ipc: i32,
    lengths: (i32, i32),
    texts: impl FnOnce() -> Result<(&'a [u8], &'a [u8])>,
) -> Result<Vec<u8>> {
    if lengths.0 <= 0 || lengths.1 <= 0 {
        return Err(Error::EINVAL);
    }
    let (name_limit, limit) = (positive(lengths.0, AGENT_NAME_SIZE)?, positive(lengths.1, TEXT_SIZE)?);
    let mut message = message(START_SIZE + limit, kind::START_REQ, 0)?;
    put(&mut message, at::IPCTYPE, ipc);
    put(&mut message, at::NAMELEN, lengths.0);
    put(&mut message, at::ARGSLEN, lengths.1);
    let (name, arguments) = texts()?;
    put_text(&mut message, at::NAME, name_limit, name);
    put_text(&mut message, START_SIZE, limit, arguments);
    Ok(message)
}

/// Makes the reply that an agent was started (ROOT-24). Its descriptors travel beside the message.
/// `name` is called when the length was checked.
///
/// # Errors
/// `-EINVAL` for a length that is not positive, `-E2BIG` for one beyond the field, `-ENOMEM`; those
/// of `name`.
pub fn start_reply<'a>(pid: i32, length: i32, name: impl FnOnce() -> Result<&'a [u8]>, status: i32) -> Result<Vec<u8>> {
    let limit = positive(length, AGENT_NAME_SIZE)?;
    let mut message = message(START_SIZE, kind::START, status)?;
    put(&mut message, at::PID, pid);
    put(&mut message, at::NAMELEN, length);
    put_text(&mut message, at::NAME, limit, name()?);
    Ok(message)
}

/// Makes a request or a reply about the end of an agent (ROOT-27).
///
/// # Errors
/// `-ENOMEM`.
pub fn stop(kind: i32, pid: i32, code: i32, force: i32, status: i32) -> Result<Vec<u8>> {
    let mut message = message(STOP_SIZE, kind, status)?;
    put(&mut message, at::PID, pid);
    put(&mut message, at::CODE, code);
    put(&mut message, at::FORCE, force);
    Ok(message)
}

/// Makes the checks of every receiver, in this order: enough bytes, the type, the version, the
/// status (ROOT-12). Returns the length that the header announces.
///
/// # Errors
/// `-EINVAL`, `-ESRCH` and `-ENOTSUP` for the first three. A negative status is the server's error;
/// a positive one, `-EINVAL`, is never sent (R-8).
fn check(message: &[u8], size: usize, wanted: i32) -> Result<i32> {
    if message.len() < size {
        return Err(Error::EINVAL);
    }
    let field = |offset| number(message, offset).ok_or(Error::EINVAL);
    if field(at::KIND)? != wanted {
        return Err(Error::ESRCH);
    }
    if field(at::VERSION)? > VERSION {
        return Err(Error::ENOTSUP);
    }
    if Error::check(field(at::STATUS)?)? != 0 {
        return Err(Error::EINVAL);
    }
    field(at::LENGTH)
}

/// Checks that the length that the header announces covers the fixed part and the text (R-2).
///
/// # Errors
/// `-E2BIG`.
fn covers(announced: i32, fixed: usize, text: i32) -> Result<()> {
    let text = usize::try_from(text).map_err(|_| Error::E2BIG)?;
    match usize::try_from(announced) {
        Ok(announced) if announced >= fixed.saturating_add(text) => Ok(()),
        _ => Err(Error::E2BIG),
    }
}

/// The introduction of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InfoPdu {
    /// The version that the server speaks.
    pub version: i32,
    /// The features of the server (ROOT-5).
    pub features: i32,
}

impl InfoPdu {
    /// Checks and decodes a received message.
    ///
    /// # Errors
    /// In this order: `-EINVAL` for another size, `-ESRCH` for another type, `-ENOTSUP` for a later
    /// version, a negative status of the server as it is, `-E2BIG` if the length in the header is
    /// wrong (ROOT-12).
    pub fn receive(message: &[u8]) -> Result<InfoPdu> {
        if message.len() != INFO_SIZE {
            return Err(Error::EINVAL);
        }
        if check(message, INFO_SIZE, kind::INFO)? != INFO_SIZE as i32 {
            return Err(Error::E2BIG);
        }
        let field = |offset| number(message, offset).ok_or(Error::EINVAL);
        Ok(InfoPdu {
            version: field(at::VERSION)?,
            features: field(at::FEATURES)?,
        })
    }
}

/// A question or an answer about a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContainerPdu<'a> {
    /// The process.
    pub pid: i32,
    /// The name.
    pub name: &'a [u8],
}

impl ContainerPdu<'_> {
    /// Checks a received message of the type `wanted`.
    ///
    /// # Errors
    /// As [`InfoPdu::receive`]; `-E2BIG` if the length in the header does not cover the name.
    pub fn receive(message: &[u8], wanted: i32) -> Result<()> {
        let announced = check(message, CONTAINER_SIZE, wanted)?;
        let length = number(message, at::CONTAINER_NAMELEN).ok_or(Error::EINVAL)?;
        covers(announced, CONTAINER_SIZE, length)
    }

    /// Decodes a message, whose header is not looked at (ROOT-22).
    ///
    /// # Errors
    /// `-EINVAL` when the message ends before the name does (R-5).
    pub fn decode(message: &[u8]) -> Result<ContainerPdu<'_>> {
        let (Some(pid), Some(length)) = (number(message, at::PID), number(message, at::CONTAINER_NAMELEN)) else {
            return Err(Error::EINVAL);
        };
        let length = usize::try_from(length).map_err(|_| Error::EINVAL)?;
        let name = message[CONTAINER_SIZE..].get(..length).ok_or(Error::EINVAL)?;
        Ok(ContainerPdu { pid, name })
    }
}

/// A request to start an agent, or the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StartPdu<'a> {
    /// The process.
    pub pid: i32,
    /// The descriptor to read from.
    pub infd: i32,
    /// The descriptor to write to.
    pub outfd: i32,
    /// The connection: 1 for a socket, 2 for pipes.
    pub ipc: i32,
    /// The name; `None` when the message ends before it does.
    pub name: Option<&'a [u8]>,
    /// The command line; `None` when the message ends before it does.
    pub arguments: Option<&'a [u8]>,
}

impl StartPdu<'_> {
    /// Checks a received request.
    ///
    /// # Errors
    /// As [`InfoPdu::receive`]; `-E2BIG` if the length in the header does not cover the command line,
    /// or the name is too long.
    pub fn receive_request(message: &[u8]) -> Result<()> {
        let announced = check(message, START_SIZE, kind::START_REQ)?;
        let (Some(name), Some(arguments)) = (number(message, at::NAMELEN), number(message, at::ARGSLEN)) else {
            return Err(Error::EINVAL);
        };
        covers(announced, START_SIZE, arguments)?;
        if !(0..=AGENT_NAME_SIZE as i32).contains(&name) {
            return Err(Error::E2BIG);
        }
        Ok(())
    }

    /// Checks a received reply.
    ///
    /// # Errors
    /// As [`InfoPdu::receive`] (R-6).
    pub fn receive_reply(message: &[u8]) -> Result<()> {
        covers(check(message, START_SIZE, kind::START)?, START_SIZE, 0)
    }

    /// Decodes a message, whose header is not looked at (ROOT-26).
    ///
    /// # Errors
    /// `-EINVAL` when it ends before the numbers do, or a length is impossible (R-4).
    pub fn decode(message: &[u8]) -> Result<StartPdu<'_>> {
        let field = |offset| number(message, offset).ok_or(Error::EINVAL);
        let length = |offset, limit| match usize::try_from(field(offset)?) {
            Ok(length) if length <= limit => Ok(length),
            _ => Err(Error::EINVAL),
        };
        let text = |offset: usize, length: usize| message.get(offset..offset + length);
        Ok(StartPdu {
            pid: field(at::PID)?,
            infd: field(at::INFD)?,
            outfd: field(at::OUTFD)?,
            ipc: field(at::IPCTYPE)?,
            name: text(at::NAME, length(at::NAMELEN, AGENT_NAME_SIZE)?),
            arguments: text(START_SIZE, length(at::ARGSLEN, TEXT_SIZE)?),
        })
    }
}

/// A question or an answer about the end of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StopPdu {
    /// The process.
    pub pid: i32,
    /// The exit status of the process, as from `waitpid`.
    pub code: i32,
    /// Non-zero to terminate it.
    pub force: i32,
}

impl StopPdu {
    /// Checks a received message of the type `wanted`.
    ///
    /// # Errors
    /// As [`InfoPdu::receive`], but the length in the header is not looked at.
    pub fn receive(message: &[u8], wanted: i32) -> Result<()> {
        check(message, STOP_SIZE, wanted).map(|_| ())
    }

    /// Decodes a message, whose header is not looked at.
    ///
    /// # Errors
    /// `-EINVAL` when it ends before the numbers do.
    pub fn decode(message: &[u8]) -> Result<StopPdu> {
        let field = |offset| number(message, offset).ok_or(Error::EINVAL);
        Ok(StopPdu {
            pid: field(at::PID)?,
            code: field(at::CODE)?,
            force: field(at::FORCE)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn numbers(message: &[u8]) -> Vec<i32> {
        let words = message.chunks_exact(4);
        words
            .map(|word| i32::from_ne_bytes(word.try_into().expect("four bytes")))
            .collect()
    }

    /// Messages have their header, lengths and zeros (ROOT-2, ROOT-4, ROOT-6, R-13).
    #[test]
    fn layouts() {
        assert_eq!(numbers(&info(7, -5).unwrap()), [0x9000, 24, -5, 2, 7, 0]);
        assert_eq!(
            numbers(&stop(kind::STOP_REQ, -1, 3, 1, 0).unwrap()),
            [0x9009, 32, 0, 2, -1, 3, 1, 0]
        );
        let message = container(kind::HOSTNAME, 9, 4, || Ok(b"abcdefgh"), 0).expect("short");
        assert_eq!(numbers(&message)[..6], [0x9002, 28, 0, 2, 9, 4]);
        assert_eq!(&message[24..], b"abcd");
        let message = start_request(1, (4, 8), || Ok((b"name", b"arg"))).expect("short");
        assert_eq!(numbers(&message)[..10], [0x9007, 112, 0, 2, 0, 0, 0, 1, 4, 8]);
        assert_eq!(
            (&message[40..46], &message[104..]),
            (&b"name\0\0"[..], &b"arg\0\0\0\0\0"[..])
        );
    }

    /// Lengths have their limits (ROOT-21, ROOT-23, ROOT-24).
    #[test]
    fn limits() {
        let code = |result: Result<Vec<u8>>| result.map_or_else(Error::code, |message| message.len() as i32);
        assert_eq!(
            [-1, 0, 4095, 4096].map(|n| code(container(0, 0, n, || Ok(b""), 0))),
            [-22, 24, 4119, -7]
        );
        assert_eq!(
            [-1, 0, 63, 64].map(|n| code(start_reply(0, n, || Ok(b""), 0))),
            [-22, -22, 104, -7]
        );
        assert_eq!(
            [0, 63, 64].map(|n| code(start_request(0, (n, 1), || Ok((b"", b""))))),
            [-22, 105, -7]
        );
        assert_eq!(
            [0, 4095, 4096].map(|n| code(start_request(0, (1, n), || Ok((b"", b""))))),
            [-22, 4199, -7]
        );
        assert_eq!(code(start_request(0, (64, 0), || Ok((b"", b"")))), -22);
    }

    fn with(mut message: Vec<u8>, offset: usize, value: i32) -> Vec<u8> {
        message[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        message
    }

    /// The type is checked before the version, the status and the length (ROOT-12, ROOT-13, R-8).
    #[test]
    fn order_of_checks() {
        let all = with(with(with(info(7, -9).unwrap(), 12, 3), 0, 1), 4, 25);
        assert_eq!(InfoPdu::receive(&all[..23]), Err(Error::EINVAL));
        assert_eq!(InfoPdu::receive(&all), Err(Error::ESRCH));
        let all = with(all, 0, kind::INFO);
        assert_eq!(InfoPdu::receive(&all), Err(Error::ENOTSUP));
        let all = with(all, 12, -2);
        assert_eq!(InfoPdu::receive(&all), Err(Error::os(9)));
        assert_eq!(InfoPdu::receive(&with(all.clone(), 8, 5)), Err(Error::EINVAL));
        let all = with(all, 8, 0);
        assert_eq!(InfoPdu::receive(&all), Err(Error::E2BIG));
        let info = InfoPdu {
            version: -2,
            features: 7,
        };
        assert_eq!(InfoPdu::receive(&with(all, 4, 24)), Ok(info));
    }

    /// Negative lengths and names beyond the end are refused (R-2, R-5, ROOT-14).
    #[test]
    fn container_lengths() {
        let good = container(kind::HOSTNAME, 1, 4, || Ok(b"name"), 0).expect("short");
        assert_eq!(ContainerPdu::receive(&good, kind::HOSTNAME), Ok(()));
        assert_eq!(
            ContainerPdu::receive(&with(good.clone(), 4, 99), kind::HOSTNAME),
            Ok(())
        );
        for (offset, value) in [(4, 27), (4, -1), (20, 5), (20, -4)] {
            let bad = with(good.clone(), offset, value);
            assert_eq!(ContainerPdu::receive(&bad, kind::HOSTNAME), Err(Error::E2BIG));
        }
        assert_eq!(ContainerPdu::decode(&good).map(|found| found.name), Ok(&b"name"[..]));
        assert_eq!(ContainerPdu::decode(&good[..27]), Err(Error::EINVAL));
        assert_eq!(ContainerPdu::decode(&good[..20]), Err(Error::EINVAL));
        assert_eq!(ContainerPdu::decode(&with(good, 20, -4)), Err(Error::EINVAL));
    }

    /// The lengths of start messages are checked (R-4, R-6).
    #[test]
    fn start_lengths() {
        let good = start_request(2, (5, 3), || Ok((b"agent", b"a b"))).expect("short");
        assert_eq!(StartPdu::receive_request(&good), Ok(()));
        for (offset, value) in [(4, 106), (32, 65), (32, -1), (36, 4), (36, -1)] {
            assert_eq!(
                StartPdu::receive_request(&with(good.clone(), offset, value)),
                Err(Error::E2BIG)
            );
        }
        let found = StartPdu::decode(&good).expect("whole");
        assert_eq!(
            (found.name, found.arguments, found.ipc),
            (Some(&b"agent"[..]), Some(&b"a b"[..]), 2)
        );
        assert_eq!(StartPdu::decode(&good[..106]).map(|found| found.arguments), Ok(None));
        assert_eq!(StartPdu::decode(&good[..44]).map(|found| found.name), Ok(None));
        for (offset, value) in [(32, 65), (32, -1), (36, 4097), (36, -1)] {
            assert_eq!(StartPdu::decode(&with(good.clone(), offset, value)), Err(Error::EINVAL));
        }
        let reply = start_reply(5, 5, || Ok(b"agent"), -3).expect("short");
        assert_eq!(StartPdu::receive_reply(&reply), Err(Error::ESRCH));
        assert_eq!(StartPdu::receive_reply(&with(reply.clone(), 8, 0)), Ok(()));
        assert_eq!(
            StartPdu::receive_reply(&with(with(reply, 8, 0), 4, 103)),
            Err(Error::E2BIG)
        );
    }

    /// A message arrives as it was sent (ROOT-27).
    #[test]
    fn stop_round_trip() {
        let message = stop(kind::STOP, 7, 256, 1, 0).unwrap();
        let expected = StopPdu {
            pid: 7,
            code: 256,
            force: 1,
        };
        assert_eq!(StopPdu::receive(&message, kind::STOP), Ok(()));
        assert_eq!(StopPdu::decode(&message), Ok(expected));
        assert_eq!(StopPdu::receive(&message, kind::STOP_REQ), Err(Error::ESRCH));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// No message makes a receiver panic (R-2, R-4, R-5).
        #[test]
        fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = InfoPdu::receive(&bytes);
            let _ = ContainerPdu::receive(&bytes, kind::HOSTNAME);
            let _ = ContainerPdu::decode(&bytes);
            let _ = StartPdu::receive_request(&bytes);
            let _ = StartPdu::receive_reply(&bytes);
            let _ = StartPdu::decode(&bytes);
            let _ = StopPdu::receive(&bytes, kind::STOP);
            let _ = StopPdu::decode(&bytes);
        }
    }
}
