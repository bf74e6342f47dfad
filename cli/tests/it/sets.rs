//! Sets of scenarios: each scenario runs as it would alone, and an index covers them all.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_set_runs_its_scenarios_and_leaves_an_index_over_them", a_set),
    (NOTHING, "a_scenario_that_cannot_run_leaves_its_reason_and_the_others_run", one_fails),
    (NOTHING, "what_cannot_be_exported_is_measured_and_told_all_the_same", not_exported),
    (NOTHING, "a_set_of_both_forms_runs_each_scenario_in_those_that_it_has", both_forms),
    (NOTHING, "files_of_a_set_are_found_beside_it", beside),
    (NOTHING, "an_index_passes_over_itself_and_keeps_scenarios_that_did_not_run", index_again),
    (NOTHING, "a_dry_run_of_a_set_tells_each_plan_and_the_time_of_all", dry_run),
    (NOTHING, "ctrl_c_keeps_the_measured_scenarios_of_a_set", ctrl_c),
    (NOTHING, "a_second_ctrl_c_keeps_the_scenarios_before", second_ctrl_c),
    (NOTHING, "a_wrong_use_of_a_set_is_refused_in_one_line", refused),
    (NOTHING, "an_index_is_made_again_and_over_runs_that_there_are", made_again),
    (NOTHING, "sets_are_listed_and_printed", listed),
];

/// A scene with three scenarios: a small scenario of two forms, a scenario that never hits, and a scenario without its
/// trace.
fn scene(scenarios: &str) -> Scene {
    let scene = Scene::new();
    scene.write(
        "small.toml",
        "summary = 'two caches'\ntargets = ['moka:', 'file:']\nworkload = { keys = 30, rounds = 2 }\n\
         published = { workload = { keys = 20 } }",
    );
    scene.write(
        "empty.toml",
"summary = 'a loop that never hits'\ntargets = ['moka:', 'file:']\n\
         workload = { keys = 30, rounds = 2, key-pattern = 'first', on-miss = 'fill-next', requests = 10 }\n\
         published = { workload = { keys = 20 } }",
    );
    scene.write(
        "traced.toml",
        "summary = 'a trace'\ntargets = ['moka:']\nworkload = { key-pattern = 'trace:nowhere.csv' }",
    );
    scene.write("mine.toml", format!("summary = 'all of mine'\nscenarios = [{scenarios}]"));
    scene
}

/// The index of a run with `-o out`: the names of its scenarios, each with the reason for a missing run.
fn index(scene: &Scene) -> Vec<(String, Option<String>)> {
    let text = fs::read_to_string(scene.path("out/index.json")).unwrap();
    let index: Value = serde_json::from_str(&text).unwrap();
    let entry = |entry: &Value| {
        let reason = entry["reason"].as_str().map(str::to_owned);
        (entry["name"].as_str().unwrap().to_owned(), reason)
    };
    index["scenarios"].as_array().unwrap().iter().map(entry).collect()
}

fn a_set() {
    let scene = scene("'small.toml', 'empty.toml'");
    let set = ["compare", "--scenario", "mine.toml", "--as", "published", "-r", "1", "-o", "out"];
    let answer = scene.larder(&set);
    answer.ends_with(0);
    assert_contains(&answer.out, &["mine\n", "all of mine", "  small", "  empty", "  all"]);
    let told: Vec<&str> = answer.err.lines().filter(|line| line.contains("scenario")).collect();
    assert_eq!(told, ["scenario 1 of 2: small", "scenario 2 of 2: empty"]);
    let last = "results: out/index.html\nchecks: 2 findings of severity error; the exit code is 0 all the same, and 3 with \
                --strict\n";
    assert!(answer.err.ends_with(last), "{answer:#?}");
    let files = |folder: &str| {
        let mut files = scene.files(folder);
        files.sort();
        files
    };
    assert_eq!(files("out"), ["empty", "index.html", "index.json", "index.md", "small"]);
    for name in ["small", "empty"] {
        let folder = format!("out/{name}");
        assert_eq!(
            files(&folder),
            ["hdr", "report.html", "report.md", "run.json", "samples.csv", "usage.csv"]
        );
        let run = fs::read_to_string(scene.path(&folder).join("run.json")).unwrap();
        let run: Value = serde_json::from_str(&run).unwrap();
        let workload = &run["workload"];
        assert_eq!((&workload["as"], &workload["keys"]), (&"published".into(), &"20".into()));
        assert_eq!(run["cells"][0]["rounds"], 1);
    }
    assert_eq!(index(&scene), [("small".into(), None), ("empty".into(), None)]);
    let page = fs::read_to_string(scene.path("out/index.html")).unwrap();
    assert_contains(&page, &["href=\"small/report.html\"", "href=\"empty/report.html\""]);

    assert_contains(&page, &["href=\"empty/report.html#check-error-NEVER-HITS\""]);

    // An error of one scenario is an error of the set.
    let strict = [&set[..], &["--strict", "-q", "--format", "markdown"]].concat();
    let strict = scene.larder(&strict);
    strict.ends_with(3);
    let lines: Vec<&str> = strict.err.lines().collect();
    let [small, empty, "results: out/index.html"] = lines[..] else { panic!("{strict:#?}") };
    assert!(small.starts_with("small (replaced the result of "), "{small}");
    assert!(empty.starts_with("empty (replaced the result of "), "{empty}");
    assert_contains(&strict.out, &["# mine", "| [small](small/report.md) |"]);
    scene.assert_nothing_left();
}

