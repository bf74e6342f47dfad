//! The measured loop and its surroundings: draws before, clocks and counters around, read-back after.

mod block;
mod clock;
mod curve;
mod draw;
mod failures;
mod judge;
mod key_state;
mod lanes;
mod loads;
mod pace;
mod packed;
mod phase;
mod readback;
mod requests;
mod stores;
mod tally;
mod timeline;
mod work;
mod worker;

pub(crate) use block::{Block, Op};
pub(crate) use clock::{Clocks, Scheduled, cpu_ns_of, now_ns};
pub use clock::{reading_cost_ns, thread_cpu_ns};
pub(crate) use curve::{curve, up_to};
pub(crate) use draw::{Draw, DrawPlan};
pub(crate) use key_state::KeyState;
pub(crate) use pace::Arrivals;
pub use packed::Packed;
pub use phase::{Driven, Offered, PhasePlan, PhaseResult};
pub(crate) use phase::{run_phase, seconds};
pub use readback::ReadBack;
pub(crate) use readback::{Reader, deleted, samples, set_again, spread};
pub use tally::{PacedTally, Tallies, Tally};
pub(crate) use tally::{add_examples, figures, merged};
pub(crate) use work::READS;
pub use work::{KeySource, Work};
