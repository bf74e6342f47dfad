//! The output of a comparison: results on standard output, progress on standard error, `run.json` as published.

use std::fs;

use larder_engines::ENGINES;
use larder_report::{Operation, Run};
use larder_store::Recipe;
use serde_json::Value;

use crate::scene::{Answer, LARDER, Scene, assert_contains};
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "json_on_standard_output_is_run_json_and_keeps_its_schema", json),
    (NOTHING, "standard_output_has_the_result_and_standard_error_the_progress", streams),
    (NOTHING, "a_pipe_gets_whole_tables_unless_columns_are_counted", whole_tables),
    (NOTHING, "quiet_still_tells_why_it_failed_and_once", failed_quietly),
    (NOTHING, "the_folder_of_results_has_every_file_and_nothing_else", folder),
    (NOTHING, "a_folder_with_foreign_files_takes_no_results", foreign_files),
    (NOTHING, "an_earlier_result_is_replaced_with_a_word", replaced),
    (NOTHING, "results_of_another_plan_are_kept_until_they_may_be_overwritten", kept_results),
    (NOTHING, "two_runs_do_not_share_a_folder_of_results", shared_folder),
    (NOTHING, "a_reader_that_goes_away_is_no_failure_and_a_full_disk_is", closed),
    (NOTHING, "a_dry_run_tells_time_memory_and_disk_and_leaves_nothing", dry_run),
    (MEMCACHED, "a_dry_run_starts_servers_and_stops_them", dry_run_of_servers),
    (MEMCACHED, "the_delay_that_a_wire_adds_is_in_the_results", delayed_wire),
    (NOTHING, "a_scenario_file_says_the_same_as_flags_and_flags_win", scenario),
    (NOTHING, "a_scenario_is_run_as_published_or_corrected_beside_its_article", article),
    (NOTHING, "a_target_missing_here_is_a_reason_in_a_scenario_and_a_failure_when_typed", missing),
    (NOTHING, "strict_turns_a_misleading_figure_into_exit_code_3", strict),
];

const SMALL: [&str; 6] = ["-k", "30", "-r", "2", "-o", "out"];

fn compare(scene: &Scene, arguments: &[&str]) -> Answer {
    scene.larder(&[&["compare"], arguments, &SMALL].concat())
}

/// Checks that a JSON object has all these names.
#[track_caller]
fn has(object: &Value, names: &str) {
    for name in names.split(' ') {
        assert!(object.get(name).is_some(), "no `{name}` in {object:#}");
    }
}

fn whole_tables() {
    let scene = Scene::new();
    let info = [LARDER, "trace", "info", "builtin:web12"];
    let whole = scene.shell("env", &[&["-u", "COLUMNS"], &info[..]].concat());
    assert!(!whole.ends_with(0).out.contains("no room in"), "{}", whole.out);
    assert_contains(&whole.out, &["SIEVE", "S3-FIFO", "W-TinyLFU"]);
    let narrow = scene.shell("env", &[&["COLUMNS=60"], &info[..]].concat());
    assert_contains(&narrow.ends_with(0).out, &["no room in 60 characters for"]);
    assert!(narrow.out.lines().all(|line| line.chars().count() <= 60), "{}", narrow.out);

    // Long names are whole, too, and so is each column of a comparison.
    let name = "a-name-that-is-longer-than-a-third-of-a-line-of-120-characters-can-be";
    let target = format!("moka:?name={name}");
    let compare = ["compare", &target, "file:", "-q", "-k", "30", "-r", "2", "-o", "out"];
    let more = ["--operations", "set,get,delete", "--ttl", "1h"];
    let run = [&["-u", "COLUMNS", LARDER], &compare[..], &more[..]].concat();
    let answer = scene.shell("env", &run);
    assert_contains(&answer.ends_with(0).out, &[name]);
    assert!(!answer.out.contains("no room in"), "{}", answer.out);
}

