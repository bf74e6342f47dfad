//! Descriptors that a process gives to one that it starts.

use std::env;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd as _, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt as _, parent_id};
use std::process::{Command, id};

/// Gives the descriptors to the process that `command` starts, which finds their numbers in a variable of this name.
///
/// A number in the child is the number here. The variable names this process too, so a grandchild does not mistake its
/// own descriptors for these.
pub fn give(command: &mut Command, variable: &str, descriptors: Vec<OwnedFd>) {
    let numbers: Vec<RawFd> = descriptors.iter().map(AsRawFd::as_raw_fd).collect();
    let list: Vec<String> = numbers.iter().map(RawFd::to_string).collect();
    command.env(variable, format!("{}:{}", id(), list.join(",")));
    let keep_open = move || {
        // The closure owns them, so that they are open at the time of the call.
        for descriptor in &descriptors {
            // SAFETY: fcntl may be called between fork and exec, and changes a flag of this descriptor only.
            if unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_SETFD, 0) } < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: the closure calls fcntl alone, and allocates nothing.
    unsafe { command.pre_exec(keep_open) };
}

/// Takes the descriptors that the parent of this process has given it by a variable of this name; none where it gave none.
///
/// # Safety
///
/// It is called once, before this process opens descriptors of its own.
pub unsafe fn take(variable: &str) -> Vec<OwnedFd> {
    let Ok(given) = env::var(variable) else { return Vec::new() };
    let Some((parent, list)) = given.split_once(':') else { return Vec::new() };
    if parent.parse() != Ok(parent_id()) {
        return Vec::new();
    }
    let numbers = list.split(',').filter_map(|number| number.parse::<RawFd>().ok());
    // SAFETY: fcntl only asks for a flag, and tells which descriptors are open.
    let open = numbers.filter(|number| unsafe { libc::fcntl(*number, libc::F_GETFD) } >= 0);
    // SAFETY: the parent has left these open for this process alone, as the caller knows.
    open.map(|number| unsafe { OwnedFd::from_raw_fd(number) }).collect()
}
