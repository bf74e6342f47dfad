//! A reader at the charts, with a pointer or with keys alone, and the answers of the charts.

use larder_report::{Cell, Latency, Operation, Point, Run, figures};
use serde::Deserialize;

use crate::Case;
use crate::made_up::doubtful::too_few_rounds;
use crate::made_up::runs::{one_point, sweep};
use crate::page::{Key, Page, View};
use crate::probes::PAINT;

pub(crate) const CASES: &[Case] = &[
    ("a_target_is_hidden_and_shown_again_in_all_charts", a_target_is_hidden_and_shown_again),
    ("keys_alone_hide_and_show_a_target", keys_alone_hide_and_show_a_target),
    ("one_target_alone_is_shown_at_a_press", one_target_alone_is_shown_at_a_press),
    ("an_axis_is_switched_from_logarithmic_to_linear", an_axis_is_switched),
    ("figures_are_shown_as_a_share_of_the_best", figures_are_shown_as_a_share_of_the_best),
    ("keys_read_out_every_figure_of_the_run", keys_read_out_every_figure_of_the_run),
    ("the_percentile_that_is_chosen_is_shown", the_percentile_that_is_chosen_is_shown),
    ("the_figures_beside_a_curve_are_those_of_its_point", figures_beside_a_curve_are_of_its_point),
    ("a_pointer_is_told_the_figures_beneath_it", a_pointer_is_told_the_figures_beneath_it),
    ("bars_are_told_like_lines", bars_are_told_like_lines),
    ("spans_have_a_row_for_each_percentile", spans_have_a_row_each),
    ("one_switch_drives_all_charts", one_switch_drives_all_charts),
    ("a_sweep_over_two_coordinates_follows_the_point", a_sweep_over_two_coordinates_follows),
    ("a_scale_of_its_own_is_no_surprise", a_scale_of_its_own_is_no_surprise),
    ("every_family_of_charts_is_drawn_by_day_and_by_night", every_family_is_drawn),
];

/// The pixels of a target in a picture.
#[derive(Debug, Deserialize)]
struct Paint {
    count: usize,
    height: f64,
}

fn paint(page: &Page, panel: &str, target: usize) -> Paint {
    page.value(&format!("({PAINT})({panel:?}, {target})"))
}

/// Clicks the first element of a selector.
fn click(page: &Page, selector: &str) {
    page.run(&format!("document.querySelector({selector:?}).click()"));
    page.settle();
}

/// Chooses a value of a switch in a panel.
fn switch(page: &Page, panel: &str, name: &str, value: &str) {
    click(page, &format!("#charts-{panel} [data-switch='{name}'][value='{value}']"));
}

/// Chooses a value for all charts at once, by a button or from a list.
fn choose(page: &Page, name: &str, value: &str) {
    page.run(&format!(
        "(() => {{ const bar = document.querySelector('.controls'); \
           const all = [...bar.querySelectorAll(\"[data-switch='{name}'], [data-switch='{name}'] option\")]; \
           const text = (it) => it.nextElementSibling?.textContent ?? it.textContent; \
           const one = all.find((it) => it.localName === 'option' ? it.textContent === {value:?} : it.type === 'radio' && text(it) === {value:?}); \
           if (one.localName === 'input') one.click(); \
           else {{ one.selected = true; one.closest('select').dispatchEvent(new Event('change', {{ bubbles: true }})); }} }})()"
    ));
    page.settle();
}

/// Chooses from a list in a panel.
fn select(page: &Page, panel: &str, name: &str, value: &str) {
    let list = format!("document.querySelector(\"#charts-{panel} select[data-switch='{name}']\")");
    page.run(&format!(
        "({list}.value = {value:?}, {list}.dispatchEvent(new Event('change', {{ bubbles: true }})))"
    ));
    page.settle();
}

/// Presses a key in the picture of a panel, and returns the text that is read out.
fn read_out(page: &Page, panel: &str, key: Key) -> String {
    page.run(&format!("document.querySelector('#charts-{panel} .plot').focus()"));
    page.press(key);
    page.value(&format!("document.querySelector('#charts-{panel} .readout').textContent"))
}

/// The cells of an operation, in a list for each point in the order of the sweep.
fn by_point(run: &Run, operation: Operation) -> Vec<Vec<&Cell>> {
    let cells: Vec<&Cell> = run.cells.iter().filter(|it| it.operation == operation).collect();
    let mut points: Vec<&Point> = cells.iter().map(|cell| &cell.point).collect();
    points.dedup();
    let at = |point: &Point| cells.iter().copied().filter(|cell| cell.point == *point).collect();
    points.into_iter().map(at).collect()
}

