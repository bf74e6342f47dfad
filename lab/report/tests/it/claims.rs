//! Rankings and sentences: each rule on the smallest run that shows it.

use larder_report::{
    Comparison, Counts, Operation, Run, Severity, Standing, Verdict, findings, groups, sentences,
};

use super::small::{at, cell, check, faster, floor, gets, run, size, target, tied};

/// All sentences of a run except the sentence that states the rule.
fn said(run: &Run) -> Vec<String> {
    let sentences = sentences(run).into_iter().filter(|said| said.subject != "the rule");
    sentences.map(|said| said.to_string()).collect()
}

#[test]
fn a_claim_has_its_interval_and_is_the_same_from_either_side() {
    let mut run = gets(&[("moka:", 3.1e6), ("lmdb:", 1e6)]);
    run.comparisons = vec![faster("moka:", "lmdb:", 3.1)];
    let claim = "get: moka: is 3.10× [3.04–3.16] faster than lmdb: (p < 0.001)";
    assert_eq!(said(&run), [claim]);
    run.comparisons = vec![Comparison {
        a: "lmdb:".into(),
        b: "moka:".into(),
        ratio: 1.0 / 3.1,
        ci95: Some([1.0 / 3.162, 1.0 / 3.038]),
        verdict: Verdict::Slower,
        ..faster("", "", 1.0)
    }];
    assert_eq!(said(&run), [claim]);
}

#[test]
fn a_tie_is_called_a_tie_and_shares_a_letter() {
    let mut run = gets(&[("a", 3e6), ("b", 2.97e6), ("c", 1e6)]);
    run.comparisons = vec![tied("a", "b"), faster("a", "c", 3.0), faster("b", "c", 2.97)];
    assert_eq!(
        said(&run),
        [
            "get: a and b cannot be told apart (ratio 1.01 [0.99–1.03], p = 0.60)",
            "get: b is 2.97× [2.91–3.03] faster than c (p < 0.001)",
            "get: a is 3.00× [2.94–3.06] faster than c (p < 0.001)",
        ]
    );
    let groups = groups(&run);
    let letters: Vec<&str> = groups[0].rows.iter().map(|row| row.ties.as_str()).collect();
    assert_eq!(letters, ["a", "a", ""]);
    let leads: Vec<bool> = groups[0].rows.iter().map(|row| row.leads).collect();
    assert_eq!(leads, [true, true, false]);
}

#[test]
fn a_tie_of_three_is_one_sentence_and_a_tie_despite_its_interval_shows_p() {
    let mut run = gets(&[("a", 1.1e6), ("b", 1.05e6), ("c", 1e6)]);
    let sure_looking =
        Comparison { ratio: 1.1, ci95: Some([1.05, 1.15]), p: 0.04, ..tied("a", "c") };
    run.comparisons = vec![tied("a", "b"), tied("b", "c"), sure_looking];
    let sentence = "get: a, b and c cannot be told apart \
                    (fastest to slowest: ratio 1.10 [1.05–1.15], p = 0.040)";
    assert_eq!(said(&run), [sentence]);
}

#[test]
fn without_rounds_enough_nothing_is_claimed() {
    let mut run = gets(&[("a", 3e6), ("b", 1e6)]);
    assert_eq!(said(&run), ["get: no target can be called faster: 10 rounds gave no comparison"]);
    run.comparisons = vec![Comparison { ci95: None, ratio: 3.0, ..tied("a", "b") }];
    assert_eq!(
        said(&run),
        ["get: a and b cannot be told apart (ratio 3.00, without an interval, p = 0.60)"]
    );
}

#[test]
fn where_no_verdict_is_possible_no_targets_are_called_alike() {
    let mut run = three(&[tied("a", "b"), tied("a", "c"), tied("b", "c")]);
    for cell in &mut run.cells {
        cell.rounds = 6;
    }
    let said_first = |run: &Run| said(run)[0].clone();
    // 2/924 for each of six comparisons is above 0.01, and for each of four it is below.
    assert_eq!(
        said(&run),
        [
            "too few rounds: no verdict is possible with 6 rounds over 6 comparisons; 7 rounds are needed",
            "get, 4 KiB: without a verdict: the rates go from a down to c, 1.01× [0.99–1.03]",
            "get, 16 KiB: without a verdict: the rates go from a down to c, 1.01× [0.99–1.03]",
        ]
    );
    assert!(groups(&run).iter().flat_map(|group| &group.rows).all(|row| row.ties.is_empty()));
    // An interruption leaves one point with a round less: the completed rounds count.
    run.interrupted = true;
    run.cells[5].rounds = 5;
    assert!(said(&run)[1].starts_with("too few rounds: no verdict is possible with 6 rounds"));
    run.interrupted = false;
    run.comparisons.drain(4..);
    assert!(said_first(&run).contains("cannot be told apart"), "{}", said_first(&run));
}

