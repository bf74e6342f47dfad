//! Limits of this process.

use std::io;

/// How many files this process may have open, and how many it may allow itself.
///
/// # Errors
///
/// What the system reports.
pub fn open_files() -> io::Result<(u64, u64)> {
    read().map(|limit| (limit.rlim_cur, limit.rlim_max))
}

/// Raises the limit of open files to what this process may allow itself.
///
/// # Errors
///
/// What the system reports; the limit is then as it was.
pub fn raise_open_files() -> io::Result<()> {
    let mut limit = read()?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the call only reads the structure.
    succeeded(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) })
}

/// Lets this thread have the processor only where others of this process leave it.
pub fn give_way() {
    const NICE: libc::c_int = 10;
    // SAFETY: the call touches no memory. Of Linux, 0 is the calling thread. A refusal changes nothing.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

fn read() -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call writes exactly the structure that it is given.
    succeeded(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok(limit)
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
