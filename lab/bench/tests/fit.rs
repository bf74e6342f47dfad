//! A plan that would take too long gets fewer keys, the same for every target.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

use std::sync::atomic::AtomicBool;

use larder_bench::{Permissions, Plan, Scenario, Silent, fit};
use larder_testkit::stores;
use larder_workload::WorkloadSpec;

/// A plan of 20,000 keys for these targets, with this line of the workload: as written, and as carried out.
fn fitted(targets: &[&str], line: &str) -> (Plan, Plan) {
    let targets = targets.iter().map(|target| format!("'{target}'")).collect::<Vec<_>>();
    let text = format!(
        "name = 'test'\ntargets = [{}]\n[workload]\nkeys = 20000\nrounds = 10\n{line}\n",
        targets.join(", ")
    );
    let file = tempfile::Builder::new().suffix(".toml").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let scenario = Scenario::find(file.path().to_str().unwrap()).unwrap();
    let plan = || Plan::new(&scenario, false, &stores::ENGINES).unwrap();
    let (permissions, stop) = (Permissions::default(), AtomicBool::new(false));
    let fitted = fit(plan(), &scenario, false, &stores::ENGINES, permissions, &Silent, &stop);
    (plan(), fitted.unwrap())
}

#[test]
fn a_plan_that_takes_too_long_gets_fewer_keys_for_all_targets_and_says_so() {
    // At 0.3 ms or more for each of 400,000 operations.
    let (whole, fitted) = fitted(&["map:", "faulty:?fault=sleep&micros=300"], "within = '10s'");
    let fewer: u32 = fitted.workload["keys"].parse().unwrap();
    assert!((100..=3000).contains(&fewer), "{fewer}");
    assert_eq!(fitted.points.len(), 1);
    assert_eq!((whole.notes.len(), fitted.notes.len()), (0, 1));
    let note = &fitted.notes[0];
    assert!(note.starts_with("20000 keys would take about "), "{note}");
    let end = format!(
        "longer than 10s (--within): {fewer} keys are measured; `-k 20000` measures all of them"
    );
    assert!(note.ends_with(&end), "{note}");
}

#[test]
fn a_plan_within_its_time_or_without_a_time_stays_as_it_is() {
    for line in ["within = '24h'", ""] {
        let (whole, fitted) = fitted(&["map:"], line);
        assert_eq!(fitted.workload, whole.workload, "{line}");
        assert!(fitted.notes.is_empty(), "{:?}", fitted.notes);
    }
}

#[test]
fn the_time_is_refused_beside_requests_and_gives_way_to_typed_keys() {
    let scenario = |line: &str| {
        let spec: WorkloadSpec = toml::from_str(&format!("within = '1m'\n{line}")).unwrap();
        Scenario {
            name: "test".into(),
            targets: vec!["map:".into()],
            workload: spec,
            ..Scenario::default()
        }
    };
    let error = Plan::new(&scenario("requests = 5"), true, &stores::ENGINES).unwrap_err();
    assert_eq!(
        error.to_string(),
        "--within 1m takes fewer keys, and --requests says how much is measured: leave out one of them"
    );
    let typed = WorkloadSpec { keys: Some("7".parse().unwrap()), ..WorkloadSpec::default() };
    let plan = Plan::new(&scenario("").with_workload(&typed), true, &stores::ENGINES).unwrap();
    assert_eq!(plan.within, None);
}
