//! An operator's view of a region: the fill and the age of its segments.
//!
//! The region is read while other processes work with it. No lock is taken and nothing is written. A file is read and not
//! mapped, so it may be damaged or truncated meanwhile, and the figures of two segments may be of two instants. No content
//! is trusted; impossible values are cut down to possible ones.

use std::convert::Infallible;
use std::path::Path;

use crate::file::{self, io_error};
use crate::grown::Grown;
use crate::layout::{
    ACTIVE, BUCKET, BUCKET_SLOTS, CLASSES, GROWTH, LOCK, NOTES, SEGMENT_WORDS, UPKEEP,
};
use crate::lock::holder_of;
use crate::memory::{Memory, size};
use crate::partition::{FILL, FREE, INDEX, LATEST, MAIN, ORDER, SMALL, STATE};
use crate::record::FOREVER;
use crate::superblock::{BOOT, CLEARED, EPOCH, Left, SESSIONS, Superblock};
use crate::tally::Count;
use crate::{Refused, epoch, space};

/// The state of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Bytes of the whole region.
    pub size: usize,
    /// Bytes of a segment.
    pub segment_size: usize,
    /// The longest key, in bytes.
    pub max_key: u64,
    /// The largest value, in bytes.
    pub max_value: u64,
    /// The time at which it was made, in milliseconds since 1970, by a clock that may have been
    /// wrong.
    pub made_ms: u64,
    /// Its age in milliseconds, by its own time.
    pub now: u64,
    /// The number of sessions so far.
    pub sessions: u64,
    /// The number of clears of the whole region.
    pub cleared: u64,
    /// Its namespaces, by name.
    pub namespaces: Vec<NamespaceSurvey>,
    /// The way in which its last users left it.
    pub end: End,
    /// Whether any process has it open; `None` where the system does not report it.
    pub is_open: Option<bool>,
    /// Its partitions.
    pub partitions: Vec<PartitionSurvey>,
}

/// A namespace of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceSurvey {
    /// Its name.
    pub name: String,
    /// The number of clears of this namespace.
    pub cleared: u64,
}

/// The present state of a region, or the state in which it was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last process that had it open has closed it.
    Closed,
    /// It is open, or its last user was killed.
    Open,
    /// It was open when the machine went down: the next process that opens it begins with an empty
    /// region.
    Lost,
}

/// The state of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSurvey {
    /// The thread that holds its lock, by the system's number; `None` where the lock is free, or the system
    /// does not tell.
    pub holder: Option<u32>,
    /// Its entries.
    pub items: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// The slots of its index.
    pub slots: u64,
    /// Its segments, in the order of their places.
    pub segments: Vec<SegmentSurvey>,
}

/// The state of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSurvey {
    /// Its queue.
    pub queue: Queue,
    /// The class by the time to live of its entries. 0 is for ever, and 1 is up to 2 seconds. Each further class is eight
    /// times as long, and the last has no limit.
    pub class: u8,
    /// Bytes of the records that were written, alive or dead.
    pub written: u32,
    /// Bytes of the live records; the bytes of their headers are estimated.
    pub alive: u32,
    /// The number of live records.
    pub records: u32,
    /// Whether entries are being written into it.
    pub is_active: bool,
    /// All its entries were cleared or have expired: it is given back as soon as room is needed.
    pub is_stale: bool,
    /// The number of its lives.
    pub times: u32,
    /// Its number among all segments that the partition has begun.
    pub order: u64,
    /// The time at which it was begun, in milliseconds of the region's own time.
    pub begun: u64,
    /// The expiry of its last record, likewise; `None` where a record never expires.
    pub latest: Option<u64>,
}

/// The queue of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// The queue of new entries.
    Small,
    /// The queue of entries that were read.
    Main,
    /// No queue: the index has grown into the segment.
    Index,
    /// No queue: the segment is free.
    Free,
    /// Unknown, because the segment's note is damaged.
    Unknown,
}

impl Survey {
    /// The survey of a region in a file, which is only read; `None` where there is no file.
    pub fn of_file(path: &Path) -> Result<Option<Self>, Refused> {
        let Some((file, superblock)) = file::open_to_read(path)? else { return Ok(None) };
        let read = |at, words: &mut [u64]| file::read(&file, at, words);
        let survey = look(&superblock, file::is_held(&file), &read);
        Ok(Some(survey.map_err(|source| io_error(path, "cannot be read", source))?))
    }
}

/// The survey of a region that this process has open.
pub(crate) fn of_memory(memory: &Memory, superblock: &Superblock) -> Survey {
    let read = |at, words: &mut [u64]| {
        for (i, word) in words.iter_mut().enumerate() {
            *word = memory.load(at + 8 * i);
        }
        Ok::<(), Infallible>(())
    };
    let Ok(survey) = look(superblock, Some(true), &read);
    survey
}

/// A function that reads words of a region, from an offset on.
type Read<'r, E> = &'r dyn Fn(usize, &mut [u64]) -> Result<(), E>;

