//! A session whose requests are sent without waiting, and whose every answer is held against its request.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use larder_store::{Answer, Error, Pipeline, Put, Result, Session, SetOptions, Store};
use larder_testkit::{Event, PATIENCE, Sockets};

/// The silence after which a loop calls `expire`.
const SILENCE: Duration = Duration::from_millis(100);

/// The last answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request was carried out.
    Done,
    /// The value of a `get`.
    Hit(Vec<u8>),
    /// A `get` found nothing.
    Miss,
    /// The request failed with this kind of error.
    Failed(&'static str),
}

impl Outcome {
    /// Whether the answer is lost, so that it is not known whether the request was carried out.
    pub(crate) fn is_lost(&self) -> bool {
        matches!(self, Self::Failed("unavailable" | "timeout"))
    }
}

/// A session, and the last answers to its requests.
pub(crate) struct PipelineClient {
    session: Box<dyn Session>,
    sockets: Option<(Sockets, usize)>,
    room: Vec<u8>,
    n_asked: usize,
    /// The last answers by the number of their requests.
    outcomes: HashMap<usize, Outcome>,
    /// The requests in the order of their last answers.
    order: Vec<usize>,
    /// The places of entries, by the requests that found them.
    entries: Vec<(usize, usize)>,
}

impl PipelineClient {
    /// A session that waits with its own call.
    pub(crate) fn waiting(store: &dyn Store) -> Self {
        let session = store.session().unwrap();
        let (outcomes, order, entries) = (HashMap::new(), Vec::new(), Vec::new());
        Self {
            session,
            sockets: None,
            room: vec![0; 16 << 10],
            n_asked: 0,
            outcomes,
            order,
            entries,
        }
    }

    /// A session that is watched, under this number.
    pub(crate) fn watched(store: &dyn Store, sockets: &Sockets, number: usize) -> Self {
        let mut client = Self::waiting(store);
        client.sockets = Some((sockets.clone(), number));
        client.pipeline().watch_with(sockets.of_session(number).unwrap()).unwrap();
        client
    }

    /// A session of either kind.
    pub(crate) fn both(store: &dyn Store) -> [Self; 2] {
        [Self::waiting(store), Self::watched(store, &Sockets::new().unwrap(), 0)]
    }

    pub(crate) fn pipeline(&mut self) -> &mut dyn Pipeline {
        self.session.pipeline().unwrap()
    }

    /// Makes a request, and returns its number. A request whose call fails gets no answer.
    pub(crate) fn ask(
        &mut self,
        ask: impl FnOnce(&mut dyn Pipeline, usize) -> Result<()>,
    ) -> Result<usize> {
        let id = self.n_asked;
        ask(self.pipeline(), id)?;
        self.n_asked += 1;
        Ok(id)
    }

    pub(crate) fn set(&mut self, key: &str, value: &[u8]) -> Result<usize> {
        let options = SetOptions::default();
        self.ask(|pipeline, id| pipeline.set(id, key.as_bytes(), value, &options))
    }

    pub(crate) fn get(&mut self, key: &str) -> Result<usize> {
        self.ask(|pipeline, id| pipeline.get(id, key.as_bytes()))
    }

    /// Makes as many requests of every kind, and sends them.
    pub(crate) fn ask_all_kinds(&mut self, n: usize) -> Vec<usize> {
        let options = SetOptions::default();
        let keys: Vec<_> = (0..n).map(|i| format!("key-{i}")).collect();
        let request = |i: usize| {
            let key = keys[i].as_bytes();
            let many: Vec<&[u8]> = keys.iter().skip(i).take(20).map(String::as_bytes).collect();
            match i % 6 {
                0 => self.ask(|pipeline, id| pipeline.set(id, key, b"value", &options)),
                1 => self.ask(|pipeline, id| pipeline.delete(id, key)),
                2 => self.ask(|pipeline, id| pipeline.touch(id, key, None)),
                3 => self.ask(|pipeline, id| pipeline.get_many(id, &many)),
                4 => {
                    let put = |key| Put { key, value: b"value of many", options };
                    let puts: Vec<_> = many.into_iter().map(put).collect();
                    self.ask(|pipeline, id| pipeline.set_many(id, &puts))
                }
                _ => self.ask(|pipeline, id| pipeline.get(id, key)),
            }
        };
        let asked = (0..n).map(request).collect::<Result<_>>().unwrap();
        self.pipeline().flush();
        asked
    }

    /// The requests that have no last answer yet.
    pub(crate) fn n_open(&self) -> usize {
        self.n_asked - self.outcomes.len()
    }

