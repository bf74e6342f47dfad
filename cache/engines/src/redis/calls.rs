//! Requests whose caller waits for the answer, and follows the redirections of a cluster.

use std::sync::Arc;

use larder_protocol::resp::{ServerError, Value};
use larder_store::{Answer, Error, Meta, Result};

use super::address::Node;
use super::client::RedisClient;
use super::errors;
use super::layout::UNKNOWN_HOST;
use super::outstanding::{NodePeer, SentRequest};
use super::request::add;
use super::routing::{Doubt, Redirect, doubt_in};
use crate::pipelined::Link;

/// The most times that a cluster may redirect a request to another node.
const REDIRECTS: usize = 5;

/// The answer to the read of a value.
#[derive(Debug)]
pub(super) enum Found {
    /// The value is where the caller wanted it.
    Hit(Meta),
    Miss,
    Refused(ServerError),
}

impl RedisClient {
    /// Begins a call: nothing is left of an earlier one, and the layout is as good as is known.
    #[inline]
    pub(super) fn begin_call(&mut self) -> Result<()> {
        self.links.begin_call();
        self.follow_cluster()
    }

    /// Ends a call, after which a connection may have to be closed.
    #[inline]
    pub(super) fn end_call(&mut self) {
        if !self.shared.terms().keep {
            (0..self.links.len()).for_each(|link| self.links.close(link));
        }
    }

    /// Sends a command to the node that has `key`, and waits for the answer. A refusal is an answer, unless it names another
    /// node.
    pub(super) fn call(
        &mut self,
        key: &[u8],
        command: &'static str,
        encode: impl Fn(&mut Link<NodePeer>),
    ) -> Result<Value> {
        self.begin_call()?;
        let node = self.layout.owner_of(self.layout.slot_of(key));
        let answer = self.exchange(node, command, &encode)?;
        match Redirect::in_answer(&answer) {
            Some(redirect) if self.layout.is_cluster() => {
                self.redirected(redirect, command, &encode)
            }
            _ => Ok(answer),
        }
    }

    /// As [`Self::call`], for a command that reads a value. The value goes behind the bytes of `out`.
    #[inline]
    pub(super) fn call_for_value(
        &mut self,
        key: &[u8],
        command: &'static str,
        encode: impl Fn(&mut Link<NodePeer>),
        out: &mut Vec<u8>,
    ) -> Result<Found> {
        self.begin_call()?;
        self.asked = self.layout.owner_of(self.layout.slot_of(key));
        let link = self.link_of[self.asked];
        self.links.ask(link, 0, SentRequest::Get(command), &encode)?;
        self.requests.sent.add_one();
        let answer = self.links.wait_for_value(link, out);
        self.end_call();
        match answer {
            Answer::Hit { meta, .. } => Ok(Found::Hit(meta)),
            Answer::Miss => Ok(Found::Miss),
            Answer::Failed(error) => Err(error),
            _ => self.refused_value(link, command, &encode, out),
        }
    }

    #[cold]
    fn refused_value(
        &mut self,
        link: usize,
        command: &'static str,
        encode: &dyn Fn(&mut Link<NodePeer>),
        out: &mut Vec<u8>,
    ) -> Result<Found> {
        let mut answer = self.take_reply(link)?;
        if let Some(redirect) = Redirect::in_answer(&answer)
            && self.layout.is_cluster()
        {
            answer = self.redirected(redirect, command, encode)?;
        }
        match answer {
            Value::Bulk(value) => {
                out.extend_from_slice(&value);
                Ok(Found::Hit(Meta::default()))
            }
            Value::Nil => Ok(Found::Miss),
            Value::Error(error) => Ok(Found::Refused(error)),
            other => Err(self.unexpected(command, &other)),
        }
    }

