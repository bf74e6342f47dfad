//! Scenarios with parts and forms: the targets and points of each part, and the differences of the published and full
//! forms.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Scenario, Silent, compare};
use larder_engines::ENGINES;
use larder_report::{ArticleForm, Operation, PointValue, Run};

/// Reads a scenario from a file with this text.
fn read(text: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("mine.toml");
    std::fs::write(&path, text).unwrap();
    Scenario::find(path.to_str().unwrap()).map_err(|error| error.to_string())
}

fn run(scenario: &Scenario) -> Run {
    let plan = Plan::new(scenario, false, &ENGINES).unwrap();
    let stop = AtomicBool::new(false);
    compare(&plan, &ENGINES, Vec::new(), Permissions::default(), &Silent, &stop).unwrap().run
}

const PARTS: &str = r#"
    targets = ["moka:", "null:"]
    [workload]
    keys = 50
    requests = 200
    rounds = 1
    [[part]]
    name = "read-heavy"
    workload = { on-miss = "fill", key-pattern = "seq" }
    [[part]]
    name = "write-heavy"
    [part.workload]
    operations = "set+get"
    data-size = ["100", "2k"]
"#;

#[test]
fn each_part_has_its_own_points_and_operations_under_its_name() {
    let run = run(&read(PARTS).unwrap());
    assert_eq!(run.swept(), ["data_size", "part"]);
    let of = |part: &str, operation| {
        let part = PointValue::Text(part.into());
        let mine = |cell: &&larder_report::Cell| {
            cell.point["part"] == part && cell.operation == operation && cell.target == "moka:"
        };
        run.cells.iter().filter(mine).map(|cell| cell.counts.ops).collect::<Vec<_>>()
    };
    assert_eq!(of("read-heavy", Operation::GetOrSet), [200]);
    assert_eq!(of("write-heavy", Operation::Set), [100, 100], "two sizes");
    assert_eq!(of("write-heavy", Operation::Get), [100, 100]);
    assert!(of("read-heavy", Operation::Get).is_empty());
    assert_eq!(run.workload["keys"], "50", "what is the same is said once");
    assert_eq!(run.workload["operations"], "write-heavy: set+get");
    assert_eq!(run.workload["data-size"], "read-heavy: 1k; write-heavy: 100,2k");
}

#[test]
fn a_part_that_names_targets_is_measured_on_no_others() {
    let text =
        PARTS.replace("name = \"write-heavy\"", "name = \"write-heavy\"\ntargets = ['moka:']");
    let scenario = read(&text).unwrap();
    let plan = Plan::new(&scenario, false, &ENGINES).unwrap();
    assert_eq!(plan.turns(), 2 + 2, "one point on both, two on one");
    let run = run(&scenario);
    let of = |target: &str| run.cells.iter().filter(|cell| cell.target == target).count();
    assert_eq!((of("moka:"), of("null:")), (1 + 4, 1));
    assert!(run.cells.iter().all(|cell| cell.reason.is_none()), "{:#?}", run.cells);
    // A user who types other targets gets every part.
    let typed = Scenario { targets: vec!["null:".into()], ..scenario };
    assert_eq!(Plan::new(&typed, true, &ENGINES).unwrap().turns(), 3);
    let error = Plan::new(&typed, false, &ENGINES).unwrap_err().to_string();
    assert!(error.contains("no target of this form measures part `write-heavy`"), "{error}");
}

#[test]
fn a_single_part_needs_no_coordinate_and_a_typed_field_wins_over_every_part() {
    let one = "targets = ['moka:']\n[workload]\nrounds = 1\nkeys = 9\n[[part]]\nname = 'only'\nworkload = { keys = 7 }";
    let scenario = read(one).unwrap();
    let single = run(&scenario);
    assert_eq!(single.cells[0].counts.ops, 7);
    assert!(!single.cells[0].point.contains_key("part"));

    let typed = larder_workload::WorkloadSpec {
        requests: Some("60".parse().unwrap()),
        ..Default::default()
    };
    let run = run(&read(PARTS).unwrap().with_workload(&typed));
    let ops = |operation| {
        let mut cells = run.cells.iter().filter(|cell| cell.operation == operation);
        cells.next().unwrap().counts.ops
    };
    assert_eq!((ops(Operation::GetOrSet), ops(Operation::Set)), (60, 30));
}

