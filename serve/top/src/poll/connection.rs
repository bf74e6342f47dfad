//! The connection to one server, which asks for its counters and is opened again after an error.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use larder_protocol::text::stats::{StatsReply, encode, parse_reply};
use larder_protocol::{Parsed, Refusal, shown};

use crate::address::Address;
use crate::figures;
use crate::sample::Sample;

/// The longest wait for a connection and an answer together.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);

/// The longest answer: memcached's has 4 KiB. A peer of another kind cannot fill the memory.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// A socket with the time-outs of its kind.
trait Socket: Read + Write + Send {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

impl Socket for UnixStream {
    fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(timeout))?;
        self.set_write_timeout(Some(timeout))
    }
}

/// A server, and the connection to it while there is one.
pub(super) struct Connection {
    address: Address,
    socket: Option<Box<dyn Socket>>,
    answer: Vec<u8>,
}

/// An attempt without a sample.
#[derive(Debug)]
enum Failure {
    /// The connection ended or never began.
    Io(io::Error),
    /// The server answered, and the answer has no counters.
    Answer(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Connection {
    /// Opens nothing yet.
    pub(super) fn to(address: Address) -> Self {
        Self { address, socket: None, answer: Vec::new() }
    }

    /// Asks for the counters. The error is the reason in a few words, for a line of the table.
    pub(super) fn sample(&mut self) -> Result<Sample, String> {
        let until = Instant::now() + PATIENCE;
        let was_open = self.socket.is_some();
        let mut outcome = self.attempt(until);
        // The server may have ended a connection that was silent, or may have restarted since the last sample.
        if was_open && matches!(&outcome, Err(Failure::Io(error)) if !is_timeout(error)) {
            outcome = self.attempt(until);
        }
        outcome.map_err(|failure| match failure {
            Failure::Io(error) if is_timeout(&error) => {
                format!("no answer within {}", figures::span(PATIENCE))
            }
            Failure::Io(error) => in_words(&error),
            Failure::Answer(reason) => reason,
        })
    }

    /// One attempt; after an error the connection is closed, because a late answer may still be in it.
    fn attempt(&mut self, until: Instant) -> Result<Sample, Failure> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => open(&self.address, until)?,
        };
        let counters = ask(socket.as_mut(), &mut self.answer, until)?;
        self.socket = Some(socket);
        Ok(Sample { at: Instant::now(), counters })
    }
}

/// The time that is left, or the error of a time-out.
fn left(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Connects to the first of a host's addresses that accepts.
fn open(address: &Address, until: Instant) -> io::Result<Box<dyn Socket>> {
    let (host, port) = match address {
        Address::Unix(path) => return Ok(Box::new(UnixStream::connect(path)?)),
        Address::Tcp(host, port) => (host.as_str(), *port),
    };
    let mut refusal = io::Error::other("the host has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                return Ok(Box::new(socket));
            }
            Err(error) => refusal = error,
        }
    }
    Err(refusal)
}

/// Sends the request and reads the whole answer.
fn ask(
    socket: &mut dyn Socket,
    answer: &mut Vec<u8>,
    until: Instant,
) -> Result<Vec<(String, String)>, Failure> {
    socket.set_timeout(left(until)?)?;
    answer.clear();
    encode(answer, "");
    socket.write_all(answer)?;
    answer.clear();
    let (mut counters, mut begin) = (Vec::new(), 0);
    loop {
        match parse_reply(&answer[begin..]) {
            Ok(Parsed::Complete(Ok(StatsReply::Stat { name, value }), len)) => {
                counters.push((printable(name), printable(value)));
                begin += len;
            }
            Ok(Parsed::Complete(Ok(StatsReply::End), _)) => return Ok(counters),
            Ok(Parsed::Complete(Err(refusal), _)) => {
                return Err(Failure::Answer(refusal_text(refusal)));
            }
            Ok(Parsed::Incomplete) if answer.len() < MAX_ANSWER_BYTES => {
                read(socket, answer, until)?;
            }
            Ok(Parsed::Incomplete) => {
                let reason =
                    format!("the answer to `stats` is longer than {MAX_ANSWER_BYTES} bytes");
                return Err(Failure::Answer(reason));
            }
            Err(_) => return Err(Failure::Answer(foreign(&answer[begin..]))),
        }
    }
}

