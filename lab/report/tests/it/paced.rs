//! The open loop in a report: targets that keep up, the ranked figure, throughput against latency, and the result of a
//! search.

use larder_report::{
    Format, Latency, Operation, Paced, Point, PointValue, Run, Scale, Search, Unit, charts, groups,
    is_chart_id, render, sentences, svg,
};

use super::small::{PLAIN, cell, gets, tied};

/// Two targets at 10,000 a second and at 20,000, which is too fast for one of them.
fn paced() -> Run {
    let mut run = gets(&[]);
    for name in ["a", "b"] {
        run.targets.push(super::small::target(name));
    }
    for (name, offered, reached, p99) in [
        ("a", 10_000.0, 10_000.0, 300_000),
        ("b", 10_000.0, 10_000.0, 200_000),
        ("a", 20_000.0, 20_000.0, 900_000),
        ("b", 20_000.0, 12_500.0, 700_000_000),
    ] {
        let mut cell = cell(name, Operation::Get, Some(reached));
        cell.point = point(offered);
        cell.latency_ns = cell.latency_ns.map(|latency| Latency { p99, ..latency });
        cell.paced = Some(Paced {
            offered_per_s: offered,
            service_ns: cell.latency_ns.map(|latency| Latency { p99: 90_000, ..latency }),
            not_started: if reached < offered { 7500 } else { 0 },
            ..Paced::default()
        });
        run.cells.push(cell);
    }
    run
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole rate")]
fn point(rate: f64) -> Point {
    Point::from([("rate".into(), PointValue::Number(rate as u64))])
}

#[test]
fn targets_that_all_keep_up_are_ranked_by_their_p99() {
    let run = paced();
    let order: Vec<Vec<&str>> =
        groups(&run).iter().map(|group| group.ranked().map(|row| row.name).collect()).collect();
    assert_eq!(order, [["b", "a"], ["a", "b"]]);
    let said: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
    for text in [
        "get, 10000: all kept up with 10.0 k/s, so not the rates but the p99 of the response time ranks them",
        "get, 20000: a kept up with 20.0 k/s",
        "get, 20000: b did not keep up: 12.5 k/s of 20.0 k/s were done (62.5 %), 7500 operations had not begun when the \
         time was over; its response time grows for as long as a round lasts",
    ] {
        assert!(said.iter().any(|said| said == text), "{text}: {said:#?}");
    }
}

#[test]
fn the_page_draws_and_tables_the_figure_that_ranks() {
    let run = paced();
    let page = render(&run, Format::HTML, PLAIN);
    for text in [
        "Figure: response p99, the median of the rounds.",
        "200 µs <small>1.00×</small>",
        "300 µs <small>0.67×</small>",
        ">offered</th>",
        ">vs best p99</th>",
        ">response time</th>",
        ">service p99.9</th>",
        "<td>10.0 k/s</td>",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let one = Run { cells: run.cells[..2].to_vec(), ..run.clone() };
    let page = render(&one, Format::HTML, PLAIN);
    assert!(
        page.contains("Length: response p99, the median of the rounds, the shorter the better.")
    );
    // The longer bar belongs to the longer latency.
    assert!(page.contains("width=\"66.67%\"") && page.contains("width=\"100.00%\""));
    // A closed loop has none of these texts.
    let page = render(&gets(&[("a", 1e6)]), Format::HTML, PLAIN);
    for text in ["response time", ">offered</th>", ">service p99.9</th>"] {
        assert!(!page.contains(text), "{text}");
    }
}

#[test]
fn no_picture_of_rates_has_the_ratios_of_their_p99() {
    let mut run = paced();
    run.comparisons = vec![larder_report::Comparison { point: point(10_000.0), ..tied("a", "b") }];
    let rates = |run: &Run| {
        charts(run).into_iter().find(|chart| chart.id == "rate-get").expect("a chart of rates")
    };
    let chart = rates(&run);
    assert!(chart.ratios.at.is_empty(), "{:?}", chart.ratios);
    assert!(chart.reading.contains("p99 of the response time"), "{}", chart.reading);
    for cell in &mut run.cells {
        cell.paced = None;
    }
    let chart = rates(&run);
    assert_eq!(chart.ratios.at, [10_000.0]);
    assert!(chart.reading.starts_with("More is better"), "{}", chart.reading);
}

#[test]
fn a_name_that_ends_in_a_colon_has_one() {
    let mut run = paced();
    run.cells.truncate(2);
    for (cell, queued) in run.cells.iter_mut().zip([5000, 0]) {
        cell.target.push(':');
        cell.latency_ns = cell.latency_ns.map(|latency| Latency { p999: 9_000_000, ..latency });
        if let Some(paced) = &mut cell.paced {
            paced.queued = queued;
        }
    }
    run.targets = vec![super::small::target("a:"), super::small::target("b:")];
    let said: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
    for (name, why) in [
        ("a:", "5000 of 10000 operations waited behind others"),
        ("b:", "threads of the client woke late"),
    ] {
        let begins = format!("get: {name} p99.9 is 9.00 ms from the intended start and ");
        let ends =
            format!(" from the actual start, because {why}; a closed loop shows only the second");
        let is_there = |said: &String| said.starts_with(&begins) && said.ends_with(&ends);
        assert!(said.iter().any(is_there), "{name}: {said:#?}");
    }
}

#[test]
fn sentences_on_two_paced_targets_are_about_their_p99() {
    let mut run = paced();
    run.cells.truncate(2);
    run.comparisons = vec![larder_report::Comparison { point: point(10_000.0), ..tied("a", "b") }];
    for cell in &mut run.cells {
        cell.rounds = 10;
    }
    let said: Vec<String> = sentences(&run).iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.contains("by response p99, b and a cannot")), "{said:#?}");
    assert!(said.iter().any(|said| said.contains("their response p99 differ by")), "{said:#?}");
}