const FORMS: &str = r#"
    targets = ["moka:"]
    workload = { keys = 100, requests = 10 }
    [published]
    targets = ["null:"]
    workload = { keys = 1 }
    [published.full]
    workload = { requests = 50_000 }
    [full]
    workload = { requests = 20_000 }
"#;

#[test]
fn a_form_replaces_the_fields_it_names_and_leaves_the_rest() {
    let of = |form, full| {
        let scenario = read(FORMS).unwrap().resolve(form, full).unwrap();
        let workload = scenario.workload;
        (scenario.targets[0].clone(), workload.keys.unwrap()[0].0, workload.requests.unwrap().0)
    };
    let (published, corrected) = (ArticleForm::Published, ArticleForm::Corrected);
    assert_eq!(of(corrected, false), ("moka:".into(), 100, 10));
    assert_eq!(of(corrected, true), ("moka:".into(), 100, 20_000));
    assert_eq!(of(published, false), ("null:".into(), 1, 10));
    assert_eq!(of(published, true), ("null:".into(), 1, 50_000));
    let scenario = read(FORMS).unwrap().resolve(published, false).unwrap();
    let plan = Plan::new(&scenario, false, &ENGINES).unwrap();
    assert_eq!(plan.workload["as"], "published");
}

#[test]
fn a_part_of_a_form_is_measured_on_the_targets_of_the_part_of_its_name() {
    let forms = "[[full.part]]\nname = 'write-heavy'\n[[full.part]]\nname = 'read-heavy'\ntargets = ['null:']\n\
                 [published]\ntargets = ['map:']\n[[published.part]]\nname = 'write-heavy'\n";
    let parts =
        PARTS.replace("name = \"write-heavy\"", "name = \"write-heavy\"\ntargets = ['moka:']");
    let targets = |form, full| {
        let scenario = read(&format!("{parts}{forms}")).unwrap().resolve(form, full).unwrap();
        scenario.parts.into_iter().map(|part| part.targets).collect::<Vec<_>>()
    };
    assert_eq!(targets(ArticleForm::Corrected, true), [["moka:"], ["null:"]]);
    let everybody = Vec::<String>::new();
    assert_eq!(targets(ArticleForm::Published, false), [everybody], "of other targets all");
}

#[test]
fn a_missing_form_or_a_wrong_part_is_refused_in_one_line() {
    let bare = || read("targets = ['moka:']").unwrap();
    let error = bare().resolve(ArticleForm::Published, false).unwrap_err().to_string();
    assert!(error.contains("scenario `mine` has no [published]"), "{error}");
    let error = bare().resolve(ArticleForm::Corrected, true).unwrap_err().to_string();
    assert!(error.contains("`mine` as corrected has no longer form"), "{error}");

    let part = |lines: &str| format!("targets = ['moka:']\n[[part]]\n{lines}");
    for (text, needle) in [
        (part("name = 'a b'"), "part name `a b`: only letters"),
        (part("name = ''"), "part name ``"),
        (part("name = 'a'\n[[part]]\nname = 'a'"), "part `a` stands twice"),
        (part("name = 'a'\nworkload = { rounds = 3 }"), "part `a` has `rounds`"),
        (part("name = 'a'\ntargets = ['null:']"), "part `a` is measured on `null:`, and no target"),
        (part("name = 'a'\nkeys = 3"), "line 4: unknown field `keys`"),
        ("targets = ['moka:']\n[published]\ntargets = []".into(), "a form without targets"),
        ("targets = ['moka:']\n[full.full]".into(), "no [full.full]"),
    ] {
        let error = read(&text).unwrap_err();
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
}
