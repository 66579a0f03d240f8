//! The sources that wake an agent beside requests: other threads, timers, and readable descriptors.
//!
//! A daemon waits for pmcd and all of these at once. A shared object has no loop of its own: it
//! looks for them at the next request.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use parking_lot::Mutex;

mod tail;
#[cfg(test)]
mod tests;

pub use tail::{LineOutcome, Tail};

/// Time for which descriptors do not wake the agent after it has failed to serve them: they would
/// wake it again at once.
const PAUSE: Duration = Duration::from_secs(1);

/// A time that the clock reaches: what is longer is as long.
pub(crate) const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Maximum time of one poll, in milliseconds; the caller goes on waiting.
const LONGEST_WAIT: u128 = 60_000;

/// The sources that may wake an agent. Each [`Waker`], [`Timer`] and [`Watch`] has a share of it.
#[derive(Clone)]
pub(crate) struct Reactor(Arc<Shared>);

struct Shared {
    /// Ends the waiting of the agent's thread; `None` if the process had no descriptor left for it.
    bell: Option<EventFd>,
    /// [`Waker::wake`] was called.
    woken: AtomicBool,
    sources: Mutex<Sources>,
}

#[derive(Default)]
struct Sources {
    /// The number of the next source.
    next: u64,
    timers: BTreeMap<u64, TimerState>,
    watches: BTreeMap<u64, Arc<OwnedFd>>,
    /// The time by which a harness has moved the clock.
    ahead: Duration,
    /// Descriptors do not wake the agent before this time.
    paused_until: Option<Instant>,
}

struct TimerState {
    due: Instant,
    interval: Duration,
    /// The number of passed intervals that the agent has not asked for yet.
    passed: u64,
}

/// Why waiting has ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Ready {
    /// The agent is to be woken.
    pub(crate) wakes: bool,
    /// One of the inputs can be read.
    pub(crate) input: bool,
}

impl Reactor {
    pub(crate) fn new() -> Reactor {
        let bell = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        if let Err(errno) = bell {
            log::warn!("nothing can wake the agent: {}", errno.desc());
        }
        Reactor(Arc::new(Shared {
            bell: bell.ok(),
            woken: AtomicBool::new(false),
            sources: Mutex::default(),
        }))
    }

    /// Returns true if anything may wake the agent, now or later: somebody has a share beside this
    /// one and `own` others, which are the crate's.
    pub(crate) fn is_used_beside(&self, own: usize) -> bool {
        Arc::strong_count(&self.0) > 1 + own
    }

    /// Moves the clock of timers forward.
    pub(crate) fn advance(&self, time: Duration) {
        let mut sources = self.0.sources.lock();
        sources.ahead = sources.ahead.saturating_add(time).min(CENTURY);
    }

    /// Keeps descriptors from waking the agent for a second, as it has failed to serve them.
    pub(crate) fn pause(&self) {
        self.0.sources.lock().paused_until = Some(Instant::now() + PAUSE);
    }

    /// Returns whether the waiting of another thread can be ended.
    pub(crate) fn can_ring(&self) -> bool {
        self.0.bell.is_some()
    }

    /// Ends the waiting of another thread without waking the agent.
    pub(crate) fn ring(&self) {
        if let Some(bell) = &self.0.bell {
            // This cannot fail: the counter is full only after 2^64 rings.
            let _ = bell.write(1);
        }
    }

