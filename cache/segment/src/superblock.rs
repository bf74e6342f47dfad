//! The beginning of a region: its identity and its geometry.
//!
//! Written before anybody else can open the region, and never changed but for the words from [`CLEARED`] on.

use rapidhash::v3::rapidhash_v3;

use crate::Refused;
use crate::layout::Geometry;
use crate::memory::Memory;

/// `larderSG`, in this machine's byte order: a region of a machine with another order is refused.
const MAGIC: u64 = u64::from_be_bytes(*b"larderSG");

/// Changes with every change of what a region looks like.
const FORMAT: u64 = 7;

/// The number of clears of the region.
pub(crate) const CLEARED: usize = 256;
/// The next line of counters for a session.
pub(crate) const SESSIONS: usize = 320;
/// The next number of a value that is cut into chunks.
pub(crate) const CHUNKED_VALUES: usize = 448;
/// The run of the machine in which the region was last open; 0 where it is not known.
pub(crate) const BOOT: usize = 384;
/// The region's time: its difference to the time since the machine was started, and the run of the machine in which that
/// holds. Then the time in the region, and the time of day, at which the last user closed it.
pub(crate) const EPOCH: usize = 512;
pub(crate) const EPOCH_RUN: usize = 520;
pub(crate) const LEFT_AT: usize = 528;
pub(crate) const LEFT_WALL: usize = 536;
/// The mark of a region that its last user has closed.
pub(crate) const CLOSED: u64 = 1;

/// The number of a run of the machine: never 0, nor [`CLOSED`].
pub(crate) fn run(hash: u64) -> u64 {
    hash & !3 | 2
}

/// The mark of a region whose locks are being reinitialised in this run of the machine.
pub(crate) fn renewing(run: u64) -> u64 {
    run | 1
}

/// The present state of a region or the state in which it was left, as far as this run can tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// All of it is on the disk.
    Closed,
    /// It was opened in this run, and its locks were made.
    Open,
    /// It was opened in this run by a process that is about to make the locks, or was killed before.
    Renewing,
    /// It was open in another run, and only a part of its pages may be on the disk.
    Lost,
}

impl Left {
    /// The state by the word at [`BOOT`] and the number of the present run.
    pub(crate) fn of(boot: u64, now: Option<u64>) -> Self {
        match now {
            _ if boot == CLOSED => Self::Closed,
            Some(run) if boot == run => Self::Open,
            Some(run) if boot == renewing(run) => Self::Renewing,
            _ => Self::Lost,
        }
    }
}

/// The content of a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub(crate) geometry: Geometry,
    /// The seed of the hash of keys.
    pub(crate) seed: u64,
    /// The time at which it was made, in milliseconds since 1970, by a clock that may have been
    /// wrong. It is only for people.
    pub(crate) made_ms: u64,
    pub(crate) max_key: u64,
    pub(crate) max_value: u64,
}

/// The words that are summed: magic, format, and what follows.
const WORDS: usize = 14;

impl Superblock {
    fn words(&self) -> [u64; WORDS] {
        let of = &self.geometry;
        let sizes = [
            of.size,
            of.partitions,
            of.segments,
            of.segment_len,
            of.buckets,
            of.ghosts,
            of.stats_lines,
            of.namespaces,
        ];
        let [size, partitions, segments, segment_len, buckets, ghosts, lines, namespaces] =
            sizes.map(|n| n as u64);
        [
            MAGIC,
            FORMAT,
            size,
            partitions,
            segments,
            segment_len,
            buckets,
            ghosts,
            lines,
            namespaces,
            self.seed,
            self.made_ms,
            self.max_key,
            self.max_value,
        ]
    }

    pub(crate) fn write(&self, memory: &Memory) {
        let words = self.words();
        for (i, word) in words.iter().enumerate() {
            memory.store(i * 8, *word);
        }
        memory.store(WORDS * 8, sum(&words));
    }

    /// The content of a superblock, from the first bytes of a file of this length.
    pub(crate) fn read(words: &[u64; WORDS + 1], len: u64) -> Result<Self, Refused> {
        let [
            magic,
            format,
            size,
            partitions,
            segments,
            segment_len,
            buckets,
            ghosts,
            lines,
            namespaces,
            seed,
            made_ms,
            max_key,
            max_value,
            found,
        ] = *words;
        if magic != MAGIC {
            return Err(Refused::Foreign);
        }
        if format != FORMAT {
            return Err(Refused::Format { found: format, wanted: FORMAT });
        }
        if sum(&words[..WORDS]) != found {
            return Err(Refused::Damaged);
        }
        if size != len {
            return Err(Refused::Truncated { len, size });
        }
        let number = |word: u64| usize::try_from(word).map_err(|_| Refused::Geometry);
        let geometry = Geometry {
            size: number(size)?,
            partitions: number(partitions)?,
            segments: number(segments)?,
            segment_len: number(segment_len)?,
            buckets: number(buckets)?,
            ghosts: number(ghosts)?,
            stats_lines: number(lines)?,
            namespaces: number(namespaces)?,
        };
        let geometry = geometry.checked()?;
        // Longer keys have no room in a record, and a larger value none in a region.
        if max_key > geometry.segment_len as u64 / 4 || max_value > size / 4 {
            return Err(Refused::Geometry);
        }
        Ok(Self { geometry, seed, made_ms, max_key, max_value })
    }
}

/// The number of words that [`Superblock::read`] takes.
pub(crate) const READ_WORDS: usize = WORDS + 1;

fn sum(words: &[u64]) -> u64 {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    rapidhash_v3(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_closed_or_is_of_this_run_is_not_lost() {
        for hash in [0, 1, 2, 3, u64::MAX, 0x1234_5678] {
            let (now, other) = (run(hash), run(hash ^ 0x100));
            assert_eq!(Left::of(now, Some(now)), Left::Open);
            assert_eq!(Left::of(renewing(now), Some(now)), Left::Renewing);
            assert_eq!(Left::of(CLOSED, Some(now)), Left::Closed);
            for lost in [0, other, renewing(other)] {
                assert_eq!(Left::of(lost, Some(now)), Left::Lost);
            }
            for unknown in [0, now, renewing(now)] {
                assert_eq!(Left::of(unknown, None), Left::Lost);
            }
        }
        assert_eq!(Left::of(CLOSED, None), Left::Closed);
    }
}
