//! The pipeline of the map, with the fault that it was opened with.
//!
//! Requests stand in memory until they are flushed. Then the map carries them out, and the answers wait until they are
//! received. A watched session says so by a byte on a socket, as an engine with a server does.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use larder_store::{Answered, Delta, Error, Initial, Pipeline, Put, Result, SetOptions, Watch};

use super::map::MapSession;
use super::pipe::{OwnPut, Request};
use crate::owned_answer::OwnedAnswer;

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
            if fault.reorders(n) {
                requests.swap(i - 1, i);
            }
            if fault.reorders(n) || fault.swaps_answers(n) {
                ids.swap(i - 1, i);
            }
        }
        for ((id, request), n) in ids.into_iter().zip(requests).zip(first..) {
            let given = request.answers(self);
            let is_failure = matches!(given.last(), Some(OwnedAnswer::Failed(_)));
            let n_kept = given.len() - usize::from(fault.loses_answer(n));
            self.pipe.answers.extend(given.into_iter().take(n_kept).map(|given| (id, given)));
            if fault.repeats_answer(n) {
                self.pipe.answers.push_back((id, OwnedAnswer::Miss));
            }
            if is_failure && fault.stops_at_errors() {
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
        let is_last = |given: &OwnedAnswer| {
            !matches!(given, OwnedAnswer::Entry(..) | OwnedAnswer::Outcome(..))
        };
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
            given.pass_to(|answer| answered(id, answer));
        }
    }

    fn wait(&mut self, room: &mut [u8], answered: &mut Answered<'_>) {
        self.flush();
        self.receive(0, room, answered);
    }

    /// The map is never silent.
    fn expire(&mut self, _: &mut Answered<'_>) {}
}
