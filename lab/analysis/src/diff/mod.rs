//! One run set against another: the changes from old to new, in the common cells.
//!
//! Rounds of one run share the conditions of that day, and two runs are two days: a reported change may be the
//! machine's. So runs of known different circumstances are compared only if the reader asks for it ([`mixed`]). The
//! spread between runs of the same thing shows only in several of them.

mod changes;
mod mixed;

use std::collections::{BTreeMap, BTreeSet};

use larder_report::{
    Cell, Change, Diff, DiffCell, DiffMeasure, DiffSide, Environment, NotCompared, Run, coordinate,
};

use crate::alike::{are_alike, circumstances};
use changes::{Changes, Reason, reason};

/// A run and its path.
#[derive(Debug, Clone, Copy)]
pub struct DiffOf<'a> {
    /// Its folder, or its file.
    pub path: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// The reason why two runs cannot be compared as requested: one line that names the fix.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotComparable(String);

/// The way in which the targets of two runs are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchBy {
    /// By their URLs, as typed.
    Url,
    /// By the label that reports show, for example where one cache was at two paths.
    Name,
}

/// The changes from `old` to `new`. Runs of different circumstances are compared as well: [`Diff::mixed`] lists the
/// differences.
///
/// # Errors
///
/// A usage error where the two runs have no cell in common, or where targets are matched by names that are not unique.
pub fn diff(old: DiffOf<'_>, new: DiffOf<'_>, by: MatchBy) -> Result<Diff, NotComparable> {
    if by == MatchBy::Name {
        unique_names(old)?;
        unique_names(new)?;
    }
    let cells = |of: DiffOf<'_>| of.run.cells.iter().map(|cell| place(of.run, cell)).collect();
    let (of_old, of_new): (Vec<DiffCell>, Vec<DiffCell>) = (cells(old), cells(new));
    let is_same = |a: &DiffCell, b: &DiffCell| {
        let target = if by == MatchBy::Name { a.name == b.name } else { a.target == b.target };
        target && a.operation == b.operation && a.point == b.point
    };
    let mut found = Diff { old: side(old), new: side(new), ..Diff::default() };
    let mut common = Vec::new();
    for (cell, place) in new.run.cells.iter().zip(&of_new) {
        match of_old.iter().position(|other| is_same(other, place)) {
            Some(at) => common.push((place.clone(), &old.run.cells[at], cell)),
            None => found.only_new.push(place.clone()),
        }
    }
    let is_alone = |place: &&DiffCell| !of_new.iter().any(|other| is_same(place, other));
    found.only_old = of_old.iter().filter(is_alone).cloned().collect();
    if common.is_empty() {
        return Err(nothing_in_common(&found, by));
    }
    let mut changes = Changes::new(new.run.seed);
    let mut compared = Vec::new();
    for (place, before, after) in common {
        let mut reason = reason(old.run, before, new.run, after);
        if reason.is_none() {
            reason = changes.push(&place, before, after);
            compared.push((before, after));
        }
        found.not_compared.extend(reason.map(|Reason { text, may_be_worse }| NotCompared {
            cell: place,
            reason: text,
            may_be_worse,
        }));
    }
    found.changes = changes.judged();
    found.mixed = mixed::mixed(old.run, new.run, &compared);
    found.common = common_to(&found, old.run, new.run);
    found.notes.extend(of_seeds(&found));
    Ok(found)
}

/// The note on hit ratios of runs with different keys.
fn of_seeds(diff: &Diff) -> Option<String> {
    let (old, new) = (diff.old.seed, diff.new.seed);
    let are_hits = |change: &Change| change.measure == DiffMeasure::HitRatio;
    (old != new && diff.changes.iter().any(are_hits)).then(|| {
        format!(
            "the seeds are {old} and {new}, and each draws its own keys: the keys alone may have changed a hit ratio; \
             give both runs one --seed"
        )
    })
}

fn side(of: DiffOf<'_>) -> DiffSide {
    DiffSide {
        path: of.path.to_owned(),
        larder: of.run.larder.clone(),
        scenario: of.run.scenario.clone(),
        seed: of.run.seed,
        started: of.run.started.clone(),
        interrupted: of.run.interrupted,
    }
}

