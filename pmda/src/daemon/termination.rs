//! SIGTERM: it ends the agent as the end of pmcd's connection does, in a bounded time.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{process, thread};

use nix::sys::eventfd::{EfdFlags, EventFd};
use signal_hook::iterator::Signals;

use crate::logger::{self, reason};

/// Time that the agent has to end after SIGTERM: it may be in the middle of a request, and its
/// `drop` may end children and save files. The same for an agent that is starting when pmcd closes
/// the connection.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The state that the thread that waits for SIGTERM shares with the thread that serves requests.
#[derive(Clone)]
pub(super) struct Termination(Arc<Shared>);

struct Shared {
    /// SIGTERM has arrived.
    is_asked: AtomicBool,
    /// The agent has begun to start, so that it is to be dropped.
    has_agent: AtomicBool,
    /// Readable when SIGTERM has arrived.
    bell: EventFd,
}

impl Termination {
    /// Waits for SIGTERM on a thread of its own, so that the log gets its footer whatever the agent
    /// is doing: waiting for pmcd, starting, or serving a request. A handler tells that thread, and
    /// no thread blocks the signal: a program that the agent runs would have it blocked, too.
    ///
    /// # Errors
    /// The text that is logged: the process has no thread or no descriptor left.
    pub(super) fn on(signals: Signals) -> Result<Termination, String> {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let termination = Termination(Arc::new(Shared {
            is_asked: AtomicBool::new(false),
            has_agent: AtomicBool::new(false),
            bell: bell.map_err(|errno| errno.desc().to_owned())?,
        }));
        let shared = termination.clone();
        let thread = thread::Builder::new().name("sigterm".to_owned());
        let thread = thread.spawn(move || shared.wait_for(signals));
        thread.map(|_| termination).map_err(|error| reason(&error))
    }

    fn wait_for(&self, mut signals: Signals) {
        if signals.forever().next().is_none() {
            return;
        }
        log::info!("ended by SIGTERM");
        // Either this thread sees that an agent exists, or the agent's thread sees this store.
        self.0.is_asked.store(true, Ordering::SeqCst);
        if self.0.has_agent.load(Ordering::SeqCst) {
            // This cannot fail: the counter is full only after 2^64 rings.
            let _ = self.0.bell.write(1);
            thread::sleep(PATIENCE);
            end_late();
        }
        logger::close();
        process::exit(0);
    }

    /// Takes note that the agent starts. Returns false if SIGTERM has arrived before.
    pub(super) fn may_start(&self) -> bool {
        self.0.has_agent.store(true, Ordering::SeqCst);
        !self.is_asked()
    }

    /// Returns whether SIGTERM has arrived.
    pub(super) fn is_asked(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }
}

/// Ends the process of an agent that has not ended within [`PATIENCE`]; the agent is not dropped.
pub(super) fn end_late() -> ! {
    log::warn!("the agent has not ended within {} seconds", PATIENCE.as_secs());
    logger::close();
    process::exit(0);
}

/// The descriptor that can be read when SIGTERM has arrived.
impl AsFd for Termination {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.bell.as_fd()
    }
}
