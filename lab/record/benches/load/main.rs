//! What the proxy costs, against a real memcached: round trips, processor time, many connections.
//!
//! `just bench-record`, or `cargo bench -p larder-record --bench load -- [WORD...]`, where a word is a part of a figure's
//! name: `round-trips`, `pipeline`, `multi-gets`, `sample`, `connections`. The proxy, and a floor that passes the same
//! bytes on and follows nothing, take turns with the way past both. Processor time is that of a whole process, the
//! writing of the journal included.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(clippy::unwrap_used, reason = "a measurement without what it needs has failed")]

mod floor;
mod many;
mod pipelines;
mod round_trips;
mod servers;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use servers::{Server, Way, serve_if_asked, within_a_moment};

/// The length of each value.
const VALUE_LEN: usize = 100;

/// The keys, all of which memcached has.
const KEYS: usize = 100_000;

/// The keys of a request for many, which is one of the figures.
const MANY_KEYS: usize = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if serve_if_asked(&arguments) {
        return;
    }
    let words: Vec<&String> = arguments.iter().filter(|word| !word.starts_with("--")).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(&***word));
    larder_host::limits::raise_open_files().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let over_tcp = Server::memcached(&["-l", "127.0.0.1", "-p", &port]);
    let socket = folder.path().join("memcached.sock");
    let over_socket = Server::memcached(&["-s", socket.to_str().unwrap()]);
    let direct = format!("127.0.0.1:{port}");
    let path = socket.to_str().unwrap();
    within_a_moment(|| TcpStream::connect(&direct).is_ok() && socket.exists());
    for share in [1.0, 0.01] {
        let (to_tcp, tcp) = Server::proxy(folder.path(), &format!("memcached://{direct}"), share);
        let (to_socket, by_socket) =
            Server::proxy(folder.path(), &format!("memcached:{path}"), share);
        let (floor_to_tcp, floor_tcp) = Server::floor(&direct);
        let (floor_to_socket, floor_socket) = Server::floor(path);
        fill(&direct);
        fill(&by_socket);
        let way = |name, address, memcached, between| Way { name, address, memcached, between };
        let ways = [
            way("past the proxy", &*direct, &over_tcp, None),
            way("proxy, TCP", &tcp, &over_tcp, Some(&to_tcp)),
            way("floor, TCP", &floor_tcp, &over_tcp, Some(&floor_to_tcp)),
            way("proxy, socket", &by_socket, &over_socket, Some(&to_socket)),
            way("floor, socket", &floor_socket, &over_socket, Some(&floor_to_socket)),
        ];
        if share < 1.0 {
            if wanted("sample") {
                println!("\n40 connections x 16 gets sent together, 1 % of the keys recorded");
                pipelines::run(&ways, 16, pipelines::gets);
            }
            break;
        }
        if wanted("round-trips") {
            println!("\nround trips of a get");
            round_trips::run(&ways);
        }
        if wanted("pipeline") {
            println!("\n40 connections x 16 gets sent together");
            pipelines::run(&ways, 16, pipelines::gets);
        }
        if wanted("multi-gets") {
            println!("\n40 connections x gets of {MANY_KEYS} keys");
            pipelines::run(&ways, MANY_KEYS, pipelines::multi_get);
        }
        if wanted("connections") {
            many::run(&by_socket, &to_socket);
        }
    }
}

/// The key of this number.
fn key(number: usize) -> String {
    format!("key:{number:012}")
}

fn connect(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

/// Stores all keys.
fn fill(address: &str) {
    let mut socket = connect(address);
    let value = "v".repeat(VALUE_LEN);
    for begin in (0..KEYS).step_by(1000) {
        let set = |number| format!("set {} 0 0 {VALUE_LEN} noreply\r\n{value}\r\n", key(number));
        let sets: Vec<String> = (begin..begin + 1000).map(set).collect();
        socket.write_all(format!("{}version\r\n", sets.concat()).as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(&socket).read_line(&mut line).unwrap();
        assert!(line.starts_with("VERSION"), "{line}");
    }
}

/// The length of the answer to this many gets, which find this many values together.
fn answer_len(n_gets: usize, n_values: usize) -> usize {
    let header = format!("VALUE {} 0 {VALUE_LEN}\r\n", key(0)).len();
    n_values * (header + VALUE_LEN + 2) + n_gets * "END\r\n".len()
}

/// The median of some figures, and the least and the greatest.
fn spread(figures: &mut [f64]) -> (f64, [f64; 2]) {
    figures.sort_by(f64::total_cmp);
    (figures[figures.len() / 2], [figures[0], figures[figures.len() - 1]])
}
