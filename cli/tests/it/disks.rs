//! Disks that are full or cannot be written: a refusal or a reason, never a figure for lost values.

use larder_report::Operation;

use crate::scene::{Answer, Scene};
use crate::{Case, MOUNTS, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (MOUNTS, "a_plan_beyond_the_disk_is_refused", beyond_the_disk),
    (MOUNTS, "a_disk_that_fills_up_is_a_reason_and_never_a_silent_drop", fills_up),
    (MOUNTS, "a_file_system_of_its_own_may_fill_up_and_goes_with_the_run", fills_its_own),
    (MOUNTS, "a_ramfs_takes_more_than_its_size_and_the_run_says_so", ramfs),
    (MOUNTS, "a_folder_that_is_read_only_is_a_reason", read_only),
    (MOUNTS, "a_disk_that_fills_up_costs_no_run_json", no_room_for_reports),
    (NOTHING, "a_file_that_may_not_be_so_large_costs_no_other_result", no_large_files),
    (MOUNTS, "results_that_find_no_room_are_told_before_anything_runs", no_room_for_results),
];

const ENGINES_OF_FILES: [&str; 3] = ["file", "lmdb", "sqlite"];

/// Runs `larder` with a file system of its own at `disk`, which only this process sees.
fn larder_on(scene: &Scene, options: &str, arguments: &[&str]) -> Answer {
    std::fs::create_dir_all(scene.path("disk")).unwrap();
    let script = r#"mount -t tmpfs -o "$0" none disk && exec "$LARDER" "$@""#;
    scene.shell(
        "unshare",
        &[&["--map-root-user", "--mount", "sh", "-c", script, options], arguments].concat(),
    )
}

fn beyond_the_disk() {
    let scene = Scene::new();
    for engine in ENGINES_OF_FILES {
        let target = format!("{engine}:disk");
        let arguments = ["compare", "-q", &target, "-k", "500", "-d", "16k", "-o", "out"];
        let answer = larder_on(&scene, "size=4m", &arguments);
        answer.ends_with(2).complains(&["on tmpfs", "are free", "use fewer --keys", "--yes"]);
        scene.assert_nothing_left();
    }
}

fn fills_up() {
    let scene = Scene::new();
    for engine in ENGINES_OF_FILES {
        let target = format!("{engine}:disk");
        let arguments =
            ["compare", "-q", "--yes", &target, "-k", "500", "-d", "16k", "-r", "1", "-o", "out"];
        let answer = larder_on(&scene, "size=4m", &arguments);
        answer.ends_with(1);
        let run = scene.run_json();
        assert_eq!(run.cells.len(), 2);
        for cell in &run.cells {
            let reason = cell.reason.as_deref().unwrap_or_else(|| panic!("no reason: {cell:#?}"));
            assert!(reason.contains("full") && !reason.contains('\n'), "{reason}");
            assert!(cell.ops_per_s.is_none() && cell.counts.read_back_absent == 0, "{cell:?}");
        }
        assert!(!run.checks.iter().any(|check| check.id == "SILENT-DROP"), "{:?}", run.checks);
        scene.assert_nothing_left();
    }
}

/// Runs `larder compare` with the right to mount.
fn compare_with_mounts(scene: &Scene, arguments: &[&str]) -> Answer {
    let script = r#"exec "$LARDER" compare -q -r 2 -o out --overwrite "$@""#;
    scene.shell(
        "unshare",
        &[&["--map-root-user", "--mount", "sh", "-c", script, "sh"], arguments].concat(),
    )
}

fn fills_its_own() {
    let scene = Scene::new();
    // A000 wrote 1,060 MB of values into 1,024 MB; this plan is a thousandth of that.
    let plan = ["file:?mount=tmpfs:1m", "-k", "106", "-d", "10k"];
    compare_with_mounts(&scene, &plan).ends_with(0);
    let run = scene.run_json();
    assert_eq!(run.targets[0].capacity_bytes, Some(1 << 20));
    assert_eq!(run.targets[0].settings["mount"], "tmpfs, size=1 MiB");
    let sets = run.cells.iter().find(|cell| cell.operation == Operation::Set).unwrap();
    assert!(sets.counts.errors > 0 && sets.counts.read_back_absent == 0, "{sets:#?}");
    let said = |id: &str| run.checks.iter().find(|check| check.id == id).map(|check| &*check.text);
    assert!(said("ERR-AS-OP").unwrap().contains("no room left on its tmpfs, size=1 MiB"));
    assert!(said("CAPACITY").unwrap().contains("nothing was evicted"), "{:?}", said("CAPACITY"));
    assert_eq!(said("SILENT-DROP"), None);
    scene.assert_nothing_left();

    // Where nearly no value fits, the full disk is the reason.
    let plan = ["file:?mount=tmpfs:1m", "-k", "500", "-d", "16k"];
    compare_with_mounts(&scene, &plan).ends_with(1);
    for cell in &scene.run_json().cells {
        assert!(cell.reason.as_deref().is_some_and(|reason| reason.contains("full")), "{cell:#?}");
    }
    scene.assert_nothing_left();
}

