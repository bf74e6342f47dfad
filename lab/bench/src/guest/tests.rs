//! Guests that misbehave: each guest becomes a reason in its cells, and leaves no process or file behind.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use larder_engines::ENGINES as NATIVE;
use larder_report::{Cell, ReasonKind, Run};
use larder_store::{Catalog, Durability, Engine, Medium, Reach, Recipe, Role, StoreUrl};
use larder_testkit::{PATIENCE, within};
use schemars::json_schema;

use super::{
    Abilities, Cache, GUESTS, GuestExecutor, Keeps, Language, as_it_is, as_the_plan, store,
};
use crate::compare::{Permissions, compare};
use crate::measure::{KeyState, PhasePlan, thread_cpu_ns};
use crate::observer::Silent;
use crate::plan::Plan;
use crate::scenario::Scenario;
use crate::target::Target;

const CATALOG: Catalog = NATIVE.with_guests(GUESTS);

/// The longest silence of a guest here. An interpreter may need seconds to start beside other work.
const SILENCE: Duration = Duration::from_secs(10);

const HOSTILE: Language = Language {
    name: "hostile",
    interpreter: NEEDS[0],
    arguments: |launch| vec![launch.home.join("hostile.pl").into()],
    prepare: as_it_is,
    program: &[("hostile.pl", include_bytes!("hostile.pl"))],
    memory_bytes: as_the_plan,
    silence: SILENCE,
    is_shared: false,
};

/// The same with files of its own, so that stored values are read back.
const fn keeping(scheme: &'static str, name: &'static str) -> Cache {
    Cache { keeps: Keeps::Files, ..hostile(scheme, name) }
}

/// The interpreter of these guests.
const NEEDS: [Recipe; 1] = [Recipe::new(Role::Interpreter, "perl", "perl")];

/// A guest that behaves as its name says.
const fn hostile(scheme: &'static str, name: &'static str) -> Cache {
    Cache {
        engine: Engine {
            scheme,
            aliases: &[],
            summary: "",
            example: "",
            medium: Medium::Nothing,
            capacity_option: None,
            connections_option: None,
            recipes: &NEEDS,
            options: || json_schema!({}),
            open: store::open,
        },
        language: &HOSTILE,
        name,
        keeps: Keeps::Nothing,
        can: Abilities {
            ttl: false,
            ttl_resolution: Duration::from_secs(1),
            touch: false,
            batch: false,
            evicts: false,
            reach: Reach::Process,
            durability: Durability::Volatile,
            bound: None,
            size: None,
            takes: &[],
        },
        options: |_, _| Ok(serde_json::Value::Null),
    }
}

pub(super) const CACHES: &[Cache] = &[
    hostile("hostile+floor", "floor"),
    hostile("hostile+dies", "dies"),
    hostile("hostile+hangs", "hangs"),
    hostile("hostile+garbage", "garbage"),
    hostile("hostile+stays", "stays"),
    hostile("hostile+repeats", "repeats"),
    hostile("hostile+unread", "unread"),
    hostile("hostile+leaves", "leaves"),
    hostile("hostile+newer", "newer"),
    hostile("hostile+missing", "missing"),
    hostile("hostile+works", "works"),
    hostile("hostile+busy", "busy"),
    hostile("hostile+honest", "honest"),
    hostile("hostile+fewer", "fewer"),
    hostile("hostile+more", "more"),
    hostile("hostile+floods", "floods"),
    hostile("hostile+before", "before"),
    hostile("hostile+longer", "longer"),
    hostile("hostile+reversed", "reversed"),
    hostile("hostile+processor", "processor"),
    hostile("hostile+stranger", "stranger"),
    hostile("hostile+endless", "endless"),
    hostile("hostile+kindless", "kindless"),
    hostile("hostile+cut", "cut"),
    hostile("hostile+huge", "huge"),
    hostile("hostile+outcome", "outcome"),
    hostile("hostile+noteless", "noteless"),
    hostile("hostile+unordered", "unordered"),
    hostile("hostile+invalid", "invalid"),
    keeping("hostile+swapped", "swapped"),
    keeping("hostile+shortened", "shortened"),
    // One test alone opens this guest, and looks into its folder.
    hostile("hostile+sealed", "sealed"),
];

fn plan(target: &str, workload: &str) -> Plan {
    let scenario = Scenario {
        name: "test".into(),
        targets: vec![target.into()],
        workload: toml::from_str(workload).unwrap(),
        ..Scenario::default()
    };
    Plan::new(&scenario, true, &CATALOG).unwrap()
}

