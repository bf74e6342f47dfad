//! Many writes at once: the commands for each node are written together before an answer is read.

use larder_store::{Error, Put, Result, SetMode, SetOptions, SetOutcome};
use redis::{ServerErrorKind, Value};

use super::address::Node;
use super::arguments::SetTail;
use super::errors;
use super::request::{COPIED_LEN, Request};
use super::routing::{Doubt, Redirect};
use super::scripts;
use super::session::RedisSession;

/// The most commands of a node before their answers are read: the answers must fit the buffers of a socket. Two sides
/// that each wait for the other to read would wait for ever.
const COMMANDS: usize = 1000;

/// The part of a batch for one node.
#[derive(Debug, Default)]
pub(super) struct WritePart {
    /// The part's writes, as indices into the batch.
    indices: Vec<usize>,
    /// The number of writes that were sent, and of those with an answer.
    n_sent: usize,
    n_answered: usize,
    request: Request,
}

impl WritePart {
    fn clear(&mut self) {
        self.indices.clear();
        (self.n_sent, self.n_answered) = (0, 0);
    }

    fn has_unsent(&self) -> bool {
        self.n_sent < self.indices.len()
    }

    /// Leaves out what is not sent yet, and the answers that are due: the node has failed.
    fn give_up(&mut self) {
        self.n_sent = self.indices.len();
        self.n_answered = self.n_sent;
    }
}

/// One kind of write of a batch.
pub(super) trait Writes {
    /// The outcome of one of them.
    type Outcome;

    /// The key of a write.
    fn key(&self, i: usize) -> &[u8];

    /// The value of a write.
    fn value(&self, i: usize) -> &[u8];

    /// Adds the command of a write.
    fn add(&self, i: usize, request: &mut Request);

    /// Reads the answer to a write.
    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<Self::Outcome>;

    /// Carries out one write alone, wherever its key is now.
    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<Self::Outcome>;
}

