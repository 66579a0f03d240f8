//! Work on a thread of the loop: where a disk, or a processor, takes its time.

use crate::headroom;

/// Does work that may wait for a disk, or takes its time, on another thread.
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
