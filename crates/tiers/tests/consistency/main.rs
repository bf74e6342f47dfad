//! Processes of two hosts read and write the same keys, while processes are killed, the lowest tier stops, is killed and
//! starts anew, the wires of a host are cut for a while, and connections of the channel are lost. No read is older than
//! the last acknowledged write plus the bound of docs/tiers.md.
//!
//! Every wire between a host and a server is a relay. The wires to the channel's server are slow, so messages come late.
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
mod servers;
mod work;
mod worker;

use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crew::{Crew, N_WRITERS};
use history::{Bounds, Event, Fault, Verdict, judge, keys_too_old};
use job::{Work, is_shared, now};
use larder_testkit::{MEMCACHED, Random, has_program, trial, trial_where};
use libtest_mimic::{Arguments, Trial};
use servers::{Kind, redis_recipe};

/// The time of a run.
const SECONDS: u64 = 8;

/// The longest time until a control has found that the promise is broken.
const CONTROL: Duration = Duration::from_mins(2);

/// The longest time for which a server is stopped, and a wire is cut in most runs.
const CUT: Duration = Duration::from_millis(1500);

/// The time from one write of a key to the next: longer than the bound that is judged.
const PERIOD: Duration = Duration::from_secs(7);

/// The shortest time between two disturbances.
const LEAST_PAUSE: Duration = Duration::from_millis(300);

/// What the machine may add to a bound, beside the pauses that the processes see.
const SLACK: Duration = Duration::from_secs(1);

/// A time of docs/tiers.md by which a message is late at most, with the cut that delays it: where a subscriber is killed
/// and another takes over.
const TAKEOVER: Duration = CUT.saturating_add(Duration::from_secs(2));

/// The time of docs/tiers.md after which no old value is left while the channel's server is silent.
const SILENT: Duration = Duration::from_secs(10);

/// The step in which memcached counts a TTL.
const STEP: Duration = Duration::from_secs(1);

/// The way in which hosts hear of each other's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channel {
    None,
    /// By messages over a Redis beside the lowest tier.
    Messages,
    /// By the report of the lowest tier, a Redis.
    Tracking,
}

/// A kind of run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    name: &'static str,
    pub(crate) work: Work,
    pub(crate) lowest: Kind,
    pub(crate) channel: Channel,
    /// More options of the stack.
    pub(crate) options: &'static str,
    /// How old a read may be, and how long after its TTL.
    replaced: Duration,
    over: Option<Duration>,
    /// The longest time for which a wire to the channel's server is cut.
    cut: Duration,
    pub(crate) period: Duration,
}

/// The time for which a value stays in L1 where hosts do not hear of each other's writes.
const CAP: Duration = Duration::from_millis(500);

const MODES: [Mode; 5] = [
    Mode {
        name: "without_a_channel_l1_ttl_is_the_bound",
        work: Work::Sets,
        lowest: Kind::Memcached,
        channel: Channel::None,
        options: "l1_ttl=500ms&grace=4s",
        replaced: CAP,
        over: Some(STEP),
        cut: CUT,
        period: PERIOD,
    },
    Mode {
        name: "a_set_behind_is_seen_by_all_once_it_is_below",
        work: Work::Behind,
        lowest: Kind::Memcached,
        channel: Channel::None,
        options: "l1_ttl=500ms&write=behind",
        replaced: CAP,
        over: Some(STEP),
        cut: CUT,
        period: PERIOD,
    },
    Mode {
        name: "with_messages_a_write_ends_the_copies_of_the_other_host",
        work: Work::Sets,
        lowest: Kind::Memcached,
        channel: Channel::Messages,
        options: "l1_ttl=1h",
        replaced: TAKEOVER,
        over: Some(STEP),
        cut: CUT,
        period: PERIOD,
    },
    Mode {
        name: "with_messages_a_load_is_as_new_as_the_last_removal",
        work: Work::Loads,
        lowest: Kind::Memcached,
        channel: Channel::Messages,
        options: "l1_ttl=1h&grace=4s",
        replaced: TAKEOVER,
        over: None,
        cut: CUT,
        period: PERIOD,
    },
    Mode {
        name: "with_tracking_a_write_ends_the_copies_of_the_other_host",
        work: Work::Sets,
        lowest: Kind::Redis,
        channel: Channel::Tracking,
        options: "l1_ttl=1h",
        replaced: TAKEOVER,
        // The server reports the end of a TTL at some time.
        over: None,
        cut: CUT,
        period: PERIOD,
    },
];

/// For runs of a minute or more: a host does not reach the channel's server for so long that it counts as silent.
const SILENT_MODE: Mode = Mode {
    name: "with_messages_a_silent_channel_is_in_the_bound",
    cut: Duration::from_secs(8),
    replaced: SILENT,
    period: Duration::from_secs(16),
    ..MODES[2]
};

/// The same work without what keeps the promise.
fn control(mode: Mode) -> Mode {
    let options = match mode.work {
        Work::Behind => "l1_ttl=1h&write=behind",
        Work::Loads => "l1_ttl=1h&grace=4s",
        Work::Sets => "l1_ttl=1h",
    };
    // A Redis does not tell the rest of a TTL, so there an entry above outlives its own.
    let over = if mode.lowest == Kind::Redis { Some(STEP) } else { mode.over };
    Mode { channel: Channel::None, options, over, ..mode }
}

impl Mode {
    fn bounds(&self) -> Bounds {
        let nanos = |time: Duration| u64::try_from((time + SLACK).as_nanos()).unwrap();
        Bounds { replaced: nanos(self.replaced), over: self.over.map(nanos) }
    }
}

fn main() -> ExitCode {
    larder_host::relay::serve_if_asked();
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
    let silent = (seconds() >= Duration::from_mins(1)).then_some(SILENT_MODE);
    trials.extend(MODES.into_iter().chain(silent).flat_map(|mode| -> [Trial; 2] {
        let broken = format!("the_promise_is_found_broken_where_it_is::{}", mode.name);
        [
            trial_where(need, mode.name, move || keeps(mode)),
            trial_where(need, &broken, move || breaks(mode)),
        ]
    }));
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
    assert!(verdict.n_telling > 0, "no read could have told");
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
        verdict.n_telling,
        crew.deeds,
        verdict.faults.len()
    );
    assert!(n_reads > 500 && n_done > 100, "only {n_reads} reads and {n_done} writes");
}
