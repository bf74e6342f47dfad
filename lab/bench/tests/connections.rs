//! Plans with many connections: their points, the combinations that are refused, and the targets that have no such requests.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use std::process::ExitCode;

use larder_bench::{Load, Plan, guest};
use larder_engines::ENGINES;
use larder_report::{Operation, ReasonKind};
use larder_store::Catalog;
use larder_testkit::{has_perl_modules, has_program, trial_where};
use libtest_mimic::Arguments;
use support::{cell, run, scenario};

const CATALOG: Catalog = ENGINES.with_guests(guest::GUESTS);

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let always = || Ok(());
    let trials = vec![
        trial_where(always, "connections_and_pipelines_are_swept_as_coordinates", coordinates),
        trial_where(always, "a_pipeline_alone_has_a_connection_a_thread", a_pipeline_alone),
        trial_where(always, "without_them_each_thread_waits_for_its_answers", neither),
        trial_where(always, "what_cannot_be_is_refused_in_one_line", refused),
        trial_where(always, "other_kinds_of_work_combine_with_connections", combined),
        trial_where(always, "a_target_that_waits_for_each_answer_says_so", waiting_targets),
        trial_where(perl, "a_guest_says_that_it_waits_for_each_answer", waiting_guests),
        trial_where(memcached, "a_server_is_started_for_as_many_connections", many_are_taken),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn memcached() -> Result<(), String> {
    has_program(&ENGINES.find("memcached").unwrap().recipes[0])
}

/// Perl with its standard modules, which Debian's perl-base lacks.
fn perl() -> Result<(), String> {
    has_perl_modules(&["JSON::PP"])
}

fn plan(workload: &str) -> Plan {
    Plan::new(&scenario(&["memcached:"], workload), true, &ENGINES).unwrap()
}

fn coordinates() {
    let plan = plan("threads = 2\nconnections = [1, 10]\npipeline = [1, 16]\nidle-connections = 5");
    let loads: Vec<_> = plan.points.iter().map(|point| (point.threads, point.load)).collect();
    let load = |connections, pipeline| Some(Load { connections, pipeline });
    assert_eq!(loads, [(1, load(1, 1)), (1, load(1, 16)), (2, load(10, 1)), (2, load(10, 16))]);
    let last = &plan.points[3];
    let coordinate = |name: &str| last.point[name].to_string();
    assert_eq!(["connections", "pipeline", "threads"].map(coordinate), ["10", "16", "2"]);
    assert_eq!((last.sessions(), last.idle_connections, last.connect_rate), (10, 5, None));
    assert!(plan.notes[0].contains("connections are fewer than threads"), "{:?}", plan.notes);
    assert_eq!(plan.workload["connections"], "1,10");
    assert_eq!((&*plan.workload["pipeline"], &*plan.workload["idle-connections"]), ("1,16", "5"));
}

fn a_pipeline_alone() {
    let plan = plan("threads = 3\npipeline = 8");
    let point = &plan.points[0];
    assert_eq!(point.load, Some(Load { connections: 3, pipeline: 8 }));
    assert!(!point.point.contains_key("connections") && plan.notes.is_empty());
}

fn neither() {
    let plan = plan("threads = 3\nidle-connections = 7\nconnect-rate = 10");
    let point = &plan.points[0];
    assert_eq!((point.load, point.sessions()), (None, 3));
    assert_eq!((point.idle_connections, point.connect_rate), (7, Some(10)));
}

fn refused() {
    for (workload, needle) in [
        ("connections = 50001", "--connections 50001: at most 50000 connections together"),
        (
            "connections = 40000\nkeys = 40000\nidle-connections = 20000",
            "--connections 40000 with --idle-connections 20000: at most 50000",
        ),
        ("idle-connections = 50001", "--idle-connections 50001: at most 50000"),
        ("pipeline = 2048", "--pipeline 2048: at most 1024 requests outstanding"),
        ("connect-rate = 20000", "--connect-rate 20000: at most 10000 connections a second"),
        ("keys = 9\nconnections = 10\nratio = '1:1'", "--connections 10 with --keys 9: each key"),
        (
            "keys = 9\nconnections = 10",
            "--connections 10 with --pipeline 1 and 9 operations a round",
        ),
        ("requests = 9\nconnections = 10\noperations = 'get'", "use --requests 10 or more"),
        (
            "keys = 100\nconnections = 10\noperations = 'get'\nmultiget = 20",
            "--multiget 20: each of 10 connections reads 10 keys a round",
        ),
        ("connections = 4\nload-time = '1ms'\non-miss = 'fill'", "--load-time 1ms with --conn"),
        ("connections = 4\ngroup = 4\noperations = 'get_many'", "--group 4 with --connections"),
        ("pipeline = 4\nprocesses = 2", "--processes 2 with --pipeline: a guest"),
        (
            "connections = 4\neach-thread = 'all'\nkey-pattern = 'seq'",
            "--each-thread all with --connections: connections share the keys",
        ),
    ] {
        let scenario = scenario(&["memcached:"], workload);
        let error = Plan::new(&scenario, true, &ENGINES).unwrap_err().to_string();
        assert!(error.contains(needle) && !error.contains('\n'), "{workload}: {error}");
    }
}

fn combined() {
    for workload in [
        "ratio = '1:10'",
        "operations = 'get'\nmultiget = 4",
        "operations = 'set'\nmultiset = 4",
        "on-miss = 'fill'\ncapacity = '50%'",
        "rate = [1000, 2000]\narrivals = 'exponential'",
        "scan = '1k:3k:1k'",
        "search = 'p99:1ms'\noperations = 'get'",
        "duration = '1s'\nttl = '1m'",
    ] {
        let plan = plan(&format!("connections = 20\npipeline = 4\n{workload}"));
        let load = Load { connections: 20, pipeline: 4 };
        assert!(plan.points.iter().all(|point| point.load == Some(load)), "{workload}");
    }
}

/// The reason of a target's reads with these options.
fn reason_of(target: &str, workload: &str) -> String {
    let run = run(&CATALOG, &[target, "null:"], &format!("keys = 100\nrounds = 1\n{workload}"));
    let cell = cell(&run, target, Operation::Get);
    assert_eq!((cell.reason_kind, cell.ops_per_s), (Some(ReasonKind::Unsupported), None));
    cell.reason.clone().unwrap()
}

fn waiting_targets() {
    for (workload, needle) in [
        ("connections = 4", "waits for the answer to each request: leave out --connections"),
        ("pipeline = 4", "waits for the answer to each request"),
        ("idle-connections = 4", "leave out --idle-connections and --connect-rate"),
        ("connect-rate = 4", "opens no connections beside its threads'"),
    ] {
        let reason = reason_of("moka:", workload);
        assert!(reason.contains(needle), "{workload}: {reason}");
    }
}

fn waiting_guests() {
    let reason = reason_of("perl+null:", "connections = 4");
    assert!(reason.contains("a guest waits for each answer"), "{reason}");
}

fn many_are_taken() {
    let workload = "keys = 900\nrounds = 1\nconnections = 600\nidle-connections = 200";
    let run = run(&CATALOG, &["memcached:", "memcached:?max_connections=2000"], workload);
    let taken = |at: usize| run.targets[at].settings["maxconns"].as_str();
    assert_eq!([taken(0), taken(1)], ["1056", "2000"], "a URL's own option wins");
}
