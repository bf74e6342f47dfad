//! An operator's view of a region: how full its segments are, and how old.
//!
//! It is read beside those who work with it. No lock is taken and nothing is written, a file is read and not mapped: so it
//! may be damaged or cut short meanwhile, and the figures of two segments may be of two instants. Nothing that is read is
//! trusted; what cannot be is cut down to what can.

use std::convert::Infallible;
use std::path::Path;

use crate::file::{self, io_error};
use crate::grow::Grown;
use crate::layout::{
    ACTIVE, BUCKET, BUCKET_SLOTS, CLASSES, GROWTH, LOCK, NOTES, SEGMENT_WORDS, UPKEEP,
};
use crate::lock::holder_of;
use crate::locked::{FREE, INDEX, MAIN, SMALL};
use crate::memory::{Memory, size};
use crate::partition::{FILL, LATEST, ORDER, STATE};
use crate::record::FOREVER;
use crate::superblock::{BOOT, CLEARED, EPOCH, Left, SESSIONS, Superblock};
use crate::tally::Count;
use crate::{Refused, epoch, namespace};

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
    /// When it was made, in milliseconds since 1970, by a clock that may have been wrong.
    pub made_ms: u64,
    /// Its age in milliseconds, by its own time.
    pub now: u64,
    /// Sessions that it has had.
    pub sessions: u64,
    /// How often all of it was cleared.
    pub cleared: u64,
    /// Its namespaces, by name.
    pub namespaces: Vec<NamespaceSurvey>,
    /// The way in which its last users left it.
    pub end: End,
    /// Whether anybody has it open; `None` where that is not told.
    pub is_open: Option<bool>,
    /// Its partitions.
    pub partitions: Vec<PartitionSurvey>,
}

/// A namespace of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceSurvey {
    /// Its name.
    pub name: String,
    /// How often it was cleared.
    pub cleared: u64,
}

/// How a region was left, or is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The last process that had it open has closed it.
    Closed,
    /// It is open, or whoever had it was killed.
    Open,
    /// It was open when the machine went down: whoever opens it next begins with nothing in it.
    Lost,
}

/// The state of a partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionSurvey {
    /// The thread that holds its lock, by the system's number; `None` where nobody does, or that is not told.
    pub holder: Option<u32>,
    /// Entries that are there.
    pub items: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Entries that its index has room for.
    pub slots: u64,
    /// Its segments, as they lie there.
    pub segments: Vec<SegmentSurvey>,
}

/// The state of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentSurvey {
    /// Where it stands.
    pub queue: Queue,
    /// By how long its entries are to live: 0 for ever, 1 to 2 seconds, each next one eight times as long, the last longer.
    pub class: u8,
    /// Bytes of the records that were written, alive or dead.
    pub written: u32,
    /// Bytes of those that are alive: what their heads take is estimated.
    pub alive: u32,
    /// How many are alive.
    pub records: u32,
    /// Whether entries are being written into it.
    pub is_active: bool,
    /// All in it was cleared or has expired: it is given back as soon as room is needed.
    pub is_stale: bool,
    /// How often it was begun.
    pub times: u32,
    /// Which it was among all segments that the partition has begun.
    pub order: u64,
    /// When it was begun, in milliseconds of the region's own time.
    pub begun: u64,
    /// When the last of its records expires, likewise; `None` where one never does.
    pub latest: Option<u64>,
}

/// Where a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Queue {
    /// Of entries that are new.
    Small,
    /// Of entries that were read.
    Main,
    /// In none: the index has grown into it.
    Index,
    /// In none: nothing is in it.
    Free,
    /// Its note is damaged, and means nothing.
    Unknown,
}

impl Survey {
    /// The one of a region in a file, which is only read; `None` where there is no file.
    pub fn of_file(path: &Path) -> Result<Option<Self>, Refused> {
        let Some((file, superblock)) = file::open_to_read(path)? else { return Ok(None) };
        let read = |at, words: &mut [u64]| file::read(&file, at, words);
        let survey = look(&superblock, file::is_held(&file), &read);
        Ok(Some(survey.map_err(|source| io_error(path, "cannot be read", source))?))
    }
}

/// The one of a region that this process has open.
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

/// Reads words of a region, from an offset on.
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
    for (number, at) in namespace::table(geometry) {
        let mut words = namespace::Words::default();
        read(at, &mut words)?;
        let named = namespace::named(number, &words);
        // A generation begins with 1, too.
        namespaces.extend(named.map(|(name, generation)| NamespaceSurvey {
            name,
            cleared: generation.saturating_sub(1),
        }));
    }
    namespaces.sort_by(|one, other| one.name.cmp(&other.name));
    let survey = |partition| {
        let mut words = vec![0; geometry.ghosts_at() / 8];
        let base = geometry.partition_at(partition);
        // Of the lock nothing but its first word, which tells who has it.
        read(base + LOCK, &mut words[LOCK / 8..=LOCK / 8])?;
        read(base + UPKEEP, &mut words[UPKEEP / 8..])?;
        // A key that is of a namespace has that beside it.
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
        // A region begins with 1.
        cleared: cleared.saturating_sub(1),
        namespaces,
        end,
        is_open,
        partitions,
    })
}

/// A partition up to its ghosts, as it was read.
struct Surveyed<'s> {
    words: Vec<u64>,
    superblock: &'s Superblock,
    now: u64,
    cleared: u64,
    /// The approximate overhead of a record beside key and value, unless it was moved.
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

    /// The buckets of the index, with those that it has grown by.
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