fn run(target: &str, workload: &str, stop: &AtomicBool) -> Run {
    let plan = plan(target, workload);
    let outcome = compare(&plan, &CATALOG, Vec::new(), Permissions::default(), &Silent, stop);
    outcome.unwrap().run
}

/// Runs a guest until its end, checks that nothing of it is left, and returns why its cell has no figures.
fn reason(name: &str) -> (Option<ReasonKind>, String) {
    let target = format!("hostile+{name}:");
    let run = run(&target, "keys = 50\nrounds = 2\noperations = 'set'", &AtomicBool::new(false));
    nothing_left(&target);
    let cell: &Cell = &run.cells[0];
    assert_eq!(cell.ops_per_s, None, "{cell:#?}");
    (cell.reason_kind, cell.reason.clone().unwrap())
}

/// Runs guests until their ends, at the same time because most of them wait: each cell tells of its guest in these words.
fn are_lost(guests: &[(&str, &str)]) {
    thread::scope(|scope| {
        for (name, words) in guests {
            scope.spawn(move || {
                let (kind, reason) = reason(name);
                assert_eq!(kind, Some(ReasonKind::Lost), "{reason}");
                assert!(reason.contains(words) && !reason.contains('\n'), "{name}: {reason}");
            });
        }
    });
}

/// The beginning of the names of a target's folders.
fn mark(target: &str) -> String {
    format!("larder-{}-{}", std::process::id(), target.trim_end_matches(':'))
}

/// The folders of a target.
fn folders(target: &str) -> impl Iterator<Item = fs::DirEntry> {
    let mark = mark(target);
    let folders = fs::read_dir(std::env::temp_dir()).unwrap().flatten();
    folders.filter(move |entry| entry.file_name().to_string_lossy().starts_with(&mark))
}

/// Checks that no process has the folder of this target in its command line, and that the folder is gone.
fn nothing_left(target: &str) {
    let left: Vec<_> = folders(target).collect();
    assert!(left.is_empty(), "{left:?}");
    let mark = mark(target);
    let running = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        line.contains(&mark).then_some(line)
    });
    assert_eq!(running.collect::<Vec<_>>(), Vec::<String>::new());
}

#[test]
fn an_honest_program_has_figures_and_leaves_nothing() {
    let (target, workload) = ("hostile+honest:", "keys = 50\nrounds = 2\noperations = 'set'");
    let run = run(target, workload, &AtomicBool::new(false));
    nothing_left(target);
    let cell = &run.cells[0];
    assert_eq!((cell.reason.as_deref(), cell.rounds, cell.counts.ops), (None, 2, 100));
    assert_eq!(cell.bytes, 100 * 1024);
    assert!(cell.ops_per_s.is_some() && cell.latency_ns.unwrap().p50 == 1000, "{cell:#?}");
    assert_eq!(run.targets[0].version.as_deref(), Some("honest 1, hostile 1"));
}

#[test]
fn an_invalid_answer_is_no_result() {
    are_lost(&[
        (
            "garbage",
            "answered `Use of uninitialized value`, which docs/guests.md does not allow here",
        ),
        ("fewer", "phase 0, process 0: 49 operations of 50"),
        ("more", "process 0: a block of 51 operations, where the plan has 50"),
        ("floods", "process 0: its record has no end"),
        ("before", "not during the phase"),
        ("longer", " ns passed"),
        ("reversed", "phase 0, process 0: its clock went back"),
        ("processor", "it took 3600000000000 ns of processor time within 50000 ns"),
        ("stranger", "its tiers are [near], not []"),
        ("endless", "process 0: its record has no end"),
        ("kindless", "process 0: a part of the unknown kind 7"),
        ("cut", "process 0: a block is not of its length"),
        ("huge", "process 0: a part of 4294967295 bytes, where 50"),
        ("outcome", "set: no operation of this kind has the outcome 9"),
        ("noteless", "set: an outcome 2 has no note"),
        ("unordered", "set: an outcome 2 has no note"),
        ("invalid", "wrote an invalid end of its record: invalid value: integer `-1`"),
        ("swapped", "read back, process 0: value 1 is not of its key"),
        ("shortened", "read back, process 0: a value of 1024 bytes has 64 in its note"),
    ]);
}

#[test]
fn only_the_program_itself_can_read_the_file_that_tells_it_how_to_open() {
    let url = StoreUrl::parse("hostile+sealed:").unwrap();
    let store = CATALOG.open(&url).unwrap();
    assert_eq!(store.info().settings["mode"], "600");
    let opened = folders("hostile+sealed:")
        .map(|home| home.path().join("open-0"))
        .find(|folder| folder.exists());
    assert!(!opened.unwrap().join("open.json").exists());
}

