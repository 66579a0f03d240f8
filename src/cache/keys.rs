//! The keys of instances: few caches have any, so entries hold only a number (CACHE-56).

#![forbid(unsafe_code)]

/// Key bytes by number; 0 is "no key".
#[derive(Debug)]
pub(super) struct Keys {
    bytes: Vec<Box<[u8]>>,
    free: Vec<u32>,
}

impl Keys {
    pub(super) const fn new() -> Keys {
        Keys {
            bytes: Vec::new(),
            free: Vec::new(),
        }
    }

    /// The key with a number; empty for none.
    pub(super) fn get(&self, number: u32) -> &[u8] {
        match number.checked_sub(1) {
            Some(at) => &self.bytes[at as usize],
            None => &[],
        }
    }

    /// Keeps a copy of `key`; an empty one is no key.
    pub(super) fn insert(&mut self, key: &[u8]) -> u32 {
        if key.is_empty() {
            return 0;
        }
        if let Some(number) = self.free.pop() {
            self.bytes[number as usize - 1] = key.into();
            return number;
        }
        self.bytes.push(key.into());
        u32::try_from(self.bytes.len()).expect("no more keys than instances")
    }

    /// Frees a key.
    pub(super) fn remove(&mut self, number: u32) {
        if number != 0 {
            self.bytes[number as usize - 1] = Box::default();
            self.free.push(number);
        }
    }
}