fn one_fails() {
    let scene = scene("'traced.toml', 'small.toml'");
    let answer = scene.larder(&["compare", "--scenario", "mine.toml", "-q", "-o", "out"]);
    answer.ends_with(1);
    let reason = "trace nowhere.csv: No such file or directory (os error 2)";
    let said = format!("larder: traced cannot run: {reason}\nresults: out/index.html\n");
    assert_eq!(answer.err, said);
    assert_contains(&answer.out, &["traced did not run.", &format!("traced: {reason}")]);
    assert_eq!(index(&scene), [("traced".into(), Some(reason.into())), ("small".into(), None)]);
    assert!(!scene.path("out/traced").exists());
    let page = fs::read_to_string(scene.path("out/index.html")).unwrap();
    assert_contains(&page, &[&format!("Did not run: {reason}")]);
}

fn not_exported() {
    let scene = scene("'small.toml', 'empty.toml'");
    let set = ["compare", "--scenario", "mine.toml", "-q", "-o", "out", "--export-svg", "charts"];
    // The folder cannot be made, and larder says so before it measures.
    scene.write("charts", "a file");
    scene.larder(&set).ends_with(1).complains(&["writing charts"]);
    assert!(!scene.path("out").exists());
    // A failed export of one scenario changes the exit code, and its measured rounds stay.
    fs::remove_file(scene.path("charts")).unwrap();
    fs::create_dir(scene.path("charts")).unwrap();
    scene.write("charts/small", "a file");
    let answer = scene.larder(&set);
    answer.ends_with(1);
    assert_contains(
        &answer.err,
        &["larder: small ran, but not all of its results could be kept: writing"],
    );
    assert!(!answer.out.contains("did not run"), "{answer:#?}");
    assert_eq!(index(&scene), [("small".into(), None), ("empty".into(), None)]);
    assert!(scene.path("out/small/run.json").exists() && scene.path("charts/empty").exists());
    // The results of this scenario cannot be written either: the index shows them, and says why they are not there.
    fs::remove_dir_all(scene.path("out/small")).unwrap();
    fs::create_dir_all(scene.path("out/small/run.json")).unwrap();
    let answer = scene.larder(&set[..6]);
    answer.ends_with(1);
    assert!(!answer.out.contains("did not run"), "{answer:#?}");
    assert_contains(&answer.out, &["small: it ran, but its results could not be kept: writing"]);
    assert_contains(index(&scene)[0].1.as_ref().unwrap(), &["could not be kept"]);
    scene.larder(&["report", "out"]).ends_with(0);
}

fn both_forms() {
    let scene = scene("'small.toml'");
    let plain = "targets = ['moka:', 'file:']\nworkload = { keys = 30, rounds = 1 }";
    scene.write("plain.toml", plain);
    let set = "scenarios = ['small.toml', 'plain.toml']\nforms = ['corrected', 'published']";
    scene.write("mine.toml", set);
    let both = ["compare", "--scenario", "mine.toml", "-r", "1", "-q", "-o", "out"];
    scene.larder(&both).ends_with(0);
    let names = ["small", "small-published", "plain"];
    assert_eq!(index(&scene), names.map(|name| (name.to_owned(), None)));
    for (name, keys) in names.into_iter().zip(["30", "20", "30"]) {
        let run = fs::read_to_string(scene.path("out").join(name).join("run.json")).unwrap();
        let run: Value = serde_json::from_str(&run).unwrap();
        assert_eq!(run["workload"]["keys"], keys, "{name}");
    }
    // One form that is asked for is that one, and must be there.
    let one = scene.larder(&["compare", "--scenario", "mine.toml", "--as", "published"]);
    one.ends_with(2).complains(&["scenario `plain` has no [published]"]);
    let clash =
        "scenarios = ['small.toml', 'small-published.toml']\nforms = ['corrected', 'published']";
    scene.write("small-published.toml", plain);
    scene.write("clash.toml", clash);
    let clash = scene.larder(&["compare", "--scenario", "clash.toml"]);
    clash.ends_with(2).complains(&["give one of them another `name`"]);
}

