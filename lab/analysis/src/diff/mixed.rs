//! Whether two runs are alike except in the compared figures.

use std::collections::{BTreeMap, BTreeSet};

use larder_report::{Cell, Differing, Run};

use crate::alike::{Fact, circumstances, facts, versions};

/// Options that only set how long a workload is measured: more rounds make figures surer, not different.
const LENGTH: [&str; 3] = ["max-time", "rounds", "until"];

/// The differences between the runs besides the figures: the machine, the program, the workload, and the versions of
/// the compared cells' targets.
pub(super) fn mixed(old: &Run, new: &Run, compared: &[(&Cell, &Cell)]) -> Vec<Differing> {
    let mut found = machine(old, new);
    found.extend(workload(old, new, compared));
    let mut seen = Vec::new();
    for (before, after) in compared {
        if seen.contains(&(&before.target, &after.target)) {
            continue;
        }
        seen.push((&before.target, &after.target));
        if let Some(target) = new.target(&after.target) {
            let (before, after) = (versions(old, &before.target), versions(new, &after.target));
            found.extend(differing(&format!("version of {}", target.name), before, after));
        }
    }
    found
}

/// The differences between the machines, the builds and the versions of Larder; a run that was merged from slices has
/// those of every slice.
pub(super) fn machine(old: &Run, new: &Run) -> Vec<Differing> {
    let of_old = circumstances(old);
    let all = facts(&[of_old.clone(), circumstances(new)].concat());
    let (old, new) = all.split_at(of_old.len());
    let values = |facts: &[[Fact; 9]], at: usize| -> Vec<String> {
        facts.iter().filter_map(|facts| facts[at].1.clone()).collect()
    };
    let names = all[0].iter().map(|(name, _)| *name).enumerate();
    names.filter_map(|(at, name)| differing(name, values(old, at), values(new, at))).collect()
}

/// The options of the workload that are not coordinates: common cells have the same coordinates anyway.
fn workload(old: &Run, new: &Run, compared: &[(&Cell, &Cell)]) -> Vec<Differing> {
    let is_coordinate = |option: &str| {
        let name = option.replace('-', "_");
        compared.iter().any(|(_, cell)| cell.point.contains_key(&name))
    };
    let options: BTreeSet<&String> = old.workload.keys().chain(new.workload.keys()).collect();
    let differs = |option: &String| {
        let (before, after) = (resolved(&old.workload, option), resolved(&new.workload, option));
        let said = |value: &Option<String>| value.clone().unwrap_or_else(|| "not given".into());
        // Runs of earlier versions do not tell it.
        let is_told = option.as_str() != "trace-format" || before.is_some() && after.is_some();
        (before != after && is_told).then(|| Differing {
            name: option.clone(),
            old: said(&before),
            new: said(&after),
        })
    };
    let options = options.into_iter().filter(|option| !LENGTH.contains(&option.as_str()));
    options.filter(|option| !is_coordinate(option)).filter_map(differs).collect()
}

/// The value of an option, given or default; `None` where the option has no effect until it is given.
fn resolved(workload: &BTreeMap<String, String>, option: &str) -> Option<String> {
    let given = |option: &str| workload.get(option).filter(|value| !value.is_empty()).cloned();
    let is_replayed = || given("key-pattern").is_some_and(|pattern| pattern.starts_with("trace:"));
    let has_any = |options: &[&str]| options.iter().any(|option| workload.contains_key(*option));
    given(option).or_else(|| match option {
        "compressibility" if !has_any(&["payload"]) => Some("0".into()),
        "operations" if !has_any(&["ratio", "on-miss", "capacity"]) && !is_replayed() => {
            Some("set,get".into())
        }
        "multiget" if !has_any(&["group"]) => Some("1".into()),
        "multiset" => Some("1".into()),
        "pipeline" if has_any(&["connections"]) => Some("1".into()),
        "connections" if has_any(&["pipeline"]) => given("threads"),
        "processes" => given("threads"),
        "requests" if !has_any(&["duration"]) && !is_replayed() => given("keys"),
        "arrivals" if has_any(&["rate", "scan", "search"]) => Some("fixed".into()),
        "replay" if is_replayed() && !has_any(&["rate", "scan", "search"]) => Some("asap".into()),
        _ => None,
    })
}

/// The difference between two sets of values, in any order; an empty set reads as unknown.
fn differing<T: Ord + ToString>(name: &str, old: Vec<T>, new: Vec<T>) -> Option<Differing> {
    let (old, new): (BTreeSet<T>, BTreeSet<T>) =
        (old.into_iter().collect(), new.into_iter().collect());
    let said = |values: &BTreeSet<T>| match values.len() {
        0 => "unknown".to_owned(),
        _ => values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    (old != new).then(|| Differing { name: name.to_owned(), old: said(&old), new: said(&new) })
}