/// The words of a chart about a cell: its target and its rate.
fn rate_of(run: &Run, cell: &Cell) -> String {
    let target = run.target(&cell.target).expect("a target of the run");
    format!("{} {}", target.name, figures::rate(cell.ops_per_s.expect("a rate")))
}

#[expect(clippy::cast_precision_loss, reason = "no such time has so many digits")]
fn time(ns: u64) -> String {
    figures::nanoseconds(ns as f64)
}

fn a_target_is_hidden_and_shown_again() {
    let page = Page::drawn(&sweep(), View::DESK);
    let pressed = |page: &Page| -> String {
        page.value("document.querySelector('.legend [data-target=\"1\"]').ariaPressed")
    };
    assert_eq!(pressed(&page), "true");
    assert!(read_out(&page, "rate", Key::HOME).contains("lmdb:"));
    for panel in ["rate", "latency", "percentiles"] {
        assert!(paint(&page, panel, 1).count > 50, "{panel}");
    }
    click(&page, ".legend [data-target='1']");
    assert_eq!(pressed(&page), "false");
    assert!(!read_out(&page, "rate", Key::HOME).contains("lmdb:"));
    for panel in ["rate", "latency", "percentiles"] {
        assert_eq!(paint(&page, panel, 1).count, 0, "{panel}");
        assert!(paint(&page, panel, 0).count > 50, "{panel}");
    }
    click(&page, ".legend [data-target='1']");
    assert_eq!(pressed(&page), "true");
    assert!(paint(&page, "rate", 1).count > 50);
}

fn keys_alone_hide_and_show_a_target() {
    let page = Page::drawn(&sweep(), View::DESK);
    for _ in 0..100 {
        page.press(Key::TAB);
        if page.value::<bool>("document.activeElement.matches('.legend [data-target=\"2\"]')") {
            break;
        }
    }
    for (key, shown) in
        [(Key::ENTER, false), (Key::SPACE, true), (Key::SPACE, false), (Key::ENTER, true)]
    {
        page.press(key);
        page.settle();
        let pressed: String = page.value("document.activeElement.ariaPressed");
        assert_eq!(pressed, shown.to_string(), "after {key:?}");
        assert_eq!(paint(&page, "rate", 2).count > 50, shown, "after {key:?}");
    }
}

fn one_target_alone_is_shown_at_a_press() {
    let page = Page::drawn(&sweep(), View::DESK);
    let shown =
        |page: &Page| (0..5).filter(|target| paint(page, "rate", *target).count > 50).count();
    assert_eq!(shown(&page), 5);
    click(&page, ".legend [data-only='3']");
    assert_eq!(shown(&page), 1);
    assert!(paint(&page, "rate", 3).count > 50);
    click(&page, ".legend .everything");
    assert_eq!(shown(&page), 5);
}

fn an_axis_is_switched() {
    let page = Page::drawn(&sweep(), View::DESK);
    let memcached = 4;
    switch(&page, "rate", "y axis", "linear");
    let linear = paint(&page, "rate", memcached).height;
    switch(&page, "rate", "y axis", "log");
    let log = paint(&page, "rate", memcached).height;
    // On a linear axis up to millions, a rate of some ten thousands lies at the bottom.
    assert!(log < linear - 50.0, "{log} {linear}");
    switch(&page, "rate", "y axis", "linear");
    assert!((paint(&page, "rate", memcached).height - linear).abs() < 0.5);
}

fn figures_are_shown_as_a_share_of_the_best() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    switch(&page, "rate", "figures", "relative");
    let said = read_out(&page, "rate", Key::HOME);
    let cells = &by_point(&run, Operation::Set)[0];
    let rates: Vec<f64> = cells.iter().filter_map(|cell| cell.ops_per_s).collect();
    for (cell, rate) in cells.iter().zip(&rates) {
        let name = &run.target(&cell.target).expect("a target of the run").name;
        let share = format!("{name} {}", figures::share(rate / rates[0]));
        assert!(said.contains(&share), "{share} is not in: {said}");
    }
    // Without the best target, the next target is the best.
    click(&page, ".legend [data-target='0']");
    assert!(read_out(&page, "rate", Key::HOME).contains("lmdb: 1.00×"));
}

