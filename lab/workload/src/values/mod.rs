//! Values that describe themselves, cut from one pool instead of generated.
//!
//! A value is a header and then a slice of one pool of bytes. The start of the slice follows from the key and the
//! version. So ten gigabytes of values take no room, a `set` passes a slice without copying it, and a `get` is verified
//! by comparing bytes. Verification detects wrong, old and cut values, and values of other keys.

mod number;
mod wrong;

use std::ops::Range;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::sizes::SizeSpec;
use super::trace::Trace;
use super::trace::column::Marks;
pub(crate) use number::NUMBER_LEN;
pub use number::{Number, parse_number};
pub use wrong::ReadExpectation;

/// Key tag, version, length and checksum, little-endian: the first bytes of every value that has room for them.
pub const HEADER_LEN: usize = 24;

/// The range of slice starts. It is small enough to stay in the second-level cache, so that the pool costs every target
/// the same little. It is large enough that slices differ.
pub const SPAN: usize = 256 * 1024;

/// The distance between the base versions of turns, so that a value of an earlier turn is old.
const VERSIONS_PER_TURN: u32 = 1 << 20;
/// The number of bases below 2^32 with room behind the last; then they repeat.
const BASES: u32 = 4094;

/// The base version for the sets of a turn. Turns are numbered from 0.
pub fn base_version(turn: u32) -> u32 {
    (turn % BASES + 1) * VERSIONS_PER_TURN
}

/// A short value is the bare slice of some version. Values of this length hardly ever match two versions by chance.
const TELLING_LEN: usize = 8;
/// The number of versions before the oldest right version that are tried for a wrong short value.
const OLDER_VERSIONS: u32 = 16;

/// In place of the oldest right version where no value is right, because the key is absent. No value has this version.
pub const NOTHING: u32 = u32::MAX;

/// All values of a run, as a pool and a rule.
#[derive(Debug, Clone)]
pub struct Values {
    pool: Arc<[u8]>,
    sizes: Sizes,
    seed: u64,
    /// The keys whose values are numbers.
    counters: Arc<Marks>,
}

/// The size of each value, in bytes.
#[derive(Debug, Clone)]
pub enum Sizes {
    /// Drawn from a distribution for each key.
    Drawn(SizeSpec),
    /// As a trace recorded it.
    Recorded {
        /// Size of the value under the key with this index, or [`Sizes::UNKNOWN`].
        by_key: Arc<[u32]>,
        /// Distribution where the trace recorded no size.
        otherwise: SizeSpec,
        /// The largest size under the key with this index, where its values have several; otherwise 0, or nothing where
        /// no key has.
        largest: Arc<[u32]>,
    },
}

impl Sizes {
    /// In place of a size that was not recorded. No value is that large.
    pub const UNKNOWN: u32 = u32::MAX;

    /// The largest of the values under the first `keys` keys, in bytes.
    pub fn longest(&self, keys: u32, seed: u64) -> usize {
        match self {
            Self::Drawn(spec) => spec.largest(size_seed(seed), keys.into()) as usize,
            Self::Recorded { .. } => {
                let longest = |key| self.of(key, seed).max(self.of_several(key));
                (0..keys).map(longest).max().unwrap_or(0)
            }
        }
    }

    fn of(&self, index: u32, seed: u64) -> usize {
        let drawn = |spec: &SizeSpec| spec.size_of(size_seed(seed), index.into());
        let len = match self {
            Self::Drawn(spec) => drawn(spec),
            Self::Recorded { by_key, otherwise, .. } => match by_key.get(index as usize) {
                None | Some(&Self::UNKNOWN) => drawn(otherwise),
                Some(len) => *len,
            },
        };
        len as usize
    }

    /// The largest size of a key whose values have several; otherwise 0.
    fn of_several(&self, index: u32) -> usize {
        match self {
            Self::Drawn(_) => 0,
            Self::Recorded { largest, .. } => {
                largest.get(index as usize).map_or(0, |size| *size as usize)
            }
        }
    }
}

/// Sizes come from their own random stream, so that long keys do not have long values.
fn size_seed(seed: u64) -> u64 {
    mix(seed ^ 0x7661_6c75_6573)
}

/// The result of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correctness {
    /// The value is the stored value.
    Right,
    /// The value begins as a value of the key and ends too early.
    Truncated,
    /// The value is a whole but old value of the key: a newer set or a delete was acknowledged since.
    Stale,
    /// The value belongs to another key of the run, whole or cut short.
    OtherKey,
    /// The value is not of this run: it has bytes that were never stored, or more bytes than were stored.
    Damaged,
}

