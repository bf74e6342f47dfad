//! Requests without waiting. No socket is behind them: they are answered as soon as they are received.

use std::time::Duration;

use larder_store::{
    Answer, Answered, Counted, Delta, Initial, Pipeline, Put, Result, Session, SetOptions,
    SetOutcome, Watch,
};

use super::session::{NullSession, VERSION};

/// The requests without an answer, in their order. The list keeps its memory, so that a warm session allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Requests {
    list: Vec<Request>,
    /// The number of requests that have been flushed, which are the first of the list.
    n_flushed: usize,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    id: usize,
    kind: Kind,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Get,
    /// With the number of keys.
    GetMany(usize),
    Set,
    /// With the number of entries.
    SetMany(usize),
    /// A `delete` or a `touch`.
    Find,
    /// An `incr`, with its number.
    Count(Option<Counted>),
}

impl Requests {
    #[inline]
    fn add(&mut self, id: usize, kind: Kind) {
        self.list.push(Request { id, kind });
    }
}

/// A `get` replays the last value at the time of its answer.
impl Pipeline for NullSession {
    fn watch_with(&mut self, _: Box<dyn Watch>) -> Result<()> {
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        Ok(())
    }

    fn get(&mut self, id: usize, _: &[u8]) -> Result<()> {
        self.requests.add(id, Kind::Get);
        Ok(())
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.requests.add(id, Kind::GetMany(keys.len()));
        Ok(())
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        Session::set(self, key, value, options)?;
        self.requests.add(id, Kind::Set);
        Ok(())
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        for Put { key, value, options } in entries {
            Session::set(self, key, value, options)?;
        }
        self.requests.add(id, Kind::SetMany(entries.len()));
        Ok(())
    }

    fn delete(&mut self, id: usize, _: &[u8]) -> Result<()> {
        self.requests.add(id, Kind::Find);
        Ok(())
    }

    fn touch(&mut self, id: usize, _: &[u8], _: Option<Duration>) -> Result<()> {
        self.requests.add(id, Kind::Find);
        Ok(())
    }

    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()> {
        let counted = Session::incr(self, key, delta, absent)?;
        self.requests.add(id, Kind::Count(counted));
        Ok(())
    }

    fn flush(&mut self) {
        self.requests.n_flushed = self.requests.list.len();
    }

    /// No request has bytes.
    fn unsent_bytes(&mut self) -> usize {
        0
    }

    fn n_outstanding(&mut self) -> usize {
        self.requests.list.len()
    }

    fn is_ready(&mut self) -> bool {
        self.requests.n_flushed > 0
    }

    fn receive(&mut self, _: usize, _: &mut [u8], answered: &mut Answered<'_>) {
        let has_value = self.has_value();
        let (value, meta) = (self.last.as_slice(), self.meta());
        let stored = SetOutcome::Stored(Some(VERSION));
        let flushed = &self.requests.list[..self.requests.n_flushed];
        for Request { id, kind } in flushed {
            let last = match *kind {
                Kind::Get if has_value => Answer::Hit { value, meta },
                Kind::Get => Answer::Miss,
                Kind::GetMany(n_keys) => {
                    let n_hits = if has_value { n_keys } else { 0 };
                    (0..n_hits)
                        .for_each(|place| answered(*id, Answer::Entry { place, value, meta }));
                    Answer::End
                }
                Kind::Set => Answer::Stored(stored),
                Kind::SetMany(n_entries) => {
                    let outcome = |place| Answer::Outcome { place, outcome: Ok(stored) };
                    (0..n_entries).for_each(|place| answered(*id, outcome(place)));
                    Answer::End
                }
                Kind::Find => Answer::Found(true),
                Kind::Count(counted) => Answer::Counted(counted),
            };
            answered(*id, last);
        }
        self.requests.list.drain(..self.requests.n_flushed);
        self.requests.n_flushed = 0;
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        self.flush();
        self.receive(0, room, answered);
    }

    /// Nothing is silent.
    fn expire(&mut self, _: &mut Answered<'_>) {}
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::null::store::Shared;

    fn session() -> NullSession {
        NullSession::new(Arc::new(Shared::default()))
    }

    /// Each answer as its number and its text.
    fn received(session: &mut NullSession) -> Vec<String> {
        let mut answers = Vec::new();
        session.receive(0, &mut [], &mut |id, answer| {
            answers.push(match answer {
                Answer::Hit { value, .. } => format!("{id} hit {}", value.escape_ascii()),
                Answer::Entry { place, value, .. } => {
                    format!("{id} entry {place} {}", value.escape_ascii())
                }
                Answer::Outcome { place, outcome } => format!("{id} outcome {place} {outcome:?}"),
                other => format!("{id} {other:?}"),
            });
        });
        answers
    }

    #[test]
    fn every_request_is_answered_once_in_order_after_a_flush() {
        let mut session = session();
        let options = SetOptions::default();
        Pipeline::get(&mut session, 7, b"k").unwrap();
        assert!(!session.is_ready());
        assert_eq!(received(&mut session), [""; 0]);
        session.flush();
        assert!(session.is_ready());
        Pipeline::set(&mut session, 8, b"k", b"v", &options).unwrap();
        assert_eq!(received(&mut session), ["7 hit v"]);
        assert!(!session.is_ready());
        Pipeline::get_many(&mut session, 9, &[b"a", b"b"]).unwrap();
        let put = Put { key: b"k", value: b"w", options };
        Pipeline::set_many(&mut session, 1, &[put]).unwrap();
        Pipeline::touch(&mut session, 2, b"k", None).unwrap();
        Pipeline::delete(&mut session, 3, b"k").unwrap();
        Pipeline::incr(&mut session, 4, b"k", Delta::Up(2), None).unwrap();
        assert_eq!(session.n_outstanding(), 6);
        session.flush();
        let stored = "Stored(Some(1))";
        let answers = [
            format!("8 Stored({stored})"),
            "9 entry 0 w".into(),
            "9 entry 1 w".into(),
            "9 End".into(),
            format!("1 outcome 0 Ok({stored})"),
            "1 End".into(),
            "2 Found(true)".into(),
            "3 Found(true)".into(),
            "4 Counted(Some(Counted { number: 2, version: Some(1) }))".into(),
        ];
        assert_eq!(received(&mut session), answers);
        assert_eq!((session.n_outstanding(), session.is_ready()), (0, false));
    }

    #[test]
    fn a_session_without_a_value_misses() {
        let mut session = session();
        Pipeline::get(&mut session, 0, b"k").unwrap();
        Pipeline::get_many(&mut session, 1, &[b"a", b"b"]).unwrap();
        session.flush();
        assert_eq!(received(&mut session), ["0 Miss", "1 End"]);
    }

    #[test]
    fn a_warm_session_allocates_no_list() {
        let mut session = session();
        let mut rooms = Vec::new();
        for _ in 0..10 {
            for id in 0..100 {
                Pipeline::get(&mut session, id, b"k").unwrap();
            }
            session.flush();
            assert_eq!(received(&mut session).len(), 100);
            rooms.push((session.requests.list.as_ptr(), session.requests.list.capacity()));
        }
        rooms.dedup();
        assert_eq!(rooms.len(), 1);
    }
}
