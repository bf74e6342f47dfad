//! The server: a thread that accepts connections, and a thread for each connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::cache::Cache;
use super::commands::{ITEM_SIZE_MAX, answer};
use super::fault::{Fault, Sent};
use super::request::Request;

/// A longer line is not a request; a request for many keys has 32 KiB.
const MAX_LINE_LEN: u64 = 64 << 10;

/// A server on a free port of 127.0.0.1, in threads of this process. Dropping it ends the server.
#[derive(Debug)]
pub struct TrapServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepts: Option<JoinHandle<()>>,
}

/// The state that the threads share.
#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Signalled when the server ends, so that a stall ends too.
    ended: Condvar,
}

#[derive(Debug)]
struct State {
    cache: Cache,
    has_ended: bool,
    /// The number of requests without an answer.
    unanswered: u64,
    /// The open connections, by their numbers.
    open: BTreeMap<u64, TcpStream>,
    /// The last answer to a read, and the connection that it went to.
    read: Option<(u64, Vec<u8>)>,
    /// The last answer to a read on any other connection.
    read_elsewhere: Option<Vec<u8>>,
}

impl TrapServer {
    /// Starts a server with this fault.
    pub fn start(fault: Fault) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = State {
            cache: Cache::new(fault),
            has_ended: false,
            unanswered: 0,
            open: BTreeMap::new(),
            read: None,
            read_elsewhere: None,
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), ended: Condvar::new() });
        let accepting = Arc::clone(&shared);
        let accepts = std::thread::spawn(move || accepting.accept(&listener));
        Ok(Self { address, shared, accepts: Some(accepts) })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The number of requests that it has not answered, because it hangs.
    pub fn unanswered(&self) -> u64 {
        self.shared.lock().unanswered
    }

    /// The URL of a target of this server, with this label.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("memcached://{}?protocol=text&name={name}", self.address)
    }
}

impl Drop for TrapServer {
    /// Closes all connections and waits for the threads.
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.has_ended = true;
        for connection in state.open.values() {
            // A failure is harmless: the client has already closed the connection.
            let _ = connection.shutdown(Shutdown::Both);
        }
        drop(state);
        self.shared.ended.notify_all();
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        if let Some(accepts) = self.accepts.take() {
            // If the thread panicked, the test has failed already.
            let _ = accepts.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves connections until the server ends, and then waits for the open connections.
    fn accept(self: Arc<Self>, listener: &TcpListener) {
        let mut threads = Vec::new();
        for (number, stream) in (0..).zip(listener.incoming()) {
            let Ok(stream) = stream else { continue };
            let mut state = self.lock();
            if state.has_ended {
                break;
            }
            let Ok(clone) = stream.try_clone() else { continue };
            state.cache.counts.connections += 1;
            state.open.insert(number, clone);
            drop(state);
            let shared = Arc::clone(&self);
            threads.push(std::thread::spawn(move || {
                // The client has closed the connection, which is its normal end.
                let _ = shared.serve(number, &stream);
                let _ = stream.shutdown(Shutdown::Both);
                shared.lock().open.remove(&number);
            }));
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    /// Answers the requests of a connection until it ends.
    fn serve(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut input = BufReader::new(stream);
        let mut output = stream;
        loop {
            let mut line = Vec::new();
            (&mut input).take(MAX_LINE_LEN).read_until(b'\n', &mut line)?;
            if line.pop() != Some(b'\n') {
                return Ok(());
            }
            let Some(request) = Request::parse(&line) else {
                output.write_all(b"ERROR\r\n")?;
                continue;
            };
            if request == Request::Quit {
                return Ok(());
            }
            let is_early = request.value_len().is_some() && self.lock().cache.fault.is_early();
            if is_early && !request.is_quiet() {
                output.write_all(b"STORED\r\n")?;
            }
            let value = match request.value_len() {
                Some(len) => match read_value(&mut input, len)? {
                    Some(value) => value,
                    None => return output.write_all(b"CLIENT_ERROR bad data chunk\r\n"),
                },
                None => Vec::new(),
            };
            let is_quiet = request.is_quiet() || is_early;
            let (answer, sent) = self.answer(number, request, value);
            match sent {
                _ if is_quiet => {}
                Sent::Whole => output.write_all(&answer)?,
                Sent::Later(time) => {
                    self.wait(time);
                    output.write_all(&answer)?;
                }
                Sent::Garbage => output.write_all(b"\x07\xffgarbage 0 0\r\n")?,
                Sent::Nothing => {}
                Sent::Closed => return Ok(()),
            }
        }
    }

    /// Carries a request out; returns the answer and its fate.
    fn answer(&self, number: u64, request: Request, value: Vec<u8>) -> (Vec<u8>, Sent) {
        let mut out = Vec::new();
        let mut state = self.lock();
        let state = &mut *state;
        let (is_read, is_of_entries) =
            (matches!(request, Request::Get { .. }), request.is_of_entries());
        if is_of_entries {
            state.cache.begin(number);
        }
        answer(&mut state.cache, request, value, &mut out);
        if is_read {
            state.cross(number, &mut out);
        }
        // A hanging server does not answer `version` either.
        let sent =
            match state.cache.fault.sends(state.cache.counts.requests, state.cache.has_overwritten)
            {
                Sent::Nothing => Sent::Nothing,
                sent if is_of_entries => sent,
                _ => Sent::Whole,
            };
        state.unanswered += u64::from(matches!(sent, Sent::Nothing));
        (out, sent)
    }

    /// Waits for this time, or until the server ends.
    fn wait(&self, time: Duration) {
        let state = self.lock();
        let waited = self.ended.wait_timeout_while(state, time, |state| !state.has_ended);
        drop(waited);
    }
}

impl State {
    /// Replaces an answer with the answer of another connection, where the fault demands it.
    fn cross(&mut self, number: u64, out: &mut Vec<u8>) {
        if let Some((last, answer)) = self.read.replace((number, out.clone()))
            && last != number
        {
            self.read_elsewhere = Some(answer);
        }
        if let Some(other) = &self.read_elsewhere
            && self.cache.fault.crosses(self.cache.counts.gets)
        {
            out.clone_from(other);
        }
    }
}

/// Reads a value and the end of its line; `None` where the line does not end there. Of a too large value only the
/// beginning is kept, which is enough to refuse it.
fn read_value(input: &mut impl BufRead, len: usize) -> io::Result<Option<Vec<u8>>> {
    let mut value = vec![0; len.min(2 * ITEM_SIZE_MAX)];
    input.read_exact(&mut value)?;
    io::copy(&mut input.take((len - value.len()) as u64), &mut io::sink())?;
    let mut end = [0; 2];
    input.read_exact(&mut end)?;
    Ok((end == *b"\r\n").then_some(value))
}
