//! Reading in the background: what takes long, or may hang, on a thread of its own.

use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, thread};

use parking_lot::{Condvar, Mutex};

use crate::env::Env;
use crate::error::{Error, Result};
use crate::guard;
use crate::logger::capture::Reader;
use crate::logger::{describe, reason};

/// A value that a thread of its own reads again and again. An agent declares how often
/// ([`Metrics::background`](crate::Metrics::background)), starts the thread with [`Env::background`],
/// and shows the value that was read last.
///
/// ```
/// use std::time::Duration;
///
/// use pmda::prelude::*;
///
/// struct Mounts(Background<String>);
///
/// impl Agent for Mounts {
///     const NAME: &'static str = "mounts";
///     const DOMAIN: u32 = 450;
///     fn start(env: &Env) -> Result<Mounts> {
///         Ok(Mounts(env.background("mounts", || fs::read_to_string("/proc/mounts"))?))
///     }
///     fn metrics(m: &mut Metrics<Mounts>) {
///         m.background("mounts").every(Duration::from_secs(5)).expires_after(Duration::from_secs(30));
///         m.value("count", |s| s.0.get().map(|text| text.lines().count()));
///     }
/// }
/// ```
pub struct Background<T> {
    shared: Arc<Shared<T>>,
    expires: Duration,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    /// Signalled when `ended` is set.
    end: Condvar,
}

struct State<T> {
    /// The value that was read last.
    last: Option<Reading<T>>,
    /// The error of the last reading, if it has failed.
    failure: Option<Error>,
    ended: bool,
}

/// A value that a [`Background`] has read, and its age. It stays as it is when the next one is read.
/// Its function is none of its methods, which would hide one of the value's.
#[derive(Debug)]
pub struct Reading<T> {
    value: Arc<T>,
    read: Instant,
}

impl<T> Reading<T> {
    /// The time since it was read.
    #[must_use]
    pub fn age(reading: &Reading<T>) -> Duration {
        reading.read.elapsed()
    }
}

impl<T> Clone for Reading<T> {
    fn clone(&self) -> Reading<T> {
        Reading {
            value: Arc::clone(&self.value),
            read: self.read,
        }
    }
}

impl<T> Deref for Reading<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl Env {
    /// Starts a thread that reads at once, and then again and again, as the agent has declared it
    /// under this name ([`Metrics::background`](crate::Metrics::background)). An error of `read`, or a
    /// panic, is logged under the name, once until a reading succeeds or fails otherwise, and the
    /// reading goes on.
    ///
    /// # Errors
    /// `-EINVAL` if the agent has not declared it.
    pub fn background<T: Send + Sync + 'static>(
        &self,
        name: &str,
        read: impl FnMut() -> Result<T> + Send + 'static,
    ) -> Result<Background<T>> {
        let Some((interval, expires)) = self.schedule(name) else {
            return Err(Error::EINVAL.text(format_args!("Agent::metrics does not declare a background {name:?}")));
        };
        Ok(Background::every(name, interval, expires, read))
    }
}

impl<T: Send + Sync + 'static> Background<T> {
    fn every(
        name: &str,
        interval: Duration,
        expires: Duration,
        mut read: impl FnMut() -> Result<T> + Send + 'static,
    ) -> Background<T> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                last: None,
                failure: None,
                ended: false,
            }),
            end: Condvar::new(),
        });
        let reader = Arc::clone(&shared);
        let log_reader = Reader::current();
        let what = format!("reading {name} in the background");
        let spawned = thread::Builder::new().name(thread_name(name)).spawn(move || {
            log_reader.take_over();
            let _thread = guard::OwnThread::begin();
            // The last line of the log about it.
            let mut told = None;
            loop {
                let outcome = guard::serve(|_| {
                    guard::call(&what, || {
                        let value = Arc::new(read()?);
                        let new = Some(Reading {
                            value,
                            read: Instant::now(),
                        });
                        // The value before is dropped here, within the guard: that may panic.
                        let _before = std::mem::replace(&mut reader.state.lock().last, new);
                        Ok(())
                    })
                });
                let failure = outcome.err();
                if let Some(error) = failure.as_ref().filter(|error| error.is_for_the_log()) {
                    let line = describe(error);
                    if told.as_ref() != Some(&line) {
                        log::warn!("{what}: {line}");
                        told = Some(line);
                    }
                } else if failure.is_none() {
                    told = None;
                }
                let mut state = reader.state.lock();
                // The log has it: a line for each metric that shows it would say no more.
                state.failure = failure.map(Error::logged);
                reader.end.wait_while_for(&mut state, |state| !state.ended, interval);
                if state.ended {
                    return;
                }
            }
        });
        if let Err(error) = spawned {
            log::error!("reading {name} in the background: no thread: {}", reason(&error));
            shared.state.lock().failure = Some(Error::from(error).logged());
        }
        Background { shared, expires }
    }

    /// The value that was read last, with its age.
    ///
    /// # Errors
    /// Without a value, or if it is too old: the error of the last reading, if that has failed,
    /// else `PM_ERR_AGAIN`.
    pub fn get(&self) -> Result<Reading<T>> {
        let state = self.shared.state.lock();
        match &state.last {
            Some(reading) if Reading::age(reading) <= self.expires => Ok(reading.clone()),
            _ => Err(state.failure.clone().unwrap_or(Error::AGAIN)),
        }
    }
}