fn json() {
    let scene = Scene::new();
    let targets = ["moka:", "lmdb:", "file:?sync=on", "memcached://127.0.0.1:1"];
    let answer = compare(&scene, &[&targets[..], &["-q", "--format", "json"]].concat());
    answer.ends_with(1);
    let run = answer.json();
    let written: Value =
        serde_json::from_str(&fs::read_to_string(scene.path("out/run.json")).unwrap()).unwrap();
    assert_eq!(run, written);

    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/run.schema.json");
    let schema: Value = serde_json::from_str(&fs::read_to_string(schema).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&run).map(|fault| fault.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());

    has(&run, "schema larder argv scenario seed started interrupted environment targets cells");
    has(&run, "floors comparisons checks");
    assert_eq!(run["targets"].as_array().unwrap().len(), 4);
    assert_eq!(run["cells"].as_array().unwrap().len(), 8);
    for target in run["targets"].as_array().unwrap() {
        has(target, "url name engine version durability settings limits");
    }
    for cell in run["cells"].as_array().unwrap() {
        has(cell, "target point operation rounds reason ops hits misses wrong errors wall_s");
        has(cell, "ops_per_s ops_per_s_ci95 client_cpu_s server_cpu_s rss_bytes disk_bytes bytes");
        if cell["target"] == targets[3] {
            assert!(cell["reason"].is_string() && cell["latency_ns"].is_null(), "{cell:#}");
        } else {
            has(&cell["latency_ns"], "p50 p90 p99 p999 max");
            assert!(cell["reason"].is_null() && cell["ops"] == 60, "{cell:#}");
        }
    }
    for comparison in run["comparisons"].as_array().unwrap() {
        has(comparison, "a b point operation ratio ci95 verdict");
    }
    assert_eq!(run["comparisons"].as_array().unwrap().len(), 6, "three pairs, two operations");
    // One target acknowledges only values that survive a crash of the machine; the other targets do not.
    let checks = run["checks"].as_array().unwrap();
    assert!(checks.iter().any(|check| check["id"] == "ACK-PARITY"), "{checks:#?}");
    for check in checks {
        has(check, "id severity target point text");
    }
    for floor in run["floors"].as_array().unwrap() {
        has(floor, "point operation ns_per_op");
    }
}

fn streams() {
    let scene = Scene::new();
    for (format, beginning) in [
        ("table", "larder "),
        ("markdown", "## "),
        ("csv", "target,"),
        ("matrix", "set, by wall clock"),
    ] {
        let answer = compare(&scene, &["moka:", "--format", format]);
        answer.ends_with(0);
        assert!(answer.out.starts_with(beginning), "{answer:#?}");
        assert_contains(&answer.err, &["opening moka:", "round 2 of 2", "results: out"]);
        assert!(!answer.out.contains("round 2 of 2") && !answer.out.contains('\x1b'), "{answer:?}");
    }
    let quiet = compare(&scene, &["moka:", "-q"]);
    assert!(quiet.err.starts_with("results: out (replaced the result of "), "{quiet:#?}");
    assert_eq!(quiet.err.lines().count(), 1, "{quiet:#?}");
}

fn failed_quietly() {
    let scene = Scene::new();
    let nobody = "memcached://127.0.0.1:1";
    for quiet in [&["-q"][..], &[]] {
        let answer = compare(&scene, &[&["moka:", nobody, "--format", "csv"], quiet].concat());
        answer.ends_with(1);
        let told: Vec<&str> =
            answer.err.lines().filter(|line| line.starts_with("larder: ")).collect();
        let [line] = told[..] else { panic!("{answer:#?}") };
        assert!(line.starts_with(&format!("larder: {nobody} cannot run: ")), "{line}");
        assert_eq!(answer.err.lines().count() == 2, !quiet.is_empty(), "{answer:#?}");
    }
}

fn folder() {
    let scene = Scene::new();
    scene.larder(&["compare", "moka:", "-k", "30", "-r", "2", "-q"]).ends_with(0);
    let [folder] = &scene.files("larder-results")[..] else { panic!("not one folder") };
    assert!(folder.ends_with("-custom"), "{folder}");
    let mut files = scene.files(&format!("larder-results/{folder}"));
    files.sort();
    assert_eq!(files, ["hdr", "report.html", "report.md", "run.json", "samples.csv", "usage.csv"]);

    compare(&scene, &["moka:", "lmdb:"]).ends_with(0);
    assert_eq!(scene.files("out/hdr").len(), 4);
    compare(&scene, &["moka:"]).ends_with(0);
    assert_eq!(scene.files("out/hdr").len(), 2, "those of the run before are gone");
}

