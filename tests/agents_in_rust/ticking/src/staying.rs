//! An agent for tests that stays root and reads as its clients.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use nix::unistd::{Gid, Uid, geteuid, setegid, seteuid};
use pmda::prelude::*;

struct Staying {
    /// A file that only root can read.
    secret: String,
    answer: Option<String>,
}

impl Agent for Staying {
    const NAME: &'static str = "staying";
    const DOMAIN: u32 = 411;
    const STAYS_ROOT: bool = true;

    fn start(env: &Env) -> Result<Staying> {
        let secret = env.arguments().first().ok_or(Error::EINVAL)?.clone();
        Ok(Staying { secret, answer: None })
    }

    fn metrics(m: &mut Metrics<Staying>) {
        m.refresh(|s, _| {
            s.answer = std::fs::read_to_string(&s.secret).ok();
            Ok(())
        });
        m.try_text("secret", |s| Ok(s.answer.as_deref()))
            .help("The file, if the client may read it");
        m.value("user", |_| geteuid().as_raw())
            .help("The user that the agent is now");
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        let client = request.client();
        if let (Some(uid), Some(gid)) = (client.uid(), client.gid()) {
            setegid(Gid::from_raw(gid)).map_err(|errno| Error::os(errno as i32))?;
            seteuid(Uid::from_raw(uid)).map_err(|errno| Error::os(errno as i32))?;
        }
        Ok(())
    }

    fn end(&mut self, _: &Request<'_>, _: Result<(), &Error>) {
        seteuid(Uid::from_raw(0)).expect("it has stayed root");
        setegid(Gid::from_raw(0)).expect("it has stayed root");
    }
}

fn main() -> ExitCode {
    pmda::run::<Staying>()
}
