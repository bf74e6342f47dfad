//! The figures of an open loop besides its latencies: service times, and how late operations began.

use hdrhistogram::Histogram;
use larder_report::{Cell, Latency, Paced, PacedSample};

use super::samples::{Entry, PackedPace};
use super::shares::shortened;
use crate::measure::{Offered, Packed, Tally, curve, figures, merged};

/// The figures of one round of an operation; `part` is its share of all operations that were due. `None` in a closed
/// loop.
pub(super) fn sample(tally: &Tally, offered: Option<Offered>, part: f64) -> Option<PacedSample> {
    let (paced, offered) = (tally.paced.as_ref()?, offered?);
    Some(PacedSample {
        offered_per_s: shortened(offered.per_s * part),
        service_ns: latency(&paced.service),
        schedule_lag_ns: latency(&paced.lag),
        queued: paced.queued,
        not_started: share(offered.not_started, part),
    })
}

/// The histograms behind these figures.
pub(super) fn pack(tally: &Tally) -> Option<PackedPace> {
    let paced = tally.paced.as_ref()?;
    Some(PackedPace { service: Packed::new(&paced.service), lag: Packed::new(&paced.lag) })
}

/// All rounds of a cell together; `None` in a closed loop.
pub(super) fn of_cell(rounds: &[&Entry]) -> Option<Paced> {
    let samples: Vec<&PacedSample> =
        rounds.iter().filter_map(|entry| entry.sample.paced.as_ref()).collect();
    let packed: Vec<&PackedPace> = rounds.iter().filter_map(|entry| entry.paced.as_ref()).collect();
    if samples.is_empty() {
        return None;
    }
    let service = merged(packed.iter().map(|packed| packed.service.unpack()));
    let lag = merged(packed.iter().map(|packed| packed.lag.unpack()));
    #[expect(clippy::cast_precision_loss, reason = "a number of rounds")]
    let count = samples.len() as f64;
    Some(Paced {
        offered_per_s: samples.iter().map(|sample| sample.offered_per_s).sum::<f64>() / count,
        service_ns: figures(&service),
        service_curve: curve(&service),
        schedule_lag_ns: figures(&lag),
        queued: samples.iter().map(|sample| sample.queued).sum(),
        not_started: samples.iter().map(|sample| sample.not_started).sum(),
    })
}

/// For a closed loop with stalls: the latencies of callers that come at the loop's own mean rate, whatever the target
/// does, by HdrHistogram's correction. A caller that would have come during a stall waits for the rest of the stall.
pub(super) fn corrected(
    cell: &Cell,
    rounds: &[&Entry],
    measured: &Histogram<u64>,
) -> Option<Latency> {
    let has_stalls = |entry: &&&Entry| entry.sample.stalls.is_some_and(|stalls| stalls.count > 0);
    if cell.paced.is_some() || measured.is_empty() || rounds.iter().find(has_stalls).is_none() {
        return None;
    }
    // The mean time between two operations of one worker, or of one place in the pipeline of a connection.
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let wall_ns = cell.wall_s? * 1e9 * cell.under_way() as f64;
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a mean of times"
    )]
    let interval = (wall_ns / measured.len() as f64) as u64;
    figures(&measured.clone_correct(interval.max(1)))
}

fn latency(histogram: &Histogram<u64>) -> Option<Latency> {
    figures(histogram).map(|latency| Latency { mean: shortened(latency.mean), ..latency })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count times a share"
)]
fn share(count: u64, part: f64) -> u64 {
    (count as f64 * part).round() as u64
}