    /// Follows the redirections of a cluster.
    #[cold]
    fn redirected(
        &mut self,
        mut redirect: Redirect,
        command: &'static str,
        encode: &dyn Fn(&mut Link<NodePeer>),
    ) -> Result<Value> {
        for _ in 0..REDIRECTS {
            let reporter = Arc::clone(&self.layout.nodes()[self.asked]);
            if !redirect.is_once {
                self.renew_for(Doubt::moved(self.asked))?;
            }
            let node = self.place_of(&redirect, &reporter)?;
            let answer = if redirect.is_once {
                self.exchange_once(node, command, encode)
            } else {
                self.exchange(node, command, encode)
            }?;
            match Redirect::in_answer(&answer) {
                Some(next) => redirect = next,
                None => return Ok(answer),
            }
        }
        self.doubts.note(self.link_of[self.asked], false);
        Err(errors::sent_around(self.asked_node(), REDIRECTS, redirect.slot))
    }

    /// The place of the node to which a request is redirected.
    fn place_of(&mut self, redirect: &Redirect, reporter: &Node) -> Result<usize> {
        if redirect.host == UNKNOWN_HOST && !redirect.is_once {
            return Ok(self.layout.owner_of(redirect.slot));
        }
        let (layout, place) = self.shared.place_of(&redirect.host, redirect.port, reporter)?;
        self.follow(layout);
        Ok(place)
    }

    /// Sends a command to a node and waits for the answer.
    pub(super) fn exchange(
        &mut self,
        node: usize,
        command: &'static str,
        encode: &dyn Fn(&mut Link<NodePeer>),
    ) -> Result<Value> {
        self.asked = node;
        let link = self.link_of[node];
        self.links.ask(link, 0, SentRequest::Own { command, id: 0 }, encode)?;
        self.requests.sent.add_one();
        self.wait_for_reply(link)
    }

    /// As [`Self::exchange`], to a node that is about to get the key's slot. Such a node answers only after `ASKING` on
    /// the same connection.
    fn exchange_once(
        &mut self,
        node: usize,
        command: &'static str,
        encode: &dyn Fn(&mut Link<NodePeer>),
    ) -> Result<Value> {
        const ASKING: &str = "ASKING";
        self.asked = node;
        let link = self.link_of[node];
        let asking = SentRequest::Own { command: ASKING, id: 0 };
        self.links.ask(link, 0, asking, |link| add(link.output(), &[ASKING.as_bytes()]))?;
        self.links.ask(link, 1, SentRequest::Own { command, id: 1 }, encode)?;
        self.requests.sent.add_one();
        let answer = self.wait_for_reply(link)?;
        match self.take_reply(link)? {
            refusal @ Value::Error(_) => Ok(refusal),
            _ => Ok(answer),
        }
    }

    /// Waits until all requests are answered. The reply to the last of them on this link.
    fn wait_for_reply(&mut self, link: usize) -> Result<Value> {
        let answer = self.links.wait_for_answer(link);
        self.end_call();
        match answer {
            Answer::Failed(error) => Err(error),
            _ => self.take_reply(link),
        }
    }

    /// Takes the last reply on a link.
    fn take_reply(&mut self, link: usize) -> Result<Value> {
        let reply = self.links.take_reply(link);
        reply.ok_or_else(|| errors::lost_behind(&self.links.peer(link).node))
    }

    /// The node that got the last request.
    pub(super) fn asked_node(&self) -> &Node {
        &self.layout.nodes()[self.asked]
    }

    /// The error of a refusal by the node that got the last request.
    pub(super) fn refused(&mut self, error: &ServerError) -> Error {
        if let Some(is_lost) = doubt_in(error) {
            self.doubts.note(self.link_of[self.asked], is_lost);
        }
        errors::refused(self.asked_node(), error)
    }

    /// The error of an answer of that node that does not fit the command.
    pub(super) fn unexpected(&self, command: &str, answer: &Value) -> Error {
        errors::unexpected(self.asked_node(), command, answer)
    }
}
