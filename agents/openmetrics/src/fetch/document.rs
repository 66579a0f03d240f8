//! The document of a source, in bounded memory that all sources share.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use pmda_core::log::Counted;

use crate::{headroom, limits};

/// Read sizes in bytes, at least and at most: most documents are small, and many wait side by side.
const FIRST: usize = 8 << 10;
const CHUNK: usize = 64 << 10;

/// A source's word on the length is believed up to here, in bytes: memory that it does not fill is
/// taken from others.
const BELIEVED: u64 = 1 << 20;

/// A document that grows takes as many bytes more as it has, so that it is not moved too often, but at
/// most so many: the system moves large blocks without a copy.
const MOST: usize = 4 << 20;

/// Each time that the documents take so many bytes more, the system is asked whether it has memory.
const PIECE: usize = 4 << 20;

/// The number of buffers that are kept, and the size in bytes of each at most: sources are read
/// again and again, a few at a time.
const KEPT: usize = 2;
const KEPT_BYTES: usize = 4 << 20;

/// The reason why a source has no document.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The status of HTTP, or 0.
    pub status: u16,
    /// In words.
    pub reason: String,
}

/// The memory of all documents.
#[derive(Debug)]
pub struct Memory {
    used: AtomicUsize,
    /// Of all documents together, in bytes.
    total: usize,
    /// Of one, in bytes.
    largest: usize,
    spare: Mutex<Vec<Vec<u8>>>,
}

impl Memory {
    /// Memory with the agent's limits.
    #[must_use]
    pub fn new() -> Arc<Memory> {
        Memory::limited(limits::DOCUMENTS, limits::DOCUMENT)
    }

    /// Memory with other limits, in bytes: of all documents together, and of one.
    #[must_use]
    pub fn limited(total: usize, largest: usize) -> Arc<Memory> {
        Arc::new(Memory {
            used: AtomicUsize::new(0),
            total,
            largest,
            spare: Mutex::new(Vec::new()),
        })
    }

    /// Takes more memory for a document that has some already. No document has more than it leaves
    /// free, and a large one leaves a quarter of all: however much some sources send, and however many
    /// they are, there is room for the smaller documents of others.
    fn take(&self, own: usize, bytes: usize) -> Result<(), String> {
        let before = self.used.fetch_add(bytes, Ordering::Relaxed);
        let used = before + bytes;
        let free = self.total.checked_sub(used);
        let reserve = if own + bytes > limits::LARGE { self.total / 4 } else { 0 };
        let error = if free.is_none_or(|free| free < reserve.max(own + bytes)) {
            format!(
                "no room for the document: all documents have {before} of {} bytes, and one gets at most as much as it leaves free",
                self.total
            )
        } else if before / PIECE != used / PIECE && !headroom::has(bytes) {
            headroom::NO_MEMORY.to_owned()
        } else {
            return Ok(());
        };
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        Err(error)
    }
}

/// A document, whose memory goes back when it is dropped.
#[derive(Debug)]
pub struct Document {
    bytes: Vec<u8>,
    /// The number of bytes that were taken for it.
    taken: usize,
    /// The number of pieces in which it has arrived.
    pieces: usize,
    /// The fault of the document, if it has one.
    fault: Option<String>,
    memory: Arc<Memory>,
}

