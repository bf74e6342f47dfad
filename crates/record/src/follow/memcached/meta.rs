//! The meta protocol: the requests of an application.

use larder_protocol::key::MAX_KEY_LEN;
use larder_protocol::meta::request::Request;
use larder_protocol::meta::{Command, arithmetic, set};
use larder_workload::trace::{Outcome, Verb};

use super::super::Lost;
use super::text::{Kind, Noted, Silence, Tag, Talk, What, joins, verb_of};
use super::ttl_s;
use crate::batch::NONE;
use crate::desk::Desk;

impl Talk {
    /// Takes a request of the meta protocol.
    pub(super) fn meta(
        &mut self,
        command: &Command<'_>,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        match command {
            Command::Get(request) => {
                let noted = match request.flags.exptime {
                    None => Noted::of(Verb::Get),
                    Some(end) => Noted { ttl_s: ttl_s(end, at), ..Noted::of(Verb::Gat) },
                };
                self.meta_key(request, Kind::MetaGet, Some(Outcome::Miss), noted, at, desk)
            }
            Command::Set(set) => {
                match &set.request {
                    Err(_) => self.other(Kind::Fault, false, at, desk)?,
                    Ok(request) => self.meta_set(request, at, desk)?,
                }
                self.expect_value(set.len);
                Ok(())
            }
            Command::Delete(request) => {
                // Silence hides a key that was absent, too.
                self.meta_key(request, Kind::MetaDelete, None, Noted::of(Verb::Delete), at, desk)
            }
            Command::Arithmetic(request) => {
                let is_down = arithmetic::is_down(&request.flags).unwrap_or_default();
                let noted = Noted {
                    verb: if is_down { Verb::Decr } else { Verb::Incr },
                    amount: request.flags.delta.unwrap_or(1),
                    ttl_s: request.flags.vivify.map_or(NONE, |end| ttl_s(end, at)),
                };
                self.meta_key(request, Kind::MetaCount, None, noted, at, desk)
            }
            Command::Debug(_) => self.other(Kind::MetaDebug, false, at, desk),
            Command::Noop => self.other(Kind::MetaNoop, false, at, desk),
        }
    }

    fn meta_set(&mut self, request: &Request<'_>, at: u64, desk: &mut Desk) -> Result<(), Lost> {
        let Ok(mode) = set::mode(&request.flags) else {
            return self.other(Kind::Fault, false, at, desk);
        };
        let noted = match request.flags.vivify {
            Some(end) if joins(mode) => Noted { ttl_s: ttl_s(end, at), ..Noted::of(verb_of(mode)) },
            _ => Noted::storing(mode, request.flags.exptime.unwrap_or_default(), at),
        };
        self.meta_key(request, Kind::MetaStore, Some(Outcome::Stored), noted, at, desk)
    }

    /// Notes a request for one key. `silence` is the meaning of its answer where that is left out.
    fn meta_key(
        &mut self,
        request: &Request<'_>,
        kind: Kind,
        silence: Option<Outcome>,
        noted: Noted,
        at: u64,
        desk: &mut Desk,
    ) -> Result<(), Lost> {
        let mut room = [0; MAX_KEY_LEN];
        let Ok(key) = request.key(&mut room) else {
            return self.other(Kind::Fault, false, at, desk);
        };
        let tag = match request.opaque() {
            Some(word) => Tag::Opaque(desk.keys.hash(word)),
            None if request.asks_for(b'k') => Tag::Key(desk.keys.hash(request.word())),
            None => Tag::None,
        };
        let silence = if request.flags.is_quiet { Silence::Means(silence) } else { Silence::Never };
        self.ask(What { kind, silence, tag }, noted, at, desk)?;
        self.queue.push_key(key, desk)
    }
}
