//! Reads of many connections at once. Most requests are a `get` of one key, and most of the time of one goes to memory that
//! the processor has not at hand. The store looks up the keys of several connections together, so that the processor
//! waits for them together; and calls of the system that are alike follow each other.

use std::ops::Range;
use std::time::Instant;

use larder_host::slots::Slots;
use larder_protocol::text::get::parse_single;

use super::{EventLoop, READ_BYTES, failed};
use crate::buffer_budget::GUARANTEED_BYTES;
use crate::connection::{Connection, Read};
use crate::connection_state::{Next, Progress};
use crate::counts::Count;
use crate::latency::Kind;
use crate::request_class::RequestClass;
use crate::text::{self, CompleteSet};

/// Connections that are read before the first of them is answered.
const MAX_BATCH: usize = 16;

/// What is left of the shared buffer for the read of another connection.
const LEAST_LEFT: usize = 16 << 10;

/// Answers after which they are sent, before further connections are answered, in bytes.
const TOGETHER_BYTES: usize = 64 << 10;

/// Values from this length on are not looked up together: the processor has enough to do with one.
const LONG: usize = 16 << 10;

/// The input of several connections, one behind the other in the shared buffer, and the answers to it.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    requests: Vec<(u64, Range<usize>)>,
    answers: Vec<Answered>,
}

/// The answers to one connection.
#[derive(Debug)]
struct Answered {
    token: u64,
    /// Their range in the buffer of answers.
    place: Range<usize>,
    progress: Progress,
}

/// Connections whose requests are answered by one call of the store.
#[derive(Debug, Default)]
struct Batch {
    n: usize,
    /// The connections, and the lengths of their requests.
    of: [(u64, usize); MAX_BATCH],
    /// Whether the input at each index belongs to them.
    is_in: [bool; MAX_BATCH],
    /// The ranges of their answers.
    places: [Range<usize>; MAX_BATCH],
}

impl Batch {
    /// Adds a connection, whose input has this index.
    fn add(&mut self, place: usize, token: u64, len: usize) {
        self.of[self.n] = (token, len);
        self.is_in[place] = true;
        self.n += 1;
    }
}

impl Gathered {
    /// Takes the answers of a batch, whose requests are done.
    fn take(&mut self, batch: &Batch, requests: &mut Vec<(u64, Range<usize>)>) {
        let mut is_in = batch.is_in.iter();
        requests.retain(|_| is_in.next() == Some(&false));
        for ((token, consumed), place) in batch.of.iter().zip(&batch.places).take(batch.n) {
            let progress = Progress { consumed: *consumed, next: Next::Read(0) };
            self.answers.push(Answered { token: *token, place: place.clone(), progress });
        }
    }
}

/// Whether the next byte of a connection begins a request of the text protocol that needs no earlier state.
fn is_between_requests(slots: &mut Slots<Connection>, token: u64) -> bool {
    slots.find(token).is_some_and(|connection| connection.state.is_between_requests())
}

impl EventLoop {
    /// Reads from a connection without input of its own. The answer follows with those of other connections.
    #[inline]
    pub(super) fn gather(&mut self, token: u64) {
        let budget = &self.shared.buffer_budgets[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        if connection.expects_long_request()
            && connection.prepare_for_long_request(&mut self.spare, budget)
        {
            return self.read_more(token);
        }
        // The buffer is not here while earlier connections are answered.
        self.read_buffer.reserve(READ_BYTES - self.read_buffer.len());
        let begin = self.read_buffer.len();
        // No more is read than all of them can keep.
        let most = GUARANTEED_BYTES + budget.free() / MAX_BATCH;
        match connection.read_onto(&mut self.read_buffer, most) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                self.gathered.requests.push((token, begin..begin + n));
            }
            Read::Nothing => {}
            Read::End => self.remove(token),
        }
        let is_full = READ_BYTES - self.read_buffer.len() < LEAST_LEFT;
        if self.gathered.requests.len() == MAX_BATCH || is_full {
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
        self.dispatcher.flush();
        self.gathered.requests = requests;
        self.read_buffer = buffer;
        self.read_buffer.clear();
    }

