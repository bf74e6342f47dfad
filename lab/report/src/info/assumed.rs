//! What the simulated caches assume, and what the figures do not tell.

use super::amounts::points;
use crate::figures::percent;
use crate::model::{CurveRatio, DistributionOf, MeasuredIn, TraceInfo};

/// The heading.
pub(crate) const ASSUMED: &str = "What was assumed, and what is not shown";

/// A sentence each.
pub(crate) fn assumed(info: &TraceInfo) -> Vec<String> {
    let mut said = caches(info);
    said.extend(gaps(info));
    said.extend(errors(info));
    said
}

fn caches(info: &TraceInfo) -> Vec<String> {
    if info.curves.is_empty() {
        return Vec::new();
    }
    let mut said = vec![
        "The simulated caches begin empty and are filled by the application: a read that misses stores its entry at \
         once, writes store and deletes remove."
            .to_owned(),
        "A capacity counts keys and values only. A real cache needs more for its own data: compare some to see how much."
            .to_owned(),
        "FIFO, SIEVE and S3-FIFO follow libCacheSim, and W-TinyLFU follows Caffeine's simulator: its window has 1 % and \
         does not move."
            .to_owned(),
    ];
    if info.curve(MeasuredIn::Bytes).is_some() {
        said.push(
            "The optimal choice knows all operations beforehand. With entries of one size no cache hits more often; with \
             several sizes it is a good choice, and not the best."
                .to_owned(),
        );
    }
    let has_ttls = info.distribution(DistributionOf::Ttls).is_some();
    if info.sampling.expires {
        said.push(
            "An entry is a miss once its TTL is over, and takes room until it is asked for again or makes room."
                .to_owned(),
        );
    } else if has_ttls {
        said.push("The trace has TTLs but no times, so no entry expires.".to_owned());
    }
    let not_filled = info.sampling.not_filled;
    if not_filled > 0.0 {
        said.push(format!(
            "{} of the reads missed in the recording and nobody stored a value afterwards; the simulated caches do not \
             fill them either.",
            percent(not_filled)
        ));
    }
    said
}

fn gaps(info: &TraceInfo) -> Vec<String> {
    let mut said = Vec::new();
    if info.bytes.is_none() {
        said.push("The trace has no sizes, so capacities are in entries only.".to_owned());
    } else if info.sampling.sizes_filled > 0.001 {
        said.push(format!(
            "{} of the operations have no recorded size. They have that of another operation on the same key, or the mean.",
            percent(info.sampling.sizes_filled)
        ));
    }
    if info.lasts_s.is_none() {
        said.push("The trace has no times, so no rate is known.".to_owned());
    }
    if info.trace.dropped_rows > 0 {
        said.push(
            "Operations are missing where writing fell behind, so some reads are taken for misses that hit.".to_owned(),
        );
    }
    said
}

fn errors(info: &TraceInfo) -> Vec<String> {
    if info.is_exact() {
        return Vec::new();
    }
    let sample = if info.sampling.time.is_some() {
        "windows of the time that are spread evenly over it, because few keys have more operations than are kept"
    } else {
        "a sample of them, chosen by hash, with all their operations"
    };
    let mut said = vec![format!(
        "Counts of operations, sizes and times are of all operations. What depends on keys comes from {sample}."
    )];
    let ratios = info.curves.iter().flat_map(|curve| &curve.capacities).flat_map(|at| &at.ratios);
    let widest = ratios.filter_map(|ratio: &CurveRatio| ratio.half_width).fold(0.0, f64::max);
    if widest > 0.0 {
        said.push(format!(
            "± is half of a 95 % interval, by the spread of eight disjoint samples of the keys and of the windows of time: \
             {} points at most. It does not tell how far another hour of the same traffic would differ.",
            points(widest)
        ));
    }
    if info.sampling.left_out > 0 {
        said.push(format!(
            "Small capacities are left out ({} of them), because the sample could be off by more than five points there: a \
             larger --keep tells them.",
            info.sampling.left_out
        ));
    }
    if let Some(sample) = info.trace.sample {
        said.push(format!(
            "The recording has {} of the keys. Capacities, keys and bytes are scaled to all of them; operations are those that \
             were recorded.",
            percent(sample)
        ));
    }
    said
}
