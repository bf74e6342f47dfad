//! Keys of 20 bytes, drawn in blocks that stay in the processor's nearest cache, and the values under them.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

/// The length of every key.
pub(crate) const KEY_LEN: usize = 20;

/// A key.
pub(crate) type Key = [u8; KEY_LEN];

/// Keys of a block: with their numbers, 14 KiB.
const BLOCK: usize = 512;

/// The key of a number: no two numbers have the same key.
pub(crate) fn key(number: usize) -> Key {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // An odd factor, so that every number of 56 bits has another product, in no order.
    let mut rest = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut key = *b"bench:00000000000000";
    for digit in &mut key[6..] {
        *digit = DIGITS[(rest & 15) as usize];
        rest >>= 4;
    }
    key
}

/// Makes `value` the value under the key of this number.
pub(crate) fn write_value(number: usize, value: &mut [u8]) {
    value.fill(b'v');
    let number = number.to_le_bytes();
    let n = number.len().min(value.len());
    value[..n].copy_from_slice(&number[..n]);
}

/// Keys that come next, and their numbers.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) keys: Vec<Key>,
    pub(crate) numbers: Vec<usize>,
}

impl Block {
    pub(crate) fn new() -> Self {
        Self { keys: vec![[0; KEY_LEN]; BLOCK], numbers: vec![0; BLOCK] }
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.len()
    }
}

/// Numbers in no order.
#[derive(Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 to `n`, without `n`.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "less than n")]
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }
}

/// The keys that are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Keys {
    /// This number of keys, each as often as any other.
    Random(usize),
    /// Each key once, from this number on.
    Fresh(usize),
}

/// The keys of one turn.
#[derive(Debug)]
pub(crate) enum Draw {
    Random(Random, usize),
    Fresh(usize),
}

impl Keys {
    /// The keys of this many blocks in the turn of this number, of a round. Fresh keys are the same for all contenders of
    /// a round. Random keys are drawn for each contender. Otherwise, of two contenders on one region, the second would
    /// find the keys of the first near at hand.
    pub(crate) fn draw(self, round: usize, turn: usize, blocks: usize) -> Draw {
        match self {
            Self::Random(n) => Draw::Random(Random::of_seed(turn as u64), n),
            Self::Fresh(first) => Draw::Fresh(first + round * blocks * BLOCK),
        }
    }
}

impl Draw {
    pub(crate) fn fill(&mut self, block: &mut Block) {
        for (at, number) in block.numbers.iter_mut().enumerate() {
            *number = match self {
                Self::Random(random, n) => random.below(*n),
                Self::Fresh(next) => {
                    *next += 1;
                    *next - 1
                }
            };
            block.keys[at] = key(*number);
        }
    }
}
