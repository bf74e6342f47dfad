//! EXCLUDED-TIME: stalls that a closed loop counts once although every caller would have met them.

use larder_report::figures::{count, nanoseconds};
use larder_report::{Cell, Run, Severity, Stalls, highest_shown};

use super::{About, Check, Needs, Report, measured};

/// Where the median operation is slower than this, half of the bound, slowness is the target's normal speed.
const SLOW_NS: u64 = 50_000_000;

/// Below this share of the workers' time, stalls change no reported figure.
const NOTICEABLE: f64 = 0.01;

pub(super) struct ExcludedTime;

impl Check for ExcludedTime {
    fn about(&self) -> &'static About {
        &About {
            id: "EXCLUDED-TIME",
            severities: &[Severity::Warn, Severity::Note],
            sees: "operations of more than 100 ms: a closed loop counts each stall once, however many requests would \
                   have arrived meanwhile; a note in an open loop, which counts every delayed request",
            seen_in: "A004: stalls \"of many seconds\" at BerkeleyDB's checkpoints, which its figures leave out",
            advice: "find the stalls in the timeline; --rate makes a closed loop an open one, which counts every \
                     request that would have waited",
            needs: Needs::SomeRounds,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        for cell in measured(run) {
            let stalls = stalls(cell);
            if stalls.count == 0 || all_are_slow(cell) {
                continue;
            }
            if let Some(text) = text(cell, stalls) {
                let counted = cell.is_paced();
                report.cell(if counted { Severity::Note } else { Severity::Warn }, cell, text);
            }
        }
    }
}

/// The stalls of the rounds behind a cell.
fn stalls(cell: &Cell) -> Stalls {
    let mut all = Stalls::default();
    for stalls in cell.samples.iter().filter_map(|sample| sample.stalls) {
        all.count += stalls.count;
        all.ns += stalls.ns;
    }
    all
}

/// Whether such long times are normal here, and not stalls.
fn all_are_slow(cell: &Cell) -> bool {
    let service = cell.paced.as_ref().map_or(cell.latency_ns, |paced| paced.service_ns);
    service.is_some_and(|service| service.p50 > SLOW_NS)
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn text(cell: &Cell, stalls: Stalls) -> Option<String> {
    let (measured, workers) = (cell.latency_ns?, cell.under_way());
    let time_ns =
        cell.samples.iter().map(|sample| sample.wall_s).sum::<f64>() * 1e9 * workers as f64;
    if stalls.ns as f64 <= time_ns * NOTICEABLE {
        return None;
    }
    let of = match (workers, cell.driven) {
        (1, _) => nanoseconds(time_ns),
        (_, None) => format!("the {} of {workers} threads", nanoseconds(time_ns)),
        (_, Some(_)) => format!("the {} of {workers} operations at a time", nanoseconds(time_ns)),
    };
    let operations = count(stalls.count, cell.operation.timed());
    let lost = format!(
        "time lost in stalls of more than 100 ms: {} of {of}, in {operations}",
        nanoseconds(stalls.ns as f64)
    );
    let told = match (&cell.paced, cell.corrected_ns, highest_shown(cell)) {
        (Some(paced), _, Some((percentile, _, of))) => format!(
            "{} of {} waited behind others; {percentile} {} from the intended start, {} from the actual start",
            paced.queued,
            count(cell.counts.ops, "operation"),
            nanoseconds(of(&measured) as f64),
            nanoseconds(of(&paced.service_ns?) as f64)
        ),
        (None, Some(corrected), Some((percentile, _, of))) => format!(
            "{percentile} {} as measured, {} for requests that arrive at the same mean rate whatever the target does; \
             a closed loop counts a stall once",
            nanoseconds(of(&measured) as f64),
            nanoseconds(of(&corrected) as f64)
        ),
        (Some(_), ..) => "every request that waited is counted".to_owned(),
        (None, ..) => "a closed loop counts a stall once".to_owned(),
    };
    Some(format!("{lost}; {told}"))
}
