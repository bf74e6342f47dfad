//! The loop of a thread that drives many connections.
//!
//! A lane is a connection with its outstanding requests. The thread sends on every lane that may have another request, and
//! then waits until some socket is ready. It takes the answers that have arrived, judges them, and sends what comes next
//! on that lane before it looks at another. Each lane draws operations of its own, because each key has one writer: on one
//! connection requests are carried out in order, and so the newest version of a key is known.
//!
//! The clock is read once for all answers that arrive together. In a closed loop the next request of the lane begins at
//! that time, so that judging an answer is part of the next request's time, as in the loop of a thread that waits.
//! Nothing is allocated between the draws.
//!
//! A thread with one lane waits in the session itself, as its user would. It makes the same system calls as a client that
//! blocks.

mod lane;
mod poll;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use larder_report::Operation;
use larder_store::{Answer, Error, Put, Session};

use super::block::recycled;
use super::clock::{ThreadCpu, nanoseconds, now_ns};
use super::failures::Failures;
use super::multi_set::{make, note_renewals, puts};
use super::outcomes::Judge;
use super::pace::{Begun, Pace, Start};
use super::worker::Share;
use lane::{Lane, Next, many, pipeline_of};
use larder_workload::Access;
use poll::Events;
pub(super) use poll::Poll;

/// Room for the bytes that arrive at once, on any lane.
const ROOM_BYTES: usize = 256 << 10;
/// A lane with so many bytes that its connection has not taken gets no further request until it has taken them.
pub(crate) const UNSENT_BYTES: usize = 128 << 10;
/// Operations that are drawn together, unless one lane needs more: drawing keeps the answers of other lanes waiting.
const DRAWN: usize = 512;
/// Requests that are drawn for a lane at once, where it has not more outstanding.
const DRAWN_REQUESTS: usize = 16;
/// Operations that the only lane of a phase draws at once: its clock stands still meanwhile.
const DRAWN_ALONE: usize = 1024;
/// The time between two looks for silent connections and for the end of the run, in nanoseconds.
const TICK_NS: u64 = 50_000_000;
/// The time that outstanding requests have once the run is stopped, in nanoseconds. Those without an answer are lost then.
const LAST_ANSWERS_NS: u64 = 1_000_000_000;

/// One thread and its lanes.
pub(super) struct Driver<'a, P: Pace> {
    lanes: Vec<Lane<'a, P::Begun>>,
    judge: Judge<'a>,
    pace: P,
    failures: Failures,
    poll: Arc<Poll>,
    events: Events,
    room: Vec<u8>,
    /// Requests that each lane has outstanding at most.
    pipeline: usize,
    /// The lanes that may send another request, and since when; a lane stands here once for each.
    free: VecDeque<(u32, u64)>,
    /// The lanes whose answers are there although no socket says so, and those that are looked at now.
    ready: Vec<u32>,
    looked_at: Vec<u32>,
    /// Requests that have missed and are filled at once.
    fills: Vec<usize>,
    /// The kind of a request of many keys; `None` where operations come one by one.
    request: Option<Operation>,
    /// Memory of the keys and entries of a request, kept to use it again.
    keys: Vec<&'static [u8]>,
    puts: Vec<Put<'static>>,
    made: Vec<u8>,
    fill_key: Vec<u8>,
    /// Whether no further request begins.
    is_over: bool,
    /// When the next request is due, where none is due yet.
    due: Option<u64>,
    /// When the last draw ended.
    drawn_at: u64,
    /// When time ends a closed loop.
    deadline: u64,
    /// When the thread looks round next.
    looks_at: u64,
    /// Until when the requests of a stopped run may be answered.
    last_answers_at: Option<u64>,
    /// Whether requests were left without an answer.
    has_abandoned: bool,
    n_outstanding: u64,
    most_outstanding: u64,
    /// CPU time of the draws.
    draws: ThreadCpu,
    /// Time for which the clock stood still.
    paused_ns: u64,
}

/// What the sessions of a thread send.
pub(super) struct Sends<'a> {
    pub(super) operations: &'a [Operation],
    /// Requests that each session has outstanding at most.
    pub(super) pipeline: usize,
    /// Bytes of the longest value.
    pub(super) longest: usize,
}

