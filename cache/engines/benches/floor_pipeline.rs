//! The cost of requests that are sent without waiting, on top of the bytes on the wire.
//!
//! One thread drives many connections by epoll. It compares the client's CPU time of an operation with that of bare
//! sockets, which send the same requests and count the bytes of the answers. Both use the same server, in many short
//! slices that take turns.

#![expect(clippy::print_stdout, reason = "the result of a benchmark")]
#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "small numbers"
)]

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::Duration;

use larder_engines::ENGINES;
use larder_protocol::{meta, text};
use larder_store::{Answer, Result, Session, SetOptions, StoreUrl, Watch};

/// Operations of a slice.
const SLICE: usize = 20_000;

/// Slices of each of the two.
const SLICES: usize = 15;

/// A server, and the requests for keys in its protocol.
struct Wire {
    name: &'static str,
    url: &'static str,
    request: fn(&[&[u8]]) -> Vec<u8>,
}

const WIRES: [Wire; 3] = [
    Wire { name: "meta", url: "memcached:?server_threads=1&protocol=meta", request: of_meta },
    Wire { name: "text", url: "memcached:?server_threads=1&protocol=text", request: of_text },
    Wire { name: "redis", url: "redis:", request: of_redis },
];

fn of_meta(keys: &[&[u8]]) -> Vec<u8> {
    let mut request = Vec::new();
    for key in keys {
        meta::get::encode(&mut request, key);
    }
    request
}

fn of_text(keys: &[&[u8]]) -> Vec<u8> {
    let mut request = Vec::new();
    text::get::encode(&mut request, keys.iter().copied());
    request
}

fn of_redis(keys: &[&[u8]]) -> Vec<u8> {
    let command: &[u8] = if keys.len() == 1 { b"GET" } else { b"MGET" };
    let words = [&[command], keys].concat();
    let mut request = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        request.extend(format!("${}\r\n", word.len()).bytes());
        request.extend_from_slice(word);
        request.extend_from_slice(b"\r\n");
    }
    request
}

fn main() -> Result<()> {
    println!("client CPU of an operation, us           bare      ours     ratio");
    for wire in WIRES {
        for (n_connections, n_outstanding, n_keys) in [(40, 1, 1), (4, 16, 1), (4, 1, 100)] {
            for value_len in [100, 1024] {
                compare(&wire, n_connections, n_outstanding, n_keys, value_len)?;
            }
        }
    }
    Ok(())
}

fn compare(
    wire: &Wire,
    n_connections: usize,
    n_outstanding: usize,
    n_keys: usize,
    value_len: usize,
) -> Result<()> {
    let store = ENGINES.open(&StoreUrl::parse(wire.url)?)?;
    let keys: Vec<String> = (0..1000).map(|number| format!("floor:key:{number:06}")).collect();
    let mut session = store.session()?;
    for key in &keys {
        session.set(key.as_bytes(), &vec![b'v'; value_len], &SetOptions::default())?;
    }
    let asked: Vec<&[u8]> = keys.iter().take(n_keys).map(String::as_bytes).collect();
    let request = (wire.request)(&asked);
    let address = &store.info().settings["nodes"];
    let mut bare = Bare::connect(address, &request, n_connections, n_outstanding);
    let sessions = (0..n_connections).map(|_| store.session()).collect::<Result<Vec<_>>>()?;
    let mut ours = Ours::connect(sessions, &keys, n_outstanding, n_keys)?;
    let slice = SLICE / n_keys;
    let (mut of_bare, mut of_ours) = (Vec::new(), Vec::new());
    for _ in 0..SLICES {
        of_bare.push(cpu_of(|| bare.run(slice)) / slice as f64);
        of_ours.push(cpu_of(|| ours.run(slice)) / slice as f64);
    }
    let [bare, ours] = [of_bare, of_ours].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!(
        "{:5} {n_connections:2} x {n_outstanding:2}, {n_keys:3} keys, {value_len:4} bytes {:8.2} {:8.2}  {:8.3}",
        wire.name,
        bare * 1e6,
        ours * 1e6,
        ours / bare
    );
    Ok(())
}