    /// Waits until something wakes the agent, one of the inputs can be read, or `limit` has passed.
    pub(crate) fn wait(&self, inputs: &[BorrowedFd<'_>], limit: Option<Duration>) -> Ready {
        let (watches, until_timer) = self.0.sources.lock().awaited();
        let is_woken = self.0.woken.load(Ordering::Acquire);
        let wait = if is_woken {
            Some(Duration::ZERO)
        } else {
            shorter(limit, until_timer)
        };
        let bell = self.0.bell.as_ref().map(AsFd::as_fd);
        let all = bell
            .into_iter()
            .chain(inputs.iter().copied())
            .chain(watches.iter().map(|watch| watch.as_fd()));
        let mut all: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // If a signal interrupts this, nothing is ready, and the caller waits again.
        let is_ready = poll(&mut all, timeout(wait)).is_ok_and(|ready| ready > 0);
        let mut ready = all.iter().map(|one| is_ready && one.any() == Some(true));
        if bell.is_some() && ready.next() == Some(true) {
            // Before `woken` is read: a thread that wakes the agent after that rings again.
            let _ = self.0.bell.as_ref().map(EventFd::read);
        }
        let has_input = ready.by_ref().take(inputs.len()).fold(false, |any, ready| any | ready);
        let is_readable = ready.any(|ready| ready);
        let is_woken = self.0.woken.swap(false, Ordering::AcqRel);
        let is_due = self.0.sources.lock().fire();
        Ready {
            wakes: is_woken || is_due || is_readable,
            input: has_input,
        }
    }

    /// Adds a source.
    fn add<S>(&self, kind: impl FnOnce(&mut Sources) -> &mut BTreeMap<u64, S>, source: S) -> Registration {
        let number = {
            let mut sources = self.0.sources.lock();
            let number = sources.next;
            sources.next += 1;
            kind(&mut sources).insert(number, source);
            number
        };
        // The thread that waits does not know of it yet.
        self.ring();
        Registration {
            reactor: self.clone(),
            number,
        }
    }

    pub(crate) fn waker(&self) -> Waker {
        Waker(self.clone())
    }

    pub(crate) fn timer(&self, interval: Duration) -> Timer {
        let interval = bounded(interval);
        let now = Instant::now() + self.0.sources.lock().ahead;
        let state = TimerState {
            due: now + interval,
            interval,
            passed: 0,
        };
        Timer(self.add(|sources| &mut sources.timers, state))
    }

    /// Lets a descriptor wake the agent while it can be read; it does not block from now on.
    ///
    /// # Errors
    /// Those of `fcntl`: no descriptor is left, for instance.
    pub(crate) fn watch<F: AsFd>(&self, source: F) -> io::Result<Watch<F>> {
        let fd = source.as_fd().try_clone_to_owned()?;
        let flags = OFlag::from_bits_retain(fcntl(&fd, FcntlArg::F_GETFL)?);
        fcntl(&fd, FcntlArg::F_SETFL(flags | OFlag::O_NONBLOCK))?;
        let registration = self.add(|sources| &mut sources.watches, Arc::new(fd));
        Ok(Watch { source, registration })
    }
}

impl Sources {
    /// The descriptors to wait for, and the time until the next timer.
    fn awaited(&mut self) -> (Vec<Arc<OwnedFd>>, Option<Duration>) {
        let now = Instant::now();
        self.paused_until = self.paused_until.filter(|until| *until > now);
        let timers = self
            .timers
            .values()
            .map(|timer| timer.due.saturating_duration_since(now + self.ahead));
        let until_timer = timers.min();
        match self.paused_until {
            Some(until) => (Vec::new(), shorter(until_timer, Some(until - now))),
            None => (self.watches.values().cloned().collect(), until_timer),
        }
    }

