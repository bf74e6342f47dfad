//! Records of small plans, judged.

use larder_workload::{Lengths, Sizes};
use proptest::prelude::*;

use super::*;

const SEED: u64 = 7;

/// A plan whose values have 40 bytes, and 10 under the last key.
struct Plan {
    script: Script,
    keys: KeySpace,
    values: Values,
    replays: bool,
}

impl Plan {
    fn new(keys: u32, processes: u32) -> Self {
        let size = |bytes: &str| bytes.parse().expect("a number of bytes");
        Self {
            script: Script::new(keys, processes),
            keys: KeySpace::new(b"key-", keys, Lengths::Drawn(size("1")), SEED),
            values: Values::random(Sizes::Drawn(size("40")), 4096, 0.0, SEED),
            replays: false,
        }
    }

    fn value(&mut self, key: u32, version: u32, len: usize) -> u32 {
        let (at, header) = self.values.recipe_of(key, version, len);
        self.script.add(key, version, at, len, header)
    }

    fn phase(&mut self, operations: &[Operation], steps: Vec<Step>, multiget: usize) {
        let processes = self.script.processes() as usize;
        let idle = std::iter::repeat_n(steps.len()..steps.len(), processes - 1);
        self.script.phases.push(Act {
            measured: true,
            operations: operations.to_vec(),
            has_unfilled: false,
            shares: std::iter::once(0..steps.len()).chain(idle).collect(),
            steps,
            time_limit: None,
            multiget,
            again: false,
        });
    }

    fn judge(&self, phase: usize, uncertain: &HashSet<u32>) -> Judge<'_> {
        let Self { script, keys, values, replays } = self;
        let sources = Sources { script, keys, values, base: 0, replays: *replays };
        Judge::new(sources, phase, 0, uncertain)
    }

    /// The record of one block in the first phase.
    fn record(&self, part: &[u8]) -> Result<Record, String> {
        let mut judge = self.judge(0, &HashSet::new());
        judge.add(part)?;
        judge.end(&ended())
    }
}

fn ended() -> Vec<u8> {
    br#"{"cpu_user_ns": 1, "cpu_system_ns": 2, "rss_bytes": 3, "connections": null, "tiers": []}"#
        .to_vec()
}

type Noted<'a> = (u32, u32, u32, &'a [u8]);