fn beside() {
    let scene = scene("'small.toml'");
    let traced = "op,key\nGET,1\nGET,2\nGET,1\n";
    for name in ["sets/a/one.csv", "sets/b/two.csv"] {
        fs::create_dir_all(scene.path(name).parent().unwrap()).unwrap();
        scene.write(name, traced);
    }
    let small = fs::read_to_string(scene.path("small.toml")).unwrap();
    scene.write("sets/other.toml", small);
    let set = "scenarios = ['web:a/one.csv', 'web:b/two.csv', './other.toml']";
    scene.write("sets/mine.toml", set);
    let dry = scene.larder(&["compare", "--scenario", "sets/mine.toml", "--dry-run", "-q"]);
    dry.ends_with(0);
    assert_contains(&dry.out, &["plan: web-one,", "plan: web-two,", "plan: other,"]);
    let wrong = "scenarios = ['none.toml']";
    scene.write("sets/wrong.toml", wrong);
    let answer = scene.larder(&["compare", "--scenario", "sets/wrong.toml"]);
    answer.ends_with(2).complains(&["sets/none.toml"]);
}

fn index_again() {
    let scene = scene("'small.toml', 'traced.toml'");
    scene.larder(&["compare", "--scenario", "mine.toml", "-q", "-o", "all/a"]).ends_with(1);
    scene.larder(&["compare", "--scenario", "small.toml", "-q", "-o", "all/b"]).ends_with(0);
    let mut texts = Vec::new();
    for _ in 0..2 {
        let mut files: Vec<String> =
            scene.files("all").iter().map(|name| format!("all/{name}")).collect();
        files.sort();
        let mut named = vec!["report"];
        named.extend(files.iter().map(String::as_str));
        named.extend(["--index", "all"]);
        scene.larder(&named).ends_with(0);
        texts.push(fs::read_to_string(scene.path("all/index.md")).unwrap());
    }
    assert_eq!(texts[0], texts[1]);
    assert_contains(
        &texts[0],
        &["(a/small/report.md)", "(b/report.md)", "Did not run: trace nowhere.csv"],
    );
    let itself = ["report", "all/index.html", "--index", "all"];
    scene.larder(&itself).ends_with(2).complains(&["all/index.html: an index and no run"]);
    // Where no scenario has run, the sum has no time.
    scene.write("none.toml", "scenarios = ['traced.toml']");
    let none = scene.larder(&["compare", "--scenario", "none.toml", "-q"]);
    none.ends_with(1);
    let all = none.out.lines().find(|line| line.starts_with("  all")).unwrap();
    assert!(all.ends_with('–'), "{none:#?}");
}

fn dry_run() {
    let scene = scene("'small.toml', 'traced.toml', 'empty.toml'");
    let answer = scene.larder(&["compare", "--scenario", "mine.toml", "--dry-run", "-q"]);
    answer.ends_with(1);
    assert_contains(&answer.out, &["plan: small, seed 1", "plan: empty, seed 1", "file:"]);
    assert_contains(&answer.out, &["plan: traced\n  cannot run: trace nowhere.csv"]);
    assert!(answer.out.lines().last().unwrap().starts_with("all 3 scenarios: "), "{answer:#?}");
    assert!(!scene.path("larder-results").exists());
    scene.assert_nothing_left();
}

