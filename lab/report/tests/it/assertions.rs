//! Conditions on a run: their form, their errors, their verdicts.

use larder_report::{
    Assertion, Cell, CurvePoint, Operation, Paced, PointValue, ReasonKind, Run, Severity,
};
use proptest::prelude::*;

use super::small::{at, cell, check, gets, run, target};

fn read(text: &str) -> Assertion {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// The verdict on a run: a line for each cell that falls short.
fn said(text: &str, run: &Run) -> Vec<String> {
    let judged = read(text).judge(run).unwrap_or_else(|unmatched| panic!("{unmatched:?}"));
    judged.into_iter().map(|failure| failure.text).collect()
}

/// Gets of two targets, with distributions known up to 99 %.
fn two() -> Run {
    let mut run = gets(&[("moka:", 640e3), ("memcached:", 112e3)]);
    for cell in &mut run.cells {
        cell.latency_curve = [0.0, 0.5, 0.9, 0.99, 1.0].map(|at| CurvePoint(at, 1)).to_vec();
        cell.counts.misses = 10;
    }
    run
}

#[test]
fn an_assertion_that_holds_says_nothing() {
    let run = two();
    for text in [
        "p99(get, memcached:) < 1ms",
        "p50(get) <= 10us",
        "p90( get , moka: )<10 µs",
        "max(*) < 1s",
        "mean(*, *) < 9us",
        "rate(get, moka:) >= 640k",
        "rate(get) > 0.1M/s",
        "hit_ratio(get) >= 99.9%",
        "hit_ratio(get) > 0.99",
        "misses(get) < 11",
        "misses(get) <= 0.1%",
        "errors() <= 0",
        "wrong(*) < 1",
        "client_cpu(get, memcached:) < 9us",
        "cpu(get) < 9us",
    ] {
        assert_eq!(said(text, &run), [""; 0], "{text}");
    }
}

#[test]
fn an_assertion_that_does_not_hold_is_a_line_with_the_figure_and_its_interval() {
    let run = two();
    assert_eq!(
        said("rate(get, memcached:) > 200k", &run),
        [
            "rate(get, memcached:) > 200k does not hold: get of memcached: rate is 112 k/s (95 % interval 111 k/s to 113 \
             k/s)"
        ]
    );
    assert_eq!(said("p99(get) < 1us", &run).len(), 2);
    assert_eq!(
        said("misses(get, moka:) < 0.05%", &run),
        [
            "misses(get, moka:) < 0.05% does not hold: get of moka: misses are 10, 0.1 % of the operations"
        ]
    );
    // The limit itself is not below the limit.
    assert_eq!(said("misses(get, moka:) < 10", &run).len(), 1);
}

#[test]
fn a_cell_without_the_figure_falls_short_and_says_why() {
    let mut run = two();
    run.cells.push(Cell {
        reason: Some("lost in the first round".into()),
        reason_kind: Some(ReasonKind::Lost),
        ..cell("moka:", Operation::Set, None)
    });
    for (text, why) in [
        ("p99.9(get, moka:) < 1s", "fewer than ten operations lie beyond this percentile"),
        ("rate(set) > 1", "lost in the first round"),
        ("rss(get, moka:) < 1G", "the use of memory is not known"),
        ("disk(get, moka:) < 1G", "the use of disk is not known"),
        ("server_cpu(get, moka:) < 1s", "the CPU time of the servers is not known"),
    ] {
        let said = said(text, &run);
        assert!(said[0].ends_with(&format!("there is no figure: {why}")), "{said:?}");
    }
    run.checks = vec![check("NEVER-HITS", Severity::Error, Some("moka:"), "nothing hits")];
    assert!(
        said("rate(get, moka:) > 1", &run)[0]
            .ends_with("the cell is no result: NEVER-HITS: nothing hits")
    );
    // Assertions on counts use the measured counts.
    assert_eq!(said("misses(get, moka:) < 11", &run), [""; 0]);
    assert_eq!(said("rate(get, memcached:) > 1", &run), [""; 0]);
    let sets = Run {
        targets: vec![target("moka:")],
        cells: vec![cell("moka:", Operation::Set, Some(1.0))],
        ..run.clone()
    };
    assert!(said("hit_ratio(set) > 0", &sets)[0].ends_with("set does not read"));
}

#[test]
fn latencies_that_the_end_of_a_round_cut_off_pass_below_no_limit() {
    let mut run = two();
    // Both targets did 95 % of the due operations; of the first, some operations had not begun.
    for (cell, not_started) in run.cells.iter_mut().zip([1000, 0]) {
        let reached = cell.ops_per_s.unwrap_or_default();
        cell.paced = Some(Paced { offered_per_s: reached / 0.95, not_started, ..Paced::default() });
    }
    assert_eq!(
        said("p99(get, moka:) < 300ms", &run),
        [
            "p99(get, moka:) < 300ms does not hold: get of moka: p99 is 3.12 µs at least: the target did 95 % of 674 k/s in \
          time, and 1000 operations had not begun when the time was over; take a lower rate"
        ]
    );
    for text in ["p50(get) <= 1s", "max(get) < 1s", "mean(get) < 1s", "p99(get) > 1s"] {
        assert_eq!(said(text, &run).len(), 2, "{text}");
    }
    // A figure with only a lower bound is above a limit, and a rate is never cut off.
    for text in ["p99(get) > 1us", "rate(get) > 1k", "errors(get) < 1"] {
        assert_eq!(said(text, &run), [""; 0], "{text}");
    }
    // A target that kept up, except for so many operations at the end that they would lie beyond the percentile.
    for cell in &mut run.cells {
        let reached = cell.ops_per_s.unwrap_or_default();
        cell.paced = Some(Paced { offered_per_s: reached, not_started: 500, ..Paced::default() });
    }
    assert_eq!(said("p99(get) < 1s", &run).len(), 2);
    assert_eq!(said("p90(get) < 1s", &run), [""; 0]);
}

#[test]
fn a_coordinate_is_written_as_its_flag_takes_it() {
    let mut run = two();
    for cell in &mut run.cells {
        cell.working_set_bytes = 4_156_000;
        cell.point.insert("capacity".into(), PointValue::Number(415_600));
        cell.point.insert("rate".into(), PointValue::Number(1000));
        cell.point.insert("data_size".into(), PointValue::Number(1024));
    }
    let cells = run.cells.len();
    for at in ["capacity=10%", "capacity=415600", "rate=1k", "rate=1000", "data_size=1k"] {
        assert_eq!(said(&format!("rate(*, {at}) > 1G"), &run).len(), cells, "{at}");
    }
    for at in ["capacity=11%", "rate=1024", "data_size=1000", "capacity=ten%"] {
        let assertion = read(&format!("rate(*, {at}) > 1"));
        assert!(assertion.judge(&run).is_err(), "{at}");
    }
}

#[test]
fn cells_are_named_by_operation_target_and_coordinates() {
    let mut run = run();
    let urls = "memcached://h1:1,h2:2?ketama=on";
    for name in ["moka:", urls] {
        run.targets.push(target(name));
        for bytes in [1024, 4096] {
            for threads in [1, 4] {
                let mut cell = at(cell(name, Operation::Get, Some(1000.0)), bytes);
                cell.point.insert("threads".into(), PointValue::Number(threads));
                cell.point.insert("part".into(), PointValue::Text("read-heavy".into()));
                run.cells.push(cell);
            }
        }
    }
    run.targets[0].name = "mine, of all".into();
    for (selector, cells) in [
        ("get", 8),
        ("", 8),
        ("*", 8),
        ("get, moka:", 4),
        ("get, mine, of all", 4),
        ("*, mine, of all, threads=1", 2),
        (&format!("get, {urls}"), 4),
        (&format!("get, {urls}, threads=4"), 2),
        ("get, threads=4", 4),
        ("get, *, data-size=4k, threads=4", 2),
        ("get, data_size=1024", 4),
        ("get, moka:, data_size=1KiB, threads=1, part=read-heavy", 1),
    ] {
        assert_eq!(said(&format!("rate({selector}) > 1M"), &run).len(), cells, "{selector}");
    }
    let line = &said("rate(get, moka:, data-size=4k, threads=4) > 1M", &run)[0];
    assert!(line.contains("get of mine, of all at data_size 4 KiB, threads 4: "), "{line}");
    for selector in ["set", "get, redis:", "get, threads=2", "get, moka:, size=4k"] {
        let unmatched = read(&format!("rate({selector}) > 1")).judge(&run).unwrap_err();
        assert_eq!(
            unmatched.text,
            format!(
                "--assert 'rate({selector}) > 1' names no cell of this run; the run has the operations get, the targets {urls}, \
                 mine, of all and the coordinates data_size=1024, data_size=4096, part=read-heavy, threads=1, threads=4"
            )
        );
    }
}

#[test]
fn a_password_is_told_by_nothing_and_needed_for_nothing() {
    let run = gets(&[("redis://:***@cache:6379", 1e3)]);
    let typed = "rate(get, redis://:s3cret@cache:6379) > 1k";
    assert_eq!(read(typed).to_string(), "rate(get, redis://:***@cache:6379) > 1k");
    let said = said(typed, &run);
    assert!(said.len() == 1 && !said[0].contains("s3cret"), "{said:?}");
    let other = read("rate(get, redis://:s3cret@elsewhere) > 1k").judge(&run).unwrap_err();
    assert!(!format!("{other:?}").contains("s3cret"), "{other:?}");
    for wrong in ["rate get, redis://:s3cret@cache", "rate(get, redis://:s3cret@cache) > many"] {
        let error = wrong.parse::<Assertion>().unwrap_err();
        assert!(!error.contains("s3cret") && error.contains("***"), "{error}");
    }
}

#[test]
fn a_wrong_assertion_is_one_line_with_the_expected_form() {
    for (text, part) in [
        ("", "there is no (; expected METRIC(OPERATION, TARGET, COORDINATE=VALUE) < LIMIT"),
        ("p99 get < 1ms", "there is no ("),
        ("p99(get < 1ms", "there is no )"),
        (
            "p42(get) < 1ms",
            "there is no metric `p42`; there are p50, p90, p99, p99.9, max, mean, rate",
        ),
        ("p99(fetch) < 1ms", "there is no operation `fetch`; there are set, set_many, get"),
        ("p99(get) = 1ms", "after the ) there is no <, <=, > or >="),
        ("p99(get,, threads=1) < 1ms", "there is nothing between two commas"),
        ("p99(get) < 1", "`1` is no limit for p99; give a time with its unit, such as 1ms"),
        ("p99(get) < -1ms", "`-1ms` is no limit"),
        ("p99(get) < 1 m", "is no limit for p99"),
        ("p99(get) < 1ms or more", "is no limit"),
        ("rate(get) > 1ms", "give a rate, such as 50k"),
        ("hit_ratio(get) > 101%", "give a share up to 100%, such as 95%"),
        ("hit_ratio(get) > 95", "give a share"),
        ("errors(get) < 200%", "give a number"),
        ("rss(get) < 64 megabytes", "give a size, such as 64M"),
    ] {
        let error = text.parse::<Assertion>().unwrap_err();
        assert!(error.contains(part) && !error.contains('\n'), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in ".{0,80}") {
        if let Err(error) = text.parse::<Assertion>() {
            prop_assert!(!error.contains('\n') && !error.contains('\u{1b}'), "{error:?}");
        }
    }

    #[test]
    fn nearly_right_texts_do_not_break_it_either(
        metric in "p50|p99.9|rate|rss|misses|p|",
        selector in "[a-z*_,=:/?. ()-]{0,24}",
        sign in "<|<=|>|>=|=|",
        limit in "[0-9.]{0,6} ?(ns|us|ms|k|M|%|/s|GiB|x)?",
    ) {
        let text = format!("{metric}({selector}) {sign} {limit}");
        if let Ok(read) = text.parse::<Assertion>() {
            // A condition shows as typed, and reads the same again.
            prop_assert_eq!(read.to_string(), text.trim());
            let _ = read.judge(&two());
            prop_assert_eq!(read.to_string().parse::<Assertion>(), Ok(read));
        }
    }
}
