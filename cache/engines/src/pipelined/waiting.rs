//! Calls that wait: a request is sent, and the caller waits until it is answered.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use larder_store::{Answer, Error, Result};

use super::batches::{Batches, Reporter};
use super::link::Link;
use super::links::Links;
use super::output::{LONGEST_COPIED, MANY};
use super::patience::Patience;
use super::receive::Loss;
use super::{Arriving, Peer, Read, receive_buffer};

/// The memory for received bytes.
const ROOM_LEN: usize = 64 * 1024;

/// The part of it for a value of which the rest is read straight to where the caller wants it.
const ROOM_FOR_VALUE: usize = 20 * 1024;

/// The most requests of a batch that are outstanding on a link.
const WINDOW: usize = 1000;

/// More bytes than the end of any value has.
const TAIL_LEN: usize = 8;

thread_local! {
    /// The memory for the bytes that calls of this thread receive. A call that another makes meanwhile takes its own.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

#[inline]
fn with_room<T>(wait: impl FnOnce(&mut [u8]) -> T) -> T {
    // There is none at the end of a thread either.
    let mut room = ROOM.try_with(Cell::take).unwrap_or_default();
    if room.is_empty() {
        room = vec![0; ROOM_LEN];
    }
    let result = wait(&mut room);
    let _ = ROOM.try_with(|kept| kept.set(room));
    result
}

/// Carries out a read of a session with these links, which may take several requests, within the time that reads have.
#[inline]
pub(crate) fn in_time<S, P: Peer, T>(
    session: &mut S,
    links: impl Fn(&mut S) -> &mut Links<P>,
    read: impl FnOnce(&mut S) -> T,
) -> T {
    if !links(session).begin_read() {
        return read(session);
    }
    // The time of a read ends with it, also where a callback of its caller panics.
    let result = catch_unwind(AssertUnwindSafe(|| read(session)));
    links(session).begin(None);
    result.unwrap_or_else(|panic| resume_unwind(panic))
}

/// Requests whose caller waits for all answers, each known by a number.
pub(crate) trait Batch<P: Peer> {
    /// The link of a request.
    fn link_of(&self, i: usize) -> usize;

    /// The length of the value that a request brings.
    fn value_len(&self, i: usize) -> usize;

    /// Sends a request, with its number as its id. It is the first of the batch on its link or another. After an error nothing
    /// more is sent on this link.
    fn ask(&mut self, links: &mut Links<P>, i: usize, is_first: bool) -> Result<()>;

    /// Takes an answer to a request. An error says that its link has failed, and that the request has no answer.
    fn answered(&mut self, i: usize, answer: Answer<'_>) -> Result<()>;

    /// Takes an answer of the engine's own.
    fn replied(&mut self, i: usize, reply: P::Reply, peer: &P);
}

/// Passes on the known outcomes of a batch, in order.
pub(crate) fn report_all<T>(
    outcomes: Vec<Option<Result<T>>>,
    done: &mut dyn FnMut(usize, Result<T>),
) {
    for (i, outcome) in outcomes.into_iter().enumerate() {
        if let Some(outcome) = outcome {
            done(i, outcome);
        }
    }
}

impl<P: Peer> Links<P> {
    /// Sends the requests of a batch with these numbers, and passes on the answers as they come. On a link that fails nothing more is
    /// sent, and the others go on. The links that have failed, each with its error.
    ///
    /// Neither side ever waits for the other to read: where a node takes no more, answers are read. Requests and answers take little
    /// memory: only so many are outstanding, and of a large value none is copied.
    pub(crate) fn call_each(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        batch: &mut impl Batch<P>,
    ) -> Vec<(usize, Error)> {
        let mut failed: Vec<(usize, Error)> = Vec::new();
        let mut begun: Vec<usize> = Vec::new();
        for i in numbers {
            let link = batch.link_of(i);
            if batch.value_len(i) > LONGEST_COPIED {
                self.collect(|links| !links.all[link].is_waiting(), batch, &mut failed);
            } else if self.unsent_bytes() > MANY || self.all[link].n_waiting() >= WINDOW {
                self.flush();
                let has_room = |links: &Self| {
                    links.unsent_bytes() <= MANY && links.all[link].n_waiting() < WINDOW / 2
                };
                self.collect(has_room, batch, &mut failed);
            }
            if failed.iter().any(|(failed, _)| *failed == link) {
                continue;
            }
            let is_first = !begun.contains(&link);
            if is_first {
                begun.push(link);
            }
            if let Err(error) = batch.ask(self, i, is_first) {
                failed.push((link, error));
            }
        }
        self.collect(|links| links.n_outstanding() == 0, batch, &mut failed);
        failed
    }

    /// Waits until `is_enough`, and passes on what comes meanwhile.
    fn collect(
        &mut self,
        is_enough: impl Fn(&Self) -> bool,
        batch: &mut impl Batch<P>,
        failed: &mut Vec<(usize, Error)>,
    ) {
        with_room(|room| {
            while !is_enough(self) && self.n_outstanding() > 0 {
                self.wait(room, &mut |i, answer| {
                    if let Err(error) = batch.answered(i, answer) {
                        let link = batch.link_of(i);
                        if !failed.iter().any(|(failed, _)| *failed == link) {
                            failed.push((link, error));
                        }
                    }
                });
                for link in &mut self.all {
                    if !link.peer.replies().is_empty() {
                        // The memory is used again.
                        let mut replies = std::mem::take(link.peer.replies());
                        for (i, reply) in replies.drain(..) {
                            batch.replied(i, reply, &link.peer);
                        }
                        *link.peer.replies() = replies;
                    }
                }
            }
        });
    }

    /// Waits until every request is answered, of which the last is on this link. Its answer, without the value of a hit, or the error
    /// of one that has failed.
    #[inline]
    pub(crate) fn wait_for_answer(&mut self, link: usize) -> Answer<'static> {
        self.wait_for_value(link, &mut Vec::new())
    }

    /// The same, where the value of a hit goes behind the bytes of `out`.
    ///
    /// Code after a system call runs with cold caches, so the way to the answer of the only request is short.
    #[inline]
    pub(crate) fn wait_for_value(&mut self, link: usize, out: &mut Vec<u8>) -> Answer<'static> {
        let mut last = Answer::End;
        with_room(|room| {
            self.flush();
            let start = out.len();
            if self.batches.n_outstanding == 1 && self.all[link].is_at_rest() {
                match self.all[link].receive_value(&mut room[..ROOM_FOR_VALUE], out, &mut last) {
                    Ok(true) => {
                        self.batches.n_outstanding = 0;
                        return;
                    }
                    Ok(false) => {}
                    Err(loss) => {
                        out.truncate(start);
                        let answered = &mut |_, lost: Answer<'_>| keep(lost, out, &mut last);
                        let batches = &mut self.batches;
                        self.all[link].lose(loss, &mut Reporter { batches, answered });
                    }
                }
            }
            self.wait_for_rest(room, out, &mut last);
        });
        last
    }

    /// Waits until every request is answered, in whatever pieces the answers come.
    #[cold]
    fn wait_for_rest(&mut self, room: &mut [u8], out: &mut Vec<u8>, last: &mut Answer<'static>) {
        while self.n_outstanding() > 0 {
            self.wait(room, &mut |_, answer| {
                if !matches!(last, Answer::Failed(_)) {
                    keep(answer, out, last);
                }
            });
        }
    }

    /// Takes the last answer of the engine's own on a link.
    pub(crate) fn take_reply(&mut self, link: usize) -> Option<P::Reply> {
        self.all[link].peer.replies().pop().map(|(_, reply)| reply)
    }

    /// Bounds the time of reads, or no longer. The next request opens another connection, which can keep that.
    pub(crate) fn set_longest_read(&mut self, longest: Option<Duration>) {
        self.patience.longest_read = longest;
        self.begin(None);
        self.all.iter_mut().for_each(Link::drop_connection);
    }

    /// Begins a read, which may take several requests: all answers are due after the time that reads have. `false` if this is a
    /// part of a read that has begun, or reads are not bounded.
    #[inline]
    fn begin_read(&mut self) -> bool {
        match self.patience {
            Patience { longest_read: Some(longest), deadline: None, .. } => {
                self.begin(Some(Instant::now() + longest));
                true
            }
            _ => false,
        }
    }

    fn begin(&mut self, deadline: Option<Instant>) {
        self.patience = Patience { deadline, ..self.patience };
        self.all.iter_mut().for_each(|link| link.begin(self.patience));
    }

    /// Forgets what is left of a call that did not come to its end, because a callback of its caller panicked.
    #[inline]
    pub(crate) fn begin_call(&mut self) {
        if self.n_outstanding() > 0 {
            self.all.iter_mut().for_each(Link::drop_connection);
            self.batches = Batches::default();
        }
        // A call that failed may have left the answer to a part of it.
        for link in &mut self.all {
            link.peer.replies().clear();
        }
    }

    /// Closes a connection on which nothing is outstanding.
    pub(crate) fn close(&mut self, link: usize) {
        self.all[link].close();
        self.all[link].error = None;
    }
}

