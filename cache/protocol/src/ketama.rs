//! The placement of keys on the servers of a pool: ketama, as in libmemcached.
//!
//! Every server gets points on a ring of 2^32, from the MD5 of its name and a running number; a key belongs to
//! the first point at or after its own hash. When a server comes or goes, only its share of the keys moves.
//! Clients that share a pool must agree on every key. So the hashed names, the number of points and even the rounding
//! are libmemcached's; `tests/ketama.rs` compares its answers with these.

use md5::{Digest, Md5};

/// The port that libmemcached leaves out of a server's name.
pub const DEFAULT_PORT: u16 = 11211;

/// A server of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolServer<'a> {
    /// The host as the pool's clients spell it: a name, an address, or the path of a socket. The host is not resolved.
    pub host: &'a str,
    /// The port; 0 for a socket.
    pub port: u16,
    /// The server's share of the keys, relative to the other servers'.
    pub weight: u32,
}

/// The ring of a pool.
#[derive(Debug, Clone)]
pub struct Ketama {
    points: Vec<Point>,
}

/// A place on the ring. The order decides between equal hashes: the server named first wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    hash: u32,
    server: usize,
}

impl Ketama {
    /// The ring of `MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED`: 160 points a server, four to an MD5, by weight.
    pub fn weighted(servers: &[PoolServer<'_>]) -> Self {
        let total: u64 = servers.iter().map(|server| u64::from(server.weight)).sum();
        let points = servers.iter().enumerate().flat_map(|(i, server)| {
            (0..digests_of(server.weight, total, servers.len())).flat_map(move |n| {
                let digest = Md5::digest(point_name(server, n));
                [0, 4, 8, 12].map(|at| Point { hash: word(&digest, at), server: i })
            })
        });
        Self::from_points(points.collect())
    }

    /// The ring of `MEMCACHED_BEHAVIOR_KETAMA` with `MEMCACHED_BEHAVIOR_HASH` at `MEMCACHED_HASH_MD5`: 100 points a
    /// server, one to an MD5, whatever its weight.
    pub fn unweighted(servers: &[PoolServer<'_>]) -> Self {
        let points = servers.iter().enumerate().flat_map(|(i, server)| {
            (0..100).map(move |n| Point { hash: hash(point_name(server, n).as_bytes()), server: i })
        });
        Self::from_points(points.collect())
    }

    fn from_points(mut points: Vec<Point>) -> Self {
        points.sort_unstable();
        Self { points }
    }

    /// The place, in the list of servers, of the server that has `key`; 0 where no server has a point.
    pub fn server(&self, key: &[u8]) -> usize {
        let hash = hash(key);
        let next = self.points.partition_point(|point| point.hash < hash);
        self.points.get(next).or(self.points.first()).map_or(0, |point| point.server)
    }
}

/// The number of digests, of four points each, of a server with this weight. It is computed in single
/// precision, as libmemcached does. Otherwise a pool with odd weights would disagree about a few keys.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the rounding is part of the placement"
)]
fn digests_of(weight: u32, total: u64, n_servers: usize) -> u32 {
    let share = weight as f32 / total as f32;
    (share * 160.0 / 4.0 * n_servers as f32 + 0.000_000_000_1).floor() as u32
}

/// The text that is hashed for the `n`th point: `host:port-n`, or `host-n` on the default port.
fn point_name(server: &PoolServer<'_>, n: u32) -> String {
    let PoolServer { host, port, .. } = server;
    if *port == DEFAULT_PORT { format!("{host}-{n}") } else { format!("{host}:{port}-{n}") }
}

fn hash(bytes: &[u8]) -> u32 {
    word(&Md5::digest(bytes), 0)
}

/// Four bytes of a digest as a number, the lowest first.
fn word(digest: &[u8], at: usize) -> u32 {
    digest[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
}
