//! A session whose requests are sent without waiting, and whose every answer is checked against its request.

use std::time::{Duration, Instant};

use larder_store::{Delta, Error, Initial, Pipeline, Session, SetOptions, Store};
use libtest_mimic::Failed;

use super::super::expect::{ensure, ensure_eq, fails_with, same};
use super::super::fixture::Fixture;
use super::answer_checker::AnswerChecker;
use super::pipeline;
use crate::owned_answer::OwnedAnswer;
use crate::{Event, PATIENCE, Sockets};

/// The room for received bytes: smaller than large values, and than the answers to many requests.
const ROOM_LEN: usize = 16 << 10;

/// The silence after which a watching client calls `expire`.
const SILENCE: Duration = Duration::from_millis(200);

/// The way in which a client learns of answers.
#[derive(Clone)]
enum Way {
    /// By the session's own call.
    Waits,
    /// By an epoll instance, which clients may share.
    Watches(Sockets),
}

/// A session, its requests, and their answers.
pub(in super::super) struct Client {
    session: Box<dyn Session>,
    way: Way,
    /// The number among the clients of an epoll instance.
    number: usize,
    prefix: Vec<u8>,
    room: Vec<u8>,
    has_unflushed: bool,
    checker: AnswerChecker,
}

/// Runs a case with a client that waits, and with a client that watches. Their keys differ.
pub(in super::super) fn in_each_way(
    fixture: &Fixture,
    case: impl FnMut(&mut Client) -> Result<(), Failed>,
) -> Result<(), Failed> {
    in_each_way_of(fixture, &**fixture.store()?, case)
}

/// As [`in_each_way`], in a store that the case alone has: a server may count bytes on their way among those of its
/// entries, and so drop the entries of other cases.
pub(super) fn in_own_store(
    fixture: &Fixture,
    case: impl FnMut(&mut Client) -> Result<(), Failed>,
) -> Result<(), Failed> {
    in_each_way_of(fixture, &*fixture.fresh()?, case)
}

fn in_each_way_of(
    fixture: &Fixture,
    store: &dyn Store,
    mut case: impl FnMut(&mut Client) -> Result<(), Failed>,
) -> Result<(), Failed> {
    for (name, way) in [("waits", Way::Waits), ("watches", Way::Watches(Sockets::new()?))] {
        let prefix = fixture.key(name);
        let done = Client::open(store.session()?, way, 0, prefix).and_then(|mut client| {
            case(&mut client)?;
            client.finish()
        });
        done.map_err(|failed| {
            format!("a client that {name}: {}", failed.message().unwrap_or("a failure"))
        })?;
    }
    Ok(())
}

impl Client {
    fn open(
        mut session: Box<dyn Session>,
        way: Way,
        number: usize,
        prefix: Vec<u8>,
    ) -> Result<Self, Failed> {
        if let Way::Watches(sockets) = &way {
            pipeline(&mut *session)?.watch_with(sockets.of_session(number)?)?;
        }
        let (room, checker) = (vec![0; ROOM_LEN], AnswerChecker::default());
        Ok(Self { session, way, number, prefix, room, has_unflushed: false, checker })
    }

    /// A client that waits.
    pub(in super::super) fn waiting(fixture: &Fixture) -> Result<Self, Failed> {
        Self::open(fixture.session()?, Way::Waits, 0, fixture.key("waits"))
    }

    /// As [`Client::waiting`], of another store.
    pub(super) fn of_store(fixture: &Fixture, store: &dyn Store) -> Result<Self, Failed> {
        Self::open(store.session()?, Way::Waits, 0, fixture.key("of-store"))
    }

    /// Clients of one epoll instance.
    pub(super) fn together(
        fixture: &Fixture,
        store: &dyn Store,
        n: usize,
    ) -> Result<(Sockets, Vec<Self>), Failed> {
        let sockets = Sockets::new()?;
        let open = |number| {
            let prefix = fixture.key(format_args!("client-{number}"));
            Self::open(store.session()?, Way::Watches(sockets.clone()), number, prefix)
        };
        let clients = (0..n).map(open).collect::<Result<_, _>>()?;
        Ok((sockets, clients))
    }

    /// Watches the sockets from now on, by an epoll instance of its own.
    pub(super) fn watch(&mut self) -> Result<(), Failed> {
        let sockets = Sockets::new()?;
        pipeline(&mut *self.session)?.watch_with(sockets.of_session(self.number)?)?;
        self.way = Way::Watches(sockets);
        Ok(())
    }

