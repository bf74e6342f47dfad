//! The time of a get, one at a time on one connection.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use crate::servers::Way;
use crate::{KEYS, answer_len, connect, key, spread};

const TURNS: usize = 30;

/// The gets of each way in a turn.
const EACH: usize = 2000;

/// Measures and prints the round trips of each way.
pub(crate) fn run(ways: &[Way<'_>]) {
    let mut sockets: Vec<TcpStream> = ways.iter().map(|way| connect(way.address)).collect();
    // The medians of each turn: what the others of a turn add is of the same moment.
    let mut medians = vec![Vec::new(); ways.len()];
    for turn in 0..TURNS {
        for (socket, medians) in sockets.iter_mut().zip(&mut medians) {
            let mut times: Vec<f64> =
                (0..EACH).map(|number| round_trip(socket, turn * EACH + number)).collect();
            medians.push(spread(&mut times).0);
        }
    }
    let past = medians[0].clone();
    for (way, mut medians) in ways.iter().zip(medians) {
        let mut added: Vec<f64> = medians.iter().zip(&past).map(|(own, past)| own - past).collect();
        let (median, _) = spread(&mut medians);
        print!("  {:16} median {median:6.1} us", way.name);
        if way.between.is_some() {
            let (added, [least, most]) = spread(&mut added);
            print!(", +{added:.1} us ({least:.1} to {most:.1} in {TURNS} turns)");
        }
        println!();
    }
}

/// The time of a get in microseconds.
fn round_trip(socket: &mut TcpStream, number: usize) -> f64 {
    let request = format!("get {}\r\n", key(number % KEYS));
    let mut answer = vec![0; answer_len(1, 1)];
    let begin = Instant::now();
    socket.write_all(request.as_bytes()).unwrap();
    socket.read_exact(&mut answer).unwrap();
    begin.elapsed().as_secs_f64() * 1e6
}
