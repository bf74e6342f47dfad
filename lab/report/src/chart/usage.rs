//! The use of the machine over the run. It is that of the client in the turns of each target, and of the servers and
//! guests, in and between their turns.

use super::axis;
use super::family::Family;
use super::marks::{Figure, series};
use super::model::{Absent, Chart, Facet, Ratios, Shape, Unit};
use crate::model::{Run, Usage, UsageOf};

/// The approximate least number of places of a line.
const MIN_PLACES: usize = 24;
/// The most places of a line, as many as a screen can show.
const MAX_PLACES: usize = 240;
/// The places of all lines together beyond that least number, so that a report of many targets stays small.
const ALL_PLACES: usize = 2048;

/// The users of the machine that a chart shows.
struct Whose {
    name: &'static str,
    reading: &'static str,
    of: &'static [UsageOf],
}

const CLIENT: Whose = Whose {
    name: "client",
    reading: "Of this process, with the engines in it: each target has the marks of its own turns, joined over the \
              turns of other targets.",
    of: &[UsageOf::Client],
};

const SERVERS: Whose = Whose {
    name: "servers and guests",
    reading: "Of the processes of each target's servers, or of the program of a guest, in its turns and between them.",
    of: &[UsageOf::Servers, UsageOf::Guest],
};

/// The quantity that is shown.
struct UsageFigure {
    name: &'static str,
    what: &'static str,
    unit: Unit,
    /// The value at a sample, or for each second between two samples.
    of: fn(&Usage, usize, usize) -> Option<f64>,
}

const FIGURES: [UsageFigure; 4] = [
    UsageFigure {
        name: "CPU",
        what: "processors in use",
        unit: Unit::Number,
        of: |usage, from, to| {
            let cpu =
                |at: usize| Some(known(&usage.cpu_user_s, at)? + known(&usage.cpu_system_s, at)?);
            Some((cpu(to)? - cpu(from)?).max(0.0) / length(usage, from, to)?)
        },
    },
    UsageFigure {
        name: "memory",
        what: "memory resident",
        unit: Unit::Bytes,
        of: |usage, _, to| known(&usage.rss_bytes, to).map(number),
    },
    UsageFigure {
        name: "disk",
        what: "bytes a second from and to disks",
        unit: Unit::Bytes,
        of: |usage, from, to| {
            both(usage, [&usage.disk_read_bytes, &usage.disk_written_bytes], from, to)
        },
    },
    UsageFigure {
        name: "wire",
        what: "bytes a second over the wire",
        unit: Unit::Bytes,
        of: |usage, from, to| {
            both(usage, [&usage.wire_received_bytes, &usage.wire_sent_bytes], from, to)
        },
    },
];

/// A chart for each figure of the client and of the servers; no chart of runs without these samples.
pub(super) fn charts(run: &Run) -> Vec<Chart> {
    let places = (ALL_PLACES / (run.targets.len() * 8).max(1)).clamp(MIN_PLACES, MAX_PLACES);
    let of_one = |whose: &'static Whose| {
        FIGURES.iter().filter_map(move |figured| chart(run, whose, figured, places))
    };
    [&CLIENT, &SERVERS].into_iter().flat_map(of_one).collect()
}

fn chart(run: &Run, whose: &Whose, figured: &UsageFigure, places: usize) -> Option<Chart> {
    let client = run.usage.iter().find(|usage| usage.of == UsageOf::Client)?;
    let start = *client.at_s.first()?;
    let (mut lines, mut absent) = (Vec::new(), Vec::new());
    for (target, known) in run.targets.iter().enumerate() {
        let mut mine = run.usage.iter().filter(|usage| {
            let is_its = usage.target.is_none() || usage.target.as_ref() == Some(&known.url);
            whose.of.contains(&usage.of) && is_its
        });
        let Some(usage) = mine.next() else { continue };
        if let Some(reason) = &usage.unknown_reason {
            let (name, reason) = (known.name.clone(), reason.clone());
            absent.push(Absent { target, name, at: Vec::new(), reason });
            continue;
        }
        let marks = marks(usage, client, target, start, figured, places);
        lines.push(series(Some(target), &known.name, None, marks.into_iter()));
    }
    lines.retain(|line| line.y.iter().flatten().any(|figure| *figure > 0.0));
    if lines.is_empty() {
        return None;
    }
    let plain = |text: &str| text.replace(' ', "-");
    let facet = |name, value: &str| Facet { name, value: value.to_owned() };
    Some(Chart {
        id: format!("{}-{}-{}", Family::Usage.as_str(), plain(whose.name), figured.name),
        family: Family::Usage,
        facets: vec![facet("of", whose.name), facet("figure", figured.name)],
        title: format!("{}: {}", whose.name, figured.what),
        reading: format!(
            "{} A mark a second; in a long run, a mark for several seconds.",
            whose.reading
        ),
        shape: Shape::Curves,
        labels: String::new(),
        x: axis::of_sums("time since the first round began", Unit::Seconds),
        y: axis::of_sums(figured.what, figured.unit),
        series: lines,
        absent,
        order: Vec::new(),
        ratios: Ratios::default(),
        chosen: None,
    })
}

/// A mark in the middle of each stretch between two samples; for the client only where the target had its turn at the
/// end.
fn marks(
    usage: &Usage,
    client: &Usage,
    target: usize,
    start: f64,
    figured: &UsageFigure,
    places: usize,
) -> Vec<(f64, Option<Figure>)> {
    let stretches = usage.at_s.len().saturating_sub(1);
    let step = stretches.div_ceil(places).max(1);
    let is_its = |at: usize| {
        usage.of != UsageOf::Client
            || client.turn_target.get(at).copied().flatten().is_some_and(|of| of as usize == target)
    };
    let mark = |from: usize| {
        let to = (from + step).min(stretches);
        let middle = f64::midpoint(usage.at_s[from], usage.at_s[to]) - start;
        let figure = (figured.of)(usage, from, to);
        is_its(to).then(|| (short(middle), figure.map(short).map(Figure::plain)))
    };
    (0..stretches).step_by(step).filter_map(mark).collect()
}

fn known<T: Copy>(figures: &[Option<T>], at: usize) -> Option<T> {
    figures.get(at).copied().flatten()
}

/// The time between two samples; `None` where the last sample follows too soon for a figure.
fn length(usage: &Usage, from: usize, to: usize) -> Option<f64> {
    let length = usage.at_s.get(to)? - usage.at_s.get(from)?;
    (length > 0.05).then_some(length)
}

/// The growth of two totals a second; `None` where a total has fallen, as it does when a server with its connections is gone.
fn both(usage: &Usage, totals: [&Vec<Option<u64>>; 2], from: usize, to: usize) -> Option<f64> {
    let length = length(usage, from, to)?;
    let grown =
        |total: &Vec<Option<u64>>| known(total, to)?.checked_sub(known(total, from)?).map(number);
    Some((grown(totals[0])? + grown(totals[1])?) / length)
}

#[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
fn number(bytes: u64) -> f64 {
    bytes as f64
}

/// Four figures, more than a picture shows.
fn short(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_total_that_falls_has_no_figure_and_the_next_stretch_has_one() {
        let usage = Usage { at_s: vec![0.0, 1.0, 2.0], ..Usage::default() };
        let (falls, rises) = (vec![Some(10), Some(4), Some(9)], vec![Some(1), Some(2), Some(3)]);
        assert_eq!(both(&usage, [&falls, &rises], 0, 1), None);
        assert_eq!(both(&usage, [&rises, &falls], 0, 1), None);
        assert_eq!(both(&usage, [&falls, &rises], 1, 2), Some(6.0));
    }
}
