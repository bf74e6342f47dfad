//! The unit of bare times: judged by what is plausible, told with the reason, and named by the user where two units are as plausible.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::ops::ControlFlow;

use larder_workload::trace::{Row, TraceSource, read_rows};

/// This many rows, each this number after the one before.
fn csv(first: u64, gap: u64, n_rows: u64) -> String {
    format!("time,key\n{}", lines(n_rows, |at| format!("{},k{}\n", first + at * gap, at % 7)))
}

fn lines(n_rows: u64, line: impl Fn(u64) -> String) -> String {
    (0..n_rows).map(line).collect::<Vec<_>>().concat()
}

/// The first and the last time of files in microseconds, and what is told of their clocks.
fn read(files: &[(&str, &str)], source: &str) -> Result<(u64, u64, Vec<String>), String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let source: TraceSource = format!("{}/{source}", folder.path().display()).parse()?;
    let (mut first, mut last) = (None, 0);
    let mut sink = |row: &Row<'_>| {
        last = row.time_us.unwrap_or(last);
        first = first.or(row.time_us);
        ControlFlow::Continue(())
    };
    let about = read_rows(&source, &mut sink).map_err(|error| error.fault.to_string())?;
    Ok((first.unwrap_or(0), last, about.notes))
}

fn one(text: &str, options: &str) -> (u64, u64, String) {
    let (first, last, notes) = read(&[("a.csv", text)], &format!("a.csv{options}")).unwrap();
    (first, last, notes.join("; "))
}

const SMALL: &str = "times are seconds, because the first, 0, is too small for a date";

#[test]
fn whole_numbers_from_0_on_have_the_unit_in_which_they_come_at_a_plausible_rate() {
    for (gap, n_rows, second_us, expected) in [
        // A few a second, as published traces have them; milliseconds are as plausible.
        (
            1,
            3000,
            1_000_000,
            "times are seconds, because the first, 0, is too small for a date; as plausible: milliseconds (`?time=ms`, 1.00 k/s)",
        ),
        // A quiet hour, and few rows that tell nothing.
        (
            2,
            1800,
            2_000_000,
            "times are seconds, because the first, 0, is too small for a date; as plausible: milliseconds (`?time=ms`, 500 /s)",
        ),
        (3600, 50, 3_600_000_000, SMALL),
        (
            5,
            100_000,
            5000,
            "times from 0 on are milliseconds, because so they come at 200 /s; as plausible: seconds (`?time=s`, 0.20 /s)",
        ),
        (
            30,
            5000,
            30_000,
            "times from 0 on are milliseconds, because so they come at 33.3 /s; as plausible: microseconds (`?time=us`, 33.3 k/s)",
        ),
        (
            100,
            5000,
            100,
            "times from 0 on are microseconds, because so they come at 10.0 k/s; as plausible: milliseconds (`?time=ms`, 10.0 /s)",
        ),
        (
            287,
            5000,
            287,
            "times from 0 on are microseconds, because so they come at 3.49 k/s; as plausible: milliseconds (`?time=ms`, 3.49 /s)",
        ),
        (1000, 200, 1000, "times from 0 on are microseconds, because so they come at 1.01 k/s"),
        (1000, 5000, 1000, "times from 0 on are microseconds, because so they come at 1.00 k/s"),
        (
            20_000,
            5000,
            20_000,
            "times from 0 on are microseconds, because so they come at 50.0 /s; as plausible: nanoseconds (`?time=ns`, 50.0 k/s)",
        ),
        (
            1_000_000,
            5000,
            1000,
            "times from 0 on are nanoseconds, because so they come at 1.00 k/s",
        ),
    ] {
        let (first, last, note) = one(&csv(0, gap, n_rows), "");
        assert_eq!(note.trim_end_matches("; "), expected, "{gap}");
        assert_eq!((first, last), (0, second_us * (n_rows - 1)), "{gap}");
    }
    // A clock of seconds with many operations in each, and one that stands still.
    let coarse = lines(5000, |at| format!("{},k\n", at / 500));
    assert_eq!(one(&format!("time,key\n{coarse}"), "").2, SMALL);
    assert_eq!(one(&csv(0, 0, 500), "").2, SMALL);
    // A part of a second is none of a microsecond, however rarely it comes. A data frame's whole number has a zero behind the point.
    let parts = lines(500, |at| format!("{}.250,k\n", at * 1000));
    let (_, last, note) = one(&format!("time,key\n{parts}"), "");
    assert_eq!((last, &*note), (499_000_250_000, &*SMALL.replace("first, 0", "first, 0.25")));
    let floats = lines(500, |at| format!("{}.0,k\n", at * 1000));
    let (_, last, note) = one(&format!("time,key\n{floats}"), "");
    assert_eq!((last, &note[..34]), (499_000, "times from 0 on are microseconds, "));
    // A row that stands for many operations counts as many.
    let many = lines(150, |at| format!("{},k,50000\n", at * 1000));
    let (_, last, note) = one(&format!("time,key,op_count\n{many}"), "");
    let expected = format!("{SMALL}; as plausible: milliseconds (`?time=ms`, 50.3 k/s)");
    assert_eq!((last, note), (149_000_000_000, expected));
}

