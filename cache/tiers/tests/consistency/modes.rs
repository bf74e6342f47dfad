//! The kinds of runs: what the hosts do, what disturbs them, and how old a read may be.

use std::time::Duration;

use super::history::Bounds;
use super::job::Work;
use super::servers::Kind;

/// The longest time for which a server is stopped, and a wire is cut in most runs.
pub(crate) const CUT: Duration = Duration::from_millis(1500);

/// The time from one write of a key to the next: longer than the bound that is judged.
const PERIOD: Duration = Duration::from_secs(7);

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

/// What is between the hosts and the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wires {
    /// Relays on this host.
    Relays,
    /// The same, and the one to the channel's server loses messages.
    Lossy,
    /// Each host is a network namespace with one link to the servers.
    Links,
}

/// A kind of run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    pub(crate) work: Work,
    pub(crate) lowest: Kind,
    pub(crate) channel: Channel,
    /// More options of the stack.
    pub(crate) options: &'static str,
    /// How old a read may be, and how long after its TTL.
    replaced: Duration,
    after_ttl: Option<Duration>,
    /// The longest time for which a wire to the channel's server is cut.
    pub(crate) cut: Duration,
    pub(crate) period: Duration,
    pub(crate) wires: Wires,
}

/// The time for which a value stays in L1 where hosts do not hear of each other's writes.
const CAP: Duration = Duration::from_millis(500);

pub(crate) const MODES: [Mode; 5] = [
    Mode {
        name: "without_a_channel_l1_ttl_is_the_bound",
        work: Work::Sets,
        lowest: Kind::Memcached,
        channel: Channel::None,
        options: "l1_ttl=500ms&grace=4s",
        replaced: CAP,
        after_ttl: Some(STEP),
        cut: CUT,
        period: PERIOD,
        wires: Wires::Relays,
    },
    Mode {
        name: "a_set_behind_is_seen_by_all_once_it_is_below",
        work: Work::Behind,
        lowest: Kind::Memcached,
        channel: Channel::None,
        options: "l1_ttl=500ms&write=behind",
        replaced: CAP,
        after_ttl: Some(STEP),
        cut: CUT,
        period: PERIOD,
        wires: Wires::Relays,
    },
    Mode {
        name: "with_messages_a_write_ends_the_copies_of_the_other_host",
        work: Work::Sets,
        lowest: Kind::Memcached,
        channel: Channel::Messages,
        options: "l1_ttl=1h",
        replaced: TAKEOVER,
        after_ttl: Some(STEP),
        cut: CUT,
        period: PERIOD,
        wires: Wires::Relays,
    },
    Mode {
        name: "with_messages_a_load_is_as_new_as_the_last_removal",
        work: Work::Loads,
        lowest: Kind::Memcached,
        channel: Channel::Messages,
        options: "l1_ttl=1h&grace=4s",
        replaced: TAKEOVER,
        after_ttl: None,
        cut: CUT,
        period: PERIOD,
        wires: Wires::Relays,
    },
    Mode {
        name: "with_tracking_a_write_ends_the_copies_of_the_other_host",
        work: Work::Sets,
        lowest: Kind::Redis,
        channel: Channel::Tracking,
        options: "l1_ttl=1h",
        replaced: TAKEOVER,
        // The server reports the end of a TTL at some time.
        after_ttl: None,
        cut: CUT,
        period: PERIOD,
        wires: Wires::Relays,
    },
];

/// Runs whose control is that of another.
pub(crate) const OTHER_WIRES: [Mode; 2] = [
    Mode { name: "with_messages_a_lost_one_is_missed", wires: Wires::Lossy, ..MODES[2] },
    Mode { name: "with_messages_a_host_may_lose_its_link", wires: Wires::Links, ..MODES[2] },
];

/// For runs of a minute or more: a host does not reach the channel's server for so long that it counts as silent.
pub(crate) const SILENT_MODE: Mode = Mode {
    name: "with_messages_a_silent_channel_is_in_the_bound",
    cut: Duration::from_secs(8),
    replaced: SILENT,
    period: Duration::from_secs(16),
    ..MODES[2]
};

/// The same work without what keeps the promise.
pub(crate) fn control(mode: Mode) -> Mode {
    let options = match mode.work {
        Work::Behind => "l1_ttl=1h&write=behind",
        Work::Loads => "l1_ttl=1h&grace=4s",
        Work::Sets => "l1_ttl=1h",
    };
    // A Redis does not tell the rest of a TTL, so there an entry above outlives its own.
    let after_ttl = if mode.lowest == Kind::Redis { Some(STEP) } else { mode.after_ttl };
    Mode { channel: Channel::None, options, after_ttl, ..mode }
}

impl Mode {
    pub(crate) fn bounds(&self) -> Bounds {
        let nanos = |time: Duration| u64::try_from((time + SLACK).as_nanos()).unwrap();
        Bounds { replaced: nanos(self.replaced), after_ttl: self.after_ttl.map(nanos) }
    }
}
