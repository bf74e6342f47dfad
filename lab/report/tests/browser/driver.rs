//! The tools of the trials: each finds a defect that is there, and no process of the browser is left.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use larder_testkit::{PATIENCE, within};

use crate::page::{Page, View};
use crate::probes::{CONTRAST, FOCUS, GARBLED, OVERFLOW, OVERLAP, SHIFT, STABLE_SHIFT, Shift};
use crate::{Case, chromium};

pub(crate) const CASES: &[Case] = &[
    ("a_page_that_asks_complains_and_breaks_its_policy_is_caught", a_bad_page_is_caught),
    ("a_page_that_sticks_out_fades_and_moves_is_caught", an_ugly_page_is_caught),
    ("without_scripts_no_script_runs", without_scripts_no_script_runs),
    ("of_killed_tests_nothing_is_left", of_killed_tests_nothing_is_left),
];

const BAD: &str = r#"<!doctype html><meta charset="utf-8"><title>bad</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; img-src http:">
<p>Bad.</p>
<img src="http://127.0.0.1:9/picture.png" alt="">
<script>
console.warn("a warning of the page");
setTimeout(() => { document.title = "ran"; throw new Error("an error of the page"); });
</script>
<p style="color: red">Not by the policy.</p>
"#;

fn a_bad_page_is_caught() {
    let page = Page::open(BAD, View::DESK);
    page.until("document.title === 'ran'");
    assert!(
        page.requests().iter().any(|url| url.ends_with("/picture.png")),
        "{:?}",
        page.requests()
    );
    let complaints = page.complaints().join("\n");
    for part in ["a warning of the page", "an error of the page", "Content Security Policy"] {
        assert!(complaints.contains(part), "{part} is not among the complaints:\n{complaints}");
    }
}

const UGLY: &str = r#"<!doctype html><meta charset="utf-8"><title>ugly</title>
<style>button:focus { outline: none }</style>
<p id="later">Moves.</p>
<p style="color: #888; background: white">Fades.</p>
<p style="width: 2000px">Sticks out.</p>
<button>Hides its focus.</button>
<p style="width: 1em; overflow-wrap: anywhere">Broken.</p>
<p>Above.</p><p style="margin-top: -2.2em">Below.</p>
<p>&#x202e;Garbles <span>what follows</span></p>
<script>
setTimeout(() => later.insertAdjacentHTML("beforebegin", "<p style='height: 300px'>Late.</p>"), 100);
</script>
"#;

fn an_ugly_page_is_caught() {
    let page = Page::open(UGLY, View::PHONE);
    page.until("document.body.textContent.includes('Late.')");
    page.settle();
    let found = |script: &str| page.value::<serde_json::Value>(script).to_string();
    assert!(found(OVERFLOW).contains("in a window of 390 px: <p "), "{}", found(OVERFLOW));
    assert!(found(CONTRAST).contains("3.54 in p.: Fades."), "{}", found(CONTRAST));
    assert!(found(OVERLAP).contains("broken: Broken"), "{}", found(OVERLAP));
    assert!(found(OVERLAP).contains(" lies on "), "{}", found(OVERLAP));
    assert!(found(FOCUS).contains("Hides its focus"), "{}", found(FOCUS));
    assert!(found(GARBLED).contains("what follows"), "{}", found(GARBLED));
    let Shift { moved, lines } = page.value(SHIFT);
    assert!(moved > STABLE_SHIFT && !lines.is_empty(), "{moved}: {lines:?}");
}

fn without_scripts_no_script_runs() {
    let page = Page::open(BAD, View { scripts: false, ..View::DESK });
    assert_eq!(page.value::<String>("document.title"), "bad");
}

/// With this variable, this program starts a browser, prints the folder of its files, and waits to be killed.
pub(crate) const HOLD: &str = "LARDER_TEST_HOLDS_CHROMIUM";

/// Acts on this variable.
pub(crate) fn hold() -> ! {
    chromium::session().open_window();
    writeln!(std::io::stdout(), "{}", chromium::pages().display()).expect("a pipe");
    loop {
        std::thread::park();
    }
}

fn of_killed_tests_nothing_is_left() {
    let program = std::env::current_exe().expect("this program");
    let mut tests =
        Command::new(program).env(HOLD, "").stdout(Stdio::piped()).spawn().expect("these tests");
    let mut dir = String::new();
    let stdout = tests.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut dir).expect("a directory");
    let dir = Path::new(dir.trim());
    assert!(dir.is_dir() && processes_with(dir) > 0, "{}", dir.display());
    tests.kill().expect("they run");
    tests.wait().expect("they are gone");
    let is_gone = || !dir.exists() && processes_with(dir) == 0;
    assert!(within(PATIENCE, is_gone), "{} is left", dir.display());
}

/// The processes that were started with this path among their arguments.
fn processes_with(path: &Path) -> usize {
    let path = path.to_str().expect("ASCII").as_bytes();
    let processes = std::fs::read_dir("/proc").expect("Linux").filter_map(Result::ok);
    let arguments = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    arguments.filter(|it| it.windows(path.len()).any(|part| part == path)).count()
}
