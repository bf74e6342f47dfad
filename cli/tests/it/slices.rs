//! One comparison on several machines: the slices of its plan, merged into the whole again.

use std::fs;

use larder_report::Run;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "slices_of_a_plan_become_the_whole_again", merged),
    (NOTHING, "the_example_of_a_job_array_leaves_eight_slices_of_one_run", job_array),
    (NOTHING, "a_wrong_slice_is_refused_in_one_line", refused),
];

fn slice(scene: &Scene, number: u32, more: &[&str]) {
    let (spec, folder) = (format!("{number}/2"), format!("slice-{number}"));
    let small = ["compare", "moka:", "file:", "-q", "-k", "100", "-r", "7", "-o", &folder];
    scene.larder(&[&small[..], &["--slice", &spec], more].concat()).ends_with(0);
}

fn run(scene: &Scene, folder: &str) -> Run {
    let text = fs::read_to_string(scene.path(folder).join("run.json")).unwrap();
    Run::from_json(&text).unwrap()
}

fn rounds(run: &Run) -> Vec<u32> {
    run.cells[0].samples.iter().map(|sample| sample.round).collect()
}

fn merged() {
    let scene = Scene::new();
    slice(&scene, 1, &[]);
    slice(&scene, 2, &[]);
    let whole = ["compare", "moka:", "file:", "-q", "-k", "100", "-r", "7", "-o", "out"];
    scene.larder(&whole).ends_with(0);
    let parts = [run(&scene, "slice-1"), run(&scene, "slice-2")];
    assert_eq!(parts.each_ref().map(rounds), [vec![1, 3, 5, 7], vec![2, 4, 6]]);

    let answer = scene.larder(&["report", "slice-2", "slice-1", "--merge", "merged"]);
    answer.ends_with(0);
    assert_eq!((answer.out.as_str(), answer.err.as_str()), ("", "results: merged\n"));
    let (merged, whole) = (run(&scene, "merged"), scene.run_json());
    assert_eq!(rounds(&merged), [1, 2, 3, 4, 5, 6, 7]);
    let numbers: Vec<u32> = merged.slices.iter().map(|part| part.slice.number).collect();
    assert_eq!((numbers, &merged.slice), (vec![1, 2], &None));
    for (cell, of_whole) in merged.cells.iter().zip(&whole.cells) {
        assert_eq!(cell.rounds, 7);
        // The results of the plan are the same: the seeds, the keys, and the order of targets.
        let planned = |cell: &larder_report::Cell| {
            let places = cell.samples.iter().map(|sample| (sample.round, sample.position));
            (cell.counts.ops, cell.counts.hits, cell.bytes, places.collect::<Vec<_>>())
        };
        assert_eq!(planned(cell), planned(of_whole));
        assert!(cell.ops_per_s_ci95.is_some(), "seven rounds have an interval");
    }
    // It is an ordinary folder of results.
    let [left, of_whole] = ["merged", "out"].map(|folder| {
        let mut files = scene.files(folder);
        files.sort();
        files
    });
    assert_eq!(left, of_whole);
    assert_eq!(scene.files("merged/hdr").len(), 4);
    let printed = scene.larder(&["report", "merged", "--format", "markdown"]);
    assert_contains(&printed.out, &["7 rounds (put together of 2 slices), "]);

    // A printed report merges the slices; reports written to the folders stay separate.
    let printed = scene.larder(&["report", "slice-1", "slice-2", "--format", "json"]);
    printed.ends_with(0);
    assert_eq!(printed.json()["cells"][0]["rounds"], 7);
    let anew = scene.larder(&["report", "slice-1", "slice-2"]);
    anew.ends_with(0);
    assert_contains(
        &anew.err,
        &["reports: slice-1\n", "slices of one plan: --merge DIR puts them together"],
    );
    assert_eq!(rounds(&run(&scene, "slice-1")), [1, 3, 5, 7]);
}

fn job_array() {
    let scene = Scene::new();
    scene.write("job-array.sh", include_str!("../../../examples/job-array.sh"));
    // Real figures need the slices one after the other. Here they run side by side, to save time.
    let array = "for n in 1 2 3 4 5 6 7 8; do \
                 SLURM_ARRAY_TASK_ID=$n sh job-array.sh moka: -k 50 -r 9 > /dev/null & done; wait";
    scene.shell("sh", &["-c", array]).ends_with(0);
    let merge = scene.shell("sh", &["-c", "$LARDER report slices/* --merge out"]);
    merge.ends_with(0);
    let run = scene.run_json();
    assert_eq!((run.slices.len(), rounds(&run)), (8, (1..=9).collect()));
    let without = scene.shell("sh", &["job-array.sh", "moka:"]);
    assert_contains(&without.err, &["no job array"]);
}

fn refused() {
    let scene = Scene::new();
    slice(&scene, 1, &[]);
    slice(&scene, 2, &["--seed", "2"]);
    let merge = |folders: &[&str]| scene.larder(&[&["report"], folders].concat());
    merge(&["slice-1", "slice-2", "--merge", "out"])
        .ends_with(2)
        .complains(&["slices of two plans"]);
    merge(&["slice-1", "slice-1/run.json", "--merge", "out"])
        .ends_with(2)
        .complains(&["the same slice 1/2"]);
    merge(&["slice-1", "--merge", "slice-1"]).ends_with(2).complains(&["the folder holds a slice"]);
    assert!(!scene.path("out").exists());
    // A single slice is merged with a note on the missing slices.
    let alone = merge(&["slice-1", "--merge", "out"]);
    assert_contains(&alone.ends_with(0).err, &["larder: 1 of 2 slices are here"]);
    let command = scene.run_json().argv;
    assert!(!command.iter().any(|word| word == "--slice"), "{command:?}");
    let note = "slice 2 of 2 is missing: 4 of 7 rounds are here";
    assert!(
        scene.run_json().notes.iter().any(|told| told == note),
        "{:#?}",
        scene.run_json().notes
    );
    for (arguments, part) in [
        (
            &["compare", "moka:", "--slice", "3/2"][..],
            "`3/2` is not a slice of several, such as 3/8",
        ),
        (&["compare", "moka:", "-r", "2", "--slice", "1/3"], "--slice 1/3: the plan has 2 rounds"),
        (&["compare", "--scenario", "all-articles", "--slice", "1/3"], "`all-articles` is a set"),
        (
            &["report", "out", "--merge", "out-2"],
            "out: put together of slices 1 of 2; name the slices themselves",
        ),
    ] {
        scene.larder(arguments).ends_with(2).complains(&[part]);
    }
    let plan = scene.larder(&[
        "compare",
        "moka:",
        "-k",
        "50",
        "-r",
        "7",
        "--slice",
        "2/2",
        "--dry-run",
        "-q",
    ]);
    assert_contains(&plan.out, &["  rounds: 3 of 7, as slice 2 of 2\n"]);
}
