//! Who looks on while a client fetches from a queue.

/// Looks on while a client goes from event to event.
pub(super) trait Watch<P> {
    /// Whether it wants to know at all.
    const LOOKS: bool;

    /// The client may not see an event.
    fn denied(&mut self, payload: &P, size: usize);

    /// Everybody has seen the event that stood here.
    fn removed(&mut self, queue: &[u8], address: usize);

    /// Where a payload stands.
    fn address(payload: &P) -> usize;
}

/// Nobody looks.
impl<P> Watch<P> for () {
    const LOOKS: bool = false;

    #[inline(always)]
    fn denied(&mut self, _: &P, _: usize) {}

    #[inline(always)]
    fn removed(&mut self, _: &[u8], _: usize) {}

    #[inline(always)]
    fn address(_: &P) -> usize {
        0
    }
}
