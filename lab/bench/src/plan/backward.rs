//! Traces whose times go back. A replay at recorded times has what lies before an earlier operation come at once: a few such
//! operations are a note, and many make the load another one than the recorded.

use larder_report::figures::{count, seconds};
use larder_workload::trace::{Backward, Trace};

use crate::error::{Result, usage};

/// From this part of all operations on, a replay is refused.
const MANY: usize = 10;

/// Refuses a trace of which too many operations would come at once.
pub(super) fn check(trace: &Trace, option: &str, otherwise: &str) -> Result<()> {
    let Some((backward, late)) = trace.backward().filter(|(_, late)| late * MANY >= trace.len())
    else {
        return Ok(());
    };
    Err(usage(format!(
        "{option}: {}, so that {late} of {} would come at once; put the trace in the order of its times, or {otherwise}",
        described(backward),
        count(trace.len(), "operation")
    )))
}

/// What is told of a trace that is replayed nonetheless.
pub(super) fn note(trace: &Trace) -> Option<String> {
    let (backward, late) = trace.backward()?;
    Some(format!(
        "{}; what is before an earlier operation comes at once with it: {}",
        described(backward),
        count(late, "operation")
    ))
}

fn described(backward: Backward) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a time in few digits")]
    let most = seconds(backward.most_us as f64 / 1e6);
    let times =
        if backward.steps == 1 { "once".into() } else { format!("{} times", backward.steps) };
    format!("the times of the trace go back {times}, by {most} at most")
}
