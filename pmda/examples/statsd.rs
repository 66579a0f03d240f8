//! An agent with tokio: a runtime on a thread of its own receives counters by UDP, as `name:1|c`,
//! and wakes the agent, whose metrics come as the counters do.

#![forbid(unsafe_code)]
use pmda::prelude::*;
use std::net::{SocketAddr, UdpSocket};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

struct Statsd {
    counts: Receiver<(String, u64)>,
    counters: Indom<u64>,
    address: SocketAddr,
}

/// Receives datagrams until the agent has gone.
async fn receive(socket: UdpSocket, counts: Sender<(String, u64)>, waker: Waker) -> std::io::Result<()> {
    let socket = tokio::net::UdpSocket::from_std(socket)?;
    let mut buffer = [0; 1500];
    loop {
        let length = socket.recv(&mut buffer).await?;
        for line in String::from_utf8_lossy(&buffer[..length]).lines() {
            let Some((name, count)) = line.strip_suffix("|c").and_then(|line| line.split_once(':')) else {
                log::debug!("no counter: {line}");
                continue;
            };
            let Ok(count) = count.parse() else { continue };
            if counts.send((name.to_owned(), count)).is_err() {
                return Ok(());
            }
        }
        waker.wake();
    }
}

impl Agent for Statsd {
    const NAME: &'static str = "statsd";
    const DOMAIN: u32 = 408;
    const OPTIONS: &'static [Opt] = &[Opt {
        short: Some('P'),
        long: "port",
        argument: Some("PORT"),
        help: "the port of UDP, instead of 8125",
    }];
    fn start(env: &Env) -> Result<Statsd> {
        let port = env
            .option("port")
            .unwrap_or("8125")
            .parse()
            .map_err(|_| Error::EINVAL)?;
        let socket = UdpSocket::bind(("127.0.0.1", port))?;
        let address = socket.local_addr()?;
        socket.set_nonblocking(true)?;
        let (sender, counts) = channel();
        let waker = env.waker();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        thread::spawn(move || {
            if let Err(error) = runtime.block_on(receive(socket, sender, waker)) {
                log::error!("no more counters: {error}");
            }
        });
        Ok(Statsd {
            counts,
            counters: Indom::new(),
            address,
        })
    }
    fn metrics(m: &mut Metrics<Statsd>) {
        let counters = m.indom(0, "Counters", |s| &mut s.counters);
        m.each("count", counters, |count| *count)
            .counter()
            .unit(COUNT)
            .help("The sum of each counter");
        m.value("port", |s| u32::from(s.address.port()))
            .discrete()
            .help("The port of UDP");
    }
    fn woken(&mut self) -> Result<()> {
        let mut counters = self.counters.change();
        for (name, count) in self.counts.try_iter() {
            *counters.row(&name, || 0)? += count;
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    pmda::run::<Statsd>()
}

#[test]
fn counters_come() -> Result<()> {
    use std::time::Duration;
    let mut pmcd = pmda::testing::Harness::<Statsd>::with_options(&[("port", "0")])?;
    let address = pmcd.agent().address;
    let client = UdpSocket::bind("127.0.0.1:0")?;
    for datagram in ["visits:2|c\nnonsense\nhits:1|c", "visits:3|c"] {
        client.send_to(datagram.as_bytes(), address)?;
        while !pmcd.wait(Duration::from_secs(60)) {}
    }
    let counts = pmcd.fetch("statsd.count")?;
    assert_eq!(
        (counts.value_of("visits"), counts.value_of("hits")),
        (Some(5_u64), Some(1_u64))
    );
    Ok(())
}
