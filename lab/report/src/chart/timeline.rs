//! The course of the rounds, which shows stalls that no median shows.

use super::axis;
use super::family::Family;
use super::marks::{Figure, seen, series};
use super::model::{Absent, Chart, Shape, Unit};
use super::subject::{Picture, Subject, timed};
use super::sweep::point_label;
use crate::model::{Cell, Run, Sample, Timeline};
use crate::ranking::{Group, groups};

/// The approximate least number of places of a line, enough to show a stall.
const MIN_PLACES: usize = 64;
/// The most places of a line, as many as a screen can show.
const MAX_PLACES: usize = 256;
/// The places of all lines together beyond that least number, so that a report of many cells stays small.
const ALL_PLACES: usize = 8192;

/// The shown figure of a bin.
struct TimelineFigure {
    name: &'static str,
    what: &'static str,
    reading: &'static str,
    /// The additional note for rounds of a mix.
    of_mix: &'static str,
    label: &'static str,
    unit: Unit,
    of: fn(&Bin) -> Option<f64>,
}

const FIGURES: [TimelineFigure; 2] = [
    TimelineFigure {
        name: "slowest operation",
        what: "slowest operation over time",
        reading: "Lower is better. The slowest operation that ended in each stretch of the measured time; the rounds \
                  stand one after another, with a gap between them.",
        of_mix: "",
        label: "slowest operation",
        unit: Unit::Nanoseconds,
        of: |bin| (bin.max_ns > 0).then_some(as_number(bin.max_ns)),
    },
    TimelineFigure {
        name: "rate",
        what: "rate over time",
        reading: "Higher is better. Operations that ended in each stretch of the measured time, also the failed \
                  operations, which the rate leaves out. The rounds stand one after another, with a gap between them.",
        of_mix: " Other operations ran in the same rounds: each operation has that share of a stretch which it took of \
                 the round, as in the rate.",
        label: "operations per second",
        unit: Unit::Rate,
        of: |bin| Some(short(as_number(bin.ops) / bin.busy_s)),
    },
];

/// A stretch of a round.
#[derive(Debug, Default)]
struct Bin {
    length_s: f64,
    /// The part of it that the operation uses; in a mix, others use the rest.
    busy_s: f64,
    ops: u64,
    max_ns: u64,
}

/// The timeline of a round's phase.
struct Phase {
    length_s: f64,
    /// The share of it that was spent in the operation: 1 unless other operations ran in the same phase.
    share: f64,
}

/// A chart for each operation, point and figure; no chart of runs without timelines.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let recorded = run.cells.iter().filter(|cell| timelines(cell).next().is_some()).count();
    let places = (ALL_PLACES / recorded.max(1)).clamp(MIN_PLACES, MAX_PLACES);
    let chart = |group: &Group<'_>, figured: &TimelineFigure| {
        let point = point_label(run, group.point);
        let subject = Subject::new(Family::Timeline, group.operation, &point);
        let picture = figured.picture(run, group, places);
        subject.at("figure", figured.name).chart(
            &figured.words(group, figured.what),
            &figured.reading(run, group),
            picture,
        )
    };
    let of_group = |group| FIGURES.iter().filter_map(move |figured| chart(group, figured));
    groups(run).iter().flat_map(of_group).collect()
}

impl TimelineFigure {
    fn reading(&self, run: &Run, group: &Group<'_>) -> String {
        let shared = |cell| {
            timelines(cell).any(|(sample, timeline)| phase(run, cell, sample, timeline).share < 1.0)
        };
        let is_mix = group.rows.iter().any(|row| shared(row.cell));
        self.words(group, self.reading) + if is_mix { self.of_mix } else { "" }
    }

    /// The text of this figure, in its unit where it is a time.
    fn words(&self, group: &Group<'_>, text: &str) -> String {
        match self.unit {
            Unit::Nanoseconds => timed(group.operation, text),
            _ => text.to_owned(),
        }
    }

    fn picture(&self, run: &Run, group: &Group<'_>, places: usize) -> Picture {
        let (mut lines, mut absent) = (Vec::new(), Vec::new());
        for (target, known) in run.targets.iter().enumerate() {
            let rounds = seen(run, target, group, |row| {
                let rounds = rounds(run, row.cell, places);
                (!rounds.is_empty()).then_some(rounds)
            });
            match rounds {
                Ok((withheld, rounds)) => {
                    let marks = self.marks(&rounds).into_iter();
                    lines.push(series(Some(target), &known.name, withheld, marks));
                }
                Err(reason) => {
                    let name = known.name.clone();
                    absent.push(Absent { target, name, at: Vec::new(), reason });
                }
            }
        }
        let x = axis::of_sums("measured time", Unit::Seconds);
        let y = axis::of_figures(&self.words(group, self.label), self.unit, &lines);
        Picture { shape: Shape::Curves, x, y, series: lines, absent }
    }