impl<'a, P: Pace> Driver<'a, P> {
    /// Drives these sessions, of which the first has the number `first` among those of all threads.
    pub(super) fn new(
        sessions: &'a mut [Box<dyn Session>],
        first: u32,
        poll: Poll,
        judge: Judge<'a>,
        Sends { operations, pipeline, longest }: Sends<'_>,
        pace: P,
    ) -> Self {
        let keys_a_request = judge.orders.keys_a_request;
        let most_keys = judge.orders.most_keys;
        let request = judge.orders.request_of(operations);
        let mut lanes: Vec<Lane<'a, P::Begun>> = sessions
            .iter_mut()
            .zip(first..)
            .map(|(session, number)| Lane::new(session.as_mut(), number, pipeline, most_keys))
            .collect();
        let poll = Arc::new(poll);
        for (lane, at) in lanes.iter_mut().zip(0..) {
            let pipeline = lane.pipeline();
            // A connection that cannot be opened fails the first request, which is counted.
            let _ = pipeline.watch_with(poll.watch_for(at)).and_then(|()| pipeline.connect());
        }
        let made = if operations == [Operation::SetMany] { keys_a_request } else { 0 };
        let failures = Failures::of(lanes.len());
        Self {
            judge,
            pace,
            failures,
            poll,
            events: Events::new(),
            room: vec![0; ROOM_BYTES],
            pipeline,
            free: VecDeque::with_capacity(lanes.len() * pipeline),
            ready: Vec::with_capacity(lanes.len()),
            looked_at: Vec::with_capacity(lanes.len()),
            fills: Vec::with_capacity(pipeline),
            request,
            keys: Vec::with_capacity(most_keys),
            puts: Vec::with_capacity(keys_a_request),
            made: Vec::with_capacity(made * longest),
            fill_key: Vec::new(),
            is_over: false,
            due: None,
            drawn_at: 0,
            deadline: u64::MAX,
            looks_at: 0,
            last_answers_at: None,
            has_abandoned: false,
            n_outstanding: 0,
            most_outstanding: 0,
            draws: ThreadCpu::default(),
            paused_ns: 0,
            lanes,
        }
    }

    /// Works through the thread's share.
    pub(super) fn run(mut self) -> Share {
        let orders = self.judge.orders;
        let (began, cpu_began) = (*orders.began.get_or_init(now_ns), ThreadCpu::now());
        self.judge.origin = began;
        let limit = orders.time_limit.map(nanoseconds);
        let end = limit.map_or(u64::MAX, |limit| began.saturating_add(limit));
        self.pace.start(began, end);
        self.deadline = if P::IS_OPEN { u64::MAX } else { end };
        for _ in 0..self.pipeline {
            self.free.extend((0..).take(self.lanes.len()).map(|lane| (lane, began)));
        }
        self.go_on(began);
        while self.is_at_work() {
            self.wait();
        }
        let last = now_ns();
        if !self.is_stopped() {
            self.pace.finish();
        }
        let ran = ThreadCpu::now().since(cpu_began);
        let timed = ran.since(self.draws);
        Share {
            wall_ns: last - began - self.paused_ns,
            barrier_ns: 0,
            timed_cpu_ns: timed.cpu_ns,
            timed_system_ns: timed.system_ns,
            cpu_ns: ran.cpu_ns,
            gave_up: self.failures.gave_up() || self.has_abandoned,
            answered: self.lanes.iter().map(|lane| lane.answered).collect(),
            most_outstanding: self.most_outstanding,
            tallies: self.judge.tallies,
        }
    }

    fn is_stopped(&self) -> bool {
        self.failures.gave_up() || self.judge.orders.stop.load(Ordering::Relaxed)
    }

    fn is_at_work(&self) -> bool {
        let is_open = self.due.is_some() && !self.is_over;
        self.n_outstanding > 0 || is_open
    }

    /// Whether the thread waits in its only session: nothing else can happen.
    fn waits_in_session(&self) -> bool {
        self.lanes.len() == 1 && !P::IS_OPEN
    }

