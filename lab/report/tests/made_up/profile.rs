//! The behaviour of the caches of made-up runs: fast or slow, steady or not.

use larder_report::{Limits, Operation, Target};

/// The properties of a cache that decide its figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Profile {
    /// The URL, which names the target in cells.
    pub(crate) url: &'static str,
    /// The label.
    pub(crate) name: &'static str,
    /// Version of the library or server.
    pub(crate) version: &'static str,
    /// The durability of an acknowledged set.
    pub(crate) durability: &'static str,
    /// The time of a get without its value, in nanoseconds.
    pub(crate) get_ns: f64,
    /// The time of a set without its value, in nanoseconds.
    pub(crate) set_ns: f64,
    /// The time that each KiB of the value adds, in nanoseconds.
    pub(crate) kib_ns: f64,
    /// The spread of its latencies: 0.1 is steady, 0.4 is not.
    pub(crate) spread: f64,
    /// The longest stalls, in nanoseconds.
    pub(crate) stall_ns: f64,
    /// Memory beside the values, in bytes.
    pub(crate) rss_bytes: u64,
    /// The place of its data.
    pub(crate) place: Place,
}

/// The place of a cache's data, which decides the owner of the CPU time and of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the memory of the client.
    Memory,
    /// In files that the client writes.
    Files,
    /// In the memory of a server.
    Server,
    /// In the files of a server.
    Database,
}

impl Profile {
    /// The time of one thread alone for an operation on a value of this size, in nanoseconds.
    pub(crate) fn mean_ns(&self, operation: Operation, value_bytes: f64) -> f64 {
        let bare = if operation.reads() { self.get_ns } else { self.set_ns };
        let moves = !matches!(operation, Operation::Delete | Operation::Touch);
        bare + if moves { self.kib_ns * value_bytes / 1024.0 } else { 0.0 }
    }

    /// The record of the target in a run.
    pub(crate) fn target(&self) -> Target {
        let (reach, ownership, file_system) = match self.place {
            Place::Memory => ("process", "embedded", None),
            Place::Files => ("host", "embedded", Some("ext4 (page cache)")),
            Place::Server => ("network", "managed", None),
            Place::Database => ("network", "managed", Some("ext4 (page cache)")),
        };
        let scheme = self.url.split(':').next().unwrap_or_default();
        Target {
            url: self.url.into(),
            name: self.name.into(),
            engine: scheme.into(),
            version: Some(self.version.into()),
            durability: Some(self.durability.into()),
            reach: Some(reach.into()),
            ownership: Some(ownership.into()),
            file_system: file_system.map(Into::into),
            stores: Some(true),
            capacity_bytes: (self.place != Place::Database).then_some(1 << 30),
            limits: Limits { probed_key_len: 1024, probed_value_len: 2 << 20, ..Limits::default() },
            ..Target::default()
        }
    }

    /// Whether a server does part of the work.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.place, Place::Server | Place::Database)
    }

    /// Whether the cache writes files.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.place, Place::Files | Place::Database)
    }
}

/// The most caches that a report may have to tell apart.
pub(crate) const PROFILES: [Profile; 12] = [
    profile("moka:", "moka:", "0.12.16", Place::Memory, "volatile", [310.0, 620.0, 24.0]),
    profile("lmdb:?sync=off", "lmdb:", "0.9.33", Place::Files, "os-cache", [820.0, 6100.0, 60.0]),
    Profile {
        spread: 0.35,
        stall_ns: 4e6,
        ..profile("file:", "file:", "0.1.0", Place::Files, "os-cache", [4300.0, 21_000.0, 90.0])
    },
    profile("sqlite:", "sqlite:", "3.51.2", Place::Files, "os-cache", [3900.0, 14_000.0, 210.0]),
    profile(
        "memcached:",
        "memcached:",
        "1.6.38",
        Place::Server,
        "volatile",
        [14_000.0, 15_500.0, 160.0],
    ),
    profile(
        "memory:?size=1GiB",
        "memory:",
        "0.1.0",
        Place::Memory,
        "volatile",
        [180.0, 240.0, 22.0],
    ),
    profile(
        "mmap:/dev/shm/larder",
        "mmap:",
        "0.1.0",
        Place::Memory,
        "volatile",
        [205.0, 330.0, 22.0],
    ),
    profile("redis:", "redis:", "8.2.1", Place::Server, "volatile", [16_000.0, 17_200.0, 190.0]),
    Profile {
        spread: 0.4,
        stall_ns: 7e7,
        ..profile(
            "postgresql:",
            "postgresql:",
            "17.6",
            Place::Database,
            "fsync-each",
            [61_000.0, 880_000.0, 900.0],
        )
    },
    Profile {
        spread: 0.38,
        stall_ns: 5e7,
        ..profile(
            "mysql:",
            "mysql:",
            "8.4.6",
            Place::Database,
            "fsync-each",
            [72_000.0, 910_000.0, 1100.0],
        )
    },
    profile(
        "mongodb:",
        "mongodb:",
        "8.0.13",
        Place::Database,
        "fsync-batch",
        [88_000.0, 102_000.0, 700.0],
    ),
    profile(
        "perl+fastmmap:/dev/shm/x",
        "perl+fastmmap:",
        "1.60",
        Place::Files,
        "volatile",
        [21_000.0, 26_500.0, 310.0],
    ),
];

/// A steady cache, with the times of a get, a set and each KiB, in nanoseconds.
const fn profile(
    url: &'static str,
    name: &'static str,
    version: &'static str,
    place: Place,
    durability: &'static str,
    [get_ns, set_ns, kib_ns]: [f64; 3],
) -> Profile {
    Profile {
        url,
        name,
        version,
        durability,
        get_ns,
        set_ns,
        kib_ns,
        spread: 0.18,
        stall_ns: 6e5,
        rss_bytes: 12 << 20,
        place,
    }
}
