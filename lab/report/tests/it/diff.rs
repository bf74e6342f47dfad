//! Two runs beside each other, in every format.

use insta::assert_snapshot;
use larder_report::{
    Chart, Diff, Family, Format, Ground, Scale, Series, Style, diff_charts, diff_formats,
    is_diff_page, is_info_page, render_diff, steers, svg,
};

use super::html::{assert_closed, attributes, text_of, unpacked};
use super::made_up::diffs::{difference, hostile_difference, one_cell};
use super::small::{PLAIN, assert_lines, size};

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
    assert!(!evil.replace('\n', "").contains(steers));
    assert!(!drawn(&evil).to_string().contains('\u{202e}'));
}

/// One target at these sizes, slower at each.
fn at_sizes(sizes: &[u64]) -> Diff {
    let mut diff = difference();
    let slower = diff.changes[2].clone();
    (diff.not_compared, diff.only_old, diff.only_new) = Default::default();
    diff.changes = sizes.iter().map(|_| slower.clone()).collect();
    for (change, bytes) in diff.changes.iter_mut().zip(sizes) {
        change.cell.point = size(*bytes);
    }
    diff
}

/// The data that the script of a page draws from.
fn drawn(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<data id=\"drawn\" hidden value=\"").expect("data");
    let (packed, _) = rest.split_once('"').expect("an end");
    serde_json::from_str(&unpacked(&format!(",{packed}"))).expect("JSON")
}

#[test]
fn the_answer_tells_what_was_not_compared_and_what_too_few_rounds_tell() {
    let answer = |diff: &Diff| -> String {
        let html = text_of(&page(diff));
        let (_, rest) = html.split_once("<h2>The answer</h2>").expect("an answer");
        rest.split("</section>").next().unwrap_or_default().to_owned()
    };
    let mut few = difference();
    for change in &mut few.changes {
        (change.old.rounds, change.new.rounds) = (3, 5);
    }
    let left = "1 cell was not compared: the limits below say why.";
    let worse = "Get of file: may be worse: the new run has no result there, or fewer hits.";
    let rounds = "So few rounds can tell no change, however clear: 6 rounds";
    let text = answer(&few);
    for said in ["Of 5 compared figures, ", left, worse, rounds] {
        assert!(text.contains(&format!("<p class=\"prose\">{said}")), "{said}: {text}");
    }
    assert!(!answer(&difference()).contains(rounds));
    let mut whole = one_cell();
    (whole.changes[0].old.rounds, whole.changes[0].new.rounds) = (10, 10);
    let text = answer(&whole);
    assert_eq!(text.matches("<p class=\"prose\">").count(), 1, "{text}");

    let mut nothing = difference();
    nothing.changes.clear();
    let text = answer(&nothing);
    for said in ["The two runs have no figure that can be compared.", left, worse] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let html = page(&nothing);
    assert!(!html.contains("compared figure") && !html.contains("#tables"), "{html}");
    assert_closed(&html);
}

#[test]
fn points_that_read_alike_are_told_apart_in_every_part_of_a_difference() {
    let alike = at_sizes(&[1500, 1510]);
    let charts = diff_charts(&alike);
    let points: Vec<&str> = charts.iter().map(|chart| chart.facets[1].value.as_str()).collect();
    assert_eq!(points, ["1500 B", "1510 B"]);
    let html = page(&alike);
    let drawn = drawn(&html);
    for (number, chart) in drawn["charts"].as_array().unwrap().iter().enumerate() {
        assert_eq!(chart["points"], serde_json::json!([number]));
    }
    let text = text_of(&html);
    assert_lines(&text, &["<td>data_size 1500 B</td>", "<td>data_size 1510 B</td>"]);
    let table = render_diff(&alike, Format::TABLE, PLAIN).unwrap();
    assert_lines(&table, &["data_size 1500 B", "data_size 1510 B"]);
}

#[test]
fn a_page_with_many_charts_shows_some_of_them_without_its_script() {
    let sizes: Vec<u64> = (1..=30).map(|number| number * 1024).collect();
    let mut many = at_sizes(&sizes);
    // The changes at the first ten sizes cannot be told.
    for change in &mut many.changes[..10] {
        change.verdict = larder_report::ChangeVerdict::Indistinguishable;
    }
    let html = page(&many);
    let stills: Vec<&str> = html.split("<div class=\"still\">").skip(1).collect();
    assert_eq!(stills.len(), 24);
    let is_shown = |id: &str| stills.iter().any(|still| still.contains(&format!("\"{id}-title\"")));
    assert!(is_shown("changes-get-30-KiB-rate") && is_shown("changes-get-4-KiB-rate"));
    assert!(!is_shown("changes-get-5-KiB-rate"));
    assert!(html.contains("The script of this page draws 6 more charts."), "{html}");
    assert!(!page(&difference()).contains("The script of this page draws"));
}

#[test]
fn the_colours_of_pairs_are_of_the_runs_and_rounds_are_of_all_changes() {
    let mut diff = difference();
    diff.changes[3].new.rounds = 3;
    let html = page(&diff);
    assert!(html.contains("Colour: the run that is named above. Thin stroke:"), "{html}");
    let targets = &drawn(&html)["targets"];
    assert_eq!(targets[0]["rounds"], "3 to 10 rounds");
    assert_eq!(targets[1]["rounds"], "10 rounds");
    assert!(targets[0]["colour"].is_null());
    assert!(html.contains("<svg class=\"mark\" aria-hidden=\"true\"><use href=\"#mark-"), "{html}");
}

#[test]
fn a_mark_on_a_wide_scale_names_its_run() {
    let mut wide = one_cell();
    wide.changes[0].new.value = 4e6;
    let [chart] = &diff_charts(&wide)[..] else { panic!("one chart") };
    assert_eq!(chart.y.scale, Scale::Log);
    let picture = svg(chart, Ground::White);
    for text in
        ["memcached:, old: 112 k/s", "memcached:, new: 4.00 M/s", ">old 112 k/s<", ">new 4.00 M/s<"]
    {
        assert!(picture.contains(text), "{text}: {picture}");
    }
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
