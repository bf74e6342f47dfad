//! Reads of many connections at once. Most requests are a `get` of one key, and most of the time of one goes to memory that
//! the processor has not at hand. The store looks up the keys of several connections together, so that the processor
//! waits for them together; and calls of the system that are alike follow each other.

use std::ops::Range;
use std::time::Instant;

use larder_host::slots::Slots;
use larder_protocol::text::get::parse_single;

use super::{READ_BYTES, Worker, failed};
use crate::connection::{Connection, Read};
use crate::conversation::{Next, Progress};
use crate::counts::Count;
use crate::latency::Kind;
use crate::own::Own;
use crate::text::{self, Whole};
use crate::waiting::OWN_BYTES;

/// Connections that are read before the first of them is answered.
const MOST: usize = 16;

/// What is left of the shared buffer for the read of another connection.
const LEAST_LEFT: usize = 16 << 10;

/// Answers after which they are sent, before further connections are answered, in bytes.
const TOGETHER_BYTES: usize = 64 << 10;

/// Values from this length on are not looked up together: the processor has enough to do with one.
const LONG: usize = 16 << 10;

/// What connections have sent, one behind the other in the shared buffer, and what they are answered.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    requests: Vec<(u64, Range<usize>)>,
    answers: Vec<Answered>,
}

/// What a connection is answered.
#[derive(Debug)]
struct Answered {
    token: u64,
    /// Its part of all answers.
    place: Range<usize>,
    progress: Progress,
}

/// Connections whose requests are one call of the store.
#[derive(Debug, Default)]
struct Group {
    n: usize,
    /// The connections, and the lengths of their requests.
    of: [(u64, usize); MOST],
    /// Whether what was gathered at a place belongs to them.
    is_in: [bool; MOST],
    /// The parts of all answers that are theirs.
    places: [Range<usize>; MOST],
}

impl Group {
    /// Adds a connection, which is at this place among those that were gathered.
    fn add(&mut self, place: usize, token: u64, len: usize) {
        self.of[self.n] = (token, len);
        self.is_in[place] = true;
        self.n += 1;
    }
}

impl Gathered {
    /// Takes the answers of a group, whose requests are done.
    fn take(&mut self, group: &Group, requests: &mut Vec<(u64, Range<usize>)>) {
        let mut is_in = group.is_in.iter();
        requests.retain(|_| is_in.next() == Some(&false));
        for ((token, consumed), place) in group.of.iter().zip(&group.places).take(group.n) {
            let progress = Progress { consumed: *consumed, next: Next::Read(0) };
            self.answers.push(Answered { token: *token, place: place.clone(), progress });
        }
    }
}

/// Whether the next bytes of a connection are a request of the text protocol, and nothing is in its way.
fn takes_any_request(slots: &mut Slots<Connection>, token: u64) -> bool {
    slots.find(token).is_some_and(|connection| connection.conversation.takes_any_request())
}

