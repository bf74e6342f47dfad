//! The geometry of a region, and the offsets that follow from it.
//!
//! ```text
//! superblock 4 KiB | namespaces, 64 bytes each | lines of counters, 128 bytes a session | partition 0 | partition 1 | …
//!
//! partition: lock 64 | words 64 | upkeep 64 | growth 64 | active segments 128 | counters 128 | changes 8 KiB | leases 8 KiB
//!            | a word a segment | four words of notes a segment | a time a segment
//!            | segments of the index, a word a segment | ghosts | index | segments
//! ```
//!
//! The geometry scales with the region. A region of 1 MiB has few partitions, of segments of 16 KiB. A large region has so
//! many partitions that writers seldom meet.

use crate::Refused;
use crate::options::Options;

/// The superblock's bytes.
pub(crate) const SUPERBLOCK: usize = 4096;

/// A line of counters.
pub(crate) const STATS_LINE: usize = 128;

/// The smallest region.
pub const LEAST_SIZE: usize = 1 << 20;

/// The longest partition: a place in it is a number of words in 32 bits.
const LONGEST_PARTITION: usize = 1 << 35;
/// The largest region.
const LARGEST_SIZE: usize = MOST_PARTITIONS * LONGEST_PARTITION;

/// The slots of a bucket, which is a line of the processor's cache.
pub(crate) const BUCKET_SLOTS: usize = 8;
pub(crate) const BUCKET: usize = 8 * BUCKET_SLOTS;

/// Classes of entries by how long they live, so that a segment's entries expire at about the same time.
pub(crate) const CLASSES: usize = 8;

/// The words of changes of a partition: see `changes.rs`. Keys that share a word may refuse each other's fills, so there are
/// many words.
pub(crate) const CHANGE_COUNTERS: usize = 1024;

/// The buckets of leases of a partition, and the leases in each: see `lease_table.rs`.
pub(crate) const LEASE_BUCKETS: usize = 64;
pub(crate) const LEASES_EACH: usize = 8;

/// The bytes that a lock takes.
pub(crate) const LOCK_LEN: usize = 64;

/// The longest key.
pub(crate) const MAX_KEY: usize = 1 << 16;

/// Bytes of an entry of the table of namespaces: see `space.rs`.
pub(crate) const NAMESPACE_ENTRY: usize = 64;

/// The offset of the name in it, which fills the rest.
pub(crate) const NAMESPACE_NAME: usize = 16;

/// The longest name of a namespace, in bytes.
pub const LONGEST_NAMESPACE: usize = NAMESPACE_ENTRY - NAMESPACE_NAME;

/// The most namespaces that any region can have: a record has two bytes for the number, and one of these is nobody's.
pub const MOST_NAMESPACES: usize = 0xffff;

/// Offsets in a partition.
pub(crate) const LOCK: usize = 0;
pub(crate) const WORDS: usize = LOCK_LEN;
/// The words of the upkeep: see `upkeep.rs`.
pub(crate) const UPKEEP: usize = WORDS + 64;
/// How far the index has grown: every read looks at it, so nothing beside it is written.
pub(crate) const GROWTH: usize = UPKEEP + 64;
pub(crate) const ACTIVE: usize = GROWTH + 64;
pub(crate) const COUNTERS: usize = ACTIVE + 2 * CLASSES * 8;
pub(crate) const CHANGES: usize = COUNTERS + 128;
pub(crate) const LEASES: usize = CHANGES + CHANGE_COUNTERS * 8;
pub(crate) const SEGMENT_WORDS: usize = LEASES + LEASE_BUCKETS * 2 * LEASES_EACH * 8;

/// The words of notes on a segment.
pub(crate) const NOTES: usize = 4;

/// The shortest chunk, and the longest record with an uncut value.
const LEAST_CHUNK: usize = 4 << 10;
const LONGEST_RECORD: usize = 128 << 10;

