//! Targets with unlike hit ratios: answered requests and hits are two figures, and no target is called faster for
//! either.

use larder_report::{
    Assertion, Comparison, Format, Run, Standing, Unlike, Verdict, groups, render, sentences,
};

use super::small::{PLAIN, assert_lines, faster, gets, tied};

/// Two targets that always hit, and one that hits one time in ten, each with equally fast answers.
fn run() -> Run {
    let mut run = gets(&[("big", 80_000.0), ("also", 79_000.0), ("small", 8_000.0)]);
    for cell in &mut run.cells {
        let hits_per_s = cell.ops_per_s;
        cell.hits_per_s = hits_per_s;
        (cell.answered_per_s, cell.answered_per_s_ci95) = (hits_per_s, cell.ops_per_s_ci95);
        if cell.target == "small" {
            (cell.counts.hits, cell.counts.misses) = (900, 9_100);
            (cell.answered_per_s, cell.answered_per_s_ci95) = (Some(88_000.0), Some([87e3, 89e3]));
        }
    }
    run.comparisons.push(tied("big", "also"));
    for a in ["big", "also"] {
        run.not_compared.push(Unlike {
            a: a.into(),
            b: "small".into(),
            point: run.cells[0].point.clone(),
            operation: run.cells[0].operation,
            reason: "hit ratios differ (100 % and 9 %)".into(),
        });
    }
    run
}

#[test]
fn no_format_calls_one_faster_that_hits_more_often() {
    for format in Format::all() {
        let text = render(&run(), format, PLAIN);
        assert!(!text.contains("faster"), "{format}: {text}");
        assert!(!text.contains("slower"), "{format}: {text}");
    }
}

#[test]
fn the_table_has_both_figures_and_ranks_those_that_hit_alike() {
    assert_lines(
        &render(&run(), Format::TABLE, PLAIN),
        &[
            "big      80.0 k/s  ±1.0 %  1.00×  a    100 %  80.0 k/s  11.2 µs  25.0 µs   100 µs  11.2 µs",
            "also     79.0 k/s  ±1.0 %      ~  a    100 %  79.0 k/s  11.4 µs  25.3 µs   101 µs  11.4 µs",
            "small    88.0 k/s  ±1.1 %                9 %  8.00 k/s   112 µs   250 µs  1.00 ms   112 µs",
            "hits 9 %, the best 100 %: a miss is other work than a hit, so speed is not compared",
            "get       big and also cannot be told apart (ratio 1.01 [0.99–1.03], p = 0.60)",
            "small (9 %) hits less often than big and also (100 %): a miss is other work than a hit,",
            "so their speed is not compared",
        ],
    );
}

#[test]
fn one_that_answers_misses_fast_does_not_lead() {
    let run = run();
    let groups = groups(&run);
    let standings: Vec<_> = groups[0].rows.iter().map(|row| (row.name, row.leads)).collect();
    assert_eq!(standings, [("big", true), ("also", true), ("small", false)]);
    let small = &groups[0].rows[2];
    assert!(matches!(small.standing, Standing::Unlike { hits, .. } if (hits - 0.09).abs() < 1e-9));
    assert_eq!((small.to_best(), small.ties.as_str()), (None, ""));
}

#[test]
fn within_a_point_of_percent_targets_hit_alike() {
    let mut run = gets(&[("big", 2e6), ("small", 1e6)]);
    (run.cells[1].counts.hits, run.cells[1].counts.misses) = (9_900, 100);
    run.comparisons.push(faster("big", "small", 2.0));
    assert!(groups(&run)[0].rows.iter().all(|row| row.to_best().is_some()));
    (run.cells[1].counts.hits, run.cells[1].counts.misses) = (9_899, 101);
    assert!(groups(&run)[0].rows[1].unlike().is_some());
}

#[test]
fn an_assertion_of_the_rate_asks_which_of_the_two_is_meant() {
    let run = run();
    let said = |text: &str| {
        let assertion: Assertion = text.parse().expect("an assertion");
        let failures = assertion.judge(&run).expect("cells");
        failures.into_iter().map(|failure| failure.text).collect::<Vec<_>>()
    };
    assert!(said("rate(get, big) > 70k").is_empty());
    let why = said("rate(get, small) > 1");
    assert!(
        why[0].contains("91 % of the operations missed: assert answered or hits_per_s"),
        "{why:?}"
    );
    assert!(said("answered(get, small) > 80k").is_empty());
    assert!(said("hits_per_s(get, small) < 10k").is_empty());
}

#[test]
fn where_no_verdict_was_possible_no_targets_are_said_to_be_alike() {
    let mut run = gets(&[("moka:", 2e6), ("lmdb:", 1e6)]);
    for cell in &mut run.cells {
        cell.rounds = 3;
    }
    run.comparisons.push(Comparison {
        p: 0.1,
        verdict: Verdict::Undecided,
        ..faster("moka:", "lmdb:", 2.0)
    });
    for format in Format::all() {
        let text = render(&run, format, PLAIN);
        assert!(!text.contains("indistinguishable"), "{format}: {text}");
        assert!(!text.contains("cannot be told apart"), "{format}: {text}");
    }
    assert!(sentences(&run).iter().any(|said| said.text.starts_with("no verdict is possible")));
}

#[test]
fn a_ratio_of_rounds_that_differs_from_that_of_the_medians_says_so() {
    let mut run = gets(&[("plain", 14_500.0), ("slowed", 12_400.0)]);
    for cell in &mut run.cells {
        cell.rounds = 34;
    }
    run.comparisons.push(Comparison { ratio: 1.05, ..tied("plain", "slowed") });
    let said: Vec<String> = sentences(&run).into_iter().map(|said| said.text).collect();
    let wanted = "ratio 1.05 [0.99–1.03] round by round, 1.17 between the medians, p = 0.60";
    assert!(said.iter().any(|text| text.contains(wanted)), "{said:?}");
}
