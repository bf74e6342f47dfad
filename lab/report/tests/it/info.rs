//! What a trace tells, in every format.

use insta::assert_snapshot;
use larder_report::{
    Estimate, Format, MeasuredIn, Style, TraceInfo, info_charts, info_formats, info_schema,
    is_info_chart_id, render_info,
};

use super::files::assert_published;
use super::html::text_of;
use super::made_up::info::{hostile_trace, keys_alone, recording};
use super::small::{PLAIN, assert_lines};

fn render(info: &TraceInfo, format: Format) -> String {
    render_info(info, format, PLAIN).expect("a trace has this format")
}

#[test]
fn a_recording_and_keys_alone_as_they_are() {
    assert_snapshot!("info_table", render(&recording(), Format::TABLE));
    assert_lines(
        &render(&keys_alone(), Format::TABLE),
        &[
            "limit            No cache hits more than 85.6 % of the reads: 14.4 % are the first of their keys.",
            "hot keys         The only key that is read is 4711.",
            "100       0.727 %  35.0 %  36.0 %  37.0 %   38.0 %     39.0 %   40.0 %",
            "4711  7 %",
            "The trace has no sizes, so capacities are in entries only.",
            "The trace has no times, so no rate is known.",
        ],
    );
    assert_snapshot!("info_markdown", render(&recording(), Format::MARKDOWN));
    let page = render(&keys_alone(), Format::HTML);
    let (before, _) = page.split_once("<svg xmlns").expect("a chart");
    assert_lines(
        &text_of(before),
        &[
            "<h1>What web12.trace.xz asks of a cache</h1>",
            "<dd><strong>web12.trace.xz</strong></dd></div>",
            "<dd><strong>cache2k (32-bit keys by the ending .trace)</strong></dd></div>",
            "<dd><strong>95.6 k</strong></dd></div>",
            "<dd><strong>get 100 %</strong></dd></div>",
            "<dd><strong>13.8 k different</strong></dd></div>",
            "<dd><strong>every operation: all figures are exact</strong></dd></div></dl></header>",
            "<h2>Which cache, how large</h2>",
            "<h3 class=\"unseen\">Hit ratio by capacity</h3>",
        ],
    );
}

#[test]
fn capacities_with_room_for_everything_say_so() {
    let kept = |info: &mut TraceInfo, measure: MeasuredIn, least: u64| {
        info.curves.retain(|curve| curve.measure == measure);
        info.curves[0].capacities.retain(|at| at.capacity >= least);
        render(info, Format::MARKDOWN)
    };
    let (fits, gains) = ("everything fits into", "more room gains");
    let text = kept(&mut recording(), MeasuredIn::Bytes, 1 << 30);
    assert!(text.contains("into 1 GiB: all keys and values take 858 MiB."), "{text}");
    assert!(!text.contains(gains) && !text.contains("hit alike"), "{text}");
    let text = kept(&mut recording(), MeasuredIn::Entries, 1_000_000);
    assert!(text.contains("into 1 M entries: there are 763 k keys."), "{text}");
    let text = kept(&mut recording(), MeasuredIn::Bytes, 1 << 24);
    assert!(!text.to_lowercase().contains(fits) && text.contains("larger ones gain"), "{text}");
    // Where no read can hit, no room is enough.
    for least in [1, 1 << 30] {
        let mut hopeless = recording();
        hopeless.unavoidable = Some(Estimate::exact(1.0));
        let text = kept(&mut hopeless, MeasuredIn::Bytes, least);
        assert!(!text.to_lowercase().contains(fits) && !text.contains(gains), "{text}");
    }
}

#[test]
fn a_narrow_terminal_is_told_what_has_no_room() {
    let narrow = Style { colour: false, width: 60 };
    let text = render_info(&recording(), Format::TABLE, narrow).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("no room in 60 characters for"), "{text}");
}

/// The names of the most read keys as a page shows them.
fn names_of_hot_keys(info: &TraceInfo) -> Vec<String> {
    let text = render(info, Format::MARKDOWN);
    let (_, table) = text.split_once("Most read keys").expect("a table");
    let rows = table
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));
    rows.skip(2).map(|row| row.split('|').nth(1).expect("a cell").trim().to_owned()).collect()
}

#[test]
fn long_names_of_keys_are_told_apart() {
    let (begin, end) = ("shop:product:".repeat(5), ":en:desktop".repeat(5));
    for is_cut in [false, true] {
        let mut info = recording();
        for (number, key) in (0_u32..).zip(&mut info.hottest.as_mut().expect("hot keys").keys) {
            // Of a very long key only the beginning was kept.
            let name = if is_cut { begin.repeat(4) } else { format!("{begin}{number}{end}") };
            (key.key, key.hash) = (Some(name), format!("90{number}17"));
        }
        let names = names_of_hot_keys(&info);
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(names.len(), different.len(), "{names:?}");
        assert!(
            names.len() > 2 && names.iter().all(|name| name.chars().count() <= 70),
            "{names:?}"
        );
    }
}