fn keys_read_out_every_figure_of_the_run() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    for operation in [Operation::Set, Operation::Get] {
        choose(&page, "operation", operation.as_str());
        let points = by_point(&run, operation);
        for (number, cells) in points.iter().enumerate() {
            let said = read_out(&page, "rate", if number == 0 { Key::HOME } else { Key::RIGHT });
            for cell in cells {
                let figure = rate_of(&run, cell);
                assert!(said.contains(&figure), "{operation} {number}: {figure} is not in: {said}");
            }
        }
        let last = read_out(&page, "rate", Key::RIGHT);
        assert_eq!(read_out(&page, "rate", Key::END), last, "beyond the end is the end");
    }
}

fn the_percentile_that_is_chosen_is_shown() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    for (name, figure) in
        [("p50", (|latency| latency.p50) as fn(&Latency) -> u64), ("p99", |latency| latency.p99)]
    {
        select(&page, "latency", "percentile", name);
        let said = read_out(&page, "latency", Key::END);
        let points = by_point(&run, Operation::Set);
        for cell in points.last().expect("a point") {
            let figure = figure(cell.latency_ns.as_ref().expect("latencies"));
            let target = &run.target(&cell.target).expect("a target of the run").name;
            let figure = format!("{target} {}", time(figure));
            assert!(said.contains(&figure), "{name}: {figure} is not in: {said}");
        }
    }
}

fn figures_beside_a_curve_are_of_its_point() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    choose(&page, "operation", "get");
    choose(&page, "point", "16 KiB");
    let beside: String =
        page.value("document.querySelector('#charts-percentiles .beside').innerText");
    for cell in &by_point(&run, Operation::Get)[2] {
        let latency = cell.latency_ns.as_ref().expect("latencies");
        for ns in [latency.min, latency.p50, latency.p999, latency.max] {
            let figure = time(ns);
            assert!(beside.contains(&figure), "{}: {figure} is not in: {beside}", cell.target);
        }
    }
}

fn a_pointer_is_told_the_figures_beneath_it() {
    let run = sweep();
    let page = Page::drawn(&run, View::DESK);
    let plot = "document.querySelector('#charts-rate .plot')";
    page.run(&format!("{plot}.scrollIntoView({{ block: 'center', behavior: 'instant' }})"));
    let [left, top, width, height]: [f64; 4] = page.value(&format!(
        "(({{ left, top, width, height }}) => [left, top, width, height])({plot}.querySelector('.u-over').getBoundingClientRect())"
    ));
    let tooltip = format!("{plot}.querySelector('.tooltip')");
    for (part, cells) in [(0.02, 0), (0.5, 2), (0.98, 4)] {
        page.point_at(left + width * part, top + height / 2.0);
        page.until(&format!("{tooltip}.checkVisibility()"));
        let said: String = page.value(&format!("{tooltip}.innerText"));
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        for cell in &by_point(&run, Operation::Set)[cells] {
            let figure = rate_of(&run, cell);
            assert!(said.contains(&figure), "at {part}: {figure} is not in: {said}");
        }
    }
    page.point_at(left + width / 2.0, top - 200.0);
    page.until(&format!("!{tooltip}.checkVisibility()"));
}

fn bars_are_told_like_lines() {
    let run = one_point();
    let page = Page::drawn(&run, View::DESK);
    let cells = &by_point(&run, Operation::Set)[0];
    let mut said = read_out(&page, "rate", Key::HOME);
    for _ in cells {
        said += &read_out(&page, "rate", Key::DOWN);
    }
    for cell in cells {
        let figure = rate_of(&run, cell);
        assert!(said.contains(&figure), "{figure} is not in: {said}");
    }
    let bars = "document.querySelectorAll('#charts-rate .bar-row:not(.scale)').length";
    assert_eq!(page.value::<usize>(bars), cells.len());
    click(&page, ".legend [data-target='0']");
    assert_eq!(page.value::<usize>(bars), cells.len() - 1);
}

