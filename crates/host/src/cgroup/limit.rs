//! A limit for this process and all that it starts.

use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use larder_store::ByteSize;

use super::hierarchy::{Group, Version};
use super::limit_bytes;
use crate::managed::watchdog;

/// How often it is tried to remove the group, and how long it is waited in between: what was in it may just be ending.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Holds this process, and all that it has started since, in a group with a limit of memory. When it is dropped this process
/// goes back to where it was, and the group is removed; by a watchdog when this process ends before that.
#[derive(Debug)]
pub struct MemoryLimit {
    group: Group,
    home: Group,
    has_swap: bool,
}

impl MemoryLimit {
    /// Makes the group and moves this process into it. Swap is no way around the limit: memory and swap together have it, or
    /// there is no swap in the group. The error says what is missing.
    pub fn enter(limit: ByteSize) -> Result<Self, String> {
        let home = Group::own().ok_or("there is no control group for memory here")?;
        if let Some(outer) = limit_bytes().map(ByteSize).filter(|outer| *outer <= limit) {
            return Err(format!("this process has a limit of {outer} already"));
        }
        let parent = home.chain().find(Group::hands_on).ok_or_else(|| {
            format!(
                "{} and the control groups above it hand no memory on to groups below",
                home.path.display()
            )
        })?;
        // In version 2 the group is not below this process's own, but beside it.
        let limited = home.chain().take_while(|group| *group != parent).find(Group::has_limits);
        if let Some(limited) = limited {
            return Err(format!(
                "{} has limits that this process would be rid of in a group beside it",
                limited.path.display()
            ));
        }
        // Random, because a process id comes again and a killed process may have left its group behind.
        let random = RandomState::new().hash_one(std::process::id());
        let name = format!("larder-{}-{random:016x}", std::process::id());
        let group = parent.below(&name);
        let failed = |what: &'static str, path: &Path| {
            let path = path.display().to_string();
            move |error: io::Error| format!("{what} {path}: {error}")
        };
        // Registered first: what is made and not yet registered would outlive a `kill -9`. It also starts the watchdog, if
        // nobody has, while this process is still outside.
        watchdog::watch_group_of_memory(&group.path).map_err(failed("watching", &group.path))?;
        if let Err(error) = fs::create_dir(&group.path) {
            // What is not ours must stay.
            let _ = watchdog::forget_group_of_memory(&group.path);
            return Err(failed("making", &group.path)(error));
        }
        // From here on, whatever happens, dropping it tidies up.
        let mut entered = Self { group, home, has_swap: false };
        entered.set(limit)?;
        entered.group.enter().map_err(failed("entering", &entered.group.path))?;
        Ok(entered)
    }

    fn set(&mut self, ByteSize(limit): ByteSize) -> Result<(), String> {
        let file = self.group.file("memory.limit_in_bytes", "memory.max");
        fs::write(&file, limit.to_string())
            .map_err(|error| format!("writing {}: {error}", file.display()))?;
        let (swap, most) = match self.group.version {
            Version::One => ("memory.memsw.limit_in_bytes", limit),
            Version::Two => ("memory.swap.max", 0),
        };
        // A kernel without accounting of swap has no such file.
        self.has_swap = fs::write(self.group.path.join(swap), most.to_string()).is_err();
        Ok(())
    }

    /// Whether what is beyond the limit may go into swap, because this kernel does not count swap by groups.
    pub fn has_swap(&self) -> bool {
        self.has_swap
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // Nobody is left to tell of a failure; the watchdog tries again when the process ends.
        let _ = self.home.enter();
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