#[test]
fn a_key_without_a_byte_is_seen() {
    let mut info = recording();
    info.hottest.as_mut().expect("hot keys").keys[0].key = Some(String::new());
    assert_eq!(names_of_hot_keys(&info)[0], "\"\"");
}

#[test]
fn a_file_or_a_pipe_has_whole_tables_and_wrapped_texts() {
    let endless = Style { colour: false, width: Style::NO_EDGE };
    let text = render_info(&recording(), Format::TABLE, endless).unwrap();
    assert!(!text.contains("no room in"), "{text}");
    for head in ["FIFO", "SIEVE", "p99.9", "of all", "p25"] {
        assert!(text.contains(head), "{head}: {text}");
    }
    let sentences = text.lines().filter(|line| line.trim_end().ends_with('.'));
    assert!(sentences.clone().count() > 10, "{text}");
    assert!(sentences.into_iter().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn what_is_written_as_json_is_read_again() {
    for info in [recording(), keys_alone()] {
        let text = render(&info, Format::JSON);
        assert_eq!(serde_json::from_str::<TraceInfo>(&text).unwrap(), info);
    }
}

#[test]
fn the_published_schema_of_a_trace_is_up_to_date() {
    assert_published("trace-info.schema.json", &info_schema());
}

#[test]
fn what_a_trace_tells_is_valid_by_its_schema_and_what_is_damaged_is_not() {
    let schema = serde_json::from_str(&info_schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for info in [recording(), keys_alone()] {
        let mut json = serde_json::from_str(&render(&info, Format::JSON)).unwrap();
        assert_eq!(validator.iter_errors(&json).map(|error| error.to_string()).next(), None);
        json["curves"][0]["measure"] = "pages".into();
        assert!(!validator.is_valid(&json));
    }
}

#[test]
fn a_trace_has_some_formats_and_no_others() {
    let known: Vec<&str> = info_formats().map(Format::as_str).collect();
    assert_eq!(known, ["table", "markdown", "html", "json"]);
    for format in Format::all() {
        let rendered = render_info(&keys_alone(), format, PLAIN);
        assert_eq!(rendered.is_some(), known.contains(&format.as_str()), "{format}");
    }
}

#[test]
fn foreign_texts_are_no_code_and_steer_no_terminal() {
    let info = hostile_trace();
    let page = render(&info, Format::HTML);
    assert!(!page.contains("<script>document.title") && !page.contains("<img"), "{page}");
    let table = render(&info, Format::TABLE);
    assert!(!table.contains('\u{202e}'));
    assert!(!render(&info, Format::MARKDOWN).contains('\u{202e}'));
}

#[test]
fn a_chart_is_there_for_all_that_is_known_and_nothing_else() {
    let ids = |info: &TraceInfo| -> Vec<String> {
        info_charts(info).into_iter().map(|chart| chart.id).collect()
    };
    let expected = [
        "cache_hits-bytes",
        "cache_hits-entries",
        "course",
        "working_set-keys",
        "working_set-bytes",
        "popularity",
        "reuse-keys",
        "reuse-bytes",
        "sizes",
        "ttls",
    ];
    assert_eq!(ids(&recording()), expected);
    // Only files with such names are removed when charts are written again.
    assert!(expected.iter().all(|id| is_info_chart_id(id)));
    for other in ["course-get", "rate-get", "logo", "sizes2", ""] {
        assert!(!is_info_chart_id(other), "{other}");
    }
    assert_eq!(ids(&keys_alone()), ["cache_hits-entries", "popularity"]);
    let nothing = TraceInfo::of(larder_report::TraceFile::default());
    assert_eq!(ids(&nothing), [""; 0]);
    assert!(
        !render(&nothing, Format::HTML).is_empty() && !render(&nothing, Format::TABLE).is_empty()
    );
}

#[test]
fn what_was_not_recorded_is_not_told_as_a_zero() {
    for format in [Format::TABLE, Format::MARKDOWN, Format::HTML] {
        let text = render(&keys_alone(), format).to_lowercase();
        for absent in ["negative look-ups", "short ttls", "after a delete", "large values"] {
            assert!(!text.contains(absent), "{format}: {absent}");
        }
        assert!(text.contains("4711"), "{format}");
    }
}

/// The recorded cache hits a little less than the limit, which both round to.
#[test]
fn no_ratio_is_shown_above_the_limit() {
    let mut info = recording();
    info.recorded_hit_ratio = Some(0.333_31);
    info.limit.as_mut().unwrap().hit_ratio = Estimate::exact(0.333_32);
    info.limit.as_mut().unwrap().before = Some(0.0);
    let text = render(&info, Format::MARKDOWN);
    assert!(text.contains("No cache hits more than 33.34 % of the reads: "), "{text}");
    assert!(text.contains("The recorded cache hit 33.3 %."), "{text}");
}

#[test]
fn an_optimal_choice_that_is_beaten_says_why() {
    let mut info = recording();
    let said = ", which is the best for entries of one size only";
    assert!(!render(&info, Format::MARKDOWN).contains(said));
    for at in &mut info.curves[1].capacities {
        at.ratios.last_mut().unwrap().hit_ratio -= 0.03;
    }
    assert!(render(&info, Format::MARKDOWN).contains(said));
}