#[test]
fn a_program_that_fails_on_the_way_is_lost_with_its_last_words() {
    are_lost(&[
        ("dies", "ended too early (exit status 3); its output: something broke"),
        ("leaves", "ended too early (exit status 0)"),
        ("hangs", "sent nothing for 10s and was killed"),
        ("stays", "did not end within 10s"),
        ("repeats", "made no progress for 10s after 7 operations, and was killed"),
        ("unread", "could not read its plan: no room for the keys"),
    ]);
}

/// While a guest works for two seconds, this process only waits. A loop without a pause would take all of that time, and one that
/// looks each millisecond would wait 2,000 times. Neither bound depends on what else the machine does.
#[test]
fn a_guest_is_waited_for_at_one_go() {
    let target = "hostile+busy:";
    let plan = plan(target, "keys = 50\noperations = 'set'");
    let mut target = Target::open(&plan.targets[0], &plan, &CATALOG).unwrap();
    let (stop, point) = (AtomicBool::new(false), &plan.points[0]);
    let state = KeyState::new(50, 1);
    let phase = PhasePlan {
        work: &point.phases[0].work,
        source: point.key_source(&point.phases[0].work),
        operations: &point.phases[0].operations,
        requests: Some(50),
        time_limit: None,
        arrivals: None,
        set_options: target.set_options(point),
        touch_ttl: None,
        gone_after_ns: u64::MAX,
        ttl_slack_ns: 0,
        sent_only: false,
        load_time: None,
        keys_a_request: 1,
        threads: 1,
        pipeline: None,
        coming: None,
        tagged: None,
        pin: false,
        seed: 1,
        order: point.order(),
    };
    let guest = target.guest.take().unwrap();
    let mut executor =
        GuestExecutor::start(&guest, point, &[phase], &state, &stop).unwrap().unwrap();
    let (began, cpu_began, waits_began) = (Instant::now(), thread_cpu_ns(), waits_of_thread());
    executor.run(point, 0, &state, &stop).unwrap().unwrap();
    let (took, cpu_ns) = (began.elapsed(), thread_cpu_ns() - cpu_began);
    let waits = waits_of_thread() - waits_began;
    println!("{waits} waits and {cpu_ns} ns of processor time in {took:?}");
    assert!(took > Duration::from_secs(2), "{took:?}");
    assert!(waits < 200, "{waits} waits in {took:?}");
    assert!(Duration::from_nanos(cpu_ns) < took / 2, "{cpu_ns} ns of processor time in {took:?}");
}

/// How often this thread has given the processor away to wait for something.
fn waits_of_thread() -> i64 {
    // SAFETY: a zeroed rusage is valid, and getrusage writes exactly one.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_nvcsw
    }
}

#[test]
fn a_guest_that_cannot_be_opened_says_why() {
    for (name, words) in
        [("newer", "speaks protocol 4, not 3"), ("missing", "the module Cache::Nowhere is missing")]
    {
        let target = format!("hostile+{name}:");
        let plan = plan(&target, "keys = 50\nrounds = 2\noperations = 'set'");
        let (stop, permissions) = (AtomicBool::new(false), Permissions::default());
        let outcome = compare(&plan, &CATALOG, Vec::new(), permissions, &Silent, &stop);
        let error = outcome.map(|_| ()).unwrap_err().to_string();
        nothing_left(&target);
        assert!(error.starts_with(&format!("{target} cannot run: ")), "{error}");
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn an_interrupted_run_ends_despite_a_busy_guest_and_keeps_its_measured_cells() {
    let stop = AtomicBool::new(false);
    let run = thread::scope(|scope| {
        let run = scope.spawn(|| run("hostile+works:", "keys = 50\noperations = 'set,get'", &stop));
        // The gets of this guest go on for ever, so the run can only end by the stop.
        let gets_go_on = || {
            let inside = folders("hostile+works:").flat_map(|home| fs::read_dir(home.path()));
            inside.flatten().flatten().any(|turn| turn.path().join("gets").exists())
        };
        let have_begun = within(PATIENCE, gets_go_on);
        stop.store(true, Ordering::Relaxed);
        assert!(have_begun, "no gets");
        run.join().unwrap()
    });
    nothing_left("hostile+works:");
    assert!(run.interrupted);
    let [set, get] = &run.cells[..] else { panic!("two cells") };
    assert_eq!((set.counts.ops, set.reason.as_deref()), (50, None));
    assert_eq!(get.reason_kind, Some(ReasonKind::Interrupted));
}
