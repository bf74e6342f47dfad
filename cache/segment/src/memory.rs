//! The region: bytes that other processes may change while this process reads them.
//!
//! There is no `&[u8]` of the region, because such a reference promises that nobody writes. Words of eight bytes are
//! atomics. All other bytes are copied in and out by instructions that the compiler knows nothing about. A reader checks
//! after the copy whether it is whole. Every access is checked against the region's length, because offsets come out of
//! the region.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::mapping;
// The others have them from here, where a model checker puts its own.
pub(crate) use std::sync::atomic::{AtomicU64, fence};

/// A word of the region as a number of bytes or of other units: regions exist only on machines with 64-bit
/// addresses.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the crate is not built where it could")]
pub(crate) const fn size(word: u64) -> usize {
    word as usize
}

/// The bytes that the processor fetches together.
pub(crate) const LINE: usize = 64;

/// The most lines that are prefetched at once: the processor has this many on their way together.
const MOST_LINES: usize = 20;

/// A mapping, unmapped when it is dropped.
#[derive(Debug)]
pub(crate) struct Memory {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to no thread. All accesses are atomic, or copies that are no race in the eyes of the
// language.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    /// Zeroed memory of this process; a forked child gets a copy.
    pub(crate) fn private(len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
    }

    /// The first `len` bytes of a file, which must be that long.
    pub(crate) fn of_file(file: &File, len: usize) -> io::Result<Self> {
        Self::map(len, libc::MAP_SHARED, file.as_raw_fd())
    }

