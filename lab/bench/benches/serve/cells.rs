//! The cells: each is one load on servers with one number of threads.
//!
//! The name of a cell has its load in five parts, such as `get/100b/c40/x1/t1`: the work, the size of the values,
//! the connections, the way of the requests and the threads of the server. A part of a name selects every cell that
//! has it.

use std::fmt;

/// What the requests do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Get,
    Set,
    /// Two gets, then a set.
    Mix,
}

/// How the requests of one connection follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each request waits for the answer of the one before.
    Single,
    /// This many requests are sent together, and the next ones follow the last answer.
    Pipelined(usize),
    /// One request at a time, which asks for this many keys.
    Multi(usize),
}

/// One load, and the threads of the server under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) work: Work,
    pub(crate) value_bytes: usize,
    pub(crate) connections: usize,
    pub(crate) way: Way,
    pub(crate) threads: usize,
}

/// The sizes of values, and their names.
const SIZES: [(usize, &str); 4] =
    [(100, "100b"), (1 << 10, "1k"), (4 << 10, "4k"), (100 << 10, "100k")];

/// The connections of a load, and the way of its requests.
const LOADS: [(usize, Way); 6] = [
    (1, Way::Single),
    (4, Way::Single),
    (40, Way::Single),
    (4, Way::Pipelined(16)),
    (4, Way::Multi(16)),
    (4, Way::Multi(100)),
];

/// The cells without an argument: every way of a small get, and one or two cells of each other kind.
const USUAL: [&str; 13] = [
    "get/100b/c1/x1/t1",
    "get/100b/c4/x1/t1",
    "get/100b/c40/x1/t1",
    "get/100b/c4/p16/t1",
    "get/100b/c4/m16/t1",
    "get/100b/c4/m100/t1",
    "get/1k/c40/x1/t1",
    "get/4k/c40/x1/t1",
    "get/100k/c4/x1/t1",
    "set/100b/c40/x1/t1",
    "set/100b/c4/p16/t1",
    "mix/100b/c40/x1/t1",
    "get/100b/c40/x1/t2",
];

/// The most bytes of one answer: a longer one measures the memory and not the server.
const MOST_BYTES_OF_AN_ANSWER: usize = 4 << 20;

/// Bytes of all values, and the most keys. Each server holds all keys, so that every get finds its value.
const ALL_VALUES_BYTES: usize = 100 << 20;
const MOST_KEYS: usize = 100_000;

impl Cell {
    /// Every cell, in the order of the report. Cells with the same servers stand together.
    pub(crate) fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for threads in [1, 2] {
            for (value_bytes, _) in SIZES {
                for work in [Work::Get, Work::Set, Work::Mix] {
                    let loads = LOADS.into_iter();
                    cells.extend(loads.map(|(connections, way)| Self {
                        work,
                        value_bytes,
                        connections,
                        way,
                        threads,
                    }));
                }
            }
        }
        cells.retain(|cell| {
            let n_keys = cell.keys_a_request();
            n_keys == 1
                || (cell.work == Work::Get && n_keys * cell.value_bytes <= MOST_BYTES_OF_AN_ANSWER)
        });
        cells
    }

    /// The cells that the arguments ask for. An argument is a part of a name.
    pub(crate) fn asked_for(parts: &[String], all: bool) -> Vec<Self> {
        let is_asked = |cell: &Self| {
            let name = cell.to_string();
            match parts {
                _ if all => true,
                [] => USUAL.contains(&&*name),
                parts => parts.iter().any(|part| name.contains(&**part)),
            }
        };
        Self::all().into_iter().filter(is_asked).collect()
    }

    /// Whether the same servers, with the same values, serve both cells.
    pub(crate) fn has_servers_of(&self, other: &Self) -> bool {
        (self.value_bytes, self.threads) == (other.value_bytes, other.threads)
    }

    /// The keys that a server holds for values of this size.
    pub(crate) fn keys(&self) -> usize {
        (ALL_VALUES_BYTES / self.value_bytes).min(MOST_KEYS)
    }

    /// The requests that a connection sends together.
    pub(crate) fn pipeline(&self) -> usize {
        if let Way::Pipelined(requests) = self.way { requests } else { 1 }
    }

    /// The keys of one request.
    pub(crate) fn keys_a_request(&self) -> usize {
        if let Way::Multi(keys) = self.way { keys } else { 1 }
    }

    /// Whether a connection waits for the answer of each request, and each request has one key.
    pub(crate) fn is_single(&self) -> bool {
        self.way == Way::Single
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Get => "get",
            Work::Set => "set",
            Work::Mix => "mix",
        };
        let size = SIZES.iter().find(|(bytes, _)| *bytes == self.value_bytes);
        let (size, connections) = (size.map_or("?", |(_, name)| name), self.connections);
        write!(f, "{work}/{size}/c{connections}/")?;
        match self.way {
            Way::Single => write!(f, "x1")?,
            Way::Pipelined(requests) => write!(f, "p{requests}")?,
            Way::Multi(keys) => write!(f, "m{keys}")?,
        }
        write!(f, "/t{}", self.threads)
    }
}