#[test]
fn a_target_alone_is_not_compared() {
    let mut run = gets(&[("moka:", 1.24e6)]);
    assert_eq!(
        said(&run),
        ["get: moka: does 1.24 M/s [1.23–1.25]; there is nothing to compare it with"]
    );
    run.targets.push(target("lmdb:"));
    run.cells.push(cell("lmdb:", Operation::Get, None));
    assert_eq!(
        said(&run),
        ["get: moka: does 1.24 M/s [1.23–1.25] and is the only one of 2 with a result"]
    );
    run.cells.remove(0);
    assert_eq!(said(&run), ["get: no target has a result"]);
}

/// Two targets over three sizes, of which the first leads at the sizes where `leads` is true.
fn sweep(leads: [Option<bool>; 3]) -> Run {
    let mut run = run();
    run.targets = vec![target("a"), target("b")];
    for (bytes, leads) in [4096, 16384, 65536].into_iter().zip(leads) {
        let (of_a, of_b) = if leads == Some(false) { (1e6, 2e6) } else { (2e6, 1e6) };
        run.cells.push(at(cell("a", Operation::Get, Some(of_a)), bytes));
        run.cells.push(at(cell("b", Operation::Get, Some(of_b)), bytes));
        let comparison = match leads {
            Some(true) => faster("a", "b", 2.0),
            Some(false) => faster("b", "a", 2.0),
            None => tied("a", "b"),
        };
        run.comparisons.push(Comparison { point: size(bytes), ..comparison });
    }
    run
}

#[test]
fn a_sweep_says_where_the_order_turns_over() {
    for (leads, sentence) in [
        (
            [Some(true), Some(true), Some(false)],
            "get: over data_size, a leads up to 16 KiB (by 2.00× [1.96–2.04] or more); \
             b leads at 64 KiB (by 2.00× [1.96–2.04])",
        ),
        (
            [Some(true), None, Some(false)],
            "get: over data_size, a leads at 4 KiB (by 2.00× [1.96–2.04]); \
             a and b cannot be told apart at 16 KiB; b leads at 64 KiB (by 2.00× [1.96–2.04])",
        ),
        (
            [Some(true), Some(false), Some(false)],
            "get: over data_size, a leads at 4 KiB (by 2.00× [1.96–2.04]); \
             b leads from 16 KiB on (by 2.00× [1.96–2.04] or more)",
        ),
        (
            [Some(true); 3],
            "get: over data_size, a leads at all 3 points (by 2.00× [1.96–2.04] or more)",
        ),
        ([None; 3], "get: over data_size, a and b cannot be told apart at all 3 points"),
    ] {
        assert_eq!(said(&sweep(leads))[0], sentence);
    }
}

/// Three targets at two sizes; at each, the pairs a-b, a-c and b-c are compared.
fn three(comparisons: &[Comparison; 3]) -> Run {
    let mut run = run();
    run.targets = ["a", "b", "c"].map(target).into();
    for bytes in [4096, 16384] {
        for (name, rate) in [("a", 3e6), ("b", 2.9e6), ("c", 2.8e6)] {
            run.cells.push(at(cell(name, Operation::Get, Some(rate)), bytes));
        }
        let here = comparisons.iter().cloned();
        run.comparisons.extend(here.map(|of| Comparison { point: size(bytes), ..of }));
    }
    run
}

#[test]
fn targets_that_differ_are_not_called_tied_because_both_are_tied_with_the_fastest() {
    let run = three(&[tied("a", "b"), tied("a", "c"), faster("b", "c", 1.2)]);
    assert_eq!(
        said(&run)[0],
        "get: over data_size, a is fastest at both points, but b and c cannot be told apart from it"
    );
    assert!(!said(&run).iter().any(|said| said.contains("a, b and c cannot")), "{:?}", said(&run));
}

