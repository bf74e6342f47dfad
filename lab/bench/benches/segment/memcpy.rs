//! The floors: bare copies, and nothing else.

use std::hint::black_box;

use rapidhash::v3::rapidhash_v3;

use crate::caches::{Cache, Sets};
use crate::keys::{Key, write_value};

/// Values behind each other, by their numbers: no key is looked at.
pub(crate) struct Records {
    bytes: Vec<u8>,
    len: usize,
    hashes: bool,
}

impl Records {
    /// `n` values of this length; with `hashes`, a get hashes the key before it copies.
    pub(crate) fn new(n: usize, len: usize, hashes: bool) -> Self {
        let mut bytes = vec![0; n * len];
        for (number, value) in bytes.chunks_exact_mut(len).enumerate() {
            write_value(number, value);
        }
        Self { bytes, len, hashes }
    }

    /// The bytes of a value.
    #[inline]
    pub(crate) fn of(&mut self, number: usize) -> &mut [u8] {
        &mut self.bytes[number * self.len..][..self.len]
    }
}

impl Cache for Records {
    #[inline]
    fn get(&mut self, key: &Key, number: usize, value: &mut Vec<u8>) -> bool {
        let mut place = number;
        if self.hashes {
            // The address waits for the hash, as in a cache.
            place += usize::from(rapidhash_v3(key) & black_box(0) != 0);
        }
        value.clear();
        value.extend_from_slice(self.of(place));
        true
    }
}

/// Copies key and value into memory of this size, one behind the other and then from the beginning.
pub(crate) struct Ring {
    bytes: Vec<u8>,
    at: usize,
}

impl Ring {
    pub(crate) fn new(size: usize) -> Self {
        // All bytes are written, so that the system has given all of the memory.
        Self { bytes: vec![1; size], at: 0 }
    }
}

impl Sets for Ring {
    #[inline]
    fn set(&mut self, key: &Key, value: &[u8]) {
        let len = key.len() + value.len();
        if self.at + len > self.bytes.len() {
            self.at = 0;
        }
        let (to_key, to_value) = self.bytes[self.at..][..len].split_at_mut(key.len());
        to_key.copy_from_slice(key);
        to_value.copy_from_slice(value);
        self.at += len;
    }
}
