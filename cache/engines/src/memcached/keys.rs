//! The keys of reads that have no answer yet, for a protocol whose answers name them.

/// The keys of requests, in order, each behind its length.
#[derive(Debug, Default)]
pub(super) struct Keys {
    bytes: Vec<u8>,
    /// The beginning of the first key.
    start: usize,
    /// The keys of the first request that its answer has passed over.
    passed: Vec<Cursor>,
}

/// A key among those of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    /// Its number.
    pub(super) place: u32,
    /// Its beginning behind that of the first.
    offset: u32,
}

/// The bytes before a key: its length. In a line of a request a blank is in its place.
const BEFORE_KEY: usize = 1;

impl Keys {
    /// Adds a key.
    #[inline]
    pub(super) fn push(&mut self, key: &[u8]) {
        self.forget_removed();
        self.bytes.push(short(key.len()));
        self.bytes.extend_from_slice(key);
    }

    /// Adds the keys that a line has, each behind a blank.
    #[inline]
    pub(super) fn push_line(&mut self, line: &[u8], key_lens: impl Iterator<Item = usize>) {
        self.forget_removed();
        let mut at = self.bytes.len();
        self.bytes.extend_from_slice(line);
        for key_len in key_lens {
            self.bytes[at] = short(key_len);
            at += BEFORE_KEY + key_len;
        }
    }

    #[inline]
    fn forget_removed(&mut self) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        } else if self.start > 4096 && self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
    }

    /// The first key.
    #[inline]
    pub(super) fn first(&self) -> &[u8] {
        self.key(0)
    }

    /// The key at a cursor.
    #[inline]
    pub(super) fn at(&self, cursor: Cursor) -> &[u8] {
        self.key(cursor.offset as usize)
    }

    #[inline]
    fn key(&self, offset: usize) -> &[u8] {
        match self.bytes.get(self.start + offset..) {
            Some([len, keys @ ..]) => keys.get(..usize::from(*len)).unwrap_or_default(),
            _ => b"",
        }
    }

    /// Removes the first key.
    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.start = self.bytes.len().min(self.start + BEFORE_KEY + self.first().len());
    }

    /// Removes the `n_keys` of the first request, of which a cursor has got so far.
    pub(super) fn remove_all(&mut self, n_keys: u32, cursor: Cursor) {
        self.start = self.bytes.len().min(self.start + cursor.offset as usize);
        (cursor.place..n_keys).for_each(|_| self.remove_first());
        self.passed.clear();
    }

    /// Finds the key of an answer among the `n_keys` of the first request, and moves the cursor behind it. Keys that are
    /// passed over may be found later.
    #[cold]
    pub(super) fn find(&mut self, key: &[u8], n_keys: u32, cursor: &mut Cursor) -> Option<u32> {
        let mut here = *cursor;
        while here.place < n_keys && self.at(here) != key {
            here.advance(self.at(here));
        }
        if here.place == n_keys {
            let passed = self.passed.iter().position(|passed| self.at(*passed) == key)?;
            return Some(self.passed.remove(passed).place);
        }
        while cursor.place < here.place {
            self.passed.push(*cursor);
            cursor.advance(self.at(*cursor));
        }
        cursor.advance(key);
        Some(here.place)
    }
}

/// The length of a key, which has at most 250 bytes.
#[inline]
fn short(len: usize) -> u8 {
    u8::try_from(len).unwrap_or(u8::MAX)
}

impl Cursor {
    /// Moves behind a key.
    #[inline]
    pub(super) fn advance(&mut self, key: &[u8]) {
        self.place += 1;
        self.offset += u32::try_from(BEFORE_KEY + key.len()).unwrap_or(u32::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The places at which answers with these keys are found.
    fn places(asked: &[&str], answered: &[&str]) -> Vec<Option<u32>> {
        let mut keys = Keys::default();
        for key in asked.iter().chain(&["behind"]) {
            keys.push(key.as_bytes());
        }
        let mut cursor = Cursor::default();
        let n_keys = u32::try_from(asked.len()).unwrap();
        let find = |key: &&str| keys.find(key.as_bytes(), n_keys, &mut cursor);
        let places: Vec<Option<u32>> = answered.iter().map(find).collect();
        keys.remove_all(n_keys, cursor);
        assert_eq!(keys.first(), b"behind");
        places
    }

    #[test]
    fn every_answer_has_a_place_of_its_own_in_any_order() {
        let asked = ["a", "b", "c", "a", "d"];
        for (answered, expected) in [
            (&["a", "b", "c", "a", "d"][..], &[0, 1, 2, 3, 4][..]),
            (&["b", "d"], &[1, 4]),
            (&["d", "a", "c", "a", "b"], &[4, 0, 2, 3, 1]),
            (&["c", "a", "a"], &[2, 3, 0]),
        ] {
            let expected: Vec<Option<u32>> = expected.iter().copied().map(Some).collect();
            assert_eq!(places(&asked, answered), expected, "{answered:?}");
        }
        assert_eq!(places(&asked, &["x"]), [None]);
        assert_eq!(places(&asked, &["behind"]), [None]);
        assert_eq!(
            places(&asked, &["d", "b", "b", "a", "a", "a"])[2..],
            [None, Some(0), Some(3), None]
        );
    }

    #[test]
    fn keys_are_kept_in_order_however_many_come_and_go() {
        let mut keys = Keys::default();
        let name = |n: usize| format!("key-{n}-{}", "x".repeat(n % 240));
        let mut first = 0;
        for n in 0..5000 {
            keys.push(name(n).as_bytes());
            if n % 3 != 0 || n > 3000 {
                assert_eq!(keys.first(), name(first).as_bytes());
                keys.remove_first();
                first += 1;
            }
        }
        let n_left = 5000 - first;
        assert!(n_left > 100 && keys.bytes.len() < 2 * 250 * n_left + 10_000);
        for n in first..5000 {
            assert_eq!(keys.first(), name(n).as_bytes());
            keys.remove_first();
        }
        assert_eq!(keys.first(), b"");
    }
}
