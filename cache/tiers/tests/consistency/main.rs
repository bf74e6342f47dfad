//! Processes of two hosts read and write the same keys, while processes are killed, the lowest tier stops, is killed and
//! starts anew, the wires of a host are cut for a while, and connections of the channel are lost. No read is older than
//! the last acknowledged write plus the bound of docs/tiers.md.
//!
//! Every wire between a host and a server is a relay. The wires to the channel's server are slow, so messages come late. In
//! one run each host is a network namespace, and its link is what is cut. In another run a wire loses single messages.
//!
//! The same work without a channel, and with values that may stay in L1 for an hour, breaks the promise. Each such control
//! must be found by the same judge with the same bound: so a run without a fault means something.
//!
//! Each run takes some seconds; `LARDER_CONSISTENCY=3600` makes each as long as that. The controls stay short.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "the counts of a run")]

mod broken;
mod crew;
mod history;
mod job;
mod lossy;
mod modes;
mod network;
mod servers;
mod work;
mod worker;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crew::{Crew, N_WRITERS};
use history::{Event, Fault, Verdict, judge, keys_too_old};
use job::{is_shared, now};
use larder_testkit::{MEMCACHED, Random, everything_is_required, has_program, trial, trial_where};
use libtest_mimic::{Arguments, Completion, Trial};
use modes::{CUT, Channel, MODES, Mode, OTHER_WIRES, SILENT_MODE, Wires, control};
use servers::{Kind, redis_recipe};

/// The time of a run.
const SECONDS: u64 = 8;

/// The longest time until a control has found that the promise is broken.
const CONTROL: Duration = Duration::from_mins(2);

/// The shortest time between two disturbances.
const LEAST_PAUSE: Duration = Duration::from_millis(300);

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    if let Some(code) = worker::work_if_asked() {
        return code;
    }
    let need = || has_program(&MEMCACHED).and_then(|()| has_program(redis_recipe()));
    let mut trials = vec![
        trial("the_check_finds_what_breaks_the_promise", || {
            broken::the_check_finds_what_breaks_the_promise();
        }),
        trial("a_pause_of_a_process_lengthens_the_bound", || {
            broken::a_pause_of_a_process_lengthens_the_bound();
        }),
    ];
    let mut long = Vec::from(OTHER_WIRES.map(|mode| match mode.wires {
        Wires::Links => Trial::ignorable_test(mode.name, move || {
            match need().and_then(|()| network::has_programs()) {
                Err(missing) if everything_is_required() => return Err(missing.into()),
                Err(missing) => return Ok(Completion::ignored_with(missing)),
                Ok(()) => {}
            }
            // A system without namespaces lacks no program: this run shows as ignored there, even where all others must run.
            Ok(match network::may_be_made() {
                Ok(()) => {
                    network::apart(|| keeps(mode))?;
                    Completion::Completed
                }
                Err(reason) => Completion::ignored_with(reason),
            })
        }),
        _ => trial_where(need, mode.name, move || keeps(mode)),
    }));
    let silent = (seconds() >= Duration::from_mins(1)).then_some(SILENT_MODE);
    long.extend(MODES.into_iter().chain(silent).flat_map(|mode| -> [Trial; 2] {
        let broken = format!("the_promise_is_found_broken_where_it_is::{}", mode.name);
        [
            trial_where(need, mode.name, move || keeps(mode)),
            trial_where(need, &broken, move || breaks(mode)),
        ]
    }));
    trials.extend(larder_testkit::nightly(long));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn seconds() -> Duration {
    let asked = std::env::var("LARDER_CONSISTENCY").ok().map(|text| text.parse().unwrap());
    Duration::from_secs(asked.unwrap_or(SECONDS))
}

/// The promise is kept in a run with disturbances.
fn keeps(mode: Mode) {
    let mut crew = Crew::start(mode);
    let begun = Instant::now();
    let mut draw = Random::new(now());
    while begun.elapsed() < seconds() {
        sleep(LEAST_PAUSE + drawn(&mut draw, 2 * LEAST_PAUSE));
        disturb(mode, &mut crew, &mut draw);
    }
    crew.end();
    let events = crew.events();
    let verdict = judge(&events, mode.bounds());
    report(mode, &crew, &events, &verdict);
    let shown: Vec<&Fault> = verdict.faults.iter().take(5).collect();
    assert!(verdict.faults.is_empty(), "{} faults: {shown:?}", verdict.faults.len());
    assert!(verdict.n_conclusive_reads > 0, "no read could have told");
}

/// The promise is found to be broken without what keeps it, by many reads of keys that one host writes.
fn breaks(mode: Mode) {
    let mode = control(mode);
    let mut crew = Crew::start(mode);
    let begun = Instant::now();
    let mut draw = Random::new(now());
    let mut next = Duration::from_secs(SECONDS);
    loop {
        sleep(LEAST_PAUSE + drawn(&mut draw, 2 * LEAST_PAUSE));
        disturb(mode, &mut crew, &mut draw);
        if begun.elapsed() < next {
            continue;
        }
        let events = crew.events();
        let Verdict { faults, .. } = judge(&events, mode.bounds());
        let keys = keys_too_old(&faults);
        let n_keys = keys.iter().filter(|key| !is_shared(**key, N_WRITERS)).count();
        let outlived = faults.iter().any(|fault| matches!(fault, Fault::Outlived { .. }));
        if n_keys >= 5 && (outlived || mode.lowest != Kind::Redis) {
            crew.end();
            return;
        }
        assert!(begun.elapsed() < CONTROL, "too old: {n_keys} keys; outlived: {outlived}");
        next = 2 * next;
    }
}

/// A time shorter than this.
fn drawn(draw: &mut Random, longest: Duration) -> Duration {
    let millis = usize::try_from(longest.as_millis()).unwrap();
    Duration::from_millis(draw.below(millis) as u64)
}

/// One disturbance of those that the bound of the mode allows.
fn disturb(mode: Mode, crew: &mut Crew, draw: &mut Random) {
    let time = drawn(draw, CUT);
    if crew.is_restart_due() {
        return crew.restart_lowest(time / 3);
    }
    match draw.below(if mode.channel == Channel::None { 6 } else { 9 }) {
        0..=3 => crew.kill_one(draw),
        4 => crew.freeze_lowest(time),
        5 => crew.part_from_lowest(draw, time),
        6 | 7 => {
            let time = drawn(draw, mode.cut);
            crew.part_from_channel(draw, time);
        }
        _ => crew.cut_subscribers(),
    }
}

/// The counts of a run.
fn report(mode: Mode, crew: &Crew, events: &[Event], verdict: &Verdict) {
    let count = |is: fn(&Event) -> bool| events.iter().filter(|event| is(event)).count();
    let n_reads = count(|event| matches!(event, Event::Read { .. }));
    let n_done = count(|event| matches!(event, Event::Ended { is_done: true, .. }));
    let n_failed = count(|event| matches!(event, Event::Ended { is_done: false, .. }));
    let n_pauses = count(|event| matches!(event, Event::Paused { .. }));
    println!(
        "{}: {n_reads} reads, of which {} could tell; {n_done} writes acknowledged, {n_failed} failed; {n_pauses} \
         pauses; {:?}; {} faults",
        mode.name,
        verdict.n_conclusive_reads,
        crew.deeds,
        verdict.faults.len()
    );
    assert!(n_reads > 500 && n_done > 100, "only {n_reads} reads and {n_done} writes");
}
