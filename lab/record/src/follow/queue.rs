//! The requests of one connection that wait for their answers, in order.

use std::collections::VecDeque;

use larder_workload::trace::{Outcome, Verb};

use super::StopReason;
use crate::batch::NONE;
use crate::keys::KeyHasher;
use crate::recorder::{KeyFacts, Recorder, RequestFacts};

/// The longest key that is recorded in clear. A longer one is recorded as its hash.
const MAX_CLEAR_BYTES: usize = 64 << 10;

/// An empty queue keeps memory for this many requests and keys.
const KEPT_CAPACITY: usize = 256;

/// A request that waits for its answer. `W` is the answer that it expects, in the words of its protocol.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingRequest<W> {
    pub(super) expected: W,
    pub(super) verb: Verb,
    pub(super) facts: RequestFacts,
    pub(super) n_keys: usize,
}

/// A key of such a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingKey {
    pub(super) hash: u64,
    pub(super) size: u32,
    /// Length of the key in clear among the bytes of all keys; [`NONE`] where it is hashed.
    clear_len: u32,
    /// Length of the value that is written, or that was read.
    pub(super) value_size: u32,
    pub(super) result: Option<Outcome>,
}

/// The requests.
#[derive(Debug)]
pub(super) struct Queue<W> {
    requests: VecDeque<PendingRequest<W>>,
    /// The requests that must be answered, counted from the first request of the connection. Only memcached has others.
    must_answer: VecDeque<u64>,
    /// The requests that have left the queue.
    n_left: u64,
    keys: VecDeque<PendingKey>,
    clear: VecDeque<u8>,
    /// Bytes in clear of the key that is arriving.
    arriving: u32,
    /// Bytes that are reserved for it in the recorder.
    bytes: usize,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self {
            requests: VecDeque::new(),
            must_answer: VecDeque::new(),
            n_left: 0,
            keys: VecDeque::new(),
            clear: VecDeque::new(),
            arriving: 0,
            bytes: 0,
        }
    }
}

impl<W: Copy> Queue<W> {
    /// Adds a request, without keys.
    #[inline]
    pub(super) fn push(
        &mut self,
        request: PendingRequest<W>,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.reserve(size_of::<PendingRequest<W>>(), recorder)?;
        self.requests.push_back(request);
        Ok(())
    }

    /// Notes that the last request must be answered.
    #[inline]
    pub(super) fn must_answer_last(&mut self, recorder: &mut Recorder) -> Result<(), StopReason> {
        self.reserve(size_of::<u64>(), recorder)?;
        self.must_answer.push_back(self.n_left + self.requests.len() as u64 - 1);
        Ok(())
    }

    /// The place of the first request, at or behind a place, that must be answered; else the length of the queue.
    pub(super) fn next_must_answer(&self, from: usize) -> usize {
        let number = self.n_left + from as u64;
        let place = self.must_answer.partition_point(|it| *it < number);
        let next =
            self.must_answer.get(place).and_then(|it| usize::try_from(it - self.n_left).ok());
        next.unwrap_or(self.requests.len())
    }

    /// The place behind the last request that must be answered.
    pub(super) fn after_last_must_answer(&self) -> usize {
        let last = self.must_answer.back().and_then(|it| usize::try_from(it - self.n_left).ok());
        last.map_or(0, |place| place + 1)
    }

    /// Adds a key to the last request.
    #[inline]
    pub(super) fn push_key(
        &mut self,
        key: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        if recorder.keys.are_clear() {
            self.push_clear(key, recorder)?;
        }
        let hash = recorder.keys.hash(key);
        self.push_hashed(hash, key.len(), recorder)
    }

    /// Adds bytes in clear of the key that arrives.
    pub(super) fn push_clear(
        &mut self,
        piece: &[u8],
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let len = self.arriving as usize + piece.len();
        if self.arriving == NONE || len > MAX_CLEAR_BYTES {
            let held = if self.arriving == NONE { 0 } else { self.arriving as usize };
            self.clear.truncate(self.clear.len() - held);
            self.release(held, recorder);
            self.arriving = NONE;
            return Ok(());
        }
        self.reserve(piece.len(), recorder)?;
        self.clear.extend(piece);
        self.arriving += u32::try_from(piece.len()).unwrap_or(NONE);
        Ok(())
    }