fn look<E>(of: &Superblock, is_open: Option<bool>, read: Read<'_, E>) -> Result<Survey, E> {
    let word = |at| {
        let mut word = [0];
        read(at, &mut word).map(|()| word[0])
    };
    let geometry = &of.geometry;
    let mut time = [0; 4];
    read(EPOCH, &mut time)?;
    let now = epoch::surveyed(time, file::boot());
    let cleared = word(CLEARED)?;
    let end = match Left::of(word(BOOT)?, file::boot()) {
        Left::Closed => End::Closed,
        Left::Open | Left::Renewing => End::Open,
        Left::Lost => End::Lost,
    };
    let mut namespaces = Vec::new();
    for (number, at) in space::table(geometry) {
        let mut words = space::Words::default();
        read(at, &mut words)?;
        let named = space::named(number, &words);
        namespaces.extend(named.map(|(name, cleared)| NamespaceSurvey { name, cleared }));
    }
    namespaces.sort_by(|one, other| one.name.cmp(&other.name));
    let survey = |partition| {
        let mut words = vec![0; geometry.ghosts_at() / 8];
        let base = geometry.partition_at(partition);
        // Only the first word of the lock is read, because it names the holder.
        read(base + LOCK, &mut words[LOCK / 8..=LOCK / 8])?;
        read(base + UPKEEP, &mut words[UPKEEP / 8..])?;
        // A key of a namespace has the namespace's word beside it.
        let beside = if namespaces.is_empty() { BESIDE } else { BESIDE + 8 };
        Ok(Surveyed { words, superblock: of, now, cleared, beside }.survey())
    };
    let partitions = (0..geometry.partitions).map(survey).collect::<Result<_, E>>()?;
    Ok(Survey {
        size: geometry.size,
        segment_size: geometry.segment_len,
        max_key: of.max_key,
        max_value: of.max_value,
        made_ms: of.made_ms,
        now,
        sessions: word(SESSIONS)?,
        // A region begins with 1 clear.
        cleared: cleared.saturating_sub(1),
        namespaces,
        end,
        is_open,
        partitions,
    })
}

/// The words of a partition up to its ghosts.
struct Surveyed<'s> {
    words: Vec<u64>,
    superblock: &'s Superblock,
    now: u64,
    cleared: u64,
    /// The approximate overhead of an unmoved record beside key and value.
    beside: u32,
}

/// The approximate overhead of a record: its header, and the padding of its last word.
const BESIDE: u32 = 20;

/// The addition to a record that was moved: its version.
const VERSION: u32 = 8;

impl Surveyed<'_> {
    fn word(&self, at: usize) -> u64 {
        self.words.get(at / 8).copied().unwrap_or(0)
    }

    fn survey(&self) -> PartitionSurvey {
        let geometry = &self.superblock.geometry;
        PartitionSurvey {
            holder: holder_of(self.word(LOCK)),
            items: self.word(Count::Items.at(0)),
            bytes: self.word(Count::Bytes.at(0)),
            slots: (self.buckets() * BUCKET_SLOTS) as u64,
            segments: (0..geometry.segments).map(|segment| self.segment(segment)).collect(),
        }
    }

    /// The buckets of the index, with those of its growth.
    fn buckets(&self) -> usize {
        let (first, segments) =
            (self.superblock.geometry.buckets, self.superblock.geometry.segments);
        let grown = Grown::of_word(self.word(GROWTH)).buckets(first);
        grown.min(first + segments * self.superblock.geometry.segment_len / BUCKET)
    }

    fn segment(&self, segment: usize) -> SegmentSurvey {
        let geometry = &self.superblock.geometry;
        let note = |note| self.word(geometry.notes_at() + (segment * NOTES + note) * 8);
        let word = self.word(SEGMENT_WORDS + segment * 8);
        let (fill, state, latest) = (note(FILL), note(STATE), note(LATEST));
        let queue = match state >> 56 {
            FREE => Queue::Free,
            SMALL => Queue::Small,
            MAIN => Queue::Main,
            INDEX => Queue::Index,
            _ => Queue::Unknown,
        };
        let class = size(state >> 48 & 0xff).min(CLASSES - 1);
        let is_unused = matches!(queue, Queue::Free | Queue::Index);
        let written = if is_unused { 0 } else { size(fill >> 32) };
        let written = low(written.min(geometry.segment_len) as u64);
        let has_expired = written > 0 && latest != FOREVER && latest <= self.now;
        let is_cleared = word >> 32 != self.cleared & 0xffff_ffff;
        let is_stale = !is_unused && (has_expired || is_cleared);
        let records = if is_stale { 0 } else { low(fill).min(written / 16) };
        let version = if queue == Queue::Main { VERSION } else { 0 };
        let heads = records.saturating_mul(self.beside + version);
        let values = if is_stale { 0 } else { low(state) };
        SegmentSurvey {
            queue,
            class: class.to_le_bytes()[0],
            written,
            alive: heads.saturating_add(values).min(written),
            records,
            is_active: self.is_active(queue, class, segment),
            is_stale,
            times: low(word),
            order: note(ORDER),
            begun: self.word(geometry.times_at() + segment * 8),
            latest: (latest != FOREVER).then_some(latest),
        }
    }

    fn is_active(&self, queue: Queue, class: usize, segment: usize) -> bool {
        let first = match queue {
            Queue::Small => 0,
            Queue::Main => CLASSES,
            Queue::Index | Queue::Free | Queue::Unknown => return false,
        };
        self.word(ACTIVE + (first + class) * 8) == segment as u64 + 1
    }
}

/// The lower half of a word.
fn low(word: u64) -> u32 {
    u32::try_from(word & 0xffff_ffff).unwrap_or(u32::MAX)
}