    /// Answers connections that ask for one key, by one call of the store, and leaves the others.
    fn answer_reads(&mut self, buffer: &[u8], requests: &mut Vec<(u64, Range<usize>)>) {
        let Some(context) = &mut self.dispatcher.context else { return };
        if context.shared.answers_alone()
            || context.value_len > LONG
            || context.served.excludes(RequestClass::Reads)
        {
            return;
        }
        let mut keys: [&[u8]; MAX_BATCH] = [&[]; MAX_BATCH];
        let mut batch = Batch::default();
        for (i, (token, at)) in requests.iter().enumerate() {
            let bytes = &buffer[at.clone()];
            let key = parse_single(bytes).filter(|(_, len)| *len == bytes.len());
            if let Some((key, _)) = key.filter(|_| is_between_requests(&mut self.slots, *token)) {
                keys[batch.n] = key;
                batch.add(i, *token, bytes.len());
            }
        }
        if batch.n < 2 {
            return;
        }
        let (began, before) = (Instant::now(), self.answers.len());
        let keys = &keys[..batch.n];
        let is_right = self.dispatcher.run(|context| {
            let is_right =
                text::get_for_connections(keys, context, &mut self.answers, &mut batch.places);
            let time = began.elapsed();
            context.mark_stall(time, keys.len());
            if is_right {
                context.counts.latencies.add(Kind::Get, time, keys.len() as u64);
            }
            is_right
        });
        if is_right == Some(true) {
            self.gathered.take(&batch, requests);
        } else {
            self.answers.truncate(before);
        }
    }

    /// Answers connections that store one value, by one call of the store, and leaves the others.
    fn answer_writes(&mut self, buffer: &[u8], requests: &mut Vec<(u64, Range<usize>)>) {
        let Some(context) = &mut self.dispatcher.context else { return };
        if context.shared.answers_alone() || context.served.excludes(RequestClass::Writes) {
            return;
        }
        let mut sets = [None; MAX_BATCH];
        let mut batch = Batch::default();
        for (i, (token, at)) in requests.iter().enumerate() {
            let bytes = &buffer[at.clone()];
            let set = text::complete_set(bytes, &self.shared).filter(|set| set.len == bytes.len());
            if let Some(set) = set.filter(|_| is_between_requests(&mut self.slots, *token)) {
                sets[batch.n] = Some(set);
                batch.add(i, *token, bytes.len());
            }
        }
        let Some(first) = sets[0].filter(|_| batch.n > 1) else { return };
        let (began, before) = (Instant::now(), self.answers.len());
        let sets: [CompleteSet<'_>; MAX_BATCH] = sets.map(|set| set.unwrap_or(first));
        let sets = &sets[..batch.n];
        let done = self.dispatcher.run(|context| {
            text::set_for_connections(sets, context, &mut self.answers, &mut batch.places);
            let time = began.elapsed();
            context.mark_stall(time, sets.len());
            context.counts.latencies.add(Kind::Set, time, sets.len() as u64);
        });
        if done.is_some() {
            self.gathered.take(&batch, requests);
        } else {
            // Each set is stored alone, so that only the client whose set makes the store panic loses its connection.
            self.answers.truncate(before);
        }
    }

    /// Answers what a connection has sent, and keeps what is not answered yet.
    fn answer_read(&mut self, token: u64, read: &[u8]) {
        let budget = &self.shared.buffer_budgets[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        let begin = self.answers.len();
        let Connection { state, .. } = connection;
        let progress =
            self.dispatcher.run(|context| state.advance(read, context, &mut self.answers));
        let progress = progress.unwrap_or_else(|| failed(read, &mut self.answers, begin));
        let rest = &read[progress.consumed..];
        if !rest.is_empty() && !connection.keep(rest, &mut self.spare, budget) {
            self.answers.truncate(begin);
            return self.close(token);
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
