//! A memory limit for this process and all its children.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use larder_store::{ByteSize, Process};

use super::hierarchy::{Group, Version};
use super::limit_bytes;
use crate::watchdog;

/// The number of attempts to remove the group, and the pause in between: its last processes may just be ending.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Holds this process, and all the processes that it has started since, in a group with a limit of memory. Dropping it
/// moves this process back to its old group and removes the group. A watchdog removes the group when this process ends
/// before that.
#[derive(Debug)]
pub struct MemoryLimit {
    group: Group,
    home: Group,
    has_swap: bool,
    /// A forked child must not remove the group.
    process: Process,
}

impl MemoryLimit {
    /// Makes the group and moves this process into it. Swap does not evade the limit: memory and swap share it, or the
    /// group has no swap. The error names the obstacle and the fix.
    pub fn enter(limit: ByteSize) -> Result<Self, String> {
        let home = Group::own().ok_or(
            "this process has no control group for memory; mount the control groups (/sys/fs/cgroup), or leave the \
             limit out",
        )?;
        if let Some(outer) = limit_bytes().map(ByteSize).filter(|outer| *outer <= limit) {
            return Err(format!(
                "this process already has a limit of {outer}; ask for less, or leave the limit out"
            ));
        }
        let parent = home.chain().find(Group::hands_on).ok_or_else(|| {
            let path = home.path.display();
            let outside = from_outside(limit);
            format!(
                "neither {path} nor a control group above delegates memory to groups below; {outside}"
            )
        })?;
        // In version 2 the new group is beside this process's own group, not below it.
        let left = |group: &Group| *group != parent;
        let limited = home.chain().take_while(left).find_map(|group| group.limiting_file());
        if let Some(file) = limited {
            return Err(format!(
                "this process would escape the limit in {}, because its new group would lie beside the limited \
                 group; remove that limit, or write {} into memory.max there and leave the limit out",
                file.display(),
                limit.0
            ));
        }
        // Random, because a process id comes again and a killed process may have left its group behind.
        let random = RandomState::new().hash_one(std::process::id());
        let name = format!("larder-{}-{random:016x}", std::process::id());
        let group = parent.below(&name);
        let failed = |what: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| match error.kind() {
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    format!("{what} {path}: {error}; run as root, or {}", from_outside(limit))
                }
                _ => format!("{what} {path}: {error}; {}", from_outside(limit)),
            }
        };
        // Registered first: a group that is made and not yet registered would outlive a `kill -9`. Registering also
        // starts the watchdog, if none runs yet, while this process is still outside the group.
        watchdog::watch_group_of_memory(&group.path).map_err(failed("watching", &group.path))?;
        if let Err(error) = fs::create_dir(&group.path) {
            // Files of other owners must stay.
            let _ = watchdog::forget_group_of_memory(&group.path);
            return Err(failed("making", &group.path)(error));
        }
        // From here on, dropping `entered` cleans up, whatever happens.
        let process = Process::current();
        let mut entered = Self { group, home, has_swap: false, process };
        entered.set(limit).map_err(failed("limiting", &entered.group.path))?;
        entered.group.enter().map_err(failed("entering", &entered.group.path))?;
        Ok(entered)
    }

    fn set(&mut self, ByteSize(limit): ByteSize) -> io::Result<()> {
        fs::write(self.group.file("memory.limit_in_bytes", "memory.max"), limit.to_string())?;
        let (swap, most) = match self.group.version {
            Version::One => ("memory.memsw.limit_in_bytes", limit),
            Version::Two => ("memory.swap.max", 0),
        };
        // A kernel without accounting of swap has no such file.
        self.has_swap = fs::write(self.group.path.join(swap), most.to_string()).is_err();
        Ok(())
    }

    /// Whether memory beyond the limit may go into swap, because this kernel does not count swap by groups.
    pub fn has_swap(&self) -> bool {
        self.has_swap
    }
}

impl MemoryLimit {
    /// Moves this process back to its old group. A group that vanished when its last process left is replaced by the
    /// nearest group above it, up to the parent of the limit's group. False where no group accepts the process.
    fn leave(&self) -> bool {
        let bound = self.group.path.parent();
        let mut chain = self
            .home
            .chain()
            .filter(|group| bound.is_none_or(|bound| group.path.starts_with(bound)));
        chain.any(|group| group.enter().is_ok())
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        if !self.leave() {
            // In version 2 a group that delegates memory takes no processes. This group stays until the process ends,
            // without a limit that the next `MemoryLimit` would find. Where even that fails, the next one is refused
            // because of the old limit.
            let _ = self.group.lift();
            return;
        }
        // No caller is left to report a failure to; the watchdog tries again when the process ends.
        for _ in 0..TRIES {
            match fs::remove_dir(&self.group.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => sleep(PAUSE),
                Err(_) => return,
                Ok(()) => {
                    let _ = watchdog::forget_group_of_memory(&self.group.path);
                    return;
                }
            }
        }
    }
}

/// The command that sets the limit without a group of Larder's.
fn from_outside(limit: ByteSize) -> String {
    let short = limit.typed().to_uppercase();
    format!(
        "have it limited from outside: systemd-run --user --scope -p MemoryMax={short} -p \
         MemorySwapMax=0 larder …"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::ScratchDir;

    /// Folders stand for groups: a process is in the groups whose file has its id, and no file is written where no
    /// folder is.
    #[test]
    fn a_process_whose_group_is_gone_goes_to_the_nearest_group_that_accepts_it() {
        let top = ScratchDir::create("cgroup").unwrap();
        let slice = top.path().join("slice");
        let session = slice.join("session");
        let [of_slice, of_session] = [&slice, &session].map(|path| path.join("cgroup.procs"));
        fs::create_dir_all(&session).unwrap();
        let limited = || {
            let parent = Group::in_version_2(&slice, top.path());
            let group = parent.below("larder-1");
            fs::create_dir_all(&group.path).unwrap();
            let home = Group::in_version_2(&session, top.path());
            MemoryLimit { group, home, has_swap: false, process: Process::current() }
        };
        drop(limited());
        assert!(of_session.exists() && !of_slice.exists());
        assert!(!slice.join("larder-1").exists());
        fs::remove_dir_all(&session).unwrap();
        drop(limited());
        assert!(of_slice.exists() && !slice.join("larder-1").exists());
        // This group accepts no process: a folder is in the place of its file.
        fs::remove_file(&of_slice).unwrap();
        fs::create_dir(&of_slice).unwrap();
        let stays = limited();
        let limit = stays.group.path.join("memory.max");
        fs::write(&limit, "67108864").unwrap();
        drop(stays);
        assert_eq!(fs::read_to_string(limit).unwrap(), "max");
        assert!(!top.path().join("cgroup.procs").exists());
    }
}
