//! Large pages: a key's line and its record are on two pages of which neither was needed just now, so fewer and larger ones
//! are better. All of it is a wish: the system may know no large pages for a mapping, or have none free.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::cache::Cache;
use crate::memory::Memory;
use crate::partition::Partition;
use crate::tally::Count;

/// A large page. Where the system has them of another size, a region begins in the middle of one.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// A private region of more than this takes large pages as it fills, so that a few entries do not take a page for each line
/// of the index.
const AT_ONCE: usize = 64 << 20;

/// A partition has filled so many segments before it takes large pages.
const FILLED: u64 = 3;

/// `MADV_COLLAPSE`, of Linux 6.1: the pages are put together now, whatever the settings for large pages say.
#[cfg(not(miri))]
const MADV_COLLAPSE: i32 = 25;

/// The partitions of a private region that have taken large pages, a bit each.
#[derive(Debug, Default)]
pub(crate) struct Taken(AtomicU64);

impl Taken {
    /// Those of a region of so many bytes, of one in a file or in private memory.
    pub(crate) fn of(len: usize, is_private: bool) -> Self {
        Self(AtomicU64::new(if is_private && len > AT_ONCE { 0 } else { u64::MAX }))
    }

    /// Notes a partition; whether it had not taken them.
    fn note(&self, partition: usize) -> bool {
        let bit = 1_u64.checked_shl(u32::try_from(partition).unwrap_or(u32::MAX)).unwrap_or(0);
        self.0.load(Ordering::Relaxed) & bit != bit
            && self.0.fetch_or(bit, Ordering::Relaxed) & bit != bit
    }
}

impl Cache {
    /// Bytes of the region that this process reaches by large pages, in which it needs fewer of the processor's notes on
    /// pages; `None` where the system does not tell.
    ///
    /// A region in a file has them on a file system in memory, from Linux 6.1 on, whatever its settings; a private one where
    /// the system's setting is not `never`.
    pub fn large_page_bytes(&self) -> Option<u64> {
        self.memory().in_large_pages()
    }

    /// A partition of a large private region takes large pages once a few of its segments are filled: what it has is put
    /// together, and what follows comes so. It is done once a partition, without its lock.
    pub(crate) fn take_large_pages(&self, partition: Partition<'_>) {
        let begun = self.memory().load(Count::Begun.at(partition.base));
        if begun <= FILLED {
            return;
        }
        let of = &self.places.geometry;
        let number = (partition.base - of.partition_at(0)) / of.partition_len();
        if self.taken.note(number) {
            let index = partition.places.segments;
            self.memory().wish_for_large_pages(partition.base, of.partition_len());
            let _ = self.memory().collapse(partition.base, index);
        }
    }
}

impl Memory {
    /// Whether a region of so many bytes takes large pages wherever it is touched.
    pub(crate) fn is_large_at_once(len: usize, is_private: bool) -> bool {
        !is_private || len <= AT_ONCE
    }

    /// What is touched from now on of these bytes comes in large pages.
    pub(crate) fn wish_for_large_pages(&self, at: usize, len: usize) {
        let (at, len) = self.large_within(at, len);
        // SAFETY: of this mapping, whose contents it does not change.
        #[cfg(not(miri))]
        unsafe {
            libc::madvise(self.at(at, len).cast(), len, libc::MADV_HUGEPAGE)
        };
    }

    /// Puts the pages of these bytes together. Those that nobody has touched are left out, where all are of a file.
    pub(crate) fn collapse(&self, at: usize, len: usize) -> io::Result<()> {
        let (at, len) = self.large_within(at, len);
        #[cfg(not(miri))]
        // SAFETY: of this mapping, whose contents it does not change.
        if len > 0 && unsafe { libc::madvise(self.at(at, len).cast(), len, MADV_COLLAPSE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// The large pages that lie in these bytes as a whole, as an offset and a length.
    fn large_within(&self, at: usize, len: usize) -> (usize, usize) {
        let base = self.at(0, 0).addr();
        let first = (base + at).next_multiple_of(LARGE_PAGE);
        let end = (base + at + len) / LARGE_PAGE * LARGE_PAGE;
        if end <= first { (at, 0) } else { (first - base, end - first) }
    }

    /// The bytes that are mapped by large pages.
    fn in_large_pages(&self) -> Option<u64> {
        let maps = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let first = self.at(0, 0).addr();
        Some(large_in(&maps, first..first + self.len()))
    }
}

/// The bytes in large pages of the mappings that lie in a range of addresses, as `/proc/PID/smaps` tells them.
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

/// Maps so many bytes, from the beginning of a large page on if they fill one.
pub(crate) fn map(len: usize, flags: i32, fd: i32) -> io::Result<*mut libc::c_void> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let mapped = |at: *mut libc::c_void| {
        if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at) }
    };
    if len < LARGE_PAGE || cfg!(miri) {
        // SAFETY: a new mapping wherever the kernel likes, of nothing that exists.
        return mapped(unsafe { libc::mmap(ptr::null_mut(), len, access, flags, fd, 0) });
    }
    let all = len.checked_add(LARGE_PAGE).ok_or(io::ErrorKind::OutOfMemory)?;
    let place = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: addresses that nothing is mapped to, and that nobody may read or write.
    let reserved =
        mapped(unsafe { libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, place, -1, 0) })?;
    let ahead = reserved.addr().next_multiple_of(LARGE_PAGE) - reserved.addr();
    let begin = reserved.wrapping_byte_add(ahead);
    // SAFETY: within the addresses reserved above, which are nobody else's.
    let fixed = mapped(unsafe { libc::mmap(begin, len, access, flags | libc::MAP_FIXED, fd, 0) });
    // SAFETY: as above; `page` is what the kernel takes, and what is left lies before and behind the mapping.
    unsafe {
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
        let end = ahead + len.next_multiple_of(page);
        if fixed.is_err() {
            libc::munmap(reserved, all);
        } else {
            if ahead > 0 {
                libc::munmap(reserved, ahead);
            }
            if end < all {
                libc::munmap(reserved.wrapping_byte_add(end), all - end);
            }
        }
    }
    fixed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, Set};

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
            let _ = memory.collapse(0, len);
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
        assert!(!cache.taken.note(99), "there is no such partition");
        let before = cache.taken.0.load(Ordering::Relaxed);
        for key in 0..20_000_u32 {
            session.set(&key.to_le_bytes(), &[1; 16_000], &Set::default()).unwrap();
        }
        assert_ne!(cache.taken.0.load(Ordering::Relaxed), before, "filled partitions take them");
    }
}
