//! The clients: how many there are, and how much they have asked.

use std::collections::BTreeMap;

use pmda::prelude::*;

use crate::{Sample, anybody};

/// The clients, by their number.
#[derive(Default)]
pub struct Contexts {
    active: BTreeMap<i32, Traffic>,
    /// One more than the greatest number.
    size: i32,
    started: i32,
    ended: i32,
    /// The traffic of clients that have ended.
    past: Traffic,
}

/// The numbers of requests and replies.
#[derive(Clone, Copy, Default)]
struct Traffic {
    received: u32,
    sent: u32,
}

impl Contexts {
    /// Counts a request and its reply.
    pub fn begin(&mut self, client: ClientId) {
        let started = &mut self.started;
        let traffic = self.active.entry(client.number()).or_insert_with(|| {
            *started += 1;
            Traffic::default()
        });
        traffic.received += 1;
        traffic.sent += 1;
        self.size = self.size.max(client.number() + 1);
    }

    /// Counts the end of a client.
    pub fn end(&mut self, client: ClientId) {
        if let Some(traffic) = self.active.remove(&client.number()) {
            self.ended += 1;
            self.past.received += traffic.received;
            self.past.sent += traffic.sent;
        }
    }

    fn total(&self, of: fn(&Traffic) -> u32) -> u32 {
        self.active.values().chain([&self.past]).map(of).sum()
    }

    fn clear(&mut self, clear: fn(&mut Traffic)) {
        self.active.values_mut().chain([&mut self.past]).for_each(clear);
    }
}

/// The item, the name and the help text of a metric, and its value.
type Row<T> = (u32, &'static str, fn(&T) -> i32, &'static str);

/// Declares the metrics.
pub fn declare(m: &mut Metrics<Sample>) {
    m.value("pdu", |s| {
        u64::from(s.contexts.total(|of| of.received)) + u64::from(s.contexts.total(|of| of.sent))
    })
    .item(40)
    .counter()
    .unit(COUNT)
    .help("Requests and replies\nA store sets it to 0.")
    .writable_by(anybody)
    .store(|s, _: u64, _| {
        s.contexts.clear(|of| *of = Traffic::default());
        Ok(())
    });
    m.value("recv_pdu", |s| s.contexts.total(|of| of.received))
        .item(41)
        .counter()
        .unit(COUNT)
        .help("Requests\nA store sets it to 0.")
        .writable_by(anybody)
        .store(|s, _: u32, _| {
            s.contexts.clear(|of| of.received = 0);
            Ok(())
        });
    m.value("xmit_pdu", |s| s.contexts.total(|of| of.sent))
        .item(42)
        .counter()
        .unit(COUNT)
        .help("Replies\nA store sets it to 0.")
        .writable_by(anybody)
        .store(|s, _: u32, _| {
            s.contexts.clear(|of| of.sent = 0);
            Ok(())
        });
    let of_client: [Row<Traffic>; 3] = [
        (
            43,
            "pdu",
            |of| (of.received + of.sent) as i32,
            "Requests and replies of the client that asks",
        ),
        (
            44,
            "recv_pdu",
            |of| of.received as i32,
            "Requests of the client that asks",
        ),
        (45, "xmit_pdu", |of| of.sent as i32, "Replies to the client that asks"),
    ];
    for (item, name, of, help) in of_client {
        m.value_as(format!("percontext.{name}"), Type::I32, move |s, client| {
            let traffic = s.contexts.active.get(&client.id().number()).ok_or(Error::NOCONTEXT)?;
            Ok(of(traffic).into())
        })
        .item(item)
        .counter()
        .unit(COUNT)
        .help(help);
    }
    let control: [Row<Contexts>; 4] = [
        (
            122,
            "ctx",
            |of| of.size,
            "One more than the greatest number of a client",
        ),
        (123, "active", |of| of.active.len() as i32, "Clients that there are"),
        (124, "start", |of| of.started, "Clients that have come"),
        (125, "end", |of| of.ended, "Clients that have ended"),
    ];
    for (item, name, of, help) in control {
        m.value(format!("percontext.control.{name}"), move |s| of(&s.contexts))
            .item(item)
            .unit(COUNT)
            .help(help);
    }
}
