//! Right and wrong values: commands tamper with the cache, and the test compares the results of gets.

use larder_bench::guest::protocol::{HandPhase, HandPlan, Program, Step};
use larder_report::Operation;
use larder_workload::NOTHING;
use serde_json::Value as Json;

use super::{Case, Language, counts, latencies, remove, run, run_one, store};

pub(super) const CASES: &[(&str, Case)] = &[
    ("a_value_is_right_as_it_is_and_in_no_other_way", whole),
    ("a_newer_value_is_right_and_an_older_one_is_not", newer),
    ("each_way_in_which_a_value_is_wrong_is_told", ways),
    ("where_nothing_may_be_there_a_miss_is_right_and_a_hit_is_stale", gone),
    ("bytes_are_those_that_were_moved", moved),
];

const WAYS: [&str; 4] = ["truncated", "stale", "other_key", "damaged"];

fn plan() -> HandPlan {
    HandPlan::new("verified-", 4, 1, 4096)
}

/// The result of a get of the first key, with this value in the cache and an expected value.
fn got(program: &mut Program, plan: HandPlan, held: Option<&[u8]>, expected: u32) -> Json {
    let key = plan.key(0);
    match held {
        Some(held) => store(program, &key, held),
        None => _ = remove(program, &key),
    }
    run_one(program, plan, Operation::Get, vec![Step::get(0, expected)])
}

fn whole(language: &'static Language) {
    let mut program = language.keeping();
    for len in [5, 23, 24, 100] {
        let mut check = |held: &dyn Fn(&[u8]) -> Option<Vec<u8>>, expected: [u64; 4]| {
            let mut plan = plan();
            let value = plan.value(0, len);
            let held = held(plan.text(value));
            let get = got(&mut program, plan, held.as_deref(), value);
            let told = counts(&get, &["hits", "misses", "wrong", "truncated"]);
            assert_eq!(told, expected, "{len} bytes: {get}");
        };
        check(&|text| Some(text.to_vec()), [1, 0, 0, 0]);
        check(&|_| None, [0, 1, 0, 0]);
        check(&|text| Some(text[..len - 1].to_vec()), [0, 0, 1, 1]);
        check(&|text| Some([text, b"x"].concat()), [0, 0, 1, 0]);
        check(&|text| Some([&text[..len - 1], &[!text[len - 1]]].concat()), [0, 0, 1, 0]);
    }
}

fn newer(language: &'static Language) {
    let mut program = language.keeping();
    let mut check = |held: usize, expected: Option<usize>, is_right: bool| {
        let mut plan = plan();
        let values = [40, 50, 60].map(|len| plan.value(0, len));
        let text = plan.text(values[held]).to_vec();
        let expected = expected.map_or(0, |at| values[at]);
        let get = got(&mut program, plan, Some(&text), expected);
        let is = [u64::from(is_right), 0, u64::from(!is_right)];
        assert_eq!(counts(&get, &["hits", "misses", "wrong"]), is, "{held}: {get}");
    };
    check(0, Some(1), false);
    check(1, Some(1), true);
    check(2, Some(1), true);
    check(0, None, true);
    check(2, None, true);
}

/// Checks that the value in the cache is wrong in one way only, and that the example names the key.
fn is_wrong(program: &mut Program, plan: HandPlan, held: &[u8], expected: u32, way: &str) {
    let get = got(program, plan, Some(held), expected);
    let one = WAYS.map(|name| u64::from(name == way));
    assert_eq!(counts(&get, &WAYS), one, "{} bytes that are {way}: {get}", held.len());
    let example = &get["wrong_examples"][way];
    assert!(example.as_str().is_some_and(|it| it.contains("`verified-")), "{example}");
}

fn ways(language: &'static Language) {
    let mut program = language.keeping();
    let mut check = |held: &dyn Fn(&HandPlan, [u32; 3]) -> Vec<u8>, way: &str| {
        let mut plan = plan();
        let numbers = [plan.value(0, 40), plan.value(0, 50), plan.value(1, 60)];
        let held = held(&plan, numbers);
        is_wrong(&mut program, plan, &held, numbers[1], way);
    };
    let flipped = |text: &[u8], at: usize| {
        let mut text = text.to_vec();
        text[at] ^= 1;
        text
    };
    check(&|plan, [older, ..]| plan.text(older).to_vec(), "stale");
    check(&|plan, _| plan.stranger(0, 77_777, 50), "stale");
    check(&|plan, [.., other]| plan.text(other).to_vec(), "other_key");
    check(&|plan, [.., other]| plan.text(other)[..30].to_vec(), "other_key");
    check(&|plan, [_, expected, _]| plan.text(expected)[..49].to_vec(), "truncated");
    check(&|plan, [older, ..]| plan.text(older)[..39].to_vec(), "truncated");
    check(&|plan, [_, expected, _]| plan.text(expected)[..7].to_vec(), "truncated");
    check(&|_, _| Vec::new(), "truncated");
    check(&|plan, [_, expected, _]| flipped(plan.text(expected), 30), "damaged");
    check(&|plan, [older, ..]| flipped(plan.text(older), 9), "damaged");
    check(&|plan, [_, expected, _]| [plan.text(expected), b"x"].concat(), "damaged");
    check(&|_, _| vec![0; 7], "damaged");

    let mut check = |held: &dyn Fn(&HandPlan, [u32; 2]) -> Vec<u8>, way: &str| {
        let mut plan = plan();
        let numbers = [plan.value(0, 12), plan.value(0, 12)];
        let held = held(&plan, numbers);
        is_wrong(&mut program, plan, &held, numbers[1], way);
    };
    check(&|plan, [older, _]| plan.text(older).to_vec(), "stale");
    check(&|plan, [_, expected]| plan.text(expected)[..5].to_vec(), "truncated");
    check(&|_, _| vec![0; 12], "damaged");
}

fn gone(language: &'static Language) {
    let mut program = language.keeping();
    for (operation, multiget) in [(Operation::Get, 1), (Operation::GetMany, 2)] {
        let mut plan = plan();
        let back = plan.value(1, 40);
        remove(&mut program, &plan.key(0));
        store(&mut program, &plan.key(1), plan.text(back));
        let steps = vec![Step::get(0, NOTHING), Step::get(1, NOTHING)];
        plan.phase(HandPhase { multiget, ..HandPhase::new(&[operation], steps) });
        let ran = run(&mut program, &plan, 1, 1);
        let get = &ran[0][0]["operations"][operation.as_str()];
        let names = ["hits", "misses", "planned_misses", "wrong", "stale", "succeeded", "bytes"];
        assert_eq!(counts(get, &names), [0, 1, 1, 1, 1, 1, 40], "{get}");
        assert_eq!(latencies(get), 1, "what is gone is a right answer");
    }
}

fn moved(language: &'static Language) {
    let mut program = language.keeping();
    let mut plan = plan();
    let values = [plan.value(0, 300), plan.value(1, 200)];
    store(&mut program, &plan.key(0), plan.text(values[0]));
    store(&mut program, &plan.key(1), &plan.text(values[1])[..199]);
    remove(&mut program, &plan.key(2));
    let steps = vec![Step::get(0, values[0]), Step::get(1, values[1]), Step::get(2, 0)];
    let get = run_one(&mut program, plan, Operation::Get, steps);
    assert_eq!(counts(&get, &["bytes"]), [300 + 199]);
}
