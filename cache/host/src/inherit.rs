//! Descriptors that a process gives to one that it starts.

use std::env;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::process::{Command, id};

/// Gives descriptors to the process that `command` starts, and no others. It finds their numbers in the variables of
/// these names. A number in the child is the number here.
///
/// Each variable names this process too, so a grandchild does not mistake its own descriptors for these.
pub fn give(command: &mut Command, given: Vec<(&str, Vec<OwnedFd>)>) {
    let mut descriptors = Vec::new();
    for (variable, of_variable) in given {
        let list: Vec<String> = of_variable.iter().map(|fd| fd.as_raw_fd().to_string()).collect();
        command.env(variable, format!("{}:{}", id(), list.join(",")));
        descriptors.extend(of_variable);
    }
    let keep_open = move || {
        // A library may have left descriptors open for children.
        // SAFETY: the call closes nothing before exec, and touches no memory. An older system refuses it. The C library has a
        // function for it only since glibc 2.34.
        unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, CLOSE_RANGE_CLOEXEC) };
        // The closure owns the descriptors, so that they are open at the time of the call.
        descriptors.iter().try_for_each(|descriptor| set_flags(descriptor.as_raw_fd(), 0))
    };
    // SAFETY: the closure calls close_range and fcntl alone, and allocates nothing.
    unsafe { command.pre_exec(keep_open) };
}

/// Takes the descriptors that the parent of this process has given it by a variable of this name; none where it gave none.
/// Children of this process do not get them.
///
/// # Safety
///
/// It is called once for a name, before this process opens descriptors of its own.
pub unsafe fn take(variable: &str) -> Vec<OwnedFd> {
    let Ok(given) = env::var(variable) else { return Vec::new() };
    let Some((parent, list)) = given.split_once(':') else { return Vec::new() };
    if parent.parse() != Ok(parent_id()) {
        return Vec::new();
    }
    let numbers = list.split(',').filter_map(|number| number.parse::<RawFd>().ok());
    // A number that is not open has no flags to set.
    let open = numbers.filter(|number| set_flags(*number, libc::FD_CLOEXEC).is_ok());
    // SAFETY: the parent has left these open for this process alone, as the caller knows.
    open.map(|number| unsafe { OwnedFd::from_raw_fd(number) }).collect()
}

fn set_flags(descriptor: RawFd, flags: libc::c_int) -> io::Result<()> {
    // SAFETY: fcntl changes a flag of the descriptor only, or reports that it is not open.
    match unsafe { libc::fcntl(descriptor, libc::F_SETFD, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The flag of `close_range` that closes at the next exec.
const CLOSE_RANGE_CLOEXEC: libc::c_int = 1 << 2;
