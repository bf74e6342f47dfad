//! VERSION-PARITY: figures of different programs side by side.
//!
//! Within a run one Larder measures all targets on one machine, so only one engine in several versions is left, which
//! may be the purpose. A run that was merged from slices may mix anything.

use std::collections::BTreeMap;

use jiff::Timestamp;
use larder_report::figures::count;
use larder_report::{MergedSlice, Run, Severity, Target};

use super::{About, Check, Needs, Report};
use crate::alike::{circumstances, facts};

/// A value and the name of its owner.
pub(crate) type Having<'a> = (&'a str, &'a str);

/// Slices that began further apart than this ran on different days.
const DAY_S: i64 = 24 * 60 * 60;

pub(super) struct VersionParity;

impl Check for VersionParity {
    fn about(&self) -> &'static About {
        &About {
            id: "VERSION-PARITY",
            severities: &[Severity::Warn, Severity::Note],
            sees: "one engine in several versions, a larder built for debugging, or slices of a plan that ran on different \
                   machines, kernels, versions or days",
            seen_in: "A004: memcached 1.2.0, of 2006, measured in 2012 beside engines of 2013, and conclusions about its locks",
            advice: "compare builds of one kind, measured on one machine with one version of everything else",
            needs: Needs::WholeRun,
            repeats: false,
        }
    }

    fn look(&self, run: &Run, report: &mut Report<'_>) {
        if run.environment.build == "debug" {
            let text = "this larder was built for debugging: its own loop may take most of the time, so the figures \
                        say little about the targets; build it with --release";
            report.add(Severity::Warn, None, None, None, text.into());
        }
        for text in engines(&run.targets) {
            report.add(Severity::Note, None, None, None, text);
        }
        if let Some(text) = parts(run) {
            report.add(Severity::Warn, None, None, None, text);
        }
    }
}

/// The engines with several versions, a sentence each. Two servers that speak one protocol are not versions of each
/// other, and neither are two stacks of different tiers.
fn engines(targets: &[Target]) -> Vec<String> {
    let mut engines: BTreeMap<(&str, String), Vec<Having<'_>>> = BTreeMap::new();
    for target in targets.iter().filter(|target| target.stand_in().is_none()) {
        if let Some(version) = &target.version {
            let of_program = (&*target.engine, program(version));
            engines.entry(of_program).or_default().push((version, &target.name));
        }
    }
    let said = engines.into_iter().filter_map(|((engine, _), versions)| {
        Some(format!("{engine} has several versions in this run: {}", grouped(&versions)?))
    });
    said.collect()
}

/// The product of a version, taken from the words without digits: `InnoDB memcached plugin` of `5.6.14 InnoDB memcached
/// plugin`.
fn program(version: &str) -> String {
    let words = version.split_whitespace();
    let names = words.filter(|word| !word.contains(|letter: char| letter.is_ascii_digit()));
    names.collect::<Vec<_>>().join(" ")
}

/// The differences between the slices of a run, in a sentence; `None` where they are alike.
fn parts(run: &Run) -> Option<String> {
    let parts = &run.slices;
    let all = circumstances(run);
    let mut told: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for (part, facts) in parts.iter().zip(facts(&all)) {
        let slice = part.slice.number.to_string();
        let facts = facts
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.unwrap_or_else(|| "unknown".into())));
        // The cells of a target that could not be opened name the reason.
        let versions = part
            .versions
            .iter()
            .filter_map(|(url, version)| Some((format!("version of {url}"), version.clone()?)));
        for (name, value) in facts.chain(versions) {
            told.entry(name).or_default().push((value, slice.clone()));
        }
    }
    let differing = told.into_iter().filter_map(|(name, values)| {
        let values: Vec<Having<'_>> =
            values.iter().map(|(value, slice)| (value.as_str(), slice.as_str())).collect();
        Some(format!("{name} {}", grouped(&values)?))
    });
    let mut differing: Vec<String> = differing.collect();
    differing.extend(apart(parts));
    let number = parts.len();
    (!differing.is_empty()).then(|| {
        format!(
            "the {number} slices of this run are not alike (slices in brackets): {}",
            differing.join("; ")
        )
    })
}

/// Values with their owners: `1.6.18 (a, b) and 1.6.38 (c)`; `None` where all values are the same.
pub fn grouped(values: &[Having<'_>]) -> Option<String> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for (value, of) in values {
        match groups.iter_mut().find(|(known, _)| known == value) {
            Some((_, all)) => all.push(of),
            None => groups.push((value, vec![of])),
        }
    }
    let said: Vec<String> =
        groups.iter().map(|(value, all)| format!("{value} ({})", all.join(", "))).collect();
    (said.len() > 1).then(|| said.join(" and "))
}

/// The time between the first and the last start of the slices, where it is more than a day.
fn apart(parts: &[MergedSlice]) -> Option<String> {
    let began = parts.iter().filter_map(|part| part.started.parse::<Timestamp>().ok());
    let began: Vec<i64> = began.map(Timestamp::as_second).collect();
    let apart = began.iter().max()? - began.iter().min()?;
    (apart > DAY_S).then(|| format!("the slices began {} apart", count(apart / DAY_S, "day")))
}
