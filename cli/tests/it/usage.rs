//! Wrong requests: one line that names the value, the limit and the fix, before anything runs.

use std::fs;
use std::io::Write;

use liblzma::write::XzEncoder;

use crate::scene::Scene;
use crate::{Case, MEMCACHED, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_wrong_target_is_one_line_and_exit_code_2", wrong_targets),
    (NOTHING, "a_wrong_workload_is_one_line_and_exit_code_2", wrong_workloads),
    (NOTHING, "a_wrong_flag_is_one_line_and_exit_code_2", wrong_flags),
    (NOTHING, "a_broken_trace_is_one_line_and_exit_code_2", broken_traces),
    (NOTHING, "a_broken_scenario_is_one_line_and_exit_code_2", broken_scenarios),
    (NOTHING, "a_place_for_results_that_cannot_be_written_is_told_before_anything_runs", no_place),
    (NOTHING, "a_plan_beyond_memory_is_refused", beyond_memory),
    (NOTHING, "more_connections_than_open_files_are_refused_with_the_limit", beyond_files),
    (NOTHING, "the_same_target_twice_needs_a_label", twice),
    (NOTHING, "an_address_without_a_server_is_a_reason_and_a_failure", without_a_server),
    (NOTHING, "targets_of_which_none_can_run_get_one_line_and_leave_no_results", no_target),
    (NOTHING, "a_password_is_never_shown", passwords),
    (MEMCACHED, "a_value_beyond_the_item_limit_is_a_reason_and_no_figure", oversize),
];

/// Runs `larder compare` with these arguments, and checks its complaint and that no file was made.
#[track_caller]
fn refused(scene: &Scene, arguments: &[&str], parts: &[&str]) {
    let before = scene.files(".");
    let answer = scene.larder(&[&["compare", "-q"], arguments].concat());
    answer.ends_with(2).complains(parts);
    assert_eq!(scene.files("."), before, "{arguments:?}");
    scene.assert_nothing_left();
}

fn wrong_targets() {
    let scene = Scene::new();
    for (target, parts) in [
        ("nosuch:", ["unknown engine `nosuch:`", "memcached:"]),
        ("moka", ["store URL `moka`: the name of an engine ends with a colon", "write `moka:`"]),
        ("mokka:", ["unknown engine `mokka:`", "write `moka:`"]),
        ("caffeine:", ["unknown engine `caffeine:`", "write `java+caffeine:`"]),
        ("/tmp/x", ["no engine stands before the path", "write `file:/tmp/x`"]),
        ("file:?dept=3", ["unknown option `dept`", "known: depth"]),
        ("moka:?size=4q", ["`4q` is not a size", "write 4096, 4k"]),
        ("lmdb:?sync=maybe", ["option `sync`", "maybe"]),
        ("memcached://127.0.0.1:1?m=64m", ["option `m`", "leave out the host, or the option"]),
        ("memcached://a:b", ["`a:b` is not a host", "write h1:11211"]),
        ("memcached:?timeout=0", ["option `timeout`: 0s", "write 5s"]),
        ("memcached:?via=delay:1", ["`1` is not a delay with its unit", "write delay:2ms"]),
        ("moka:?name=", ["moka:?name=: its name is empty", "leave `name=` out"]),
        ("moka:?via=delay:1ms", ["unknown option `via`", "known: size"]),
        ("tiered:moka:|nosuch:", ["unknown engine `nosuch:`", "memcached:"]),
        (
            "tiered:moka:|perl+null:",
            ["`perl+null:` lives in another language", "write `perl+tiered:`"],
        ),
        ("perl+tiered:null:|memcached:", ["`null:` cannot be a tier of perl", "known: filecache"]),
    ] {
        refused(&scene, &["moka:?name=first", target, "-k", "10", "-r", "1"], &parts);
        refused(&scene, &[target, "--dry-run"], &parts);
    }
}