#[test]
fn a_shared_lead_has_the_smallest_gap_and_only_where_each_leader_has_one() {
    let run = three(&[tied("a", "b"), faster("a", "c", 1.5), faster("b", "c", 1.4)]);
    assert_eq!(
        said(&run)[0],
        "get: over data_size, a and b share the lead at both points (by 1.40× [1.37–1.43] or more)"
    );
    let run = three(&[tied("a", "b"), faster("a", "c", 1.5), tied("b", "c")]);
    assert_eq!(said(&run)[0], "get: over data_size, a and b share the lead at both points");
}

#[test]
fn of_two_points_both_are_all() {
    let mut run = sweep([Some(true); 3]);
    run.cells.truncate(4);
    assert_eq!(
        said(&run)[0],
        "get: over data_size, a leads at both points (by 2.00× [1.96–2.04] or more)"
    );
}

#[test]
fn a_sweep_over_two_coordinates_names_both() {
    let mut run = sweep([Some(true); 3]);
    for (threads, cell) in (1..).zip(&mut run.cells) {
        cell.point.insert("threads".into(), larder_report::PointValue::Number(threads));
    }
    assert_eq!(
        said(&run)[0],
        "get, data_size 4 KiB, threads 1: a does 2.00 M/s [1.98–2.02]; \
         there is nothing to compare it with"
    );
}

#[test]
fn a_sweep_that_is_not_compared_has_no_leader() {
    let mut run = sweep([Some(true); 3]);
    run.comparisons.pop();
    assert!(!said(&run)[0].contains("leads"), "{:?}", said(&run));
}

#[test]
fn points_come_in_the_order_of_their_numbers() {
    let mut run = sweep([Some(true); 3]);
    run.cells.reverse();
    let points: Vec<_> = larder_report::points(&run).into_iter().cloned().collect();
    assert_eq!(points, [size(4096), size(16384), size(65536)]);
}

#[test]
fn an_error_puts_a_figure_outside_the_ranking() {
    let mut run = gets(&[("cheat", 9e6), ("a", 2e6), ("b", 1e6)]);
    run.comparisons = vec![faster("a", "b", 2.0)];
    run.checks = vec![
        check("NEVER-HITS", Severity::Error, Some("cheat"), "0 hits"),
        check("TOO-SHORT", Severity::Warn, Some("a"), "0.1 s"),
    ];
    let groups = groups(&run);
    let standings: Vec<_> =
        groups[0].rows.iter().map(|row| (row.name, row.standing.clone())).collect();
    assert_eq!(
        standings,
        [
            ("a", Standing::Ranked { to_best: 1.0 }),
            ("b", Standing::Ranked { to_best: 0.5 }),
            ("cheat", Standing::Withheld("NEVER-HITS".into())),
        ]
    );
    let wanted = [
        "get: a is 2.00× [1.96–2.04] faster than b (p < 0.001)",
        "get: cheat (NEVER-HITS) has no result",
    ];
    assert_eq!(said(&run), wanted);
    assert_eq!(groups[0].rows[2].withheld().as_deref(), Some("NEVER-HITS: 0 hits"));
}

#[test]
fn a_check_holds_where_it_says() {
    let mut run = sweep([Some(true); 3]);
    run.checks = vec![larder_report::Finding {
        point: Some(size(4096)),
        operation: Some(Operation::Get),
        ..check("TRUNCATED", Severity::Error, Some("a"), "cut")
    }];
    let withheld: Vec<bool> = groups(&run)
        .iter()
        .map(|group| group.rows.iter().any(|row| matches!(row.standing, Standing::Withheld(_))))
        .collect();
    assert_eq!(withheld, [true, false, false]);
    run.checks[0].operation = Some(Operation::Set);
    assert!(groups(&run).iter().all(|group| group.ranked().count() == 2));
}