impl Correctness {
    /// The name of a wrong value in `run.json`; `None` for a right value.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Right => None,
            Self::Truncated => Some("truncated"),
            Self::Stale => Some("stale"),
            Self::OtherKey => Some("other_key"),
            Self::Damaged => Some("damaged"),
        }
    }
}

impl Values {
    /// Values over a pool of random bytes, of which the share `compressibility` (0 to 1) is zeros.
    pub fn random(sizes: Sizes, max_len: usize, compressibility: f64, seed: u64) -> Self {
        const CHUNK: usize = 128;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0x706f_6f6c);
        let mut pool = vec![0; SPAN + max_len];
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of 128"
        )]
        let random = ((1.0 - compressibility.clamp(0.0, 1.0)) * CHUNK as f64).round() as usize;
        for chunk in pool.chunks_mut(CHUNK) {
            let random = random.min(chunk.len());
            rng.fill_bytes(&mut chunk[..random]);
        }
        Self { pool: pool.into(), sizes, seed, counters: Arc::default() }
    }

    /// Values cut from a user's own bytes, repeated to fill the pool. `payload` must not be empty.
    pub fn payload(sizes: Sizes, max_len: usize, payload: &[u8], seed: u64) -> Self {
        let pool: Vec<u8> = payload.iter().copied().cycle().take(SPAN + max_len).collect();
        Self { pool: pool.into(), sizes, seed, counters: Arc::default() }
    }

    /// The same, with numbers under the keys that a trace counts.
    #[must_use]
    pub fn with_counters(mut self, trace: &Trace) -> Self {
        self.counters = Arc::new(trace.counters().clone());
        self
    }

    /// Whether sizes were recorded in a trace.
    pub fn are_recorded(&self) -> bool {
        matches!(self.sizes, Sizes::Recorded { .. })
    }

    /// The size of the value under a key, in bytes; the first, where a trace recorded several.
    pub fn len_of(&self, index: u32) -> usize {
        if self.is_counter(index) {
            return NUMBER_LEN as usize;
        }
        self.sizes.of(index, self.seed)
    }

    /// The size of the largest value under a key, in bytes.
    pub fn largest_of(&self, index: u32) -> usize {
        let several = if self.is_counter(index) { 0 } else { self.sizes.of_several(index) };
        self.len_of(index).max(several)
    }

    /// The longest possible value, in bytes.
    pub fn longest(&self) -> usize {
        let number = if self.counters.is_empty() { 0 } else { NUMBER_LEN as usize };
        number.max(self.pool.len() - SPAN)
    }

    /// The bytes from which every value is cut.
    pub fn pool(&self) -> &Arc<[u8]> {
        &self.pool
    }

    /// The seed of headers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The place in the pool where the value of a key and version begins, for a program that composes values itself.
    /// Also the header of such a value of this length, that is written over its beginning where it has room.
    pub fn recipe_of(&self, index: u32, version: u32, len: usize) -> (usize, [u8; HEADER_LEN]) {
        let tag = self.tag(index);
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        let checksum = checksum(tag, version, len, self.seed);
        let mut header = [0; HEADER_LEN];
        Header { tag, version, len, checksum }.write(&mut header);
        (offset(tag, version), header)
    }

    /// Compares a store's answer for a key with the stored value: any version from `oldest` on is right.
    ///
    /// The bytes are compared before the key, so that the work is the same for any answer. `newest` is the latest
    /// version drawn by any thread; only a value without room for a header needs it. A number has
    /// [`Values::verify_number`].
    pub fn verify(
        &self,
        index: u32,
        oldest: u32,
        newest: impl FnOnce() -> u32,
        value: &[u8],
    ) -> Correctness {
        let Some(header) = Header::read(value) else {
            return self.verify_short(index, oldest, newest(), value);
        };
        let len = header.len as usize;
        let at = offset(header.tag, header.version);
        let intact = header.checksum == checksum(header.tag, header.version, header.len, self.seed)
            && value.len() <= len
            && self.pool.get(at + HEADER_LEN..at + value.len()) == Some(&value[HEADER_LEN..]);
        let own = header.tag == self.tag(index) && header.version >= oldest;
        if intact && own && value.len() == len {
            return Correctness::Right;
        }
        self.verify_wrong(index, &header, intact, value)
    }

    /// Names the fault of a wrong value with a header.
    #[cold]
    fn verify_wrong(&self, index: u32, header: &Header, intact: bool, value: &[u8]) -> Correctness {
        match (intact, header.tag == self.tag(index)) {
            (false, _) => Correctness::Damaged,
            (true, false) => Correctness::OtherKey,
            (true, true) if value.len() < header.len as usize => Correctness::Truncated,
            (true, true) => Correctness::Stale,
        }
    }

    /// Whether this is the whole value of *some* key and version, as a replaying store returns.
    pub fn verify_any(&self, value: &[u8]) -> Correctness {
        let Some(header) = Header::read(value) else { return Correctness::Right };
        let at = offset(header.tag, header.version);
        let intact = header.checksum == checksum(header.tag, header.version, header.len, self.seed)
            && value.len() == header.len as usize
            && self.pool.get(at + HEADER_LEN..at + value.len()) == Some(&value[HEADER_LEN..]);
        if intact { Correctness::Right } else { Correctness::Damaged }
    }

    /// Verifies a value without a header, which is the bare slice of one of its versions, most likely the newest. Where
    /// values have room for a header, such a value is a cut header.
    fn verify_short(&self, index: u32, oldest: u32, newest: u32, value: &[u8]) -> Correctness {
        let tag = self.tag(index);
        let expected = self.len_of(index);
        let begins = |version: &u32| self.pool[offset(tag, *version)..].starts_with(value);
        if self.sizes.of_several(index) > 0 {
            // Of a value that may have several sizes, a cut one without a header cannot be told.
            let is_one =
                oldest != NOTHING && (oldest..=newest.max(oldest)).rev().any(|it| begins(&it));
            return match (is_one, self.begins_header(index, value)) {
                (true, _) => Correctness::Right,
                (false, true) => Correctness::Truncated,
                (false, false) => Correctness::Damaged,
            };
        }
        if expected >= HEADER_LEN {
            let is_cut = self.begins_header(index, value);
            return if is_cut { Correctness::Truncated } else { Correctness::Damaged };
        }
        let has_one = oldest != NOTHING;
        if value.len() <= expected
            && has_one
            && (oldest..=newest.max(oldest)).rev().any(|it| begins(&it))
        {
            return if value.len() < expected {
                Correctness::Truncated
            } else {
                Correctness::Right
            };
        }
        let end = if has_one { oldest } else { newest + 1 };
        let older = end.saturating_sub(OLDER_VERSIONS)..end;
        if value.len() == expected && expected >= TELLING_LEN && older.rev().any(|it| begins(&it)) {
            return Correctness::Stale;
        }
        Correctness::Damaged
    }

    /// Whether a value that is shorter than a header begins like a value of its key: with the tag, as far as it goes.
    pub fn begins_header(&self, index: u32, value: &[u8]) -> bool {
        let tag = self.tag(index).to_le_bytes();
        let part = &value[..value.len().min(tag.len())];
        value.len() < HEADER_LEN && tag.starts_with(part)
    }

    fn tag(&self, index: u32) -> u64 {
        mix(self.seed ^ (u64::from(index) << 1 | 1))
    }
}

