//! Traces that cannot be read: every command that reads one complains in one line, with the same exit code.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use larder_testkit::{PATIENCE, within};

use crate::scene::Scene;
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "a_trace_that_cannot_be_read_is_wrong_usage_of_every_command", of_every_command),
    (NOTHING, "a_new_trace_that_cannot_be_written_is_a_failure", not_written),
    (NOTHING, "an_interrupted_conversion_leaves_no_file", interrupted),
    (NOTHING, "a_new_trace_is_as_private_as_the_one_that_is_read", as_private),
];

/// The commands that read a trace, `TRACE` in place of its name.
const COMMANDS: &[&str] = &[
    "trace info TRACE",
    "trace convert TRACE new.csv",
    "advise TRACE memory: -q -o advice",
    "compare memory: --keys-from trace:TRACE -q -o out",
    "compare memory: --keys-from trace:TRACE --replay 10x -q -o out",
    "compare memory: --keys-from trace:TRACE --on-miss fill --capacity 4m -q -o out",
    "compare memory: --keys-from trace:TRACE --dry-run",
    "compare --scenario web:TRACE -q -o out",
    "compare --scenario hit-ratio:TRACE -q -o out",
    "record --from pcap:TRACE --upstream memcached://127.0.0.1:11211 -o new.parquet",
];

fn of_every_command() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path("folder.csv")).unwrap();
    scene.write("empty.csv", "");
    scene.write("header.csv", "key,op,size\n");
    scene.write("text.log", "GET /index.html 200\nhello\n");
    scene.write("broken.csv", "key,op,size\na,get,100\nb,get,large\n");
    scene.write("cut.trace", [0xf7; 1001]);
    for (trace, fault) in [
        ("missing.csv", "No such file or directory"),
        ("folder.csv", "s a directory"),
        ("empty.csv", ""),
        ("header.csv", ""),
        ("text.log", ""),
        ("broken.csv", ""),
        ("cut.trace", ""),
        ("missing-*.csv", ""),
    ] {
        for command in COMMANDS {
            let arguments: Vec<String> =
                command.split(' ').map(|word| word.replace("TRACE", trace)).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // A capture has its own readers, but the same exit codes.
            let answer = scene.larder(&arguments);
            answer.ends_with(2).complains(&[trace, fault]);
            for made in ["new.csv", "new.csv.new", "new.parquet", "new.journal", "advice", "out"] {
                assert!(!scene.path(made).exists(), "{command}: {made} is left: {answer:#?}");
            }
        }
    }
}

fn not_written() {
    let scene = Scene::new();
    scene.write("web.csv", "key,op,size\na,get,100\n");
    let answer = scene.larder(&["trace", "convert", "web.csv", "nowhere/new.csv"]);
    answer.ends_with(1).complains(&["writing nowhere/new.csv: No such file or directory"]);
}

fn interrupted() {
    let scene = Scene::new();
    let pipe = scene.path("web.csv");
    scene.shell("mkfifo", &[pipe.to_str().unwrap()]).ends_with(0);
    let running = scene.start(&["trace", "convert", "web.csv", "new.csv"]);
    // Opens once the command reads, which then waits for the end of the trace.
    let mut trace = fs::File::options().write(true).open(&pipe).unwrap();
    trace.write_all(b"key,op\na,get\n").unwrap();
    let new = || scene.files("").into_iter().filter(|name| name.starts_with(".tmp")).count();
    assert!(within(PATIENCE, || new() == 1));
    running.signal(libc::SIGINT);
    assert_eq!(running.ends(), None);
    assert_eq!(new(), 0);
    assert!(!scene.path("new.csv").exists());
}

fn as_private() {
    let scene = Scene::new();
    let path = |name: &str| scene.path(name).display().to_string();
    for (mode, umask, expected) in
        [(0o644, "022", 0o644), (0o600, "022", 0o600), (0o640, "000", 0o640), (0o666, "077", 0o600)]
    {
        scene.write("web.csv", "key,op\na,get\n");
        fs::set_permissions(scene.path("web.csv"), fs::Permissions::from_mode(mode)).unwrap();
        let script = format!("umask {umask}; \"$LARDER\" trace convert \"$0\" \"$1\" --overwrite");
        scene.shell("sh", &["-c", &script, &path("web.csv"), &path("new.csv")]).ends_with(0);
        let found = fs::metadata(scene.path("new.csv")).unwrap().permissions().mode() & 0o777;
        assert_eq!(found, expected, "{mode:o} with umask {umask}");
    }
}
