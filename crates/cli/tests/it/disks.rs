//! Disks that are full or cannot be written: refused or a reason, never a figure for what was dropped.

use crate::scene::{Answer, Scene};
use crate::{Case, MOUNTS};

pub(crate) const CASES: &[Case] = &[
    (MOUNTS, "a_plan_beyond_the_disk_is_refused", beyond_the_disk),
    (MOUNTS, "a_disk_that_fills_up_is_a_reason_and_never_a_silent_drop", fills_up),
    (MOUNTS, "a_folder_that_is_read_only_is_a_reason", read_only),
    (MOUNTS, "results_that_find_no_room_are_told_before_anything_runs", no_room_for_results),
];

const ENGINES_OF_FILES: [&str; 3] = ["file", "lmdb", "sqlite"];

/// Runs `larder` where `disk` is a file system of its own that only this process sees.
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

fn no_room_for_results() {
    let scene = Scene::new();
    let answer = larder_on(&scene, "ro", &["compare", "moka:", "-o", "disk/out"]);
    answer.ends_with(1).complains(&["writing results into disk/out", "ead-only"]);
}
