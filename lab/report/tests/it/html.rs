//! The page: it is whole, requests nothing, turns no foreign text into code, and its links lead to the right places.

use std::collections::BTreeSet;
use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use larder_report::{Format, Operation, Run, Severity, render};
use sha2::{Digest, Sha256};

use super::made_up::doubtful::{capacities, too_few_rounds, unlike_hits, withheld};
use super::made_up::largest;
use super::made_up::runs::sweep;
use super::small::{PLAIN, assert_lines, cell, check, gets, size, target};
use super::snapshots::fixture;

pub(crate) fn page(run: &Run) -> String {
    render(run, Format::HTML, PLAIN)
}

/// The values of an attribute, in the order of the page.
pub(crate) fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let begins = format!(" {name}=\"");
    let ends = |rest: &'a str| rest.split('"').next().unwrap_or_default();
    page.split(begins.as_str()).skip(1).map(ends).collect()
}

/// The text between the tags of each element of this name.
fn contents<'a>(page: &'a str, element: &str) -> Vec<&'a str> {
    let (begins, ends) = (format!("<{element}>"), format!("</{element}>"));
    let inner = |rest: &'a str| rest.split(ends.as_str()).next().unwrap_or_default();
    page.split(begins.as_str()).skip(1).map(inner).collect()
}

/// The page's own text, without style, scripts and packed data. Each tag begins a line.
pub(crate) fn text_of(page: &str) -> String {
    let mut text = page.to_owned();
    for element in ["style", "script"] {
        for content in contents(page, element) {
            text = text.replace(content, "…");
        }
    }
    for packed in attributes(page, "href").into_iter().filter(|link| link.starts_with("data:")) {
        text = text.replace(packed, "data:…");
    }
    for packed in attributes(page, "value").into_iter().filter(|value| value.len() > 200) {
        text = text.replace(packed, "…");
    }
    let policy = attributes(page, "content")[0];
    text = text.replace(policy, "…");
    for element in
        ["<section", "<h", "<p", "<tr", "<td", "<th", "<li", "<d", "<article", "<nav", "<a "]
    {
        text = text.replace(element, &format!("\n{element}"));
    }
    text
}

/// The text that a link carries, or a value behind a comma.
pub(crate) fn unpacked(link: &str) -> String {
    let (_, packed) = link.split_once(',').expect("a data link has a comma");
    let packed = STANDARD.decode(packed).expect("base64");
    let mut text = String::new();
    GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
    text
}

#[test]
fn the_page_has_its_sections_in_the_order_of_a_reader() {
    let page = text_of(&page(&fixture()));
    assert_lines(
        &page,
        &[
            "<h1>Comparison of 6 caches</h1>",
            "<h2>The answer</h2>",
            "<h2>Charts</h2>",
            "<h2>Checks <small>3 errors, 4 warnings and 10 notes</small></h2>",
            "<h2>Tables</h2>",
            "<h2>Environment</h2>",
            "<h2>Data</h2>",
            "<h2>What this does not show</h2><ul class=\"prose\">",
        ],
    );
    assert_lines(
        &page,
        &[
            "<dd><strong>3</strong> <span>data_size 4 KiB to 2.1 MiB</span></dd></div>",
            "<dd><strong>set, get</strong></dd></div>",
            "<dd><strong>5</strong> <span>in 2 min 14 s</span></dd></div>",
            "<dd><strong>282 500 right, <span class=\"doubtful\">62 500 missed</span></strong> <span>none lost or wrong</span></dd></div>",
            "<dd><strong>",
        ],
    );
}

#[test]
fn the_policy_forbids_the_network_and_lets_in_just_this_style_and_these_scripts() {
    let page = page(&fixture());
    assert_closed(&page);
    let strange = |link: &&&str| !link.starts_with('#') && !link.starts_with("data:");
    assert_eq!(attributes(&page, "href").iter().filter(strange).count(), 0);
}

/// Checks that the page contains all its parts, and that its policy excludes everything else.
#[track_caller]
pub(crate) fn assert_closed(page: &str) {
    let policy = attributes(page, "content")[0].replace("&#39;", "'");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    for element in ["style", "script"] {
        let contents = contents(page, element);
        assert!(!contents.is_empty());
        for content in contents {
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(content)));
            assert!(policy.contains(&hash), "{policy} has no {hash} for a {element}");
        }
    }
    assert_eq!(page.matches("<script>").count(), page.matches("<script").count());
    assert_eq!(attributes(page, "style"), [""; 0], "the policy forbids attributes of style");
    assert_eq!(attributes(page, "src"), [""; 0]);
    assert!(!page.contains("@import") && !page.contains("url("));
}