#[test]
fn a_sweep_of_rates_is_drawn_as_latency_against_the_reached_rate() {
    let run = paced();
    let all = charts(&run);
    let chart = all.iter().find(|chart| chart.id == "throughput-get").expect("a chart");
    assert!(is_chart_id(&chart.id));
    assert_eq!((chart.x.unit, chart.y.scale), (Unit::Rate, Scale::Log));
    let [a, b] = &chart.series[..] else { panic!("{:#?}", chart.series) };
    assert_eq!((&*a.name, &*a.x, &*a.y), ("a", &[1e4, 2e4][..], &[Some(3e5), Some(9e5)][..]));
    assert_eq!((&*b.name, &*b.x, &*b.y), ("b", &[1e4, 1.25e4][..], &[Some(2e5), Some(7e8)][..]));
    assert!(svg(chart, larder_report::Ground::White).contains("p99 of the response time"));
    // A closed loop has no such chart.
    assert!(charts(&gets(&[("a", 1e6)])).iter().all(|chart| !chart.id.starts_with("throughput")));
}

#[test]
fn the_highest_rates_within_a_bound_stand_in_every_report() {
    let mut run = gets(&[("a", 1e5), ("b", 2e5)]);
    let search = |target: &str, rate: Option<f64>| Search {
        target: target.into(),
        point: Point::new(),
        operations: vec![Operation::Get],
        quantile: 0.99,
        bound_ns: 1_000_000,
        rates: rate.into_iter().collect(),
        rate,
        rate_ci95: rate.map(|rate| [rate * 0.9, rate * 1.1]),
        steps: Vec::new(),
        reason: rate.is_none().then(|| "p99 was longer".to_owned()),
        reason_kind: None,
    };
    run.searches = vec![search("a", None), search("b", Some(41_000.0))];
    let markdown = render(&run, Format::MARKDOWN, PLAIN);
    let lines = "- **get, p99 ≤ 1.00 ms**: b: 41.0 k/s [36.9–45.1]\n- **get, p99 ≤ 1.00 ms**: a: none: p99 was longer";
    assert!(markdown.contains(lines), "{markdown}");
    assert!(render(&run, Format::TABLE, PLAIN).contains("b: 41.0 k/s [36.9–45.1]"));
    assert!(render(&run, Format::HTML, PLAIN).contains("<h3 id=\"searches\">"));
}
