//! Links to a socket of the test, in a protocol of a few letters.

mod waiting;

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use larder_host::destination::Destination;
use larder_store::{Answer, Error, Meta, Result, Watch};

use super::{Arriving, Links, Peer, Read};
use crate::socket::Socket;

const TIMEOUT: Duration = Duration::from_millis(200);

/// A node whose answers are `$<len>\n<value>`, or `%<len>\n<value>;`, `-\n` for a refusal, and `!\n` after which nothing can be
/// read. `.\n` ends the answer to a read of several keys.
struct Letters {
    address: Destination,
    /// The answers `?<text>`, which are no answers of a pipeline.
    replies: Vec<(usize, String)>,
}

impl Letters {
    fn at(address: Destination) -> Self {
        Self { address, replies: Vec::new() }
    }
}

enum SentRequest {
    Get,
    GetMany { next: usize },
}

fn engine_error(what: &str) -> Error {
    Error::Unavailable { engine: "letters", what: what.into(), source: None }
}

impl Peer for Letters {
    type SentRequest = SentRequest;
    type Reply = String;

    fn replies(&mut self) -> &mut Vec<(usize, String)> {
        &mut self.replies
    }

    fn open(&mut self, within: Duration) -> Result<Socket> {
        Socket::connect(&self.address, None, within).map_err(|error| self.failed(error, within))
    }

    fn read<'i>(
        &mut self,
        asked: &mut SentRequest,
        input: &'i [u8],
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        let Some(end) = input.iter().position(|byte| *byte == b'\n') else {
            return Read::Incomplete(0);
        };
        match &input[..end] {
            b"-" => report(Answer::Failed(engine_error("refused"))),
            b"." => report(Answer::End),
            [b'?', text @ ..] => {
                self.replies.push((0, String::from_utf8_lossy(text).into_owned()));
                report(Answer::End);
                return Read::Last(end + 1);
            }
            [b'%', len @ ..] => {
                let value_len: usize = str::from_utf8(len).unwrap().parse().unwrap();
                let (head_len, meta) = (end + 1, Meta::default());
                let whole = head_len + value_len + 1;
                match input.get(head_len..whole) {
                    None => {
                        return Read::Value(Arriving { head_len, value_len, tail: b";", meta });
                    }
                    Some([value @ .., b';']) => {
                        report(Answer::Hit { value, meta });
                        return Read::Last(whole);
                    }
                    Some(other) => return Read::Broken(self.no_end(&other[value_len..])),
                }
            }
            b"=" => report(Answer::Stored(larder_store::SetOutcome::NotStored)),
            [b'$', len @ ..] => {
                let len: usize = str::from_utf8(len).unwrap().parse().unwrap();
                let whole = end + 1 + len;
                let Some(value) = input.get(end + 1..whole) else {
                    return Read::Incomplete(whole);
                };
                let meta = Meta::default();
                return match asked {
                    SentRequest::Get => {
                        report(Answer::Hit { value, meta });
                        Read::Last(whole)
                    }
                    SentRequest::GetMany { next } => {
                        report(Answer::Entry { place: *next, value, meta });
                        *next += 1;
                        Read::More(whole)
                    }
                };
            }
            _ => return Read::Broken(engine_error("broken")),
        }
        Read::Last(2)
    }

    fn forget(&mut self) {}

    fn failed(&self, source: io::Error, _: Duration) -> Error {
        engine_error(&format!("lost: {:?}", source.kind()))
    }

    fn no_end(&self, behind: &[u8]) -> Error {
        engine_error(&format!("no end: {}", behind.escape_ascii()))
    }

    fn unasked(&self, received: &[u8]) -> Error {
        engine_error(&format!("unasked: {}", received.escape_ascii()))
    }

    fn lost_behind(&self) -> Error {
        engine_error("lost behind")
    }
}

/// Servers of the test, and links to them.
struct Scene {
    listeners: Vec<TcpListener>,
    links: Links<Letters>,
    told: Vec<String>,
    room: Vec<u8>,
}

fn scene(n_links: usize) -> Scene {
    let listeners: Vec<TcpListener> =
        (0..n_links).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let address = |listener: &TcpListener| Destination::Tcp(vec![listener.local_addr().unwrap()]);
    let peers: Vec<Letters> =
        listeners.iter().map(|listener| Letters::at(address(listener))).collect();
    let links = Links::new(peers, TIMEOUT);
    Scene { listeners, links, told: Vec::new(), room: vec![0; 4096] }
}