#[test]
fn texts_of_others_stay_texts() {
    let evil = "</script><script>alert(1)</script><img src=x onerror='a()'>\"&";
    let mut run = gets(&[("a", 2e6), (evil, 1e6)]);
    run.targets[1].settings.insert(evil.into(), evil.into());
    run.targets.push(target("c"));
    run.targets[2].reason = Some(evil.into());
    run.cells.push(cell("c", Operation::Get, None));
    run.notes = vec![evil.into()];
    run.argv.push(evil.into());
    run.scenario = evil.into();
    run.environment.cpu = Some(evil.into());
    run.checks = vec![check(evil, Severity::Warn, Some(evil), evil)];
    let page = page(&run);
    let plain = super::html::page(&gets(&[("a", 2e6)]));
    for tag in ["<script", "</script", "<img", "<style"] {
        assert_eq!(page.matches(tag).count(), plain.matches(tag).count(), "{tag}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn every_link_within_the_page_leads_somewhere_and_no_anchor_comes_twice() {
    let mut interrupted = fixture();
    interrupted.checks.push(check("WHOLE-RUN", Severity::Note, None, "nothing in particular"));
    interrupted.checks.push(check("ELSEWHERE", Severity::Error, Some("not listed:"), "a stranger"));
    let mut other = check("AT-POINT", Severity::Error, Some("lmdb:?sync=off"), "here");
    other.point = Some(size(4096));
    interrupted.checks.push(other);
    for run in [fixture(), interrupted, gets(&[("a", 2e6), ("b", 1e6)]), gets(&[])] {
        let page = page(&run);
        let anchors = attributes(&page, "id");
        let known: BTreeSet<&str> = anchors.iter().copied().collect();
        assert_eq!(known.len(), anchors.len(), "an anchor comes twice: {anchors:?}");
        for link in attributes(&page, "href").into_iter().filter_map(|link| link.strip_prefix('#'))
        {
            assert!(known.contains(link), "#{link}");
        }
    }
}

#[test]
fn each_finding_leads_to_the_rows_it_is_about() {
    let page = page(&fixture());
    let finding = page.split("id=\"check-error-NEVER-HITS\"").nth(1).unwrap();
    let finding = finding.split("</article>").next().unwrap();
    let to_rows = |link: &&str| link.starts_with("#table");
    let links: Vec<&str> = attributes(finding, "href").into_iter().filter(to_rows).collect();
    assert_eq!(links, ["#table-get-0-4", "#table-get-1-4", "#table-get-2-4"]);
    assert_eq!(attributes(finding, "data-column"), ["hits"; 3]);
    let row = page.split("id=\"table-get-0-4\"").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(row.contains("perl+filecache:") && row.contains("no result: NEVER-HITS"), "{row}");
    assert!(row.contains("#check-error-NEVER-HITS"), "{row}");
}

#[test]
fn headings_go_down_by_one_level_only() {
    let page = page(&fixture());
    let levels: Vec<u8> = page
        .split("<h")
        .skip(1)
        .filter_map(|rest| rest.bytes().next().filter(u8::is_ascii_digit).map(|digit| digit - b'0'))
        .collect();
    assert_eq!(levels[0], 1);
    assert!(levels[1..].iter().all(|level| *level > 1), "{levels:?}");
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
}

#[test]
fn the_data_lies_in_the_page() {
    let run = fixture();
    let page = page(&run);
    let links: Vec<&str> =
        attributes(&page, "href").into_iter().filter(|link| link.starts_with("data:")).collect();
    assert_eq!(links.len(), 1);
    assert_eq!(Run::from_json(&unpacked(links[0])).unwrap().to_json(), run.to_json());
}

#[test]
fn every_empty_cell_says_why() {
    let page = page(&fixture());
    for table in page.split("<tbody").skip(1) {
        let table = table.split("</tbody>").next().unwrap();
        for cell in table.split("<td").skip(1) {
            let (attributes, rest) = cell.split_once('>').unwrap();
            let content = rest.split("</td>").next().unwrap();
            // Most targets have no tie, and most rows no finding.
            let may_be_empty = attributes.contains("tie") || attributes.contains("checks");
            assert!(!content.is_empty() || may_be_empty, "<td{attributes}>");
        }
    }
}

#[test]
fn a_large_run_makes_no_large_page() {
    let run = largest();
    let page = page(&run);
    assert!(page.len() < 1_800_000, "{} bytes", page.len());
    // The timelines of its rounds have longer bins, and no operation is lost.
    let link = attributes(&page, "href").into_iter().find(|link| link.starts_with("data:"));
    let small = Run::from_json(&unpacked(link.expect("the data"))).unwrap();
    let course = |run: &Run| {
        let samples = run.cells.iter().flat_map(|cell| &cell.samples);
        let timelines = samples.filter_map(|sample| sample.timeline.as_ref());
        timelines.fold((0, 0, 0), |(bins, ops, max), timeline| {
            let slowest = timeline.max_ns.iter().max().copied().unwrap_or(0);
            (bins + timeline.ops.len(), ops + timeline.ops.iter().sum::<u64>(), slowest.max(max))
        })
    };
    let ((bins, ops, max), (fewer, same_ops, same_max)) = (course(&run), course(&small));
    assert!(fewer * 2 < bins, "{fewer} of {bins}");
    assert_eq!((same_ops, same_max), (ops, max));
    assert!(page.contains("the course of each round in longer stretches"));
}

#[test]
fn a_delete_that_found_everything_has_no_misses_like_one_that_did_not() {
    let mut run = gets(&[]);
    for (name, misses) in [("a", 0), ("b", 7)] {
        run.targets.push(target(name));
        let mut cell = cell(name, Operation::Delete, Some(1e6));
        cell.counts.misses = misses;
        run.cells.push(cell);
    }
    let page = page(&run);
    for (anchor, misses) in [("table-delete-0-0", "0"), ("table-delete-0-1", "7")] {
        let row = page.split(&format!("id=\"{anchor}\"")).nth(1).unwrap();
        let row = row.split("</tr>").next().unwrap();
        assert!(row.contains(&format!(">{misses}</td>")), "{row}");
        assert!(!row.contains("writes only"), "{row}");
    }
}

#[test]
fn a_page_without_findings_names_the_version_and_the_figures_it_checked() {
    let mut run = gets(&[("a", 2e6)]);
    run.larder = "0.0.9".into();
    assert!(page(&run).contains("Larder 0.0.9 looked at every figure"));
    run.interrupted = true;
    let page = page(&run);
    assert!(page.contains("Larder 0.0.9 looked at the figures that were measured before"));
    assert!(!page.contains("every figure"));
}

#[test]
fn a_folded_finding_lists_every_check_and_links_every_target_it_names() {
    let run = fixture();
    let page = page(&run);
    let finding = page.split("id=\"check-note-ACK-PARITY\"").nth(1).unwrap();
    let finding = finding.split("</article>").next().unwrap();
    let checks = run.checks.iter().filter(|check| check.id == "ACK-PARITY").count();
    let listed: Vec<&str> = finding.split("<li>").skip(1).collect();
    assert_eq!(listed.len(), checks);
    assert!(finding.contains("<summary>All 5 findings</summary>"), "{finding}");
    assert_eq!(attributes(listed[0], "href"), ["#target-0", "#target-1"], "{}", listed[0]);
}

#[test]
fn the_bars_of_the_answer_hold_their_intervals() {
    let mut run = gets(&[("a", 2e6), ("b", 1e6)]);
    run.cells[0].ops_per_s_ci95 = Some([1.9e6, 2.1e6]);
    run.cells[1].ops_per_s_ci95 = Some([0.5e6, 4e6]);
    let page = page(&run);
    let podium = page.split("class=\"podium\"").nth(1).unwrap().split("</table>").next().unwrap();
    assert_eq!(attributes(podium, "x2"), ["52.50%", "100.00%"]);
    assert_eq!(attributes(podium, "x1"), ["47.50%", "12.50%"]);
    assert!(podium.contains("width=\"50.00%\"") && podium.contains("width=\"25.00%\""), "{podium}");
}

/// The table over the sweep of an operation, and the text below it.
fn grid<'a>(page: &'a str, operation: &str) -> &'a str {
    let begins = format!("{operation}, ");
    let all = page.split("role=\"region\" aria-label=\"").skip(1);
    let mut grids = all.filter(|region| region.contains("class=\"matrix grid"));
    let grid = grids.find(|region| region.starts_with(&begins)).expect("a grid");
    grid.split("</p>").next().expect("its end")
}