    /// A key that no other client uses.
    pub(in super::super) fn key(&self, name: impl std::fmt::Display) -> Vec<u8> {
        [&self.prefix[..], format!("-{name}").as_bytes()].concat()
    }

    /// The session, for calls that wait.
    pub(in super::super) fn session(&mut self) -> &mut dyn Session {
        &mut *self.session
    }

    /// The session's pipeline.
    pub(in super::super) fn pipeline(&mut self) -> Result<&mut dyn Pipeline, Failed> {
        Ok(pipeline(&mut *self.session)?)
    }

    /// Receives with less or more room.
    pub(in super::super) fn set_room(&mut self, len: usize) {
        self.room = vec![0; len];
    }

    /// The requests that have no last answer yet.
    pub(in super::super) fn n_open(&self) -> usize {
        self.checker.n_open
    }

    /// Makes a request, and returns its place among the client's requests. A request whose call fails gets no answer.
    pub(in super::super) fn ask(
        &mut self,
        ask: impl FnOnce(&mut dyn Pipeline, usize) -> larder_store::Result<()>,
    ) -> larder_store::Result<usize> {
        ask(pipeline(&mut *self.session)?, self.checker.next_id())?;
        self.has_unflushed = true;
        Ok(self.checker.add())
    }

    /// Asks for a value.
    pub(in super::super) fn get(&mut self, key: &[u8]) -> larder_store::Result<usize> {
        self.ask(|pipeline, id| pipeline.get(id, key))
    }

