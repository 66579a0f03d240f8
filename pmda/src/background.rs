//! Reading in the background: what takes long, or may hang, on a thread of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use parking_lot::{Condvar, Mutex};

use crate::logger::capture::Reader;
use crate::{Error, Result, guard};

/// A value that a thread of its own reads again and again. An agent keeps it in its state, and
/// shows the value that was read last.
///
/// ```no_run
/// use std::time::Duration;
/// let mounts = pmda::Background::every(Duration::from_secs(5), Duration::from_secs(30), || {
///     std::fs::read_to_string("/proc/mounts")
/// });
/// # drop(mounts);
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
    /// The value that was read last, and when.
    last: Option<(Arc<T>, Instant)>,
    ended: bool,
}

impl<T: Send + Sync + 'static> Background<T> {
    /// Reads at once, and then again `interval` after each reading. The value that was read last
    /// can be had until it is older than `expires`. An error, or a panic, is logged, and the
    /// reading goes on.
    pub fn every(
        interval: Duration,
        expires: Duration,
        mut read: impl FnMut() -> io::Result<T> + Send + 'static,
    ) -> Background<T> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                last: None,
                ended: false,
            }),
            end: Condvar::new(),
        });
        let reader = Arc::clone(&shared);
        let log_reader = Reader::current();
        let spawned = thread::Builder::new()
            .name("pmda-background".to_owned())
            .spawn(move || {
                log_reader.take_over();
                guard::install();
                // An error that repeats is logged once.
                let mut failed = false;
                loop {
                    let outcome = guard::serve(|_| {
                        guard::call("reading in the background", || {
                            Ok(read().map(|value| {
                                let new = Some((Arc::new(value), Instant::now()));
                                // The value before is dropped here, within the guard: that may
                                // panic.
                                let _before = std::mem::replace(&mut reader.state.lock().last, new);
                            }))
                        })
                    });
                    match outcome {
                        Ok(Ok(())) => failed = false,
                        Ok(Err(error)) => {
                            if !std::mem::replace(&mut failed, true) {
                                log::warn!("reading in the background: {error}");
                            }
                        }
                        Err(_) => {}
                    }
                    let mut state = reader.state.lock();
                    reader.end.wait_while_for(&mut state, |state| !state.ended, interval);
                    if state.ended {
                        return;
                    }
                }
            });
        if let Err(error) = spawned {
            log::error!("no thread to read in the background: {error}");
        }
        Background { shared, expires }
    }

    /// The value that was read last.
    ///
    /// # Errors
    /// `PM_ERR_AGAIN` when there is none yet, or it is too old.
    pub fn get(&self) -> Result<Arc<T>> {
        let state = self.shared.state.lock();
        let (value, read) = state.last.as_ref().ok_or(Error::AGAIN)?;
        if read.elapsed() > self.expires {
            return Err(Error::AGAIN);
        }
        Ok(Arc::clone(value))
    }
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

    /// What was read is there until it is too old; errors and panics do not end the reading.
    #[test]
    fn reading() {
        let count = Arc::new(AtomicU32::new(0));
        let reads = Arc::clone(&count);
        let background = Background::every(Duration::from_millis(1), Duration::from_secs(60), move || {
            match reads.fetch_add(1, Ordering::Relaxed) {
                0 => Err(io::Error::other("told to fail")),
                1 => panic!("told to panic"),
                read => Ok(read),
            }
        });
        let first = loop {
            match background.get() {
                Ok(read) => break *read,
                Err(error) => assert_eq!(error, Error::AGAIN),
            }
            thread::sleep(Duration::from_millis(1));
        };
        while *background.get().expect("it was read") <= first {
            thread::sleep(Duration::from_millis(1));
        }
        drop(background);
        let old = Background::every(Duration::from_secs(60), Duration::ZERO, || Ok(1));
        thread::sleep(Duration::from_millis(20));
        assert_eq!(old.get(), Err(Error::AGAIN));
    }
}
