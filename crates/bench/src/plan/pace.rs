//! The rate of operations at a point, resolved.

use std::sync::Arc;

use crate::error::{Result, usage};
use crate::measure::{Arrivals, seconds};
use larder_workload::trace::Trace;
use larder_workload::{ArrivalKind, Bound, WorkloadSpec};

/// The rate at which operations come, whether a target keeps up or not.
#[derive(Debug, Clone)]
pub(crate) struct PlannedPace {
    /// Operations a second, of all threads together; `None` for the recorded rate.
    rate: Option<f64>,
    /// The spacing of operations over time.
    arrivals: ArrivalKind,
    /// When the operations of a trace were recorded, in nanoseconds, and how long all of them took.
    recorded: Option<(Arc<[u64]>, u64)>,
    /// The bound within which the highest rate is searched for; until a rate is tried, the loop is closed.
    search: Option<Bound>,
}

impl PlannedPace {
    /// The pace of a workload; `None` where the workload sets no pace, for a closed loop.
    pub(super) fn of(
        spec: &WorkloadSpec,
        rate: Option<u32>,
        trace: Option<&Trace>,
    ) -> Result<Option<Self>> {
        let arrivals = spec.arrivals.unwrap_or_default();
        let recorded = match (arrivals, trace) {
            (ArrivalKind::Trace, None) => {
                return Err(usage("--arrivals trace: no trace is replayed; add --keys-from trace:FILE"));
            }
            (ArrivalKind::Trace, Some(trace)) => Some(trace.arrivals().ok_or_else(|| {
                usage("--arrivals trace: this trace has no times; take fixed or exponential, with a --rate")
            })?),
            _ => None,
        };
        check_alone(spec)?;
        let search = spec.search;
        if rate.is_none() && recorded.is_none() && search.is_none() {
            return match spec.arrivals {
                Some(arrivals) => Err(usage(format!(
                    "--arrivals {arrivals}: the plan has no rate; add a --rate, or leave out --arrivals"
                ))),
                None => Ok(None),
            };
        }
        Ok(Some(Self { rate: rate.map(f64::from), arrivals, recorded, search }))
    }

    /// The time until `requests` operations are scheduled, in seconds.
    pub(crate) fn lasts(&self, requests: Option<u64>) -> f64 {
        let arrivals = requests.and_then(|n| Some((n, self.arrivals(None, 0)?)));
        arrivals.map_or(0.0, |(n, arrivals)| seconds(arrivals.due(n)))
    }

    /// The bound within which the highest rate is searched for.
    pub(crate) fn search(&self) -> Option<Bound> {
        self.search
    }

    /// The schedule of a turn, the same for all targets; with a `rate`, at that rate. `None` where no rate is set.
    pub(crate) fn arrivals(&self, rate: Option<f64>, seed: u64) -> Option<Arrivals> {
        let rate = rate.or(self.rate);
        if rate.is_none() && self.search.is_some() {
            return None;
        }
        match (&self.recorded, self.arrivals) {
            (Some((at, lasts)), _) => Some(Arrivals::recorded(Arc::clone(at), *lasts, rate)),
            (None, ArrivalKind::Exponential) => Some(Arrivals::exponential(rate?, seed)),
            (None, _) => Some(Arrivals::fixed(rate?)),
        }
    }
}

/// Refuses two options that both set the rate; a scenario may name both.
fn check_alone(spec: &WorkloadSpec) -> Result<()> {
    match (&spec.rate, spec.scan, spec.search) {
        (Some(rate), Some(scan), _) => {
            Err(usage(format!("--scan {scan} with --rate {rate}: leave out one of them")))
        }
        (Some(_), _, Some(bound)) | (_, Some(_), Some(bound)) => Err(usage(format!(
            "--search {bound} finds the rate itself: leave out --rate and --scan"
        ))),
        _ => Ok(()),
    }
}