/// Composes the values of one thread in a copy of the pool, into which headers are written and taken out again.
#[derive(Debug)]
pub struct Composer {
    values: Values,
    pool: Vec<u8>,
    /// The place of the header that is in `pool` now.
    written: Option<Range<usize>>,
    /// The last number.
    digits: [u8; NUMBER_LEN as usize],
}

impl Composer {
    /// A composer of the same values.
    pub fn new(values: &Values) -> Self {
        let (values, pool) = (values.clone(), values.pool.to_vec());
        Self { values, pool, written: None, digits: [b'0'; NUMBER_LEN as usize] }
    }

    /// The value of a key in a version; `len` is [`Values::len_of`] the key. The cost is that of a header, for any
    /// size.
    pub fn compose(&mut self, index: u32, version: u32, len: u32) -> &[u8] {
        if self.values.is_counter(index) {
            number::write(self.values.number(index, version), &mut self.digits);
            return &self.digits;
        }
        let tag = self.values.tag(index);
        if let Some(written) = self.written.take() {
            self.pool[written.clone()].copy_from_slice(&self.values.pool[written]);
        }
        let at = offset(tag, version);
        if len as usize >= HEADER_LEN {
            let checksum = checksum(tag, version, len, self.values.seed);
            let range = at..at + HEADER_LEN;
            Header { tag, version, len, checksum }.write(&mut self.pool[range.clone()]);
            self.written = Some(range);
        }
        &self.pool[at..at + len as usize]
    }

