//! The time by which layers wait, which tests replace.

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

/// The time by which a breaker counts and a retry waits.
pub trait Timer: fmt::Debug + Send + Sync {
    /// The time now.
    fn now(&self) -> Instant;

    /// Waits.
    fn pause(&self, time: Duration);
}

/// The time of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTimer;

impl Timer for SystemTimer {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn pause(&self, time: Duration) {
        thread::sleep(time);
    }
}
