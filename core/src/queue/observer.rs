//! What is told about a fetch from a queue while it goes from event to event.

/// Is told what a client passes and what leaves the queue.
pub(super) trait QueueObserver<P> {
    /// Whether it wants to know at all.
    const OBSERVES: bool;

    /// The client may not see an event.
    fn denied(&mut self, payload: &P, size: usize);

    /// Everybody has seen the event that stood here.
    fn removed(&mut self, queue: &[u8], address: usize);

    /// Where a payload stands.
    fn address(payload: &P) -> usize;
}

/// No observer: costs nothing.
impl<P> QueueObserver<P> for () {
    const OBSERVES: bool = false;

    #[inline(always)]
    fn denied(&mut self, _: &P, _: usize) {}

    #[inline(always)]
    fn removed(&mut self, _: &[u8], _: usize) {}

    #[inline(always)]
    fn address(_: &P) -> usize {
        0
    }
}
