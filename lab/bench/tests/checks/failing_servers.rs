//! Comparisons whose server fails on the way: each ends, every operation has an outcome, and the reason is named.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{scope, sleep};
use std::time::Duration;

use larder_bench::{Event, Observer};
use larder_engines::ENGINES;
use larder_report::{Cell, Operation};
use larder_testkit::{POSTGRES, Postgres, has_program, trial_where};
use libtest_mimic::Trial;

use crate::support::{cell, observed};

pub(crate) fn trials() -> [Trial; 2] {
    let postgres = || has_program(&POSTGRES);
    [
        trial_where(postgres, "a_pause_of_the_server_is_in_the_latencies", a_pause),
        trial_where(postgres, "a_server_that_is_killed_is_lost_and_its_operations_counted", killed),
    ]
}

/// The time for which the server is stopped.
const PAUSE: Duration = Duration::from_secs(2);

/// The label of the server in a run.
const NAME: &str = "postgresql";

/// The number of connections whose last statement was a get, a moment ago.
const GETS: &str = "SELECT count(*) FROM pg_stat_activity \
    WHERE query ILIKE 'select%larder%' AND pid <> pg_backend_pid() \
    AND state_change > clock_timestamp() - interval '100 ms'";

/// Signals the beginning of the first target's second round.
struct SecondRound(Mutex<Option<Sender<()>>>);

impl Observer for SecondRound {
    fn notice(&self, event: Event<'_>) {
        if let Event::Turn { round: 2, target: NAME, .. } = event {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        }
    }
}

/// Compares a server with a map in memory, and calls `happens` in the middle of the server's second round. Returns the
/// server's gets and sets.
fn run(server: &mut Postgres, happens: impl FnOnce(&mut Postgres) + Send) -> [Cell; 2] {
    let target = format!("{}?table=logged&name={NAME}", server.url());
    let workload = "rounds = 2\nthreads = 2\nkeys = 50\nratio = '1:1'\nduration = '8s'";
    let (begun, is_begun): (Sender<()>, Receiver<()>) = channel();
    let observer = SecondRound(Mutex::new(Some(begun)));
    let run = scope(|scope| {
        scope.spawn(move || {
            // No message ever comes: the end of the sender is the signal.
            is_begun.recv().unwrap_err();
            // The turn begins with sets of all keys; the measured operations have gets too.
            while server.ask(GETS) != "2" {
                sleep(Duration::from_millis(20));
            }
            happens(server);
        });
        observed(&ENGINES, &[&target, "moka:"], workload, &observer).run
    });
    let shown = target.replace("s%40crt", "***");
    let cells = [Operation::Get, Operation::Set].map(|it| cell(&run, &shown, it).clone());
    let counts = &cells[0].counts;
    let outcomes = counts.hits + counts.misses + counts.wrong + counts.errors;
    assert_eq!((counts.ops, counts.wrong), (outcomes, 0), "{counts:?}");
    for Cell { counts, .. } in &cells {
        assert_eq!((counts.read_back_absent, counts.read_back_wrong), (0, 0), "{counts:?}");
    }
    let other = cell(&run, "moka:", Operation::Get);
    assert!(other.reason.is_none() && other.rounds == 2, "{other:?}");
    cells
}

fn a_pause() {
    let mut server = Postgres::start(&["fsync=off"]);
    let cells = run(&mut server, |server| {
        server.pause();
        sleep(PAUSE);
        server.go_on();
    });
    for cell in &cells {
        assert!(cell.reason.is_none() && cell.counts.errors == 0, "{cell:?}");
    }
    // Chance decides whether the slowest operation is a get or a set.
    let slowest = cells.iter().filter_map(|cell| Some(cell.latency_ns.as_ref()?.max)).max();
    let slowest = Duration::from_nanos(slowest.unwrap());
    assert!(slowest > PAUSE.mul_f64(0.95), "{slowest:?} at most");
    assert_eq!(tables(&server), "0", "the table is left");
}

fn killed() {
    let mut server = Postgres::start(&["fsync=off"]);
    let [gets, sets] = run(&mut server, |server| {
        server.pause();
        sleep(PAUSE);
        server.kill();
        sleep(Duration::from_millis(200));
        server.restart();
    });
    let reason = gets.reason.unwrap();
    assert!(reason.starts_with("lost after 1 of 2 rounds: postgresql: 127.0.0.1:"), "{reason}");
    // The connection was open and was closed, or was opened again and refused.
    let is_lost = reason.contains("connection") && reason.ends_with(" operations failed)");
    assert!(is_lost, "{reason}");
    // Chance decides which operations fail.
    let errors = gets.counts.errors + sets.counts.errors;
    assert!(errors > 0 && gets.counts.hits > 0, "{:?}, {:?}", gets.counts, sets.counts);
    // The gets are those of the first round, and those before and after the end of the server in the second.
    assert_eq!(gets.rounds, 2);
    assert_eq!(tables(&server), "0", "the table is left");
}

/// The number of Larder's tables.
fn tables(server: &Postgres) -> String {
    server.ask("SELECT count(*) FROM pg_class WHERE relname = 'larder'")
}
