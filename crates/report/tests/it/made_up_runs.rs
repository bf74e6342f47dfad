//! Made-up runs as readers may meet them, in the formats for people and against the schema.

use insta::assert_snapshot;
use larder_report::{Format, Run, Style, render, schema};

use crate::made_up::runs::MadeUp;
use crate::made_up::{MADE_UP, hostile, largest};
use crate::small::PLAIN;

/// Every made-up run for a report, except the largest.
fn everything() -> impl Iterator<Item = (&'static str, Run)> {
    let hostile: MadeUp = ("hostile", hostile);
    MADE_UP.iter().copied().chain([hostile]).map(|(name, run)| (name, run()))
}

#[test]
fn the_schema_allows_every_made_up_run() {
    let schema = serde_json::from_str(&schema()).unwrap();
    let schema = jsonschema::validator_for(&schema).unwrap();
    for (name, run) in everything().chain([("largest", largest())]) {
        let errors: Vec<String> = schema
            .iter_errors(&serde_json::to_value(&run).unwrap())
            .map(|error| format!("{name}: {error} at {}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
        let text = run.to_json();
        assert_eq!(Run::from_json(&text).unwrap().to_json(), text, "{name}");
    }
}

#[test]
fn every_format_takes_them_at_every_width() {
    for (name, run) in everything() {
        for format in Format::all() {
            for width in [40, 100] {
                let text = render(&run, format, Style { colour: true, width });
                assert!(text.ends_with('\n'), "{name}, {format}, {width}");
            }
        }
    }
}

#[test]
fn they_read_well_in_the_terminal_and_in_a_pull_request() {
    // The fixture shows the figures of a sweep. These runs lack a part of a sweep, or have more.
    let unusual = [
        "interrupted",
        "missing-cells",
        "one-target",
        "twelve-targets",
        "zero-hits",
        "all-unavailable",
        "article",
    ];
    for (name, run) in everything().filter(|(name, _)| unusual.contains(name)) {
        assert_snapshot!(format!("{name}_table"), render(&run, Format::TABLE, PLAIN));
        assert_snapshot!(format!("{name}_markdown"), render(&run, Format::MARKDOWN, PLAIN));
        if name == "article" {
            assert_snapshot!(format!("{name}_matrix"), render(&run, Format::MATRIX, PLAIN));
            let narrow = Style { width: 60, ..PLAIN };
            assert_snapshot!(format!("{name}_table_60"), render(&run, Format::TABLE, narrow));
        }
    }
}
