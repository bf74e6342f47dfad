//! The pipeline of the map, with the fault that it was opened with.
//!
//! Requests stand in memory until they are flushed. Then the map carries them out, and the answers wait until they are
//! received. A watched session says so by a byte on a socket, as an engine with a server does.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use larder_store::{
    Answered, Delta, Error, Initial, Pipeline, Put, Result, Session, SetOptions, Watch,
};

use super::map::MapSession;
use crate::answer::Given;

/// The requests and answers of a session.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// The requests that have not been flushed.
    requests: Vec<(usize, Request)>,
    /// The requests that have been flushed since the session was opened.
    n_flushed: u64,
    /// The answers that have not been received.
    answers: VecDeque<(usize, Given)>,
    /// A socket that is read, and its other end.
    link: Option<[UnixStream; 2]>,
    /// Whether the link has a byte.
    is_signalled: bool,
}

/// A request with its own copies.
#[derive(Debug)]
enum Request {
    Get(Vec<u8>),
    GetMany(Vec<Vec<u8>>),
    Set(OwnPut),
    SetMany(Vec<OwnPut>),
    Delete(Vec<u8>),
    Touch(Vec<u8>, Option<Duration>),
    Incr(Vec<u8>, Delta, Option<Initial>),
}

#[derive(Debug)]
struct OwnPut {
    key: Vec<u8>,
    value: Vec<u8>,
    options: SetOptions,
}

impl OwnPut {
    fn of(put: &Put<'_>) -> Self {
        Self { key: put.key.to_vec(), value: put.value.to_vec(), options: put.options }
    }

    fn as_put(&self) -> Put<'_> {
        Put { key: &self.key, value: &self.value, options: self.options }
    }
}

impl Request {
    fn n_bytes(&self) -> usize {
        // A header, so that a request of an empty key has bytes too.
        1 + match self {
            Self::Get(key) | Self::Delete(key) | Self::Touch(key, _) | Self::Incr(key, _, _) => {
                key.len()
            }
            Self::GetMany(keys) => keys.iter().map(Vec::len).sum(),
            Self::Set(put) => put.key.len() + put.value.len(),
            Self::SetMany(puts) => puts.iter().map(|put| put.key.len() + put.value.len()).sum(),
        }
    }

    /// Carries the request out. The last answer ends it.
    fn answers(self, session: &mut MapSession) -> Vec<Given> {
        let mut answers = Vec::new();
        let last = match self {
            Self::Get(key) => {
                let mut value = Vec::new();
                let found = Session::get(session, &key, &mut value);
                found.map(|meta| meta.map_or(Given::Miss, |meta| Given::Hit(value, meta)))
            }
            Self::GetMany(keys) => {
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let mut hit = |i, value: &[u8], meta| {
                    answers.push(Given::Entry(i, value.to_vec(), meta));
                };
                Session::get_many(session, &keys, &mut hit).map(|()| Given::End)
            }
            Self::Set(OwnPut { key, value, options }) => {
                Session::set(session, &key, &value, &options).map(Given::Stored)
            }
            Self::SetMany(puts) => {
                let puts: Vec<_> = puts.iter().map(OwnPut::as_put).collect();
                let mut done = |i, outcome| answers.push(Given::Outcome(i, outcome));
                Session::set_many(session, &puts, &mut done).map(|()| Given::End)
            }
            Self::Delete(key) => Session::delete(session, &key).map(Given::Found),
            Self::Touch(key, ttl) => Session::touch(session, &key, ttl).map(Given::Found),
            Self::Incr(key, delta, absent) => {
                Session::incr(session, &key, delta, absent).map(Given::Counted)
            }
        };
        answers.push(last.unwrap_or_else(Given::Failed));
        answers
    }
}

impl MapSession {
    fn add(&mut self, id: usize, request: Request) {
        self.pipe.requests.push((id, request));
    }

