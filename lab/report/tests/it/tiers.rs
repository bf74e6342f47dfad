//! The answering tier of a stack, in each format.

use larder_report::{Cell, Format, Operation, Run, TierCounts, render};

use crate::small::{PLAIN, assert_lines, cell, gets, section};

const STACK: &str = "tiered:moka:|memcached://h1";

/// Two stacks: the L1 of the first answers most reads, and the L1 of the second takes no value.
fn stacks() -> Run {
    let tier = |name: &str, [hits, misses, fills, refused]: [u64; 4]| TierCounts {
        name: name.into(),
        hits,
        misses,
        fills,
        refused,
        ..TierCounts::default()
    };
    let mut run = gets(&[(STACK, 2e6), ("dead", 1e4), ("memcached:", 2e4)]);
    run.cells[0].tiers =
        vec![tier("L1 moka:", [9900, 100, 100, 0]), tier("L2 memcached:", [99, 1, 0, 0])];
    run.cells[1].tiers = vec![
        tier("L1 memcached:", [0, 10_000, 0, 10_000]),
        tier("L2 memcached:", [10_000, 0, 0, 0]),
    ];
    // This first tier was not asked after it could not drop a key.
    run.cells[2].tiers = vec![
        TierCounts { errors: 3, not_asked: 9000, ..tier("L1 lost:", [997, 0, 0, 0]) },
        tier("L2 memcached:", [9003, 0, 0, 0]),
    ];
    run.cells.push(Cell {
        tiers: vec![tier("L1 memcached:", [0, 0, 0, 50]), tier("L2 memcached:", [0; 4])],
        ..cell("dead", Operation::Set, Some(1e4))
    });
    run
}

#[test]
fn each_format_says_which_tier_answered() {
    let run = stacks();
    let table = render(&run, Format::TABLE, PLAIN);
    let answered = section(&table, "Which tier answered", "What the figures say");
    assert_lines(
        answered,
        &[
            "Which tier answered",
            "tiered:moka:|memcached://h1, get  L1 moka: 99 %, L2 memcached: 0.99 % of reads; no tier 0.01 %",
            "dead, get                         L1 memcached: 0 %, L2 memcached: 100 % of reads; L1 memcached:",
            "refused 10000 values",
            "memcached:, get                   L1 lost: 9.97 %, L2 memcached: 90 % of reads; L1 lost: failed 3",
            "reads; L1 lost: could not drop a key, so 9000 reads skipped it",
            "dead, set                         L1 memcached: refused 50 values",
        ],
    );
    let markdown = render(&run, Format::MARKDOWN, PLAIN);
    let answered = section(&markdown, "### Which tier", "### What the figures");
    assert_lines(
        answered,
        &[
            "### Which tier answered",
            "- **tiered:moka:\\|memcached://h1, get**: L1 moka: 99 %, L2 memcached: 0.99 % of reads; no tier 0.01 %",
            "- **dead, get**: L1 memcached: 0 %, L2 memcached: 100 % of reads; L1 memcached: refused 10000 values",
            "- **memcached:, get**: L1 lost: 9.97 %, L2 memcached: 90 % of reads; L1 lost: failed 3 reads; L1 lost: could not drop a key, so 9000 reads skipped it",
            "- **dead, set**: L1 memcached: refused 50 values",
        ],
    );
    let page = render(&run, Format::HTML, PLAIN);
    let answered = section(&page, "<h3 id=\"tiers\">", "<ul class=\"legend-of-tables\">");
    assert_lines(
        &answered.replace("<li>", "\n<li>"),
        &[
            "<h3 id=\"tiers\">Which tier answered</h3><ul class=\"prose\">",
            "<li><b>tiered:moka:|memcached://h1, get</b>: L1 moka: 99 %, L2 memcached: 0.99 % of reads; no tier 0.01 %</li>",
            "<li><b>dead, get</b>: L1 memcached: 0 %, L2 memcached: 100 % of reads; L1 memcached: refused 10000 values</li>",
            "<li><b>memcached:, get</b>: L1 lost: 9.97 %, L2 memcached: 90 % of reads; L1 lost: failed 3 reads; L1 lost: could not drop a key, so 9000 reads skipped it</li>",
            "<li><b>dead, set</b>: L1 memcached: refused 50 values</li></ul>",
        ],
    );
}

#[test]
fn a_target_without_tiers_says_nothing_of_tiers() {
    let run = gets(&[("moka:", 2e6)]);
    for format in [Format::TABLE, Format::MARKDOWN, Format::HTML] {
        let text = render(&run, format, PLAIN);
        assert!(!text.contains("Which tier"), "{format}: {text}");
    }
}

#[test]
fn tiers_are_read_as_they_were_written_and_older_runs_have_none() {
    let mut run = stacks();
    let again = Run::from_json(&render(&run, Format::JSON, PLAIN)).unwrap();
    assert_eq!(again.cells[0].tiers, run.cells[0].tiers);
    run.cells[0].tiers.clear();
    let text = render(&run, Format::JSON, PLAIN);
    assert_eq!(text.matches("\"tiers\"").count(), 3, "no tiers are not written");
}
