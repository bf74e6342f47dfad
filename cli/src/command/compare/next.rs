//! The next useful step after a comparison, in a line.

use std::path::Path;

use larder_report::{Run, Severity};

use super::DEFAULT_SCENARIO;

/// The next step for a reader of the table; `folder` has the results.
pub(super) fn next_step(run: &Run, folder: &Path) -> String {
    let page = folder.join("report.html");
    let page = page.display();
    if run.cells.iter().all(|cell| cell.ops_per_s.is_none()) {
        "next: mend the reasons above, then repeat the command".to_owned()
    } else if run.checks.iter().any(|check| check.severity == Severity::Error) {
        format!("next: {page} shows under Checks the figures that are no result, and the fixes")
    } else if run.scenario == DEFAULT_SCENARIO {
        match run.targets.iter().find(|target| target.reason.is_some()) {
            Some(missing) => format!(
                "next: `larder engines {}` shows the needs of that target; {page} has the charts",
                missing.name.trim_end_matches(':')
            ),
            None => format!(
                "next: your own values and mix, `larder compare moka: redis: -d 100,10k --ratio 1:10`; {page} has the charts"
            ),
        }
    } else {
        format!(
            "next: {page} has the charts; `larder diff {} LATER` compares this result with a later one",
            folder.display()
        )
    }
}

#[cfg(test)]
mod tests {
    use larder_report::{Cell, Finding, Target};

    use super::*;

    fn next(run: &Run) -> String {
        next_step(run, Path::new("results/x"))
    }

    #[test]
    fn the_next_step_depends_on_the_results() {
        let cells = vec![Cell { ops_per_s: Some(1.0), ..Cell::default() }];
        let custom = Run { scenario: "custom".into(), cells: cells.clone(), ..Run::default() };
        assert!(next(&custom).starts_with("next: results/x/report.html has the charts; "));
        assert!(next(&custom).contains("`larder diff results/x LATER`"));
        assert!(next(&Run::default()).starts_with("next: mend the reasons above"));
        let mut quick = Run { scenario: DEFAULT_SCENARIO.into(), cells, ..Run::default() };
        assert!(next(&quick).contains("`larder compare moka: redis: "));
        quick.targets = vec![Target {
            name: "redis:".into(),
            reason: Some("not installed".into()),
            ..Target::default()
        }];
        assert!(next(&quick).starts_with("next: `larder engines redis` shows "));
        quick.checks = vec![Finding {
            id: "STALE".into(),
            severity: Severity::Error,
            target: None,
            point: None,
            operation: None,
            stored: true,
            text: String::new(),
            advice: String::new(),
        }];
        assert!(next(&quick).contains(" shows under Checks "));
    }
}
