//! Two runs beside each other, in every format.

use insta::assert_snapshot;
use larder_report::{
    Chart, Diff, Family, Format, Ground, Series, Style, diff_charts, diff_formats, is_diff_page,
    is_info_page, render_diff, svg,
};

use super::html::{assert_closed, attributes, text_of};
use super::made_up::diffs::{difference, hostile_difference, one_cell};
use super::small::{PLAIN, assert_lines};

fn render(format: Format, style: Style) -> String {
    render_diff(&difference(), format, style).expect("a difference has this format")
}

#[test]
fn a_difference_as_it_is() {
    assert_snapshot!("diff_table", render(Format::TABLE, PLAIN));
    let coloured = render(Format::TABLE, Style { colour: true, width: 60 });
    assert!(
        coloured
            .contains("\u{1b}[1m\u{1b}[32m+17.9 %\u{1b}[0m  \u{1b}[1m\u{1b}[32mfaster\u{1b}[0m"),
        "{coloured}"
    );
    assert!(
        coloured.contains("\u{1b}[31m−80.0 %\u{1b}[0m  \u{1b}[31mslower\u{1b}[0m"),
        "{coloured}"
    );
    assert_snapshot!("diff_markdown", render(Format::MARKDOWN, PLAIN));
    assert_snapshot!("diff_csv", render(Format::CSV, PLAIN));
}

#[test]
fn a_difference_has_some_formats_and_no_others() {
    let known: Vec<&str> = diff_formats().map(Format::as_str).collect();
    assert_eq!(known, ["table", "markdown", "html", "json", "csv"]);
    for format in Format::all() {
        let rendered = render_diff(&difference(), format, PLAIN);
        assert_eq!(rendered.is_some(), known.contains(&format.as_str()), "{format}");
    }
    let read: serde_json::Value = serde_json::from_str(&render(Format::JSON, PLAIN)).unwrap();
    assert_eq!(read["changes"][2]["verdict"], "worse");
    assert_eq!(read["changes"][0]["name"], "moka:");
}

#[test]
fn rounds_that_can_tell_nothing_say_so() {
    let mut few = difference();
    for change in &mut few.changes {
        (change.old.rounds, change.new.rounds) = (3, 5);
    }
    let text = render_diff(&few, Format::MARKDOWN, PLAIN).unwrap();
    assert!(text.contains("so few rounds can tell no change, however clear: 6 rounds"), "{text}");
    assert!(text.contains("| 3+5 |"), "{text}");
    assert!(!render(Format::MARKDOWN, PLAIN).contains("so few rounds"));
}

fn page(diff: &Diff) -> String {
    render_diff(diff, Format::HTML, PLAIN).expect("a difference has a page")
}

#[test]
fn the_page_has_the_verdicts_the_tables_and_the_sentences() {
    let html = page(&difference());
    assert!(is_diff_page(&html) && !is_info_page(&html));
    assert_closed(&html);
    let text = text_of(&html);
    assert_lines(
        &text,
        &[
            "<h1>What changed from before to after</h1>",
            "<p class=\"alarm\" role=\"note\">These runs differ in more than the figures, and each difference may cause a change: kernel (6.1 against 6.2)</p>",
            "<dt>Old</dt>",
            "<h2>The answer</h2>",
            "<p class=\"prose\">Of 5 compared figures, 1 is better, 3 are worse, and 1 cannot be told apart.</p>",
            "<h2>Tables</h2>",
            "<h3>Get rate</h3>",
            "<td>data_size 4 KiB</td>",
            "<td class=\"number\"><span class=\"bad\">−80.0 %</span></td>",
            "<td class=\"\"><span class=\"bad\">slower</span></td>",
            "<h3>Get p99</h3>",
            "<h3>Get hits</h3>",
            "<h2>What this does not show</h2><ul class=\"prose\">",
            "<h2>Data</h2>",
        ],
    );
    for said in ["Only in old: 9 cells", "Not compared: get of file:", "a change is told where"] {
        assert!(text.to_lowercase().contains(&said.to_lowercase()), "{said}: {text}");
    }
    for link in attributes(&html, "href").into_iter().filter(|link| link.starts_with('#')) {
        let anchor = &link[1..];
        assert!(attributes(&html, "id").contains(&anchor), "{link}");
    }
}

#[test]
fn texts_of_others_stay_texts_on_the_page_of_a_difference() {
    let [evil, plain] = [page(&hostile_difference()), page(&difference())];
    for tag in ["<script", "</script", "<img", "<style"] {
        assert_eq!(evil.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    let table = render_diff(&hostile_difference(), Format::TABLE, PLAIN).unwrap();
    assert!(!table.contains('\u{202e}'));
}

/// The values of the old and the new bar of a target in a chart.
fn pair(chart: &Chart, target: f64) -> Vec<(&str, f64)> {
    let of = |series: &Series| {
        let at = series.x.iter().position(|x| x.total_cmp(&target).is_eq())?;
        series.y[at]
    };
    chart.series.iter().filter_map(|one| Some((one.name.as_str(), of(one)?))).collect()
}

#[test]
fn a_chart_of_changes_has_a_bar_before_and_a_bar_after_for_each_target() {
    let charts = diff_charts(&difference());
    let ids: Vec<&str> = charts.iter().map(|chart| chart.id.as_str()).collect();
    let expected = [
        "changes-get-1-KiB-rate",
        "changes-get-4-KiB-rate",
        "changes-get-4-KiB-p99",
        "changes-get-4-KiB-hits",
    ];
    assert_eq!(ids, expected);
    assert!(charts.iter().all(|chart| chart.family == Family::Changes && chart.order.len() == 3));
    let [first, second, .., hits] = &charts[..] else { panic!("{ids:?}") };
    assert_eq!(first.x.categories, ["moka:", "memcached:", "file:"]);
    assert_eq!(pair(first, 0.0), [("old", 640e3), ("new", 651e3)]);
    assert_eq!(pair(first, 1.0), [("old", 112e3), ("new", 132e3)]);
    assert_eq!(first.series[1].low[1], Some(132e3 * 0.98));
    assert!(hits.series.iter().all(|series| series.low.is_empty()));
    let reasons = |chart: &Chart| -> Vec<String> {
        chart.absent.iter().map(|one| format!("{} {}", one.name, one.reason)).collect()
    };
    assert_eq!(reasons(first), ["file: no figures in new: lost in the first round"]);
    assert_eq!(reasons(second), ["memcached: not in both runs", "file: not in both runs"]);
    // Each bar of a pair has its own row, in the picture too.
    let picture = svg(first, Ground::White);
    for text in ["640 k/s", "651 k/s", "112 k/s", "132 k/s", ">old<", ">new<"] {
        assert!(picture.contains(text), "{text}: {picture}");
    }
    let [alone] = &diff_charts(&one_cell())[..] else { panic!("one chart") };
    assert_eq!((alone.id.as_str(), alone.absent.len()), ("changes-get-rate", 0));
}
