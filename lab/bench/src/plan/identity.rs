//! What a plan was asked to be, as a short text: results of the same plan may take each other's place in a folder.

use std::fmt::Write;

use super::Plan;
use larder_workload::trace::TraceSource;

/// A plan as a short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanIdentity {
    /// With the content of its traces: another file under the same name is another plan.
    pub text: String,
    /// The same as earlier versions wrote it, which knew a trace by its path alone.
    pub by_path: String,
}

impl PlanIdentity {
    /// A plan on traces, which are read for their content.
    pub fn on_traces(by_path: String, traces: &[TraceSource]) -> Self {
        let mut text = by_path.clone();
        for content in traces.iter().filter_map(TraceSource::content) {
            let _ = write!(text, ", {content}");
        }
        Self { text, by_path }
    }
}

impl From<String> for PlanIdentity {
    /// A plan without a trace.
    fn from(text: String) -> Self {
        Self { by_path: text.clone(), text }
    }
}

impl Plan {
    /// A hash of the scenario, the targets, the workload in words, the points, the rounds and the seed, and the content of
    /// the traces. It is taken before [`fit`](crate::fit), which may choose other keys on another day.
    pub fn identity(&self) -> PlanIdentity {
        let mut text = format!("{} {:?} {} {}\n", self.scenario, self.form, self.seed, self.rounds);
        for target in &self.targets {
            let _ = writeln!(text, "{} {}", target.url, target.name);
        }
        let _ = writeln!(text, "{:?}", self.workload);
        for point in &self.points {
            let _ = writeln!(text, "{:?}", point.point);
        }
        if let Some(slice) = &self.slice {
            let _ = writeln!(text, "{} of {}", slice.number, slice.of);
        }
        let hash = format!("{:016x}", rapidhash::v3::rapidhash_v3(text.as_bytes()));
        PlanIdentity::on_traces(hash, &self.traces)
    }
}
