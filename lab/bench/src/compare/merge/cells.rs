//! The cells of all slices, united round by round.

use larder_report::figures::count;
use larder_report::{Cell, Latency, ReasonKind, Run, Slice};

use super::super::record::{distribute, logged, nothing_succeeded, totalled};
use super::super::samples::{Entry, PackedComers, PackedPace};
use super::super::{CellHistograms, Times, log_path};
use super::{Sliced, logs};
use crate::error::{Result, usage};
use crate::measure::{Packed, figures};

/// The same cell in one of the slices.
type SlicedCell<'a> = (&'a Slice, &'a Sliced, &'a Cell);

/// Every cell with the rounds of all slices, and the histograms behind it.
pub(super) fn merged(parts: &[(Slice, Sliced)]) -> Result<(Vec<Cell>, Vec<CellHistograms>)> {
    let first = &parts[0].1.run;
    let (mut cells, mut histograms) = (Vec::new(), Vec::new());
    for cell in &first.cells {
        let found = parts.iter().map(|(slice, sliced)| {
            let same = same_cell(&sliced.run, cell).ok_or_else(|| {
                let (folder, operation, target) =
                    (sliced.folder.display(), cell.operation, &cell.target);
                usage(format!(
                    "{folder}: no cell of {operation} of {target}, which other slices have; run the slice again"
                ))
            })?;
            Ok((slice, sliced, same))
        });
        let found: Vec<SlicedCell<'_>> = found.collect::<Result<_>>()?;
        let entries = entries(&found)?;
        histograms.extend(logged(&(cell.target.clone(), &cell.point, cell.operation), &entries));
        cells.push(united(&found, &entries, first.seed));
    }
    Ok((cells, histograms))
}

/// The cell of another slice for the same work.
fn same_cell<'a>(run: &'a Run, cell: &Cell) -> Option<&'a Cell> {
    let is_same = |other: &&Cell| {
        (&other.target, &other.point, other.operation)
            == (&cell.target, &cell.point, cell.operation)
    };
    run.cells.iter().find(is_same)
}

