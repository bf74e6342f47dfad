//! From rows of the ranking to marks: the figures of each target at each place, and the reason for each missing figure.

use super::axis;
use super::model::{Absent, Series, Shape, Unit};
use super::subject::Picture;
use super::sweep::{AlongAxis, Place, Sweep};
use crate::model::{Run, Target};
use crate::ranking::{Group, Row, Standing};

/// The reason for a target that hit less often than the best at the same place, and so stands outside the ranking.
pub(super) const UNLIKE: &str = "hits less often than the best: speed not compared";

/// The reason for a missing figure where the run has no better one.
const NOT_KNOWN: &str = "not known";

/// A figure, with its interval where it has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Figure {
    pub(super) value: f64,
    pub(super) ci95: Option<[f64; 2]>,
}

/// Reads a figure from a row; `None` where this figure is unknown.
pub(super) type Read<'a> = &'a dyn Fn(&Row<'_>) -> Option<Figure>;

impl Figure {
    /// A figure without an interval.
    pub(super) fn plain(value: f64) -> Self {
        Self { value, ci95: None }
    }
}

/// The figure at each place of a slice: lines, or bars where there is only one place.
pub(super) fn swept(
    run: &Run,
    sweep: &Sweep<'_>,
    slice: &AlongAxis<'_>,
    label: &str,
    unit: Unit,
    read: Read<'_>,
) -> Picture {
    if let [place] = slice.places.as_slice() {
        let (series, absent) = part(run, place.group, label, read);
        let y = axis::of_figures(label, unit, &series);
        return Picture { shape: Shape::Bars, x: axis::of_targets(run), y, series, absent };
    }
    let (mut series, mut absent) = (Vec::new(), Vec::new());
    for target in 0..run.targets.len() {
        let (mut its_series, mut its_absent) = line(run, target, &slice.places, read);
        series.append(&mut its_series);
        absent.append(&mut its_absent);
    }
    let y = axis::of_figures(label, unit, &series);
    Picture { shape: Shape::Lines, x: sweep.axis(), y, series, absent }
}

/// One figure of each target at one point: a part of bars.
pub(super) fn part(
    run: &Run,
    group: &Group<'_>,
    name: &str,
    read: Read<'_>,
) -> (Vec<Series>, Vec<Absent>) {
    let mut marks: Vec<(Option<String>, usize, Figure)> = Vec::new();
    let mut absent = Vec::new();
    for (target, known) in run.targets.iter().enumerate() {
        match seen(run, target, group, read) {
            Ok((withheld, figure)) => marks.push((withheld, target, figure)),
            Err(reason) => {
                absent.push(Absent { target, name: known.name.clone(), at: Vec::new(), reason });
            }
        }
    }
    let standings = distinct(marks.iter().map(|(withheld, ..)| withheld));
    let of_standing = |standing: &Option<String>| {
        let mine = marks.iter().filter(|(withheld, ..)| withheld == standing);
        let marks = mine.map(|(_, target, figure)| (index(*target), Some(*figure)));
        series(None, name, standing.clone(), marks)
    };
    (standings.into_iter().map(of_standing).collect(), absent)
}

/// A part of bars: one figure of those targets that can have it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BarPart {
    pub(super) name: &'static str,
    /// Its colour; `None` where it is the only part.
    pub(super) colour: Option<usize>,
    pub(super) concerns: fn(&Target) -> bool,
    pub(super) read: fn(&Row<'_>) -> Option<Figure>,
}

/// Bars of parts. A target without some parts is listed with these, and a target without any as having no bar.
pub(super) fn stacked(
    run: &Run,
    group: &Group<'_>,
    parts: &[BarPart],
) -> (Vec<Series>, Vec<Absent>) {
    let (mut all, mut lacking): (Vec<Series>, Vec<Absent>) = (Vec::new(), Vec::new());
    for BarPart { name, colour, concerns, read } in parts {
        let (series, absent) = part(run, group, name, read);
        all.extend(series.into_iter().map(|series| Series { colour: *colour, ..series }));
        for one in absent.into_iter().filter(|one| concerns(&run.targets[one.target])) {
            let same =
                |known: &&mut Absent| (known.target, &known.reason) == (one.target, &one.reason);
            match lacking.iter_mut().find(same) {
                Some(known) => known.at.push((*name).to_owned()),
                None => lacking.push(Absent { at: vec![(*name).to_owned()], ..one }),
            }
        }
    }
    for one in &mut lacking {
        if !all.iter().any(|series| series.x.contains(&index(one.target))) {
            one.at.clear();
        }
    }
    lacking.sort_by_key(|one| one.target);
    (all, lacking)
}

/// The number of a target as a place on an axis.
#[expect(clippy::cast_precision_loss, reason = "a place on an axis")]
pub(super) fn index(target: usize) -> f64 {
    target as f64
}

/// The mark of a target in a group, with the reason where it stands outside the ranking; or the reason why it has no
/// mark.
pub(super) fn seen<T>(
    run: &Run,
    target: usize,
    group: &Group<'_>,
    read: impl Fn(&Row<'_>) -> Option<T>,
) -> Result<(Option<String>, T), String> {
    let url = &run.targets[target].url;
    let row = group.rows.iter().find(|row| row.cell.target == *url);
    let shown = row.and_then(|row| match &row.standing {
        Standing::Empty(_) => None,
        Standing::Withheld(why) => Some((Some(why.clone()), read(row)?)),
        Standing::Unlike { .. } => Some((Some(UNLIKE.to_owned()), read(row)?)),
        Standing::Ranked { .. } => Some((None, read(row)?)),
    });
    shown.ok_or_else(|| why_not(run, target, group))
}

/// The reason why a target has no figure in a group.
pub(super) fn why_not(run: &Run, target: usize, group: &Group<'_>) -> String {
    let Target { url, reason, .. } = &run.targets[target];
    match group.rows.iter().find(|row| row.cell.target == *url).map(|row| &row.standing) {
        Some(Standing::Empty(reason)) => (*reason).to_owned(),
        Some(_) => NOT_KNOWN.to_owned(),
        None => reason.clone().unwrap_or_else(|| "not measured".to_owned()),
    }
}

/// The line of one target: a series for each standing of its figures, broken where the standing changes or a figure is
/// missing.
pub(super) fn line(
    run: &Run,
    target: usize,
    places: &[Place<'_>],
    read: Read<'_>,
) -> (Vec<Series>, Vec<Absent>) {
    let name = &run.targets[target].name;
    let seen: Vec<_> = places.iter().map(|place| seen(run, target, place.group, read)).collect();
    let standings = distinct(seen.iter().flatten().map(|(withheld, _)| withheld));
    let of_standing = |standing: &Option<String>| {
        let figure = |seen: &Result<(Option<String>, Figure), String>| match seen {
            Ok((withheld, figure)) if withheld == standing => Some(*figure),
            _ => None,
        };
        let marks = places.iter().zip(&seen).map(|(place, seen)| (place.x, figure(seen)));
        series(Some(target), name, standing.clone(), marks)
    };
    let reasons = distinct(seen.iter().filter_map(|seen| seen.as_ref().err()));
    let of_reason = |reason: &String| {
        let mine = places.iter().zip(&seen).filter(|(_, seen)| seen.as_ref().err() == Some(reason));
        let everywhere = standings.is_empty() && reasons.len() == 1;
        let at = mine.map(|(place, _)| place.label.clone()).filter(|_| !everywhere).collect();
        Absent { target, name: name.clone(), at, reason: reason.clone() }
    };
    (
        standings.iter().copied().map(of_standing).collect(),
        reasons.iter().copied().map(of_reason).collect(),
    )
}

/// The distinct items, in the order of their first appearance.
pub(super) fn distinct<'a, T: PartialEq>(all: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut distinct = Vec::new();
    for one in all {
        if !distinct.contains(&one) {
            distinct.push(one);
        }
    }
    distinct
}

/// A series of these marks; without any interval, its vectors of bounds are empty.
pub(super) fn series(
    target: Option<usize>,
    name: &str,
    withheld: Option<String>,
    marks: impl Iterator<Item = (f64, Option<Figure>)>,
) -> Series {
    let (x, figures): (Vec<f64>, Vec<Option<Figure>>) = marks.unzip();
    let bounded = figures.iter().flatten().any(|figure| figure.ci95.is_some());
    let bound = |side: usize| {
        let bounds = figures.iter().map(|figure| Some(figure.as_ref()?.ci95?[side]));
        bounds.filter(|_| bounded).collect()
    };
    Series {
        target,
        name: name.to_owned(),
        colour: None,
        hue: None,
        labels: Vec::new(),
        unlike: withheld.as_deref() == Some(UNLIKE),
        withheld,
        x,
        low: bound(0),
        high: bound(1),
        y: figures.iter().map(|figure| Some(figure.as_ref()?.value)).collect(),
    }
}
