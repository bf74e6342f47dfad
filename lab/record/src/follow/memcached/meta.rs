//! The meta protocol: the requests of an application.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::request::Request;
use larder_protocol::meta::{Command, arithmetic, set};
use larder_workload::trace::{Outcome, Verb};

use super::super::StopReason;
use super::exchange::Exchange;
use super::request::{Expected, Kind, RowFields, Silence, Tag, joins, verb_of};
use super::ttl::ttl_s;
use crate::batch::NONE;
use crate::recorder::Recorder;

impl Exchange {
    /// Takes a request of the meta protocol.
    pub(super) fn meta(
        &mut self,
        command: &Command<'_>,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        match command {
            Command::Get(request) => {
                let fields = match request.flags.exptime {
                    None => RowFields::of(Verb::Get),
                    Some(end) => RowFields { ttl_s: ttl_s(end, at), ..RowFields::of(Verb::Gat) },
                };
                self.meta_key(request, Kind::MetaGet, Some(Outcome::Miss), fields, at, recorder)
            }
            Command::Set(set) => {
                match &set.request {
                    Err(_) => self.other(Kind::Fault, false, at, recorder)?,
                    Ok(request) => self.meta_set(request, at, recorder)?,
                }
                self.expect_value(set.len);
                Ok(())
            }
            Command::Delete(request) => {
                // Silence hides a key that was absent, too.
                self.meta_key(
                    request,
                    Kind::MetaDelete,
                    None,
                    RowFields::of(Verb::Delete),
                    at,
                    recorder,
                )
            }
            Command::Arithmetic(request) => {
                let is_down = arithmetic::is_down(&request.flags).unwrap_or_default();
                let fields = RowFields {
                    verb: if is_down { Verb::Decr } else { Verb::Incr },
                    amount: request.flags.delta.unwrap_or(1),
                    ttl_s: request.flags.vivify.map_or(NONE, |end| ttl_s(end, at)),
                };
                self.meta_key(request, Kind::MetaCount, None, fields, at, recorder)
            }
            Command::Debug(_) => self.other(Kind::MetaDebug, false, at, recorder),
            Command::Noop => self.other(Kind::MetaNoop, false, at, recorder),
        }
    }

    fn meta_set(
        &mut self,
        request: &Request<'_>,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let Ok(mode) = set::mode(&request.flags) else {
            return self.other(Kind::Fault, false, at, recorder);
        };
        let fields = match request.flags.vivify {
            Some(end) if joins(mode) => {
                RowFields { ttl_s: ttl_s(end, at), ..RowFields::of(verb_of(mode)) }
            }
            _ => RowFields::storing(mode, request.flags.exptime.unwrap_or_default(), at),
        };
        self.meta_key(request, Kind::MetaStore, Some(Outcome::Stored), fields, at, recorder)
    }

    /// Notes a request for one key. `silence` is the meaning of its answer where that is left out.
    fn meta_key(
        &mut self,
        request: &Request<'_>,
        kind: Kind,
        silence: Option<Outcome>,
        fields: RowFields,
        at: u64,
        recorder: &mut Recorder,
    ) -> Result<(), StopReason> {
        let mut room = [0; MAX_KEY_LEN];
        let Ok(key) = request.key(&mut room) else {
            return self.other(Kind::Fault, false, at, recorder);
        };
        let tag = match request.opaque() {
            Some(word) => Tag::Opaque(recorder.keys.hash(word)),
            None if request.asks_for(b'k') => Tag::Key(recorder.keys.hash(request.word())),
            None => Tag::None,
        };
        let silence = if request.flags.is_quiet { Silence::Means(silence) } else { Silence::Never };
        self.ask(Expected { kind, silence, tag }, fields, at, recorder)?;
        self.queue.push_key(key, recorder)
    }
}