    fn map(len: usize, flags: i32, fd: i32) -> io::Result<Self> {
        let base = mapping::map(len, flags, fd)?;
        let base = NonNull::new(base.cast()).ok_or_else(|| io::Error::other("mapped at zero"))?;
        let memory = Self { base, len };
        if Self::is_large_at_once(len, fd < 0) {
            memory.wish_for_large_pages(0, len);
        } else {
            memory.refuse_large_pages();
        }
        Ok(memory)
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The resident bytes; `None` where the system does not report them.
    pub(crate) fn resident(&self) -> Option<u64> {
        let page = mapping::page_size()?;
        let mut pages = vec![0_u8; self.len.div_ceil(page)];
        // SAFETY: of this mapping, with a byte for each of its pages.
        let status = unsafe { libc::mincore(self.at(0, 0).cast(), self.len, pages.as_mut_ptr()) };
        let resident = pages.iter().filter(|page| **page & 1 == 1).count();
        (status == 0).then_some((resident * page) as u64)
    }

    /// Waits until the first `len` bytes are on the disk of their file.
    pub(crate) fn write_back(&self, len: usize) -> io::Result<()> {
        // SAFETY: of this mapping, whose contents it does not change.
        match unsafe { libc::msync(self.at(0, len).cast(), len, libc::MS_SYNC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// The address of `len` bytes at `at`. Panics where they are not all in the region; for offsets from the region, ask
    /// [`holds`](Self::holds) first.
    #[inline]
    pub(crate) fn at(&self, at: usize, len: usize) -> *mut u8 {
        assert!(self.holds(at, len), "{len} bytes at {at} of {}", self.len);
        // SAFETY: within the mapping.
        unsafe { self.base.as_ptr().add(at) }
    }

    #[inline]
    pub(crate) fn holds(&self, at: usize, len: usize) -> bool {
        at.checked_add(len).is_some_and(|end| end <= self.len)
    }

    /// The word at an offset that eight divides.
    #[inline]
    pub(crate) fn word(&self, at: usize) -> &AtomicU64 {
        let word = self.at(at, 8);
        assert!(at.is_multiple_of(8), "no word at {at}");
        // SAFETY: mapped as long as `self` is, aligned since the mapping begins at a page, and never accessed otherwise than
        // atomically or by the copies below.
        unsafe { AtomicU64::from_ptr(word.cast()) }
    }

    /// The words of a line that begins at an offset which eight divides.
    #[inline]
    pub(crate) fn line(&self, at: usize) -> &[AtomicU64; LINE / 8] {
        let line = self.at(at, LINE);
        assert!(at.is_multiple_of(8), "no line at {at}");
        // SAFETY: as above, and an array is words one after the other.
        unsafe { &*line.cast() }
    }

    #[inline]
    pub(crate) fn load(&self, at: usize) -> u64 {
        self.word(at).load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn store(&self, at: usize, value: u64) {
        self.word(at).store(value, Ordering::Relaxed);
    }

    /// Appends `len` bytes to `into`. They may come from several writers; the caller must find out.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    pub(crate) fn copy_out(&self, at: usize, len: usize, into: &mut Vec<u8>) {
        let from = self.at(at, len);
        into.reserve(len);
        let to = into.spare_capacity_mut().as_mut_ptr().cast();
        // SAFETY: both are `len` bytes, of which the second are this thread's alone, and the first lie in a mapping that
        // `into` is no part of. They are then initialised.
        unsafe {
            copy(to, from, len);
            into.set_len(into.len() + len);
        }
    }

    /// Copies `bytes` to `at`, where no other thread writes now.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[inline]
    pub(crate) fn copy_in(&self, at: usize, bytes: &[u8]) {
        let to = self.at(at, bytes.len());
        // SAFETY: as above, the other way round.
        unsafe { copy(to, bytes.as_ptr(), bytes.len()) }
    }

    /// Appends `len` bytes to `into`, by whole words: atomics of two sizes may not race with each other.
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    pub(crate) fn copy_out(&self, at: usize, len: usize, into: &mut Vec<u8>) {
        let (mut word, mut skip) = (at / 8 * 8, at % 8);
        let end = into.len() + len;
        while into.len() < end {
            let bytes = &self.load(word).to_ne_bytes()[skip..];
            into.extend_from_slice(&bytes[..bytes.len().min(end - into.len())]);
            (word, skip) = (word + 8, 0);
        }
    }

    /// Copies `bytes` to `at`, by whole words. No other thread writes these words now, nor the rest of the first
    /// and last word.
    #[cfg(any(not(target_arch = "x86_64"), miri))]
    pub(crate) fn copy_in(&self, at: usize, mut bytes: &[u8]) {
        let (mut word, mut skip) = (at / 8 * 8, at % 8);
        while !bytes.is_empty() {
            let mut becomes = self.load(word).to_ne_bytes();
            let (now, later) = bytes.split_at(bytes.len().min(8 - skip));
            becomes[skip..skip + now.len()].copy_from_slice(now);
            self.store(word, u64::from_ne_bytes(becomes));
            (word, skip, bytes) = (word + 8, 0, later);
        }
    }

    /// Whether the bytes at `at`, a multiple of eight, equal `bytes`. The rest of the last word must be in the region, too.
    #[inline]
    pub(crate) fn is(&self, at: usize, bytes: &[u8]) -> bool {
        let (whole, rest) = bytes.as_chunks::<8>();
        for (i, word) in whole.iter().enumerate() {
            if self.load(at + 8 * i) != u64::from_ne_bytes(*word) {
                return false;
            }
        }
        if rest.is_empty() {
            return true;
        }
        let (mut word, mut mask) = ([0; 8], [0; 8]);
        word[..rest.len()].copy_from_slice(rest);
        mask[..rest.len()].fill(u8::MAX);
        let there = self.load(at + 8 * whole.len()) & u64::from_ne_bytes(mask);
        there == u64::from_ne_bytes(word)
    }

    /// Prefetches the line at `at`.
    #[inline]
    pub(crate) fn prefetch(&self, at: usize) {
        if self.holds(at, 1) {
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: a hint, which cannot fault.
            unsafe {
                use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T0>(self.base.as_ptr().add(at).cast());
            }
        }
    }

    /// Prefetches the lines of `len` bytes at `at` for writing; of a long range only the first lines.
    #[inline]
    pub(crate) fn prefetch_to_write(&self, at: usize, len: usize) {
        for line in (at..at + len).step_by(LINE).take(MOST_LINES) {
            if self.holds(line, 1) {
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                // SAFETY: as above.
                unsafe {
                    use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
                    _mm_prefetch::<_MM_HINT_ET0>(self.base.as_ptr().add(line).cast());
                }
            }
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `map`, and nothing that was made of it outlives `self`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Copies bytes that other threads may write meanwhile.
///
/// The instructions are opaque to the compiler, so there is no race of which it could draw conclusions. Short copies go by
/// sixteen bytes, and the last sixteen overlap. The string instruction takes longer to begin and then is as fast as
/// `memcpy`.
///
/// # Safety
///
/// Both must be `len` bytes that are mapped, and must not overlap; only this thread may use one of the two.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline]
unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    if !(16..=SHORT).contains(&len) {
        // SAFETY: as the caller promises; the direction flag is clear by the calling convention.
        unsafe {
            std::arch::asm!(
                "rep movsb",
                inout("rcx") len => _,
                inout("rdi") to => _,
                inout("rsi") from => _,
                options(nostack, preserves_flags)
            );
        }
        return;
    }
    // SAFETY: as the caller promises, and no step reaches beyond the last sixteen bytes.
    unsafe {
        std::arch::asm!(
            "2:",
            "movups {bytes}, [{from} + {at}]",
            "movups [{to} + {at}], {bytes}",
            "add {at}, 16",
            "cmp {at}, {last}",
            "jb 2b",
            "movups {bytes}, [{from} + {last}]",
            "movups [{to} + {last}], {bytes}",
            bytes = out(xmm_reg) _,
            at = inout(reg) 0_usize => _,
            from = in(reg) from,
            to = in(reg) to,
            last = in(reg) len - 16,
            options(nostack)
        );
    }
}

/// The longest copy by sixteen bytes at a time.
#[cfg(all(target_arch = "x86_64", not(miri)))]
const SHORT: usize = 2048;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_went_in() {
        let memory = Memory::private(4096).unwrap();
        for (at, len) in
            [(0, 0), (8, 7), (13, 8), (8, 16), (24, 17), (16, 250), (96, 513), (4000, 96)]
        {
            let bytes: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap() + 1).collect();
            memory.copy_in(at, &bytes);
            let mut out = vec![9];
            memory.copy_out(at, len, &mut out);
            assert_eq!(out[1..], bytes);
            if at % 8 == 0 {
                assert!(memory.is(at, &bytes));
                for wrong in 0..len {
                    memory.copy_in(at + wrong, &[0]);
                    assert!(!memory.is(at, &bytes), "{wrong} of {len} at {at}");
                    memory.copy_in(at + wrong, &bytes[wrong..=wrong]);
                }
            }
        }
    }

    #[test]
    fn nothing_beyond_the_region_is_touched() {
        let memory = Memory::private(4096).unwrap();
        assert!(memory.holds(0, 4096) && memory.holds(4096, 0));
        assert!(!memory.holds(1, 4096) && !memory.holds(usize::MAX, 2));
        memory.prefetch(usize::MAX);
        assert!(std::panic::catch_unwind(|| memory.load(4096)).is_err());
    }
}