fn spans_have_a_row_each() {
    let run = one_point();
    let page = Page::drawn(&run, View::DESK);
    let cells = &by_point(&run, Operation::Set)[0];
    let rows = "document.querySelectorAll('#charts-spread .bar-row.span').length";
    assert_eq!(page.value::<usize>(rows), 4 * cells.len());
    let lines = "document.querySelectorAll('#charts-spread line.span.whisker').length";
    assert_eq!(page.value::<usize>(lines), 4 * cells.len());
    let texts: String = page.value("document.querySelector('#charts-spread .bars').innerText");
    for cell in cells {
        let (least, to) = (cell.latency_ns.expect("it has figures").min, cell.latency_to[3]);
        #[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
        let figures = [least as f64, to.mean, to.max as f64].map(figures::nanoseconds);
        let text = format!("all: {}", figures.join(" – "));
        assert!(texts.contains(&text), "{text} is not in: {texts}");
    }
}

/// The titles of all charts, in the order of the page.
fn titles(page: &Page) -> Vec<String> {
    page.value("[...document.querySelectorAll('.panel .title')].map((it) => it.textContent)")
}

fn one_switch_drives_all_charts() {
    let page = Page::drawn(&sweep(), View::DESK);
    for (operation, point) in [("set", "1 KiB"), ("get", "16 KiB"), ("get", "256 KiB")] {
        choose(&page, "operation", operation);
        choose(&page, "point", point);
        let titles = titles(&page);
        assert_eq!(titles.len(), 6);
        for title in &titles {
            assert!(title.starts_with(operation), "{operation}, {point}: {title}");
        }
        // The first charts, of rates and latencies, cover the sweep; the others are at one point.
        for title in &titles[2..] {
            assert!(title.contains(&format!(", {point}:")), "{operation}, {point}: {title}");
        }
    }
    for scale in ["linear", "log"] {
        choose(&page, "scale", scale);
        let seen = format!(
            "[...document.querySelectorAll('[data-switch=\"y axis\"][value={scale}]:not(:disabled)')].map((it) => it.checked)"
        );
        let scales: Vec<bool> = page.value(&seen);
        assert!(scales.len() > 2 && scales.iter().all(|is| *is), "{scale}: {scales:?}");
    }
    // The keys alone do the same.
    page.run("document.querySelector('.controls [data-switch=operation]:checked').focus()");
    page.press(Key::RIGHT);
    page.settle();
    let titles = titles(&page);
    assert!(titles.iter().all(|title| title.starts_with("set")), "{titles:?}");
}

fn a_sweep_over_two_coordinates_follows() {
    let page = Page::drawn(&too_few_rounds(), View::DESK);
    for (point, rates) in [
        ("data_size 1 KiB, threads 1", "set, threads 1"),
        ("data_size 100 B, threads 2", "set, threads 2"),
    ] {
        choose(&page, "point", point);
        let titles = titles(&page);
        assert!(titles[0].starts_with(&format!("{rates}:")), "{point}: {titles:?}");
        let of_point = titles.iter().filter(|title| title.contains(&format!("set, {point}:")));
        assert!(of_point.count() > 2, "{point}: {titles:?}");
    }
}

fn a_scale_of_its_own_is_no_surprise() {
    let page = Page::drawn(&sweep(), View::DESK);
    let checked = "document.querySelectorAll('.controls [data-switch=scale]:checked').length";
    assert_eq!(page.value::<usize>(checked), 1);
    choose(&page, "scale", "log");
    switch(&page, "rate", "y axis", "linear");
    assert_eq!(page.value::<usize>(checked), 0, "not all charts have one scale");
    let latency =
        "document.querySelector('#charts-latency [data-switch=\"y axis\"]:checked').value";
    assert_eq!(page.value::<String>(latency), "log");
    choose(&page, "operation", "get");
    let rate = "document.querySelector('#charts-rate [data-switch=\"y axis\"]:checked').value";
    assert_eq!(page.value::<String>(rate), "linear");
}

fn every_family_is_drawn() {
    for dark in [false, true] {
        let page = Page::drawn(&sweep(), View { dark, ..View::DESK });
        let families: Vec<String> =
            page.value("[...document.querySelectorAll('.panel')].map((it) => it.dataset.family)");
        assert_eq!(families, ["rate", "latency", "spread", "percentiles", "timeline", "resources"]);
        for family in &families {
            let drawn = format!("'#charts-{family} .plot :is(canvas, rect, path)'");
            let marks: usize = page.value(&format!("document.querySelectorAll({drawn}).length"));
            assert!(marks > 0, "{family}");
        }
        // A picture of lines has the colours of its mode.
        assert!(paint(&page, "rate", 0).count > 50, "dark: {dark}");
        page.prefer(!dark);
        page.settle();
        assert!(paint(&page, "rate", 0).count > 50, "dark: {}", !dark);
    }
}