fn wrong_workloads() {
    let scene = Scene::new();
    for (arguments, parts) in [
        (&["-d", "4q"][..], ["`4q` is not a size", "write 4096, 4k"]),
        (&["--key-pattern", "zopf:1"], ["no key pattern `zopf:1`", "known: seq, first, uniform"]),
        (&["-k", "few"], ["`few` is not a number", "--keys"]),
        (&["-r", "5000"], ["--rounds 5000", "at most 1000"]),
        (&["-t", "5000"], ["--threads 5000", "at most 1024"]),
        (&["-c", "60k"], ["--connections 60000", "at most 50000 connections together"]),
        (&["-P", "2000"], ["--pipeline 2000", "at most 1024 requests"]),
        (&["-c", "9", "--group", "2"], ["--group 2 with --connections", "take --multiget"]),
        (&["--compressibility", "2"], ["`2` is not a share", "from 0 to 1"]),
        (&["--operations", "set,read"], ["`read`", "one of set, get, get_each, get_many, get_tag"]),
        (&["--ratio", "1:10", "--operations", "get"], ["--ratio", "cannot be used with"]),
        (&["--multiget", "10", "--ratio", "1:1"], ["--multiget only reads", "leave out --ratio"]),
        (&["--multiget", "10", "--operations", "set+get"], ["--multiget", "leave out one"]),
        (
            &["--on-miss", "fill-next", "--ratio", "1:1"],
            ["--on-miss fill-next", "leave out --ratio"],
        ),
        (&["-k", "2", "-t", "3", "--operations", "set+get"], ["--threads 3", "at least 3 keys"]),
        (
            &["-k", "100", "--multiget", "1000"],
            ["--multiget 1000: ", "use --multiget 100 or fewer"],
        ),
        (
            &["-k", "100", "--multiset", "1000"],
            ["--multiset 1000: ", "use --multiset 100 or fewer"],
        ),
        (
            &["-k", "100", "-t", "4", "--multiset", "50"],
            ["each of 4 threads stores 25 keys a round", "use --keys 200 or more"],
        ),
        (&["-k", "10k,100", "--multiget", "1000"], ["--multiget 1000: ", "the 100 keys of --keys"]),
        (
            &["-k", "10k", "-n", "100", "-t", "4", "--multiget", "50"],
            ["each of 4 threads reads 25 keys a round", "use --requests 200 or more"],
        ),
        (
            &["-k", "100", "--group", "1000", "--operations", "get_tag"],
            ["--group 1000", "1000 keys"],
        ),
        (&["--ttl", "-5s"], ["'-5s' for '--ttl <TIME>'", "`-5s` is not a time; write 250ms"]),
        (&["--ttl", "0"], ["--ttl 0s", "give it a time, or leave it out"]),
        (&["--duration", "-1s"], ["--duration", "`-1s` is not a time"]),
        (&["-k", "-5"], ["--keys", "`-5` is not a whole number from 1"]),
        (&["--payload", "missing.html"], ["missing.html", "No such file"]),
    ] {
        refused(&scene, &[&["moka:"], arguments].concat(), &parts);
    }
}

fn wrong_flags() {
    let scene = Scene::new();
    for (arguments, parts) in [
        (&["compare", "moka:", "--flagg"][..], ["--flagg", "--help"]),
        (&["compare", "moka:", "--format", "xml"], ["unknown format `xml`", "known: table"]),
        (&["frobnicate"], ["frobnicate", "--help"]),
        (&["engines", "nosuch"], ["unknown engine `nosuch:`", "known: null:"]),
        (&["get", "moka:"], ["<KEY>", "--help"]),
        (&["set", "file:x", "a", "b", "--ttl", "0"], ["--ttl 0s: give it a time", "leave it out"]),
        (&["set", "file:x", "a", "b", "--ttl", "-5s"], ["--ttl", "`-5s` is not a time"]),
        (&["completions", "tcsh"], ["tcsh", "--help"]),
    ] {
        scene.larder(arguments).ends_with(2).complains(&parts);
    }
}

fn broken_traces() {
    let scene = Scene::new();
    let mut packed = XzEncoder::new(Vec::new(), 6);
    packed.write_all(&[7; 4000]).unwrap();
    let packed = packed.finish().unwrap();
    scene.write("short.trace.xz", &packed[..packed.len() / 2]);
    scene.write("odd.trace", [1; 7]);
    scene.write("empty.trace", "");
    scene.write("unknown.bin", [0xff; 64]);
    scene.write("empty.csv", "");
    scene.write("bars.csv", "key|op|size\na|get|1\n");
    for (name, part) in [
        ("short.trace.xz", "trace short.trace.xz: "),
        ("odd.trace", "3 are left: cut off?"),
        ("empty.trace", "trace empty.trace: "),
        ("unknown.bin", "cache2k"),
        ("empty.csv", "it is empty; a CSV needs a first line that names the columns"),
        ("bars.csv", "has `|` between the columns; a CSV needs"),
        ("missing.trace", "No such file"),
    ] {
        let pattern = format!("trace:{name}");
        refused(&scene, &["moka:", "--key-pattern", &pattern], &[name, part]);
    }
    scene.write("good.trace", [1; 8]);
    let both = ["moka:", "--key-pattern", "trace:good.trace", "-k", "5"];
    refused(&scene, &both, &["--keys with a trace", "the trace has its own keys"]);
}