fn kept_results() {
    let scene = Scene::new();
    let compare = |arguments: &[&str]| {
        scene.larder(&[&["compare"], arguments, &["-k", "30", "-r", "2", "-o", "before"]].concat())
    };
    compare(&["moka:", "-q"]).ends_with(0);
    let kept = fs::read(scene.path("before/run.json")).unwrap();
    for other in [&["lmdb:", "-q"][..], &["moka:", "-q", "-d", "100"], &["moka:", "--seed", "2"]] {
        let what = "before: holds the results of `larder compare moka: -q";
        compare(other).ends_with(2).complains(&[what, "--overwrite", "another folder"]);
        assert_eq!(fs::read(scene.path("before/run.json")).unwrap(), kept);
    }
    // How results are printed is no part of a plan.
    compare(&["moka:", "--format", "csv"]).ends_with(0);
    compare(&["lmdb:", "-q", "--overwrite"]).ends_with(0);
    scene.write("afile", "mine");
    let refused = scene.larder(&["compare", "moka:", "-k", "30", "-o", "afile"]);
    refused.ends_with(1).complains(&["writing afile: it is a file; name a folder"]);
}

fn foreign_files() {
    let scene = Scene::new();
    fs::create_dir(scene.path("own")).unwrap();
    scene.write("own/report.html", "mine");
    let answer = scene.larder(&["compare", "moka:", "-o", "own"]);
    answer.ends_with(2).complains(&["own: `report.html` in it is not a result of larder's"]);
    assert_eq!(fs::read_to_string(scene.path("own/report.html")).unwrap(), "mine");
    assert_eq!(scene.files("own"), ["report.html"]);

    compare(&scene, &["moka:", "-q"]).ends_with(0);
    let before = scene.run_json().started;
    scene.write("out/notes.txt", "mine");
    let answer = compare(&scene, &["moka:"]);
    answer.ends_with(2).complains(&["out: `notes.txt` in it", "an empty folder or a new one"]);
    assert_eq!(scene.run_json().started, before);
}

fn replaced() {
    let scene = Scene::new();
    let first = compare(&scene, &["moka:", "-q"]);
    assert_eq!(first.ends_with(0).err, "results: out\n");
    let before = scene.run_json().started;
    // Larder says this before it replaces the result, while there is time to keep it. With `-q` it says so with the
    // results.
    let second = compare(&scene, &["moka:"]);
    let told = second.ends_with(0).err.lines().next().unwrap_or_default();
    let time = told.strip_prefix("out: replaces the result of ").unwrap();
    assert!(time.contains(':') && time.len() >= 5, "{told}");
    assert_ne!(scene.run_json().started, before);
    let third = compare(&scene, &["moka:", "-q"]);
    assert!(
        third.ends_with(0).err.starts_with("results: out (replaced the result of "),
        "{third:#?}"
    );
}

fn shared_folder() {
    let scene = Scene::new();
    compare(&scene, &["moka:", "-q"]).ends_with(0);
    // Another run of larder locks its folder like this.
    let folder = fs::File::open(scene.path("out")).unwrap();
    folder.lock().unwrap();
    let answer = compare(&scene, &["lmdb:"]);
    answer.ends_with(2).complains(&["out: another run of larder writes its results there"]);
    assert_eq!(scene.run_json().targets[0].url, "moka:");
    drop(folder);
    compare(&scene, &["lmdb:", "-q"]).ends_with(0);
    assert_eq!(scene.run_json().targets[0].url, "lmdb:");
}

fn closed() {
    let scene = Scene::new();
    let shell = |script: &str| scene.shell("sh", &["-c", script]);
    let full = shell("\"$LARDER\" engines > /dev/full");
    full.ends_with(1).complains(&["writing to standard output", "No space left"]);
    let early =
        shell("{ \"$LARDER\" compare moka: -q -k 10 -r 1 -o out; echo $? >&2; } | head -n 1");
    assert_eq!((early.out.lines().count(), early.err.as_str()), (1, "results: out\n0\n"));
}

