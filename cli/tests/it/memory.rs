//! The memory limit of a whole run: a process above it is killed, the run says so, and no process is left.

use std::fs;
use std::path::Path;
use std::process::Command;

use larder_testkit::{PATIENCE, within};

use crate::scene::{LARDER, Scene, assert_contains};
use crate::{Case, MEMCACHED, MOUNTS, NOTHING, Need};

pub(crate) const CASES: &[Case] = &[
    (LIMITED, "a_server_that_takes_more_than_the_run_may_have_is_a_reason", server_killed),
    (LIMITED, "nothing_is_left_when_larder_takes_more_than_it_may_have", larder_killed),
    (LIMITED, "a_plan_beyond_the_limit_of_memory_is_refused", beyond),
    (LIMITED, "a_region_in_memory_beyond_the_limit_is_refused_before_it_is_made", region),
    (MOUNTS, "where_memory_cannot_be_limited_there_is_no_run", cannot_be_limited),
    (NOTHING, "an_impossible_limit_of_memory_is_refused", no_limit),
];

/// A memcached, and memory that can be limited.
const LIMITED: Need = || {
    MEMCACHED()?;
    let plan = ["compare", "null:", "--memory", "64m", "-k", "10", "--dry-run", "-q"];
    let tried = Command::new(LARDER).args(plan).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&tried.stderr);
    if tried.status.success() { Ok(()) } else { Err(said.trim().to_owned()) }
};

/// 160 MB of values.
const MORE: &str = "keys = 40000\ndata-size = '4k'\nrounds = 1\nmemory = '96m'";

fn server_killed() {
    let scene = Scene::new();
    scene.write("s.toml", format!("targets = ['memcached:?m=1g', 'null:']\n[workload]\n{MORE}"));
    let arguments = ["compare", "-q", "--yes", "--scenario", "s.toml", "-o", "out"];
    // A scenario's lost target is a reason and no failure.
    scene.larder(&arguments).ends_with(0);
    let run = scene.run_json();
    assert_eq!(run.environment.memory_limit_bytes, Some(96 << 20));
    assert_eq!(run.workload["memory"], "96 MiB");
    assert!(run.notes.iter().any(|note| note.contains("had 96 MiB of memory together")));
    for cell in run.cells.iter().filter(|cell| cell.target.starts_with("memcached:")) {
        let reason = cell.reason.as_deref().unwrap();
        let words = "was killed: out of memory within the limit of 96 MiB (memcached: ";
        assert!(reason.contains(words), "{reason}");
    }
    scene.assert_nothing_left();
}

fn larder_killed() {
    let scene = Scene::new();
    let targets = "targets = ['moka:', 'memcached:?m=8m']";
    scene.write("s.toml", format!("{targets}\n[workload]\n{MORE}"));
    let larder = scene.start(&["compare", "--yes", "--scenario", "s.toml", "-o", "out"]);
    let group = format!("larder-{}-", larder.pid());
    assert_eq!(larder.ends(), None, "it was not killed");
    scene.assert_nothing_left();
    let gone = || !has_group(Path::new("/sys/fs/cgroup"), &group);
    assert!(within(PATIENCE, gone), "{group} is left");
}

/// Whether a control group's name begins like this.
fn has_group(folder: &Path, beginning: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut groups = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    groups.any(|entry| {
        let name = entry.file_name().to_string_lossy().starts_with(beginning);
        name || has_group(&entry.path(), beginning)
    })
}

fn beyond() {
    let scene = Scene::new();
    let plan = ["-k", "40k", "-d", "4k", "--memory", "96m", "-o", "out"];
    let answer = scene.larder(&[&["compare", "-q", "memcached:"], &plan[..]].concat());
    answer.ends_with(2).complains(&["of memory", "MiB are free", "use fewer --keys", "--yes"]);
    scene.assert_nothing_left();
}

fn region() {
    let scene = Scene::new();
    let plan = ["-k", "100", "-d", "100", "-r", "1", "--memory", "64m", "-o", "out"];
    let answer = scene.larder(&[&["compare", "-q", "mmap:?size=256m"], &plan[..]].concat());
    answer.ends_with(1);
    assert_contains(&answer.err, &["`size` 256 MiB > ", "the rest of this process's memory limit"]);
    scene.assert_nothing_left();
}

fn cannot_be_limited() {
    let scene = Scene::new();
    let script = r#"mount -t tmpfs -o ro none /sys/fs/cgroup && exec "$LARDER" "$@""#;
    let larder = ["compare", "-q", "moka:", "--memory", "100m", "-o", "out"];
    let arguments = [&["--map-root-user", "--mount", "sh", "-c", script, "sh"], &larder[..]];
    let answer = scene.shell("unshare", &arguments.concat());
    answer.ends_with(2).complains(&[
        "--memory 100m: ",
        "have it limited from outside: systemd-run --user --scope -p MemoryMax=100M",
    ]);
    scene.assert_nothing_left();
}

fn no_limit() {
    let scene = Scene::new();
    for (limit, words) in [("12m", "below 64 MiB"), ("1000t", "this machine has ")] {
        let answer = scene.larder(&["compare", "-q", "moka:", "--memory", limit]);
        answer.ends_with(2).complains(&[&format!("--memory {limit}: "), words]);
    }
}
