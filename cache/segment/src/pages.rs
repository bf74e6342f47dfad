//! Large pages: a key's line and its record are on two pages of which neither was needed just now, so fewer and larger ones
//! are better. All of it is a wish: the system may know no large pages for a mapping, or have none free.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::mapping::LARGE_PAGE;
use crate::memory::Memory;
use crate::partition::Partition;
use crate::tally::Count;

/// A private region of more than this takes large pages as it fills, so that a few entries do not take a page for each line
/// of the index.
const AT_ONCE: usize = 64 << 20;

/// A partition fills this many segments before it takes large pages.
const FILLED: u64 = 3;

/// `MADV_COLLAPSE`, of Linux 6.1: the pages are put together now, whatever the settings for large pages say.
const MADV_COLLAPSE: i32 = 25;

/// How far the partitions of a large private region have taken large pages: for each, how many steps were done.
#[derive(Debug, Default)]
pub(crate) struct Taken(Vec<AtomicUsize>);

impl Taken {
    /// The steps of a region with this length and number of partitions, in a file or in private memory.
    pub(crate) fn of(len: usize, partitions: usize, is_private: bool) -> Self {
        let steps = if Memory::is_large_at_once(len, is_private) { 0 } else { partitions };
        Self((0..steps).map(|_| AtomicUsize::new(0)).collect())
    }

    /// A partition of a large private region takes large pages once a few of its segments are filled. What follows then comes
    /// in large pages. Of what is there before the segments, one large page is put together with each segment that is begun:
    /// it takes the system milliseconds, and the lock is not held.
    pub(crate) fn take(&self, partition: Partition<'_>) {
        let memory = partition.memory;
        let of = &partition.places.geometry;
        let number = (partition.base - of.partition_at(0)) / of.partition_len();
        let Some(steps) = self.0.get(number) else { return };
        if memory.load(Count::Begun.at(partition.base)) <= FILLED {
            return;
        }
        let step = steps.load(Ordering::Relaxed);
        let at = partition.base.saturating_add(step.saturating_mul(LARGE_PAGE));
        if at >= partition.base + partition.places.segments {
            return;
        }
        if steps.compare_exchange(step, step + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            if step == 0 {
                memory.wish_for_large_pages(partition.base, of.partition_len());
            }
            memory.collapse(at, 1);
        }
    }
}

impl Memory {
    /// Whether a region of this length takes large pages wherever it is touched.
    pub(crate) fn is_large_at_once(len: usize, is_private: bool) -> bool {
        !is_private || len <= AT_ONCE
    }

    /// No page of the region is a large one until that is wished for.
    pub(crate) fn refuse_large_pages(&self) {
        self.advise(0, self.len(), libc::MADV_NOHUGEPAGE);
    }

    /// Pages that are touched later, of these bytes and of the large pages that they begin and end in, come in large pages.
    pub(crate) fn wish_for_large_pages(&self, at: usize, len: usize) {
        let (at, len) = self.large_around(at, len);
        self.advise(at, len, libc::MADV_HUGEPAGE);
    }

    /// Puts the pages of these bytes together, and of the large pages that they begin and end in. Where no process has touched
    /// a page of a file's, that one is left out.
    pub(crate) fn collapse(&self, at: usize, len: usize) {
        let (at, len) = self.large_around(at, len);
        self.advise(at, len, MADV_COLLAPSE);
    }

    /// Advises the system how to map these bytes. It may ignore that.
    fn advise(&self, at: usize, len: usize, how: i32) {
        if !cfg!(miri) {
            // SAFETY: of this mapping, whose contents it does not change.
            unsafe { libc::madvise(self.at(at, len).cast(), len, how) };
        }
    }

    /// The large pages that some bytes lie in, as an offset and a length, cut to the region.
    fn large_around(&self, at: usize, len: usize) -> (usize, usize) {
        let first = at / LARGE_PAGE * LARGE_PAGE;
        let end = (at + len).next_multiple_of(LARGE_PAGE).min(self.len());
        (first, end.saturating_sub(first))
    }

    /// The bytes that are mapped by large pages.
    pub(crate) fn in_large_pages(&self) -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let first = self.at(0, 0).addr();
        Some(large_in(&maps, first..first + self.len()))
    }
}

/// The bytes in large pages of the mappings that lie in a range of addresses, as `/proc/PID/smaps` lists them.
fn large_in(maps: &str, range: std::ops::Range<usize>) -> u64 {
    const LARGE: [&str; 3] = ["AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"];
    let (mut is_ours, mut bytes) = (false, 0);
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let Some(first) = words.next() else { continue };
        let of_address = |text| usize::from_str_radix(text, 16).ok();
        if let Some((from, _)) = first.split_once('-')
            && let Some(from) = of_address(from)
        {
            is_ours = range.contains(&from);
        } else if is_ours && LARGE.contains(&first) {
            let kib = words.next().and_then(|kib| kib.parse::<u64>().ok());
            bytes += kib.unwrap_or(0) << 10;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Options, Set};

    #[test]
    fn large_pages_are_counted_in_the_mappings_of_a_range() {
        let maps = "1000-2000 rw-p 00000000 00:00 0\nAnonHugePages:    2048 kB\n\
                    2000-9000 rw-s 00000000 00:01 7 /dev/shm/a\nRss: 8 kB\nShmemPmdMapped: 4096 kB\n\
                    9000-a000 rw-s 00000000 00:01 7 /dev/shm/b\nFilePmdMapped: 6144 kB\n";
        assert_eq!(large_in(maps, 0x2000..0x9000), 4096 << 10);
        assert_eq!(large_in(maps, 0..usize::MAX), 12288 << 10);
        assert_eq!(large_in("", 0..usize::MAX), 0);
    }

    #[test]
    #[cfg_attr(miri, ignore = "maps no large pages")]
    fn a_region_begins_with_a_large_page_and_keeps_its_bytes() {
        for len in [LARGE_PAGE - 4096, LARGE_PAGE, 3 * LARGE_PAGE + 4096] {
            let memory = Memory::private(len).unwrap();
            assert!(len < LARGE_PAGE || memory.at(0, 0).addr().is_multiple_of(LARGE_PAGE));
            memory.copy_in(len - 8, b"the last");
            memory.wish_for_large_pages(0, len);
            memory.collapse(0, len);
            assert!(memory.is(len - 8, b"the last"));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn a_large_private_region_takes_memory_as_it_fills() {
        let cache = Cache::private(&Options::of_size(1 << 30)).unwrap();
        let mut session = cache.session();
        for key in 0..1000_u32 {
            session.set(&key.to_le_bytes(), &[1; 100], &Set::default()).unwrap();
        }
        let resident = cache.resident_bytes().unwrap();
        assert!(resident < 32 << 20, "{resident} bytes for a thousand small entries");
        let steps =
            || cache.taken.0.iter().map(|steps| steps.load(Ordering::Relaxed)).sum::<usize>();
        assert_eq!((steps(), cache.large_page_bytes()), (0, Some(0)));
        for key in 0..20_000_u32 {
            session.set(&key.to_le_bytes(), &[1; 16_000], &Set::default()).unwrap();
        }
        let partitions = cache.places.geometry.partitions;
        assert!(steps() >= partitions, "each partition has put a page together: {}", steps());
        // The system may know no large pages, or have none free.
        let setting = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
        let has_large = setting.is_ok_and(|setting| !setting.contains("[never]"));
        let large = cache.large_page_bytes().unwrap();
        assert!(!has_large || large >= 64 << 20, "{large} bytes in large pages");
    }
}
