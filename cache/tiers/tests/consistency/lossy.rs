//! A wire to a Redis that loses single messages of its channels, and nothing else.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use larder_testkit::{Peer, Random};

use super::job::now;

/// Of this many messages one is lost.
const ONE_OF: usize = 20;

/// What a message to a subscriber begins with.
const MESSAGE: &[u8] = b"3\r\n$7\r\nmessage\r\n";

/// The wire. It stays until the test process ends.
pub(crate) struct Lossy {
    peer: Peer,
    n_lost: Arc<AtomicU32>,
}

impl Lossy {
    pub(crate) fn to(address: &str) -> Self {
        let (address, n_lost) = (address.to_owned(), Arc::new(AtomicU32::new(0)));
        let lost = Arc::clone(&n_lost);
        let peer = Peer::listening(move |client, _| {
            // A client whose server is gone loses its connection.
            let Ok(server) = TcpStream::connect(&address) else { return };
            let ends = [&server, &client].map(|end| end.try_clone().unwrap());
            let ([from_server, to_client], lost) = (ends, Arc::clone(&lost));
            // An error is the end of one of both connections.
            thread::spawn(move || lose(from_server, to_client, &lost));
            thread::spawn(move || {
                let _ = io::copy(&mut &client, &mut &server);
                let _ = server.shutdown(std::net::Shutdown::Both);
            });
        });
        Self { peer, n_lost }
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.peer.port())
    }

    /// The number of messages that it has lost.
    pub(crate) fn n_lost(&self) -> u32 {
        self.n_lost.load(Ordering::Relaxed)
    }
}

/// Passes the answers of the server on, but for some messages.
fn lose(mut server: TcpStream, mut client: TcpStream, n_lost: &AtomicU32) -> io::Result<()> {
    let (mut draw, mut waiting, mut room) = (Random::new(now()), Vec::new(), [0; 1 << 14]);
    loop {
        let len = match server.read(&mut room)? {
            0 => return client.shutdown(std::net::Shutdown::Both),
            len => len,
        };
        waiting.extend_from_slice(&room[..len]);
        while let Some(len) = frame(&waiting) {
            if waiting[1..].starts_with(MESSAGE) && draw.below(ONE_OF) == 0 {
                n_lost.fetch_add(1, Ordering::Relaxed);
            } else {
                client.write_all(&waiting[..len])?;
            }
            waiting.drain(..len);
        }
    }
}

/// The length of the first answer of RESP in these bytes; `None` where it is not whole.
fn frame(bytes: &[u8]) -> Option<usize> {
    let line = 2 + bytes.windows(2).position(|end| end == b"\r\n")?;
    let count = || std::str::from_utf8(&bytes[1..line - 2]).unwrap().parse::<i64>().unwrap();
    let n_parts = match bytes[0] {
        b'$' | b'=' | b'!' => {
            let Ok(len) = usize::try_from(count()) else { return Some(line) };
            return (bytes.len() >= line + len + 2).then_some(line + len + 2);
        }
        b'*' | b'>' | b'~' => count(),
        b'%' => 2 * count(),
        _ => 0,
    };
    (0..n_parts).try_fold(line, |begin, _| Some(begin + frame(&bytes[begin..])?))
}