    /// Counts the intervals that have passed; returns whether one has.
    fn fire(&mut self) -> bool {
        let now = Instant::now() + self.ahead;
        let mut is_due = false;
        for timer in self.timers.values_mut().filter(|timer| timer.due <= now) {
            let late = now.saturating_duration_since(timer.due).as_nanos();
            let passed = u32::try_from(late / timer.interval.as_nanos()).unwrap_or(u32::MAX - 1) + 1;
            timer.passed += u64::from(passed);
            timer.due = timer
                .interval
                .checked_mul(passed)
                .and_then(|time| timer.due.checked_add(time))
                .filter(|due| *due > now)
                .unwrap_or(now + timer.interval);
            is_due = true;
        }
        is_due
    }
}

/// Waits until one of the inputs can be read. Returns false if a signal has interrupted that.
pub(crate) fn wait_for<const N: usize>(inputs: [BorrowedFd<'_>; N]) -> bool {
    let mut inputs = inputs.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    // After another error the read that follows fails as well, and tells.
    !matches!(poll(&mut inputs, PollTimeout::NONE), Err(Errno::EINTR))
}

/// The interval of a timer: at least a millisecond, at most a century.
fn bounded(interval: Duration) -> Duration {
    interval.clamp(Duration::from_millis(1), CENTURY)
}

fn shorter(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// The time as poll takes it, rounded up, so that it does not end before a timer is due.
fn timeout(wait: Option<Duration>) -> PollTimeout {
    wait.map_or(PollTimeout::NONE, |wait| {
        let milliseconds = wait.as_nanos().div_ceil(1_000_000).min(LONGEST_WAIT);
        u16::try_from(milliseconds).unwrap_or(u16::MAX).into()
    })
}

/// A source that is part of the reactor until this is dropped.
struct Registration {
    reactor: Reactor,
    number: u64,
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut sources = self.reactor.0.sources.lock();
        sources.timers.remove(&self.number);
        let watch = sources.watches.remove(&self.number);
        drop(sources);
        // Closed last: the close of a socket may wait.
        drop(watch);
    }
}

/// Wakes an agent from any thread: [`Agent::woken`](crate::Agent::woken) is called soon in a
/// daemon, and before the next request in a shared object.
///
/// Several wakes may become one call; one that comes while it runs gets another.
#[derive(Clone)]
pub struct Waker(Reactor);

impl Waker {
    /// Wakes the agent.
    pub fn wake(&self) {
        if !self.0.0.woken.swap(true, Ordering::AcqRel) {
            self.0.ring();
        }
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Waker")
    }
}

/// A timer that wakes its agent each time that its interval has passed, until it is dropped.
pub struct Timer(Registration);

impl Timer {
    /// The number of intervals that have passed since this was called last: 0 while the timer is
    /// not due. An agent that was busy is woken once for all that it has missed.
    pub fn passed(&mut self) -> u64 {
        let mut sources = self.0.reactor.0.sources.lock();
        let timer = sources.timers.get_mut(&self.0.number);
        timer.map_or(0, |timer| std::mem::take(&mut timer.passed))
    }

    /// Wakes the agent soon, in addition.
    fn fire_soon(&mut self) {
        let mut sources = self.0.reactor.0.sources.lock();
        let now = Instant::now() + sources.ahead;
        if let Some(timer) = sources.timers.get_mut(&self.0.number) {
            timer.due = now;
        }
        drop(sources);
        self.0.reactor.ring();
    }

    /// Changes the interval, which begins now. One below a millisecond is a millisecond.
    pub fn set_interval(&mut self, interval: Duration) {
        let mut sources = self.0.reactor.0.sources.lock();
        let now = Instant::now() + sources.ahead;
        if let Some(timer) = sources.timers.get_mut(&self.0.number) {
            timer.interval = bounded(interval);
            timer.due = now + timer.interval;
        }
        drop(sources);
        self.0.reactor.ring();
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Timer {}", self.0.number)
    }
}

/// A socket or another descriptor that wakes its agent while it can be read, until it is dropped.
///
/// It never blocks (`O_NONBLOCK`): the agent reads until [`io::ErrorKind::WouldBlock`], and drops a
/// watch whose socket is at its end, since such a socket would wake it for ever. If the agent fails
/// to serve its descriptors, they rest for a second.
///
/// It lends what is watched, to be read and written, but not to be exchanged: another descriptor would
/// not be watched. Its functions are none of its methods, which would hide those of what is watched.
pub struct Watch<F> {
    source: F,
    registration: Registration,
}

impl<F> Watch<F> {
    /// Returns what was watched, which wakes the agent no more.
    pub fn into_inner(watch: Watch<F>) -> F {
        watch.source
    }
}

impl<F> Deref for Watch<F> {
    type Target = F;

    fn deref(&self) -> &F {
        &self.source
    }
}

impl<F: Read> Read for Watch<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}

impl<F: Write> Write for Watch<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.source.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.source.flush()
    }
}

impl<F> fmt::Debug for Watch<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Watch {}", self.registration.number)
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Reactor")
    }
}
