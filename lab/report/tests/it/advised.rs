//! The page of an advice: it begins with the answer, and the curve of all candidates has the chosen one marked.

use larder_report::{
    Advised, AdvisedChoice, AdvisedPoint, Family, Format, Ground, HitRatios, Run, charts, render,
    svg,
};

use crate::small::{PLAIN, gets};

const MIB: u64 = 1 << 20;

/// A run of two caches, which an advice was made of. A third one did not go on from the first look.
fn run(choice: Option<(&str, u64)>) -> Run {
    let point = |(target, size, hit_ratio): (&str, u64, f64)| AdvisedPoint {
        target: target.into(),
        capacity_bytes: size * MIB,
        hit_ratio,
    };
    let points = [
        ("near:", 1, 0.5),
        ("near:", 2, 0.6),
        ("slow:", 1, 0.55),
        ("slow:", 2, 0.61),
        ("far:", 1, 0.4),
    ];
    let model = |size| HitRatios { capacity_bytes: size * MIB, lru: 0.5, optimal: 0.7 };
    let choice = choice
        .map(|(target, size)| AdvisedChoice { target: target.into(), capacity_bytes: size * MIB });
    Run {
        advice: vec!["Take near: with 2.00 MiB.".into(), "More room gains nothing.".into()],
        advised: Some(Advised {
            question: "Which cache for web12?".into(),
            answer: "Take near: 2.00 MiB: 60 % hits".into(),
            choice,
            points: points.map(point).into(),
            models: [1, 2].map(model).into(),
        }),
        ..gets(&[("near:", 1e6), ("slow:", 5e5)])
    }
}

#[test]
fn the_page_asks_and_answers_before_everything_else() {
    let page = render(&run(Some(("near:", 2))), Format::HTML, PLAIN);
    assert!(page.contains("<title>Which cache for web12?</title>"));
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let order = [
        "<h1>Which cache for web12?</h1>",
        "<p class=\"answered\">Take near: 2.00 MiB: 60 % hits</p>",
        "aria-label=\"Targets\"",
        "<h2>The advice</h2>",
        "data-family=\"hit_ratio\"",
        "<li>Take near: with 2.00 MiB.</li>",
        "<section id=\"answer\">",
    ]
    .map(place);
    assert!(order.is_sorted(), "{order:?}");
    for format in [Format::TABLE, Format::MARKDOWN] {
        let text = render(&run(None), format, PLAIN);
        let [answer, ran] =
            ["Take near: 2.00 MiB: 60 % hits", "scenario small"].map(|it| text.find(it));
        assert!(answer.is_some() && answer < ran, "{text}");
    }
}

#[test]
fn the_curve_has_every_size_and_the_chosen_point_is_marked() {
    let of = |choice| {
        let run = run(choice);
        let mut charts = charts(&run).into_iter();
        charts.find(|chart| chart.family == Family::HitRatio).expect("a curve")
    };
    let chart = of(Some(("near:", 2)));
    let lines: Vec<(&str, usize)> =
        chart.series.iter().map(|line| (line.name.as_str(), line.y.len())).collect();
    assert_eq!(lines, [("near:", 2), ("slow:", 2), ("exact LRU", 2), ("optimal choice", 2)]);
    let chosen = chart.chosen.as_ref().expect("a mark");
    assert_eq!((chosen.target, chosen.y), (0, 0.6));
    assert!(svg(&chart, Ground::White).contains(">the advice</text>"));
    assert!(!svg(&of(None), Ground::White).contains("the advice"));
}

#[test]
fn a_run_without_an_advice_has_none_of_it() {
    let without = Run { advice: Vec::new(), advised: None, ..run(None) };
    let page = render(&without, Format::HTML, PLAIN);
    assert!(!page.contains("class=\"answered\"") && !page.contains("<h2>The advice</h2>"));
    let json = render(&without, Format::JSON, PLAIN);
    assert!(!json.contains("advised"));
}