    /// The values, for verification.
    pub fn values(&self) -> &Values {
        &self.values
    }
}

struct Header {
    tag: u64,
    version: u32,
    len: u32,
    checksum: u64,
}

impl Header {
    fn read(value: &[u8]) -> Option<Self> {
        let (tag, rest) = value.split_first_chunk()?;
        let (version, rest) = rest.split_first_chunk()?;
        let (len, rest) = rest.split_first_chunk()?;
        Some(Self {
            tag: u64::from_le_bytes(*tag),
            version: u32::from_le_bytes(*version),
            len: u32::from_le_bytes(*len),
            checksum: u64::from_le_bytes(*rest.first_chunk()?),
        })
    }

    fn write(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.tag.to_le_bytes());
        out[8..12].copy_from_slice(&self.version.to_le_bytes());
        out[12..16].copy_from_slice(&self.len.to_le_bytes());
        out[16..24].copy_from_slice(&self.checksum.to_le_bytes());
    }
}

/// The place in the pool where the value of a key and version begins.
#[expect(clippy::cast_possible_truncation, reason = "below SPAN")]
fn offset(tag: u64, version: u32) -> usize {
    (mix(tag ^ u64::from(version)) % SPAN as u64) as usize
}

fn checksum(tag: u64, version: u32, len: u32, seed: u64) -> u64 {
    mix(tag ^ mix((u64::from(version) << 32 | u64::from(len)) ^ seed))
}

