//! Many writes at once: the requests to each node are written together before an answer is read.

use larder_protocol::storage::StorageRequest;
use larder_store::{Put, Result, SetOutcome};

use super::connection::Connection;
use super::errors::is_whole_answer;
use super::many::Part;

/// The most writes of a node before their answers are read: the answers must fit the buffers of a socket, even if each
/// takes a packet of its own. Two sides that each wait for the other to read would wait for ever.
pub(super) const REQUESTS: usize = 200;

/// The most bytes of a request of several writes, which is put together in memory.
const REQUEST_LEN: usize = 128 * 1024;

/// The most bytes of a write besides its key and its value: a verb, five numbers and the ends of two lines.
pub(super) const AROUND_WRITE: usize = 80;

/// The most bytes of a set.
pub(super) fn set_len(put: &Put<'_>) -> usize {
    put.key.len() + put.value.len() + AROUND_WRITE
}

/// The bound of what is sent to a node before its answers are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// The most requests.
    pub(super) most: usize,
    /// The most bytes.
    pub(super) max_len: usize,
}

/// The bound of writes.
pub(super) const WRITES: Window = Window { most: REQUESTS, max_len: REQUEST_LEN };

/// A batch of writes: for each, the outcome once it is known.
pub(super) type Outcomes<T> = [Option<Result<T>>];

impl Connection {
    /// Sends as many more requests of a part as fit a window. `add` adds one, of at most `len_of` bytes.
    pub(super) fn send_each(
        &mut self,
        part: &mut Part,
        Window { most, max_len }: Window,
        len_of: impl Fn(usize) -> usize,
        add: impl Fn(&mut Self, usize) -> Result<()>,
    ) -> Result<()> {
        for i in part.take(most, max_len, &len_of) {
            self.make_room(len_of(*i))?;
            add(self, *i)?;
        }
        self.send_rest()
    }

    /// Sends as many more entries of a part as fit a request. Each entry of a part has its header in `headers`.
    pub(super) fn send_sets(
        &mut self,
        entries: &[Put<'_>],
        headers: &[Option<StorageRequest<'_>>],
        part: &mut Part,
    ) -> Result<()> {
        let len_of = |i: usize| set_len(&entries[i]);
        self.send_each(part, WRITES, len_of, |connection, i| match &headers[i] {
            Some(header) => connection.add_set(header, entries[i].value),
            None => Ok(()),
        })
    }

    /// Adds a set to the request.
    pub(super) fn add_set(&mut self, header: &StorageRequest<'_>, value: &[u8]) -> Result<()> {
        self.encode_set(header);
        self.add_value(value)
    }

    /// Sends the requests before another of this length, where the node does not take both at once.
    fn make_room(&mut self, len: usize) -> Result<()> {
        match self.packet_len() {
            Some(most) if self.request.len() + len > most => self.send_rest(),
            _ => Ok(()),
        }
    }

    /// Reads the answers to [`send_sets`](Self::send_sets).
    pub(super) fn receive_sets(
        &mut self,
        entries: &[Put<'_>],
        part: &mut Part,
        outcomes: &mut Outcomes<SetOutcome>,
    ) -> Result<()> {
        for i in part.answered() {
            outcomes[*i] = Some(refusal_or_failure(self.receive_set(entries[*i].value.len()))?);
        }
        Ok(())
    }

    /// Sends as many more deletes of a part as fit a request.
    pub(super) fn send_deletes(&mut self, keys: &[&[u8]], part: &mut Part) -> Result<()> {
        let len_of = |i: usize| keys[i].len() + AROUND_WRITE;
        self.send_each(part, WRITES, len_of, |connection, i| {
            connection.encode_delete(keys[i]);
            Ok(())
        })
    }

    /// Reads the answers to [`send_deletes`](Self::send_deletes).
    pub(super) fn receive_deletes(
        &mut self,
        part: &mut Part,
        outcomes: &mut Outcomes<bool>,
    ) -> Result<()> {
        for i in part.answered() {
            outcomes[*i] = Some(refusal_or_failure(self.receive_delete())?);
        }
        Ok(())
    }
}

/// Separates the refusal of one write, which is its outcome, from a failure, after which the answers to all later writes are lost.
pub(super) fn refusal_or_failure<T>(answer: Result<T>) -> Result<Result<T>> {
    match answer {
        Err(error) if !is_whole_answer(&error) => Err(error),
        answer => Ok(answer),
    }
}

/// Passes on the known outcomes, in order.
pub(super) fn report_all<T>(
    outcomes: Vec<Option<Result<T>>>,
    done: &mut dyn FnMut(usize, Result<T>),
) {
    for (i, outcome) in outcomes.into_iter().enumerate() {
        if let Some(outcome) = outcome {
            done(i, outcome);
        }
    }
}