fn dry_run() {
    let scene = Scene::new();
    let targets = ["moka:", "file:", "lmdb:.", "memcached://127.0.0.1:1"];
    let flags = ["--dry-run", "-d", "100,1k", "-k", "500"];
    let answer = scene.larder(&[&["compare"], &targets[..], &flags].concat());
    answer.ends_with(0);
    assert_contains(&answer.out, &["plan: custom, seed 1", "keys: 500", "data-size: 100,1k"]);
    assert!(!answer.out.contains("cannot give a verdict"), "ten rounds are enough: {answer:#?}");
    assert_contains(
        &answer.out,
        &["time", "memory", "disk", " s ", "KiB", "refused the connection"],
    );
    for target in targets {
        assert!(answer.out.lines().any(|line| line.starts_with(target)), "{answer:#?}");
    }
    assert!(!answer.out.contains("ops/s") && !answer.err.contains("round "), "{answer:#?}");
    assert_eq!(scene.files("."), ["tmp"]);
    // 18 comparisons: three available targets, three sizes and two operations. One target is not available.
    let sweep = ["-d", "100,1k,2k", "-k", "50", "-r", "4"];
    let few = "4 rounds cannot give a verdict over 18 comparisons; 8 can: -r 8";
    let answer = scene.larder(&[&["compare", "--dry-run"], &targets[..], &sweep].concat());
    assert_contains(&answer.ends_with(0).out, &[&format!("note: {few}\n")]);
    let answer = scene.larder(&[&["compare", "-o", "out"], &targets[..], &sweep].concat());
    answer.ends_with(1);
    let told = answer.err.lines().position(|line| line == few);
    let first = answer.err.lines().position(|line| line.starts_with("round 1"));
    assert!(told.is_some() && told < first, "{answer:#?}");
    assert_eq!(scene.run_json().comparisons.len(), 18);
    let enough = [&["compare", "--dry-run"], &targets[..], &sweep[..4], &["-r", "8"]].concat();
    assert!(!scene.larder(&enough).out.contains("cannot give a verdict"));
    scene.assert_nothing_left();
}

fn delayed_wire() {
    let scene = Scene::new();
    let far = "memcached:?via=delay:5ms";
    let answer = compare(&scene, &["memcached:", far, "-q", "--format", "json"]);
    let run: Run = serde_json::from_str(&answer.ends_with(0).out).unwrap();
    let settings = |url: &str| &run.target(url).unwrap().settings;
    assert_eq!(settings("memcached:").get("via"), None);
    assert_eq!(settings(far)["via"], "delay:5ms");
    assert_contains(&settings(far)["via_added"], &[" ms at the median, "]);
    let fastest = |url: &str| {
        let mut of_url = run.cells.iter().filter(|cell| cell.target == url);
        let gets = of_url.find(|cell| cell.operation == Operation::Get).unwrap();
        gets.latency_ns.as_ref().unwrap().min
    };
    // A busy machine makes operations slower and never faster, so the fastest of all tell the delay.
    assert!(fastest(far) > 4_500_000 && fastest("memcached:") < fastest(far), "{answer:#?}");
    scene.assert_nothing_left();
}

fn dry_run_of_servers() {
    let scene = Scene::new();
    let answer = scene.larder(&["compare", "memcached:?nodes=2", "--dry-run"]);
    answer.ends_with(0);
    assert!(answer.out.lines().any(|line| line.starts_with("memcached:?nodes=2  ")), "{answer:#?}");
    assert_eq!(scene.files("."), ["tmp"]);
    scene.assert_nothing_left();
}

/// The parts of a run that do not depend on time: targets, workload, and each cell with its counts.
fn constant(run: &Run) -> (Vec<&str>, &std::collections::BTreeMap<String, String>, Vec<String>) {
    let cell = |cell: &larder_report::Cell| {
        let (point, counts) = (&cell.point, cell.counts);
        format!("{} {point:?} {} {} {counts:?}", cell.target, cell.operation, cell.rounds)
    };
    let targets = run.targets.iter().map(|target| target.url.as_str()).collect();
    (targets, &run.workload, run.cells.iter().map(cell).collect())
}

fn scenario() {
    let scene = Scene::new();
    let text = "summary = 'a test'\ntargets = ['moka:', 'lmdb:']\n[workload]\nkeys = 40\nrounds = 2\n\
                data-size = ['100', '2k']\nthreads = 2\nratio = '1:3'\nseed = 9";
    scene.write("mine.toml", text);
    let run = |arguments: &[&str]| {
        scene.larder(&[&["compare", "-q", "-o", "out"], arguments].concat()).ends_with(0);
        scene.run_json()
    };
    let from_file = run(&["--scenario", "mine.toml"]);
    let flags = "moka: lmdb: -k 40 -r 2 -d 100,2k -t 2 --ratio 1:3 --seed 9";
    let from_flags = run(&flags.split(' ').collect::<Vec<_>>());
    assert_eq!(constant(&from_file), constant(&from_flags));
    assert_eq!((from_file.scenario.as_str(), from_flags.scenario.as_str()), ("mine", "custom"));

    let both = run(&["--scenario", "mine.toml", "file:", "-k", "20", "--operations", "get"]);
    assert_eq!(both.workload["keys"], "20");
    assert_eq!((both.workload["threads"].as_str(), both.seed), ("2", 9));
    assert_eq!((both.workload.get("ratio"), both.workload["operations"].as_str()), (None, "get"));
    assert!(both.targets.len() == 1 && both.targets[0].url == "file:");
}

