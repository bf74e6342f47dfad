//! The owners of locks. Each open region has a number of its own, and a lock of the kernel on the byte of the file with that
//! number. The kernel releases that lock however the process ends.

use std::fs::File;

use crate::{file, fork, futex};

/// The owner of the locks that are taken through one open region.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'c> {
    /// Never 0.
    pub(crate) number: u32,
    /// `None` for private memory: a forked child has a copy, in which no other process holds a lock.
    file: Option<&'c File>,
}

impl<'c> Owner<'c> {
    pub(crate) fn of_file(number: u32, file: &'c File) -> Self {
        Self { number, file: Some(file) }
    }

    #[inline]
    pub(crate) fn private() -> Self {
        Self { number: fork::generation() + 1, file: None }
    }

    /// Whether a thread that holds a lock can still release it. Where the system does not tell, the
    /// answer is yes.
    pub(crate) fn lives(self, number: u32, thread: u32) -> bool {
        if number == self.number {
            return !futex::is_gone(thread);
        }
        self.file.is_some_and(|file| file::is_claimed(file, number) != Some(false))
    }
}
