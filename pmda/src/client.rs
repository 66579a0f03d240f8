//! The clients of pmcd, and what pmcd tells about them.

use std::collections::BTreeMap;
use std::fmt;

/// The context of a client, as pmcd numbers them. A number is used again after its context has
/// ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClientId(pub(crate) i32);

impl ClientId {
    /// The number of the context.
    #[must_use]
    pub fn number(self) -> i32 {
        self.0
    }
}

/// For tests of an agent's own functions.
impl From<i32> for ClientId {
    fn from(number: i32) -> ClientId {
        ClientId(number)
    }
}

impl fmt::Display for ClientId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The attributes of clients (`PCP_ATTR_*`), by number.
pub(crate) mod attribute {
    pub(crate) const USERNAME: i32 = 5;
    pub(crate) const USERID: i32 = 11;
    pub(crate) const GROUPID: i32 = 12;
    pub(crate) const PROCESSID: i32 = 14;
    pub(crate) const CONTAINER: i32 = 15;
}

/// A client and the attributes that pmcd has told. A client that came over the network and did not
/// log in has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    id: ClientId,
    uid: Option<u32>,
    gid: Option<u32>,
    pid: Option<u32>,
    user: Option<String>,
    container: Option<String>,
}

impl Client {
    pub(crate) const fn new(id: ClientId) -> Client {
        Client {
            id,
            uid: None,
            gid: None,
            pid: None,
            user: None,
            container: None,
        }
    }

    /// The context.
    #[must_use]
    pub fn id(&self) -> ClientId {
        self.id
    }

    /// The user's number.
    #[must_use]
    pub fn uid(&self) -> Option<u32> {
        self.uid
    }

    /// The number of the user's group.
    #[must_use]
    pub fn gid(&self) -> Option<u32> {
        self.gid
    }

    /// The client's process, if it runs on this machine.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// The user's name, if logged in.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The container whose values the client wants, if it wants those of one.
    #[must_use]
    pub fn container(&self) -> Option<&str> {
        self.container.as_deref()
    }

    /// Sets an attribute. An empty value removes it, and so does a value that should be a number
    /// and is none. Other attributes are ignored.
    pub(crate) fn set(&mut self, key: i32, value: &[u8]) {
        let value = value.split(|byte| *byte == 0).next().unwrap_or_default();
        let text = || (!value.is_empty()).then(|| String::from_utf8_lossy(value).into_owned());
        let number = || std::str::from_utf8(value).ok()?.parse().ok();
        match key {
            attribute::USERNAME => self.user = text(),
            attribute::USERID => self.uid = number(),
            attribute::GROUPID => self.gid = number(),
            attribute::PROCESSID => self.pid = number(),
            attribute::CONTAINER => self.container = text(),
            _ => {}
        }
    }
}

/// The clients with attributes.
pub(crate) struct Clients {
    by_context: BTreeMap<i32, Client>,
    /// Any other client.
    other: Client,
}

impl Clients {
    pub(crate) const fn new() -> Clients {
        Clients {
            by_context: BTreeMap::new(),
            other: Client::new(ClientId(0)),
        }
    }

    /// The client of a context: without attributes if pmcd has told none.
    pub(crate) fn get(&mut self, id: ClientId) -> &Client {
        match self.by_context.get(&id.0) {
            Some(client) => client,
            None => {
                self.other.id = id;
                &self.other
            }
        }
    }

    /// The client of a context, to be changed: a new one if pmcd has told nothing of it yet.
    pub(crate) fn of(&mut self, id: ClientId) -> &mut Client {
        self.by_context.entry(id.0).or_insert_with(|| Client::new(id))
    }

    /// Forgets a client whose context has ended.
    pub(crate) fn end(&mut self, id: ClientId) {
        self.by_context.remove(&id.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values come with a NUL or without one; a text where a number should be is none.
    #[test]
    fn attributes() {
        let mut client = Client::new(ClientId(3));
        client.set(attribute::USERID, b"1000\0");
        client.set(attribute::GROUPID, b"100");
        client.set(attribute::PROCESSID, b"-7");
        client.set(attribute::USERNAME, b"tanya\0");
        client.set(attribute::CONTAINER, b"web");
        client.set(99, b"x");
        assert_eq!(
            (client.uid(), client.gid(), client.pid()),
            (Some(1000), Some(100), None)
        );
        assert_eq!((client.user(), client.container()), (Some("tanya"), Some("web")));
        client.set(attribute::CONTAINER, b"");
        client.set(attribute::USERID, b"root");
        assert_eq!((client.uid(), client.container()), (None, None));
    }
}
