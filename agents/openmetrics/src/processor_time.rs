//! The time of the processor that this thread has used: on a busy machine a clock goes on while
//! others work.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The end of some work, by the time of the processor that this thread has used.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Duration);

impl Deadline {
    /// So much work from now on.
    #[must_use]
    pub fn after(time: Duration) -> Deadline {
        Deadline(used() + time)
    }

    /// Returns whether this thread has worked for so long.
    #[must_use]
    pub fn is_over(self) -> bool {
        used() >= self.0
    }
}

fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// A thread that sleeps does not work.
    #[test]
    fn work_ends() {
        let deadline = Deadline::after(Duration::from_millis(20));
        thread::sleep(Duration::from_millis(40));
        assert!(!deadline.is_over());
        while !deadline.is_over() {}
        assert!(Deadline::after(Duration::ZERO).is_over());
    }
}