fn show(id: usize, answer: &Answer<'_>) -> String {
    let text = |value: &[u8]| match value.len() {
        0..20 => String::from_utf8_lossy(value).into_owned(),
        len => format!("{len} bytes"),
    };
    match answer {
        Answer::Hit { value, .. } => format!("{id} {}", text(value)),
        Answer::Entry { place, value, .. } => format!("{id}[{place}] {}", text(value)),
        Answer::Outcome { place, outcome: Ok(_) } => format!("{id}[{place}] stored"),
        Answer::Outcome { place, outcome: Err(error) } => format!("{id}[{place}] {error}"),
        Answer::Failed(error) => format!("{id} {error}").replace("letters: ", ""),
        other => format!("{id} {other:?}"),
    }
}

impl Scene {
    fn accept(&self, link: usize) -> TcpStream {
        self.listeners[link].accept().unwrap().0
    }

    fn get(&mut self, id: usize) -> Result<()> {
        self.links.ask(0, id, SentRequest::Get, |link| link.output().extend_from_slice(b"get\n"))
    }

    fn wait(&mut self) {
        let Self { links, told, room, .. } = self;
        links.wait(room, &mut |id, answer| told.push(show(id, &answer)));
    }

    fn receive(&mut self, link: usize) {
        let Self { links, told, room, .. } = self;
        links.receive(link, room, &mut |id, answer| told.push(show(id, &answer)));
    }

    fn wait_for_all(&mut self) {
        while self.links.n_outstanding() > 0 {
            self.wait();
        }
    }

    /// Asks each link for some keys, as a batch.
    fn get_many(&mut self, id: usize, places: &[&[usize]]) {
        for link in 0..places.len() {
            self.links.opened(link).unwrap();
        }
        for (link, places) in places.iter().enumerate() {
            let link = self.links.part(link);
            for place in *places {
                link.output().push(b'k');
                link.add_place(*place);
            }
            link.push_read(id, SentRequest::GetMany { next: 0 });
        }
        self.links.end_batch(id);
        self.links.flush();
    }

    fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.told)
    }
}

#[test]
fn an_answer_may_come_in_any_pieces_into_any_room() {
    let large = format!("$50000\n{}", "x".repeat(50_000));
    let answers = format!("$2\nab-\n$0\n{large}$1\nc");
    let expected = ["0 ab", "1 refused", "2 ", "3 50000 bytes", "4 c"];
    for room in [0, 1, 3, 7, 64, 4096, 1 << 20] {
        for piece in [1, 2, 5, 1000, 60_000] {
            let mut scene = scene(1);
            scene.room = vec![0; room];
            for id in 0..5 {
                scene.get(id).unwrap();
            }
            let mut server = scene.accept(0);
            server.set_nodelay(true).unwrap();
            // Many tiny pieces of a large value show nothing that those of its ends do not.
            let (head, tail) = answers.split_at(40);
            let (middle, tail) = tail.split_at(tail.len() - 40);
            let pieces = if piece < 1000 {
                let middle = std::iter::once(middle.as_bytes());
                let of = |text: &'static str| text.as_bytes().chunks(piece);
                let [head, tail] = [head, tail].map(|text| of(text.to_owned().leak()));
                head.chain(middle).chain(tail).collect::<Vec<_>>()
            } else {
                answers.as_bytes().chunks(piece).collect()
            };
            for piece in pieces {
                server.write_all(piece).unwrap();
                scene.wait();
            }
            scene.wait_for_all();
            assert_eq!(scene.told, expected, "room {room}, pieces of {piece}");
        }
    }
}

#[test]
fn a_lost_connection_fails_its_requests_and_the_next_opens_another() {
    let mut scene = scene(1);
    for id in 0..3 {
        scene.get(id).unwrap();
    }
    let mut server = scene.accept(0);
    scene.links.flush();
    let mut requests = [0; 12];
    server.read_exact(&mut requests).unwrap();
    server.write_all(b"$1\na$2\nb").unwrap();
    drop(server);
    scene.wait_for_all();
    assert_eq!(scene.take(), ["0 a", "1 lost: UnexpectedEof", "2 lost: UnexpectedEof"]);
    scene.get(3).unwrap();
    scene.accept(0).write_all(b"$1\nc").unwrap();
    scene.wait();
    assert_eq!(scene.take(), ["3 c"]);
}

#[test]
fn nothing_is_read_behind_an_answer_that_cannot_be() {
    let mut scene = scene(1);
    for id in 0..3 {
        scene.get(id).unwrap();
    }
    scene.accept(0).write_all(b"!\n$1\na").unwrap();
    scene.wait_for_all();
    assert_eq!(scene.take(), ["0 broken", "1 lost behind", "2 lost behind"]);
    scene.get(3).unwrap();
    scene.accept(0).write_all(b"$1\na$1\nb").unwrap();
    scene.wait();
    assert_eq!(scene.take(), ["3 a"]);
    // No request is outstanding for `b`, so the next one gets the error.
    let error = scene.get(4).unwrap_err().to_string();
    assert!(error.contains("unasked: $1\\nb"), "{error}");
    scene.get(5).unwrap();
    assert_eq!(scene.links.n_outstanding(), 1);
}