impl Worker {
    /// Reads from a connection without input of its own. The answer follows with those of other connections.
    #[inline]
    pub(super) fn gather(&mut self, token: u64) {
        let waiting = &self.shared.waiting[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        if connection.expects_long_request()
            && connection.prepare_for_long_request(&mut self.spare, waiting)
        {
            return self.read_more(token);
        }
        // It is away while earlier connections are answered.
        self.read_buffer.reserve(READ_BYTES - self.read_buffer.len());
        let begin = self.read_buffer.len();
        // No more is read than all of them can keep.
        let most = OWN_BYTES + waiting.free() / MOST;
        match connection.read_onto(&mut self.read_buffer, most) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                self.gathered.requests.push((token, begin..begin + n));
            }
            Read::Nothing => {}
            Read::End => self.remove(token),
        }
        let is_full = READ_BYTES - self.read_buffer.len() < LEAST_LEFT;
        if self.gathered.requests.len() == MOST || is_full {
            self.answer_gathered();
        }
    }

    /// Answers all that was gathered.
    pub(super) fn answer_gathered(&mut self) {
        if self.gathered.requests.is_empty() {
            return;
        }
        let buffer = std::mem::take(&mut self.read_buffer);
        let mut requests = std::mem::take(&mut self.gathered.requests);
        self.answers.clear();
        if requests.len() > 1 {
            self.answer_reads(&buffer, &mut requests);
            self.answer_writes(&buffer, &mut requests);
        }
        for (token, at) in requests.drain(..) {
            if self.answers.len() >= TOGETHER_BYTES {
                self.send_gathered();
            }
            self.answer_read(token, &buffer[at]);
        }
        self.send_gathered();
        self.hands.let_go();
        self.gathered.requests = requests;
        self.read_buffer = buffer;
        self.read_buffer.clear();
    }

    /// Answers connections that ask for one key, by one call of the store, and leaves the others.
    fn answer_reads(&mut self, buffer: &[u8], requests: &mut Vec<(u64, Range<usize>)>) {
        let Some(desk) = &mut self.hands.desk else { return };
        if desk.shared.answers_alone() || desk.value_len > LONG || desk.portion.leaves(Own::Reads) {
            return;
        }
        let mut keys: [&[u8]; MOST] = [&[]; MOST];
        let mut group = Group::default();
        for (i, (token, at)) in requests.iter().enumerate() {
            let bytes = &buffer[at.clone()];
            let key = parse_single(bytes).filter(|(_, len)| *len == bytes.len());
            if let Some((key, _)) = key.filter(|_| takes_any_request(&mut self.slots, *token)) {
                keys[group.n] = key;
                group.add(i, *token, bytes.len());
            }
        }
        if group.n < 2 {
            return;
        }
        let (began, before) = (Instant::now(), self.answers.len());
        let keys = &keys[..group.n];
        let is_right = self.hands.work(|desk| {
            let is_right = text::get_apart(keys, desk, &mut self.answers, &mut group.places);
            let time = began.elapsed();
            desk.mark_stall(time, keys.len());
            if is_right {
                desk.counts.latencies.add(Kind::Get, time, keys.len() as u64);
            }
            is_right
        });
        if is_right == Some(true) {
            self.gathered.take(&group, requests);
        } else {
            self.answers.truncate(before);
        }
    }

    /// Answers connections that store one value, by one call of the store, and leaves the others.
    fn answer_writes(&mut self, buffer: &[u8], requests: &mut Vec<(u64, Range<usize>)>) {
        let Some(desk) = &mut self.hands.desk else { return };
        if desk.shared.answers_alone() || desk.portion.leaves(Own::Writes) {
            return;
        }
        let mut sets = [None; MOST];
        let mut group = Group::default();
        for (i, (token, at)) in requests.iter().enumerate() {
            let bytes = &buffer[at.clone()];
            let set = text::whole(bytes, &self.shared).filter(|set| set.len == bytes.len());
            if let Some(set) = set.filter(|_| takes_any_request(&mut self.slots, *token)) {
                sets[group.n] = Some(set);
                group.add(i, *token, bytes.len());
            }
        }
        let Some(first) = sets[0].filter(|_| group.n > 1) else { return };
        let (began, before) = (Instant::now(), self.answers.len());
        let sets: [Whole<'_>; MOST] = sets.map(|set| set.unwrap_or(first));
        let sets = &sets[..group.n];
        let done = self.hands.work(|desk| {
            text::set_apart(sets, desk, &mut self.answers, &mut group.places);
            let time = began.elapsed();
            desk.mark_stall(time, sets.len());
            desk.counts.latencies.add(Kind::Set, time, sets.len() as u64);
        });
        if done.is_some() {
            self.gathered.take(&group, requests);
        } else {
            // Each is stored alone, so that the store panics for those clients only that make it panic.
            self.answers.truncate(before);
        }
    }

    /// Answers what a connection has sent, and keeps what is not answered yet.
    fn answer_read(&mut self, token: u64, read: &[u8]) {
        let waiting = &self.shared.waiting[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        let begin = self.answers.len();
        let Connection { conversation, .. } = connection;
        let progress = self.hands.work(|desk| conversation.advance(read, desk, &mut self.answers));
        let progress = progress.unwrap_or_else(|| failed(read, &mut self.answers, begin));
        let rest = &read[progress.consumed..];
        if !rest.is_empty() && !connection.keep(rest, &mut self.spare, waiting) {
            self.answers.truncate(begin);
            return self.dismiss(token);
        }
        let place = begin..self.answers.len();
        self.gathered.answers.push(Answered { token, place, progress });
    }

    /// Sends the answers that were made.
    fn send_gathered(&mut self) {
        let answers = std::mem::take(&mut self.answers);
        let mut answered = std::mem::take(&mut self.gathered.answers);
        for Answered { token, place, progress } in answered.drain(..) {
            self.after(token, &answers[place], progress);
        }
        self.gathered.answers = answered;
        self.keep_answers(answers);
    }
}
