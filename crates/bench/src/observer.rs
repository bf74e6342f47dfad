//! Events of a comparison while it runs.

use larder_report::{Check, Operation, Point, Sample};

use crate::plan::Plan;

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
    /// It is tried how long the plan takes on this machine.
    Fitting,
    /// The plan would take too long on this machine, and is carried out with fewer keys.
    FewerKeys {
        /// How long, and with how many keys.
        text: &'a str,
    },
    /// So few rounds are planned that no difference can be told, however clear it is.
    FewRounds {
        /// How many are planned, over how many comparisons, and how many are needed.
        text: &'a str,
    },
    /// The cost of the measuring itself is being measured.
    Floor,
    /// Everything is done once or more without being measured.
    WarmUp,
    /// The rounds begin.
    Started {
        /// The plan of the run.
        plan: &'a Plan,
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
    /// A target cannot do what its turn asks of it, and does nothing there.
    Refused {
        /// The target's name.
        target: &'a str,
        /// Why not.
        reason: &'a str,
    },
    /// A round of a cell is over.
    Measured {
        /// The target's name.
        target: &'a str,
        /// Where in the sweep.
        point: &'a Point,
        /// The operation.
        operation: Operation,
        /// The result.
        sample: &'a Sample,
    },
    /// A target failed for good and will have no more turns.
    Lost {
        /// The target's name.
        target: &'a str,
        /// Why.
        reason: &'a str,
    },
    /// A check fired on the rounds so far that had not fired there before. Those that need all of them have not been
    /// asked, and the text of this one may change with the rounds to come.
    Fired {
        /// The name of the target that it concerns; `None` where it concerns more than one.
        target: Option<&'a str>,
        /// The finding.
        check: &'a Check,
    },
    /// A turn is over.
    TurnEnded {
        /// How many turns are.
        done: u64,
    },
    /// The rounds are over, or were interrupted: the targets are closed and what was measured is put together.
    Ended,
}

/// The receiver of events.
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
