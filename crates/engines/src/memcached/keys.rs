//! The keys of reads that have no answer yet, for a protocol whose answers name them.

/// The keys of requests, in order: each behind its length and a mark.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    /// The beginning of the first key.
    start: usize,
}

/// A key among those of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Its number.
    pub(super) place: u32,
    /// Its beginning behind that of the first.
    offset: u32,
}

/// The bytes before a key: its length, and 1 once it is answered.
const BEFORE_KEY: usize = 2;

impl Keys {
    pub(super) fn push(&mut self, key: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > 4096 && self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        // A key has at most 250 bytes.
        self.bytes.extend_from_slice(&[u8::try_from(key.len()).unwrap_or(u8::MAX), 0]);
        self.bytes.extend_from_slice(key);
    }

    /// The first key.
    #[inline]
    pub(super) fn first(&self) -> &[u8] {
        self.key(0)
    }

    #[inline]
    fn key(&self, offset: usize) -> &[u8] {
        let Some((before, keys)) =
            self.bytes.get(self.start + offset..).and_then(<[u8]>::split_first_chunk::<BEFORE_KEY>)
        else {
            return b"";
        };
        keys.get(..usize::from(before[0])).unwrap_or_default()
    }

    /// Removes the first keys.
    #[inline]
    pub(super) fn remove(&mut self, n_keys: u32) {
        for _ in 0..n_keys {
            self.start = self.bytes.len().min(self.start + BEFORE_KEY + self.first().len());
        }
    }

    /// Finds a key without an answer among the first `n_keys`: from the cursor on, and then before it.
    pub(super) fn find(&self, key: &[u8], n_keys: u32, cursor: Cursor) -> Option<Cursor> {
        let mut here = cursor;
        while here.place < n_keys {
            let found = self.key(here.offset as usize);
            if found == key && !self.is_marked(here) {
                return Some(here);
            }
            here = here.behind(found);
        }
        let mut here = Cursor::default();
        while here.place < cursor.place {
            let found = self.key(here.offset as usize);
            if found == key && !self.is_marked(here) {
                return Some(here);
            }
            here = here.behind(found);
        }
        None
    }

    fn is_marked(&self, at: Cursor) -> bool {
        self.bytes.get(self.start + at.offset as usize + 1).is_some_and(|mark| *mark != 0)
    }

    /// Notes that a key has its answer. The cursor for the next answer.
    pub(super) fn mark(&mut self, found: Cursor, cursor: Cursor) -> Cursor {
        if let Some(mark) = self.bytes.get_mut(self.start + found.offset as usize + 1) {
            *mark = 1;
        }
        if found.place < cursor.place {
            cursor
        } else {
            found.behind(self.key(found.offset as usize))
        }
    }
}

impl Cursor {
    fn behind(self, key: &[u8]) -> Self {
        let len = u32::try_from(BEFORE_KEY + key.len()).unwrap_or(u32::MAX);
        Self { place: self.place + 1, offset: self.offset + len }
    }
}
