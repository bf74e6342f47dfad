//! Reads of many connections at once. Most requests are a `get` of one key, and most of the time of one goes to memory that
//! the processor has not at hand. The store looks up the keys of several connections together, so that the processor
//! waits for them together; and calls of the system that are alike follow each other.

use std::ops::Range;
use std::time::Instant;

use larder_protocol::text::get::parse_single;

use super::{Hands, READ_BYTES, Worker};
use crate::connection::Read;
use crate::conversation::Next;
use crate::counts::Count;
use crate::latency::Kind;
use crate::text;
use crate::waiting::OWN_BYTES;

/// Connections that are read before the first of them is answered.
const MOST: usize = 16;

/// What is left of the shared buffer for the read of another connection.
const LEAST_LEFT: usize = 16 << 10;

/// What connections have sent, one behind the other in the shared buffer.
#[derive(Debug, Default)]
pub(super) struct Gathered(Vec<(u64, Range<usize>)>);

impl Worker {
    /// Reads from a connection without input of its own. The answer follows with those of other connections.
    #[inline]
    pub(super) fn gather(&mut self, token: u64) {
        let waiting = &self.shared.waiting[self.place];
        let Some(connection) = self.slots.find(token) else { return };
        let begin = self.read_buffer.len();
        // No more is read than all of them can keep.
        let most = OWN_BYTES + waiting.free() / MOST;
        match connection.read_onto(&mut self.read_buffer, most) {
            Read::Bytes(n) => {
                self.counts.add(Count::BytesRead, n as u64);
                self.gathered.0.push((token, begin..begin + n));
            }
            Read::Nothing => {}
            Read::End => self.remove(token),
        }
        if self.gathered.0.len() == MOST || READ_BYTES - self.read_buffer.len() < LEAST_LEFT {
            self.answer_gathered();
        }
    }

    /// Answers all that was gathered.
    pub(super) fn answer_gathered(&mut self) {
        if self.gathered.0.is_empty() {
            return;
        }
        let buffer = std::mem::take(&mut self.read_buffer);
        let mut gathered = std::mem::take(&mut self.gathered);
        // A log of slow requests times each alone.
        if gathered.0.len() > 1 && self.shared.settings.slow.is_none() {
            self.answer_reads(&buffer, &mut gathered);
        }
        for (token, at) in gathered.0.drain(..) {
            self.answer(token, Some(&buffer[at]));
        }
        self.gathered = gathered;
        self.read_buffer = buffer;
        self.read_buffer.clear();
    }

    /// Answers connections that ask for one key, by one call of the store, and leaves the others.
    fn answer_reads(&mut self, buffer: &[u8], gathered: &mut Gathered) {
        let mut keys: [&[u8]; MOST] = [&[]; MOST];
        let mut tokens = [0; MOST];
        let mut n = 0;
        gathered.0.retain(|(token, at)| {
            let request = &buffer[at.clone()];
            let key = parse_single(request).filter(|(_, len)| *len == request.len());
            let mut is_plain = |token| {
                self.slots.find(token).is_some_and(|it| it.conversation.takes_any_request())
            };
            let Some((key, _)) = key.filter(|_| is_plain(*token)) else { return true };
            (keys[n], tokens[n]) = (key, *token);
            n += 1;
            false
        });
        let Hands::Own(desk) = &mut self.hands else { return };
        if n == 0 {
            return;
        }
        let began = Instant::now();
        let mut answers = std::mem::take(&mut self.answers);
        answers.clear();
        let mut places = [(); MOST].map(|()| 0..0);
        let is_right = text::get_apart(&keys[..n], desk, &mut answers, &mut places);
        self.counts.latencies.add(Kind::Get, began.elapsed(), n as u64);
        for (i, token) in tokens[..n].iter().enumerate() {
            if is_right {
                let request_len = keys[i].len() + "get \r\n".len();
                self.after(*token, &answers[places[i].clone()], request_len, Next::Read(0));
            } else {
                let request = [b"get ", keys[i], b"\r\n"].concat();
                self.answer(*token, Some(&request));
            }
        }
        self.keep_answers(answers);
    }
}
