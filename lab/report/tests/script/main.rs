//! The script of the page against the code: both write the same figures and the same CSV. Without Node.js each trial
//! shows as ignored with the package that brings it.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use larder_report::{Comers, Driven, Run, Spread, figures, samples_csv};
use larder_testkit::{Random, trial_where};
use libtest_mimic::Arguments;
use serde_json::{Value, json};

/// The tested parts: files of the page's script.
const SCRIPT: &str = concat!(
    include_str!("../../src/html/js/format.js"),
    include_str!("../../src/html/js/samples.js"),
    include_str!("../../src/html/js/relative.js"),
    include_str!("../../src/html/js/bars.js")
);

fn main() -> ExitCode {
    let trials = vec![
        trial_where(installed, "the_page_writes_each_figure_as_the_reports_do", figures_agree),
        trial_where(installed, "the_page_writes_intervals_as_the_reports_do", intervals_agree),
        trial_where(installed, "the_page_makes_the_samples_that_the_folder_has", samples_agree),
        trial_where(
            installed,
            "a_ratio_has_the_interval_of_its_comparison_or_none",
            ratios_have_their_own,
        ),
        trial_where(installed, "without_a_best_above_0_there_is_no_ratio", no_ratio_to_nothing),
        trial_where(
            installed,
            "a_bar_names_its_parts_and_says_which_it_lacks",
            bars_name_their_parts,
        ),
        trial_where(installed, "a_part_of_0_is_not_drawn", nothing_is_drawn_of_nothing),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn installed() -> Result<(), String> {
    let answer = Command::new("node").arg("--version").output();
    answer.map(drop).map_err(|_| "node is not installed: apt-get install nodejs".to_owned())
}

/// The value that a function body in the page's script returns for this `input`.
fn returned(body: &str, input: &Value) -> Value {
    let program = format!(
        "\"use strict\";\n{SCRIPT}\nconst input = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n\
         console.log(JSON.stringify((() => {{ {body} }})()));"
    );
    let mut node = Command::new("node")
        .args(["-e", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("node starts");
    let mut stdin = node.stdin.take().expect("piped");
    stdin.write_all(input.to_string().as_bytes()).expect("node reads");
    drop(stdin);
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("node answers in JSON")
}

/// Numbers of every size, among them halves between two figures.
fn numbers() -> Vec<f64> {
    let mut numbers =
        vec![0.0, 0.5, 1.0, 1.125, 1.375, 2.5, 9.994, 9.995, 9.996, 59.94, 59.96, 999.4];
    numbers.extend([
        999.5,
        999.6,
        1023.0,
        1024.0,
        1023.5 * 1024.0,
        102_450.0,
        104_857_600.0,
        3599.6,
    ]);
    let mut random = Random::new(1);
    for exponent in -6..13 {
        for _ in 0..100 {
            let thousandths = f64::from(u32::try_from(random.below(10_000)).expect("it is small"));
            numbers.push(thousandths * 10_f64.powi(exponent - 3));
            // Eighths are exact, so some of them are exact halves.
            numbers.push(thousandths / 8.0 * 10_f64.powi(exponent.max(0)));
        }
    }
    numbers
}

fn figures_agree() {
    type Write = fn(f64) -> String;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "no size is negative"
    )]
    let bytes: Write = |value| figures::bytes(value.trunc() as u64);
    let writers: [(&str, Write); 7] = [
        ("rate", figures::rate),
        ("nanoseconds", figures::nanoseconds),
        ("seconds", figures::seconds),
        ("percent", |value| figures::percent(value / 1e3)),
        ("share", figures::share),
        ("ratio", figures::ratio),
        ("bytes", bytes),
    ];
    let numbers = numbers();
    let body = "const write = { rate, nanoseconds, seconds, percent: (v) => percent(v / 1e3), share, ratio, \
                bytes: (v) => bytes(Math.trunc(v)) }[input.name]; return input.numbers.map(write);";
    for (name, write) in writers {
        let written = returned(body, &json!({ "name": name, "numbers": numbers }));
        for (number, text) in numbers.iter().zip(written.as_array().expect("a list")) {
            assert_eq!(text.as_str(), Some(write(*number).as_str()), "{name} of {number}");
        }
    }
}

fn intervals_agree() {
    let mut cases = Vec::new();
    let mut expected = Vec::new();
    for number in numbers().into_iter().filter(|number| *number > 0.0) {
        let ci95 = [number * 0.875, number * 1.0625];
        cases.push(json!([number, ci95[0], ci95[1]]));
        expected.push([
            figures::rate_interval(number, ci95),
            figures::nanoseconds_interval(number, ci95),
        ]);
    }
    let body =
        "return input.map((c) => ['rate', 'nanoseconds'].map((unit) => withInterval(unit, ...c)));";
    let written = returned(body, &json!(cases));
    let written: Vec<[String; 2]> = serde_json::from_value(written).expect("a list of pairs");
    assert_eq!(written.len(), expected.len());
    for (written, expected) in written.iter().zip(&expected) {
        assert_eq!(written, expected);
    }
}

fn samples_agree() {
    let mut run =
        Run::from_json(include_str!("../fixture/run.json")).expect("the fixture is a run");
    // A text that CSV quotes, and a number that a script would write with an exponent.
    run.targets[0].name = "a \"quoted\", name\nin two lines".into();
    run.cells[0].samples[0].wall_s = 1.25e-7;
    run.cells[0].samples[1].client_cpu_s = Some(3e-10);
    let sample = &mut run.cells[0].samples[0];
    let answered_per_s = Spread { least: 12.5, median: 900.0, most: 950.0 };
    sample.driven =
        Some(Driven { starved: 3, outstanding_most: 200, answered_per_s, ..Driven::default() });
    sample.comers = Some(Comers { connect_ns: sample.latency_ns, failed: 2, ..Comers::default() });
    let csv = samples_csv(&run);
    let heads: Vec<&str> = csv.lines().next().expect("a line of heads").split(',').collect();
    let body = "return samplesCsv(input.run, input.heads);";
    let written = returned(body, &json!({ "run": run, "heads": heads }));
    assert_eq!(written.as_str(), Some(csv.as_str()));
}

/// A chart of rates of three targets at one point; the run compares the first two.
fn rates(rates: [f64; 3]) -> Value {
    json!({
        "manner": { "better": "more" }, "shape": "bars", "x": { "categories": ["a", "b", "c"] }, "y": { "unit": "rate" },
        "series": [{
            "target": null, "name": "rate", "withheld": null, "x": [0, 1, 2], "y": rates,
            "low": rates.map(|rate| rate * 0.9), "high": rates.map(|rate| rate * 1.1),
        }],
        "absent": [], "ratios": { "at": [0], "one": [0], "other": [1], "low": [1.6], "high": [2.5] }, "order": [0, 1, 2],
    })
}

fn ratios_have_their_own() {
    let body = "const { y, low, high } = relativeToBest(input.chart, (target) => target !== input.hidden).series[0]; \
                return [y, low, high];";
    // The best has no interval against itself, b has the inverted interval of the comparison, and c was not compared.
    let seen = returned(body, &json!({ "chart": rates([200.0, 100.0, 50.0]) }));
    assert_eq!(seen, json!([[1, 0.5, 0.25], [null, 0.4, null], [null, 0.625, null]]));
    let turned = returned(body, &json!({ "chart": rates([100.0, 200.0, 50.0]) }));
    assert_eq!(turned, json!([[0.5, 1, 0.25], [1.6, null, null], [2.5, null, null]]));
    // With another best, the interval is still that of the only comparison: the bounds of a rate are not those of a
    // ratio.
    let hidden = returned(body, &json!({ "chart": rates([200.0, 100.0, 50.0]), "hidden": 0 }));
    assert_eq!(hidden, json!([[2, 1, 0.5], [1.6, null, null], [2.5, null, null]]));
}

fn no_ratio_to_nothing() {
    let body = "const { series, absent } = relativeToBest(input.chart, () => true); \
                return [series[0].y, absent.map((one) => one.reason)];";
    let mut chart = rates([0.0, 4.0, 8.0]);
    chart["manner"]["better"] = json!("less");
    let reason = "no ratio where the best is 0";
    let zero = returned(body, &json!({ "chart": chart }));
    assert_eq!(zero, json!([[null, null, null], [reason, reason, reason]]));
    chart["series"][0]["withheld"] = json!("NEVER-HITS");
    let reason = "no result is shown for comparison";
    let withheld = returned(body, &json!({ "chart": chart }));
    assert_eq!(withheld, json!([[null, null, null], [reason, reason, reason]]));
}

fn bars_name_their_parts() {
    let part = |name: &str, x: [u32; 2], y: [u32; 2], len: usize| {
        json!({
            "target": null, "name": name, "colour": 0, "withheld": null,
            "x": x[..len], "y": y[..len], "low": [], "high": [],
        })
    };
    let chart = json!({
        "manner": { "has_spans": false },
        "x": { "categories": ["ours", "theirs"] }, "y": { "unit": "nanoseconds" }, "order": [1, 0],
        "series": [part("client", [0, 1], [2000, 1230], 2), part("server", [0, 0], [3000, 0], 1)],
        "absent": [{ "target": 1, "name": "theirs", "at": ["server"], "reason": "not known" }],
    });
    let body =
        "return rowsOf(input, () => true).map((row) => `${row.name} ${rowText(input, row)}`);";
    let said = returned(body, &chart);
    let expected =
        ["theirs client 1.23 µs; server: not known", "ours client 2.00 µs + server 3.00 µs"];
    assert_eq!(said, json!(expected));
    assert_eq!(json!(figures::nanoseconds(1230.0)), json!("1.23 µs"));
}

fn nothing_is_drawn_of_nothing() {
    // This maker of elements keeps them as objects for the test.
    let body = "globalThis.element = (name, attributes, ...inner) => ({ name, attributes, inner, append: (it) => inner.push(it) }); \
                const axis = { to: (value) => value, range: [0, 8], ticks: [] }; \
                const parts = input.map((value) => ({ value, withheld: null, low: null, high: null })); \
                const svg = barSvg({ parts }, { colour: 0, mark: '' }, axis, false); \
                return svg.inner.map(({ attributes }) => [attributes.x, attributes.width]);";
    let drawn = returned(body, &json!([2.0, 0.0, 4.0]));
    assert_eq!(drawn, json!([["0.000%", "25.000%"], ["25.000%", "50.000%"]]));
    assert_eq!(returned(body, &json!([0.0])), json!([]));
}
