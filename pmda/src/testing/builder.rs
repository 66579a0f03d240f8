//! The options with which a harness starts its agent.

use std::marker::PhantomData;
use std::path::PathBuf;

use super::Harness;
use super::folder::Folder;
use crate::agent::Agent;
use crate::client::ClientId;
use crate::client::attribute;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::session::Session;

/// A harness that is not started yet: its functions say how the agent is to start, and who asks it
/// at first.
///
/// ```no_run
/// # use pmda::prelude::*;
/// # use pmda::testing::Harness;
/// # struct Sources;
/// # impl Agent for Sources {
/// #     const NAME: &'static str = "sources";
/// #     const DOMAIN: u32 = 250;
/// #     fn start(_: &Env) -> Result<Sources> { Ok(Sources) }
/// #     fn metrics(_: &mut Metrics<Sources>) {}
/// # }
/// let pmcd = Harness::<Sources>::builder()
///     .option("root", "my.sources")
///     .argument("sources.conf")
///     .domain(77)
///     .client(3)
///     .uid(1000)
///     .start()?;
/// # Ok::<(), Error>(())
/// ```
pub struct Builder<A> {
    options: Vec<(String, String)>,
    arguments: Vec<String>,
    folder: Option<PathBuf>,
    domain: u32,
    keeps_deadline: bool,
    client: Option<ClientId>,
    attributes: Vec<(i32, String)>,
    agent: PhantomData<fn() -> A>,
}

impl<A: Agent> Builder<A> {
    pub(super) fn new() -> Builder<A> {
        Builder {
            options: Vec::new(),
            arguments: Vec::new(),
            folder: None,
            domain: A::DOMAIN,
            keeps_deadline: false,
            client: None,
            attributes: Vec::new(),
            agent: PhantomData,
        }
    }

    /// Gives it an option of the agent's own, by its long name; without an argument the value is
    /// empty.
    #[must_use]
    pub fn option(mut self, long: impl Into<String>, value: impl Into<String>) -> Builder<A> {
        self.options.push((long.into(), value.into()));
        self
    }

    /// Gives it an argument that is no option.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Builder<A> {
        self.arguments.push(argument.into());
        self
    }

    /// Sets its folder, which stays. Otherwise it has a new one, which is removed with the harness.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Builder<A> {
        self.folder = Some(folder.into());
        self
    }

    /// Sets its domain, as `-d` does.
    #[must_use]
    pub fn domain(mut self, domain: u32) -> Builder<A> {
        self.domain = domain;
        self
    }

    /// Lets its [deadline](Agent::DEADLINE) count: it then has a thread of its own, and
    /// [`Harness::agent`] panics.
    #[must_use]
    pub fn deadline(mut self) -> Builder<A> {
        self.keeps_deadline = true;
        self
    }

    /// Sets the client that makes the first requests. It has the attributes that are given here,
    /// and no others. Otherwise it is client 0, the superuser unless its user is given.
    #[must_use]
    pub fn client(mut self, client: i32) -> Builder<A> {
        self.client = Some(client.into());
        self
    }

    fn attribute(mut self, key: i32, value: String) -> Builder<A> {
        self.attributes.push((key, value));
        self
    }

    /// Sets that client's user number.
    #[must_use]
    pub fn uid(self, uid: u32) -> Builder<A> {
        self.attribute(attribute::USERID, uid.to_string())
    }

    /// Sets that client's group number.
    #[must_use]
    pub fn gid(self, gid: u32) -> Builder<A> {
        self.attribute(attribute::GROUPID, gid.to_string())
    }

    /// Sets that client's process.
    #[must_use]
    pub fn pid(self, pid: u32) -> Builder<A> {
        self.attribute(attribute::PROCESSID, pid.to_string())
    }

    /// Sets that client's user name, as of one who has logged in.
    #[must_use]
    pub fn user(self, name: impl Into<String>) -> Builder<A> {
        self.attribute(attribute::USERNAME, name.into())
    }

    /// Sets the container whose values that client wants.
    #[must_use]
    pub fn container(self, name: impl Into<String>) -> Builder<A> {
        self.attribute(attribute::CONTAINER, name.into())
    }

    /// Starts the agent.
    ///
    /// # Errors
    /// Those of the agent, with their text; `-EINVAL` for an option that the agent does not have,
    /// and for what is wrong with its declarations, which the text says.
    pub fn start(mut self) -> Result<Harness<A>> {
        let mut options = Vec::new();
        for (long, value) in self.options {
            let option = A::OPTIONS.iter().find(|option| option.long == long);
            let unknown = || Error::EINVAL.text(format_args!("the agent has no option --{long}"));
            options.push((option.ok_or_else(unknown)?.long, value));
        }
        let folder = match &self.folder {
            Some(folder) => Folder::of(folder)?,
            None => Folder::own()?,
        };
        let env = Env::in_folder(A::NAME, self.domain, folder.path()).with_options(options, self.arguments);
        let has_user = self.attributes.iter().any(|(key, _)| *key == attribute::USERID);
        if self.client.is_none() && !has_user {
            self.attributes.push((attribute::USERID, "0".to_owned()));
        }
        let start = if self.keeps_deadline {
            Session::start
        } else {
            Session::start_here
        };
        Harness::begin(folder, env, start, self.client.unwrap_or(ClientId(0)), self.attributes)
    }
}

impl<A: Agent> std::fmt::Debug for Builder<A> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "harness of {}, not started", A::NAME)
    }
}