#[test]
fn a_panic_of_the_caller_amid_answers_loses_what_follows() {
    let mut scene = scene(1);
    for id in 0..3 {
        scene.get(id).unwrap();
    }
    let mut server = scene.accept(0);
    server.write_all(b"$1\na$1\nb$1\n").unwrap();
    let Scene { links, room, .. } = &mut scene;
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // Unlike `panic!`, this prints nothing that looks like a failure.
        links.wait(room, &mut |_, _| resume_unwind(Box::new("a test panics on purpose")));
    }));
    assert!(panicked.is_err());
    server.write_all(b"c").unwrap();
    assert!(scene.get(3).unwrap_err().to_string().contains("lost: ConnectionAborted"));
    scene.wait_for_all();
    let told = scene.take();
    assert!(told.iter().all(|told| told.contains("lost: ConnectionAborted")), "{told:?}");
    scene.get(4).unwrap();
    scene.accept(0).write_all(b"$1\nd").unwrap();
    scene.wait();
    assert_eq!(scene.take(), ["4 d"]);
}

/// The changes of what a link wants.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<Vec<(usize, bool)>>>);

impl Watch for Watched {
    fn watch(&mut self, link: usize, _: BorrowedFd<'_>, wants_room: bool) -> io::Result<()> {
        self.0.lock().unwrap().push((link, wants_room));
        Ok(())
    }
}

#[test]
fn what_a_socket_does_not_take_is_sent_later() {
    let mut scene = scene(1);
    let watched = Watched::default();
    scene.links.watch_with(Box::new(watched.clone())).unwrap();
    let mut sent = Vec::new();
    let value: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
    for (id, len) in [10, 3_000_000, 100, 40_000, 3_000_000, 10].into_iter().enumerate() {
        let value = &value[..len];
        let encode = |link: &mut super::Link<Letters>| {
            link.output().extend_from_slice(b"set");
            link.add_value(value, |out| out.push(b'\n'));
        };
        scene.links.ask(0, id, SentRequest::Get, encode).unwrap();
        sent.extend_from_slice(b"set");
        sent.extend_from_slice(value);
        sent.push(b'\n');
    }
    scene.links.flush();
    let unsent = scene.links.unsent_bytes();
    assert!(unsent > 0 && unsent < sent.len(), "{unsent} bytes");
    assert_eq!(*watched.0.lock().unwrap(), [(0, false), (0, true)]);
    let mut server = scene.accept(0);
    let mut received = Vec::new();
    let mut room = vec![0; 1 << 20];
    while received.len() < sent.len() {
        let n_received = server.read(&mut room).unwrap();
        received.extend_from_slice(&room[..n_received]);
        scene.links.flush();
    }
    assert!(received == sent, "other bytes than were given");
    assert_eq!(scene.links.unsent_bytes(), 0);
    assert_eq!(*watched.0.lock().unwrap(), [(0, false), (0, true), (0, false)]);
    // A waiting caller sends too, while the other side reads only after it has written.
    let encode = |link: &mut super::Link<Letters>| link.add_value(&value, |out| out.push(b'\n'));
    scene.links.ask(0, 6, SentRequest::Get, encode).unwrap();
    let reader = std::thread::spawn(move || {
        let mut left = 3_000_001;
        while left > 0 {
            left -= server.read(&mut room).unwrap();
        }
        server.write_all(b"-\n-\n-\n-\n-\n-\n$1\na").unwrap();
        server
    });
    scene.wait_for_all();
    assert_eq!(scene.take()[6], "6 a");
    drop(reader.join().unwrap());
}

#[test]
fn a_connection_that_takes_nothing_fails_its_requests_at_the_next_receive() {
    let mut scene = scene(1);
    scene.get(0).unwrap();
    let mut server = scene.accept(0);
    server.write_all(b"$1\na").unwrap();
    drop(server);
    // The first bytes meet a reset, and the second are refused.
    scene.links.flush();
    std::thread::sleep(Duration::from_millis(50));
    scene.get(1).unwrap();
    scene.links.flush();
    assert_eq!(scene.links.unsent_bytes(), 0);
    assert!(scene.get(2).unwrap_err().to_string().contains("lost: "));
    scene.receive(0);
    let told = scene.take();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|told| told.contains("lost: ") || told == "0 a"), "{told:?}");
    scene.get(3).unwrap();
    assert_eq!(scene.links.n_outstanding(), 1);
}

