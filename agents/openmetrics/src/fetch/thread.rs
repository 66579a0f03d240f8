//! Work on a thread of the loop: where a disk, or a processor, takes its time.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::headroom;

/// Does work that takes its time on another thread.
///
/// # Errors
/// Those of the work; there is no memory for a thread; a panic.
pub(super) async fn on_another_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    if !headroom::has_for_threads(1) {
        return Err(headroom::NO_MEMORY.to_owned());
    }
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

/// The thread for the files of one source, one at a time: while its disk hangs, the requests of the
/// source wait for that thread, and take no other one from other sources.
pub(super) struct FileThread(Arc<Semaphore>);

impl FileThread {
    /// A thread that does nothing yet.
    pub fn new() -> FileThread {
        FileThread(Arc::new(Semaphore::new(1)))
    }

    /// Does work that may wait for a disk, as [`on_another_thread`].
    ///
    /// # Errors
    /// As [`on_another_thread`].
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let turn = Arc::clone(&self.0).acquire_owned().await;
        let turn = turn.map_err(|error| error.to_string())?;
        on_another_thread(move || {
            let done = work();
            drop(turn);
            done
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    /// While the disk of a source hangs, its requests take one thread, not one each.
    #[tokio::test]
    async fn a_disk_that_hangs() {
        let thread = FileThread::new();
        let (begun, ends) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        let read = |number: u32| {
            let (begun, ends) = (Arc::clone(&begun), Arc::clone(&ends));
            thread.run(move || {
                begun.fetch_add(1, Ordering::SeqCst);
                for _ in 0..1000 {
                    if ends.load(Ordering::SeqCst) == 0 {
                        std::thread::sleep(Duration::from_millis(5));
                    }
                }
                Ok(number)
            })
        };
        for number in 0..5 {
            let late = tokio::time::timeout(Duration::from_millis(50), read(number)).await;
            assert!(late.is_err());
        }
        assert_eq!(begun.load(Ordering::SeqCst), 1);
        ends.store(1, Ordering::SeqCst);
        assert_eq!(read(7).await, Ok(7));
    }
}
