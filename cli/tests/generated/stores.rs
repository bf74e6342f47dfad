//! The table of `docs/serve-compatibility.md` that tells what a client of memcached can do with each store.
//!
//! Capabilities are known of an open store, so each store is opened, and its server started. The row of a store that
//! cannot be opened on this machine stays as it is.

use std::fmt::Write as _;
use std::time::Duration;

use larder_engines::ENGINES;
use larder_store::{ByteSize, Capabilities, Medium, Ownership, StoreUrl};
use larder_testkit::{everything_is_required, is_nightly};

use super::{compare, path};

const BEGIN: &str = "<!-- stores -->\n";
const END: &str = "<!-- end of stores -->";

/// A column: its head, and its cell.
type Column = (&'static str, fn(&Capabilities, Ownership) -> String);

const COLUMNS: &[Column] = &[
    ("`add`, `replace`", |able, _| has(able.add)),
    ("`append`, `prepend`", |able, _| has(able.append)),
    ("`incr`, `decr`", |able, _| has(able.incr)),
    ("`touch`", |able, _| has(able.touch)),
    ("`gat`", |able, _| has(able.get_and_touch)),
    ("`cas`", |able, _| has(able.version)),
    ("flags", |able, _| has(able.flags)),
    ("`flush_all`", |able, ownership| match (able.clear, ownership) {
        (true, Ownership::Managed) => "own server".into(),
        (clear, _) => has(clear),
    }),
    ("leases", |able, _| has(able.leases)),
    ("time left", |able, _| has(able.ttl_left)),
    ("evicts", |able, _| has(able.evicts)),
    ("largest value", |able, _| match able.max_value_len {
        Some(len) => ByteSize(len as u64).to_string(),
        None => "no limit".into(),
    }),
    ("steps of time", |able, _| step(able.ttl_resolution)),
];

#[test]
fn the_page_on_serving_tells_what_each_store_can_do() {
    let page = std::fs::read_to_string(path("docs/serve-compatibility.md")).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let heads: Vec<&str> = COLUMNS.iter().map(|(head, _)| *head).collect();
    let mut table = format!("| store | {} |\n|---|", heads.join(" | "));
    table += &"---|".repeat(COLUMNS.len());
    table.push('\n');
    let engines =
        ENGINES.iter().filter(|engine| !matches!(engine.medium, Medium::Nothing | Medium::Tiers));
    for engine in engines {
        let start = format!("| `{}:` |", engine.scheme);
        match row(engine.scheme) {
            Ok(cells) => writeln!(table, "{start} {} |", cells.join(" | ")).unwrap(),
            Err(reason) => {
                // The run of a change does not install every engine.
                assert!(!(everything_is_required() && is_nightly()), "{reason}");
                let row = written.lines().find(|line| line.starts_with(&start));
                table += row.unwrap_or_default();
                table.push('\n');
            }
        }
    }
    compare("docs/serve-compatibility.md", &format!("{before}{BEGIN}\n{table}\n{END}{after}"));
}

/// The cells of a store without options.
fn row(scheme: &str) -> Result<Vec<String>, larder_store::Error> {
    let store = ENGINES.open(&StoreUrl::parse(&format!("{scheme}:"))?)?;
    let (able, ownership) = (store.capabilities(), store.info().ownership);
    Ok(COLUMNS.iter().map(|(_, cell)| cell(&able, ownership)).collect())
}

fn has(ability: bool) -> String {
    if ability { "yes" } else { "–" }.into()
}

fn step(step: Duration) -> String {
    match step.as_millis() {
        0 => "below 1 ms".into(),
        ms if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        ms => format!("{ms} ms"),
    }
}
