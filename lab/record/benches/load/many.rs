//! Ten thousand connections at once, each of which is used.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use crate::servers::Server;
use crate::{KEYS, answer_len, connect, key};

/// The connections.
const WANTED: usize = 10_000;

/// Files that the proxy keeps for itself. Each connection takes two others, and no two processes can share them.
const OTHER_FILES: u64 = 64;

/// Opens the connections, or as many as the system allows, and asks for a key on each.
pub(crate) fn run(address: &str, proxy: &Server) {
    let (files, _) = larder_host::limits::open_files().unwrap();
    let wanted = WANTED.min(usize::try_from((files - OTHER_FILES) / 2).unwrap());
    if wanted < WANTED {
        let needed = 2 * WANTED as u64 + OTHER_FILES;
        println!(
            "\na process may open {files} files here; {WANTED} connections need {needed}, by prlimit --nofile={needed}"
        );
    }
    let begin = Instant::now();
    let mut sockets: Vec<TcpStream> = (0..wanted).map(|_| connect(address)).collect();
    let opened = begin.elapsed();
    let mut answer = vec![0; answer_len(1, 1)];
    let begin = Instant::now();
    for (number, socket) in sockets.iter_mut().enumerate() {
        socket.write_all(format!("get {}\r\n", key(number % KEYS)).as_bytes()).unwrap();
    }
    for socket in &mut sockets {
        socket.read_exact(&mut answer).unwrap();
    }
    println!(
        "\n{wanted} connections: opened in {:.1} s, a get on each in {:.2} s, the proxy has {} MiB",
        opened.as_secs_f64(),
        begin.elapsed().as_secs_f64(),
        proxy.memory_mib(),
    );
}