impl RedisSession {
    /// Carries out the writes whose outcome is not known yet, and passes on all outcomes in order. A node that fails is
    /// left out afterwards, and the others go on. The error is then that of the first node that failed.
    pub(super) fn write_many<W: Writes>(
        &mut self,
        writes: &W,
        mut outcomes: Vec<Option<Result<W::Outcome>>>,
        done: &mut dyn FnMut(usize, Result<W::Outcome>),
    ) -> Result<()> {
        self.renew_layout()?;
        self.writes.iter_mut().for_each(WritePart::clear);
        for (i, outcome) in outcomes.iter().enumerate() {
            if outcome.is_none() {
                let slot = self.layout.slot_of(writes.key(i));
                self.writes[self.layout.owner_of(slot)].indices.push(i);
            }
        }
        let mut to_retry = Vec::new();
        let mut failed = None;
        while self.writes.iter().any(WritePart::has_unsent) {
            self.send_writes(writes, &mut failed);
            self.receive_writes(writes, &mut outcomes, &mut to_retry, &mut failed);
        }
        to_retry.sort_unstable();
        for i in to_retry {
            match writes.alone(i, self) {
                // Each further write might wait for as long.
                Err(error) if error.is_fault() => {
                    failed.get_or_insert(error);
                    break;
                }
                outcome => outcomes[i] = Some(outcome),
            }
        }
        for (i, outcome) in outcomes.into_iter().enumerate() {
            if let Some(outcome) = outcome {
                done(i, outcome);
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Sends as many more writes to each node as fit a request. A value that is sent without a copy has its own request.
    fn send_writes(&mut self, writes: &impl Writes, failed: &mut Option<Error>) {
        for (node, part) in self.writes.iter_mut().enumerate().filter(|(_, part)| part.has_unsent())
        {
            let WritePart { indices, n_sent, request, .. } = part;
            request.clear();
            let mut large: &[u8] = b"";
            for i in indices[*n_sent..].iter().take(COMMANDS) {
                let is_large = writes.value(*i).len() > COPIED_LEN;
                let is_full = is_large || request.bytes().len() >= COPIED_LEN;
                if is_full && request.n_commands() > 0 {
                    break;
                }
                writes.add(*i, request);
                if is_large {
                    large = writes.value(*i);
                    break;
                }
            }
            *n_sent += request.n_commands();
            let connection = &mut self.connections[node];
            let sent = connection.begin(self.bound).and_then(|is_new| {
                if is_new {
                    self.shared.count_connection();
                }
                self.requests.sent.add_one();
                connection.send(request, large)
            });
            if let Err(error) = sent {
                self.doubt = Some(Doubt::lost(node));
                part.give_up();
                failed.get_or_insert(error);
            }
        }
    }

    /// Reads every answer, also after a refusal. Writes that are to be sent once more, each by itself, are added to
    /// `to_retry`: their node has their key no longer, or could not answer now.
    fn receive_writes<W: Writes>(
        &mut self,
        writes: &W,
        outcomes: &mut [Option<Result<W::Outcome>>],
        to_retry: &mut Vec<usize>,
        failed: &mut Option<Error>,
    ) {
        'nodes: for (node, part) in self.writes.iter_mut().enumerate() {
            if part.n_answered == part.n_sent {
                continue;
            }
            let connection = &mut self.connections[node];
            for i in &part.indices[part.n_answered..part.n_sent] {
                let answer = match connection.receive() {
                    Ok(answer) => answer,
                    Err(error) => {
                        self.doubt = Some(Doubt::lost(node));
                        part.give_up();
                        failed.get_or_insert(error);
                        continue 'nodes;
                    }
                };
                let outcome = match answer {
                    Value::ServerError(error) => {
                        self.doubt = self.doubt.or(Doubt::by(&error, node));
                        // Another client may have made the server forget the script of a request.
                        let must_retry = matches!(
                            error.kind(),
                            Some(ServerErrorKind::TryAgain | ServerErrorKind::NoScript)
                        );
                        if must_retry || Redirect::of(&error).is_some() {
                            to_retry.push(*i);
                            continue;
                        }
                        Err(errors::refused(connection.node(), &error))
                    }
                    answer => writes.read(*i, connection.node(), answer),
                };
                outcomes[*i] = Some(outcome);
            }
            part.n_answered = part.n_sent;
            connection.end();
        }
    }
}

/// The entries of a batch that are to be stored.
pub(super) struct Sets<'a>(pub(super) &'a [Put<'a>]);

impl Writes for Sets<'_> {
    type Outcome = SetOutcome;

    fn key(&self, i: usize) -> &[u8] {
        self.0[i].key
    }

    fn value(&self, i: usize) -> &[u8] {
        self.0[i].value
    }

    fn add(&self, i: usize, request: &mut Request) {
        let Put { key, value, options } = &self.0[i];
        // A node that does not know a script refuses its hash, and the writes behind it would come first.
        let script = match options.mode {
            SetMode::Append => &scripts::APPEND,
            SetMode::Prepend => &scripts::PREPEND,
            _ => return add_set(request, key, value, options),
        };
        request.begin(5);
        for argument in [&b"EVAL"[..], script.text.as_bytes(), b"1", key] {
            request.argument(argument);
        }
        request.value(value);
    }

    fn read(&self, i: usize, node: &Node, answer: Value) -> Result<SetOutcome> {
        match (self.0[i].options.mode, &answer) {
            (SetMode::Append | SetMode::Prepend, Value::Int(0)) | (_, Value::Nil) => {
                Ok(SetOutcome::NotStored)
            }
            (SetMode::Append | SetMode::Prepend, Value::Int(_)) | (_, Value::Okay) => {
                Ok(SetOutcome::Stored(None))
            }
            (_, other) => Err(errors::unexpected(node, "SET", other)),
        }
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<SetOutcome> {
        let Put { key, value, options } = &self.0[i];
        larder_store::Session::set(session, key, value, options)
    }
}

/// Adds the `SET` of an entry in a mode that needs no script.
pub(super) fn add_set(request: &mut Request, key: &[u8], value: &[u8], options: &SetOptions) {
    let tail = SetTail::of(options);
    request.begin(3 + tail.words().count());
    request.argument(b"SET");
    request.argument(key);
    request.value(value);
    tail.words().for_each(|word| request.argument(word));
}

/// The keys of a batch that are to be removed.
pub(super) struct Deletes<'a>(pub(super) &'a [&'a [u8]]);

impl Writes for Deletes<'_> {
    type Outcome = bool;

    fn key(&self, i: usize) -> &[u8] {
        self.0[i]
    }

    fn value(&self, _: usize) -> &[u8] {
        b""
    }

    fn add(&self, i: usize, request: &mut Request) {
        request.add(&[b"DEL", self.0[i]]);
    }

    fn read(&self, _: usize, node: &Node, answer: Value) -> Result<bool> {
        errors::found(node, "DEL", &answer)
    }

    fn alone(&self, i: usize, session: &mut RedisSession) -> Result<bool> {
        larder_store::Session::delete(session, self.0[i])
    }
}
