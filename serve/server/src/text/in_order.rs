//! Answers in the order of their keys, whatever the order in which the store finds them.
//!
//! A client may find a value by its place: Perl's `Cache::Memcached::Fast` drops a value that comes behind that of a later
//! key. Databases find keys in an order of their own.

use std::ops::Range;

use crate::limits::{LONG, TOGETHER};

/// The answers to keys that are looked up together.
pub(super) struct InOrder {
    /// The place of the first answer.
    begin: usize,
    /// The place of each answer; empty for a key that is not found.
    places: [Range<usize>; TOGETHER],
    /// Answers a key that is not found.
    miss: fn(&mut Vec<u8>),
    /// The key behind the last one that was found.
    next: usize,
    is_ordered: bool,
    /// The answers are together not too long. The first that does not fit is left out, and so are all after it.
    fit: bool,
    hits: u64,
}

impl InOrder {
    /// Answers that follow these bytes.
    pub(super) fn after(out: &[u8], miss: fn(&mut Vec<u8>)) -> Self {
        let places = [const { 0..0 }; TOGETHER];
        Self { begin: out.len(), places, miss, next: 0, is_ordered: true, fit: true, hits: 0 }
    }

    /// Adds the answer to a key, whose value has this length.
    #[inline]
    pub(super) fn add(
        &mut self,
        out: &mut Vec<u8>,
        key: usize,
        len: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        self.fit &= out.len() + len <= self.begin + TOGETHER * LONG;
        if !self.fit {
            return;
        }
        self.is_ordered &= key >= self.next;
        if self.is_ordered {
            (self.next..key).for_each(|_| (self.miss)(out));
        }
        self.next = key + 1;
        self.hits += 1;
        let begin = out.len();
        write(out);
        self.places[key] = begin..out.len();
    }

    /// Puts the answers to `n_keys` keys in order, and returns the number of hits; `None` if the answers are together too long.
    #[inline]
    pub(super) fn finish(&self, out: &mut Vec<u8>, n_keys: usize) -> Option<u64> {
        if self.fit && self.is_ordered {
            (self.next..n_keys).for_each(|_| (self.miss)(out));
        } else if self.fit {
            self.sort(out, n_keys);
        }
        self.fit.then_some(self.hits)
    }

    #[cold]
    fn sort(&self, out: &mut Vec<u8>, n_keys: usize) {
        let answers = out.split_off(self.begin);
        for place in &self.places[..n_keys] {
            if place.is_empty() {
                (self.miss)(out);
            } else {
                out.extend_from_slice(&answers[place.start - self.begin..place.end - self.begin]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answers to four keys, of which these are found in this order.
    fn answers(found: &[usize]) -> String {
        let mut out = b"before ".to_vec();
        let mut answers = InOrder::after(&out, |out| out.push(b'-'));
        for key in found {
            answers.add(&mut out, *key, 1, |out| out.extend_from_slice(key.to_string().as_bytes()));
        }
        assert_eq!(answers.finish(&mut out, 4), Some(found.len() as u64));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn answers_are_in_the_order_of_their_keys() {
        for (found, expected) in [
            (&[][..], "before ----"),
            (&[0, 1, 2, 3], "before 0123"),
            (&[1, 3], "before -1-3"),
            (&[3, 1], "before -1-3"),
            (&[0, 2, 1], "before 012-"),
            (&[3, 2, 1, 0], "before 0123"),
        ] {
            assert_eq!(answers(found), expected, "{found:?}");
        }
    }

    #[test]
    fn answers_that_are_too_long_are_none() {
        let mut out = Vec::new();
        let mut answers = InOrder::after(&out, |_| {});
        answers.add(&mut out, 0, TOGETHER * LONG + 1, |out| out.push(b'x'));
        assert_eq!((answers.finish(&mut out, 1), out.len()), (None, 0));
    }
}
