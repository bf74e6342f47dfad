//! The requests of a pipeline that have not been flushed, and the answers that have not been received.

use std::collections::VecDeque;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use larder_store::{Delta, Initial, Put, Session, SetOptions};

use crate::owned_answer::OwnedAnswer;

/// The requests and answers of a session.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// The requests that have not been flushed.
    pub(super) requests: Vec<(usize, Request)>,
    /// The requests that have been flushed since the session was opened.
    pub(super) n_flushed: u64,
    /// The answers that have not been received.
    pub(super) answers: VecDeque<(usize, OwnedAnswer)>,
    /// A socket that is read, and its other end.
    pub(super) link: Option<[UnixStream; 2]>,
    /// Whether the link has a byte.
    pub(super) is_signalled: bool,
}

/// A request with its own copies.
#[derive(Debug)]
pub(super) enum Request {
    Get(Vec<u8>),
    GetMany(Vec<Vec<u8>>),
    Set(OwnPut),
    SetMany(Vec<OwnPut>),
    Delete(Vec<u8>),
    Touch(Vec<u8>, Option<Duration>),
    Incr(Vec<u8>, Delta, Option<Initial>),
}

#[derive(Debug)]
pub(super) struct OwnPut {
    key: Vec<u8>,
    value: Vec<u8>,
    options: SetOptions,
}

impl OwnPut {
    pub(super) fn of(put: &Put<'_>) -> Self {
        Self { key: put.key.to_vec(), value: put.value.to_vec(), options: put.options }
    }

    fn as_put(&self) -> Put<'_> {
        Put { key: &self.key, value: &self.value, options: self.options }
    }
}

impl Request {
    pub(super) fn n_bytes(&self) -> usize {
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
    pub(super) fn answers(self, session: &mut dyn Session) -> Vec<OwnedAnswer> {
        let mut answers = Vec::new();
        let last = match self {
            Self::Get(key) => {
                let mut value = Vec::new();
                let found = session.get(&key, &mut value);
                found.map(|meta| {
                    meta.map_or(OwnedAnswer::Miss, |meta| OwnedAnswer::Hit(value, meta))
                })
            }
            Self::GetMany(keys) => {
                let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
                let mut hit = |i, value: &[u8], meta| {
                    answers.push(OwnedAnswer::Entry(i, value.to_vec(), meta));
                };
                session.get_many(&keys, &mut hit).map(|()| OwnedAnswer::End)
            }
            Self::Set(OwnPut { key, value, options }) => {
                session.set(&key, &value, &options).map(OwnedAnswer::Stored)
            }
            Self::SetMany(puts) => {
                let puts: Vec<_> = puts.iter().map(OwnPut::as_put).collect();
                let mut done = |i, outcome| answers.push(OwnedAnswer::Outcome(i, outcome));
                session.set_many(&puts, &mut done).map(|()| OwnedAnswer::End)
            }
            Self::Delete(key) => session.delete(&key).map(OwnedAnswer::Found),
            Self::Touch(key, ttl) => session.touch(&key, ttl).map(OwnedAnswer::Found),
            Self::Incr(key, delta, absent) => {
                session.incr(&key, delta, absent).map(OwnedAnswer::Counted)
            }
        };
        answers.push(last.unwrap_or_else(OwnedAnswer::Failed));
        answers
    }
}
