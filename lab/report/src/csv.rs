//! Flat tables for other programs: a line for each cell, or for each round of each cell.
//!
//! Figures are written in full, an unknown figure stays empty, and every coordinate of the sweep has its column,
//! `point_<name>`. The other columns have the names of `run.json`.

use std::collections::{BTreeMap, BTreeSet};

use crate::format::Format;
use crate::model::{Cell, Counts, Latency, MachineUsage, Point, Run, Sample, Usage, UsageOf};
use crate::ranking::{Row, Standing, groups, name};
use crate::shown_percentiles::is_shown;

/// A column: its name, and its text.
type Field<T> = (&'static str, fn(&T) -> String);

const CELL: [Field<Cell>; 39] = [
    ("rounds", |cell| cell.rounds.to_string()),
    ("wall_s", |cell| known(cell.wall_s)),
    ("ops_per_s", |cell| known(cell.ops_per_s)),
    ("ops_per_s_ci95_low", |cell| known(cell.ops_per_s_ci95.map(|[low, _]| low))),
    ("ops_per_s_ci95_high", |cell| known(cell.ops_per_s_ci95.map(|[_, high]| high))),
    ("answered_per_s", |cell| known(cell.answered_per_s)),
    ("answered_per_s_ci95_low", |cell| known(cell.answered_per_s_ci95.map(|[low, _]| low))),
    ("answered_per_s_ci95_high", |cell| known(cell.answered_per_s_ci95.map(|[_, high]| high))),
    ("hits_per_s", |cell| known(cell.hits_per_s)),
    ("client_cpu_s", |cell| known(cell.client_cpu_s)),
    ("client_system_s", |cell| known(cell.client_system_s)),
    ("server_cpu_s", |cell| known(cell.server_cpu_s)),
    ("rss_bytes", |cell| known(cell.rss_bytes)),
    ("disk_bytes", |cell| known(cell.disk_bytes)),
    ("predicted_hit_ratio", |cell| known(cell.predicted_hit_ratio)),
    ("offered_per_s", |cell| known(cell.paced.as_ref().map(|paced| paced.offered_per_s))),
    ("service_p50_ns", |cell| known(service(cell).map(|service| service.p50))),
    ("service_p99_ns", |cell| known(service(cell).map(|service| service.p99))),
    ("service_p999_ns", |cell| known(service(cell).map(|service| service.p999))),
    ("queued", |cell| known(cell.paced.as_ref().map(|paced| paced.queued))),
    ("not_started", |cell| known(cell.paced.as_ref().map(|paced| paced.not_started))),
    ("driven_connections", |cell| known(cell.driven.map(|driven| driven.connections))),
    ("driven_pipeline", |cell| known(cell.driven.map(|driven| driven.pipeline))),
    ("driven_answered_per_s_least", |cell| known(cell.driven.map(|it| it.answered_per_s.least))),
    ("driven_answered_per_s_median", |cell| known(cell.driven.map(|it| it.answered_per_s.median))),
    ("driven_answered_per_s_most", |cell| known(cell.driven.map(|it| it.answered_per_s.most))),
    ("driven_starved", |cell| known(cell.driven.map(|driven| driven.starved))),
    ("driven_outstanding_mean", |cell| known(cell.driven.and_then(|it| it.outstanding_mean))),
    ("driven_outstanding_most", |cell| known(cell.driven.map(|driven| driven.outstanding_most))),
    ("driven_server_processors", |cell| known(cell.driven.and_then(|it| it.server_processors))),
    ("idle_connections", |cell| known(cell.idle.map(|idle| idle.connections))),
    ("idle_server_bytes_per_connection", |cell| {
        known(cell.idle.and_then(|idle| idle.server_bytes_per_connection))
    }),
    ("comers_planned_per_s", |cell| known(cell.comers.map(|comers| comers.planned_per_s))),
    ("comers_begun_per_s", |cell| known(cell.comers.map(|comers| comers.begun_per_s))),
    ("comers_failed", |cell| known(cell.comers.map(|comers| comers.failed))),
    ("comers_connect_ns_p50", |cell| {
        known(cell.comers.and_then(|it| it.connect_ns).map(|it| it.p50))
    }),
    ("comers_connect_ns_p99", |cell| {
        known(cell.comers.and_then(|it| it.connect_ns).map(|it| it.p99))
    }),
    ("comers_first_answer_ns_p50", |cell| {
        known(cell.comers.and_then(|it| it.first_answer_ns).map(|it| it.p50))
    }),
    ("comers_first_answer_ns_p99", |cell| {
        known(cell.comers.and_then(|it| it.first_answer_ns).map(|it| it.p99))
    }),
];

/// Latencies from the instant at which operations of an open loop really began.
fn service(cell: &Cell) -> Option<&Latency> {
    cell.paced.as_ref()?.service_ns.as_ref()
}

const SAMPLE: [Field<Sample>; 25] = [
    ("round", |sample| sample.round.to_string()),
    ("position", |sample| sample.position.to_string()),
    ("at_s", |sample| sample.at_s.to_string()),
    ("wall_s", |sample| sample.wall_s.to_string()),
    ("ops_per_s", |sample| sample.ops_per_s.to_string()),
    ("client_cpu_s", |sample| known(sample.client_cpu_s)),
    ("client_system_s", |sample| known(sample.client_system_s)),
    ("server_cpu_s", |sample| known(sample.server_cpu_s)),
    ("barrier_s", |sample| known(sample.barrier_s)),
    ("rss_bytes", |sample| known(sample.rss_bytes)),
    ("disk_bytes", |sample| known(sample.disk_bytes)),
    ("major_faults", |sample| sample.major_faults.to_string()),
    ("client_wait_s", |sample| known(sample.client_wait_s)),
    ("wire_sent_bytes", |sample| known(sample.wire.map(|wire| wire.sent_bytes))),
    ("wire_received_bytes", |sample| known(sample.wire.map(|wire| wire.received_bytes))),
    ("client_busy", |sample| known(sample.client_busy)),
    ("driven_answered_per_s_least", |of| known(of.driven.map(|it| it.answered_per_s.least))),
    ("driven_answered_per_s_median", |of| known(of.driven.map(|it| it.answered_per_s.median))),
    ("driven_answered_per_s_most", |of| known(of.driven.map(|it| it.answered_per_s.most))),
    ("driven_starved", |sample| known(sample.driven.map(|driven| driven.starved))),
    ("driven_outstanding_mean", |of| known(of.driven.and_then(|it| it.outstanding_mean))),
    ("driven_outstanding_most", |of| known(of.driven.map(|driven| driven.outstanding_most))),
    ("comers_failed", |sample| known(sample.comers.map(|comers| comers.failed))),
    ("comers_connect_ns_p99", |of| known(of.comers.and_then(|it| it.connect_ns).map(|it| it.p99))),
    ("comers_first_answer_ns_p99", |sample| {
        known(sample.comers.and_then(|it| it.first_answer_ns).map(|it| it.p99))
    }),
];

const COUNTS: [Field<Counts>; 24] = [
    ("ops", |counts| counts.ops.to_string()),
    ("hits", |counts| counts.hits.to_string()),
    ("misses", |counts| counts.misses.to_string()),
    ("planned_misses", |counts| counts.planned_misses.to_string()),
    ("wrong", |counts| counts.wrong.to_string()),
    ("truncated", |counts| counts.truncated.to_string()),
    ("stale", |counts| counts.stale.to_string()),
    ("other_key", |counts| counts.other_key.to_string()),
    ("damaged", |counts| counts.damaged.to_string()),
    ("errors", |counts| counts.errors.to_string()),
    ("failed_fills", |counts| counts.failed_fills.to_string()),
    ("connections", |counts| known(counts.connections)),
    ("wire_requests", |counts| known(counts.wire_requests)),
    ("evictions", |counts| known(counts.evictions)),
    ("distinct_keys", |counts| counts.distinct_keys.to_string()),
    ("top_key_ops", |counts| counts.top_key_ops.to_string()),
    ("read_back_absent", |counts| counts.read_back_absent.to_string()),
    ("read_back_wrong", |counts| counts.read_back_wrong.to_string()),
    ("overwritten", |counts| counts.overwritten.to_string()),
    ("overwrites_failed", |counts| counts.overwrites_failed.to_string()),
    ("deletes_read_back", |counts| counts.deletes_read_back.to_string()),
    ("emptied_checked", |counts| counts.emptied_checked.to_string()),
    ("emptied_left", |counts| counts.emptied_left.to_string()),
    ("lost", |counts| counts.lost.to_string()),
];

const LATENCY: [Field<Latency>; 7] = [
    ("latency_min_ns", |latency| latency.min.to_string()),
    ("latency_mean_ns", |latency| latency.mean.to_string()),
    ("latency_p50_ns", |latency| latency.p50.to_string()),
    ("latency_p90_ns", |latency| latency.p90.to_string()),
    ("latency_p99_ns", |latency| latency.p99.to_string()),
    ("latency_p999_ns", |latency| latency.p999.to_string()),
    ("latency_max_ns", |latency| latency.max.to_string()),
];

/// The quantile of each of [`LATENCY`]; 0 for a column that is not a quantile.
const QUANTILES: [f64; LATENCY.len()] = [0.0, 0.0, 0.5, 0.9, 0.99, 0.999, 1.0];

/// The format `csv`.
pub(crate) const FORMAT: Format = Format { name: "csv", render: |run, _| render(run) };

/// A line for each cell, in the order of the other reports. `standing` is `ranked`, `unlike`, `withheld` (figures that
/// are no result) or `empty`. An `unlike` result hit less often than the best, and is not compared in speed. For the
/// last three, `reason` gives the reason.
fn render(run: &Run) -> String {
    let axes = axes(run);
    let mut heads = place_heads(&axes);
    heads.extend(["standing", "reason"].map(str::to_owned));
    heads.extend(names(&CELL).chain(names(&COUNTS)));
    heads.push("bytes".to_owned());
    heads.extend(names(&LATENCY));
    let groups = groups(run);
    let rows = groups.iter().flat_map(|group| &group.rows);
    written(
        heads,
        rows.map(|row| {
            let mut line = place(run, &axes, row.cell);
            line.extend(standing(row));
            line.extend(
                values(&CELL, Some(row.cell)).chain(values(&COUNTS, Some(&row.cell.counts))),
            );
            line.push(row.cell.bytes.to_string());
            let latencies = values(&LATENCY, row.cell.latency_ns.as_ref()).zip(QUANTILES);
            let told = |(text, quantile)| {
                if is_shown(row.cell, quantile) { text } else { String::new() }
            };
            line.extend(latencies.map(told));
            line
        }),
    )
}

/// A line for each round of each cell, in the order of the run.
pub fn samples_csv(run: &Run) -> String {
    let axes = axes(run);
    let samples = run.cells.iter().flat_map(|cell| cell.samples.iter().map(move |s| (cell, s)));
    written(
        sample_heads(run),
        samples.map(|(cell, sample)| {
            let mut line = place(run, &axes, cell);
            line.extend(values(&SAMPLE, Some(sample)).chain(values(&COUNTS, Some(&sample.counts))));
            line.extend(values(&LATENCY, sample.latency_ns.as_ref()));
            line.push(kinds(&sample.errors_by_kind));
            line
        }),
    )
}

/// A column of [`usage_csv`]: its name, and its text at a sample.
type SeriesField<T> = (&'static str, fn(&T, usize) -> String);

const USAGE: [SeriesField<Usage>; 14] = [
    ("at_s", |usage, at| known(usage.at_s.get(at))),
    ("cpu_user_s", |usage, at| at_sample(&usage.cpu_user_s, at)),
    ("cpu_system_s", |usage, at| at_sample(&usage.cpu_system_s, at)),
    ("rss_bytes", |usage, at| at_sample(&usage.rss_bytes, at)),
    ("shared_bytes", |usage, at| at_sample(&usage.shared_bytes, at)),
    ("swap_bytes", |usage, at| at_sample(&usage.swap_bytes, at)),
    ("minor_faults", |usage, at| at_sample(&usage.minor_faults, at)),
    ("major_faults", |usage, at| at_sample(&usage.major_faults, at)),
    ("voluntary_switches", |usage, at| at_sample(&usage.voluntary_switches, at)),
    ("involuntary_switches", |usage, at| at_sample(&usage.involuntary_switches, at)),
    ("disk_read_bytes", |usage, at| at_sample(&usage.disk_read_bytes, at)),
    ("disk_written_bytes", |usage, at| at_sample(&usage.disk_written_bytes, at)),
    ("wire_received_bytes", |usage, at| at_sample(&usage.wire_received_bytes, at)),
    ("wire_sent_bytes", |usage, at| at_sample(&usage.wire_sent_bytes, at)),
];

const MACHINE: [SeriesField<MachineUsage>; 10] = [
    ("idle_s", |machine, at| at_sample(&machine.idle_s, at)),
    ("interrupts_s", |machine, at| at_sample(&machine.interrupts_s, at)),
    ("stolen_s", |machine, at| at_sample(&machine.stolen_s, at)),
    ("others_s", |machine, at| at_sample(&machine.others_s, at)),
    ("available_bytes", |machine, at| at_sample(&machine.available_bytes, at)),
    ("swapped_in_bytes", |machine, at| at_sample(&machine.swapped_in_bytes, at)),
    ("throttled_s", |machine, at| at_sample(&machine.throttled_s, at)),
    ("cpu_pressure_s", |machine, at| at_sample(&machine.cpu_pressure_s, at)),
    ("memory_pressure_s", |machine, at| at_sample(&machine.memory_pressure_s, at)),
    ("io_pressure_s", |machine, at| at_sample(&machine.io_pressure_s, at)),
];

fn at_sample<T: Copy + ToString>(figures: &[Option<T>], at: usize) -> String {
    known(figures.get(at).copied().flatten())
}

/// A line for each sample of the use by client, servers, guests and the machine. `turn_target` is the target of the current
/// turn; a sample without any figure has no line.
pub fn usage_csv(run: &Run) -> String {
    let mut heads = ["of", "target", "name", "turn_target"].map(str::to_owned).to_vec();
    heads.extend(USAGE.iter().map(|(name, _)| (*name).to_owned()));
    heads.extend(MACHINE.iter().map(|(name, _)| (*name).to_owned()));
    let client = run.usage.iter().find(|usage| usage.of == UsageOf::Client);
    let turn_target = |at: usize| {
        let place = client?.turn_target.get(at).copied().flatten()?;
        run.targets.get(place as usize).map(|target| target.url.clone())
    };
    let samples =
        run.usage.iter().flat_map(|usage| (0..usage.at_s.len()).map(move |at| (usage, at)));
    written(
        heads,
        samples.map(|(usage, at)| {
            let target = usage.target.clone().unwrap_or_default();
            let name = if target.is_empty() { "" } else { name(run, &target) }.to_owned();
            let mut line = vec![usage.of.as_str().to_owned(), target, name, known(turn_target(at))];
            line.extend(USAGE.iter().map(|(_, value)| value(usage, at)));
            let machine = usage.machine.as_ref();
            line.extend(
                MACHINE
                    .iter()
                    .map(|(_, value)| machine.map(|one| value(one, at)).unwrap_or_default()),
            );
            line
        }),
    )
}

/// The headings of [`samples_csv`].
pub(crate) fn sample_heads(run: &Run) -> Vec<String> {
    let mut heads = place_heads(&axes(run));
    heads.extend(names(&SAMPLE).chain(names(&COUNTS)).chain(names(&LATENCY)));
    heads.push("errors_by_kind".to_owned());
    heads
}

/// The coordinates of all points.
fn axes(run: &Run) -> BTreeSet<&str> {
    run.cells.iter().flat_map(|cell| cell.point.keys().map(String::as_str)).collect()
}

fn place_heads(axes: &BTreeSet<&str>) -> Vec<String> {
    let mut heads = ["target", "name", "operation"].map(str::to_owned).to_vec();
    heads.extend(axes.iter().map(|axis| format!("point_{axis}")));
    heads
}

fn place(run: &Run, axes: &BTreeSet<&str>, cell: &Cell) -> Vec<String> {
    let at = |point: &Point, axis: &str| known(point.get(axis));
    let mut line =
        vec![cell.target.clone(), name(run, &cell.target).to_owned(), cell.operation.to_string()];
    line.extend(axes.iter().map(|axis| at(&cell.point, axis)));
    line
}

fn standing(row: &Row<'_>) -> [String; 2] {
    match &row.standing {
        Standing::Ranked { .. } => ["ranked".to_owned(), String::new()],
        Standing::Unlike { reason, .. } => ["unlike".to_owned(), reason.clone()],
        Standing::Withheld(why) => ["withheld".to_owned(), why.clone()],
        Standing::Empty(reason) => ["empty".to_owned(), (*reason).to_owned()],
    }
}

/// `busy=1 timeout=3`.
fn kinds(errors: &BTreeMap<String, u64>) -> String {
    let kinds: Vec<String> = errors.iter().map(|(kind, n)| format!("{kind}={n}")).collect();
    kinds.join(" ")
}

pub(crate) fn known<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn names<T>(fields: &[Field<T>]) -> impl Iterator<Item = String> {
    fields.iter().map(|(name, _)| (*name).to_owned())
}

/// The fields of a value; all empty where there is no value.
fn values<T>(fields: &[Field<T>], of: Option<&T>) -> impl Iterator<Item = String> {
    fields.iter().map(move |(_, value)| of.map(value).unwrap_or_default())
}

pub(crate) fn written(heads: Vec<String>, lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in std::iter::once(heads).chain(lines) {
        writer
            .write_record(line)
            .expect("all lines are as long as the heads, and memory takes them");
    }
    let bytes = writer.into_inner().expect("memory takes what is left");
    String::from_utf8(bytes).expect("text was written")
}