    /// Sends requests on the lanes that may have another, as far as requests are due.
    fn go_on(&mut self, mut now: u64) {
        self.due = None;
        let mut last = None;
        while let Some((at, free)) = self.free.front().copied() {
            if self.is_over || now >= self.deadline || self.is_stopped() {
                self.is_over = true;
                self.free.clear();
                break;
            }
            if let Some(last) = last.take_if(|last| *last != at) {
                self.flush(last);
            }
            if self.has_much_unsent(at) {
                self.free.pop_front();
                self.lanes[at as usize].held_back += 1;
                continue;
            }
            if self.lanes[at as usize].n_drawn() == 0 && self.draw(at as usize) {
                now = self.drawn_at;
            }
            let lane = &self.lanes[at as usize];
            let ops = lane.n_next(self.judge.orders.keys_a_request);
            if ops == 0 {
                self.free.pop_front();
                continue;
            }
            let free = free.max(self.drawn_at);
            if P::IS_OPEN {
                now = now_ns();
            }
            let from = if P::IS_OPEN { now } else { free };
            match self.pace.poll(free, from, ops as u64, lane.block.place(lane.next)) {
                Start::Now(begun) => {
                    self.free.pop_front();
                    self.send(at, ops, begun);
                    last = Some(at);
                }
                Start::At(due) => {
                    self.due = Some(due);
                    break;
                }
                Start::Never => self.is_over = true,
            }
        }
        if let Some(last) = last {
            self.flush(last);
        }
    }

    /// Whether a lane has many bytes that its connection does not take now.
    #[inline]
    fn has_much_unsent(&mut self, at: u32) -> bool {
        if self.lanes[at as usize].pipeline().unsent_bytes() < UNSENT_BYTES {
            return false;
        }
        self.flush(at);
        self.lanes[at as usize].pipeline().unsent_bytes() >= UNSENT_BYTES
    }

    /// Lets a lane send the requests that were held back, unless its connection still takes nothing.
    #[inline]
    fn release(&mut self, at: u32, now: u64) {
        let lane = &mut self.lanes[at as usize];
        if lane.held_back > 0 && lane.pipeline().unsent_bytes() < UNSENT_BYTES {
            let n = std::mem::take(&mut lane.held_back);
            self.free.extend((0..n).map(|_| (at, now)));
        }
    }

    /// Sends what stands in the memory of a lane.
    fn flush(&mut self, at: u32) {
        let pipeline = self.lanes[at as usize].pipeline();
        pipeline.flush();
        if pipeline.is_ready() && !self.waits_in_session() {
            self.ready.push(at);
        }
    }

    /// Draws operations for a lane that has none left, and for others; false where none is left in the phase.
    fn draw(&mut self, at: usize) -> bool {
        if self.judge.draw.is_over() {
            return false;
        }
        let before = ThreadCpu::now();
        let stops_clock = self.judge.orders.alone && !P::IS_OPEN;
        let began = if stops_clock { now_ns() } else { 0 };
        let keys = self.judge.orders.keys_a_request;
        let requests = self.pipeline.max(DRAWN_REQUESTS);
        let in_order = self.judge.draw.keeps_order();
        // A phase that is about to end has work for every lane, as long as it lasts.
        let left = self.judge.draw.n_left().div_ceil(self.lanes.len()).next_multiple_of(keys);
        let for_each = if in_order && keys == 1 {
            1
        } else if stops_clock {
            DRAWN_ALONE.next_multiple_of(keys)
        } else {
            (requests * keys).min(DRAWN.next_multiple_of(keys)).min(left.max(keys))
        };
        let n_lanes = self.lanes.len();
        let mut drawn = 0;
        for i in (0..n_lanes).map(|i| (at + i) % n_lanes) {
            let lane = &mut self.lanes[i];
            if lane.n_drawn() > 0 {
                continue;
            }
            self.judge.draw.act_for(lane.number);
            // Of a trace whose writes are left out, a part may have no operation.
            while lane.n_drawn() == 0 && !self.judge.draw.is_over() {
                self.judge.draw.fill(&mut lane.block, for_each);
                lane.next = 0;
            }
            drawn += for_each;
            if in_order || drawn + for_each > DRAWN {
                break;
            }
        }
        self.draws.add_since(before);
        self.drawn_at = now_ns();
        if stops_clock {
            let paused = self.drawn_at - began;
            self.paused_ns += paused;
            self.judge.origin += paused;
            self.deadline = self.deadline.saturating_add(paused);
        }
        true
    }

