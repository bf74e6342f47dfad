//! Hit ratios by capacity: the table, the curve and the sentences have the same figures.

use larder_report::{
    CAPACITY, Cell, Counts, Family, Format, Ground, HitCurve, HitRatios, Operation, Point,
    PointValue, ReasonKind, Run, Target, charts, render, sentences, svg,
};

use crate::small::{PLAIN, section};

fn target(name: &str) -> Target {
    Target { url: name.into(), name: name.into(), stores: Some(true), ..Target::default() }
}

fn cell(target: &str, capacity: u64, hits: u64) -> Cell {
    Cell {
        target: target.into(),
        point: Point::from([(CAPACITY.into(), PointValue::Number(capacity))]),
        operation: Operation::GetOrSet,
        workers: 1,
        rounds: 1,
        counts: Counts { ops: 1000, hits, misses: 1000 - hits, ..Counts::default() },
        working_set_bytes: 10 << 20,
        capacity_bytes: Some(capacity),
        ops_per_s: Some(1000.0),
        ..Cell::default()
    }
}

/// Two caches at two capacities; one of them cannot be as small as the smaller capacity.
fn run() -> Run {
    let (small, large) = (1 << 20, 5 << 20);
    let mut half = cell("large:", large, 700);
    half.capacity_bytes = Some(4 << 20);
    let none = Cell {
        reason: Some("cannot be as small".into()),
        reason_kind: Some(ReasonKind::Unavailable),
        ops_per_s: None,
        counts: Counts::default(),
        ..cell("large:", small, 0)
    };
    let ratios = |capacity_bytes, lru, optimal| HitRatios { capacity_bytes, lru, optimal };
    Run {
        targets: vec![target("small:"), target("large:")],
        cells: vec![cell("small:", small, 450), none, cell("small:", large, 702), half],
        hit_curves: vec![HitCurve {
            point: Point::new(),
            operation: Operation::GetOrSet,
            working_set_bytes: 10 << 20,
            rounds: 1,
            capacities: vec![ratios(small, 0.4, 0.5), ratios(large, 0.7, 0.8)],
        }],
        ..Run::default()
    }
}

#[test]
fn each_target_is_said_to_hit_more_or_less_than_an_exact_lru() {
    let said: Vec<String> = sentences(&run()).iter().map(ToString::to_string).collect();
    let has = |text: &str| said.iter().any(|said| said == text);
    assert!(
        has(
            "hits: at 10 % (1 MiB) of the working set small: hits 45.0 %, more than an exact LRU with 40.0 %; the optimal \
             choice has 50.0 %"
        ),
        "{said:#?}"
    );
    assert!(!said.iter().any(|said| said.starts_with("hits") && said.contains("large:")));
    assert!(has("capacity: large: could hold 4 MiB where 5 MiB were asked"), "{said:#?}");
}