    /// The last answer to a request.
    pub(crate) fn outcome(&self, request: usize) -> &Outcome {
        &self.outcomes[&request]
    }

    /// The requests in the order of their last answers.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Takes the answers that `receive` passes on.
    fn take(
        &mut self,
        receive: impl FnOnce(&mut dyn Pipeline, &mut [u8], &mut dyn FnMut(usize, Answer<'_>)),
    ) {
        let Self { session, room, outcomes, order, n_asked, entries, .. } = self;
        receive(session.pipeline().unwrap(), room, &mut |id, answer| {
            assert!(id < *n_asked, "{id} is the number of no request: {answer:?}");
            let is_over = outcomes.contains_key(&id);
            assert!(!is_over, "request {id} is answered after its last answer: {answer:?}");
            if let Answer::Entry { place, .. } = &answer {
                entries.push((id, *place));
            }
            if answer.is_last() {
                outcomes.insert(id, last(answer));
                order.push(id);
            }
        });
        let n_open = self.n_open();
        assert_eq!(self.pipeline().n_outstanding(), n_open);
    }

    pub(crate) fn receive(&mut self, link: usize) {
        self.take(|pipeline, room, answered| pipeline.receive(link, room, answered));
    }

    pub(crate) fn expire(&mut self) {
        self.take(|pipeline, _, answered| pipeline.expire(answered));
    }

    /// Waits for something, and receives it.
    pub(crate) fn receive_some(&mut self) {
        match &self.sockets {
            None => self.take(|pipeline, room, answered| pipeline.wait(room, answered)),
            Some((sockets, number)) => {
                assert_eq!(*number, 0, "the only session of its loop");
                let sockets = sockets.clone();
                receive_some(&sockets, std::slice::from_mut(self));
            }
        }
    }

    /// Receives until every request has its last answer.
    pub(crate) fn finish(&mut self) {
        self.pipeline().flush();
        let begun = Instant::now();
        while self.n_open() > 0 {
            self.receive_some();
            assert!(begun.elapsed() < PATIENCE, "{} requests have no last answer", self.n_open());
        }
        assert_eq!(self.pipeline().unsent_bytes(), 0);
    }

    /// Asks until an answer is not lost, and returns that.
    pub(crate) fn eventually(&mut self, ask: impl Fn(&mut Self) -> Result<usize>) -> Outcome {
        let begun = Instant::now();
        loop {
            match ask(self) {
                Ok(request) => {
                    self.finish();
                    if !self.outcome(request).is_lost() {
                        return self.outcome(request).clone();
                    }
                }
                Err(error) => assert!(is_lost(&error), "{error}"),
            }
            assert!(begun.elapsed() < PATIENCE, "every answer is lost");
        }
    }

    /// Stores a value and reads it, whatever the session has been through.
    pub(crate) fn works_again(&mut self) {
        assert_eq!(self.eventually(|client| client.set("again", b"value")), Outcome::Done);
        assert_eq!(self.eventually(|client| client.get("again")), Outcome::Hit(b"value".to_vec()));
        // The places of batches that were lost have no part in those of the next.
        let keys: [&[u8]; 4] = [b"absent", b"again", b"absent", b"again"];
        let batch = self.ask(|pipeline, id| pipeline.get_many(id, &keys)).unwrap();
        self.finish();
        assert_eq!(*self.outcome(batch), Outcome::Done);
        let found: Vec<_> = self.entries.iter().filter(|(id, _)| *id == batch).collect();
        assert_eq!(found, [&(batch, 1), &(batch, 3)]);
        let mut value = Vec::new();
        assert!(self.session.get(b"absent", &mut value).unwrap().is_none());
        assert!(self.session.get(b"again", &mut value).unwrap().is_some());
    }
}

/// Whether an error says that an answer is lost, or that the server is not there.
pub(crate) fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::Timeout { .. })
}

fn last(answer: Answer<'_>) -> Outcome {
    match answer {
        Answer::Hit { value, .. } => Outcome::Hit(value.to_vec()),
        Answer::Miss => Outcome::Miss,
        Answer::Failed(error) => Outcome::Failed(error.kind()),
        _ => Outcome::Done,
    }
}

/// Waits for something of some session of a loop, and receives it.
pub(crate) fn receive_some(sockets: &Sockets, askers: &mut [PipelineClient]) {
    let events = sockets.events(SILENCE).unwrap();
    for Event { session, link, has_room } in &events {
        askers[*session].receive(*link);
        if *has_room {
            askers[*session].pipeline().flush();
        }
    }
    for client in askers {
        if events.is_empty() {
            client.expire();
        }
        if client.pipeline().is_ready() {
            client.receive(0);
        }
    }
}
