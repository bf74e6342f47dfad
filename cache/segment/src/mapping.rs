//! The mapping of memory into this process, from the beginning of a large page on where that is possible.

use std::io;
use std::ptr;

/// A large page. Where the system has them of another size, a region begins in the middle of one.
pub(crate) const LARGE_PAGE: usize = 2 << 20;

/// Maps `len` bytes, from the beginning of a large page on if they fill one and the addresses allow it.
pub(crate) fn map(len: usize, flags: i32, fd: i32) -> io::Result<*mut libc::c_void> {
    let place = if len < LARGE_PAGE || cfg!(miri) { None } else { reserve(len) };
    let (at, flags) = place.map_or((ptr::null_mut(), flags), |at| (at, flags | libc::MAP_FIXED));
    // SAFETY: a new mapping wherever the kernel likes, of nothing that exists, or over addresses that were reserved for it. If
    // the latter fails, they stay reserved: older kernels may have given some back, and who has those by now is not known.
    mapped(unsafe { libc::mmap(at, len, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) })
}

fn mapped(at: *mut libc::c_void) -> io::Result<*mut libc::c_void> {
    if at == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(at) }
}

/// The bytes of a page; `None` where the system does not report it.
pub(crate) fn page_size() -> Option<usize> {
    // SAFETY: sysconf takes no pointer.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()
}

/// Reserves `len` bytes of addresses that begin with a large page; `None` where there are not as many.
fn reserve(len: usize) -> Option<*mut libc::c_void> {
    let all = len.checked_add(LARGE_PAGE)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: addresses that nothing is mapped to, and that nobody may read or write.
    let reserved = unsafe { libc::mmap(ptr::null_mut(), all, libc::PROT_NONE, flags, -1, 0) };
    let reserved = mapped(reserved).ok()?;
    let ahead = reserved.addr().next_multiple_of(LARGE_PAGE) - reserved.addr();
    let page = page_size().unwrap_or(4096);
    // SAFETY: what is given back was reserved above, before and behind the addresses that stay.
    unsafe {
        let end = ahead + len.next_multiple_of(page);
        for (at, len) in [(0, ahead), (end, all.saturating_sub(end))] {
            if len > 0 {
                libc::munmap(reserved.wrapping_byte_add(at), len);
            }
        }
    }
    Some(reserved.wrapping_byte_add(ahead))
}