/// Keeps an answer; its value goes behind the bytes of `out`.
#[inline]
fn keep(answer: Answer<'_>, out: &mut Vec<u8>, kept: &mut Answer<'static>) {
    *kept = match answer {
        Answer::Hit { value, meta } => {
            out.extend_from_slice(value);
            Answer::Hit { value: b"", meta }
        }
        Answer::Miss => Answer::Miss,
        Answer::Stored(outcome) => Answer::Stored(outcome),
        Answer::Found(is_found) => Answer::Found(is_found),
        Answer::Counted(counted) => Answer::Counted(counted),
        Answer::Failed(error) => Answer::Failed(error),
        // No call asks for the others by itself.
        _ => Answer::End,
    };
}

impl<P: Peer> Link<P> {
    /// Whether everything is sent, and nothing has arrived.
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.is_open() && self.unsent_bytes() == 0 && self.kept.is_empty()
    }

    /// Reads the answer to the only request to `kept`, and puts its value behind the bytes of `out`. `false` where what has arrived
    /// is not enough: it stays in the link.
    #[inline]
    fn receive_value(
        &mut self,
        room: &mut [u8],
        out: &mut Vec<u8>,
        kept: &mut Answer<'static>,
    ) -> Result<bool, Loss> {
        let (Some(socket), Some(front)) = (&mut self.socket, self.outstanding.front_mut()) else {
            return Ok(false);
        };
        let n_received = socket.receive(true, room).map_err(Loss::System)?;
        self.has_progressed = true;
        let mut input = &room[..n_received];
        loop {
            match self.peer.read(&mut front.asked, input, |answer| keep(answer, out, kept)) {
                Read::Last(len) => {
                    self.outstanding.clear();
                    if len < input.len() {
                        // The next request gets this error.
                        self.error = Some(self.peer.unasked(&input[len..]));
                        self.close();
                    }
                    return Ok(true);
                }
                Read::More(len) => input = &input[len..],
                Read::Value(arriving) => {
                    *kept = self.receive_rest(input, &arriving, out)?;
                    return Ok(true);
                }
                Read::Incomplete(needed) => {
                    self.needed = needed;
                    self.stash(input);
                    return Ok(false);
                }
                Read::Broken(error) => return Err(Loss::Broken(error)),
            }
        }
    }

    /// Keeps the beginning of an answer until the rest comes.
    #[cold]
    fn stash(&mut self, input: &[u8]) {
        receive_buffer::make_room(&mut self.kept, input.len());
        self.kept.extend_from_slice(input);
    }

    /// Reads the rest of a value to where the caller wants it.
    fn receive_rest(
        &mut self,
        input: &[u8],
        arriving: &Arriving,
        out: &mut Vec<u8>,
    ) -> Result<Answer<'static>, Loss> {
        let Arriving { head_len, value_len, tail, meta } = arriving;
        let arrived = &input[*head_len..];
        let (in_value, in_tail) = arrived.split_at(arrived.len().min(*value_len));
        out.reserve(*value_len);
        out.extend_from_slice(in_value);
        let mut end = [0; TAIL_LEN];
        let end = &mut end[..tail.len()];
        end[..in_tail.len()].copy_from_slice(in_tail);
        if let Some(socket) = &mut self.socket {
            let missing = value_len - in_value.len();
            let received = socket.receive_value(out, missing, &mut end[in_tail.len()..]);
            received.map_err(Loss::System)?;
        }
        if end != *tail {
            return Err(Loss::Broken(self.peer.no_end(end)));
        }
        self.outstanding.pop_front();
        self.peer.end_value();
        Ok(Answer::Hit { value: b"", meta: *meta })
    }

    /// Closes the connection, whatever is outstanding on it.
    fn drop_connection(&mut self) {
        self.close();
        self.outstanding.clear();
        self.peer.replies().clear();
        (self.error, self.failure) = (None, None);
    }
}
