//! Runs at the edges: one target, many targets, no hit, no figure, no cell.

use insta::assert_snapshot;
use larder_report::{Format, Operation, Run, Severity, Style, not_shown, render};

use super::small::{PLAIN, cell, check, faster, gets, run, target, tied};

/// Renders a run in every format, so that none of the formats fails.
fn all_formats(run: &Run) {
    for format in Format::all() {
        for width in [0, 1, 40, 200] {
            let text = render(run, format, Style { colour: true, width });
            assert!(text.ends_with('\n') || text.is_empty(), "{format} {width}");
        }
    }
}

#[test]
fn one_target_only() {
    let run = gets(&[("moka:", 1.24e6)]);
    all_formats(&run);
    assert_snapshot!("one_target", render(&run, Format::TABLE, PLAIN));
}

#[test]
fn twelve_targets() {
    let names: Vec<String> = (1..=12).map(|n| format!("target-{n}")).collect();
    let rates: Vec<(&str, f64)> =
        names.iter().zip(1..).map(|(name, n)| (name.as_str(), 1e6 / f64::from(n))).collect();
    let mut run = gets(&rates);
    for (i, (a, of_a)) in rates.iter().enumerate() {
        for (b, of_b) in &rates[i + 1..] {
            // The last four rates lie too close together.
            let near = *of_a < 1.2e5;
            run.comparisons.push(if near { tied(a, b) } else { faster(a, b, of_a / of_b) });
        }
    }
    all_formats(&run);
    assert_snapshot!("twelve_table", render(&run, Format::TABLE, PLAIN));
    assert_snapshot!("twelve_matrix", render(&run, Format::MATRIX, PLAIN));
}

#[test]
fn no_read_hits() {
    let mut run = gets(&[("filecache", 2000.0), ("memcached", 1429.0)]);
    for cell in &mut run.cells {
        cell.counts.misses = cell.counts.hits;
        cell.counts.hits = 0;
    }
    for name in ["filecache", "memcached"] {
        let text = "0 hits of 10000 reads: only misses timed";
        run.checks.push(check("NEVER-HITS", Severity::Error, Some(name), text));
    }
    all_formats(&run);
    assert_snapshot!("no_hits", render(&run, Format::TABLE, PLAIN));
}

#[test]
fn a_server_behind_a_relay_is_not_said_to_lack_the_delay_of_a_network() {
    let mut run = gets(&[("near", 2e6), ("far", 1e6), ("stack", 1.5e6)]);
    for (target, via) in run.targets.iter_mut().zip([None, Some("via"), Some("l2.via")]) {
        target.ownership = Some("managed".into());
        target.settings.extend(via.map(|name| (name.to_owned(), "delay:500us".to_owned())));
    }
    let said = not_shown(&run).join("\n");
    assert!(
        said.contains("\nnear ran on this machine beside the client, reached over loopback"),
        "{said}"
    );
    let far = "\nfar and stack ran on this machine too, and a relay added the delay of a network, 500 µs a round trip";
    assert!(said.contains(far), "{said}");
}

#[test]
fn an_interrupted_run() {
    let mut run = gets(&[("a", 2e6), ("b", 1e6)]);
    run.interrupted = true;
    run.cells[1].rounds = 4;
    run.comparisons = vec![faster("a", "b", 2.0)];
    run.cells.push(cell("a", Operation::Delete, None));
    all_formats(&run);
    assert_snapshot!("interrupted", render(&run, Format::TABLE, PLAIN));
}

#[test]
fn all_cells_empty() {
    let mut run = gets(&[("a", 2e6), ("b", 1e6)]);
    for (cell, reason) in run.cells.iter_mut().zip(["has no TTL", "refused"]) {
        *cell = super::small::cell(&cell.target, Operation::Get, None);
        cell.reason = Some(reason.into());
    }
    all_formats(&run);
    assert_snapshot!("all_empty", render(&run, Format::TABLE, PLAIN));
}

#[test]
fn nothing_at_all() {
    let run = run();
    all_formats(&run);
    assert_snapshot!("nothing", render(&run, Format::TABLE, PLAIN));
}

