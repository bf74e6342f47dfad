//! The script of the page against the code: both write every figure, and the same CSV. Without Node.js each trial shows as
//! ignored with the package that brings it.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use larder_report::{Run, figures, samples_csv};
use larder_testkit::{Random, trial_where};
use libtest_mimic::Arguments;
use serde_json::{Value, json};

/// What is tried: files of the script as the page has them.
const SCRIPT: &str = concat!(
    include_str!("../../src/html/js/format.js"),
    include_str!("../../src/html/js/samples.js")
);

fn main() -> ExitCode {
    let trials = vec![
        trial_where(installed, "the_page_writes_each_figure_as_the_reports_do", figures_agree),
        trial_where(installed, "the_page_writes_intervals_as_the_reports_do", intervals_agree),
        trial_where(installed, "the_page_makes_the_samples_that_the_folder_has", samples_agree),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn installed() -> Result<(), String> {
    let answer = Command::new("node").arg("--version").output();
    answer.map(drop).map_err(|_| "node is not installed: apt-get install nodejs".to_owned())
}

/// What the body of a function of the page returns, given `input`.
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

/// Numbers of every size, among them halves that lie between two figures.
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
            // Eighths are exact, so that a half is one.
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
    // What CSV quotes, and what a script would write with an exponent.
    run.targets[0].name = "a \"quoted\", name\nin two lines".into();
    run.cells[0].samples[0].wall_s = 1.25e-7;
    run.cells[0].samples[1].client_cpu_s = Some(3e-10);
    let csv = samples_csv(&run);
    let heads: Vec<&str> = csv.lines().next().expect("a line of heads").split(',').collect();
    let body = "return samplesCsv(input.run, input.heads);";
    let written = returned(body, &json!({ "run": run, "heads": heads }));
    assert_eq!(written.as_str(), Some(csv.as_str()));
}
