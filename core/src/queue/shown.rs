//! What a fetch shows to filters and decoders.

/// An event that the client has not seen yet. Its payload stays alive until the fetch is done with
/// it, whatever happens to the queue.
#[derive(Clone, Copy, Debug)]
pub struct Event<V> {
    /// Its number in the order of arrival.
    pub sequence: u64,
    /// Bytes of payload.
    pub size: usize,
    /// The payload.
    pub payload: V,
}
