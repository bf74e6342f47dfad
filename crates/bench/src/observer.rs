//! What a comparison tells while it runs.

use larder_report::Point;

/// Something happened that a person who waits wants to know.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A target is being opened, or its server started.
    Opening {
        /// The target's name.
        target: &'a str,
    },
    /// A target's limits are being probed.
    Probing {
        /// The target's name.
        target: &'a str,
    },
    /// A target cannot run.
    Unavailable {
        /// The target's name.
        target: &'a str,
        /// Why not.
        reason: &'a str,
    },
    /// The cost of the measuring itself is being measured.
    Floor,
    /// The rounds begin.
    Started {
        /// Turns in all: rounds × points × targets.
        turns: u64,
    },
    /// A target's turn begins.
    Turn {
        /// The round, from 1.
        round: u32,
        /// How many there are.
        rounds: u32,
        /// The target's name.
        target: &'a str,
        /// Where in the sweep.
        point: &'a Point,
    },
    /// A turn is over.
    TurnEnded {
        /// How many turns are.
        done: u64,
    },
}

/// Who is told.
pub trait Observer {
    /// Something happened.
    fn notice(&self, event: Event<'_>);
}

/// Nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&self, _: Event<'_>) {}
}
