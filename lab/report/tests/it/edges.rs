//! Runs at the edges: one target, many targets, no hit, no figure, no cell.

use larder_report::{Format, Operation, Run, Severity, Style, not_shown, render};

use super::small::{PLAIN, assert_lines, at, cell, check, faster, gets, run, target, tied};

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
    assert_lines(
        &render(&run, Format::TABLE, PLAIN),
        &[
            "ran       scenario small; 1 target, 10 rounds, 12.0 s; larder 0.1.0, seed 1, 2026-11-21T20:41:07Z",
            "targets   durability volatile, reach process",
            "moka:  1.24 M/s  ±1.0 %  1.00×  ██████████  100 %   725 ns  1.61 µs  6.45 µs  32.3 µs  726 ns",
            "get  moka: does 1.24 M/s [1.23–1.25]; there is nothing to compare it with",
            "Checks: none fired",
        ],
    );
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
    assert_lines(
        &render(&run, Format::TABLE, PLAIN),
        &[
            "target-1   1.00 M/s  ±1.0 %   1.00×       100 %   900 ns  2.00 µs  8.00 µs  40.0 µs   900 ns",
            "target-8    125 k/s  ±1.0 %   0.12×       100 %  7.20 µs  16.0 µs  64.0 µs   320 µs  7.20 µs",
            "target-9    111 k/s  ±1.0 %   0.11×  a    100 %  8.10 µs  18.0 µs  72.0 µs   360 µs  8.10 µs",
            "target-12  83.3 k/s  ±1.0 %  0.083×  a    100 %  10.8 µs  24.0 µs  96.0 µs   480 µs  10.8 µs",
            "tie: targets that share a letter cannot be told apart",
            "target-8 is 1.12× [1.10–1.15] faster than target-9 (p < 0.001)",
            "target-9, target-10, target-11 and target-12 cannot be told apart (fastest to slowest:",
            "ratio 1.01 [0.99–1.03], p = 0.60)",
            "target-1 is 12.0× [11.8–12.2] faster than target-12 (p < 0.001)",
        ],
    );
    assert_lines(
        &render(&run, Format::MATRIX, PLAIN),
        &[
            "target-2    556 k/s      150%      100%       50%        --      -50%",
            "target-1   1.11 M/s      400%      300%      200%      100%        --",
            "~ cannot be told apart",
        ],
    );
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
    assert_lines(
        &render(&run, Format::TABLE, PLAIN),
        &[
            "values    0 right, 0 wrong, 0 lost, 20000 missed",
            "✗ filecache    2.00 k/s  ±1.0 %   0 %   450 µs  1.00 ms  4.00 ms  20.0 ms  450 µs",
            "no result: NEVER-HITS: 0 hits of 10000 reads: only misses timed",
            "✗ is no result and stands outside the ranking",
            "get  no target has a result",
            "filecache (NEVER-HITS) and memcached (NEVER-HITS) have no result",
            "Checks: 2 errors",
            "filecache and memcached: 0 hits of 10000 reads: only misses timed",
            "→  mend NEVER-HITS",
        ],
    );
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
    assert_lines(
        &render(&run, Format::TABLE, PLAIN),
        &[
            "ran       scenario small; 2 targets, 4 to 10 rounds, 12.0 s, interrupted; larder 0.1.0, seed 1,",
            "b  1.00 M/s  ±1.0 %  0.50×  █████       100 %   900 ns  2.00 µs  8.00 µs  40.0 µs  900 ns",
            "delete",
            "a     not measured before the interruption",
            "interrupted  stopped after 12.0 s: the report shows the measurements until then, 4 to 10 rounds",
            "get          a is 2.00× [1.96–2.04] faster than b (p < 0.001)",
            "delete       no target has a result",
        ],
    );
}

#[test]
fn all_cells_empty() {
    let mut run = gets(&[("a", 2e6), ("b", 1e6)]);
    for (cell, reason) in run.cells.iter_mut().zip(["has no TTL", "refused"]) {
        *cell = super::small::cell(&cell.target, Operation::Get, None);
        cell.reason = Some(reason.into());
    }
    all_formats(&run);
    assert_lines(
        &render(&run, Format::TABLE, PLAIN),
        &["a  has no TTL", "b  refused", "get  no target has a result", "Checks: none fired"],
    );
}

#[test]
fn nothing_at_all() {
    let run = run();
    all_formats(&run);
    let text = render(&run, Format::TABLE, PLAIN);
    assert_lines(&text, &["machine   2 cores", "Checks: none fired", "What this does not show"]);
    assert!(!text.contains("What the figures say"), "{text}");
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
    assert_lines(
        &render(&run, Format::MATRIX, PLAIN),
        &[
            "get, by wall clock                           get, by CPU time of the client",
            "memcached  1.43 k/s         --       -29%    filecache  1.88 k/s         --       -92%",
            "filecache  2.00 k/s        40%         --    memcached  24.4 k/s      1195%         --",
            "By CPU time the order differs: a client that waits for a server or a disk uses no CPU, and is not",
            "faster for it.",
        ],
    );
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

#[test]
fn points_whose_labels_read_alike_are_two_rankings_in_the_terminal() {
    let mut run = gets(&[]);
    run.targets = vec![target("a"), target("b")];
    for bytes in [1500, 1510] {
        for (name, rate) in [("a", 2e6), ("b", 1e6)] {
            run.cells.push(at(cell(name, Operation::Get, Some(rate)), bytes));
        }
    }
    let text = render(&run, Format::TABLE, PLAIN);
    let (_, rows) = text.split_once("─\n").expect("a rule below the heads");
    let name = |line: &str| line.trim().split("  ").next().unwrap_or_default().to_owned();
    let shown: Vec<String> = rows.lines().take(6).map(name).collect();
    let alike = "data_size 1.5 KiB";
    assert_eq!(shown, [alike, "a", "b", alike, "a", "b"], "{text}");
}