    /// Adds a key of this number to the last request, behind its bytes in clear.
    #[inline]
    pub(super) fn push_hashed(
        &mut self,
        hash: u64,
        len: usize,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(last) = self.requests.back_mut() else { return Ok(()) };
        last.n_keys += 1;
        self.reserve(size_of::<PendingKey>(), recorder)?;
        let clear_len = if recorder.keys.are_clear() { self.arriving } else { NONE };
        self.arriving = 0;
        self.keys.push_back(PendingKey {
            hash,
            size: u32::try_from(len).unwrap_or(NONE),
            clear_len,
            value_size: NONE,
            result: None,
        });
        Ok(())
    }

    /// Adds a key that has arrived in pieces to the last request.
    pub(super) fn push_pieces(
        &mut self,
        key: &KeyHasher,
        len: usize,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        self.push_hashed(key.finish(), len, recorder)
    }

    #[inline]
    fn reserve(&mut self, bytes: usize, recorder: &mut Recorder) -> Result<(), StopReason> {
        if !recorder.reserve(bytes) {
            return Err(StopReason::TooManyPending);
        }
        self.bytes += bytes;
        Ok(())
    }

    #[inline]
    fn release(&mut self, bytes: usize, recorder: &mut Recorder) {
        self.bytes -= bytes;
        recorder.pending_bytes -= bytes;
    }

    /// The last request.
    #[inline]
    pub(super) fn last(&mut self) -> Option<&mut PendingRequest<W>> {
        self.requests.back_mut()
    }

    /// The last key of the last request, if that has keys.
    #[inline]
    pub(super) fn last_key(&mut self) -> Option<&mut PendingKey> {
        if self.requests.back()?.n_keys == 0 { None } else { self.keys.back_mut() }
    }

    /// The first request.
    #[inline]
    pub(super) fn first(&self) -> Option<&PendingRequest<W>> {
        self.requests.front()
    }

    /// The first request.
    pub(super) fn first_mut(&mut self) -> Option<&mut PendingRequest<W>> {
        self.requests.front_mut()
    }

    /// The request at this place; that of the first one is 0.
    pub(super) fn at(&self, place: usize) -> Option<&PendingRequest<W>> {
        self.requests.get(place)
    }

    /// Whether the request at a place asks for this key.
    pub(super) fn asks_for(&self, place: usize, hash: u64) -> bool {
        let before: usize = self.requests.iter().take(place).map(|request| request.n_keys).sum();
        let n_keys = self.requests.get(place).map_or(0, |request| request.n_keys);
        self.keys.iter().skip(before).take(n_keys).any(|key| key.hash == hash)
    }

    /// The key at this place of the first request.
    #[inline]
    pub(super) fn key(&mut self, place: usize) -> Option<&mut PendingKey> {
        let n_keys = self.requests.front()?.n_keys;
        if place < n_keys { self.keys.get_mut(place) } else { None }
    }

    /// Whether no request waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// The number of requests.
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Ends the first request. Each of its keys becomes a row for each of these verbs, with the result that `judge` gives for
    /// the key.
    pub(super) fn finish(
        &mut self,
        verbs: &[Verb],
        answered_ns: Option<u64>,
        recorder: &mut Recorder,
        judge: impl Fn(Verb, &PendingKey) -> (Option<Outcome>, u32),
    ) {
        let Some(request) = self.pop(recorder) else { return };
        for _ in 0..request.n_keys {
            let Some(key) = self.pop_key(recorder) else { break };
            let clear = self.take_clear(&key);
            for verb in verbs {
                let (result, value_size) = judge(*verb, &key);
                let PendingKey { hash, size: key_size, .. } = key;
                let key_facts = KeyFacts { hash, key_size, value_size, result };
                recorder.record(&request.facts, *verb, &key_facts, clear.as_deref(), answered_ns);
            }
        }
        self.shrink();
    }