/// The cell of all slices together.
fn united(found: &[SlicedCell<'_>], entries: &[Entry], seed: u64) -> Cell {
    let (_, _, first) = found[0];
    let (reason_kind, reason) = reason(found, entries).unzip();
    let base = Cell {
        target: first.target.clone(),
        point: first.point.clone(),
        operation: first.operation,
        workers: first.workers,
        working_set_bytes: first.working_set_bytes,
        capacity_bytes: first.capacity_bytes,
        reason,
        reason_kind,
        ..Cell::default()
    };
    let mut cell = totalled(base, entries);
    distribute(&mut cell, entries, seed);
    cell
}

/// The reason why there are no figures: the rounds of some slices are not comparable with other targets' rounds of all
/// slices. An interrupted slice is no such reason: it only has fewer rounds.
fn reason(found: &[SlicedCell<'_>], entries: &[Entry]) -> Option<(ReasonKind, String)> {
    let lacks = |(_, _, cell): &&SlicedCell<'_>| {
        let own = [None, Some(ReasonKind::Interrupted), Some(ReasonKind::NothingSucceeded)];
        !own.contains(&cell.reason_kind)
    };
    if let Some((slice, _, cell)) = found.iter().find(lacks) {
        let (kind, reason) = (cell.reason_kind?, cell.reason.clone()?);
        let is_everywhere = found.iter().all(|(_, _, other)| other.reason == cell.reason);
        let Slice { number, of, .. } = slice;
        return Some(if is_everywhere {
            (kind, reason)
        } else {
            (kind, format!("in slice {number} of {of}: {reason}"))
        });
    }
    if entries.is_empty() {
        return Some((ReasonKind::Interrupted, "interrupted before its first round".into()));
    }
    nothing_succeeded(entries)
}

/// The rounds of all slices, in the order of their numbers.
fn entries(found: &[SlicedCell<'_>]) -> Result<Vec<Entry>> {
    // Where any round is complete, incomplete rounds are in no figure.
    let is_whole = |cell: &Cell| cell.samples.iter().any(|sample| sample.complete);
    let some_whole = found.iter().any(|(_, _, cell)| is_whole(cell));
    let mut entries = Vec::new();
    for (_, sliced, cell) in found.iter().filter(|(_, _, cell)| !cell.samples.is_empty()) {
        let latencies = logs_of(sliced, cell, Times::Latency)?;
        let is_paced = cell.samples.iter().any(|sample| sample.paced.is_some());
        let has_comers = cell.samples.iter().any(|sample| sample.comers.is_some());
        let besides = |is_there: bool, times| {
            if is_there { logs_of(sliced, cell, times) } else { Ok(Vec::new()) }
        };
        let (service, lag) = (besides(is_paced, Times::Service)?, besides(is_paced, Times::Lag)?);
        let connect = besides(has_comers, Times::Connect)?;
        let first_answer = besides(has_comers, Times::FirstAnswer)?;
        // The bytes are known of the slice, not of its rounds: one round that counts has them.
        let carries = |complete: bool| complete || !some_whole;
        let mut bytes = Some(cell.bytes);
        for (at, (sample, latency)) in cell.samples.iter().zip(latencies).enumerate() {
            let paced = service.get(at).zip(lag.get(at));
            entries.push(Entry {
                operation: cell.operation,
                bytes: if carries(sample.complete) { bytes.take().unwrap_or(0) } else { 0 },
                sample: sample.clone(),
                latency,
                paced: paced.map(|(service, lag)| PackedPace {
                    service: service.clone(),
                    lag: lag.clone(),
                }),
                comers: connect.get(at).zip(first_answer.get(at)).map(|(connect, first_answer)| {
                    PackedComers { connect: connect.clone(), first_answer: first_answer.clone() }
                }),
                predicted_hit_ratio: cell.predicted_hit_ratio,
                hit_limit: cell.hit_limit,
            });
        }
    }
    entries.sort_by_key(|entry: &Entry| entry.sample.round);
    Ok(entries)
}

/// The logs of a cell of a slice, a histogram a round.
fn logs_of(sliced: &Sliced, cell: &Cell, times: Times) -> Result<Vec<Packed>> {
    let Cell { target, point, operation, .. } = cell;
    let path = log_path(&sliced.folder, &sliced.run, target, point, *operation, times);
    let histograms = logs::read(&path)?;
    let (rounds, logged) = (cell.samples.len(), histograms.len());
    if rounds != logged {
        return Err(usage(format!(
            "{}: latencies of {}, but run.json has {rounds}; copy the slice's folder again",
            path.display(),
            count(logged, "round")
        )));
    }
    for (sample, histogram) in cell.samples.iter().zip(&histograms) {
        let reported = match times {
            Times::Latency => sample.latency_ns,
            Times::Service => sample.paced.as_ref().and_then(|paced| paced.service_ns),
            Times::Lag => sample.paced.as_ref().and_then(|paced| paced.schedule_lag_ns),
            Times::Connect => sample.comers.and_then(|comers| comers.connect_ns),
            Times::FirstAnswer => sample.comers.and_then(|comers| comers.first_answer_ns),
        };
        let not_started = sample.paced.as_ref().map_or(0, |paced| paced.not_started);
        let most = sample.counts.ops + not_started;
        let too_many = times == Times::Latency && histogram.len() > most;
        if too_many || !matches_histogram(reported, figures(histogram)) {
            return Err(usage(format!(
                "{}: the latencies of round {} differ from run.json beside it, so the two files are of different \
                 runs: run the slice again, or copy its folder again",
                path.display(),
                sample.round
            )));
        }
    }
    Ok(histograms.iter().map(Packed::new).collect())
}

/// Whether the figures of a round are those of its histogram; the mean is given to some digits only.
fn matches_histogram(reported: Option<Latency>, logged: Option<Latency>) -> bool {
    match (reported, logged) {
        (Some(reported), Some(logged)) => {
            let is_near = (reported.mean - logged.mean).abs() <= logged.mean * 1e-6;
            is_near && Latency { mean: logged.mean, ..reported } == logged
        }
        (reported, logged) => reported.is_none() && logged.is_none(),
    }
}