fn broken_scenarios() {
    let scene = Scene::new();
    scene.write("typo.toml", "summary = 'x'\ntargets = ['moka:']\n[workload]\nkeyz = 1");
    scene.write("none.toml", "summary = 'x'\ntargets = []");
    scene.write("wrong.toml", "summary = 'x'\ntargets = ['file:?dept=3']");
    for (name, parts) in [
        ("nosuch", ["no scenario `nosuch`", "built in: quick"]),
        ("missing.toml", ["missing.toml", "No such file"]),
        ("typo.toml", ["scenario `typo`, line 4", "unknown field `keyz`"]),
        ("none.toml", ["scenario `none`", "has no targets"]),
        ("wrong.toml", ["unknown option `dept`", "known: depth"]),
    ] {
        refused(&scene, &["--scenario", name], &parts);
    }
    let published = ["scenario `quick` has no [published]", "leave --as out"];
    refused(&scene, &["--scenario", "quick", "--as", "published"], &published);
    let full = ["scenario `quick`", "has no longer form", "leave --full out"];
    refused(&scene, &["--scenario", "quick", "--full"], &full);
    refused(&scene, &["moka:", "--as", "published"], &["--scenario", "--help"]);
    let odd = ["`right` is not published or corrected", "--as"];
    refused(&scene, &["--scenario", "a002", "--as", "right"], &odd);
}

fn no_place() {
    let scene = Scene::new();
    scene.write("file", "");
    for (place, part) in [("file", "file"), ("/proc/nowhere", "/proc/nowhere")] {
        let answer = scene.larder(&["compare", "moka:", "-o", place]);
        // No target was opened, because that would be a line of progress.
        answer.ends_with(1).complains(&["writing", part]);
    }
}

fn beyond_memory() {
    let scene = Scene::new();
    let parts = ["of memory", "are free", "--keys"];
    refused(&scene, &["moka:", "-k", "2m", "-d", "20m"], &parts);
    refused(&scene, &["moka:", "-k", "2m", "-d", "20m", "-o", "out"], &parts);
    // The figure follows from the numbers: no value is made, and no store is opened that would probe such large values.
    for flags in [&[][..], &["--dry-run"]] {
        let large = ["compare", "moka:", "-r", "2", "-k", "10k", "-d", "1g"];
        let answer = scene.larder(&[&large, flags].concat());
        answer.ends_with(2).complains(&["this plan takes about", "of memory", "or --yes to try"]);
    }
}

fn beyond_files() {
    let scene = Scene::new();
    let script = "ulimit -n 500; exec $LARDER compare null: memory: -k 1k -c 400";
    scene.shell("sh", &["-c", script]).ends_with(2).complains(&[
        "--connections 400: such a plan opens 656 files at once",
        "the hard limit of open files is 500",
        "`ulimit -n 656` as root or LimitNOFILE=656",
    ]);
    scene.assert_nothing_left();
}

fn twice() {
    let scene = Scene::new();
    let label = ["target `moka:` stands twice", "label one of them: `moka:?name=other`"];
    refused(&scene, &["moka:", "moka:"], &label);
    let name =
        ["the name `a` stands twice, of moka:?name=a and of lmdb:?name=a", "another `name=`"];
    refused(&scene, &["moka:?name=a", "lmdb:?name=a"], &name);
    let name = ["the name `memory:` stands twice, of moka:?name=memory: and of memory:"];
    refused(&scene, &["moka:?name=memory:", "memory:"], &name);
    let named = ["compare", "moka:", "moka:?name=other", "-k", "10", "-r", "1", "-o", "out"];
    scene.larder(&named).ends_with(0);
    let run = scene.run_json();
    let names: Vec<_> = run.targets.iter().map(|target| target.name.as_str()).collect();
    assert_eq!(names, ["moka:", "other"]);
    assert!(run.cells.len() == 4 && run.cells.iter().all(|cell| cell.reason.is_none()));
}