fn ramfs() {
    let scene = Scene::new();
    let plan = ["file:?mount=ramfs:1m", "-k", "50", "-d", "100k"];
    compare_with_mounts(&scene, &plan).ends_with(0);
    let run = scene.run_json();
    let said = run.checks.iter().find(|check| check.id == "FS-KIND").unwrap();
    assert!(said.text.contains("no limit but memory"), "{}", said.text);
    assert!(said.text.ends_with("(ramfs, size=1 MiB is ignored by ramfs)"), "{}", said.text);
    assert_eq!(run.targets[0].file_system.as_deref(), Some("ramfs (no limit)"));
    for cell in &run.cells {
        assert!(cell.reason.is_none() && cell.counts.errors + cell.counts.misses == 0, "{cell:#?}");
    }
    scene.assert_nothing_left();
}

fn read_only() {
    let scene = Scene::new();
    for engine in ENGINES_OF_FILES {
        let target = format!("{engine}:disk");
        let arguments = ["compare", "-q", &target, "moka:", "-k", "10", "-r", "1", "-o", "out"];
        larder_on(&scene, "ro", &arguments).ends_with(1);
        let run = scene.run_json();
        for cell in run.cells.iter().filter(|cell| cell.target == target) {
            let reason = cell.reason.as_deref().unwrap();
            assert!(reason.contains("disk") && reason.contains("ead-only"), "{reason}");
        }
        assert!(run.cells.iter().any(|cell| cell.target == "moka:" && cell.reason.is_none()));
        scene.assert_nothing_left();
    }
}

/// A run that kept its `run.json` but lost other files says so, and `larder report` can make these again.
#[track_caller]
fn keeps_its_run(scene: &Scene, answer: &Answer, missing: &[&str], why: &str) {
    answer.ends_with(1);
    assert!(answer.out.contains("moka:"), "what was measured is shown: {answer:#?}");
    let told: Vec<&str> = answer.err.lines().collect();
    assert_eq!(told.len(), missing.len() + 1, "a line for each, and where the rest is: {told:#?}");
    for (line, name) in told.iter().zip(missing) {
        assert!(line.contains(name) && line.contains(why), "{name}: {line}");
        assert!(line.contains("makes it once there is room") || name.contains("hdr"), "{line}");
    }
    let run = scene.run_json();
    assert!(run.cells.iter().all(|cell| cell.ops_per_s.is_some()), "{run:#?}");
    let _ = std::fs::remove_file(scene.path("out/report.html"));
    scene.larder(&["report", "out"]).ends_with(0);
    for name in ["samples.csv", "usage.csv", "report.md", "report.html"] {
        assert!(scene.path("out").join(name).exists(), "{name} is not made again");
    }
}

fn no_room_for_reports() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.path("disk")).unwrap();
    // The disk vanishes with the process, so the script copies its files.
    let script = r#"mount -t tmpfs -o size=96k none disk
        "$LARDER" compare moka: -q -r 3 -k 1000 -o disk/out; code=$?
        cp -r disk/out out; exit $code"#;
    let answer = scene.shell("unshare", &["--map-root-user", "--mount", "sh", "-c", script]);
    keeps_its_run(&scene, &answer, &["disk/out/report.html"], "No space left");
}

fn no_large_files() {
    let scene = Scene::new();
    // The shell counts in half or whole kibibytes: the limit leaves room for run.json, and not for the page.
    let script =
        r#"trap '' XFSZ; ulimit -f 120; exec "$LARDER" compare moka: -q -r 3 -k 1000 -o out"#;
    let answer = scene.shell("sh", &["-c", script]);
    keeps_its_run(&scene, &answer, &["out/report.html"], "File too large");
}

fn no_room_for_results() {
    let scene = Scene::new();
    let answer = larder_on(&scene, "ro", &["compare", "moka:", "-o", "disk/out"]);
    answer.ends_with(1).complains(&["writing disk/out", "ead-only"]);
}
