//! Other work of the machine, and a client's changes to values on their way.

use std::process::{Command, Stdio};
use std::sync::Mutex;

use larder_analysis::check;
use larder_bench::{Event, Observer, guest};
use larder_engines::ENGINES;
use larder_report::{Run, Severity, UsageOf};
use larder_store::Catalog;
use larder_testkit::{has_program, signal};

use crate::case::{Case, NOTHING, memcached};
use crate::support;

const WITH_GUESTS: Catalog = ENGINES.with_guests(guest::GUESTS);

pub(crate) const CASES: &[Case] = &[
    Case {
        id: "NOISE",
        severity: Severity::Warn,
        fires_on: "a busy process beside the run on each processor",
        trips: || support::observed(&ENGINES, &["moka:"], LONG, &Neighbours::default()).run,
        words: &[
            "other processes used ",
            " and no processor was free: ",
            // Or the threads of the other processes waited longer than the run measured.
            " waited for a processor ",
        ],
        silent_on: "the same run with figures of a machine to itself",
        silent: || quiet(support::run(&ENGINES, &["moka:"], LONG)),
        needs: NOTHING,
    },
    Case {
        id: "HIDDEN-CODEC",
        severity: Severity::Note,
        fires_on: "a client that compresses, and values of which most compresses away",
        trips: || compressed("0.9"),
        words: &["sent ", " for values of 781.2 KiB, ", "compression"],
        silent_on: "the same client with values that do not compress",
        silent: || compressed("0"),
        needs: php_memcached,
    },
];

/// Long enough for readings of the machine.
const LONG: &str = "rounds = 2\nkeys = 300\nduration = '300ms'\noperations = 'get'";

/// Processes that only work, one for each processor, and are no children of the run. They start with the measurement,
/// so that the preparation of the run is not slowed.
#[derive(Default)]
struct Neighbours(Mutex<Vec<u32>>);

impl Observer for Neighbours {
    fn notice(&self, event: Event<'_>) {
        match event {
            Event::Started { .. } => self.start(),
            Event::Ended => self.end(),
            _ => {}
        }
    }
}

impl Neighbours {
    fn start(&self) {
        let cores = std::thread::available_parallelism().unwrap().get();
        let one = |_| {
            // The shell ends at once, so that its process is no child of this test. If this test is killed, that
            // process ends by itself after a minute.
            let started = Command::new("sh")
                .args(["-c", "timeout 60 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"])
                .stderr(Stdio::null())
                .output();
            String::from_utf8(started.unwrap().stdout).unwrap().trim().parse::<u32>().unwrap()
        };
        self.0.lock().unwrap().extend((0..cores).map(one));
    }

    fn end(&self) {
        self.0.lock().unwrap().drain(..).for_each(|pid| signal(pid, libc::SIGTERM));
    }
}

/// The run as it would be on an idle machine with a constant speed. This overwrites every figure of the machine that
/// the check reads. Other programs may work here at any time, so no real run can show the check's silence. Only the
/// shape of the series remains.
fn quiet(mut run: Run) -> Run {
    run.environment.governor = Some("performance".into());
    let machine = run.usage.iter_mut().find(|usage| usage.of == UsageOf::Machine).unwrap();
    let start = machine.at_s[0];
    let passed: Vec<f64> = machine.at_s.iter().map(|at| at - start).collect();
    let whole = machine.machine.as_mut().unwrap();
    let share = |of: f64| passed.iter().map(|passed| Some(passed * of)).collect::<Vec<_>>();
    whole.others_s = share(0.05);
    whole.idle_s = share(f64::from(whole.processors) - 1.05);
    whole.stolen_s = share(0.001);
    whole.throttled_s = share(0.0);
    whole.swapped_in_bytes = passed.iter().map(|_| Some(0)).collect();
    run.checks = check::run_all(&run);
    run
}

fn compressed(share: &str) -> Run {
    let workload = format!("rounds = 2\nkeys = 100\ndata-size = '4000'\ncompressibility = {share}");
    let run = support::run(&WITH_GUESTS, &["php+memcached:?compression=true"], &workload);
    let samples = run.cells.iter().flat_map(|cell| &cell.samples);
    assert!(samples.map(|sample| sample.wire).all(|wire| wire.is_some()), "{:#?}", run.cells);
    run
}

fn php_memcached() -> Result<(), String> {
    memcached()?;
    has_program(&WITH_GUESTS.find("php+memcached").unwrap().recipes[0])
}