    /// A mark in the middle of each bin, and an empty mark at the end of each round, which breaks the line. A bin
    /// without a finished operation has no slowest one: the line goes on to the operation that blocked it.
    fn marks(&self, rounds: &[Vec<Bin>]) -> Vec<(f64, Option<Figure>)> {
        let mut marks = Vec::new();
        let mut at = 0.0;
        for round in rounds {
            for bin in round {
                let middle = short(at + bin.length_s / 2.0);
                marks.extend((self.of)(bin).map(|figure| (middle, Some(Figure::plain(figure)))));
                at += bin.length_s;
            }
            marks.push((short(at), None));
        }
        marks
    }
}

/// The timelines of the rounds behind the rate: the complete rounds, or all rounds where no round is complete.
fn timelines(cell: &Cell) -> impl Iterator<Item = (&Sample, &Timeline)> {
    let whole = cell.samples.iter().any(|sample| sample.complete);
    let behind = cell.samples.iter().filter(move |sample| sample.complete || !whole);
    let recorded = behind.filter_map(|sample| Some((sample, sample.timeline.as_ref()?)));
    recorded.filter(|(_, timeline)| !timeline.ops.is_empty())
}

/// The rounds of a cell in at most `places` bins, but at least one for each round.
fn rounds(run: &Run, cell: &Cell, places: usize) -> Vec<Vec<Bin>> {
    let places = places / timelines(cell).count().max(1);
    let bins = |(sample, timeline): (&Sample, &Timeline)| {
        let bin_s = as_number(timeline.bin_ns) / 1e9;
        let Phase { length_s: end, share } = phase(run, cell, sample, timeline);
        let pairs = timeline.ops.iter().zip(&timeline.max_ns);
        let bins = pairs.enumerate().map(|(number, (ops, max_ns))| {
            let length_s = (end - as_place(number) * bin_s).clamp(0.0, bin_s);
            Bin { length_s, busy_s: length_s * share, ops: *ops, max_ns: *max_ns }
        });
        merged(&bins.collect::<Vec<_>>(), timeline.ops.len().div_ceil(places.max(1)))
    };
    timelines(cell).map(bins).collect()
}

/// Merges this many neighbours into one bin. A last bin of less than half the length is merged with the bin before
/// it. A few operations in hardly any time would show a false rate.
fn merged(bins: &[Bin], neighbours: usize) -> Vec<Bin> {
    let mut merged: Vec<Bin> = bins.chunks(neighbours.max(1)).map(Bin::of).collect();
    if let [.., before, last] = merged.as_slice()
        && last.length_s < before.length_s / 2.0
    {
        let both = Bin::of(&merged.split_off(merged.len() - 2));
        merged.push(both);
    }
    merged
}

impl Bin {
    /// Several bins as one: lengths and counts add up, and the slowest operation stays.
    fn of(few: &[Self]) -> Self {
        Self {
            length_s: few.iter().map(|bin| bin.length_s).sum(),
            busy_s: few.iter().map(|bin| bin.busy_s).sum(),
            ops: few.iter().map(|bin| bin.ops).sum(),
            max_ns: few.iter().map(|bin| bin.max_ns).max().unwrap_or(0),
        }
    }
}

/// The phase of a sample. In a mix, a sample has only its share of the phase. The other operations of the phase, which
/// have the same bins, have the rest.
fn phase(run: &Run, cell: &Cell, sample: &Sample, timeline: &Timeline) -> Phase {
    let bin_s = as_number(timeline.bin_ns) / 1e9;
    let bins = timeline.ops.len();
    let whole = as_place(bins) * bin_s;
    let possible =
        |seconds: f64| seconds > 0.0 && (as_place(bins - 1) * bin_s..=whole).contains(&seconds);
    let same = |other: &&Sample| {
        let bins_of = |t: &Timeline| t.bin_ns == timeline.bin_ns && t.ops.len() == bins;
        other.round == sample.round && other.timeline.as_ref().is_some_and(bins_of)
    };
    let beside = run.cells.iter().filter(|c| c.target == cell.target && c.point == cell.point);
    let mix: f64 = beside.flat_map(|c| &c.samples).filter(same).map(|other| other.wall_s).sum();
    // The mix comes first: an operation that used nearly the whole phase would otherwise pass for all of it.
    if possible(mix) {
        Phase { length_s: mix, share: sample.wall_s / mix }
    } else {
        let length_s = if possible(sample.wall_s) { sample.wall_s } else { whole };
        Phase { length_s, share: 1.0 }
    }
}

/// Six figures, more than a picture shows: more would only make the page longer.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[expect(clippy::cast_precision_loss, reason = "a mark in a picture")]
fn as_number(value: u64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "a place in a round")]
fn as_place(number: usize) -> f64 {
    number as f64
}