/// Reads the bytes that have arrived, or waits for the first.
fn read(socket: &mut dyn Socket, answer: &mut Vec<u8>, until: Instant) -> io::Result<()> {
    let mut piece = [0; 4096];
    loop {
        socket.set_timeout(left(until)?)?;
        match socket.read(&mut piece) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(len) => {
                answer.extend_from_slice(&piece[..len]);
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A foreign text without the signs that steer a terminal.
fn printable(bytes: &[u8]) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    String::from_utf8_lossy(bytes).chars().map(|c| if steers(c) { '?' } else { c }).collect()
}

fn refusal_text(refusal: Refusal<'_>) -> String {
    match refusal {
        Refusal::Unknown => "the server does not know `stats`".to_owned(),
        Refusal::Client(reason) | Refusal::Server(reason) => {
            format!("the server says: {}", shown(reason))
        }
    }
}

/// The reason of an answer that has no form of the protocol. A full memcached sends such a line before it hangs up.
fn foreign(answer: &[u8]) -> String {
    match answer.strip_prefix(b"ERROR ") {
        Some(reason) => format!("the server says: {}", shown(reason)),
        None => format!("no server of memcached's text protocol: it says `{}`", shown(answer)),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// An error of the system in a few words, without its number.
fn in_words(error: &io::Error) -> String {
    if error.kind() == ErrorKind::UnexpectedEof {
        return "the server ended the connection".to_owned();
    }
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let text = text.strip_prefix("failed to lookup address information: ").unwrap_or(text);
    let mut signs = text.chars();
    signs.next().map(|first| first.to_lowercase().chain(signs).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that gives each connection in turn this answer, after it has read a request, and hangs up.
    fn serving(answers: &'static [&'static [u8]]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for answer in answers {
                let mut client = listener.accept().unwrap().0;
                let _ = client.read(&mut [0; 64]);
                client.write_all(answer).unwrap();
            }
        });
        Connection::to(Address::Tcp("127.0.0.1".to_owned(), port))
    }

    #[test]
    fn counters_come_in_the_servers_order() {
        let mut it = serving(&[b"STAT pid 7\r\nSTAT version 1.6.18 x\r\nEND\r\n"]);
        let sample = it.sample().unwrap();
        assert_eq!(sample.text("version"), Some("1.6.18 x"));
        assert_eq!(sample.number("pid"), Some(7.0));
    }

    #[test]
    fn a_connection_that_has_ended_meanwhile_is_opened_again_at_once() {
        let mut it = serving(&[b"STAT pid 7\r\nEND\r\n", b"STAT pid 8\r\nEND\r\n"]);
        assert_eq!(it.sample().unwrap().number("pid"), Some(7.0));
        assert_eq!(it.sample().unwrap().number("pid"), Some(8.0));
    }

    #[test]
    fn an_answer_without_counters_is_told_in_the_servers_words() {
        for (answer, told) in [
            (&b"ERROR\r\n"[..], "the server does not know `stats`"),
            (b"CLIENT_ERROR unauthenticated\r\n", "the server says: unauthenticated"),
            (b"ERROR Too many open connections\r\n", "the server says: Too many open connections"),
            (
                b"-ERR \x1b[2J\r\n",
                "no server of memcached's text protocol: it says `-ERR \\x1b[2J`",
            ),
            (b"STAT pid 7\r\n", "the server ended the connection"),
        ] {
            let mut it = serving(Box::leak(Box::new([answer])));
            assert_eq!(it.sample().unwrap_err(), told);
        }
    }

    #[test]
    fn an_endless_answer_is_cut_off() {
        let answer: &'static [u8] = b"STAT x 1\r\n".repeat(200_000).leak();
        let mut it = serving(Box::leak(Box::new([answer])));
        assert!(it.sample().unwrap_err().contains("longer than 1048576 bytes"));
    }

    #[test]
    fn a_server_that_hangs_costs_the_patience_and_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let began = Instant::now();
        let mut it = Connection::to(Address::Tcp("127.0.0.1".to_owned(), port));
        assert_eq!(it.sample().unwrap_err(), "no answer within 2s");
        assert!(began.elapsed() >= PATIENCE);
    }

    #[test]
    fn a_socket_that_is_not_there_is_told() {
        let mut it = Connection::to(Address::Unix("/no/such/socket".into()));
        assert_eq!(it.sample().unwrap_err(), "no such file or directory");
    }

    #[test]
    fn foreign_text_does_not_steer_the_terminal() {
        assert_eq!(printable(b"1.6\x1b[2J\xff"), "1.6?[2J\u{fffd}");
    }
}