    /// Puts the next request of a lane, of this many operations, into the memory of its session.
    fn send(&mut self, at: u32, n_ops: usize, begun: P::Begun) {
        let lane = &mut self.lanes[at as usize];
        let (first, end) = (lane.next, lane.next + n_ops);
        lane.next = end;
        let ops = &lane.block.ops[first..end];
        let id = lane.outstanding.take(ops, begun);
        let absent = ops[0].kind.counts().then(|| self.judge.initial(ops[0])).flatten();
        let Judge { state, composer, orders, .. } = &mut self.judge;
        let pipeline = pipeline_of(lane.session);
        let (op, key) = (ops[0], lane.block.key(first));
        let sent = match (self.request.or(many(n_ops)), op.kind) {
            (Some(Operation::SetMany), _) => {
                note_renewals(orders, state, ops, begun.at());
                make(composer, ops, &mut self.made);
                let mut entries = recycled(std::mem::take(&mut self.puts));
                entries.extend(puts(&lane.block, first..end, &self.made, orders.set_options));
                let sent = pipeline.set_many(id, &entries);
                self.puts = recycled(entries);
                sent
            }
            (Some(_), _) => {
                let mut keys = recycled(std::mem::take(&mut self.keys));
                keys.extend((first..end).map(|i| lane.block.key(i)));
                let sent = pipeline.get_many(id, &keys);
                self.keys = recycled(keys);
                sent
            }
            (None, Access::Get | Access::GetOrSet) => pipeline.get(id, key),
            (None, Access::Set) => {
                state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
                let value = composer.compose(op.key, op.version, op.len);
                pipeline.set(id, key, value, &orders.set_options_of(op))
            }
            (None, Access::Delete) => pipeline.delete(id, key),
            (None, Access::Touch) => {
                state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
                pipeline.touch(id, key, orders.touch_ttl_of(op))
            }
            (None, Access::Incr | Access::Decr) => {
                if absent.is_some() {
                    state.note_renewal(op.key, orders.gone_at_ns(op, begun.at()));
                }
                pipeline.incr(id, key, op.delta(), absent)
            }
        };
        self.n_outstanding += 1;
        self.most_outstanding = self.most_outstanding.max(self.n_outstanding);
        if let Err(error) = sent {
            self.not_sent(at, id, error);
        }
    }

    /// A request could not be sent. A connection that has failed cannot be opened again before its outstanding requests
    /// have been answered as failed: until then the lane sends nothing.
    #[cold]
    fn not_sent(&mut self, at: u32, id: usize, error: Error) {
        let now = now_ns();
        if let Next::Over = self.judged(at, id, Answer::Failed(error), now, false) {
            let lane = &mut self.lanes[at as usize];
            if lane.outstanding.is_empty() {
                self.free.push_back((at, now));
            } else {
                lane.held_back += 1;
                self.free.retain(|(free, _)| {
                    *free != at || {
                        lane.held_back += 1;
                        false
                    }
                });
            }
        }
    }

    /// Judges an answer to a request of a lane.
    fn judged(&mut self, at: u32, id: usize, answer: Answer<'_>, now: u64, was_sent: bool) -> Next {
        let lane = &mut self.lanes[at as usize];
        let (_, mut inbox) = lane.open_inbox(&mut self.judge, &mut self.failures, self.request);
        let next = inbox.take(id, answer, now, was_sent);
        self.n_outstanding -= u64::from(matches!(next, Next::Over));
        next
    }

    /// Waits until something happens, and does what it asks for.
    fn wait(&mut self) {
        if self.waits_in_session() {
            self.receive(0, From::Anywhere);
        } else {
            if self.ready.is_empty() || self.poll.has_sockets() {
                let until = if self.ready.is_empty() { self.next_event() } else { 0 };
                self.poll.wait(&mut self.events, until);
                for i in 0..self.events.len() {
                    let ready = self.events.at(i);
                    if ready.can_write {
                        self.send_rest(ready.lane);
                    }
                    if ready.can_read {
                        self.receive(ready.lane, From::Link(ready.link));
                    }
                }
            }
            std::mem::swap(&mut self.ready, &mut self.looked_at);
            for i in 0..self.looked_at.len() {
                self.receive(self.looked_at[i], From::Link(0));
            }
            self.looked_at.clear();
            if self.due.is_some_and(|due| due <= now_ns()) {
                self.go_on(now_ns());
            }
        }
        self.look_round();
    }