/// The name of a thread, without what no thread can have in it. The system shows 15 bytes of it.
fn thread_name(name: &str) -> String {
    name.replace('\0', "")
}

/// Lets the thread end when it does not read. It is not waited for, as it may hang.
impl<T> Drop for Background<T> {
    fn drop(&mut self) {
        self.shared.state.lock().ended = true;
        self.shared.end.notify_all();
    }
}

impl<T> fmt::Debug for Background<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Background that expires after {:?}", self.expires)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::logger::capture::Lines;

    /// A value stays until it is too old; errors and panics do not end the reading.
    #[test]
    fn reading() {
        let count = Arc::new(AtomicU32::new(0));
        let reads = Arc::clone(&count);
        let minute = Duration::from_secs(60);
        let background = Background::every("a test", Duration::from_millis(1), minute, move || {
            match reads.fetch_add(1, Ordering::Relaxed) {
                0 => Err(Error::BADSTORE),
                1 => panic!("told to panic"),
                read => Ok(read),
            }
        });
        let first = wait_for(|| background.get().ok());
        assert!(Reading::age(&first) < minute);
        wait_for(|| background.get().ok().filter(|read| **read > *first));
        drop(background);
        let old = Background::every("old", minute, Duration::ZERO, || Ok(1));
        wait_for(|| {
            old.shared
                .state
                .lock()
                .last
                .as_ref()
                .filter(|last| !Reading::age(last).is_zero())
                .map(drop)
        });
        assert_eq!(old.get().err(), Some(Error::AGAIN));
    }

    /// A value that cannot be read has the error of the reading, which the log has under the name.
    #[test]
    fn failing() {
        let lines = Lines::of_this_thread();
        crate::logger::start("a test", log::LevelFilter::Info);
        let hour = Duration::from_secs(3600);
        let count = Arc::new(AtomicU32::new(0));
        let reads = Arc::clone(&count);
        let background = Background::every("the weather", Duration::from_millis(1), hour, move || {
            match reads.fetch_add(1, Ordering::Relaxed) {
                0..3 => crate::fs::read("/no/such/file"),
                3 => Err(Error::ENODEV.text("no sky")),
                _ => Ok(Vec::new()),
            }
        });
        let read = wait_for(|| background.get().ok());
        assert!(read.is_empty());
        let never = Background::every("nothing", hour, hour, || Err::<(), _>(Error::NOAGENT));
        let error = wait_for(|| background_error(&never));
        assert!(error == Error::NOAGENT && !error.is_for_the_log());
        let log = lines.text();
        for line in [
            "the weather in the background: /no/such/file: No such file or directory",
            "the weather in the background: no sky: No such device",
            "nothing in the background: No agent",
        ] {
            assert_eq!(log.matches(&format!("Warning: reading {line}")).count(), 1, "{log}");
        }
    }

    /// The error of a reading, once it has failed.
    fn background_error<T: Send + Sync + 'static>(background: &Background<T>) -> Option<Error> {
        background.get().err().filter(|error| *error != Error::AGAIN)
    }

    fn wait_for<R>(mut look: impl FnMut() -> Option<R>) -> R {
        loop {
            if let Some(result) = look() {
                return result;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}
