//! The answering tier of a stack, in each format.

use insta::assert_snapshot;
use larder_report::{Cell, Format, Operation, Run, TierCounts, render};

use crate::small::{PLAIN, cell, gets};

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
    let told = section(&table, "Which tier answered", "What the figures say");
    assert_snapshot!("tiers_table", told);
    let markdown = render(&run, Format::MARKDOWN, PLAIN);
    assert_snapshot!(
        "tiers_markdown",
        section(&markdown, "### Which tier", "### What the figures")
    );
    let page = render(&run, Format::HTML, PLAIN);
    let told = section(&page, "<h3 id=\"tiers\">", "<ul class=\"legend-of-tables\">");
    assert_snapshot!("tiers_html", told.replace("<li>", "\n<li>"));
}

/// The text between two marks.
fn section<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let start = text.find(from).unwrap_or_else(|| panic!("no `{from}` in {text}"));
    let length = text[start..].find(to).unwrap_or_else(|| panic!("no `{to}` in {text}"));
    text[start..start + length].trim_end()
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
