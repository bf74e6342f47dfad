//! What a trace tells, in every format.

use insta::assert_snapshot;
use larder_report::{
    Format, MeasuredIn, Style, TraceInfo, info_charts, info_formats, info_schema, is_info_chart_id,
    render_info,
};

use super::files::assert_published;
use super::html::text_of;
use super::made_up::info::{hostile_trace, keys_alone, recording};
use super::small::PLAIN;

fn render(info: &TraceInfo, format: Format) -> String {
    render_info(info, format, PLAIN).expect("a trace has this format")
}

#[test]
fn a_recording_and_keys_alone_as_they_are() {
    assert_snapshot!("info_table", render(&recording(), Format::TABLE));
    assert_snapshot!("info_table_keys", render(&keys_alone(), Format::TABLE));
    assert_snapshot!("info_markdown", render(&recording(), Format::MARKDOWN));
    let page = render(&keys_alone(), Format::HTML);
    let (before, _) = page.split_once("<svg xmlns").expect("a chart");
    assert_snapshot!("info_html", text_of(before));
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
}

#[test]
fn a_narrow_terminal_is_told_what_has_no_room() {
    let narrow = Style { colour: false, width: 60 };
    let text = render_info(&recording(), Format::TABLE, narrow).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    assert!(text.contains("no room in 60 characters for"), "{text}");
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
