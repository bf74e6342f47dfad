//! Made-up runs as readers may meet them, in the formats for people and against the schema.

use insta::assert_snapshot;
use larder_report::{Format, Run, Style, render, schema};

use crate::made_up::runs::MadeUp;
use crate::made_up::{MADE_UP, hostile, largest};
use crate::small::{PLAIN, assert_lines};

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

/// Runs that lack a part of a sweep, or have more: lines of their tables, and of their Markdown. The fixture shows the figures
/// of a whole sweep.
const UNUSUAL: [(&str, &[&str], &[&str]); 6] = [
    (
        "interrupted",
        &[
            "ran       scenario made-up; 3 targets, 1 round, 1.75 s, interrupted; larder 0.1.0, seed 1,",
            "file:  interrupted before its first round",
            "lmdb:  interrupted before its first round",
            "file:  interrupted before its first round",
            "interrupted     stopped after 1.75 s: the report shows the measurements until then, 1 round for",
            "too few rounds  no verdict is possible with 1 round over 7 comparisons; 7 rounds are needed",
        ],
        &[
            "| file: |  |  |  |  |  |  |  |  |  |  |  | interrupted before its first round |",
            "| lmdb: |  |  |  |  |  |  |  |  |  |  |  | interrupted before its first round |",
            "| file: |  |  |  |  |  |  |  |  |  |  |  | interrupted before its first round |",
            "- **interrupted**: stopped after 1.75 s: the report shows the measurements until then, 1 round for each figure",
            "- **too few rounds**: no verdict is possible with 1 round over 7 comparisons; 7 rounds are needed",
            "- ran: scenario made-up; 3 targets, 1 round, 1.75 s, interrupted; larder 0.1.0, seed 1, 2026-11-21T20:41:07Z",
        ],
    ),
    (
        "missing-cells",
        &[
            "set, 4 KiB      moka: is 8.88× [8.82–8.95] faster than lmdb: (p < 0.001)",
            "moka: is 12.7× [12.6–12.8] faster than sqlite: (p < 0.001)",
            "get, 4 KiB      moka: is 2.61× [2.59–2.63] faster than lmdb: (p < 0.001)",
            "moka: is 13.2× [13.0–13.3] faster than memcached: (p < 0.001)",
            "touch, 4 KiB    moka: is 9.87× [9.78–9.97] faster than lmdb: (p < 0.001)",
            "moka: is 24.9× [24.6–25.2] faster than memcached: (p < 0.001)",
        ],
        &[
            "- **set**: over data_size, moka: leads at all 3 points (by 2.60× [2.58–2.62] or more)",
            "- **set, 2.1 MiB**: moka: is 2.60× [2.58–2.62] faster than lmdb: (p < 0.001)",
            "- **get, 64 KiB**: moka: is 2.53× [2.51–2.55] faster than lmdb: (p < 0.001)",
            "- **touch, 4 KiB**: moka: is 9.87× [9.78–9.97] faster than lmdb: (p < 0.001)",
            "- **harness**: without a cache, set takes 38 ns (client CPU 37.6 ns), at most 5.31 % of the time of the fastest, moka:",
            "- command: larder compare moka: 'lmdb:?sync=off' file: sqlite: memcached: redis:",
        ],
    ),
    (
        "one-target",
        &[
            "moka:  1.55 M/s  ±1.0 %  1.00×  ██████████   610 ns  1.40 µs  2.12 µs  600 µs   631 ns  13.1 MiB",
            "set          over data_size, only moka: has a result at all 3 points",
            "set, 1 KiB   moka: does 1.55 M/s [1.54–1.56]; there is nothing to compare it with",
            "set, 8 KiB   moka: does 1.24 M/s [1.23–1.24]; there is nothing to compare it with",
            "set, 64 KiB  moka: does 464 k/s [462–468]; there is nothing to compare it with",
            "get          over data_size, only moka: has a result at all 3 points",
        ],
        &[
            "- **set**: over data_size, only moka: has a result at all 3 points",
            "- **set, 1 KiB**: moka: does 1.55 M/s [1.54–1.56]; there is nothing to compare it with",
            "- **set, 8 KiB**: moka: does 1.24 M/s [1.23–1.24]; there is nothing to compare it with",
            "- **set, 64 KiB**: moka: does 464 k/s [462–468]; there is nothing to compare it with",
            "- **get**: over data_size, only moka: has a result at all 3 points",
            "- **get, 1 KiB**: moka: does 3.00 M/s [2.98–3.01]; there is nothing to compare it with",
        ],
    ),
    (
        "twelve-targets",
        &[
            "tie: targets that share a letter cannot be told apart",
            "set, 1 KiB    memory: is 1.34× [1.33–1.35] faster than mmap: (p < 0.001)",
            "set, 16 KiB   memory: is 1.15× [1.14–1.16] faster than mmap: (p < 0.001)",
            "set, 256 KiB  memory: and mmap: cannot be told apart (ratio 1.01 [1.00–1.02], p = 0.40)",
            "get, 1 KiB    memory: is 1.14× [1.13–1.14] faster than mmap: (p < 0.001)",
            "get, 16 KiB   memory: is 1.05× [1.04–1.06] faster than mmap: (p < 0.001)",
        ],
        &[
            "Targets that share a letter under *tie* cannot be told apart.",
            "- **set, 1 KiB**: memory: is 1.34× [1.33–1.35] faster than mmap: (p < 0.001)",
            "- **set, 16 KiB**: memory: is 1.15× [1.14–1.16] faster than mmap: (p < 0.001)",
            "- **set, 256 KiB**: memory: and mmap: cannot be told apart (ratio 1.01 [1.00–1.02], p = 0.40)",
            "- **get, 1 KiB**: memory: is 1.14× [1.13–1.14] faster than mmap: (p < 0.001)",
            "- **get, 16 KiB**: memory: is 1.05× [1.04–1.06] faster than mmap: (p < 0.001)",
        ],
    ),
    (
        "zero-hits",
        &[
            "file:       of 200000 operations none succeeded: 200000 missed, 0 wrong, 0 failed",
            "memcached:  of 200000 operations none succeeded: 200000 missed, 0 wrong, 0 failed",
            "get       no target has a result",
            "✗ error NEVER-HITS",
            "file:, get; memcached:, get: 0 hits of 200000 reads: only misses timed",
        ],
        &[
            "| file: | of 200000 operations none succeeded: 200000 missed, 0 wrong, 0 failed |",
            "| memcached: | of 200000 operations none succeeded: 200000 missed, 0 wrong, 0 failed |",
            "- **get**: no target has a result",
            "- error **NEVER-HITS** file:, get; memcached:, get: 0 hits of 200000 reads: only misses timed",
        ],
    ),
    (
        "all-unavailable",
        &[
            "redis:       redis: redis is not installed: apt-get install redis",
            "mysql:       mysql: mysql is not installed: apt-get install mysql",
            "postgresql:  postgresql: postgresql is not installed: apt-get install postgresql",
            "set      no target has a result",
            "not run  redis: did not run: redis: redis is not installed: apt-get install redis",
            "mysql: did not run: mysql: mysql is not installed: apt-get install mysql",
        ],
        &[
            "| redis: | redis: redis is not installed: apt-get install redis |",
            "| postgresql: | postgresql: postgresql is not installed: apt-get install postgresql |",
            "| mysql: | mysql: mysql is not installed: apt-get install mysql |",
            "| redis: | redis: redis is not installed: apt-get install redis |",
            "| postgresql: | postgresql: postgresql is not installed: apt-get install postgresql |",
            "| mysql: | mysql: mysql is not installed: apt-get install mysql |",
        ],
    ),
];

#[test]
fn they_read_well_in_the_terminal_and_in_a_pull_request() {
    for (name, in_table, in_markdown) in UNUSUAL {
        let (_, run) = everything().find(|(known, _)| *known == name).expect("a made-up run");
        assert_lines(&render(&run, Format::TABLE, PLAIN), in_table);
        assert_lines(&render(&run, Format::MARKDOWN, PLAIN), in_markdown);
    }
}

#[test]
fn an_article_stands_beside_its_figures() {
    let (_, run) = everything().find(|(name, _)| *name == "article").expect("a made-up run");
    for format in [Format::TABLE, Format::MATRIX, Format::MARKDOWN] {
        assert_snapshot!(format!("article_{format}"), render(&run, format, PLAIN));
    }
}