#[test]
fn no_lru_is_praised_for_hitting_more_often_than_an_exact_one() {
    let said = |change: &dyn Fn(&mut Run)| -> String {
        let mut run = run();
        change(&mut run);
        let said: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
        let of_small = |said: &&String| said.starts_with("hits") && said.contains("small:");
        said.iter().find(of_small).expect("5 points above").clone()
    };
    let is = |run: &mut Run, name: &str, value: &str| {
        run.targets[0].settings.insert(name.into(), value.into());
    };
    for (text, words) in [
        (said(&|run| is(run, "policy", "tinylfu")), "more than an exact LRU with 40.0 %"),
        (said(&|run| is(run, "policy", "lru")), "more than an LRU of that capacity can"),
        (
            said(&|run| {
                is(run, "policy", "lru");
                run.cells[0].workers = 2;
            }),
            "an exact LRU has 40.0 % where the operations take turns",
        ),
        (
            said(&|run| is(run, "maxmemory-policy", "allkeys-lru")),
            "its LRU is approximate, an exact LRU has 40.0 %",
        ),
        (said(&|run| is(run, "maxmemory-policy", "allkeys-lfu")), "more than an exact LRU"),
        (
            said(&|run| {
                run.cells[0].held_bytes_peak = Some(2 << 20);
                run.cells[0].held_items_peak = Some(1000);
            }),
            "hits 45.0 %, but held up to 2 MiB, 100 % above that: an exact LRU that keeps to the capacity hits 40.0 %, and",
        ),
        (
            // A new entry is there before an old entry goes.
            said(&|run| {
                run.cells[0].held_bytes_peak = Some((1 << 20) + (1 << 18));
                run.cells[0].held_items_peak = Some(4);
            }),
            "more than an exact LRU with 40.0 %",
        ),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn the_tables_have_targets_and_models_and_why_a_ratio_is_missing() {
    for (format, rows) in [
        (
            Format::MARKDOWN,
            [
                "| small: | 45.0 % | 70.2 % |",
                "| large: | – | 70.0 % |",
                "| *exact LRU* | 40.0 % | 70.0 % |",
                "| *optimal choice* | 50.0 % | 80.0 % |\n\n- large: at 10 % (1 MiB): cannot be as small\n\n",
            ],
        ),
        (
            Format::TABLE,
            ["45.0 %", "large: at 10 % (1 MiB): cannot be as small", "exact LRU", "80.0 %"],
        ),
        (
            Format::HTML,
            [
                "id=\"hits\"",
                "<li>large: at 10 % (1 MiB): cannot be as small</li>",
                "<em>exact LRU</em>",
                "80.0 %",
            ],
        ),
    ] {
        let text = render(&run(), format, PLAIN);
        for row in rows {
            assert!(text.contains(row), "{row}\n{text}");
        }
    }
    let none = Run { hit_curves: Vec::new(), ..run() };
    assert!(!render(&none, Format::TABLE, PLAIN).contains("exact LRU"));
}

#[test]
fn the_tables_of_a_sweep_stand_one_below_the_other() {
    let one = run();
    let (mut swept, mut cells) = (run(), Vec::new());
    swept.hit_curves.clear();
    for threads in [1, 2] {
        let at = |mut point: Point| {
            point.insert("threads".into(), PointValue::Number(threads));
            point
        };
        let here =
            one.cells.iter().map(|cell| Cell { point: at(cell.point.clone()), ..cell.clone() });
        cells.extend(here);
        let curve = one.hit_curves[0].clone();
        swept.hit_curves.push(HitCurve { point: at(Point::new()), ..curve });
    }
    swept.cells = cells;
    let text = render(&swept, Format::TABLE, PLAIN);
    let tables = section(&text, "\nHit ratio by capacity", "  Both models saw");
    insta::assert_snapshot!(tables, @"
    Hit ratio by capacity
      threads 1
                      10 % (1 MiB)  50 % (5 MiB)
      small:                45.0 %        70.2 %
      large:                     –        70.0 %
      exact LRU             40.0 %        70.0 %
      optimal choice        50.0 %        80.0 %
        large: at 10 % (1 MiB): cannot be as small
      threads 2
                      10 % (1 MiB)  50 % (5 MiB)
      small:                45.0 %        70.2 %
      large:                     –        70.0 %
      exact LRU             40.0 %        70.0 %
      optimal choice        50.0 %        80.0 %
        large: at 10 % (1 MiB): cannot be as small
    ");
}

#[test]
fn the_curve_has_a_line_for_each_target_and_one_for_each_model() {
    let charts = charts(&run());
    let chart = charts.iter().find(|chart| chart.family == Family::HitRatio).unwrap();
    let lines: Vec<_> =
        chart.series.iter().map(|line| (line.name.as_str(), line.target, line.y.clone())).collect();
    assert_eq!(
        lines,
        [
            ("small:", Some(0), vec![Some(0.45), Some(0.702)]),
            ("large:", Some(1), vec![None, Some(0.7)]),
            ("exact LRU", None, vec![Some(0.4), Some(0.7)]),
            ("optimal choice", None, vec![Some(0.5), Some(0.8)]),
        ]
    );
    assert_eq!(chart.absent[0].at, ["10 % (1 MiB)"]);
    let picture = svg(chart, Ground::White);
    for name in ["exact LRU", "optimal choice", "stroke-dasharray=\"8 4\""] {
        assert!(picture.contains(name), "{name}: {picture}");
    }
}

/// The headline of a run's page, without its tags.
fn headline(run: &Run) -> String {
    let page = render(run, Format::HTML, PLAIN);
    let (_, text) = page.split_once("aria-label=\"In short\">").expect("a headline");
    let (text, _) = text.split_once("</p>").expect("a paragraph");
    text.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

#[test]
fn the_headline_praises_no_hits_of_more_room_than_was_asked_for() {
    let mut run = run();
    assert!(
        headline(&run)
            .contains("ost hits: small: at 1 MiB (45.0 %, of 1) and 5 MiB (70.2 %, of 2)")
    );
    // The entries fit, and the memory for them does not.
    run.cells[2].held_bytes_peak = Some(4 << 20);
    run.cells[2].allocated_bytes_peak = Some(7 << 20);
    let said = headline(&run);
    let expected = "small: at 1 MiB (45.0 %, of 1); large: at 5 MiB (70.0 %, of 1); not counting small: at 5 MiB, \
                    where more was held";
    assert!(said.contains(expected), "{said}");
    let all: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
    let page = render(&run, Format::HTML, PLAIN);
    let bold = |ratio: &str| page.contains(&format!("<td class=\"number leads\">{ratio}"));
    assert!(bold("70.0 %") && !bold("70.2 %"), "{all:#?}");
    run.cells[0].held_bytes_peak = Some(2 << 20);
    let farthest: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
    assert!(farthest.iter().any(|said| said.contains("but held up to 2 MiB, 100 % above that")));
    run.cells[3].held_bytes_peak = Some(9 << 20);
    assert!(
        headline(&run)
            .contains("o target kept to its capacity: small: at 1 MiB and 5 MiB and large: at")
    );
}

#[test]
fn the_table_is_in_the_order_of_the_hits() {
    let mut run = run();
    run.cells[3].counts = Counts { ops: 1000, hits: 750, misses: 250, ..Counts::default() };
    for format in [Format::TABLE, Format::MARKDOWN, Format::HTML] {
        let text = render(&run, format, PLAIN);
        let table = &text[text.find("Hit ratio by capacity").unwrap()..];
        let table = table.rsplit_once("exact LRU").unwrap().0;
        let place = |ratio: &str| table.find(ratio).unwrap_or_else(|| panic!("{ratio}: {table}"));
        assert!(place("75.0 %") < place("70.2 %"), "{table}");
    }
}