const LEAST_SEGMENT: usize = 16 << 10;
pub(crate) const LARGEST_SEGMENT: usize = 2 << 20;
/// A partition has this many segments to twice as many. With fewer segments eviction is coarse.
const SEGMENTS_WANTED: usize = 80;
/// A partition is not split where its halves would have fewer segments.
const LEAST_SEGMENTS: usize = 32;
/// A segment has room for this many entries of the expected size, because the last entry seldom fits in the rest. But this
/// never makes fewer segments than about `FEWEST_SEGMENTS`. Three segments are kept free, and parts of two or three others
/// are unwritten.
const ITEMS_WANTED: usize = 8;
const FEWEST_SEGMENTS: usize = 128;
/// A partition is split where each half has at least this many bytes.
const LEAST_PARTITION: usize = 4 << 20;
/// With this many partitions, writers seldom meet in one.
const MOST_PARTITIONS: usize = 64;
/// The slots of the index for ten entries of the expected size. With fewer, an entry would often find both its buckets full.
const SLOTS_FOR_TEN: usize = 15;
/// The index takes at least this fraction of the bytes, a slot for each 800 bytes. This is enough for entries that are
/// smaller than expected, and for chunks, each of which has a slot beside the entry's.
const LEAST_INDEX: usize = 100;
/// The index begins with at most this fraction of the bytes: with all that the expected entries need, or a half, or a
/// quarter of it. It doubles as entries come.
const LARGEST_INDEX: usize = 32;
/// The number of ghosts follows the size of the index, up to this fraction of the bytes.
const LARGEST_GHOSTED: usize = 20;
/// The smallest expected entry, a word of key and value. For smaller entries the index would take half the region.
const LEAST_ITEM: usize = 8;
/// The largest expected entry, as a fraction of the region: the largest value has the same.
const ITEM_SHARE: usize = 4;
/// Header and padding of an entry, on average.
const BESIDE_ITEM: usize = 20;
/// A region has room for one namespace for each of this many bytes, unless another number is asked for: a thousandth of the
/// region, and of a large one less. No more can be asked for than one for each of `NAMED_SHARE` bytes, a sixteenth.
const NAMED_EACH: usize = 64 << 10;
const LEAST_NAMED: usize = 64;
const MOST_NAMED: usize = 4096;
const NAMED_SHARE: usize = 1 << 10;

/// The geometry of a region. It may come from a file, so [`Geometry::checked`] checks it before it is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) size: usize,
    pub(crate) partitions: usize,
    pub(crate) segments: usize,
    pub(crate) segment_len: usize,
    pub(crate) buckets: usize,
    /// Ghosts, four to a word.
    pub(crate) ghosts: usize,
    pub(crate) stats_lines: usize,
    /// The most namespaces.
    pub(crate) namespaces: usize,
}

impl Geometry {
    /// The index grows into at most this part of the segments.
    pub(crate) const INDEX_SHARE: (usize, usize) = (3, 8);