fn ctrl_c() {
    let scene = scene("'small.toml', 'endless.toml', 'empty.toml'");
    let endless = "targets = ['moka:', 'file:']\nworkload = { keys = 200, rounds = 1000 }";
    scene.write("endless.toml", endless);
    let mut larder = scene.start(&["compare", "--scenario", "mine.toml", "-o", "out"]);
    larder.reaches("scenario 2 of 3: endless");
    larder.reaches("round 3 of 1000");
    // The index already has the first scenario.
    assert!(index(&scene).iter().map(|(_, reason)| reason.is_none()).eq([true, false, false]));
    larder.signal(libc::SIGINT);
    assert_eq!(larder.ends(), Some(130));
    let index = index(&scene);
    let names: Vec<&str> = index.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["small", "endless", "empty"]);
    assert_eq!((&index[0].1, &index[1].1), (&None, &None));
    assert_contains(index[2].1.as_ref().unwrap(), &["not run"]);
    let text = fs::read_to_string(scene.path("out/index.md")).unwrap();
    assert_contains(&text, &["endless was interrupted before the end.", "empty did not run."]);
    let run = fs::read_to_string(scene.path("out/endless/run.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&run).unwrap()["interrupted"], true);
    scene.assert_nothing_left();
}

fn second_ctrl_c() {
    let scene = scene("'small.toml', 'deaf.toml'");
    // This server accepts connections and never answers, so an orderly end would take as long as the timeout.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("memcached://{}?timeout=10m", silent.local_addr().unwrap());
    scene.write("deaf.toml", format!("targets = ['{deaf}']"));
    let mut larder = scene.start(&["compare", "--scenario", "mine.toml", "-o", "out"]);
    larder.reaches("opening memcached://");
    assert_eq!(larder.ends_after(|larder| larder.signal(libc::SIGINT)), Some(130));
    let said = larder.rest();
    assert!(said.starts_with("larder: interrupted again: nothing is kept of this"), "{said}");
    let mut files = scene.files("out");
    files.sort();
    assert_eq!(files, ["index.html", "index.json", "index.md", "small"]);
    assert_contains(index(&scene)[1].1.as_ref().unwrap(), &["not run"]);
    scene.assert_nothing_left();
}

fn refused() {
    let scene = scene("'small.toml', 'empty.toml'");
    scene.write("nested.toml", "scenarios = ['small.toml', 'mine.toml']");
    scene.write("twice.toml", "scenarios = ['small.toml', './small.toml']");
    scene.write("both.toml", "scenarios = ['small.toml']\ntargets = ['moka:']");
    let of_mine: &[(&[&str], &[&str])] = &[
        (
            &["-k", "5"],
            &["`mine` is a set and has no workload", "--rounds", "small.toml, empty.toml"],
        ),
        (&["moka:"], &["moka:: `mine` is a set, whose scenarios have targets"]),
        (&["--format", "csv"], &["--format csv: `mine` is a set, which has table, markdown"]),
        (&["--full"], &["--full: scenario `small`", "leave --full out"]),
    ];
    for (flags, parts) in of_mine {
        let arguments = [&["compare", "--scenario", "mine.toml"], *flags].concat();
        scene.larder(&arguments).ends_with(2).complains(parts);
    }
    for (file, part) in [
        ("nested.toml", "set `nested`: `mine.toml` is a set itself; list its scenarios"),
        ("twice.toml", "set `twice`: two scenarios are called `small`"),
        ("both.toml", "set `both`, line 2: unknown field `targets`"),
    ] {
        scene.larder(&["compare", "--scenario", file]).ends_with(2).complains(&[part]);
    }
    assert!(!scene.path("larder-results").exists());
}

fn made_again() {
    let scene = scene("'small.toml', 'traced.toml', 'empty.toml'");
    scene.larder(&["compare", "--scenario", "mine.toml", "-q", "-o", "out"]).ends_with(1);
    let made = ["out/index.html", "out/index.md", "out/index.json", "out/small/report.html"];
    let read = || made.map(|name| fs::read_to_string(scene.path(name)).unwrap());
    let written = read();
    for name in [made[0], made[1], made[3]] {
        scene.write(name, "an old one");
    }
    let answer = scene.larder(&["report", "out"]);
    answer.ends_with(0);
    let said = "reports: out/small\nreports: out/empty\nindex: out/index.html\n";
    assert_eq!((answer.out.as_str(), answer.err.as_str()), ("", said));
    assert_eq!(read(), written);
    let printed = scene.larder(&["report", "out", "--format", "html"]);
    assert_eq!(printed.ends_with(0).out, written[0]);
    let csv = scene.larder(&["report", "out", "--format", "csv"]);
    csv.ends_with(2).complains(&["--format csv: out holds a set, which has table, markdown"]);

    let over = ["report", "out/small", "out/small", "--index", "over/all"];
    scene.larder(&over).ends_with(0);
    let page = fs::read_to_string(scene.path("over/all/index.html")).unwrap();
    assert_contains(&page, &["../../out/small/report.html", "small-2"]);
    scene.larder(&["report", "over/all"]).ends_with(0);
    fs::remove_dir_all(scene.path("out/small")).unwrap();
    scene.larder(&["report", "over/all"]).ends_with(2).complains(&["out/small"]);
    scene.write("over/all/index.json", "[]");
    scene.larder(&["report", "over/all"]).ends_with(2).complains(&["not an index.json"]);
}

fn listed() {
    let scene = Scene::new();
    let list = scene.larder(&["scenarios"]);
    let line = list.ends_with(0).out.lines().find(|line| line.starts_with("all-articles"));
    assert_contains(line.unwrap(), &["--as published", "--full"]);
    let printed = scene.larder(&["scenarios", "all-articles"]);
    assert_contains(&printed.ends_with(0).out, &["scenarios = [", "\"a001\""]);
    let wrong = scene.larder(&["scenarios", "all-article"]);
    wrong.ends_with(2).complains(&["no scenario `all-article`", "all-articles"]);
}
