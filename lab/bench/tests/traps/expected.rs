//! The judgement on a run of a server with a fault beside a sound server.

use larder_engines::ENGINES;
use larder_report::{Cell, Finding, Group, Operation, Row, Run, Severity, groups};
use larder_testkit::traps::{Fault, TrapServer, find};

use crate::support::{cell, findings, run};

/// The findings that the server with the fault must have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// Each of these checks fires, and these operations of the server are no result.
    Found(&'a [&'a str], &'a [Operation]),
    /// Operations fail, with the words of the server's answer. ERR-AS-OP tells them where most operations succeed.
    /// Where loads, the read-back or the emptying fail, the target is lost, for a reason with these words.
    Failing(&'a str),
    /// The server is lost, for a reason with these words.
    Lost(&'a str),
    /// The plan does nothing that the fault would change: no error.
    Nothing,
}

/// The labels of the two targets.
const BAD: &str = "bad";
const REAL: &str = "real";

/// Compares the server with this fault with a sound server under each plan, and checks the findings.
pub(crate) fn judge(trap: &str, plans: &[(&str, Expected<'_>)]) {
    let fault = find(trap).unwrap().fault;
    for (plan, expected) in plans {
        let run = compared(fault, plan);
        let place = format!("{trap} under {plan:?}");
        unharmed(&run, &place);
        match expected {
            Expected::Found(ids, withheld) => {
                ids.iter().for_each(|id| fires(&run, id, &place));
                withheld.iter().for_each(|operation| is_withheld(&run, *operation, &place));
            }
            Expected::Failing(words) => fails(&run, words, &place),
            Expected::Lost(words) => {
                assert!(is_lost(&run, words), "{place}: {:#?}", counts(&run));
            }
            Expected::Nothing => {
                let named = errors_of(&run, BAD);
                assert!(named.is_empty(), "{place}: {named:#?}");
            }
        }
    }
}

/// A run of a server with a fault and a sound server.
fn compared(fault: Fault, plan: &str) -> Run {
    let (bad, real) = (TrapServer::start(fault).unwrap(), TrapServer::start(Fault::None).unwrap());
    // A silent server costs its whole timeout; the sound server gets a long one, whatever else the machine does.
    let timeout = if fault.hangs() { "1s" } else { "60s" };
    let targets =
        [format!("{}&timeout={timeout}", bad.url(BAD)), format!("{}&timeout=60s", real.url(REAL))];
    run(&ENGINES, &targets.each_ref().map(String::as_str), &format!("rounds = 2\n{plan}"))
}

/// Checks that no error names the sound server, that it is ranked in all measured groups, and that no invalid figure
/// was compared with it.
fn unharmed(run: &Run, place: &str) {
    let held = errors_of(run, REAL);
    assert!(held.is_empty(), "{place}: held against the sound server: {held:#?}");
    let target = run.targets.iter().find(|target| target.name == REAL).unwrap();
    assert_eq!(target.reason, None, "{place}");
    let groups = groups(run);
    assert!(!groups.is_empty(), "{place}: nothing was measured");
    for group in &groups {
        let row = row(group, REAL);
        assert!(
            row.to_best().is_some(),
            "{place}: {} of the sound server is {:?}, {:?}",
            group.operation,
            row.standing,
            row.cell.counts
        );
        if is_no_result(group) {
            let compared = run.comparisons.iter().find(|of| of.operation == group.operation);
            assert!(compared.is_none(), "{place}: {compared:?}");
        }
    }
}

/// Whether the server with the fault has no figure that is a result in this group.
fn is_no_result(group: &Group<'_>) -> bool {
    let bad = group.rows.iter().find(|row| row.name == BAD);
    bad.is_none_or(|row| row.is_withheld() || row.rate().is_none())
}

fn row<'a>(group: &'a Group<'_>, name: &str) -> &'a Row<'a> {
    group.rows.iter().find(|row| row.name == name).unwrap()
}

fn url<'a>(run: &'a Run, name: &str) -> &'a str {
    &run.targets.iter().find(|target| target.name == name).unwrap().url
}

/// The findings against a target: the errors that name it, or all targets.
fn errors_of(run: &Run, name: &str) -> Vec<String> {
    let url = url(run, name);
    let of = |target: &Option<String>| target.as_ref().is_none_or(|target| target == url);
    let errors = run.checks.iter().filter(|check| check.severity == Severity::Error);
    let errors = errors.filter(|check| of(&check.target));
    errors.map(|check| format!("{}: {}", check.id, check.text)).collect()
}

/// Checks that a check has found the server with the fault.
fn fires(run: &Run, id: &str, place: &str) {
    let of = Some(url(run, BAD));
    let fired = findings(run, id).iter().any(|check| check.target.as_deref() == of);
    assert!(fired, "{place}: no {id}: {:#?}\n{:#?}", checks(run), counts(run));
}

/// Checks that a check withholds an operation of the server with the fault.
fn is_withheld(run: &Run, operation: Operation, place: &str) {
    let cell = cell(run, url(run, BAD), operation);
    let by_check = run.checks.iter().any(|check| check.disqualifies(cell));
    let groups = groups(run);
    let mut of = groups.iter().filter(|group| group.operation == operation);
    let withheld = by_check && of.all(is_no_result);
    assert!(withheld, "{place}: {operation}: {:#?}\n{:#?}", checks(run), counts(run));
}

/// Checks that failures are reported with these words, and that failed cells are no result.
fn fails(run: &Run, words: &str, place: &str) {
    let url = url(run, BAD);
    let told = run.checks.iter().any(|check| {
        check.id == "ERR-AS-OP"
            && check.severity == Severity::Error
            && check.target.as_deref() == Some(url)
            && check.text.contains(words)
    });
    assert!(told || is_lost(run, words), "{place}: {:#?}\n{:#?}", checks(run), counts(run));
    for group in &groups(run) {
        let cell = row(group, BAD).cell;
        assert!(cell.counts.errors == 0 || is_no_result(group), "{place}: {:#?}", counts(run));
    }
}

/// Whether the server with the fault is lost, for a reason with these words.
fn is_lost(run: &Run, words: &str) -> bool {
    let of = run.cells.iter().filter(|cell| cell.target == url(run, BAD));
    let mut reasons = of.filter_map(|cell| cell.reason.as_deref());
    reasons.any(|reason| reason.starts_with("lost ") && reason.contains(words))
}

/// The findings of the checks, one a line, for the message of a failed test.
fn checks(run: &Run) -> Vec<String> {
    let name = |url: &str| run.target(url).map_or(url, |target| &target.name).to_owned();
    let shown = |check: &Finding| {
        let target = check.target.as_deref().map(name);
        format!(
            "{} {:?} {target:?} {:?}: {}",
            check.id, check.severity, check.operation, check.text
        )
    };
    run.checks.iter().map(shown).collect()
}

/// The counts of the server with the fault, for the message of a failed test.
fn counts(run: &Run) -> Vec<String> {
    let shown = |cell: &Cell| format!("{}: {:?} {:?}", cell.operation, cell.reason, cell.counts);
    run.cells.iter().filter(|cell| cell.target == url(run, BAD)).map(shown).collect()
}