#[test]
fn the_bars_of_a_sweep_are_as_long_as_the_share_of_the_best() {
    let page = page(&sweep());
    let grid = grid(&page, "get");
    let rows: Vec<&str> = grid.split("<tr>").skip(2).collect();
    assert_eq!(rows.len(), 5);
    for row in rows {
        for cell in row.split("<td").skip(1).filter(|cell| cell.contains("rect class=\"whole\"")) {
            let told = cell.split("<small>").nth(1).unwrap().split('<').next().unwrap();
            let width = attributes(cell.split("class=\"whole\"").nth(1).unwrap(), "width")[0];
            let width: f64 = width.trim_end_matches('%').parse().unwrap();
            if let Ok(share) = told.trim_end_matches('×').parse::<f64>() {
                assert!((width - (share * 100.0).max(0.5)).abs() < 0.6, "{told}: {width} %");
            }
        }
    }
    assert!(grid.contains("Length of the bar: its share of the best at that point"), "{grid}");
    assert!(grid.contains("Hatched and crossed out: no result."), "sqlite: has none at 64 KiB");
}

#[test]
fn where_rounds_are_too_few_the_sweep_says_how_many_are_needed() {
    let page = page(&too_few_rounds());
    for operation in ["set", "get"] {
        let grid = grid(&page, operation);
        assert_eq!(grid.matches("no verdict: 6 rounds, 8 are needed").count(), 6, "{grid}");
        assert!(!grid.contains(": leads<") && !grid.contains("▸"), "{grid}");
    }
    assert!(!page.contains("cannot be told apart"));
}

