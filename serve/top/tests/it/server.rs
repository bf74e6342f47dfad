//! What the tests ask a memcached.

use std::io::{Read, Write};
use std::net::TcpStream;

use larder_testkit::{PATIENCE, within};

/// Waits until the server of this connection has this many, this one among them.
pub(crate) fn until_connected(client: &mut TcpStream, n_connections: u32) {
    let is_met = || {
        client.write_all(b"stats\r\n").unwrap();
        let stats = until_end(client);
        let (_, rest) = stats.split_once("STAT curr_connections ").unwrap();
        rest.split_once('\r').unwrap().0.parse::<u32>().unwrap() == n_connections
    };
    assert!(within(PATIENCE, is_met));
}

/// Reads an answer with its last line `END`.
fn until_end(client: &mut TcpStream) -> String {
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(b"END\r\n") {
        let len = client.read(&mut piece).unwrap();
        assert!(len > 0, "memcached ended the connection");
        answer.extend_from_slice(&piece[..len]);
    }
    String::from_utf8(answer).unwrap()
}