fn without_a_server() {
    let scene = Scene::new();
    let (port, socket) = ("memcached://127.0.0.1:1", "memcached:///nowhere/at.sock");
    let small = ["-k", "10", "-r", "1", "-o", "out"];
    scene.larder(&[&["compare", "moka:", port, socket][..], &small].concat()).ends_with(1);
    for cell in &scene.run_json().cells {
        let expected = match cell.target.as_str() {
            "moka:" => {
                assert!(cell.reason.is_none() && cell.ops_per_s.is_some(), "{cell:?}");
                continue;
            }
            url if url == port => "127.0.0.1:1 refused the connection; is memcached running there?",
            _ => "/nowhere/at.sock",
        };
        let reason = cell.reason.as_deref().unwrap();
        assert!(reason.contains(expected) && !reason.contains('\n'), "{reason}");
        assert_eq!((cell.ops_per_s, cell.counts.ops), (None, 0));
    }
}

fn no_target() {
    let scene = Scene::new();
    let small = ["-k", "10", "-r", "1", "-q", "-o", "out"];
    scene.write("file", "not a folder");
    let (below_file, nowhere) = (scene.path("file/x"), scene.path("nowhere/x"));
    let lmdb = format!("lmdb:{}", nowhere.display());
    let answer = scene.larder(&[&["compare", &lmdb][..], &small].concat());
    let folder = nowhere.parent().unwrap().display();
    let cannot =
        format!("{lmdb} cannot run: lmdb: there is no folder {folder}; make it or name another");
    answer.ends_with(1).complains(&[&cannot]);
    assert!(!scene.path("out").exists());

    let sqlite = format!("sqlite:{}", below_file.display());
    let port = "memcached://127.0.0.1:1";
    let answer = scene.larder(&[&["compare", &sqlite, port][..], &small].concat());
    answer.ends_with(1).complains(&[
        &format!("larder: {sqlite} cannot run: "),
        &format!("; and {port} cannot run: memcached: 127.0.0.1:1 refused the connection"),
    ]);
    assert!(!scene.path("out").exists());
    // Not even its plan can be told.
    scene.larder(&["compare", &lmdb, "-q", "--dry-run"]).ends_with(1).complains(&[&cannot]);
}

fn passwords() {
    let scene = Scene::new();
    let secret = "memcached://user:pa55word@127.0.0.1:1/";
    let refused = scene.larder(&["compare", "-q", secret, "-o", "out"]);
    refused.ends_with(2).complains(&["memcached://user:***@127.0.0.1:1/", "takes no user"]);
    assert!(!refused.err.contains("pa55word"), "{refused:?}");

    let target = "moka:?driver.password=pa55word";
    let answer = scene.larder(&["compare", target, "-k", "10", "-r", "1", "-o", "out"]);
    answer.ends_with(0);
    assert!(answer.out.contains("driver.password=***"), "{answer:?}");
    let mut texts = vec![answer.out, answer.err];
    for name in ["run.json", "report.html", "report.md", "samples.csv"] {
        texts.push(fs::read_to_string(scene.path("out").join(name)).unwrap());
    }
    for name in scene.files("out/hdr") {
        texts.push(fs::read_to_string(scene.path("out/hdr").join(name)).unwrap());
    }
    for text in texts {
        assert!(!text.contains("pa55word"), "{text}");
    }
}

fn oversize() {
    let scene = Scene::new();
    let answer =
        scene.larder(&["compare", "memcached:", "-d", "2170k", "-k", "5", "-r", "1", "-o", "out"]);
    answer.ends_with(0);
    assert!(answer.out.contains("value 2.1 MiB > item limit 1 MiB"), "{answer:?}");
    for cell in scene.run_json().cells {
        assert_eq!(cell.reason.as_deref(), Some("value 2.1 MiB > item limit 1 MiB"));
        assert_eq!((cell.ops_per_s, cell.latency_ns, cell.counts.ops), (None, None, 0));
    }
    // Where both sizes look alike, the bytes tell them apart.
    let near = ["compare", "memcached:", "-d", "1100000", "-k", "5", "-r", "1", "-q", "-o", "out"];
    let answer = scene.larder(&near);
    answer.ends_with(0);
    let reason = scene.run_json().cells[0].reason.clone().unwrap();
    let (value, limit) = reason.split_once(" > item limit ").unwrap();
    assert_eq!(value, "value 1100000 B", "{reason}");
    assert!(limit.ends_with(" B") && limit.len() == "1048000 B".len(), "{reason}");
    scene.assert_nothing_left();
}