    /// When the thread must do something without an answer.
    fn next_event(&self) -> u64 {
        self.due.unwrap_or(u64::MAX).min(self.looks_at)
    }

    /// Receives the answers of a lane, judges them, and sends what comes next.
    fn receive(&mut self, at: u32, from: From) {
        let Self { lanes, judge, failures, room, free, fills, n_outstanding, .. } = self;
        let (session, mut inbox) = lanes[at as usize].open_inbox(judge, failures, self.request);
        let mut now = 0;
        let mut take = |id: usize, answer: Answer<'_>| {
            if now == 0 {
                now = now_ns();
            }
            let is_answer = !matches!(answer, Answer::Failed(_));
            match inbox.take(id, answer, now, true) {
                Next::More => {}
                Next::Over => {
                    *n_outstanding -= 1;
                    *inbox.answered += u64::from(is_answer);
                    free.push_back((at, now));
                }
                Next::Fill => fills.push(id),
            }
        };
        let pipeline = pipeline_of(session);
        match from {
            From::Link(link) => pipeline.receive(link, room, &mut take),
            From::Anywhere => pipeline.wait(room, &mut take),
            From::TheSilent => pipeline.expire(&mut take),
        }
        if now > 0 {
            self.begin_fills(at);
            self.release(at, now);
            self.go_on(now);
        }
    }

    /// Begins the fills of a lane's get-or-sets that have just missed.
    fn begin_fills(&mut self, at: u32) {
        if self.fills.is_empty() {
            return;
        }
        while let Some(id) = self.fills.pop() {
            self.fill(at, id);
        }
        self.flush(at);
    }

    /// Puts the fill of a miss into the memory of a session. Its key is written anew, because the block that had it may be
    /// gone.
    fn fill(&mut self, at: u32, id: usize) {
        let lane = &mut self.lanes[at as usize];
        let Some((op, begun)) = lane.outstanding.single(id) else { return };
        let version = self.judge.fill_version(op);
        lane.outstanding.begin_fill(id, version);
        let Judge { state, composer, orders, draw, .. } = &mut self.judge;
        state.note_renewal(op.fill, orders.gone_at_ns(op, begun.at()));
        self.fill_key.clear();
        draw.keys().write(op.fill, &mut self.fill_key);
        let value = composer.compose(op.fill, version, op.len);
        let pipeline = pipeline_of(lane.session);
        let options = &orders.set_options_of(op);
        if let Err(error) = pipeline.set(id, &self.fill_key, value, options) {
            self.not_sent(at, id, error);
        }
    }

    /// Sends what a connection had not taken, and then the requests that were held back for it.
    fn send_rest(&mut self, at: u32) {
        self.flush(at);
        let now = now_ns();
        self.release(at, now);
        self.go_on(now);
    }

    /// From time to time: fails the requests of connections that are silent, and ends a run that was stopped.
    fn look_round(&mut self) {
        let now = now_ns();
        if now < self.looks_at {
            return;
        }
        self.looks_at = now + TICK_NS;
        for at in (0..).take(self.lanes.len()) {
            if !self.lanes[at as usize].outstanding.is_empty() {
                self.receive(at, From::TheSilent);
            }
        }
        if self.is_stopped() {
            let end = *self.last_answers_at.get_or_insert(now + LAST_ANSWERS_NS);
            (self.is_over, self.due) = (true, None);
            if now >= end {
                self.abandon(now);
            }
        }
    }

    /// Counts the requests that are still outstanding as lost. The target is taken as silent.
    #[cold]
    fn abandon(&mut self, now: u64) {
        for at in (0..).take(self.lanes.len()) {
            let lane = &self.lanes[at as usize];
            let (ids, engine): (Vec<usize>, _) =
                (lane.outstanding.ids().collect(), lane.session.engine());
            for id in ids {
                let after = Duration::from_nanos(LAST_ANSWERS_NS);
                let error = Error::Timeout { engine, peer: "the store".into(), after };
                self.judged(at, id, Answer::Failed(error), now, true);
            }
        }
        self.free.clear();
        self.has_abandoned = true;
    }
}

/// Where answers come from.
#[derive(Debug, Clone, Copy)]
enum From {
    /// A link that is ready.
    Link(usize),
    /// Any link, for which the session waits.
    Anywhere,
    /// Links that have been silent for too long, and so fail.
    TheSilent,
}
