//! The end of a request: what has begun ends, whatever has failed.

#![forbid(unsafe_code)]

use pmda::prelude::*;
use pmda::testing::Harness;

/// An agent that is its client from the beginning of a request to its end.
struct Reading {
    rows: Indom<u32>,
    /// The user that the agent is now.
    user: Option<u32>,
    fails: &'static str,
    /// What has ended, and as which user.
    ended: Vec<(Why, Option<u32>, bool, Option<Code>)>,
}

impl Agent for Reading {
    const NAME: &'static str = "reading";
    const DOMAIN: u32 = 242;

    fn start(_: &Env) -> Result<Reading> {
        Ok(Reading {
            rows: Indom::fixed([("one", 1)]),
            user: None,
            fails: "",
            ended: Vec::new(),
        })
    }

    fn metrics(m: &mut Metrics<Reading>) {
        let rows = m.indom(0, "Rows", |s| &mut s.rows);
        m.instance_labels(rows, |_, row| Labels::new().add("row", *row));
        m.refresh(|s, _| {
            if s.fails == "refresh" {
                Err(Error::AGAIN)
            } else {
                Ok(())
            }
        });
        m.value("user", |s| {
            assert!(s.fails != "value", "told to panic");
            s.user
        });
        m.each("row", rows, |row| *row).store(|row, value: u32, _| {
            *row = value;
            Ok(())
        });
    }

    fn begin(&mut self, request: &Request<'_>) -> Result<()> {
        assert_eq!(self.user, None, "the request before has ended");
        self.user = request.client().uid();
        if self.fails == "begin" {
            Err(Error::PERMISSION)
        } else {
            Ok(())
        }
    }

    fn end(&mut self, request: &Request<'_>, outcome: Result<(), &Error>) {
        assert_eq!(self.user, request.client().uid());
        let code = outcome.err().map(Error::code);
        self.ended
            .push((request.why(), self.user.take(), request.wants(0), code));
        assert!(self.fails != "end", "told to panic");
    }
}

#[test]
fn each_request_ends() -> Result<()> {
    let mut pmcd = Harness::<Reading>::new()?;
    pmcd.as_client(3).set_uid(1000);
    let (begin, refresh) = (Some(Code::PERMISSION), Some(Code::AGAIN));
    for (fails, of_fetch, of_instances) in [
        ("", None, None),
        ("begin", begin, begin),
        ("refresh", None, refresh),
        ("value", None, None),
        ("end", None, None),
    ] {
        pmcd.agent().fails = "";
        let (user, row) = (pmcd.desc("reading.user")?.id, pmcd.desc("reading.row")?.indom);
        assert_eq!(user.cluster(), 0);
        pmcd.agent().ended.clear();
        pmcd.agent().fails = fails;
        let mut request = pmda_core::wire::client::ClientRequest::new();
        request.of(3).fetch(&[user])?;
        pmcd.raw(request.bytes());
        request.of(3).instances(row)?;
        pmcd.raw(request.bytes());
        assert_eq!(
            pmcd.agent().ended,
            [
                (Why::Fetch, Some(1000), true, of_fetch),
                (Why::Instances, Some(1000), true, of_instances)
            ],
            "{fails}"
        );
        assert_eq!(pmcd.agent().user, None, "{fails}");
    }
    pmcd.agent().fails = "";
    assert_eq!(pmcd.fetch("reading.user")?.value(), Some(1000));
    // A request that the agent has not begun does not end.
    pmcd.as_client(0).store_instance("reading.row", "one", 7)?;
    let ended = pmcd.agent().ended.len();
    pmcd.text("reading.row").expect_err("no help");
    let names = pmcd.agent().ended.len() - ended;
    assert_eq!(names, 1, "only the look-up of its name has begun");
    Ok(())
}