/// CPU seconds of this thread.
fn cpu_of(work: impl FnOnce()) -> f64 {
    let now = || {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is that of a local.
        unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let start = now();
    work();
    now() - start
}

#[derive(Clone, Copy)]
struct Epoll(libc::c_int);

impl Epoll {
    fn new() -> Self {
        // SAFETY: the call takes no memory.
        Self(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })
    }

    fn add(self, fd: libc::c_int, number: usize) {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: number as u64 };
        // SAFETY: the pointer is that of a local.
        let added = unsafe { libc::epoll_ctl(self.0, libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        assert_eq!(added, 0, "{}", io::Error::last_os_error());
    }

    fn wait(self, events: &mut [libc::epoll_event]) -> &[libc::epoll_event] {
        let room = events.len() as libc::c_int;
        // SAFETY: the pointer and the length are those of one slice.
        let n = unsafe { libc::epoll_wait(self.0, events.as_mut_ptr(), room, -1) };
        &events[..n.max(0) as usize]
    }
}

/// Sockets that count bytes.
struct Bare {
    epoll: Epoll,
    streams: Vec<TcpStream>,
    due: Vec<usize>,
    n_outstanding: usize,
    requests: Vec<u8>,
    request_len: usize,
    answer_len: usize,
    room: Vec<u8>,
    events: Vec<libc::epoll_event>,
}

impl Bare {
    fn connect(address: &str, request: &[u8], n_connections: usize, n_outstanding: usize) -> Self {
        let epoll = Epoll::new();
        let mut streams = Vec::new();
        for number in 0..n_connections {
            let stream = TcpStream::connect(address).expect("the server listens");
            stream.set_nodelay(true).expect("an option");
            epoll.add(stream.as_raw_fd(), number);
            streams.push(stream);
        }
        let mut room = vec![0; 256 * 1024];
        streams[0].write_all(request).expect("the server reads");
        std::thread::sleep(Duration::from_millis(50));
        let answer_len = streams[0].read(&mut room).expect("the server answers");
        Self {
            epoll,
            due: vec![0; streams.len()],
            streams,
            n_outstanding,
            requests: request.repeat(n_outstanding),
            request_len: request.len(),
            answer_len,
            room,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; 64],
        }
    }

    fn run(&mut self, n: usize) {
        let (mut asked, mut answered) = (0, 0);
        for (stream, due) in self.streams.iter_mut().zip(&mut self.due) {
            stream.write_all(&self.requests).expect("the server reads");
            asked += self.n_outstanding;
            *due = self.n_outstanding * self.answer_len;
        }
        while answered < asked {
            for event in self.epoll.wait(&mut self.events) {
                let number = event.u64 as usize;
                let received = self.streams[number].read(&mut self.room).expect("answers");
                let before = self.due[number].div_ceil(self.answer_len);
                self.due[number] -= received;
                let n_answered = before - self.due[number].div_ceil(self.answer_len);
                answered += n_answered;
                if asked < n && n_answered > 0 {
                    let requests = &self.requests[..n_answered * self.request_len];
                    self.streams[number].write_all(requests).expect("the server reads");
                    asked += n_answered;
                    self.due[number] += n_answered * self.answer_len;
                }
            }
        }
    }
}

struct Watching(Epoll, usize);

impl Watch for Watching {
    fn watch(&mut self, _: usize, socket: BorrowedFd<'_>, wants_room: bool) -> io::Result<()> {
        assert!(!wants_room, "small requests");
        self.0.add(socket.as_raw_fd(), self.1);
        Ok(())
    }
}

/// Sessions that send requests without waiting.
struct Ours<'k> {
    epoll: Epoll,
    sessions: Vec<Box<dyn Session>>,
    keys: Vec<&'k [u8]>,
    n_outstanding: usize,
    n_keys: usize,
    next: usize,
    room: Vec<u8>,
    events: Vec<libc::epoll_event>,
}

impl<'k> Ours<'k> {
    fn connect(
        mut sessions: Vec<Box<dyn Session>>,
        keys: &'k [String],
        n_outstanding: usize,
        n_keys: usize,
    ) -> Result<Self> {
        let epoll = Epoll::new();
        for (number, session) in sessions.iter_mut().enumerate() {
            let pipeline = session.pipeline().expect("a pipeline");
            pipeline.watch_with(Box::new(Watching(epoll, number)))?;
            pipeline.connect()?;
        }
        Ok(Self {
            epoll,
            sessions,
            keys: keys.iter().map(String::as_bytes).collect(),
            n_outstanding,
            n_keys,
            next: 0,
            room: vec![0; 256 * 1024],
            events: vec![libc::epoll_event { events: 0, u64: 0 }; 64],
        })
    }

    fn run(&mut self, n: usize) {
        let Self { epoll, sessions, keys, n_outstanding, n_keys, next, room, events } = self;
        let mut ask = |session: &mut Box<dyn Session>, n_requests: usize| {
            let pipeline = session.pipeline().expect("a pipeline");
            for id in 0..n_requests {
                if *n_keys == 1 {
                    *next = (*next + 1) % keys.len();
                    pipeline.get(id, keys[*next]).expect("a connection");
                } else {
                    *next = (*next + 1) % (keys.len() - *n_keys);
                    pipeline.get_many(id, &keys[*next..*next + *n_keys]).expect("a connection");
                }
            }
            pipeline.flush();
        };
        let (mut asked, mut answered) = (0, 0);
        for session in &mut *sessions {
            ask(session, *n_outstanding);
            asked += *n_outstanding;
        }
        let mut bytes = 0;
        while answered < asked {
            for event in epoll.wait(events) {
                let session = &mut sessions[event.u64 as usize];
                let mut n_answered = 0;
                let pipeline = session.pipeline().expect("a pipeline");
                pipeline.receive(0, room, &mut |_, answer| match answer {
                    Answer::Hit { value, .. } => {
                        n_answered += 1;
                        bytes += value.len();
                    }
                    Answer::Entry { value, .. } => bytes += value.len(),
                    Answer::End => n_answered += 1,
                    other => panic!("{other:?}"),
                });
                answered += n_answered;
                if asked < n && n_answered > 0 {
                    ask(session, n_answered);
                    asked += n_answered;
                }
            }
        }
        assert!(bytes > 0);
    }
}
