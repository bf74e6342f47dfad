//! The requests of one connection that wait for their answers, in order.

use std::collections::VecDeque;

use larder_workload::trace::{Outcome, Verb};

use super::Lost;
use crate::batch::NONE;
use crate::desk::{Desk, OfKey, OfRequest};
use crate::keys::KeyHasher;

/// The longest key that is recorded in clear. A longer one is recorded as its hash.
const MOST_CLEAR: usize = 64 << 10;

/// A queue keeps memory for so many requests and keys while it is empty.
const KEPT: usize = 256;

/// A request that waits for its answer. `W` is what a protocol has to know of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked<W> {
    pub(super) what: W,
    pub(super) verb: Verb,
    pub(super) of_request: OfRequest,
    pub(super) n_keys: usize,
}

/// A key of such a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedKey {
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
    asked: VecDeque<Asked<W>>,
    /// The requests that must be answered, counted from the first request of the connection. Only memcached has others.
    loud: VecDeque<u64>,
    /// The requests that have left the queue.
    n_left: u64,
    keys: VecDeque<AskedKey>,
    clear: VecDeque<u8>,
    /// Bytes of the key that arrives, in clear.
    arriving: u32,
    /// Bytes that the desk has set aside for it.
    bytes: usize,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self {
            asked: VecDeque::new(),
            loud: VecDeque::new(),
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
    pub(super) fn push(&mut self, asked: Asked<W>, desk: &mut Desk) -> Result<(), Lost> {
        self.wait_with(size_of::<Asked<W>>(), desk)?;
        self.asked.push_back(asked);
        Ok(())
    }

    /// Notes that the last request must be answered.
    #[inline]
    pub(super) fn must_answer_last(&mut self, desk: &mut Desk) -> Result<(), Lost> {
        self.wait_with(size_of::<u64>(), desk)?;
        self.loud.push_back(self.n_left + self.asked.len() as u64 - 1);
        Ok(())
    }

    /// The place of the first request, at or behind a place, that must be answered; else the length of the queue.
    pub(super) fn next_loud(&self, from: usize) -> usize {
        let number = self.n_left + from as u64;
        let place = self.loud.partition_point(|loud| *loud < number);
        let next = self.loud.get(place).and_then(|loud| usize::try_from(loud - self.n_left).ok());
        next.unwrap_or(self.asked.len())
    }

    /// The place behind the last request that must be answered.
    pub(super) fn behind_last_loud(&self) -> usize {
        let last = self.loud.back().and_then(|loud| usize::try_from(loud - self.n_left).ok());
        last.map_or(0, |place| place + 1)
    }

    /// Adds a key to the last request.
    #[inline]
    pub(super) fn push_key(&mut self, key: &[u8], desk: &mut Desk) -> Result<(), Lost> {
        if desk.keys.are_clear() {
            self.push_clear(key, desk)?;
        }
        let hash = desk.keys.hash(key);
        self.push_hashed(hash, key.len(), desk)
    }

    /// Adds bytes in clear of the key that arrives.
    pub(super) fn push_clear(&mut self, piece: &[u8], desk: &mut Desk) -> Result<(), Lost> {
        let len = self.arriving as usize + piece.len();
        if self.arriving == NONE || len > MOST_CLEAR {
            let held = if self.arriving == NONE { 0 } else { self.arriving as usize };
            self.clear.truncate(self.clear.len() - held);
            self.give_back(held, desk);
            self.arriving = NONE;
            return Ok(());
        }
        self.wait_with(piece.len(), desk)?;
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
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let Some(last) = self.asked.back_mut() else { return Ok(()) };
        last.n_keys += 1;
        self.wait_with(size_of::<AskedKey>(), desk)?;
        let clear_len = if desk.keys.are_clear() { self.arriving } else { NONE };
        self.arriving = 0;
        self.keys.push_back(AskedKey {
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
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        self.push_hashed(key.finish(), len, desk)
    }

    #[inline]
    fn wait_with(&mut self, bytes: usize, desk: &mut Desk) -> Result<(), Lost> {
        if !desk.wait_with(bytes) {
            return Err(Lost::TooMuchWaits);
        }
        self.bytes += bytes;
        Ok(())
    }

    #[inline]
    fn give_back(&mut self, bytes: usize, desk: &mut Desk) {
        self.bytes -= bytes;
        desk.waiting_bytes -= bytes;
    }

    /// The last request.
    #[inline]
    pub(super) fn last(&mut self) -> Option<&mut Asked<W>> {
        self.asked.back_mut()
    }

    /// The last key of the last request, if that has keys.
    #[inline]
    pub(super) fn last_key(&mut self) -> Option<&mut AskedKey> {
        if self.asked.back()?.n_keys == 0 { None } else { self.keys.back_mut() }
    }

    /// The first request.
    #[inline]
    pub(super) fn first(&self) -> Option<&Asked<W>> {
        self.asked.front()
    }

    /// The first request.
    pub(super) fn first_mut(&mut self) -> Option<&mut Asked<W>> {
        self.asked.front_mut()
    }

    /// The request at this place; that of the first one is 0.
    pub(super) fn at(&self, place: usize) -> Option<&Asked<W>> {
        self.asked.get(place)
    }

    /// Whether the request at a place asks for this key.
    pub(super) fn asks_for(&self, place: usize, hash: u64) -> bool {
        let before: usize = self.asked.iter().take(place).map(|asked| asked.n_keys).sum();
        let n_keys = self.asked.get(place).map_or(0, |asked| asked.n_keys);
        self.keys.iter().skip(before).take(n_keys).any(|key| key.hash == hash)
    }

    /// The key at this place of the first request.
    #[inline]
    pub(super) fn key(&mut self, place: usize) -> Option<&mut AskedKey> {
        let n_keys = self.asked.front()?.n_keys;
        if place < n_keys { self.keys.get_mut(place) } else { None }
    }

    /// Whether no request waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// The number of requests.
    pub(super) fn len(&self) -> usize {
        self.asked.len()
    }

    /// Ends the first request. Each of its keys becomes a row for each of these verbs, with the result that `judge` gives for
    /// the key.
    pub(super) fn finish(
        &mut self,
        verbs: &[Verb],
        answered_ns: Option<u64>,
        desk: &mut Desk,
        judge: impl Fn(Verb, &AskedKey) -> (Option<Outcome>, u32),
    ) {
        let Some(asked) = self.pop(desk) else { return };
        for _ in 0..asked.n_keys {
            let Some(key) = self.pop_key(desk) else { break };
            let clear = self.take_clear(&key);
            for verb in verbs {
                let (result, value_size) = judge(*verb, &key);
                let AskedKey { hash, size: key_size, .. } = key;
                let of_key = OfKey { hash, key_size, value_size, result };
                desk.note(&asked.of_request, *verb, &of_key, clear.as_deref(), answered_ns);
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
        desk: &mut Desk,
    ) {
        let Some(verb) = self.asked.front().map(|asked| asked.verb) else { return };
        self.finish(&[verb], answered_ns, desk, |_, key| (result, key.value_size));
    }

    /// Ends the first request, each of whose keys has the result that was noted for it.
    #[inline]
    pub(super) fn finish_noted(&mut self, answered_ns: Option<u64>, desk: &mut Desk) {
        let Some(verb) = self.asked.front().map(|asked| asked.verb) else { return };
        self.finish(&[verb], answered_ns, desk, |_, key| (key.result, key.value_size));
    }

    /// Ends the first request, whose answer has not come as a whole. The results of its keys are those that were noted.
    pub(super) fn finish_unanswered(&mut self, desk: &mut Desk) {
        let n_keys = self.asked.front().map_or(0, |asked| asked.n_keys);
        let n_unknown = self.keys.iter().take(n_keys).filter(|key| key.result.is_none()).count();
        desk.counts.unanswered += n_unknown as u64;
        self.finish_noted(None, desk);
    }

    /// Moves the first request to the end of another queue.
    pub(super) fn move_first(&mut self, to: &mut Self, desk: &mut Desk) -> Result<(), Lost> {
        let Some(asked) = self.pop(desk) else { return Ok(()) };
        to.push(Asked { n_keys: 0, ..asked }, desk)?;
        for _ in 0..asked.n_keys {
            let Some(key) = self.pop_key(desk) else { break };
            if let Some(clear) = self.take_clear(&key) {
                to.push_clear(&clear, desk)?;
            } else if desk.keys.are_clear() {
                to.arriving = NONE;
            }
            to.push_hashed(key.hash, key.size as usize, desk)?;
            if let Some(moved) = to.keys.back_mut() {
                moved.value_size = key.value_size;
            }
        }
        self.shrink();
        Ok(())
    }

    /// Forgets all requests, without rows.
    pub(super) fn forget(&mut self, desk: &mut Desk) {
        self.asked.clear();
        self.loud.clear();
        self.n_left = 0;
        self.keys.clear();
        self.clear.clear();
        self.arriving = 0;
        self.give_back(self.bytes, desk);
        self.shrink();
    }

    #[inline]
    fn pop(&mut self, desk: &mut Desk) -> Option<Asked<W>> {
        let asked = self.asked.pop_front()?;
        self.give_back(size_of::<Asked<W>>(), desk);
        if self.loud.front() == Some(&self.n_left) {
            self.loud.pop_front();
            self.give_back(size_of::<u64>(), desk);
        }
        self.n_left += 1;
        Some(asked)
    }

    #[inline]
    fn pop_key(&mut self, desk: &mut Desk) -> Option<AskedKey> {
        let key = self.keys.pop_front()?;
        let clear = if key.clear_len == NONE { 0 } else { key.clear_len as usize };
        self.give_back(size_of::<AskedKey>() + clear, desk);
        Some(key)
    }

    /// The key in clear that stands first among the bytes of all keys.
    fn take_clear(&mut self, key: &AskedKey) -> Option<Vec<u8>> {
        (key.clear_len != NONE).then(|| {
            let len = self.clear.len().min(key.clear_len as usize);
            self.clear.drain(..len).collect()
        })
    }

    /// Gives back the memory of many requests, once none waits.
    #[inline]
    fn shrink(&mut self) {
        if !self.asked.is_empty() {
            return;
        }
        if self.asked.capacity() > KEPT {
            self.asked = VecDeque::new();
            self.loud = VecDeque::new();
        }
        if self.keys.capacity() > KEPT {
            self.keys = VecDeque::new();
        }
        if self.clear.capacity() > MOST_CLEAR {
            self.clear = VecDeque::new();
        }
    }
}