fn place(run: &Run, cell: &Cell) -> DiffCell {
    let name = run.target(&cell.target).map_or(&cell.target, |target| &target.name);
    DiffCell {
        target: cell.target.clone(),
        name: name.clone(),
        point: cell.point.clone(),
        operation: cell.operation,
    }
}

fn unique_names(of: DiffOf<'_>) -> Result<(), NotComparable> {
    let mut names: Vec<&str> = of.run.targets.iter().map(|target| &*target.name).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(NotComparable(format!(
            "--by-name: {} has two targets called {}; give them names with ?name=LABEL, or match by URL",
            of.path, pair[0]
        ))),
        None => Ok(()),
    }
}

/// The error for two runs without a common cell: the reason, or the targets of both where no target is in both.
fn nothing_in_common(diff: &Diff, by: MatchBy) -> NotComparable {
    let key = |cell: &DiffCell| match by {
        MatchBy::Url => cell.target.clone(),
        MatchBy::Name => cell.name.clone(),
    };
    let of = |cells: &[DiffCell]| cells.iter().map(key).collect::<BTreeSet<String>>();
    let (old, new) = (of(&diff.only_old), of(&diff.only_new));
    let begin = format!("{} and {} have no cell in common", diff.old.path, diff.new.path);
    let text = if old.is_disjoint(&new) {
        let listed = |names: BTreeSet<String>| match names.len() {
            0 => "nothing".to_owned(),
            _ => Vec::from_iter(names).join(", "),
        };
        let hint = match by {
            MatchBy::Url => "; --by-name matches targets by their names",
            MatchBy::Name => "",
        };
        format!("{begin}: the first measured {}, the second {}{hint}", listed(old), listed(new))
    } else {
        let differing = differing(diff).join(", ");
        format!("{begin}, though their targets are the same: {differing}; measure both alike")
    };
    NotComparable(text)
}

/// The differences between the cells of two runs, besides their targets: `data_size 1 KiB against 2 KiB`.
fn differing(diff: &Diff) -> Vec<String> {
    let all = |cells: &[DiffCell]| {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for cell in cells {
            let operation = ("operation".to_owned(), cell.operation.to_string());
            let at = cell.point.iter().map(|(name, value)| (name.clone(), coordinate(name, value)));
            for (name, value) in at.chain([operation]) {
                let values = all.entry(name).or_default();
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        all
    };
    let (old, new) = (all(&diff.only_old), all(&diff.only_new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let told = |all: &BTreeMap<String, Vec<String>>, name: &String| {
        all.get(name).map_or_else(|| "none".to_owned(), |values| values.join(", "))
    };
    let alike = |name: &&String| {
        let of = |all: &BTreeMap<String, Vec<String>>| all.get(*name).cloned().unwrap_or_default();
        of(&old).iter().any(|value| of(&new).contains(value))
    };
    let (same, other): (Vec<&String>, Vec<&String>) = names.into_iter().partition(alike);
    let named = if other.is_empty() { same } else { other };
    named
        .into_iter()
        .map(|name| format!("{name} {} against {}", told(&old, name), told(&new, name)))
        .collect()
}

/// The facts that both runs share, as far as they concern the common cells.
fn common_to(diff: &Diff, old: &Run, new: &Run) -> BTreeMap<String, String> {
    let mut common = BTreeMap::new();
    if mixed::machine(old, new).is_empty() && are_alike(&circumstances(new)) {
        // The load belongs to one of the two runs only.
        let environment = Environment { load: None, ..new.environment.clone() };
        common.insert("machine".to_owned(), larder_report::machine(&environment));
    }
    if (&*old.environment.build, &*new.environment.build) == ("debug", "debug") {
        common.insert("build".to_owned(), "debug, whose figures mean nothing".to_owned());
    }
    for (name, value) in &new.workload {
        if old.workload.get(name) == Some(value) {
            common.insert(name.clone(), value.clone());
        }
    }
    // Where all cells have one value of a coordinate, that value says more than the list of the sweep.
    let points = || diff.changes.iter().map(|change| &change.cell.point);
    for (name, value) in points().next().into_iter().flatten() {
        if points().all(|point| point.get(name) == Some(value)) {
            common.insert(name.replace('_', "-"), coordinate(name, value));
        } else {
            common.remove(&name.replace('_', "-"));
        }
    }
    common.retain(|_, value| !value.is_empty());
    common
}