fn article() {
    let scene = Scene::new();
    let text = "targets = ['moka:?name=memory', 'file:?name=files']\n\
                [workload]\nkeys = 30\nkey-pattern = 'seq'\non-miss = 'fill'\nrequests = 90\nrounds = 6\n\
                [published]\nworkload = { key-pattern = 'first', on-miss = 'fill-next' }\n\
                [article]\nid = 'A999'\ntitle = 'made up'\nmachine = 'none'\niterations = 1000\n\
                [[article.figure]]\ntarget = 'files'\nmeasure = 'wall'\npublished = 5\n\
                [[article.claim]]\nsays = 'Nothing is found.'\nkind = 'never_hits'\na = 'memory'\n\
                checks = ['NEVER-HITS']";
    scene.write("mine.toml", text);
    for (arguments, form, verdict) in [
        (&[][..], "corrected", "does not hold: Nothing is found."),
        (&["--as", "corrected"], "corrected", "does not hold: Nothing is found."),
        (&["--as", "published"], "published", "holds: Nothing is found."),
    ] {
        let command = ["compare", "-q", "-o", "out", "--scenario", "mine.toml"];
        let answer = scene.larder(&[&command, arguments].concat());
        answer.ends_with(0);
        assert_contains(
            &answer.out,
            &["What A999 published", verdict, "wall clock of 1000 iterations"],
        );
        let article = scene.run_json().article.unwrap();
        assert_eq!(article.form.as_str(), form);
        assert!(article.figures[0].here.is_some_and(|here| here > 0.0));
        assert_eq!(article.claims[0].checks[0].fired, form == "published");
    }
    let listed = scene.larder(&["scenarios"]);
    assert_contains(
        &listed.ends_with(0).out,
        &["a002", "a003", "[--full] [--as published [--full]]"],
    );
    // Typed options make another workload, which the article did not publish.
    let typed = ["compare", "-q", "-o", "out", "--scenario", "mine.toml", "--keys", "31"];
    let answer = scene.larder(&typed);
    let told = ["changed by --keys", "cannot be told: Nothing is found.", "--keys changed the"];
    assert_contains(&answer.ends_with(0).out, &told);
    assert!(scene.run_json().article.unwrap().figures[0].ratio.is_none());
}

fn missing() {
    let scene = Scene::new();
    let text = "summary = 'a test'\ntargets = ['moka:', 'memcached:']";
    scene.write("mine.toml", text);
    let reason = "memcached is not installed: apt-get install memcached";
    for (arguments, code) in [
        (["--scenario", "mine.toml"], 0),
        (["moka:", "memcached:"], 1),
        (["--scenario", "quick"], 0),
    ] {
        let answer = scene.larder_alone(&[&["compare", "-q"], &arguments[..], &SMALL].concat());
        answer.ends_with(code);
        assert_contains(&answer.out, &["moka:", reason]);
        let run = scene.run_json();
        for cell in &run.cells {
            let engine = ENGINES.find(cell.target.trim_end_matches(':')).unwrap();
            let reason = engine.recipes.first().map(|Recipe { program, source, .. }| {
                format!("{program} is not installed: {}", source.command())
            });
            let told = cell.reason.as_deref().unwrap_or_default();
            assert!(reason.as_ref().is_none_or(|reason| told.contains(reason)), "{cell:?}");
            assert_eq!(cell.ops_per_s.is_none(), reason.is_some(), "{cell:?}");
        }
    }
}

fn strict() {
    let scene = Scene::new();
    // The reads never ask for the stored keys, so only misses are timed.
    let arguments = ["moka:", "-q", "--key-pattern", "first", "--on-miss", "fill-next", "-n", "10"];
    let green = compare(&scene, &arguments);
    let last = green.ends_with(0).err.lines().last();
    let hint =
        "checks: 1 finding of severity error; the exit code is 0 all the same, and 3 with --strict";
    assert_eq!(last, Some(hint), "{green:#?}");
    let strict = compare(&scene, &[&arguments[..], &["--strict"]].concat());
    assert!(!strict.ends_with(3).err.contains("severity"), "{strict:#?}");
    let clean = compare(&scene, &["moka:", "-q", "--strict"]);
    assert!(!clean.ends_with(0).err.contains("severity"), "{clean:#?}");
}