#[test]
fn figures_of_a_debug_build_come_with_a_warning() {
    let mut run = gets(&[("a", 2e6)]);
    run.environment.build = "debug".into();
    let warning = "these figures mean nothing";
    assert!(render(&run, Format::TABLE, PLAIN).lines().next().unwrap().contains(warning));
    assert!(render(&run, Format::MARKDOWN, PLAIN).contains(warning));
}

#[test]
fn the_header_is_brief_about_program_and_time() {
    let mut run = gets(&[("a", 2e6)]);
    run.scenario = "custom".into();
    run.argv = ["/usr/local/bin/larder", "compare", "/dev/shm"].map(Into::into).to_vec();
    run.started = "2026-11-21T20:41:07.123456789+01:00".into();
    let text = render(&run, Format::TABLE, Style { colour: false, width: 200 });
    let ran = "ran       larder compare /dev/shm; 1 target, 10 rounds, 12.0 s; larder 0.1.0, seed 1, \
               2026-11-21T20:41:07+01:00";
    assert_eq!(text.lines().next().unwrap(), ran);
}

#[test]
fn answers_of_a_null_store_are_not_verified() {
    let mut run = gets(&[("a", 2e6), ("null:", 9e6)]);
    assert!(not_shown(&run).join(" ").contains("Each of 20000 compared answers"));
    run.targets[1].stores = Some(false);
    assert!(not_shown(&run).join(" ").contains("Each of 10000 compared answers"));
    run.cells[0].counts.wrong = 1;
    assert!(!not_shown(&run).join(" ").contains("compared answers was right"));
}

#[test]
fn keys_are_named_where_keys_are_counted() {
    let mut run = gets(&[("a", 2e6)]);
    assert!(!render(&run, Format::TABLE, PLAIN).contains("counts keys"));
    run.cells[0].operation = Operation::GetMany;
    assert!(render(&run, Format::TABLE, PLAIN).contains("get_many counts keys"));
    assert!(render(&run, Format::MARKDOWN, PLAIN).contains("get_many (counted in keys)"));
    run.cells.push(run.cells[0].clone());
    run.cells[1].operation = Operation::GetTag;
    assert!(render(&run, Format::TABLE, PLAIN).contains("get_many, get_tag count keys"));
}

#[test]
fn texts_of_others_cannot_steer_the_terminal_or_break_a_table() {
    let mut run = gets(&[("evil\u{1b}[2J|\u{1f}name", 2e6)]);
    run.targets[0].name = run.targets[0].url.clone();
    run.notes = vec!["a\u{7}bell".into()];
    for format in [Format::TABLE, Format::MATRIX, Format::MARKDOWN] {
        let text = render(&run, format, PLAIN);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{format}: {text:?}");
        if format == Format::MARKDOWN {
            assert!(text.contains(r"evil [2J\| name"), "{text}");
        }
    }
}

#[test]
fn the_matrix_by_cpu_follows_where_it_is_known_and_says_where_its_order_differs() {
    let mut run = gets(&[("filecache", 2000.0), ("memcached", 1429.0)]);
    run.comparisons = vec![faster("filecache", "memcached", 1.4)];
    let text = render(&run, Format::MATRIX, PLAIN);
    assert!(text.contains("by CPU time of the client\n") && !text.contains("differs"), "{text}");
    let mut unknown = run.clone();
    unknown.cells[0].client_cpu_s = None;
    assert!(!render(&unknown, Format::MATRIX, PLAIN).contains("CPU"));
    run.cells[0].client_cpu_s = Some(5.31);
    run.cells[1].client_cpu_s = Some(0.41);
    assert_snapshot!("matrix_by_cpu", render(&run, Format::MATRIX, PLAIN));
}

#[test]
fn a_long_name_gives_way_before_the_figures() {
    let name = "memcached://cache-1.example.org:11211,cache-2.example.org:11211";
    let mut run = gets(&[(name, 2e6)]);
    run.targets.push(target("b"));
    run.cells.push(cell("b", Operation::Get, Some(1e6)));
    let text = render(&run, Format::TABLE, PLAIN);
    assert!(text.contains("  memcached://ca…xample.org:11211  2.00 M/s"), "{text}");
    assert!(text.contains("p99"), "{text}");
}
