//! The checks that fired, compared with those that the article's mistakes should set off.

use larder_report::{ArticleChecks, Run};

use larder_analysis::check::CHECKS;

/// Sorts the checks of a run by the scenario's list, in the order of the documentation. A check with `?` behind its
/// name in the list may fire or not.
pub(super) fn judge_checks(expected: &[String], run: &Run) -> ArticleChecks {
    let mut judged = ArticleChecks::default();
    let is_at_times = |id: &str| expected.iter().any(|of| of.strip_suffix('?') == Some(id));
    for about in CHECKS.iter().map(|check| check.about()) {
        let is_expected = expected.iter().any(|id| id == about.id);
        let has_fired = run.checks.iter().any(|finding| finding.id == about.id);
        let list = match (is_expected, has_fired) {
            (true, true) => &mut judged.fired,
            (true, false) => &mut judged.silent,
            (false, true) if about.repeats && !is_at_times(about.id) => &mut judged.unexpected,
            (false, true) => &mut judged.incidental,
            (false, false) => continue,
        };
        list.push(about.id.to_owned());
    }
    judged
}

#[cfg(test)]
mod tests {
    use super::*;
    use larder_report::{Finding, Severity};

    #[test]
    fn fired_checks_are_held_to_the_list_and_checks_of_speed_only_where_it_names_them() {
        let fired = |ids: &[&str]| -> Run {
            let finding = |id: &&str| Finding {
                id: (*id).into(),
                severity: Severity::Warn,
                target: None,
                point: None,
                operation: None,
                stored: false,
                text: String::new(),
                advice: String::new(),
            };
            Run { checks: ids.iter().map(finding).collect(), ..Run::default() }
        };
        let listed = ["CPU-WALL", "NEVER-HITS"].map(String::from);
        let texts = |ids: &[&str]| -> Vec<String> { ids.iter().map(|id| (*id).into()).collect() };
        let judged = judge_checks(&listed, &fired(&["CLIENT-COST", "ONE-KEY", "NEVER-HITS"]));
        let wanted = ArticleChecks {
            fired: texts(&["NEVER-HITS"]),
            silent: texts(&["CPU-WALL"]),
            unexpected: texts(&["ONE-KEY"]),
            incidental: texts(&["CLIENT-COST"]),
        };
        assert_eq!(judged, wanted);
        assert!(!judged.as_listed());
        let judged = judge_checks(&listed, &fired(&["CPU-WALL", "NEVER-HITS", "STAND-IN"]));
        assert!(judged.as_listed(), "{judged:?}");
        let listed = ["NEVER-HITS", "ONE-KEY?"].map(String::from);
        for fires in [&["NEVER-HITS", "ONE-KEY"][..], &["NEVER-HITS"]] {
            let judged = judge_checks(&listed, &fired(fires));
            assert!(judged.as_listed(), "{judged:?}");
        }
    }
}