#[test]
fn a_store_that_keeps_nothing_is_not_ranked() {
    let mut run = gets(&[("null:", 9e6), ("a", 2e6)]);
    run.targets[0].stores = Some(false);
    assert_eq!(groups(&run)[0].ranked().map(|row| row.name).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn an_empty_cell_has_a_reason_even_where_the_run_gives_none() {
    let mut run = gets(&[("a", 1e6)]);
    let reason = |run: &Run| match groups(run)[0].rows[0].standing {
        Standing::Empty(reason) => reason.to_owned(),
        ref other => panic!("{other:?}"),
    };
    run.cells[0].ops_per_s = Some(0.0);
    run.cells[0].counts = Counts { ops: 10, errors: 10, ..Counts::default() };
    assert_eq!(reason(&run), "every operation failed");
    run.cells[0].counts = Counts { ops: 10, misses: 10, ..Counts::default() };
    assert_eq!(reason(&run), "every read missed");
    run.cells[0].counts = Counts { ops: 10, wrong: 9, errors: 1, ..Counts::default() };
    assert_eq!(reason(&run), "no read returned the right value");
    run.cells[0].counts = Counts::default();
    assert_eq!(reason(&run), "not measured");
    run.interrupted = true;
    assert_eq!(reason(&run), "not measured before the interruption");
    run.targets[0].reason = Some("refused".into());
    assert_eq!(reason(&run), "refused");
    run.cells[0].reason = Some("value 2.1 MiB > item limit 1 MiB".into());
    assert_eq!(reason(&run), "value 2.1 MiB > item limit 1 MiB");
}

#[test]
fn the_harness_is_a_share_of_the_fastest() {
    let mut run = gets(&[("a", 1e6), ("b", 1e5)]);
    run.comparisons = vec![faster("a", "b", 10.0)];
    run.floors = vec![floor(120.0)];
    assert_eq!(
        said(&run)[1..],
        ["harness: without a cache, get takes 120 ns (client CPU 119 ns), \
          12 % of the time of the fastest, a"]
    );
}

#[test]
fn an_operation_that_takes_as_long_without_the_cache_may_be_faster_than_told() {
    let mut run = gets(&[("a", 1e7), ("b", 1e5)]);
    run.comparisons = vec![faster("a", "b", 100.0)];
    run.floors = vec![floor(120.0)];
    let sentence =
        "harness: get of a may be faster than shown: the measuring alone takes as long".to_owned();
    assert!(said(&run).contains(&sentence), "{:?}", said(&run));
    run.floors = vec![floor(85.0)];
    let sentence = "harness: get of a may be faster than shown: the measuring alone takes 85 % of the \
                    time or more";
    assert_eq!(said(&run).last().unwrap(), sentence);
    run.floors = vec![floor(79.0)];
    assert!(!said(&run).iter().any(|said| said.contains("may be faster")));
}

#[test]
fn targets_that_did_not_run_and_an_interruption_are_named() {
    let mut run = gets(&[("a", 1e6)]);
    run.interrupted = true;
    run.targets.push(larder_report::Target { reason: Some("refused".into()), ..target("b") });
    let said = said(&run);
    assert_eq!(
        said[0],
        "interrupted: stopped after 12.0 s: the report shows the measurements until then, 10 \
         rounds for each figure"
    );
    assert_eq!(said.last().unwrap(), "not run: b did not run: refused");
}

#[test]
fn many_notes_of_one_rule_are_one_line_and_errors_never() {
    let mut run = gets(&[("a", 4e6), ("b", 3e6), ("c", 2e6), ("d", 1e6)]);
    for (target, other) in [("a", "b"), ("a", "c"), ("b", "d")] {
        let text = format!("writes are volatile, those of {other} are not");
        run.checks.push(check("ACK-PARITY", Severity::Note, Some(target), &text));
        run.checks.push(check("WRONG", Severity::Error, Some(target), &text));
    }
    let findings = findings(&run);
    assert_eq!((findings[0].id, findings[0].lines.len()), ("WRONG", 3));
    assert_eq!(
        findings[1].lines,
        ["3 findings on a, b, c and d, such as: a: writes are volatile, those of b are not"]
    );
    assert_eq!(findings[1].advice, ["mend ACK-PARITY"]);
}

#[test]
fn one_text_in_many_places_is_said_once() {
    let mut run = gets(&[("a:", 3e6), ("b:", 2e6)]);
    for target in ["a:", "b:"] {
        run.checks.push(check("ONE-KEY", Severity::Warn, Some(target), "one key only"));
    }
    run.checks.push(check("NOISE", Severity::Warn, None, "load 3"));
    let lines: Vec<_> = findings(&run).into_iter().flat_map(|finding| finding.lines).collect();
    assert_eq!(lines, ["load 3", "a: and b: one key only"]);
}
