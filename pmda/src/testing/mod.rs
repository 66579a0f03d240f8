//! Tests of an agent without PCP: a harness asks it as pmcd does.
//!
//! ```
//! use pmda::prelude::*;
//! use pmda::testing::Harness;
//!
//! #[derive(Default)]
//! struct Answer {
//!     number: u32,
//! }
//! impl Agent for Answer {
//!     const NAME: &'static str = "answer";
//!     const DOMAIN: u32 = 250;
//!     fn start(_: &Env) -> Result<Answer> {
//!         Ok(Answer { number: 42 })
//!     }
//!     fn metrics(m: &mut Metrics<Answer>) {
//!         m.value("number", |s| s.number).store(|s, value: u32, _| Ok(s.number = value));
//!     }
//! }
//! let mut pmcd = Harness::<Answer>::new()?;
//! assert_eq!(pmcd.fetch("answer.number")?.value(), Some(42));
//! pmcd.store("answer.number", 7)?;
//! assert_eq!(pmcd.fetch("answer.number")?.value(), Some(7));
//! assert_eq!(pmcd.numbers(), "answer.number 250.0.0\n");
//! # Ok::<(), Error>(())
//! ```

mod builder;
mod folder;
#[cfg(feature = "pmcd")]
mod pmcd;
mod reply;
mod request;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use log::LevelFilter;
use pmda_core::constants::*;
use pmda_core::error as core;
use pmda_core::wire::client::{self as wire, ClientRequest, InDomProfile};
use pmda_core::wire::{Kind, decode};

pub use builder::Builder;
#[cfg(feature = "pmcd")]
pub use pmcd::Pmcd;
pub use pmda_core::ident::{InDom, MetricId};
pub use reply::{Desc, EventRecord, Fetched};
pub use request::StoreValue;

use crate::agent::Agent;
use crate::client::ClientId;
use crate::client::attribute;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::logger;
use crate::logger::capture::Lines;
use crate::metrics::Metrics;
use crate::session::Session;
use folder::Folder;

/// pmcd, as an agent sees it, with clients that fetch and store.
///
/// Requests are made by client 0, the superuser, unless [`Harness::builder`] says otherwise, until
/// [`Harness::as_client`] changes to another.
/// Names of metrics are whole, with the root, as clients know them.
pub struct Harness<A: Agent> {
    session: Option<Session<A>>,
    lines: Lines,
    env: Env,
    folder: Folder,
    client: ClientId,
    /// The client that makes the first requests, and its attributes.
    first: (ClientId, Vec<(i32, String)>),
}

/// Without the agent, which need not have it.
impl<A: Agent> fmt::Debug for Harness<A> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "harness of {}, client {}", A::NAME, self.client)
    }
}

