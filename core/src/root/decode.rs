//! Decodes the messages of pmdaroot. No byte that a peer sends is trusted.

use super::{AGENT_NAME_SIZE, CONTAINER_SIZE, INFO_SIZE, START_SIZE, STOP_SIZE, TEXT_SIZE, VERSION, at, kind, number};
use crate::error::{Error, Result};

/// Makes the checks of every receiver, in the order of ROOT-12: enough bytes, the type, the
/// version, the status. Returns the length that the header announces.
///
/// # Errors
/// `-EINVAL`, `-ESRCH` and `-ENOTSUP` for the first three. A negative status is the server's error;
/// a positive one, `-EINVAL`, is never sent.
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

/// Checks that the length that the header announces covers the fixed part and the text.
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
    /// As ROOT-12 has them; a negative status of the server as it is.
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
    /// As ROOT-12 has them; a negative status of the server as it is.
    pub fn receive(message: &[u8], wanted: i32) -> Result<()> {
        let announced = check(message, CONTAINER_SIZE, wanted)?;
        let length = number(message, at::CONTAINER_NAMELEN).ok_or(Error::EINVAL)?;
        covers(announced, CONTAINER_SIZE, length)
    }

    /// Decodes a message, whose header is not looked at (ROOT-22).
    ///
    /// # Errors
    /// `-EINVAL` when the message ends before the name does.
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
    /// As ROOT-12 has them.
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
    /// As ROOT-12 and R-6 have them; a negative status of the server as it is.
    pub fn receive_reply(message: &[u8]) -> Result<()> {
        covers(check(message, START_SIZE, kind::START)?, START_SIZE, 0)
    }

    /// Decodes a message, whose header is not looked at (ROOT-26).
    ///
    /// # Errors
    /// `-EINVAL` when it ends before the numbers do, or a length is impossible.
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
    /// As ROOT-12 has them; a negative status of the server as it is.
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
    use super::super::{container, info, start_reply, start_request, stop};
    use super::*;
    use proptest::prelude::*;

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

    /// The lengths of start messages are checked.
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

        /// No message makes a receiver panic.
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