    /// Divides a region.
    pub(crate) fn of(options: &Options) -> Result<Self, Refused> {
        let Options { size, item, max_key, namespaces, .. } = *options;
        if size < LEAST_SIZE {
            return Err(Refused::TooSmall { size, least: LEAST_SIZE });
        }
        let named = MOST_NAMESPACES.min(size / NAMED_SHARE);
        let namespaces = namespaces.unwrap_or((size / NAMED_EACH).clamp(LEAST_NAMED, MOST_NAMED));
        if size <= LARGEST_SIZE && namespaces > named {
            return Err(Refused::TooManyNamespaces { asked: namespaces, most: named });
        }
        let limits = [("regions", size, LARGEST_SIZE), ("keys", max_key, Self::longest_key(size))];
        for (what, asked, most) in limits {
            if asked > most {
                return Err(Refused::Limit { what, asked, most });
            }
        }
        let item = item.clamp(LEAST_ITEM, size / ITEM_SHARE);
        let stats_lines = (size / (64 << 10)).clamp(16, 256);
        let namespaces = namespaces.max(1);
        let all = size - SUPERBLOCK - namespaces * NAMESPACE_ENTRY - stats_lines * STATS_LINE;
        // A record of the longest key has room for as much of a value.
        let for_keys = (4 * max_key).next_power_of_two();
        let coarsest = previous_power_of_two(all / FEWEST_SEGMENTS);
        let for_items = item.saturating_mul(ITEMS_WANTED).min(coarsest).next_power_of_two();
        let least = for_keys.max(for_items).clamp(LEAST_SEGMENT, LARGEST_SEGMENT);
        let most = (all / LEAST_PARTITION).min(all / least / LEAST_SEGMENTS);
        let partitions = previous_power_of_two(most).clamp(1, MOST_PARTITIONS);
        let each = all / partitions / 64 * 64;
        let segment_len =
            previous_power_of_two(each / SEGMENTS_WANTED).clamp(least, LARGEST_SEGMENT);
        let slots = each / (item + BESIDE_ITEM) * SLOTS_FOR_TEN / 10;
        let of = |part: usize| each / part / BUCKET;
        let wanted = slots.div_ceil(BUCKET_SLOTS);
        let halves = std::iter::successors(Some(wanted), |buckets| Some(buckets.div_ceil(2)));
        let mut small = halves.skip_while(|buckets| *buckets > of(LARGEST_INDEX));
        let buckets = small.next().unwrap_or(1).max(of(LEAST_INDEX));
        let ghosted = wanted.clamp(of(LEAST_INDEX), of(LARGEST_GHOSTED));
        let ghosts = (ghosted * BUCKET_SLOTS / 2).next_multiple_of(4 * BUCKET_SLOTS);
        let mut geometry = Self {
            size,
            partitions,
            segments: 0,
            segment_len,
            buckets,
            ghosts,
            stats_lines,
            namespaces,
        };
        geometry.segments =
            (each - geometry.segments_at().next_multiple_of(64)) / (segment_len + 8 * (2 + NOTES));
        while geometry.end() > size {
            geometry.segments -= 1;
        }
        geometry.checked()
    }

    /// Whether all of it lies within the region.
    pub(crate) fn checked(self) -> Result<Self, Refused> {
        let sound = self.partitions.is_power_of_two()
            && self.partitions <= MOST_PARTITIONS
            && (8..1 << 20).contains(&self.segments)
            && self.segment_len.is_power_of_two()
            && (LEAST_SEGMENT..=LARGEST_SEGMENT).contains(&self.segment_len)
            && (1..1 << 32).contains(&self.buckets)
            && (1..1 << 36).contains(&self.ghosts)
            && self.ghosts.is_multiple_of(4)
            && (1..=1 << 12).contains(&self.stats_lines)
            && (1..=MOST_NAMESPACES).contains(&self.namespaces)
            && (self.segments <= 2 * SEGMENTS_WANTED || self.segment_len == LARGEST_SEGMENT)
            && self.partition_len() <= LONGEST_PARTITION
            && self.end() <= self.size;
        if sound { Ok(self) } else { Err(Refused::Geometry) }
    }

    /// The offset of the notes on segments, in a partition.
    pub(crate) fn notes_at(&self) -> usize {
        SEGMENT_WORDS + self.segments * 8
    }

    /// The offset of the times at which segments were begun. They are not among the notes, which are read
    /// with every entry.
    pub(crate) fn times_at(&self) -> usize {
        self.notes_at() + self.segments * NOTES * 8
    }

    pub(crate) fn ghosts_at(&self) -> usize {
        self.times_at() + self.segments * 8
    }

    pub(crate) fn index_at(&self) -> usize {
        (self.ghosts_at() + self.ghosts * 2).next_multiple_of(BUCKET)
    }

    pub(crate) fn segments_at(&self) -> usize {
        self.index_at() + self.buckets * BUCKET
    }

    pub(crate) fn partition_len(&self) -> usize {
        (self.segments_at() + self.segments * self.segment_len).next_multiple_of(64)
    }

    /// Where the lines of counters are, in the region.
    pub(crate) fn stats_at(&self) -> usize {
        SUPERBLOCK + self.namespaces * NAMESPACE_ENTRY
    }

    pub(crate) fn partition_at(&self, partition: usize) -> usize {
        self.stats_at() + self.stats_lines * STATS_LINE + partition * self.partition_len()
    }

    fn end(&self) -> usize {
        self.partition_at(self.partitions)
    }