#[test]
fn a_batch_ends_with_its_last_part() {
    let mut scene = scene(2);
    scene.get_many(7, &[&[0, 2], &[1]]);
    let (mut first, mut second) = (scene.accept(0), scene.accept(1));
    second.write_all(b"$1\nb.\n").unwrap();
    scene.wait();
    assert_eq!((scene.take(), scene.links.n_outstanding()), (vec!["7[1] b".into()], 1));
    first.write_all(b"$1\na$1\nc.\n").unwrap();
    scene.wait_for_all();
    assert_eq!(scene.take(), ["7[0] a", "7[2] c", "7 End"]);
    // The first error of a part is the error of the whole, once.
    scene.get_many(8, &[&[0], &[1]]);
    scene.get(9).unwrap();
    first.write_all(b"-\n$1\na").unwrap();
    scene.wait();
    drop(second);
    scene.wait_for_all();
    assert_eq!(scene.take(), ["9 a", "8 refused"]);
    // A batch on one link has the error of that link.
    scene.get_many(10, &[&[5, 3]]);
    first.write_all(b"$1\na").unwrap();
    scene.wait();
    drop(first);
    scene.wait_for_all();
    let told = scene.take();
    assert!(told.len() == 2 && told[1].starts_with("10 lost: "), "{told:?}");
}

#[test]
fn a_batch_without_a_node_is_answered_without_one() {
    let mut scene = scene(2);
    scene.links.end_batch(1);
    scene.links.refuse(2, 0, engine_error("no"));
    scene.links.refuse(2, 1, engine_error("no"));
    scene.links.end_batch(2);
    assert!(scene.links.is_ready() && scene.links.n_outstanding() == 2);
    scene.receive(0);
    assert_eq!(scene.take(), ["1 End", "2[0] letters: no", "2[1] letters: no", "2 End"]);
    // An entry that is refused and others that are not.
    scene.links.opened(1).unwrap();
    scene.links.refuse(3, 0, engine_error("no"));
    let link = scene.links.part(1);
    link.output().extend_from_slice(b"set\nset\n");
    link.push_write(3, SentRequest::Get, 1);
    link.push_write(3, SentRequest::Get, 2);
    scene.links.end_batch(3);
    scene.wait();
    assert_eq!((scene.take(), scene.links.n_outstanding()), (vec!["3[0] letters: no".into()], 1));
    scene.accept(1).write_all(b"=\n-\n").unwrap();
    scene.wait_for_all();
    assert_eq!(scene.take(), ["3[1] stored", "3[2] letters: refused", "3 End"]);
    assert!(!scene.links.is_ready());
}

#[test]
fn a_silent_node_loses_its_requests_and_no_other_node_does() {
    let mut scene = scene(2);
    scene.get(0).unwrap();
    let _silent = scene.accept(0);
    scene.wait();
    assert_eq!(scene.take(), ["0 lost: WouldBlock"]);
    scene.get_many(1, &[&[], &[0]]);
    let (_silent, mut busy) = (scene.accept(0), scene.accept(1));
    let mut n_waits = 0;
    while scene.links.n_outstanding() > 0 && n_waits < 100 {
        busy.write_all(b"$1\na").unwrap();
        scene.wait();
        std::thread::sleep(TIMEOUT / 20);
        n_waits += 1;
        if n_waits == 60 {
            busy.write_all(b".\n").unwrap();
        }
    }
    let told = scene.take();
    assert_eq!(told.last().unwrap(), "1 lost: TimedOut");
    // The busy link went on after the silent one was lost.
    assert!(n_waits >= 60 && told.len() > 50, "{n_waits} waits, {told:?}");
}

#[test]
fn a_silence_counts_from_the_first_request() {
    let mut scene = scene(1);
    let expire = |scene: &mut Scene| {
        let Scene { links, told, .. } = scene;
        links.expire(&mut |id, answer| told.push(show(id, &answer)));
        scene.take()
    };
    scene.get(0).unwrap();
    let mut server = scene.accept(0);
    assert!(expire(&mut scene).is_empty());
    std::thread::sleep(TIMEOUT / 2);
    server.write_all(b"$1\na").unwrap();
    scene.wait();
    assert_eq!(scene.take(), ["0 a"]);
    std::thread::sleep(TIMEOUT);
    scene.get(1).unwrap();
    assert!(expire(&mut scene).is_empty());
    std::thread::sleep(TIMEOUT / 2);
    assert!(expire(&mut scene).is_empty());
    std::thread::sleep(TIMEOUT);
    assert_eq!(expire(&mut scene), ["1 lost: TimedOut"]);
}
