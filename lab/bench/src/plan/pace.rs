//! The rate of operations at a point, resolved.

use std::sync::Arc;

use super::backward;
use crate::error::{Result, usage};
use crate::measure::{Arrivals, seconds};
use larder_workload::trace::Trace;
use larder_workload::{ArrivalKind, Bound, WorkloadSpec};

/// The rate at which operations come, whether a target keeps up or not.
#[derive(Debug, Clone)]
pub(crate) struct PlannedPace {
    /// Operations a second, of all threads together; `None` where a rate is searched for.
    rate: Option<f64>,
    /// The spacing of operations over time.
    arrivals: ArrivalKind,
    /// When the operations of a trace were recorded, in nanoseconds, and how long all of them took.
    recorded: Option<Times>,
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
        check_alone(spec)?;
        if let Some((replay, speed)) =
            spec.replay.and_then(|replay| Some((replay, replay.speed()?)))
        {
            let recorded = recorded(trace, &format!("--replay {replay}"), "take --replay asap")?;
            let rate = Some(recorded_rate(&recorded) * speed);
            let arrivals = ArrivalKind::Trace;
            return Ok(Some(Self { rate, arrivals, recorded: Some(recorded), search: None }));
        }
        let arrivals = spec.arrivals.unwrap_or_default();
        let search = spec.search;
        if rate.is_none() && search.is_none() {
            return match spec.arrivals {
                Some(ArrivalKind::Trace) => Err(usage(
                    "--arrivals trace: the plan has no rate; add a --rate, or take --replay 1x for the recorded one",
                )),
                Some(arrivals) => Err(usage(format!(
                    "--arrivals {arrivals}: the plan has no rate; add a --rate, or leave out --arrivals"
                ))),
                None => Ok(None),
            };
        }
        let recorded = (arrivals == ArrivalKind::Trace)
            .then(|| recorded(trace, "--arrivals trace", "take fixed or exponential"))
            .transpose()?;
        Ok(Some(Self { rate: rate.map(f64::from), arrivals, recorded, search }))
    }

    /// How many times as fast as the recording a trace is replayed; `None` where it is not replayed in its times.
    pub(super) fn speed(&self) -> Option<f64> {
        Some(self.rate? / recorded_rate(self.recorded.as_ref()?))
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

/// When the operations of a trace were recorded, and how long all of them took.
type Times = (Arc<[u64]>, u64);

/// The recorded times, for an option that needs them.
fn recorded(trace: Option<&Trace>, option: &str, otherwise: &str) -> Result<Times> {
    let no_trace = || usage(format!("{option}: no trace is replayed; add --keys-from trace:FILE"));
    let no_times = || usage(format!("{option}: this trace has no times; {otherwise}"));
    let trace = trace.ok_or_else(no_trace)?;
    backward::check(trace, option, otherwise)?;
    trace.arrivals().ok_or_else(no_times)
}

/// Operations a second, as they were recorded.
#[expect(clippy::cast_precision_loss, reason = "a rate")]
fn recorded_rate((at, lasts_ns): &Times) -> f64 {
    at.len() as f64 * 1e9 / (*lasts_ns).max(1) as f64
}

/// Refuses two options that both set the rate; a scenario may name both.
fn check_alone(spec: &WorkloadSpec) -> Result<()> {
    let is_paced = spec.rate.is_some() || spec.scan.is_some() || spec.search.is_some();
    if let Some(replay) = spec.replay
        && (is_paced || spec.arrivals.is_some())
    {
        return Err(usage(format!(
            "--replay {replay} sets the pace of the trace: leave out --rate, --scan, --search and --arrivals"
        )));
    }
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
