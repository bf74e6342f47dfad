//! Events of a comparison while it runs.

use larder_report::{Finding, Operation, Point, Sample};

use crate::plan::Plan;

/// An event of which a person who waits for the run wants to know.
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
        /// The reason why the target cannot run.
        reason: &'a str,
    },
    /// Turns with few keys show how long the plan takes on this machine.
    Fitting,
    /// The plan would take too long on this machine, and is carried out with fewer keys.
    FewerKeys {
        /// The time that the plan would take, and the number of keys that are measured.
        text: &'a str,
    },
    /// So few rounds are planned that no difference can be significant, however clear it is.
    FewRounds {
        /// The number of planned rounds, the number of comparisons, and the number of rounds that
        /// these need.
        text: &'a str,
    },
    /// The cost of the measuring itself is being measured.
    Floor,
    /// All work is done once or more without being measured.
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
        /// The number of rounds.
        rounds: u32,
        /// The target's name.
        target: &'a str,
        /// The point of the sweep.
        point: &'a Point,
    },
    /// A target cannot do what its turn asks of it, and does nothing there.
    Refused {
        /// The target's name.
        target: &'a str,
        /// The reason why the target does nothing.
        reason: &'a str,
    },
    /// A round of a cell is over.
    Measured {
        /// The target's name.
        target: &'a str,
        /// The point of the sweep.
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
        /// The reason why the target failed.
        reason: &'a str,
    },
    /// A check has its first finding on the rounds so far for this target, point and operation. Checks that need all
    /// rounds are not asked yet, and the text of this finding may change with later rounds.
    Fired {
        /// The name of the target that the finding concerns; `None` where it concerns more than one.
        target: Option<&'a str>,
        /// The finding.
        check: &'a Finding,
    },
    /// A turn is over.
    TurnEnded {
        /// The number of turns that are over.
        done: u64,
    },
    /// The rounds are over, or were interrupted: the targets are closed and the results are put together.
    Ended,
    /// A target could not be closed in order: its server had failed, or its files could not be written.
    NotClosed {
        /// The target's name.
        target: &'a str,
        /// The reason.
        reason: &'a str,
    },
}

/// The receiver of events.
pub trait Observer {
    /// Receives an event.
    fn notice(&self, event: Event<'_>);
}

/// An observer that ignores every event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn notice(&self, _: Event<'_>) {}
}
