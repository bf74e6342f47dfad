//! The checks that fired, worst first, for people: advice once for each rule, and many notes of one rule folded into
//! one line.

use std::collections::BTreeSet;

use crate::figures::{count, list};
use crate::model::{Finding, Run, Severity};
use crate::points::label;
use crate::ranking::name;

/// More different notes of a rule than this fold into one line.
const NOTES_SHOWN: usize = 1;

/// More different warnings of a rule than this fold; errors never do.
const WARNINGS_SHOWN: usize = 4;

/// All findings of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFindings<'a> {
    /// The name of the rule.
    pub id: &'a str,
    /// Its severity.
    pub severity: Severity,
    /// The number of checks behind it.
    pub count: usize,
    /// The findings and their places, a line each.
    pub lines: Vec<String>,
    /// The advice; seldom more than one sentence.
    pub advice: Vec<&'a str>,
}

/// The checks of a run by rule, worst first.
pub fn findings(run: &Run) -> Vec<RuleFindings<'_>> {
    let rules: BTreeSet<(Severity, &str)> =
        run.checks.iter().map(|check| (check.severity, check.id.as_str())).collect();
    rules.into_iter().map(|(severity, id)| finding(run, severity, id)).collect()
}

/// The number of checks by severity: `1 error, 2 warnings and 5 notes`.
pub fn tally(run: &Run) -> String {
    let number = |severity| run.checks.iter().filter(|check| check.severity == severity).count();
    let counted = [
        (number(Severity::Error), "error"),
        (number(Severity::Warn), "warning"),
        (number(Severity::Note), "note"),
    ];
    let parts: Vec<String> = counted
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    if parts.is_empty() {
        return "none fired".to_owned();
    }
    list(&parts.iter().map(String::as_str).collect::<Vec<_>>())
}

fn finding<'a>(run: &'a Run, severity: Severity, id: &'a str) -> RuleFindings<'a> {
    let checks: Vec<&Finding> =
        run.checks.iter().filter(|check| check.severity == severity && check.id == id).collect();
    let mut advice: Vec<&str> = Vec::new();
    for check in &checks {
        if !check.advice.is_empty() && !advice.contains(&check.advice.as_str()) {
            advice.push(&check.advice);
        }
    }
    let lines = match severity {
        Severity::Error => said_once(run, &checks),
        Severity::Warn => folded(run, &checks, WARNINGS_SHOWN),
        Severity::Note => folded(run, &checks, NOTES_SHOWN),
    };
    RuleFindings { id, severity, count: checks.len(), lines, advice }
}

/// One line for each text, with all places where it holds.
fn said_once(run: &Run, checks: &[&Finding]) -> Vec<String> {
    let mut texts: Vec<(&str, Vec<String>)> = Vec::new();
    for check in checks {
        let place = place(run, check);
        match texts.iter_mut().find(|(text, _)| *text == check.text) {
            Some((_, places)) if places.contains(&place) => {}
            Some((_, places)) => places.push(place),
            None => texts.push((&check.text, vec![place])),
        }
    }
    texts
        .into_iter()
        .map(|(text, mut places)| {
            places.retain(|place| !place.is_empty());
            if places.is_empty() { text.to_owned() } else { said_of(&joined(&places), text) }
        })
        .collect()
}

/// Places in words. A place with an operation has a comma of its own.
fn joined(places: &[String]) -> String {
    if places.iter().any(|place| place.contains(',')) {
        return places.join("; ");
    }
    list(&places.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The text about a subject, after a colon; many names already end with a colon.
pub(crate) fn said_of(subject: &str, text: &str) -> String {
    let colon = if subject.ends_with(':') { "" } else { ":" };
    format!("{subject}{colon} {text}")
}

/// As [`said_once`], but more than `limit` lines become one, with their number, the targets, and the first line.
fn folded(run: &Run, checks: &[&Finding], limit: usize) -> Vec<String> {
    let lines = said_once(run, checks);
    if lines.len() <= limit {
        return lines;
    }
    let names = concerned(run, checks);
    let on = if names.is_empty() { String::new() } else { format!(" on {}", list(&names)) };
    vec![format!("{} findings{on}, such as: {}", checks.len(), lines[0])]
}

/// The targets of checks, and those that their texts mention, in the order of the run.
fn concerned<'a>(run: &'a Run, checks: &[&Finding]) -> Vec<&'a str> {
    let mentions = |text: &str, name: &str| {
        let ends = |c: char| c.is_whitespace() || ",;.()".contains(c);
        text.match_indices(name).any(|(at, _)| {
            text[..at].chars().next_back().is_none_or(ends)
                && text[at + name.len()..].chars().next().is_none_or(ends)
        })
    };
    let concerns = |url: &str, name: &str| {
        checks
            .iter()
            .any(|check| check.target.as_deref() == Some(url) || mentions(&check.text, name))
    };
    run.targets
        .iter()
        .filter(|target| concerns(&target.url, &target.name))
        .map(|target| target.name.as_str())
        .collect()
}

/// The place of a check: `lmdb:, get, data_size 4 KiB`; empty for the whole run.
fn place(run: &Run, check: &Finding) -> String {
    let swept = run.swept();
    let target = check.target.as_deref().map(|url| name(run, url).to_owned());
    let operation = check.operation.map(|operation| operation.to_string());
    let point = check.point.as_ref().map(|point| label(point, &swept));
    let parts = [target, operation, point].into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(", ")
}
