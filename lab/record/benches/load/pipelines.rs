//! The processor time of requests that are sent together, on 40 connections.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::servers::{Server, Way};
use crate::{KEYS, answer_len, connect, key, spread};

const CONNECTIONS: usize = 40;
const TURNS: usize = 9;

/// The keys that each way is asked for in a turn.
const KEYS_OF_TURN: usize = 320_000;

/// What a turn has cost, in microseconds a key.
struct Cost {
    wall: f64,
    memcached: f64,
    /// Of the process between the client and memcached.
    between: f64,
}

/// Gets of these keys, one after the other.
pub(crate) fn gets(keys: &[String]) -> String {
    keys.iter().map(|key| format!("get {key}\r\n")).collect::<Vec<_>>().concat()
}

/// One get for all of these keys.
pub(crate) fn multi_get(keys: &[String]) -> String {
    format!("get {}\r\n", keys.join(" "))
}

/// Sends requests for this many keys on each connection in turns, takes all answers, and prints the costs of each way.
pub(crate) fn run(ways: &[Way<'_>], n_keys: usize, request: fn(&[String]) -> String) {
    let requests: Vec<String> = (0..1000)
        .map(|place| {
            let number = |i| (place * 7919 + i * 104_729) % KEYS;
            request(&(0..n_keys).map(|i| key(number(i))).collect::<Vec<_>>())
        })
        .collect();
    let mut sockets: Vec<Vec<TcpStream>> =
        ways.iter().map(|way| (0..CONNECTIONS).map(|_| connect(way.address)).collect()).collect();
    let mut costs: Vec<Vec<Cost>> = ways.iter().map(|_| Vec::new()).collect();
    for _ in 0..TURNS {
        for ((way, sockets), costs) in ways.iter().zip(&mut sockets).zip(&mut costs) {
            costs.push(turn(way, sockets, n_keys, &requests));
        }
    }
    for (way, own) in ways.iter().zip(&costs) {
        shown(way, own, &costs[0]);
    }
}

/// One turn of one way.
fn turn(way: &Way<'_>, sockets: &mut [TcpStream], n_keys: usize, requests: &[String]) -> Cost {
    let rounds = KEYS_OF_TURN / (CONNECTIONS * n_keys);
    let n_gets = requests[0].matches("get ").count();
    let mut answer = vec![0; answer_len(n_gets, n_keys)];
    let between = || way.between.map_or(Duration::ZERO, Server::cpu);
    let before = [way.memcached.cpu(), between()];
    let begin = Instant::now();
    let mut requests = requests.iter().cycle();
    for _ in 0..rounds {
        for (socket, request) in sockets.iter_mut().zip(&mut requests) {
            socket.write_all(request.as_bytes()).unwrap();
        }
        for socket in sockets.iter_mut() {
            socket.read_exact(&mut answer).unwrap();
        }
    }
    let wall = begin.elapsed();
    // The rows of the end are written too.
    std::thread::sleep(Duration::from_millis(600));
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let of_key = |time: Duration| time.as_secs_f64() * 1e6 / (rounds * CONNECTIONS * n_keys) as f64;
    Cost {
        wall: of_key(wall),
        memcached: of_key(way.memcached.cpu().saturating_sub(before[0])),
        between: of_key(between().saturating_sub(before[1])),
    }
}

/// Prints the costs of a way beside those past the proxy.
fn shown(way: &Way<'_>, own: &[Cost], past: &[Cost]) {
    let of = |figure: fn(&Cost) -> f64| spread(&mut own.iter().map(figure).collect::<Vec<_>>()).0;
    let rate = 1e6 / of(|cost| cost.wall);
    let memcached = of(|cost| cost.memcached);
    print!("  {:16} {rate:8.0} keys/s; memcached {memcached:.3} us a key", way.name);
    if way.between.is_some() {
        let between = of(|cost| cost.between);
        let share = |(own, past): (&Cost, &Cost)| 100.0 * own.between / past.memcached;
        let mut shares: Vec<f64> = own.iter().zip(past).map(share).collect();
        let (share, [least, most]) = spread(&mut shares);
        print!(", between {between:.3} us: {share:.0} % of memcached past the proxy");
        print!(" ({least:.0} to {most:.0} in {TURNS} turns)");
    }
    println!();
}