#[test]
fn numbers_from_a_clock_that_began_before_count_from_there_on() {
    let hour = 3_600_000_000;
    let (first, last, note) = one(&csv(hour / 5, 1000, 3000), "");
    assert_eq!((first, last), (hour / 5, hour / 5 + 2_999_000));
    assert_eq!(note, "times from 720000000 on are microseconds, because so they come at 1.00 k/s");
}

#[test]
fn dates_tell_their_unit_and_a_rate_that_contradicts_them_is_told() {
    let second = 1_700_000_000;
    for (unit, name) in [
        (1, "seconds"),
        (1000, "milliseconds"),
        (1_000_000, "microseconds"),
        (1_000_000_000, "nanoseconds"),
    ] {
        let (first, last, note) = one(&csv(second * unit, unit / 100 + 1, 200), "");
        assert_eq!(first, second * 1_000_000);
        assert_eq!(last - first, 199 * (unit / 100 + 1) * 1_000_000 / unit);
        assert_eq!(
            note,
            format!(
                "times are {name}, because the first, {}, is a date of 2023 in them",
                second * unit
            )
        );
    }
    // Microseconds of a machine that runs for half an hour have the size of dates in seconds.
    let (_, _, note) = one(&csv(second, 5000, 1000), "");
    let expected = "times are seconds, because the first, 1700000000, is a date of 2023 in them; likelier: microseconds \
                    (`?time=us`, 200 /s)";
    assert!(note.starts_with(&expected[..expected.len() - 1]), "{note}");
    let (first, last, note) = one(&csv(second, 5000, 1000), "?time=us");
    assert_eq!((first, last, &*note), (second, second + 999 * 5000, ""));
}

#[test]
fn the_user_names_the_unit_where_nothing_else_does() {
    for (option, last_us) in [("s", 99_000_000), ("ms", 99_000), ("us", 99), ("ns", 0)] {
        let (_, last, note) = one(&csv(0, 1, 100), &format!("?time={option}"));
        assert_eq!((last, &*note), (last_us, ""));
        let lines = lines(100, |at| format!("{at},k,1,1,1,get,0\n"));
        let (_, last, notes) = read(&[("a", &lines)], &format!("a?time={option}")).unwrap();
        assert_eq!((last, notes), (last_us, vec![]));
    }
    let named = one("at,key\n1,a\n2,b\n", "?columns=time:at&time=ms");
    assert_eq!((named.0, named.1, &*named.2), (1000, 2000, ""));
    let error = |text: &str, option: &str| read(&[("a", text)], &format!("a{option}")).unwrap_err();
    for (text, option, expected) in [
        (
            "time_ms,key\n1,a\n",
            "?time=us",
            "the times are milliseconds by the name or the type of their column; leave out ?time=us",
        ),
        (
            "key\na\n",
            "?time=us",
            "no column has times for ?time=us; name it by `?columns=time:NAME`",
        ),
        (
            "1 1 0 1\n",
            "?time=us",
            "?time=us tells the unit of bare times in parquet, csv and twitter, and the trace is arc",
        ),
        (
            "a\n",
            "?format=keys&time=s",
            "?time=s tells the unit of bare times in parquet, csv and twitter, and the trace is keys",
        ),
    ] {
        assert_eq!(error(text, option), expected);
    }
}

#[test]
fn lines_of_twitter_are_judged_alike() {
    let lines = lines(500, |at| format!("{},k,1,1,1,get,0\n", at * 1000));
    let (_, last, notes) = read(&[("a", &lines)], "a").unwrap();
    assert_eq!(
        (last, notes.join("; ").as_str()),
        (499_000, "times from 0 on are microseconds, because so they come at 1.00 k/s")
    );
}

#[test]
fn the_files_of_a_trace_have_one_clock_and_one_sentence() {
    let second = 1_700_000_000_000;
    let parts: Vec<String> = (0..3).map(|part| csv(second + part * 60_000, 10, 200)).collect();
    let of = |parts: &[String]| {
        let names = ["p-1.csv", "p-2.csv", "p-3.csv"];
        let files: Vec<(&str, &str)> =
            names.into_iter().zip(parts.iter().map(String::as_str)).collect();
        read(&files, "p-*.csv").unwrap()
    };
    let (first, last, notes) = of(&parts);
    assert_eq!(last - first, 121_990_000);
    assert_eq!(
        notes,
        [
            "times are milliseconds, because the first, 1700000000000, is a date of 2023 in them, as in the 2 other files"
        ]
    );
    // A clock that counts on has grown to the size of dates, and a file that has few rows tells no rate.
    let parts = [csv(0, 1000, 5000), csv(2_000_000_000, 1000, 5000), csv(2_005_000_000, 1000, 3)];
    let (first, last, notes) = of(&parts);
    assert_eq!((first, last), (0, 2_005_002_000));
    assert_eq!(
        notes,
        [
            "times from 0 on are microseconds, because so they come at 1.00 k/s, as in the 2 other files"
        ]
    );
    // Files of different clocks are told apart.
    let (_, _, notes) = of(&[csv(0, 1, 50), csv(second, 10, 200)]);
    assert_eq!(
        notes,
        [
            SMALL,
            "times are milliseconds, because the first, 1700000000000, is a date of 2023 in them"
        ]
    );
}