/// The bars of an operation at one point.
fn podium<'a>(page: &'a str, operation: &str) -> &'a str {
    let begins = format!("<h3>{operation}");
    let rest = page.split(begins.as_str()).nth(1).expect("the operation");
    rest.split("</table>").next().expect("its end")
}

#[test]
fn a_withheld_result_stays_among_the_bars_with_the_reason() {
    let page = page(&withheld());
    for operation in ["set", "get"] {
        let podium = podium(&page, operation);
        let row = podium.split("class=\"withheld\"").nth(1).expect("a withheld row");
        assert!(row.contains("<b>file:</b>") && row.contains("class=\"hatch\""), "{row}");
        let why = row.split("class=\"why\"").nth(1).unwrap();
        assert!(why.contains("no result: ") && why.contains("(SILENT-DROP)"), "{why}");
        assert!(!row.contains('×'), "{row}");
    }
    assert!(podium(&page, "set").contains("5.1 % of acknowledged values lost (SILENT-DROP)"));
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains("<span class=\"bad\">1\u{202f}842 lost</span>"), "{head}");
    assert!(head.contains("<span class=\"doubtful\">10\u{202f}200 missed</span>"), "{head}");
    assert!(head.contains("none wrong") && !head.contains("none lost"), "{head}");
}

#[test]
fn a_target_that_hits_less_often_is_drawn_apart_and_not_compared() {
    let page = page(&unlike_hits());
    let podium = podium(&page, "get");
    let row = podium.split("class=\"unlike\"").nth(1).expect("a row set apart");
    for text in ["<b>file:</b>", "228 k/s", "20.3 k/s", "8.9 %", "class=\"whole part\""] {
        assert!(row.contains(text), "{text}: {row}");
    }
    assert!(row.contains("not compared in speed with targets that hit 100 %"), "{row}");
    assert!(!row.contains('×'), "{row}");
    for head in ["answered/s", "hits/s", "vs best"] {
        assert!(podium.contains(&format!(">{head}</th>")), "{head}");
    }
    let tables = page.split("id=\"tables\"").nth(1).unwrap();
    assert!(tables.contains("not compared: hits differ"));
}

#[test]
fn of_capacities_the_hit_ratios_come_before_the_rates() {
    let page = page(&capacities());
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    assert!(place("id=\"charts-hit_ratio\"") < place("id=\"hits\""));
    assert!(place("id=\"hits\"") < place("class=\"matrix grid"));
    assert!(place("id=\"hits\"") < place("id=\"charts-rate\""));
    assert!(!page.contains("has a result at all"), "the others have one, too");
}

#[test]
fn the_doubts_stand_with_the_answer_and_the_checks_after_the_charts() {
    let run = sweep();
    let page = page(&run);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        "id=\"answer\"",
        "id=\"charts-rate\"",
        "class=\"doubts\"",
        "id=\"charts\"",
        "id=\"checks\"",
    ];
    assert!(order.map(place).is_sorted(), "{:?}", order.map(place));
    let doubts = page.split("class=\"doubts\"").nth(1).unwrap().split("</div>").next().unwrap();
    for check in &run.checks {
        assert!(doubts.contains(&check.id), "{}", check.id);
        assert!(doubts.contains(&check.text), "{}", check.id);
    }
    let short = page.split("class=\"in-short\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert!(place("class=\"in-short\"") < place("id=\"answer\""));
    for check in &run.checks {
        let is_doubt = check.severity != Severity::Note;
        assert_eq!(short.contains(&check.id), is_doubt, "{}", check.id);
    }
}

#[test]
fn a_target_that_did_not_run_is_named_in_the_legend_and_has_no_button() {
    let mut run = gets(&[("a", 2e6), ("b", 1e6)]);
    run.targets.push(target("c"));
    run.targets[2].reason = Some("no server".into());
    run.cells.push(cell("c", Operation::Get, None));
    // This target ran for some time before its end, so it has figures.
    run.targets[1].reason = Some("it ended".into());
    let page = page(&run);
    let legend = page.split("class=\"legend\"").nth(1).unwrap().split("</div>").next().unwrap();
    assert_eq!(attributes(legend, "data-target"), ["0", "1"]);
    assert_eq!(attributes(legend, "title"), ["no server"]);
}
