//! The writes that wait, without the waiting: the newest of each key, and the order of the keys.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::Instant;

/// The most keys that are written at once, and the most bytes of their values.
const BATCH: (usize, usize) = (256, 1 << 20);
/// Bytes that a waiting write takes beside its key and its value, about.
pub(super) const OVERHEAD: usize = 128;

/// A write that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Write {
    /// This value, until a moment or for ever.
    Set { value: Box<[u8]>, flags: u32, end: Option<Instant> },
    /// The removal of a key whose last write may have failed or not.
    Remove,
}

/// A waiting write of one key.
#[derive(Debug, Clone)]
pub(crate) struct QueuedWrite {
    pub(crate) key: Box<[u8]>,
    pub(crate) write: Write,
    /// Distinguishes it from other writes of its key.
    pub(super) number: u64,
}

/// The place of a key's write.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) write: Write,
    pub(super) number: u64,
    /// A caller carries out another write of the key, and decides what becomes of this one.
    pub(super) is_held: bool,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) writes: HashMap<Box<[u8]>, Entry>,
    /// The order of the keys. A key may be here twice, or although its write has left.
    order: VecDeque<Box<[u8]>>,
    pub(super) bytes: usize,
    numbers: u64,
    /// The keys that are being written now.
    pub(super) flying: Vec<Box<[u8]>>,
    /// Callers that wait until nothing is being written. Meanwhile nothing more is.
    pub(super) pauses: u32,
    pub(super) ends: bool,
    /// Writes that were given up.
    pub(super) lost: u64,
}

impl State {
    /// Puts a write in the place of an older one of its key.
    pub(super) fn put(&mut self, key: &[u8], write: Write) {
        self.numbers += 1;
        self.bytes += size(key, &write);
        let entry = Entry { write, number: self.numbers, is_held: false };
        let older = self.writes.insert(key.into(), entry);
        if let Some(older) = &older {
            self.bytes -= size(key, &older.write);
        }
        // A write that was held may have lost its place in the order.
        if older.is_none_or(|older| older.is_held) {
            self.queue(key);
        }
    }

    /// Puts a key at the end of the order.
    pub(super) fn queue(&mut self, key: &[u8]) {
        if self.order.len() > 2 * self.writes.len() + BATCH.0 {
            let mut seen = HashSet::new();
            let writes = &self.writes;
            self.order.retain(|key| writes.contains_key(key) && seen.insert(key.clone()));
        }
        self.order.push_back(key.into());
    }

    /// Puts a key at the beginning of the order.
    pub(super) fn hurry(&mut self, key: &[u8]) {
        self.order.push_front(key.into());
    }

    pub(super) fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.writes.remove(key) {
            self.bytes -= size(key, &entry.write);
        }
    }

    /// Empties the queue, and returns the writes.
    pub(super) fn drain(&mut self) -> Vec<(Box<[u8]>, Write)> {
        self.bytes = 0;
        self.order.clear();
        self.writes.drain().map(|(key, entry)| (key, entry.write)).collect()
    }

    /// The next writes, which are being written from now on.
    pub(super) fn take(&mut self) -> Vec<QueuedWrite> {
        let (mut batch, mut bytes) = (Vec::<QueuedWrite>::new(), 0);
        while self.pauses == 0 && batch.len() < BATCH.0 && bytes < BATCH.1 {
            let Some(key) = self.order.pop_front() else { break };
            let is_taken = batch.iter().any(|queued| queued.key == key);
            let entry = self.writes.get(&key).filter(|entry| !is_taken && !entry.is_held);
            if let Some(Entry { write, number, .. }) = entry {
                bytes += size(&key, write);
                batch.push(QueuedWrite { write: write.clone(), number: *number, key });
            }
        }
        self.flying = batch.iter().map(|queued| queued.key.clone()).collect();
        batch
    }

    pub(super) fn is_flying(&self, key: &[u8]) -> bool {
        self.flying.iter().any(|flying| **flying == *key)
    }
}

pub(super) fn size(key: &[u8], write: &Write) -> usize {
    let value = match write {
        Write::Set { value, .. } => value.len(),
        Write::Remove => 0,
    };
    2 * key.len() + value + OVERHEAD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_stays_as_short_as_the_queue() {
        let mut state = State::default();
        for _ in 0..100 {
            for key in 0..1000_u32 {
                state.put(&key.to_le_bytes(), Write::Remove);
                state.remove(&key.to_le_bytes());
                state.put(b"stays", Write::Remove);
                state.queue(b"stays");
            }
        }
        assert!(state.order.len() < 1000 && state.writes.len() == 1, "{}", state.order.len());
        assert_eq!(state.take().len(), 1);
    }
}