/// A block: for each segment, its first operation and its beginning; then ends, outcomes and notes.
fn block(segments: &[(u32, u64)], ends: &[u64], outcomes: &[u8], notes: &[Noted<'_>]) -> Vec<u8> {
    let mut part = Vec::new();
    let mut number = |of: usize| u32::try_from(of).expect("a small number").to_le_bytes();
    part.extend([ends.len(), segments.len(), notes.len(), 0].map(&mut number).concat());
    for (first, began) in segments {
        part.extend(first.to_le_bytes());
        part.extend([0; 4]);
        part.extend(began.to_le_bytes());
    }
    part.extend(ends.iter().flat_map(|end| end.to_le_bytes()));
    part.extend(outcomes);
    for (n, kind, value, bytes) in notes {
        part.extend([*n, *kind, *value].map(u32::to_le_bytes).concat());
        part.extend(number(bytes.len()));
        part.extend(*bytes);
    }
    part
}

fn of(record: &mut Record, operation: Operation) -> &Tally {
    record.tallies.of(operation)
}

#[test]
fn a_process_alone_has_no_pauses_and_one_of_several_has() {
    for (processes, wall_ns, bin) in [(1, 50, 0), (2, 5_000_030, 31)] {
        let mut plan = Plan::new(1, processes);
        let value = plan.value(0, 1, 40);
        plan.phase(&[Operation::Set], vec![Step::set(0, value); 3], 1);
        let part = block(&[(0, 1000), (2, 5_001_000)], &[1010, 1020, 5_001_030], &[0; 3], &[]);
        let mut record = plan.record(&part).unwrap();
        assert_eq!((record.start_ns, record.wall_ns), (Some(1000), wall_ns));
        assert_eq!((record.ops, record.end_ns, record.ended.rss_bytes), (3, 5_001_030, 3));
        let set = of(&mut record, Operation::Set);
        assert_eq!((set.busy_ns, set.bytes, set.succeeded), (50, 120, 3));
        let timeline = set.timeline(std::time::Duration::from_nanos(wall_ns));
        assert_eq!(
            timeline.max_ns.iter().rposition(|max| *max == 30),
            Some(timeline.ops.len() - 1)
        );
        assert!(timeline.ops.len() > bin / 2, "{timeline:?}");
    }
}

#[test]
fn a_request_has_one_latency_if_any_of_its_keys_was_right() {
    let mut plan = Plan::new(2, 1);
    let value = plan.value(0, 1, 40);
    let gets = [Step::get(0, value), Step::get(1, NO_VALUE), Step::get(0, value)];
    plan.phase(&[Operation::GetMany], [gets.to_vec(), gets.to_vec()].concat(), 2);
    // The first block ends within a request of the plan. Requests never go from one block to the next.
    let first = block(&[(0, 10)], &[20, 20, 30], &[0, 1, 1], &[]);
    let second = block(&[(0, 50)], &[60, 60, 90], &[1, 1, 0], &[]);
    let mut judge = plan.judge(0, &HashSet::new());
    judge.add(&first).unwrap();
    judge.add(&second).unwrap();
    let mut record = judge.end(&ended()).unwrap();
    let get = of(&mut record, Operation::GetMany);
    assert_eq!((get.counts.ops, get.counts.hits, get.counts.misses), (6, 2, 4));
    assert_eq!((get.counts.planned_misses, get.succeeded), (2, 4));
    assert_eq!(get.latency.len(), 3, "the key of the second request was missed");
    assert_eq!(get.busy_ns, 20 + 40);
}

#[test]
fn after_a_change_that_failed_any_value_of_the_key_is_right() {
    let changes: [fn(u32) -> Step; 3] =
        [|_| Step::delete(0), |newer| Step::set(0, newer), |newer| Step::get_or_set(0, newer, 0)];
    for change in changes {
        let mut plan = Plan::new(1, 1);
        let (older, newer) = (plan.value(0, 1, 40), plan.value(0, 2, 40));
        let change = change(newer);
        let operation = operation_of(change.kind, 1);
        let steps = vec![change, Step::get(0, NO_VALUE), Step::get(0, newer)];
        plan.phase(&[operation, Operation::Get], steps, 1);
        let judged = |outcome: u8, uncertain: &HashSet<u32>| {
            let notes = [(1, VALUE, older, &b""[..]), (2, VALUE, older, b"")];
            let error = [(0, ERROR, 0, &b"timeout\nno answer"[..])];
            let notes =
                if outcome == FAILED { [&error[..], &notes].concat() } else { notes.to_vec() };
            let part = block(&[(0, 0)], &[1, 2, 3], &[outcome, OTHER, OTHER], &notes);
            let mut judge = plan.judge(0, uncertain);
            judge.add(&part).unwrap();
            judge.end(&ended()).unwrap()
        };
        let mut sure = judged(RIGHT, &HashSet::new());
        assert_eq!(of(&mut sure, Operation::Get).counts.stale, 2);
        let mut unsure = judged(FAILED, &HashSet::new());
        assert_eq!(of(&mut unsure, Operation::Get).counts.hits, 2);
        assert_eq!(of(&mut unsure, operation).errors_by_kind["timeout"], 1);
        assert_eq!(unsure.tallies.first_error(), Some("no answer"));
        assert_eq!(!unsure.not_deleted.is_empty(), operation == Operation::Delete);
        assert_eq!(unsure.not_stored.len(), usize::from(operation != Operation::Delete));
        // It holds for the phases that follow.
        let mut later = judged(RIGHT, &unsure.uncertain);
        assert_eq!(of(&mut later, Operation::Get).counts.hits, 2);
    }
}

#[test]
fn a_value_of_which_only_the_beginning_is_known_is_never_right() {
    let mut plan = Plan::new(2, 1);
    let (long, other) = (plan.value(0, 1, 200), plan.value(1, 1, 200));
    plan.phase(&[Operation::Get], vec![Step::get(0, long); 2], 1);
    let [text, other] = [long, other].map(|number| plan.script.text(number, &plan.values));
    let whole = vec![0; OTHER_BYTES];
    for (bytes, len, expected) in [
        (&text[..64], 200, Correctness::Damaged),
        (&text[..64], 300, Correctness::Damaged),
        (&text[..64], 199, Correctness::Truncated),
        (&other[..64], 200, Correctness::OtherKey),
        (&text[1..65], 200, Correctness::Damaged),
        (&text[..], 200, Correctness::Right),
    ] {
        // Values are told whole before there are too many bytes of them.
        let other_bytes = u32::try_from(whole.len()).unwrap();
        let notes = [(0, BYTES, other_bytes, &whole[..]), (1, BYTES, len, bytes)];
        let part = block(&[(0, 0)], &[1, 2], &[OTHER; 2], &notes);
        let mut record = plan.record(&part).unwrap();
        let alone = block(&[(0, 0)], &[1], &[OTHER], &[(0, BYTES, len, bytes)]);
        assert_eq!(plan.record(&alone).is_err(), bytes.len() < len as usize);
        let get = of(&mut record, Operation::Get);
        assert_eq!(get.bytes, u64::from(other_bytes + len));
        let found = expected.name().map(|name| get.wrong_examples.contains_key(name));
        assert_eq!(found, expected.name().map(|_| true), "{expected:?}: {get:?}");
        assert_eq!(get.counts.hits, u64::from(expected == Correctness::Right));
    }
}

#[test]
fn a_replaying_cache_returns_the_value_that_was_set_last() {
    let mut plan = Plan { replays: true, ..Plan::new(3, 1) };
    let (small, large) = (plan.value(0, 1, 40), plan.value(1, 1, 400));
    plan.phase(&[Operation::Set], vec![Step::set(1, large), Step::set(0, small)], 1);
    let steps = vec![Step::get(1, large), Step::set(1, large), Step::get(0, small)];
    plan.phase(&[Operation::Get, Operation::Set], steps, 1);
    let mut judge = plan.judge(1, &HashSet::new());
    judge.add(&block(&[(0, 0)], &[1, 2, 3], &[RIGHT; 3], &[])).unwrap();
    let mut record = judge.end(&ended()).unwrap();
    assert_eq!(of(&mut record, Operation::Get).bytes, 40 + 400);
}

proptest! {
    #[test]
    fn no_part_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut plan = Plan::new(2, 1);
        let (value, short) = (plan.value(0, 1, 40), plan.value(1, 1, 10));
        let steps = vec![
            Step::set(0, value),
            Step::get(0, value),
            Step::get(1, short),
            Step::get_or_set(0, value, 1),
        ];
        plan.phase(&[Operation::Set, Operation::Get, Operation::GetOrSet], steps, 1);
        let notes = [(1, VALUE, value, &b""[..]), (2, BYTES, 10, b"abc"), (3, ERROR, 0, b"io")];
        let outcomes = [RIGHT, OTHER, OTHER, UNFILLED];
        let mut part = block(&[(0, 9), (2, 20)], &[10, 20, 30, 40], &outcomes, &notes);
        for (at, byte) in changes {
            let at = at.index(part.len());
            part[at] = byte;
        }
        for part in [bytes, part] {
            let mut judge = plan.judge(0, &HashSet::new());
            if judge.add(&part).is_ok() {
                let _ = judge.end(&part);
            }
        }
    }
}