impl Document {
    /// An empty one.
    #[must_use]
    pub fn new(memory: &Arc<Memory>) -> Document {
        Document {
            bytes: memory.spare.lock().pop().unwrap_or_default(),
            taken: 0,
            pieces: 0,
            fault: None,
            memory: Arc::clone(memory),
        }
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The fault of the document, for `control.status`.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Takes note that it has ended before this length, and drops the line that is not whole.
    pub fn end_early(&mut self, length: u64) {
        let length = Counted(usize::try_from(length).unwrap_or(usize::MAX), "byte", "bytes");
        self.fault = Some(format!("the server has sent only {} of {length}", self.bytes.len()));
        let whole = memchr::memrchr(b'\n', &self.bytes).map_or(0, |end| end + 1);
        self.bytes.truncate(whole);
    }

    /// Reads some more of it. Tells how many bytes; 0 is the end.
    ///
    /// # Errors
    /// Why not, such as that it is too large.
    pub fn read_from(&mut self, source: &mut dyn Read) -> Result<usize, String> {
        let length = self.bytes.len();
        if length + FIRST > self.taken {
            self.grow(length.clamp(FIRST, MOST))?;
        }
        // As much as there is room for: at the end, most documents need no more.
        let chunk = (self.taken - length).min(CHUNK);
        self.bytes.resize(length + chunk, 0);
        let read = loop {
            match source.read(&mut self.bytes[length..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(length + *read.as_ref().unwrap_or(&0));
        let read = read.map_err(|error| error.to_string())?;
        self.check()?;
        Ok(read)
    }

    /// Adds a piece of it.
    ///
    /// # Errors
    /// The document is too large, or arrives in too many pieces.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let length = self.bytes.len();
        if length + bytes.len() > self.taken {
            self.grow(length.clamp(FIRST, MOST).max(bytes.len()))?;
        }
        self.bytes.extend_from_slice(bytes);
        self.pieces += 1;
        if self.pieces > limits::PIECES + self.bytes.len() / limits::PIECE {
            return Err(format!(
                "the document comes in pieces of less than {} bytes",
                limits::PIECE
            ));
        }
        self.check()
    }

    /// Takes memory for the length that the source announces, in bytes, up to a limit, since the
    /// announcement may be wrong.
    ///
    /// # Errors
    /// The memory cannot be had.
    pub fn expect(&mut self, length: u64) -> Result<(), String> {
        self.grow(length.min(BELIEVED + FIRST as u64) as usize)
    }

    fn check(&self) -> Result<(), String> {
        if self.bytes.len() > self.memory.largest {
            return Err(format!("the document has more than {} bytes", self.memory.largest));
        }
        Ok(())
    }

    fn grow(&mut self, more: usize) -> Result<(), String> {
        self.memory.take(self.taken, more)?;
        let reserved = self.bytes.try_reserve_exact(self.taken + more - self.bytes.len());
        if reserved.is_err() {
            self.memory.used.fetch_sub(more, Ordering::Relaxed);
            return Err(headroom::NO_MEMORY.to_owned());
        }
        self.taken += more;
        Ok(())
    }

    /// Reads all that there is. `length` is what the source says of that, in bytes, for one block
    /// of memory instead of several that double; it may be wrong.
    ///
    /// # Errors
    /// As [`Document::read_from`].
    pub fn read_all(mut self, source: &mut dyn Read, length: Option<u64>) -> Result<Document, String> {
        if let Some(length) = length {
            // And for the read that finds the end.
            self.expect(length.min(BELIEVED) + FIRST as u64)?;
        }
        while self.read_from(source)? > 0 {}
        Ok(self)
    }
}

impl Drop for Document {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(self.taken, Ordering::Relaxed);
        let mut bytes = std::mem::take(&mut self.bytes);
        if bytes.capacity() <= KEPT_BYTES {
            bytes.clear();
            let mut spare = self.memory.spare.lock();
            if spare.len() < KEPT {
                spare.push(bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_limited() {
        let memory = Memory::limited(1 << 20, 300_000);
        let read = |bytes: usize| Document::new(&memory).read_all(&mut std::io::repeat(b'x').take(bytes as u64), None);
        assert_eq!(read(300_000).expect("not too large").bytes().len(), 300_000);
        assert_eq!(
            read(300_001).expect_err("too large"),
            "the document has more than 300000 bytes"
        );
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_length_is_believed_up_to_a_limit() {
        let memory = Memory::limited(4 << 20, 2 << 20);
        let read = |said: u64, bytes: u64| {
            let document = Document::new(&memory).read_all(&mut std::io::repeat(b'x').take(bytes), Some(said));
            let document = document.expect("there is memory");
            assert_eq!(document.bytes().len() as u64, bytes, "{said} were said");
            document.taken
        };
        assert_eq!(read(100_000, 100_000), 100_000 + FIRST);
        assert_eq!(read(u64::MAX, 10), BELIEVED as usize + FIRST);
        assert!(read(10, 100_000) < 300_000);
        read(0, 1_500_000);
        let mut document = Document::new(&memory);
        document.expect(u64::MAX).expect("there is memory");
        assert_eq!(document.taken, BELIEVED as usize + FIRST);
    }

    /// Some buffers are kept for the next documents, and no large ones.
    #[test]
    fn buffers_are_kept() {
        let memory = Memory::new();
        let spare = || memory.spare.lock().iter().map(Vec::capacity).collect::<Vec<_>>();
        let of = |bytes: usize| {
            let mut document = Document::new(&memory);
            document.push(&vec![b'x'; bytes]).expect("not too large");
            document
        };
        drop(of(KEPT_BYTES + 1));
        assert_eq!(spare(), [0; 0]);
        drop([of(100), of(1000), of(KEPT_BYTES)]);
        assert_eq!(spare(), [FIRST, FIRST]);
        assert_eq!(of(1).bytes(), b"x");
    }

    /// No document has more memory than was taken for it, and one that is interrupted goes on.
    #[test]
    fn memory_is_taken_first() {
        struct Interrupted(bool);
        impl Read for Interrupted {
            fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
                self.0 = !self.0;
                if self.0 {
                    return Err(std::io::ErrorKind::Interrupted.into());
                }
                bytes.fill(b'x');
                Ok(bytes.len())
            }
        }
        let check = |document: &Document| {
            let (capacity, taken) = (document.bytes.capacity(), document.taken);
            assert!(capacity <= taken, "{capacity} bytes, of which {taken} were taken");
            assert!(taken <= 2 * document.bytes.len() + 2 * FIRST, "{taken}");
            assert_eq!(document.memory.used.load(Ordering::Relaxed), taken);
        };
        let memory = Memory::limited(4 << 20, 2 << 20);
        let (mut source, mut document) = (Interrupted(false), Document::new(&memory));
        while document.bytes.len() < 1 << 20 {
            assert!(document.read_from(&mut source).expect("not too large") > 0);
            check(&document);
        }
        let memory = Memory::limited(4 << 20, 2 << 20);
        let mut document = Document::new(&memory);
        for length in [0, 1, FIRST - 1, 1, 3 * FIRST, 7, 100_000] {
            document.push(&vec![b'y'; length]).expect("not too large");
            assert!(length > 0 || document.taken == 0);
            check(&document);
        }
        assert_eq!(document.bytes.len(), 4 * FIRST + 100_008);
    }

    /// A document may come byte by byte, but not a large one.
    #[test]
    fn pieces_are_limited() {
        for (piece, most) in [(1, limits::PIECES * 16 / 15), (16, 400_000)] {
            let mut document = Document::new(&Memory::new());
            let piece = [b'#'; 16].get(..piece).expect("16 bytes").to_vec();
            let pushed = (0..400_000).find_map(|_| document.push(&piece).err());
            let count = document.bytes().len() / piece.len();
            assert!(count.abs_diff(most) <= 1, "{count} pieces of {}", piece.len());
            let expected = (piece.len() == 1).then_some("the document comes in pieces of less than 16 bytes");
            assert_eq!(pushed.as_deref(), expected);
        }
    }

    /// A system without memory costs the document, and what was taken for it goes back.
    #[test]
    fn memory_that_is_not_there() {
        let memory = Memory::limited(usize::MAX, usize::MAX);
        let mut document = Document::new(&memory);
        document.push(b"x 1\n").expect("not too large");
        let used = memory.used.load(Ordering::Relaxed);
        let error = document
            .grow(isize::MAX as usize / 2)
            .expect_err("half of the address space");
        assert_eq!(error, headroom::NO_MEMORY);
        assert_eq!(
            (document.bytes(), memory.used.load(Ordering::Relaxed)),
            (&b"x 1\n"[..], used)
        );
    }

    /// Of a document that ends early the lines count that are whole.
    #[test]
    fn a_document_that_ends_early() {
        for (text, whole) in [("x 1\ny 23", "x 1\n"), ("x 1\n", "x 1\n"), ("x 1", ""), ("", "")] {
            let mut document = Document::new(&Memory::new());
            document.push(text.as_bytes()).expect("not too large");
            document.end_early(100);
            let fault = format!("the server has sent only {} of 100 bytes", text.len());
            assert_eq!((document.bytes(), document.fault()), (whole.as_bytes(), Some(&*fault)));
        }
    }

    /// However much the documents of some sources have, there is room for smaller ones.
    #[test]
    fn large_documents_leave_room_for_small_ones() {
        let memory = Memory::limited(64 << 20, 64 << 20);
        let (mut large, mut sizes) = (Vec::new(), Vec::new());
        for _ in 0..10 {
            let mut document = Document::new(&memory);
            while document.push(&[b'x'; 1 << 16]).is_ok() {}
            sizes.push(document.bytes().len() >> 20);
            large.push(document);
        }
        assert!(sizes[0] >= 28 && sizes[1] >= 12, "{sizes:?}");
        assert!(sizes[2..].iter().all(|size| *size <= 1), "{sizes:?}");
        let mut small = Document::new(&memory);
        let error = loop {
            if let Err(error) = small.push(&[b'x'; 1 << 10]) {
                break error;
            }
        };
        assert!(
            small.bytes().len() >= limits::LARGE - (1 << 10),
            "{}",
            small.bytes().len()
        );
        assert!(
            error.starts_with("no room for the document: all documents have "),
            "{error}"
        );
        assert_eq!(large.len(), 10);
    }

    #[test]
    fn all_documents_are_limited() {
        let memory = Memory::limited(1 << 20, 1 << 20);
        let read = || Document::new(&memory).read_all(&mut std::io::repeat(b'x').take(200_000), None);
        let mut held = Vec::new();
        let error = loop {
            match read() {
                Ok(document) => held.push(document),
                Err(error) => break error,
            }
        };
        assert!((2..6).contains(&held.len()), "{}", held.len());
        assert!(error.contains(" of 1048576 bytes, "), "{error}");
        held.pop();
        read().expect("there is memory again");
        drop(held);
        assert_eq!(memory.used.load(Ordering::Relaxed), 0);
    }
}