    /// Carries out the requests, and leaves their answers to be received.
    fn carry_out(&mut self) {
        let fault = self.shared.fault;
        let taken = std::mem::take(&mut self.pipe.requests);
        let (mut ids, mut requests): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
        let first = self.pipe.n_flushed;
        self.pipe.n_flushed += requests.len() as u64;
        for (i, n) in (first..).enumerate().take(ids.len()).skip(1) {
            if fault.overtakes(n) {
                requests.swap(i - 1, i);
            }
            if fault.overtakes(n) || fault.mixes(n) {
                ids.swap(i - 1, i);
            }
        }
        for ((id, request), n) in ids.into_iter().zip(requests).zip(first..) {
            let given = request.answers(self);
            let is_failure = matches!(given.last(), Some(Given::Failed(_)));
            let n_kept = given.len() - usize::from(fault.loses(n));
            self.pipe.answers.extend(given.into_iter().take(n_kept).map(|given| (id, given)));
            if fault.repeats(n) {
                self.pipe.answers.push_back((id, Given::Miss));
            }
            if is_failure && fault.halts() {
                break;
            }
        }
    }

    /// Has the socket say that there are answers.
    fn signal(&mut self) {
        let pipe = &mut self.pipe;
        if let Some([_, far]) = &mut pipe.link
            && !pipe.answers.is_empty()
            && !pipe.is_signalled
        {
            pipe.is_signalled = far.write_all(b"!").is_ok();
        }
    }
}

impl Pipeline for MapSession {
    fn watch_with(&mut self, mut watch: Box<dyn Watch>) -> Result<()> {
        let engine = self.shared.scheme;
        let failed = |source| Error::Io { engine, what: "open a pair of sockets".into(), source };
        let (near, far) = UnixStream::pair().map_err(failed)?;
        watch.watch(0, near.as_fd(), false).map_err(failed)?;
        self.pipe.link = Some([near, far]);
        self.pipe.is_signalled = false;
        self.signal();
        Ok(())
    }

    fn connect(&mut self) -> Result<()> {
        Ok(())
    }

    fn get(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.add(id, Request::Get(key.to_vec()));
        Ok(())
    }

    fn get_many(&mut self, id: usize, keys: &[&[u8]]) -> Result<()> {
        self.add(id, Request::GetMany(keys.iter().map(|key| key.to_vec()).collect()));
        Ok(())
    }

    fn set(&mut self, id: usize, key: &[u8], value: &[u8], options: &SetOptions) -> Result<()> {
        let options = *options;
        self.add(id, Request::Set(OwnPut::of(&Put { key, value, options })));
        Ok(())
    }

    fn set_many(&mut self, id: usize, entries: &[Put<'_>]) -> Result<()> {
        self.add(id, Request::SetMany(entries.iter().map(OwnPut::of).collect()));
        Ok(())
    }

    fn delete(&mut self, id: usize, key: &[u8]) -> Result<()> {
        self.add(id, Request::Delete(key.to_vec()));
        Ok(())
    }

    fn touch(&mut self, id: usize, key: &[u8], ttl: Option<Duration>) -> Result<()> {
        self.add(id, Request::Touch(key.to_vec(), ttl));
        Ok(())
    }

    fn incr(&mut self, id: usize, key: &[u8], delta: Delta, absent: Option<Initial>) -> Result<()> {
        self.add(id, Request::Incr(key.to_vec(), delta, absent));
        Ok(())
    }

    fn flush(&mut self) {
        self.carry_out();
        self.signal();
    }

    fn unsent_bytes(&mut self) -> usize {
        self.pipe.requests.iter().map(|(_, request)| request.n_bytes()).sum()
    }

    fn n_outstanding(&mut self) -> usize {
        let is_last = |given: &Given| !matches!(given, Given::Entry(..) | Given::Outcome(..));
        let n_answered = self.pipe.answers.iter().filter(|(_, given)| is_last(given)).count();
        self.pipe.requests.len() + n_answered
    }

    fn receive(&mut self, _: usize, _: &mut [u8], answered: &mut Answered<'_>) {
        let pipe = &mut self.pipe;
        if let Some([near, _]) = &mut pipe.link
            && pipe.is_signalled
        {
            pipe.is_signalled = near.read_exact(&mut [0]).is_err();
        }
        for (id, given) in pipe.answers.drain(..) {
            given.tell(|answer| answered(id, answer));
        }
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        self.flush();
        self.receive(0, room, answered);
    }

    /// The map is never silent.
    fn expire(&mut self, _: &mut Answered<'_>) {}
}
