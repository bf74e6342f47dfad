//! Reading and writing: run.json, its schema, the CSV files, the names of formats.

use std::path::Path;

use larder_report::{Format, Run, render, samples_csv, schema};

use super::small::{PLAIN, gets};
use super::snapshots::fixture;

#[test]
fn a_run_survives_writing_and_reading() {
    let text = fixture().to_json();
    assert_eq!(Run::from_json(&text).unwrap().to_json(), text);
    assert_eq!(render(&fixture(), Format::JSON, PLAIN), text);
}

#[test]
fn a_run_of_another_schema_is_refused_in_one_line() {
    for (schema, age) in [(9, "a newer"), (0, "an older")] {
        let text =
            format!(r#"{{ "schema": {schema}, "larder": "3.2.0", "cells": "quite other" }}"#);
        let error = Run::from_json(&text).unwrap_err().to_string();
        let expected = format!(
            "run.json has schema {schema}, written by larder 3.2.0; this larder reads schema 1: take {age} build of \
             larder, or measure again with this one"
        );
        assert_eq!(error, expected);
    }
    for text in ["", "[]", r#"{ "larder": "0.1.0" }"#, r#"{ "schema": 1 }"#] {
        let error = Run::from_json(text).unwrap_err().to_string();
        assert!(error.starts_with("not a run.json: ") && !error.contains('\n'), "{error}");
    }
}

#[test]
fn an_unknown_format_lists_the_known_ones() {
    for format in Format::all() {
        assert_eq!(format.as_str().parse::<Format>().unwrap(), format);
    }
    assert_eq!(
        "xml".parse::<Format>().unwrap_err().to_string(),
        "unknown format `xml`; known: table, matrix, markdown, html, json, csv"
    );
}

#[test]
fn the_published_schema_is_up_to_date() {
    assert_published("run.schema.json", &schema());
}

/// Compares a schema with its file in docs, which `LARDER_BLESS` writes again.
pub(super) fn assert_published(name: &str, schema: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("LARDER_BLESS").is_some() {
        std::fs::write(&path, schema).expect("docs can be written");
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == schema,
        "docs/{name} is not what the model says: run this test with LARDER_BLESS=1"
    );
}

#[test]
fn a_run_is_valid_by_its_schema_and_a_damaged_one_is_not() {
    let schema = serde_json::from_str(&schema()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut run = serde_json::from_str(&fixture().to_json()).unwrap();
    assert_eq!(validator.iter_errors(&run).map(|error| error.to_string()).next(), None);
    run["cells"][0]["operation"] = "sett".into();
    assert!(!validator.is_valid(&run));
}

/// The lines of a CSV file as maps from head to field.
fn read(text: &str) -> Vec<std::collections::HashMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes())
        .deserialize()
        .map(|line| line.expect("a line"))
        .collect()
}

#[test]
fn csv_has_a_line_for_each_cell_and_leaves_unknown_figures_empty() {
    let run = fixture();
    let lines = read(&render(&run, Format::CSV, PLAIN));
    assert_eq!(lines.len(), run.cells.len());
    let line = |name: &str, operation: &str, size: &str| {
        let found = lines.iter().find(|line| {
            line["name"] == name
                && line["operation"] == operation
                && line["point_data_size"] == size
        });
        found.unwrap()
    };
    let refused = line("memcached:", "set", "2222080");
    assert_eq!(refused["standing"], "empty");
    assert_eq!(refused["reason"], "value 2.1 MiB > item limit 1 MiB");
    assert_eq!(refused["ops_per_s"], "");
    let misses = line("perl+filecache:", "get", "4096");
    assert_eq!(
        (misses["standing"].as_str(), misses["reason"].as_str()),
        ("withheld", "NEVER-HITS")
    );
    assert_eq!(misses["hits"], "0");
    let embedded = line("lmdb:", "get", "65536");
    assert_eq!((embedded["standing"].as_str(), embedded["server_cpu_s"].as_str()), ("ranked", ""));
}

#[test]
fn samples_have_a_line_for_each_round() {
    let run = fixture();
    let lines = read(&samples_csv(&run));
    assert_eq!(lines.len(), run.cells.iter().map(|cell| cell.samples.len()).sum::<usize>());
    let errors: Vec<&str> = lines
        .iter()
        .map(|line| line["errors_by_kind"].as_str())
        .filter(|e| !e.is_empty())
        .collect();
    assert_eq!(errors, ["timeout=1", "timeout=1"]);
    assert_eq!(samples_csv(&gets(&[("a", 1e6)])).lines().count(), 1);
}
