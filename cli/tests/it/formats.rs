//! The format in which a trace is read, told by each command that reads one; and the trace in the program.

use larder_report::TraceInfo;

use crate::scene::{Scene, assert_contains};
use crate::{Case, NOTHING};

pub(crate) const CASES: &[Case] = &[
    (NOTHING, "every_command_that_reads_a_trace_tells_its_format", told),
    (NOTHING, "the_trace_in_the_program_stands_wherever_a_trace_does", built_in),
    (NOTHING, "an_advice_without_room_speaks_of_no_flag_that_it_lacks", without_room),
];

fn told() {
    let scene = Scene::new();
    scene.write("web.csv", "timestamp,obj_id,obj_size\n1,a,100\n2,b,100\n2,a,100\n");
    let format = "csv (by its header: timestamp as time, obj_id as key, obj_size as size)";
    let taken = "times are seconds, because the first, 1, is too small for a date";
    let read_as = format!("{format}; {taken}");
    let line = format!("web.csv is read as {read_as}");
    for shown in ["table", "markdown", "html"] {
        let answer = scene.larder(&["trace", "info", "web.csv", "--format", shown]);
        assert_contains(
            &answer.ends_with(0).out.replace('\\', ""),
            &["format", "timestamp as time"],
        );
    }
    let answer = scene.larder(&["trace", "info", "web.csv", "--format", "json"]);
    let info: TraceInfo = serde_json::from_str(&answer.ends_with(0).out).unwrap();
    assert_eq!(info.trace.format.as_deref(), Some(format));
    assert_eq!(info.trace.notes, [taken]);

    let converted = scene.larder(&["trace", "convert", "web.csv", "web.parquet"]);
    assert_contains(&converted.ends_with(0).err, &[&line, "3 operations are in web.parquet"]);

    let compare = ["compare", "moka:", "--keys-from", "trace:web.csv", "-r", "1", "-o", "out"];
    let loud = scene.larder(&compare);
    assert_contains(&loud.ends_with(0).err, &[&line]);
    assert_eq!(scene.run_json().workload["trace-format"], read_as);
    let quiet = scene.larder(&[&compare[..], &["-q"]].concat());
    assert!(!quiet.ends_with(0).err.contains("is read as"), "{}", quiet.err);
    let plan = scene.larder(&[&compare[..], &["--dry-run", "-q"]].concat());
    assert_contains(&plan.ends_with(0).out, &[format!("trace-format: {read_as}")]);

    let advise = ["advise", "web.csv", "moka:", "-r", "1", "-o", "advice"];
    assert_contains(&scene.larder(&advise).err, &[&line]);
    let quiet = scene.larder(&[&advise[..], &["-q"]].concat());
    assert!(!quiet.err.contains("is read as"), "{}", quiet.err);
}

fn built_in() {
    let scene = Scene::new();
    let answer = scene.larder(&["trace", "info", "builtin:web12", "--format", "json"]);
    let info: TraceInfo = serde_json::from_str(&answer.ends_with(0).out).unwrap();
    assert_eq!((info.rows, info.reads), (30_000, 30_000));
    let trace = ["--keys-from", "trace:builtin:web12", "--on-miss", "fill", "-d", "100"];
    let arguments = [&["compare", "moka:", "-q", "-r", "1", "-o", "out"][..], &trace].concat();
    scene.larder(&arguments).ends_with(0);
    let counts = scene.run_json().cells[0].counts;
    assert_eq!((counts.ops, counts.misses), (30_000, 7508));
    let shown = scene.larder(&["scenarios", "web:builtin:web12"]);
    assert_contains(&shown.ends_with(0).out, &["web-web12", "trace:builtin:web12"]);
    let unknown = scene.larder(&["trace", "info", "builtin:web07"]);
    unknown.ends_with(2).complains(&["builtin:web07", "known: builtin:web12"]);
    let written = scene.larder(&["trace", "convert", "builtin:web12", "builtin:web12"]);
    written.ends_with(2).complains(&["is only read"]);
}

fn without_room() {
    let scene = Scene::new();
    let work = ["builtin:web12", "moka:", "--requests", "2000", "-d", "8k", "-q", "-o", "advice"];
    let answer = scene.larder(&[&["advise"], &work[..], &["--memory", "3k", "-r", "1"]].concat());
    let told = &answer.ends_with(1).out;
    assert_contains(told, &["cannot be so small: it takes 4 KiB; allow more --memory"]);
    assert!(!told.contains("--keys") && !told.contains("--capacity"), "{told}");
    assert_contains(
        &std::fs::read_to_string(scene.path("advice/report.html")).unwrap(),
        &["<h1>Which cache for web12?</h1>"],
    );
    let trace = ["--keys-from", "trace:builtin:web12", "--on-miss", "fill", "--capacity", "3k,1m"];
    let work = ["compare", "moka:", "-d", "8k", "-q", "-r", "1", "--requests", "2000", "-o", "out"];
    scene.larder(&[&work[..], &trace].concat());
    let run = scene.run_json();
    let reason = run.cells.iter().find_map(|cell| cell.reason.as_deref());
    let expected = "cannot be as small as --capacity asks: it takes 4 KiB; take a larger capacity";
    assert_eq!(reason, Some(expected));
}