    /// Stores a value.
    pub(in super::super) fn set(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> larder_store::Result<usize> {
        self.set_with(key, value, &SetOptions::default())
    }

    /// As [`Client::set`], with options.
    pub(in super::super) fn set_with(
        &mut self,
        key: &[u8],
        value: &[u8],
        options: &SetOptions,
    ) -> larder_store::Result<usize> {
        self.ask(|pipeline, id| pipeline.set(id, key, value, options))
    }

    /// Removes a key.
    pub(in super::super) fn delete(&mut self, key: &[u8]) -> larder_store::Result<usize> {
        self.ask(|pipeline, id| pipeline.delete(id, key))
    }

    /// Counts a number.
    pub(in super::super) fn incr(
        &mut self,
        key: &[u8],
        delta: Delta,
        absent: Option<Initial>,
    ) -> larder_store::Result<usize> {
        self.ask(|pipeline, id| pipeline.incr(id, key, delta, absent))
    }

    /// Sends what stands in memory.
    pub(in super::super) fn flush(&mut self) -> Result<(), Failed> {
        self.has_unflushed = false;
        self.pipeline()?.flush();
        Ok(())
    }

    /// The bytes that have not been sent.
    pub(in super::super) fn unsent_bytes(&mut self) -> Result<usize, Failed> {
        Ok(self.pipeline()?.unsent_bytes())
    }

    /// Receives what arrives on one link, without waiting.
    pub(in super::super) fn receive(&mut self, link: usize) -> Result<(), Failed> {
        let Self { session, room, checker, .. } = self;
        let pipeline = pipeline(&mut **session)?;
        pipeline.receive(link, room, &mut |id, answer| checker.take(id, answer));
        self.check()
    }

    /// Fails what has been silent for too long.
    pub(in super::super) fn expire(&mut self) -> Result<(), Failed> {
        let checker = &mut self.checker;
        pipeline(&mut *self.session)?.expire(&mut |id, answer| checker.take(id, answer));
        self.check()
    }

    /// Waits until something has arrived, and receives it. A client that watches first sends what stands in memory, and
    /// then only where there is room.
    pub(in super::super) fn receive_some(&mut self) -> Result<(), Failed> {
        let Way::Watches(sockets) = &self.way else {
            self.has_unflushed = false;
            let Self { session, room, checker, .. } = self;
            pipeline(&mut **session)?.wait(room, &mut |id, answer| checker.take(id, answer));
            return self.check();
        };
        let sockets = sockets.clone();
        receive_some(&sockets, std::slice::from_mut(self))
    }

    /// Receives until every request has its last answer.
    pub(in super::super) fn finish(&mut self) -> Result<(), Failed> {
        let begun = Instant::now();
        while self.checker.n_open > 0 {
            self.receive_some()?;
            let AnswerChecker { requests, n_open, .. } = &self.checker;
            ensure!(
                begun.elapsed() < PATIENCE,
                "{n_open} of {} requests have no last answer yet",
                requests.len()
            );
        }
        self.check()
    }

    /// Every answer so far was right, and the session counts the others.
    fn check(&mut self) -> Result<(), Failed> {
        if let Some(fault) = self.checker.fault.take() {
            return Err(fault.into());
        }
        let n_outstanding = self.pipeline()?.n_outstanding();
        ensure_eq!(
            n_outstanding,
            self.checker.n_open,
            "the requests that the session takes for outstanding"
        );
        Ok(())
    }

    /// The answers to a request, the last of them at the end.
    pub(in super::super) fn answers(&self, request: usize) -> &[OwnedAnswer] {
        &self.checker.requests[request].answers
    }

    /// The requests in the order of their last answers.
    pub(in super::super) fn ended(&self) -> &[usize] {
        &self.checker.ended
    }

    /// The request had one answer, which is a hit of this value.
    pub(in super::super) fn is_hit(&self, request: usize, value: &[u8]) -> Result<(), Failed> {
        match self.answers(request) {
            [OwnedAnswer::Hit(found, _)] => {
                same(format!("request {request}").as_bytes(), found, value)
            }
            other => Err(format!("request {request} is no hit: {other:?}").into()),
        }
    }

    /// The request had one answer, which is a miss.
    pub(in super::super) fn is_miss(&self, request: usize) -> Result<(), Failed> {
        let answers = self.answers(request);
        ensure!(
            matches!(answers, [OwnedAnswer::Miss]),
            "request {request} is no miss: {answers:?}"
        );
        Ok(())
    }

    /// The request had one answer: its value is stored.
    pub(in super::super) fn is_stored(&self, request: usize) -> Result<(), Failed> {
        match self.answers(request) {
            [OwnedAnswer::Stored(outcome)] if outcome.is_stored() => Ok(()),
            other => Err(format!("request {request} stores nothing: {other:?}").into()),
        }
    }

    /// The request had one answer: whether it found its key.
    pub(in super::super) fn is_found(&self, request: usize, found: bool) -> Result<(), Failed> {
        match self.answers(request) {
            [OwnedAnswer::Found(told)] => {
                ensure_eq!(*told, found, "whether request {request} found its key");
                Ok(())
            }
            other => Err(format!("request {request} tells no finding: {other:?}").into()),
        }
    }

    /// The request had one answer: this number, or that its key is absent.
    pub(in super::super) fn is_counted(
        &self,
        request: usize,
        number: Option<u64>,
    ) -> Result<(), Failed> {
        match self.answers(request) {
            [OwnedAnswer::Counted(counted)] => {
                let told = counted.map(|counted| counted.number);
                ensure_eq!(told, number, "the number that request {request} tells");
                Ok(())
            }
            other => Err(format!("request {request} tells no number: {other:?}").into()),
        }
    }

    /// Whether the answer to the request is lost, so that it is not known whether it was carried out.
    pub(super) fn is_lost(&self, request: usize) -> bool {
        let last = self.answers(request).last();
        matches!(last, Some(OwnedAnswer::Failed(Error::Unavailable { .. } | Error::Timeout { .. })))
    }

    /// The request failed with this kind of error, when it was made or by its last answer.
    pub(in super::super) fn has_failed(
        &mut self,
        request: larder_store::Result<usize>,
        kind: &str,
    ) -> Result<(), Failed> {
        let request = match request {
            Ok(request) => request,
            error => return fails_with(error, kind).map(drop),
        };
        match self.checker.requests[request].answers.pop() {
            Some(OwnedAnswer::Failed(error)) => fails_with(Err::<(), _>(error), kind).map(drop),
            other => Err(format!("request {request} has not failed: {other:?}").into()),
        }
    }
}

/// Waits until something has arrived for some of the clients, and receives it.
pub(super) fn receive_some(sockets: &Sockets, clients: &mut [Client]) -> Result<(), Failed> {
    let mut is_ready = false;
    for client in &mut *clients {
        if client.has_unflushed {
            client.flush()?;
        }
        if client.pipeline()?.is_ready() {
            is_ready = true;
            client.receive(0)?;
        }
    }
    let events = sockets.events(if is_ready { Duration::ZERO } else { SILENCE })?;
    for Event { session, link, has_room } in &events {
        let client = clients.get_mut(*session).ok_or("an event of an unknown session")?;
        client.receive(*link)?;
        if *has_room {
            client.flush()?;
        }
    }
    for client in clients {
        if events.is_empty() && !is_ready {
            client.expire()?;
        }
        let n_bytes = client.unsent_bytes()?;
        let waits = n_bytes == 0 || client.has_unflushed || sockets.wants_room(client.number);
        ensure!(waits, "{n_bytes} bytes are unsent, and no link wants room");
    }
    Ok(())
}
