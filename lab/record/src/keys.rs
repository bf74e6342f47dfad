//! The numbers that stand for keys in a recording.
//!
//! A hash without a secret would confirm a guessed key: keys are words and numbers. `SipHash` with a random
//! salt does not, and it is fast for the short texts that keys are (Aumasson and Bernstein, "`SipHash`: a fast short-input
//! PRF", 2012).

use std::hash::Hasher as _;

use siphasher::sip::SipHasher13;

/// The length of a salt in bytes.
pub const SALT_LEN: usize = 16;

/// A constant that no key is hashed with, so that a sample is independent of every other use of the hashes.
const OF_SAMPLES: &[u8] = b"larder: the sample of keys";

/// A constant whose hash names a salt without revealing it.
const OF_SALTS: &[u8] = b"larder: the name of a salt";

/// The rules by which keys are recorded.
#[derive(Debug, Clone)]
pub struct Keys {
    hasher: SipHasher13,
    /// Keys whose numbers are below this one are recorded; `None` records all.
    below: Option<u64>,
    /// Mixed with the number of a key before it is compared.
    sample_salt: u64,
    /// Whether keys are recorded in clear too.
    are_clear: bool,
}

impl Keys {
    /// Keys that are hashed with this salt, all of them recorded.
    pub fn new(salt: &[u8; SALT_LEN]) -> Self {
        let hasher = SipHasher13::new_with_key(salt);
        Self { hasher, below: None, sample_salt: hasher.hash(OF_SAMPLES), are_clear: false }
    }

    /// The same, with the keys in clear.
    #[must_use]
    pub fn in_clear(self, are_clear: bool) -> Self {
        Self { are_clear, ..self }
    }

    /// The same, of this share of all keys: 0.01 is one in a hundred. A key is recorded always or never.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a share of all numbers needs no more digits"
    )]
    pub fn sampled(self, share: f64) -> Self {
        let below = (share < 1.0).then_some((share.max(0.0) * u64::MAX as f64) as u64);
        Self { below, ..self }
    }

    /// A number that is the same for recordings with the same salt, and reveals nothing else of it.
    pub fn salt_name(&self) -> u64 {
        self.hasher.hash(OF_SALTS)
    }

    /// The number of a key.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash(key)
    }

    /// The number of a key that arrives in pieces.
    pub(crate) fn begin(&self) -> KeyHasher {
        KeyHasher(self.hasher)
    }

    /// Whether the key with this number is recorded.
    #[inline]
    pub fn takes(&self, hash: u64) -> bool {
        self.below.is_none_or(|below| mixed(hash ^ self.sample_salt) < below)
    }

    /// Whether keys are recorded in clear too.
    #[inline]
    pub(crate) fn are_clear(&self) -> bool {
        self.are_clear
    }
}

/// A number whose bits all depend on all bits of another (Stafford's variant 13, as in `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// The hash of a key of which only a part has arrived.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHasher(SipHasher13);

impl KeyHasher {
    pub(crate) fn write(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: [u8; SALT_LEN] = *b"0123456789abcdef";

    #[test]
    fn a_key_in_pieces_has_the_number_of_the_whole_key() {
        let keys = Keys::new(&SALT);
        let key: Vec<u8> = (0..100).collect();
        for first in 0..key.len() {
            for second in first..key.len() {
                let mut hasher = keys.begin();
                for piece in [&key[..first], &key[first..second], &key[second..]] {
                    hasher.write(piece);
                }
                assert_eq!(hasher.finish(), keys.hash(&key), "{first} {second}");
            }
        }
    }

    #[test]
    fn another_salt_gives_other_numbers_and_another_name() {
        let [one, other] = [Keys::new(&SALT), Keys::new(&[7; SALT_LEN])];
        assert_ne!(one.hash(b"user:42"), other.hash(b"user:42"));
        assert_ne!(one.salt_name(), other.salt_name());
        assert_eq!(one.salt_name(), Keys::new(&SALT).sampled(0.5).salt_name());
    }

    #[test]
    fn a_sample_has_its_share_of_the_keys_and_each_key_always_or_never() {
        let keys = Keys::new(&SALT).sampled(0.01);
        let taken: Vec<bool> = (0..100_000_u32)
            .map(|number| keys.takes(keys.hash(format!("key{number}").as_bytes())))
            .collect();
        let n_taken = taken.iter().filter(|taken| **taken).count();
        assert!((900..1100).contains(&n_taken), "{n_taken} of 100000");
        let all = Keys::new(&SALT).sampled(1.0);
        assert!((0..1000).all(|number| all.takes(number)));
        assert!((1..1000).all(|number| !Keys::new(&SALT).sampled(0.0).takes(number)));
    }

    #[test]
    fn a_sample_is_independent_of_the_size_of_the_numbers() {
        // A reader may sample again by the numbers themselves.
        let keys = Keys::new(&SALT).sampled(0.1);
        let all = (0..100_000_u32).map(|number| keys.hash(&number.to_le_bytes()));
        let taken: Vec<u64> = all.filter(|hash| keys.takes(*hash)).collect();
        let small = taken.iter().filter(|hash| **hash < u64::MAX / 10).count();
        assert!((800..1200).contains(&small), "{small} of {}", taken.len());
    }
}