/// Before its folder is removed.
impl<A: Agent> Drop for Harness<A> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<A: Agent> Harness<A> {
    /// Starts the agent, with a folder of its own that is removed with the harness, without options.
    /// Its deadline does not count.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn new() -> Result<Harness<A>> {
        Harness::builder().start()
    }

    /// A harness that is to be started with options, a folder, a deadline or another client.
    #[must_use]
    pub fn builder() -> Builder<A> {
        Builder::new()
    }

    fn begin(
        folder: Folder,
        env: Env,
        start: impl FnOnce(&Env) -> Result<Session<A>>,
        client: ClientId,
        attributes: Vec<(i32, String)>,
    ) -> Result<Harness<A>> {
        logger::start(A::NAME, LevelFilter::Info);
        let lines = Lines::of_this_thread();
        let mut harness = Harness {
            session: Some(start(&env)?),
            lines,
            env,
            folder,
            client,
            first: (client, attributes),
        };
        harness.tell_attributes();
        Ok(harness)
    }

    /// Tells the agent the attributes of the client that makes the first requests.
    fn tell_attributes(&mut self) {
        self.client = self.first.0;
        for (key, value) in self.first.1.clone() {
            self.attribute(key, &value);
        }
    }

    /// Ends the agent and starts it again: in the same folder, with the same options and the same
    /// first client, and without its deadline.
    ///
    /// # Errors
    /// As [`Builder::start`].
    pub fn restart(mut self) -> Result<Harness<A>> {
        self.lines.follow();
        self.end();
        self.env = self.env.anew();
        self.session = Some(Session::start_here(&self.env)?);
        self.tell_attributes();
        Ok(self)
    }

    /// Ends the agent. A panic of its is logged.
    fn end(&mut self) {
        if let Some(session) = self.session.take() {
            session.end();
        }
    }

    /// The folder of the agent.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The lines that the agent has logged so far, as `Warning: text`, from level `info` on. Those
    /// of threads that the agent has started itself are those of other tests, too.
    ///
    /// The first harness of a process installs the logger of this crate. It is empty if the test
    /// has installed another one.
    #[must_use]
    pub fn log(&self) -> String {
        self.lines.text()
    }

    fn session(&mut self) -> &mut Session<A> {
        self.lines.follow();
        self.session.as_mut().expect("the agent has been started")
    }

    /// The agent itself.
    ///
    /// # Panics
    /// With [`Builder::deadline`].
    pub fn agent(&mut self) -> &mut A {
        let agent = self.session().agent();
        agent.expect("an agent with a deadline is on another thread")
    }

    /// Moves the agent's clock forward: values that were valid for some time are read again, and
    /// timers are due.
    pub fn advance(&mut self, time: Duration) {
        self.session().advance(time);
    }

    /// Waits until a thread, timer or descriptor wakes the agent, and calls
    /// [`Agent::woken`]. Returns false if nothing does within that time.
    /// Without this the agent is called before the next request.
    ///
    /// For an agent [with its deadline](Builder::deadline) this returns false: the agent is
    /// called on its own thread.
    pub fn wait(&mut self, limit: Duration) -> bool {
        self.session().wait_for_wake(limit)
    }

    /// Sends the bytes of a request, and returns those of the reply.
    pub fn raw(&mut self, pdu: &[u8]) -> Vec<u8> {
        self.session().look();
        self.session().request(pdu).to_vec()
    }

    /// Sends a request, and returns the reply, whose kind is checked.
    fn ask(&mut self, write: impl FnOnce(&mut ClientRequest) -> core::Result<()>, expected: Kind) -> Result<Vec<u8>> {
        let reply = self.tell(write)?;
        wire::expect(&reply, expected)?;
        Ok(reply)
    }

    /// Sends a request, and returns the reply; some requests have none.
    fn tell(&mut self, write: impl FnOnce(&mut ClientRequest) -> core::Result<()>) -> Result<Vec<u8>> {
        let mut request = ClientRequest::new();
        write(request.of(self.client.0))?;
        Ok(self.raw(request.bytes()))
    }

    /// As [`Harness::tell`], for a short request without a reply.
    fn notify(&mut self, write: impl FnOnce(&mut ClientRequest) -> core::Result<()>) {
        self.tell(write).expect("a short request");
    }

    /// Makes the requests that follow those of another client, which has no attributes at first.
    pub fn as_client(&mut self, client: i32) -> &mut Self {
        self.client = ClientId(client);
        self
    }

    fn attribute(&mut self, key: i32, value: &str) -> &mut Self {
        let value = [value.as_bytes(), b"\0"].concat();
        self.notify(|request| request.attribute(key, &value));
        self
    }

    /// Sets the client's user number.
    pub fn set_uid(&mut self, uid: u32) -> &mut Self {
        self.attribute(attribute::USERID, &uid.to_string())
    }

    /// Sets the client's group number.
    pub fn set_gid(&mut self, gid: u32) -> &mut Self {
        self.attribute(attribute::GROUPID, &gid.to_string())
    }

    /// Sets the client's process.
    pub fn set_pid(&mut self, pid: u32) -> &mut Self {
        self.attribute(attribute::PROCESSID, &pid.to_string())
    }

    /// Sets the client's user name, as of one who has logged in.
    pub fn set_user(&mut self, name: &str) -> &mut Self {
        self.attribute(attribute::USERNAME, name)
    }

    /// Sets the container whose values the client wants; none if the name is empty.
    pub fn set_container(&mut self, name: &str) -> &mut Self {
        self.attribute(attribute::CONTAINER, name)
    }

    /// Ends the client's context.
    pub fn end_client(&mut self) {
        self.notify(ClientRequest::end_context);
    }

    /// The number of a metric.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name.
    fn id(&mut self, name: &str) -> Result<MetricId> {
        let name = [name.as_bytes()];
        let reply = self.ask(|request| request.names(name.into_iter()), Kind::PDU_PMNS_IDS)?;
        Ok(wire::pmid(&reply).map(|(_, id)| id)?)
    }

    /// The names of all metrics.
    ///
    /// # Errors
    /// Those of the agent.
    pub fn names(&mut self) -> Result<Vec<String>> {
        let root = A::root(&self.env);
        let reply = self.ask(|request| request.traverse(root.as_bytes()), Kind::PDU_PMNS_NAMES)?;
        reply::names(&reply)
    }

    /// The names directly below a name. Those with names below them end with a dot.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name.
    pub fn children(&mut self, name: &str) -> Result<Vec<String>> {
        let name = name.as_bytes();
        let reply = self.ask(|request| request.children(name), Kind::PDU_PMNS_NAMES)?;
        reply::names(&reply)
    }

    /// The description of a metric.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name.
    pub fn desc(&mut self, name: &str) -> Result<Desc> {
        let id = self.id(name)?;
        let reply = self.ask(|request| request.desc(id), Kind::PDU_DESC)?;
        Desc::new(&reply)
    }

    /// The values of a metric.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name; those of the agent, for the whole request or this metric.
    pub fn fetch(&mut self, name: &str) -> Result<Fetched> {
        self.fetch_all(&[name])?.pop().unwrap_or(Err(Error::IPC))
    }

    /// The values of metrics, fetched in one request.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name; those of the agent for the whole request. The errors of
    /// single metrics are in the list.
    pub fn fetch_all(&mut self, names: &[&str]) -> Result<Vec<Result<Fetched>>> {
        let descs = names
            .iter()
            .map(|name| self.desc(name))
            .collect::<Result<Vec<Desc>>>()?;
        let ids: Vec<MetricId> = descs.iter().map(|desc| desc.id).collect();
        if ids.is_empty() {
            // pmcd asks for no less than one.
            return Ok(Vec::new());
        }
        let reply = self.ask(|request| request.fetch(&ids), Kind::PDU_RESULT)?;
        let mut fetched = reply::fetched(&reply, &descs)?;
        for metric in fetched.iter_mut().flatten() {
            metric.name_instances(self.instance_names(metric.indom())?);
            let ids = metric.parameters();
            let names = ids.into_iter().map(|id| Ok((id, self.name_of(id)?)));
            metric.name_parameters(&names.collect::<Result<Vec<_>>>()?);
        }
        Ok(fetched)
    }

    /// The names of instances as they are: nothing is read for this.
    fn instance_names(&mut self, indom: InDom) -> Result<Vec<(i32, String)>> {
        if indom.is_null() {
            return Ok(Vec::new());
        }
        match self.session().instance_names(indom.serial()) {
            Some(names) => names,
            None => self.instances_of(indom),
        }
    }

    fn name_of(&mut self, id: MetricId) -> Result<String> {
        let reply = self.ask(|request| request.names_of(id), Kind::PDU_PMNS_NAMES)?;
        reply::names(&reply)?.pop().ok_or(Error::IPC)
    }

    /// The instances of a metric: numbers and names.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown metric; `PM_ERR_INDOM` for one without instances.
    pub fn instances(&mut self, name: &str) -> Result<Vec<(i32, String)>> {
        let desc = self.desc(name)?;
        self.instances_of(desc.indom)
    }

    fn instances_of(&mut self, indom: InDom) -> Result<Vec<(i32, String)>> {
        let reply = self.ask(|request| request.instances(indom), Kind::PDU_INSTANCE)?;
        reply::instances(&reply)
    }

    /// The number of a metric's instance with this name.
    ///
    /// # Errors
    /// As for [`Harness::instances`]; `PM_ERR_INST` for an unknown name.
    pub fn instance(&mut self, name: &str, instance: &str) -> Result<i32> {
        let indom = self.desc(name)?.indom;
        if instance.is_empty() {
            // A request cannot name it: without a name it is one for all instances.
            let instances = self.instances_of(indom)?;
            let found = instances.iter().find(|(_, name)| name.is_empty());
            return found.map(|(inst, _)| *inst).ok_or(Error::INST);
        }
        let name = Some(instance.as_bytes());
        let reply = self.ask(|request| request.instance(indom, PM_IN_NULL, name), Kind::PDU_INSTANCE)?;
        let mut instances = wire::instances(&reply)?;
        instances.next().map(|(inst, _)| inst).ok_or(Error::IPC)
    }

    /// Stores the one value of a metric.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown name; `PM_ERR_PERMISSION` if the client may not; those of the
    /// agent.
    pub fn store(&mut self, name: &str, value: impl Into<StoreValue>) -> Result<()> {
        let desc = self.desc(name)?;
        self.store_value(&desc, -1, &value.into())
    }

    /// Stores the value of an instance.
    ///
    /// # Errors
    /// As for [`Harness::instance`] and [`Harness::store`].
    pub fn store_instance(&mut self, name: &str, instance: &str, value: impl Into<StoreValue>) -> Result<()> {
        let desc = self.desc(name)?;
        let inst = self.instance(name, instance)?;
        self.store_value(&desc, inst, &value.into())
    }

    fn store_value(&mut self, desc: &Desc, inst: i32, value: &StoreValue) -> Result<()> {
        let store = request::store(self.client, desc, inst, value)?;
        Error::check(decode::error(&self.raw(&store))?).map(drop)
    }

    /// The help of a metric: the one-line text, which may be empty, and the long text.
    ///
    /// # Errors
    /// `PM_ERR_NAME` for an unknown metric; `PM_ERR_TEXT` for one without help.
    pub fn text(&mut self, name: &str) -> Result<(String, String)> {
        let id = self.id(name)?;
        self.texts(id.0, PM_TEXT_PMID)
    }

    /// The help of the instance domain of a metric.
    ///
    /// # Errors
    /// As for [`Harness::text`].
    pub fn indom_text(&mut self, name: &str) -> Result<(String, String)> {
        let indom = self.desc(name)?.indom;
        self.texts(indom.0, PM_TEXT_INDOM)
    }

    fn texts(&mut self, ident: u32, of: i32) -> Result<(String, String)> {
        let text = self.ask(|request| request.text(ident, of | PM_TEXT_HELP), Kind::PDU_TEXT)?;
        let line = self.ask(|request| request.text(ident, of | PM_TEXT_ONELINE), Kind::PDU_TEXT);
        let line = match line {
            Err(error) if error == Error::TEXT => String::new(),
            line => reply::text(&line?)?,
        };
        Ok((line, reply::text(&text)?))
    }

    /// The labels of a metric as JSON: those of all levels together, without those of instances.
    ///
    /// # Errors
    /// `PM_ERR_NAME` if no metric has this name.
    pub fn labels(&mut self, name: &str) -> Result<String> {
        let desc = self.desc(name)?;
        let levels = [
            (PM_LABEL_DOMAIN, desc.id.domain()),
            (PM_LABEL_INDOM, desc.indom.0),
            (
                PM_LABEL_CLUSTER,
                MetricId::new(desc.id.domain(), desc.id.cluster(), 0).0,
            ),
            (PM_LABEL_ITEM, desc.id.0),
        ];
        let mut replies = Vec::new();
        for (level, ident) in levels {
            replies.push(self.ask(|request| request.label(ident, level), Kind::PDU_LABEL)?);
        }
        let sets = replies.iter().map(|reply| wire::labels(reply));
        let sets: Vec<wire::WireLabelSet<'_>> = sets.collect::<core::Result<Vec<_>>>()?.into_iter().flatten().collect();
        let labels: Vec<_> = sets.iter().flat_map(|set| set.labels()).collect();
        reply::json(labels.into_iter())
    }

    /// The labels of a metric's instances that the profile selects: names, and labels as JSON. An
    /// instance whose labels cannot be made is left out.
    ///
    /// # Errors
    /// As for [`Harness::instances`].
    pub fn instance_labels(&mut self, name: &str) -> Result<Vec<(String, String)>> {
        let indom = self.desc(name)?.indom;
        let reply = self.ask(|request| request.label(indom.0, PM_LABEL_INSTANCES), Kind::PDU_LABEL)?;
        let names: HashMap<i32, String> = self.instance_names(indom)?.into_iter().collect();
        let sets = wire::labels(&reply)?.filter(|set| set.count >= 0).map(|set| {
            let name = names.get(&set.inst).cloned();
            let labels: Vec<_> = set.labels().collect();
            Ok((name.unwrap_or_default(), reply::json(labels.into_iter())?))
        });
        sets.collect()
    }

    /// Restricts the fetches that follow to these instances of a metric.
    ///
    /// # Errors
    /// As for [`Harness::instance`].
    pub fn profile(&mut self, name: &str, instances: &[&str]) -> Result<()> {
        let indom = self.desc(name)?.indom;
        let list = instances.iter().map(|instance| self.instance(name, instance));
        let list = list.collect::<Result<Vec<i32>>>()?;
        self.profile_numbers(indom, &list);
        Ok(())
    }

    /// Restricts the fetches that follow to the instances of a domain with these numbers.
    pub fn profile_numbers(&mut self, indom: InDom, instances: &[i32]) {
        let domain = InDomProfile {
            indom,
            state: PM_PROFILE_EXCLUDE,
            instances,
        };
        self.notify(|request| request.profile(PM_PROFILE_INCLUDE, [domain].into_iter()));
    }

    /// Makes the fetches that follow about all instances again.
    pub fn profile_all(&mut self) {
        self.notify(|request| request.profile(PM_PROFILE_INCLUDE, [].into_iter()));
    }

    /// The metrics with their numbers, one a line: archives remember these, so a test can check
    /// that they do not change. For an agent on another thread these are only the metrics of
    /// `Agent::metrics`.
    #[must_use]
    pub fn numbers(&self) -> String {
        let numbers = self.session.as_ref().and_then(Session::numbers);
        numbers.unwrap_or_else(|| Metrics::of(&self.env, A::metrics).numbers_of_all())
    }
}
