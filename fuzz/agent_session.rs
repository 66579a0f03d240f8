//! The session of an agent in Rust.

use pmda::prelude::*;
use pmda::testing::Harness;
use pmda_core::wire::encode::is_whole;

/// An agent with something of everything.
#[derive(Default)]
struct Everything {
    fixed: Indom<u64>,
    changing: Indom<String>,
    events: Option<Queue<u32>>,
    fetches: u32,
}

impl Agent for Everything {
    const NAME: &'static str = "all";
    const DOMAIN: u32 = 253;

    fn start(_: &Env) -> Result<Everything> {
        Ok(Everything {
            fixed: Indom::fixed([("a", 1), ("b b", 2), ("c", 3)]),
            events: Some(Queue::new(5)),
            ..Everything::default()
        })
    }

    fn metrics(m: &mut Metrics<Everything>) {
        m.label("role", "fuzz").cluster_label("cluster", "zero");
        let fixed = m.indom(0, "Fixed\nAll of it.", |s| &mut s.fixed);
        m.instance_labels(fixed, |name, row| Labels::new().add("name", name).optional("row", *row));
        m.value("fetches", |s| s.fetches)
            .help("Fetches\nSo far.")
            .store(|s, value: u32, _| {
                s.fetches = value;
                Ok(())
            });
        m.each("fixed", fixed, |row| *row)
            .writable_by(|_| true)
            .store(|row, value: u64, _| {
                *row = value;
                Ok(())
            });
        m.value("bytes", |s| vec![1_u8; s.fetches as usize % 9]);
        let number = m.parameter::<u32>("number", |_| {});
        m.events(
            "events",
            |s| s.events.get_or_insert_with(|| Queue::new(1)),
            move |event, record| {
                record.add(number, event);
            },
        );
        m.cluster(1).refresh(|s, _| {
            let mut update = s.changing.update();
            for number in s.fetches..s.fetches.saturating_add(4) {
                update.set(&format!("n{number}"), number.to_string())?;
            }
            Ok(())
        });
        let changing = m.indom(1, "Changing", |s| &mut s.changing);
        m.each_text("text", changing, |row| row);
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        self.fetches = self.fetches.wrapping_add(1);
        if let Some(events) = &mut self.events {
            events.push(self.fetches);
        }
        if request.wants(7) { Err(Error::AGAIN) } else { Ok(()) }
    }

    fn dynamic(&mut self, m: &mut Metrics<Everything>, _: &Request<'_>) -> Result<()> {
        match self.fetches % 3 {
            0 if !m.has("late.metric") => {
                m.cluster(2).value("late.metric", |s| Some(s.fetches)).counter();
            }
            1 => {
                m.remove("late.metric");
            }
            _ => {}
        }
        Ok(())
    }
}

/// Whether a kind of PDU gets an answer.
fn is_answered(kind: u32) -> bool {
    matches!(
        kind,
        0x7001 | 0x7003 | 0x7004 | 0x7006 | 0x7008 | 0x700d | 0x700e | 0x700f | 0x7010 | 0x7012
    )
}

/// The bytes are requests: one for the kind, one for the client, one for the length of the body in
/// words, and the body, which is made longer by zeros where it is too short.
pub fn agent_session(mut data: &[u8]) {
    let mut pmcd = Harness::<Everything>::new().expect("it starts");
    while let [kind, client, words, rest @ ..] = data {
        let kind = 0x7000 + u32::from(kind % 0x18);
        let length = usize::from(words % 32) * 4;
        let (body, rest) = rest.split_at(length.min(rest.len()));
        data = rest;
        let mut pdu = [12 + length as u32, kind, u32::from(client % 4)]
            .map(u32::to_be_bytes)
            .concat();
        pdu.extend_from_slice(body);
        pdu.resize(12 + length, 0);
        let reply = pmcd.raw(&pdu);
        assert_eq!(!reply.is_empty(), is_answered(kind), "{kind:#x}");
        assert!(
            reply.is_empty() || (is_whole(&reply) && super::is_readable(&reply)),
            "{reply:x?}"
        );
    }
}