/// The finalizer of `SplitMix64` (Steele, Lea, Flood 2014): every bit of the result depends on every bit of `x`.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn made(values: &Values, index: u32, version: u32) -> Vec<u8> {
        let len = u32::try_from(values.len_of(index)).unwrap();
        Composer::new(values).compose(index, version, len).to_vec()
    }

    pub(super) fn verify(values: &Values, index: u32, oldest: u32, value: &[u8]) -> Correctness {
        values.verify(index, oldest, || oldest + 3, value)
    }

    pub(super) fn values(size: &str) -> Values {
        let sizes = Sizes::Drawn(size.parse().unwrap());
        let longest = sizes.longest(100_000, 7);
        Values::random(sizes, longest, 0.0, 7)
    }

    #[test]
    fn a_value_is_right_only_for_its_key_and_not_before_its_version() {
        for size in ["100", "24", "5000", "uniform:30-3000"] {
            let values = values(size);
            for (index, version) in [(0, 1), (1, 1), (1, 2), (70_000, base_version(3))] {
                let value = made(&values, index, version);
                assert_eq!(value.len(), values.len_of(index));
                assert_eq!(verify(&values, index, version, &value), Correctness::Right);
                assert_eq!(verify(&values, index, version - 1, &value), Correctness::Right);
                assert_eq!(verify(&values, index, version + 1, &value), Correctness::Stale, "old");
                assert_eq!(
                    verify(&values, index + 1, version, &value),
                    Correctness::OtherKey,
                    "swapped"
                );
                assert_eq!(values.verify_any(&value), Correctness::Right);
            }
        }
    }

    #[test]
    fn where_nothing_is_no_value_is_right() {
        for size in ["0", "1", "23", "24", "100"] {
            let values = values(size);
            for version in [1, base_version(3), u32::MAX - 1] {
                let value = made(&values, 5, version);
                let found = values.verify(5, NOTHING, || version, &value);
                let is_told = size.parse::<usize>().unwrap() >= TELLING_LEN;
                let expected = if is_told { Correctness::Stale } else { Correctness::Damaged };
                assert_eq!(found, expected, "{size}, {version}");
            }
        }
    }

    #[test]
    fn every_cut_and_every_damaged_byte_is_seen() {
        let values = values("300");
        let value = made(&values, 5, 9);
        for len in HEADER_LEN..300 {
            assert_eq!(verify(&values, 5, 9, &value[..len]), Correctness::Truncated);
        }
        for len in 0..HEADER_LEN {
            assert_eq!(verify(&values, 5, 9, &value[..len]), Correctness::Truncated, "{len}");
        }
        let shredded = verify(&values, 5, 9, &[0xee; 5]);
        assert_eq!(shredded, Correctness::Damaged, "short, and not the beginning");
        for at in 0..300 {
            let mut damaged = value.clone();
            damaged[at] ^= 0x10;
            assert_eq!(verify(&values, 5, 9, &damaged), Correctness::Damaged, "byte {at}");
            assert_eq!(
                verify(&values, 5, 10, &damaged),
                Correctness::Damaged,
                "byte {at} of an old one"
            );
        }
        assert_eq!(
            verify(&values, 5, 10, &value[..299]),
            Correctness::Truncated,
            "old and cut short"
        );
        assert_eq!(
            verify(&values, 6, 9, &value[..299]),
            Correctness::OtherKey,
            "swapped and cut short"
        );
        let mut longer = value.clone();
        longer.push(0);
        assert_eq!(verify(&values, 5, 9, &longer), Correctness::Damaged);
    }

    #[test]
    fn short_values_are_bare_slices_and_still_verified() {
        let values = values("10");
        let value = made(&values, 3, 8);
        assert_eq!(verify(&values, 3, 8, &value), Correctness::Right);
        assert_eq!(verify(&values, 3, 9, &value), Correctness::Stale, "old");
        assert_eq!(
            verify(&values, 3, 8 + OLDER_VERSIONS + 1, &value),
            Correctness::Damaged,
            "too old"
        );
        assert_eq!(
            verify(&values, 4, 8, &value),
            Correctness::Damaged,
            "swapped: it has no header to say so"
        );
        assert_eq!(verify(&values, 3, 8, &value[..9]), Correctness::Truncated);
    }

    #[test]
    fn a_key_whose_values_change_their_size_is_verified_at_every_size() {
        let sizes = Sizes::Recorded {
            by_key: [10, 10].into(),
            otherwise: "100".parse().unwrap(),
            largest: [300, 0].into(),
        };
        let longest = sizes.longest(2, 7);
        let values = Values::random(sizes, longest, 0.0, 7);
        assert_eq!((longest, values.largest_of(0), values.largest_of(1)), (300, 300, 10));
        let mut composer = Composer::new(&values);
        for len in [0, 1, 10, 23, 24, 300] {
            let value = composer.compose(0, 5, len).to_vec();
            assert_eq!(verify(&values, 0, 5, &value), Correctness::Right, "{len}");
            assert_eq!(verify(&values, 0, 4, &value), Correctness::Right, "{len}");
            if len >= 10 {
                assert_ne!(verify(&values, 0, 6, &value), Correctness::Right, "old, {len}");
                assert_ne!(verify(&values, 1, 5, &value), Correctness::Right, "swapped, {len}");
            }
            assert_ne!(verify(&values, 0, 5, b"\xee\xee\xee\xee\xee"), Correctness::Right);
        }
        let value = composer.compose(0, 5, 300).to_vec();
        assert_eq!(verify(&values, 0, 5, &value[..299]), Correctness::Truncated);
        assert_eq!(verify(&values, 0, 5, &value[..12]), Correctness::Truncated);
    }

    #[test]
    fn a_value_made_elsewhere_is_the_same() {
        for size in ["100", "24", "23", "3"] {
            let values = values(size);
            let (at, header) = values.recipe_of(5, base_version(1), values.len_of(5));
            let mut value = values.pool()[at..at + values.len_of(5)].to_vec();
            if let Some(beginning) = value.first_chunk_mut() {
                *beginning = header;
            }
            assert_eq!(value, made(&values, 5, base_version(1)), "{size}");
        }
    }

    #[test]
    fn the_pool_is_whole_again_after_each_value() {
        let values = values("200");
        let mut composer = Composer::new(&values);
        for version in 0..500 {
            composer.compose(version % 7, version, 200);
        }
        composer.compose(0, 0, 200);
        let written = composer.written.take().unwrap();
        composer.pool[written.clone()].copy_from_slice(&values.pool[written]);
        assert_eq!(&composer.pool[..], &values.pool[..]);
    }

    #[test]
    fn compressibility_is_the_share_of_zeros() {
        let sizes = Sizes::Drawn("100".parse().unwrap());
        let values = Values::random(sizes, 100, 0.75, 1);
        let all = f64::from(u32::try_from(values.pool.len()).unwrap());
        let zeros: u32 = values.pool.iter().map(|byte| u32::from(*byte == 0)).sum();
        let share = f64::from(zeros) / all;
        assert!((0.74..0.77).contains(&share), "{share}");
    }
}