    /// Ends the first request, all of whose keys have this result.
    #[inline]
    pub(super) fn finish_alike(
        &mut self,
        result: Option<Outcome>,
        answered_ns: Option<u64>,
        recorder: &mut Recorder,
    ) {
        let Some(verb) = self.requests.front().map(|request| request.verb) else { return };
        self.finish(&[verb], answered_ns, recorder, |_, key| (result, key.value_size));
    }

    /// Ends the first request, each of whose keys has the result that was noted for it.
    #[inline]
    pub(super) fn finish_noted(&mut self, answered_ns: Option<u64>, recorder: &mut Recorder) {
        let Some(verb) = self.requests.front().map(|request| request.verb) else { return };
        self.finish(&[verb], answered_ns, recorder, |_, key| (key.result, key.value_size));
    }

    /// Ends the first request, whose answer has not arrived in full. Its keys keep the results that were noted.
    pub(super) fn finish_unanswered(&mut self, recorder: &mut Recorder) {
        let n_keys = self.requests.front().map_or(0, |request| request.n_keys);
        let n_unknown = self.keys.iter().take(n_keys).filter(|key| key.result.is_none()).count();
        recorder.counts.unanswered += n_unknown as u64;
        self.finish_noted(None, recorder);
    }

    /// Moves the first request to the end of another queue.
    pub(super) fn move_first(
        &mut self,
        to: &mut Self,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Some(request) = self.pop(recorder) else { return Ok(()) };
        to.push(PendingRequest { n_keys: 0, ..request }, recorder)?;
        for _ in 0..request.n_keys {
            let Some(key) = self.pop_key(recorder) else { break };
            if let Some(clear) = self.take_clear(&key) {
                to.push_clear(&clear, recorder)?;
            } else if recorder.keys.are_clear() {
                to.arriving = NONE;
            }
            to.push_hashed(key.hash, key.size as usize, recorder)?;
            if let Some(moved) = to.keys.back_mut() {
                moved.value_size = key.value_size;
            }
        }
        self.shrink();
        Ok(())
    }

    /// Forgets all requests, without rows.
    pub(super) fn forget(&mut self, recorder: &mut Recorder) {
        self.requests.clear();
        self.must_answer.clear();
        self.n_left = 0;
        self.keys.clear();
        self.clear.clear();
        self.arriving = 0;
        self.release(self.bytes, recorder);
        self.shrink();
    }

    #[inline]
    fn pop(&mut self, recorder: &mut Recorder) -> Option<PendingRequest<W>> {
        let request = self.requests.pop_front()?;
        self.release(size_of::<PendingRequest<W>>(), recorder);
        if self.must_answer.front() == Some(&self.n_left) {
            self.must_answer.pop_front();
            self.release(size_of::<u64>(), recorder);
        }
        self.n_left += 1;
        Some(request)
    }

    #[inline]
    fn pop_key(&mut self, recorder: &mut Recorder) -> Option<PendingKey> {
        let key = self.keys.pop_front()?;
        let clear = if key.clear_len == NONE { 0 } else { key.clear_len as usize };
        self.release(size_of::<PendingKey>() + clear, recorder);
        Some(key)
    }

    /// The key in clear that stands first among the bytes of all keys.
    fn take_clear(&mut self, key: &PendingKey) -> Option<Vec<u8>> {
        (key.clear_len != NONE).then(|| {
            let len = self.clear.len().min(key.clear_len as usize);
            self.clear.drain(..len).collect()
        })
    }

    /// Releases the memory of many requests, once the queue is empty.
    #[inline]
    fn shrink(&mut self) {
        if !self.requests.is_empty() {
            return;
        }
        if self.requests.capacity() > KEPT_CAPACITY {
            self.requests = VecDeque::new();
            self.must_answer = VecDeque::new();
        }
        if self.keys.capacity() > KEPT_CAPACITY {
            self.keys = VecDeque::new();
        }
        if self.clear.capacity() > MAX_CLEAR_BYTES {
            self.clear = VecDeque::new();
        }
    }
}
