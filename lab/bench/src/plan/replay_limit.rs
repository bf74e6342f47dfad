//! The most hits that a replay can have, and what that depends on.

use larder_workload::trace::Trace;

/// The greatest hit ratio of a replay on a store that is empty at first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayLimit {
    ratio: f64,
    /// Whether it depends on the order of the operations and on their conditions. Requests that overtake each other may find
    /// what a delete or a TTL had ended in the trace, or what was stored later.
    needs_order: bool,
    /// Whether some operation stores only under a condition.
    has_conditions: bool,
}

impl ReplayLimit {
    /// The limit of all reads of a trace, of which this share can hit in its order.
    pub(super) fn new(ratio: f64, trace: &Trace, fills: bool) -> Self {
        let stats = trace.stats();
        #[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
        let allowed = stats.gets as f64 * ratio;
        #[expect(clippy::cast_precision_loss, reason = "a ratio of counts")]
        let in_any_order = trace.most_hits_in_any_order(fills) as f64;
        // The ratio may be off by the error of its arithmetic.
        let needs_order = in_any_order > allowed + 1e-6;
        Self { ratio, needs_order, has_conditions: stats.conditional > 0 }
    }

    /// The limit of a target that carries out one operation after the other, and keeps conditions, or does not; `None` where
    /// such a target may hit more.
    pub(crate) fn of(self, in_order: bool, with_conditions: bool) -> Option<f64> {
        let as_recorded = in_order && (with_conditions || !self.has_conditions);
        (as_recorded || !self.needs_order).then_some(self.ratio)
    }
}