    /// The longest key that any region of this size can have.
    pub(crate) fn longest_key(size: usize) -> usize {
        (LARGEST_SEGMENT.min(previous_power_of_two(size / 16)) / 4).min(MAX_KEY)
    }

    /// The longest record with an uncut value. Six such records fit in a segment, so that little of a segment is left empty.
    /// A copy of one takes a few microseconds.
    pub(crate) fn longest_record(&self) -> usize {
        let sixth = self.segment_len / 6 / 8 * 8;
        sixth.clamp(LEAST_CHUNK, LONGEST_RECORD)
    }

    /// The longest record of a chunk. It is shorter, because a chunk is read together with others
    /// in any case.
    pub(crate) fn longest_chunk(&self) -> usize {
        (self.longest_record() / 2).max(LEAST_CHUNK)
    }
}

fn previous_power_of_two(n: usize) -> usize {
    if n == 0 { 1 } else { 1 << n.ilog2() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Condition, Set};

    fn divided(size: usize, item: usize, max_key: usize) -> Result<Geometry, Refused> {
        Geometry::of(&Options { item, max_key, ..Options::of_size(size) })
    }

    #[test]
    fn it_scales_from_a_mebibyte_to_a_tebibyte_and_wastes_little() {
        for shift in 20..=40 {
            for size in [1 << shift, (1 << shift) + 12345, (1 << shift) * 19 / 10] {
                let geometry = divided(size, 112, 250).unwrap();
                let segments = geometry.partitions * geometry.segments * geometry.segment_len;
                assert!(geometry.segments >= 32, "{geometry:?}");
                assert!(segments * 100 / size >= 85, "{} % of {geometry:?}", segments * 100 / size);
                assert!(geometry.segments_at().is_multiple_of(64));
            }
        }
        for size in [16 << 20, 1 << 30] {
            let geometry = divided(size, 112, MAX_KEY).unwrap();
            assert!(geometry.segment_len / 2 >= 2 * MAX_KEY, "{geometry:?}");
        }
        let small = divided(LEAST_SIZE, 112, 250).unwrap();
        assert_eq!((small.partitions, small.segment_len), (1, LEAST_SEGMENT));
        assert!(matches!(divided(LEAST_SIZE - 1, 112, 250), Err(Refused::TooSmall { .. })));
    }

    #[test]
    fn entries_of_every_size_that_is_expected_find_slots() {
        let of_keys = |size| [0, 1, 250, Geometry::longest_key(size)];
        for (size, shift) in (20..=41).map(|shift| (1_usize << shift, shift)) {
            for size in [size - size / 8 * usize::from(shift > 20), size] {
                for item in [1, 10, 112, 1 << 10, 100_000, 130_000, 1 << 20, 10 << 20, 100 << 20] {
                    for max_key in of_keys(size) {
                        let geometry = divided(size, item, max_key)
                            .unwrap_or_else(|why| panic!("{size} of {item}, {max_key}: {why}"));
                        check(&geometry, item, max_key);
                    }
                }
            }
        }
    }

    fn check(geometry: &Geometry, item: usize, max_key: usize) {
        let item = item.clamp(LEAST_ITEM, geometry.size / ITEM_SHARE);
        let of = format!("{item} and {max_key} of {geometry:?}");
        let Geometry { size, partitions, segments, segment_len, .. } = *geometry;
        let (bytes, slots) = (segments * segment_len, geometry.buckets * BUCKET_SLOTS);
        assert_eq!(geometry.checked().ok(), Some(*geometry));
        // The index of tiny entries takes a third of the region.
        let least = if item < 112 { 55 } else { 80 };
        let is_of_items = item >= 112 && max_key <= 250;
        let fewest = if is_of_items { LEAST_SEGMENTS - 2 } else { 8 };
        assert!(segments >= fewest, "{of}");
        assert!(bytes * partitions * 100 / size >= least, "{of}");
        assert!(segment_len / 2 >= 2 * max_key, "{of}");
        assert!(segment_len / geometry.longest_record() >= 4, "{of}");
        assert!(geometry.ghosts >= 32, "{of}");
        // The number of records when the region is full of entries of this size.
        let (longest, chunk) = (geometry.longest_record(), geometry.longest_chunk());
        let records = if item < longest { 1 } else { 1 + item.div_ceil(chunk) };
        let grown = slots + bytes / Geometry::INDEX_SHARE.1 * Geometry::INDEX_SHARE.0 / 8;
        let slots = if item < 400 { grown } else { slots };
        assert!(slots >= bytes / (item + BESIDE_ITEM) * records, "{of}");
        // Room for an index of almost a hundredth is left beside the segments.
        assert!(geometry.buckets * BUCKET * 110 >= bytes, "{of}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn a_fill_is_seldom_refused_for_the_changes_of_other_keys() {
        let cache = Cache::private(&Options::of_size(LEAST_SIZE)).unwrap();
        let mut session = cache.session();
        let (fills, others) = (200_u32, 60_u32);
        for fill in 0..fills {
            let name = |of: u32| (u64::from(fill) << 32 | u64::from(of)).to_ne_bytes();
            let token = session.token(&name(others));
            for of in 0..others {
                session.set(&name(of), b"value", &Set::default()).unwrap();
            }
            let set = Set { condition: Condition::Unchanged(token), ..Set::default() };
            session.set(&name(others), b"value", &set).unwrap();
        }
        let refused = cache.stats().refused_fills;
        assert!(refused < u64::from(fills) / 50, "{refused} of {fills}");
    }

    #[test]
    fn what_no_region_can_have_is_refused_by_its_limit() {
        let limit = |size, item, max_key| match divided(size, item, max_key) {
            Err(Refused::Limit { what, asked, most }) => (what, asked, most),
            other => panic!("{other:?}"),
        };
        let all = usize::MAX;
        assert_eq!(limit(8 << 20, 112, all), ("keys", all, MAX_KEY));
        assert_eq!(limit(LEAST_SIZE, 112, MAX_KEY), ("keys", MAX_KEY, LEAST_SIZE / 64));
        for size in [(1 << 41) + 1, 2100 << 30, 2200 << 30, all / 4, all] {
            assert_eq!(limit(size, 112, 250), ("regions", size, 1 << 41));
        }
        let small = divided(LEAST_SIZE - 1, all, all);
        assert!(matches!(small, Err(Refused::TooSmall { .. })));
    }

    #[test]
    fn entries_larger_than_any_can_be_are_expected_to_be_the_largest() {
        for size in [1 << 20, 4 << 20, 64 << 20] {
            let largest = divided(size, size / 4, 250).unwrap();
            for item in [size / 2, size, 10 * size, usize::MAX / 4, usize::MAX] {
                assert_eq!(divided(size, item, 250).unwrap(), largest);
            }
        }
    }

    #[test]
    fn a_partition_longer_than_places_reach_is_refused() {
        let sound = divided(LARGEST_SIZE, 112, 250).unwrap();
        assert!(sound.partition_len() <= LONGEST_PARTITION);
        let slack = LONGEST_PARTITION - sound.segments_at();
        let longer = Geometry { size: 1 << 45, segments: slack / sound.segment_len + 1, ..sound };
        assert!(longer.segments * longer.segment_len < LONGEST_PARTITION);
        assert!(matches!(longer.checked(), Err(Refused::Geometry)), "{longer:?}");
    }

    #[test]
    fn what_reaches_beyond_the_region_is_refused() {
        let sound = divided(8 << 20, 112, 250).unwrap();
        for wrong in [
            Geometry { partitions: 3, ..sound },
            Geometry { partitions: 1 << 40, ..sound },
            Geometry { segments: sound.segments + 8, ..sound },
            Geometry { segment_len: 1 << 40, ..sound },
            Geometry { size: 1 << 44, segments: 1 << 19, ..sound },
            Geometry { buckets: 1 << 31, ..sound },
            Geometry { ghosts: 0, ..sound },
            Geometry { stats_lines: 0, ..sound },
            Geometry { namespaces: 0, ..sound },
            Geometry { namespaces: MOST_NAMESPACES + 1, ..sound },
            Geometry { size: sound.size / 2, ..sound },
        ] {
            assert!(matches!(wrong.checked(), Err(Refused::Geometry)), "{wrong:?}");
        }
    }
}
