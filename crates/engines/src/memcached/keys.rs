//! The keys of reads that have no answer yet, for a protocol whose answers name them.

/// The keys of requests, in order: each behind its length, and a mark that is 1 while an answer has passed it over.
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

/// The bytes before a key: its length and the mark.
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

    /// The key at a cursor.
    #[inline]
    pub(super) fn at(&self, cursor: Cursor) -> &[u8] {
        self.key(cursor.offset as usize)
    }

    /// Finds a key without an answer among the first `n_keys`, and moves the cursor behind it. Keys that are passed over may
    /// be found later.
    #[cold]
    pub(super) fn find(&mut self, key: &[u8], n_keys: u32, cursor: &mut Cursor) -> Option<u32> {
        let mut here = *cursor;
        while here.place < n_keys && self.at(here) != key {
            here.advance(self.at(here));
        }
        if here.place == n_keys {
            return self.find_passed(key, *cursor);
        }
        while cursor.place < here.place {
            self.set_passed(*cursor, true);
            cursor.advance(self.at(*cursor));
        }
        cursor.advance(key);
        Some(here.place)
    }

    /// Finds a key before the cursor that was passed over.
    fn find_passed(&mut self, key: &[u8], cursor: Cursor) -> Option<u32> {
        let mut here = Cursor::default();
        while here.place < cursor.place {
            if self.is_passed(here) && self.at(here) == key {
                self.set_passed(here, false);
                return Some(here.place);
            }
            here.advance(self.at(here));
        }
        None
    }

    fn is_passed(&self, at: Cursor) -> bool {
        self.bytes.get(self.start + at.offset as usize + 1).is_some_and(|mark| *mark != 0)
    }

    fn set_passed(&mut self, at: Cursor, is_passed: bool) {
        if let Some(mark) = self.bytes.get_mut(self.start + at.offset as usize + 1) {
            *mark = u8::from(is_passed);
        }
    }
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
        let places = answered.iter().map(find).collect();
        keys.remove(n_keys);
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
                keys.remove(1);
                first += 1;
            }
        }
        let n_left = 5000 - first;
        assert!(n_left > 100 && keys.bytes.len() < 2 * 250 * n_left + 10_000);
        for n in first..5000 {
            assert_eq!(keys.first(), name(n).as_bytes());
            keys.remove(1);
        }
        assert_eq!(keys.first(), b"");
    }
}
