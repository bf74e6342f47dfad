//! Calls that wait: a request is sent, and the caller waits until it is answered.

use std::cell::Cell;
use std::time::{Duration, Instant};

use larder_store::{Answer, Answered};

use super::batches::{Batches, Reporter};
use super::link::Link;
use super::links::Links;
use super::patience::Patience;
use super::receive::Loss;
use super::{Arriving, Peer, Read, receive_buffer};

/// The memory for received bytes.
const ROOM_LEN: usize = 64 * 1024;

/// The part of it for a value of which the rest is read straight to where the caller wants it.
const ROOM_FOR_VALUE: usize = 16 * 1024;

/// More bytes than the end of any value has.
const TAIL_LEN: usize = 8;

thread_local! {
    /// The memory for the bytes that calls of this thread receive. A call that another makes meanwhile takes its own.
    static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

fn with_room<T>(wait: impl FnOnce(&mut [u8]) -> T) -> T {
    // There is none at the end of a thread either.
    let mut room = ROOM.try_with(Cell::take).unwrap_or_default();
    room.resize(ROOM_LEN, 0);
    let result = wait(&mut room);
    let _ = ROOM.try_with(|kept| kept.set(room));
    result
}

impl<P: Peer> Links<P> {
    /// Bounds the time of reads, or no longer. The next request opens another connection, which can keep that.
    pub(crate) fn set_longest_read(&mut self, longest: Option<Duration>) {
        self.patience.longest_read = longest;
        self.begin(None);
        self.all.iter_mut().for_each(Link::drop_connection);
    }

    /// Begins a read, which may take several requests: all answers are due after the time that reads have. `false` if this is a
    /// part of a read that has begun, or reads are not bounded.
    #[inline]
    pub(crate) fn begin_read(&mut self) -> bool {
        match self.patience {
            Patience { longest_read: Some(longest), deadline: None, .. } => {
                self.begin(Some(Instant::now() + longest));
                true
            }
            _ => false,
        }
    }

    /// Ends a read that has begun.
    #[inline]
    pub(crate) fn end_read(&mut self) {
        self.begin(None);
    }

    fn begin(&mut self, deadline: Option<Instant>) {
        self.patience = Patience { deadline, ..self.patience };
        self.all.iter_mut().for_each(|link| link.begin(self.patience));
    }

    /// Waits until every request has its last answer, and passes the answers on.
    pub(crate) fn wait_for_all(&mut self, answered: &mut Answered<'_>) {
        self.wait_until(|links| links.n_outstanding() == 0, answered);
    }

    /// The same until `is_enough`. There must be outstanding requests until then.
    pub(crate) fn wait_until(
        &mut self,
        is_enough: impl Fn(&Self) -> bool,
        answered: &mut Answered<'_>,
    ) {
        if !is_enough(self) {
            with_room(|room| {
                while !is_enough(self) {
                    self.wait(room, answered);
                }
            });
        }
    }

    /// Waits for the answer to the only request, a read of one value on this link. The value goes behind the bytes of `out`,
    /// and the answer has none.
    #[inline]
    pub(crate) fn wait_for_value(&mut self, link: usize, out: &mut Vec<u8>) -> Answer<'static> {
        with_room(|room| {
            self.flush();
            let (mut answer, start) = (None, out.len());
            if self.all[link].is_at_rest() {
                let room = &mut room[..ROOM_FOR_VALUE];
                match self.all[link].receive_value(room, out) {
                    Ok(received) => {
                        self.batches.n_outstanding -= usize::from(received.is_some());
                        answer = received;
                    }
                    Err(loss) => {
                        out.truncate(start);
                        let answered = &mut |_, lost: Answer<'_>| answer = Some(kept(lost, out));
                        let batches = &mut self.batches;
                        self.all[link].lose(loss, &mut Reporter { batches, answered });
                    }
                }
            }
            while self.n_outstanding() > 0 {
                self.wait(room, &mut |_, found| answer = Some(kept(found, out)));
            }
            answer.unwrap_or(Answer::End)
        })
    }

    /// Forgets the requests of a call that did not come to its end, because a callback of its caller panicked.
    #[inline]
    pub(crate) fn forget_outstanding(&mut self) {
        if self.n_outstanding() > 0 {
            self.all.iter_mut().for_each(Link::drop_connection);
            self.batches = Batches::default();
            self.known.clear();
        }
    }

    /// Closes a connection on which nothing is outstanding.
    pub(crate) fn close(&mut self, link: usize) {
        self.all[link].close();
    }
}

/// The same answer, whose value is put behind the bytes of `out`.
#[inline]
fn kept(answer: Answer<'_>, out: &mut Vec<u8>) -> Answer<'static> {
    match answer {
        Answer::Hit { value, meta } => {
            out.extend_from_slice(value);
            Answer::Hit { value: b"", meta }
        }
        Answer::Miss => Answer::Miss,
        Answer::Failed(error) => Answer::Failed(error),
        _ => Answer::End,
    }
}

impl<P: Peer> Link<P> {
    /// Whether everything is sent, and nothing has arrived.
    #[inline]
    fn is_at_rest(&self) -> bool {
        self.is_open() && self.unsent_bytes() == 0 && self.kept.is_empty()
    }

    /// Reads the answer to the only request, and puts its value behind the bytes of `out`. `None` where what has arrived is not
    /// enough: it is kept.
    #[inline]
    fn receive_value(
        &mut self,
        room: &mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Answer<'static>>, Loss> {
        let (Some(socket), Some(front)) = (&mut self.socket, self.outstanding.front_mut()) else {
            return Ok(None);
        };
        let n_received = socket.receive(true, room).map_err(Loss::System)?;
        self.has_progressed = true;
        let input = &room[..n_received];
        let mut answer = None;
        match self.peer.read(&mut front.asked, input, |found| answer = Some(kept(found, out))) {
            Read::Last(len) => {
                self.outstanding.pop_front();
                if len < n_received {
                    // The next request is told.
                    self.error = Some(self.peer.unasked(&input[len..]));
                    self.close();
                }
                Ok(answer)
            }
            Read::Value(arriving) => self.receive_rest(input, &arriving, out).map(Some),
            Read::Broken(error) => Err(Loss::Broken(error)),
            Read::Incomplete(needed) => {
                self.needed = needed;
                self.keep(input);
                Ok(None)
            }
            Read::More(len) => {
                self.keep(&input[len..]);
                Ok(None)
            }
        }
    }

    fn keep(&mut self, input: &[u8]) {
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
        Ok(Answer::Hit { value: b"", meta: *meta })
    }

    /// Closes the connection, whatever is outstanding on it.
    fn drop_connection(&mut self) {
        self.close();
        self.outstanding.clear();
        (self.error, self.failure) = (None, None);
    }
}
