//! The addresses of hosts, by the C library: the host says how names are looked up.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::OnceCell;

use crate::{headroom, limits};

/// The stack of a thread, in bytes.
const STACK: usize = 256 << 10;

/// The time that a thread waits for work.
const IDLE: Duration = Duration::from_secs(10);

/// A function that looks a name up; a port of 0 belongs to it.
pub(in crate::fetch) type LookUp = fn(&str) -> io::Result<Vec<SocketAddr>>;

/// Addresses of a host, once they are known.
type Answer = Arc<OnceCell<Vec<SocketAddr>>>;

/// Waits for the addresses of a host. Dropped, be it that nobody waits any more, it makes the next
/// one ask again.
struct Question<'r> {
    resolver: &'r Resolver,
    name: &'r str,
    answer: Answer,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        let mut asked = self.resolver.asked.lock();
        if asked.get(self.name).is_some_and(|same| Arc::ptr_eq(same, &self.answer)) {
            asked.remove(self.name);
        }
    }
}

/// Looks hosts up. Sources of one host wait for one answer together, each host on a thread of its
/// own: a name server that is mute delays neither files nor other hosts.
#[derive(Clone)]
pub(in crate::fetch) struct Resolver {
    look_up: LookUp,
    asked: Arc<Mutex<HashMap<String, Answer>>>,
    threads: Arc<OnceLock<Threads>>,
}

/// The threads of a runtime of which nothing else is used. Those that wait when it is dropped are
/// left alone.
struct Threads(Option<Runtime>);

impl Threads {
    fn new() -> io::Result<Threads> {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(limits::SOURCES as usize)
            .thread_keep_alive(IDLE)
            .thread_stack_size(STACK)
            .thread_name("names")
            .build()?;
        Ok(Threads(Some(runtime)))
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let Some(runtime) = &self.0 else {
            return Err(io::Error::other("the agent ends"));
        };
        if !headroom::has_for_threads(1) {
            return Err(io::Error::other(headroom::NO_MEMORY));
        }
        let done = runtime.spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(io::Error::other(error)))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Resolver {
    /// A resolver that asks this function.
    pub fn new(look_up: LookUp) -> Resolver {
        Resolver {
            look_up,
            asked: Arc::default(),
            threads: Arc::default(),
        }
    }

    /// The addresses of a host, in the order in which they are to be tried.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = name.parse::<IpAddr>() {
            return Ok(vec![(address, 0).into()]);
        }
        let answer = Arc::clone(self.asked.lock().entry(name.to_owned()).or_default());
        let question = Question {
            resolver: self,
            name,
            answer,
        };
        let addresses = question.answer.get_or_try_init(|| self.ask(name)).await;
        addresses.cloned()
    }

    async fn ask(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        let threads = match self.threads.get() {
            Some(threads) => threads,
            None => {
                let new = Threads::new()?;
                self.threads.get_or_init(|| new)
            }
        };
        let (look_up, owned) = (self.look_up, name.to_owned());
        let addresses = threads.run(move || look_up(&owned)).await;
        addresses.map_err(|error| io::Error::new(error.kind(), format!("{error} ({name})")))
    }
}

/// Asks the C library (getaddrinfo).
///
/// # Errors
/// What it says.
pub(in crate::fetch) fn of_the_host(name: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((name, 0).to_socket_addrs()?.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What nobody waits for any more is not remembered: a server may name other hosts without end.
    #[tokio::test]
    async fn questions_that_are_given_up() {
        let resolver = Resolver::new(|name| {
            if name == "mute" {
                std::thread::sleep(Duration::from_secs(2));
            }
            Ok(vec![([127, 0, 0, 1], 0).into()])
        });
        let asked = Arc::clone(&resolver.asked);
        assert!(resolver.addresses("good").await.is_ok() && asked.lock().is_empty());
        let mute = tokio::time::timeout(Duration::from_millis(50), resolver.addresses("mute")).await;
        assert!(mute.is_err() && asked.lock().is_empty());
    }
}
