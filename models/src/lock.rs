//! A lock that nobody waits for: who finds it held has waited as long as he would. Who dies with it leaves it to the next.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::memory::{AtomicU64, Memory};

pub(crate) const LEN: usize = 64;

const FREE: u64 = 0;
const HELD: u64 = 1;
const LEFT: u64 = 2;

#[derive(Debug)]
pub(crate) struct Held<'m> {
    word: &'m AtomicU64,
    pub(crate) owner_died: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotHeld {
    Busy,
}

pub(crate) fn make(memory: &Memory, at: usize) -> io::Result<()> {
    memory.store(at, FREE);
    Ok(())
}

pub(crate) fn take(memory: &Memory, at: usize, _: Duration) -> Result<Held<'_>, NotHeld> {
    let word = memory.word(at);
    for is in [FREE, LEFT] {
        if word.compare_exchange(is, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            return Ok(Held { word, owner_died: is == LEFT });
        }
    }
    Err(NotHeld::Busy)
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let is = if std::thread::panicking() { LEFT } else { FREE };
        self.word.let_go(is);
    }
}
