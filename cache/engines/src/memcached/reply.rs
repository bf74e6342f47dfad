//! Answers to requests of calls that wait, which no pipeline asks for.

use std::collections::BTreeMap;

use larder_protocol::meta::ReplyFlags;
use larder_protocol::meta::delete::DeleteReply;
use larder_protocol::text::stats::StatsReply;
use larder_protocol::{Parse, Parsed, meta, text};
use larder_store::{Answer, Result};

use super::answer::{AnswerHeader, Found, Lease, Looked, looked, meta_found};
use super::errors;
use super::outstanding::{NodePeer, SentRequest};
use crate::pipelined::Read;

/// An answer that only calls ask for which wait.
#[derive(Debug)]
pub(super) enum Reply {
    Looked(Option<Looked>),
    /// What became of an entry that was to have a certain version.
    Changed(DeleteReply),
    /// The same of one that was marked, and what a look found after that.
    Marked(DeleteReply, Option<Looked>),
    Touched(Option<ReplyFlags>),
    /// The lease of a key that is absent.
    Lease(Lease),
    Version(String),
    Stats(BTreeMap<String, String>),
}

impl NodePeer {
    /// Reads the answer to a request of a call that waits.
    #[inline(never)]
    pub(super) fn read_for_call<'i>(
        &mut self,
        asked: &mut SentRequest,
        input: &'i [u8],
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match asked {
            SentRequest::GetAndTouch => self.read_closely(input, 0, report),
            SentRequest::GetOrLease { id } => self.read_closely(input, *id, report),
            SentRequest::Look { id } => self.own(looked(input), *id, input, Reply::Looked, report),
            SentRequest::Change { id } => {
                let parsed = meta::delete::parse_if_reply(input);
                self.own(parsed, *id, input, Reply::Changed, report)
            }
            SentRequest::MarkAndLook { .. } | SentRequest::ChangeTwo { .. }
                if self.changed.is_none() =>
            {
                self.first_changed(input)
            }
            SentRequest::MarkAndLook { id } => {
                self.second_of_two(looked(input), *id, input, Reply::Marked, report)
            }
            SentRequest::ChangeTwo { id } => {
                let parsed = meta::delete::parse_if_reply(input);
                let of = |first, _| Reply::Changed(first);
                self.second_of_two(parsed, *id, input, of, report)
            }
            SentRequest::TouchClosely => {
                self.own(meta::get::parse_touch_reply(input), 0, input, Reply::Touched, report)
            }
            SentRequest::Flush => {
                let parsed = text::flush_all::parse_reply(input);
                self.answer(parsed, 0, input, |()| Answer::End, report)
            }
            SentRequest::Noop => {
                let parsed = meta::noop::parse_reply(input);
                self.answer(parsed, 0, input, |()| Answer::End, report)
            }
            SentRequest::Version => {
                let version = |version| Reply::Version(lossy(version));
                self.own(text::version::parse_reply(input), 0, input, version, report)
            }
            SentRequest::Stats => self.read_stats(input, report),
            // The others are read where they are answered as those of a pipeline.
            _ => Read::Broken(errors::unasked(&self.node, input)),
        }
    }

    /// Keeps an answer for the caller.
    fn reply<'i>(&mut self, id: u32, reply: Reply, report: impl FnOnce(Answer<'i>)) {
        self.replies.push((id as usize, reply));
        report(Answer::End);
    }

    /// Keeps what a parsed answer tells for the caller.
    fn own<'i, T>(
        &mut self,
        parsed: Parse<'i, T>,
        id: u32,
        input: &'i [u8],
        of: impl FnOnce(T) -> Reply,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match parsed {
            Ok(Parsed::Complete(Ok(told), len)) => {
                self.reply(id, of(told), report);
                Read::Last(len)
            }
            parsed => self.answer(parsed, 0, input, |_| Answer::End, report),
        }
    }

    /// Reads the first of two answers: what it tells, and its length.
    pub(super) fn first_of_two<T>(
        &self,
        parsed: Parse<'_, T>,
        input: &[u8],
    ) -> std::result::Result<(Result<T>, usize), Read> {
        match parsed {
            Ok(Parsed::Complete(Ok(told), len)) => Ok((Ok(told), len)),
            Ok(Parsed::Complete(Err(refused), len)) => {
                let error = self.refused(0, refused);
                if errors::is_whole_answer(&error) {
                    Ok((Err(error), len))
                } else {
                    Err(Read::Broken(error))
                }
            }
            Ok(Parsed::Incomplete) => Err(Read::Incomplete(0)),
            Err(malformed) => Err(self.malformed(malformed, input)),
        }
    }

    /// Reads what became of the first of two entries.
    fn first_changed(&mut self, input: &[u8]) -> Read {
        match self.first_of_two(meta::delete::parse_if_reply(input), input) {
            Ok((told, len)) => {
                self.changed = Some(told);
                Read::More(len)
            }
            Err(read) => read,
        }
    }

    /// Reads the second of two answers, and keeps for the caller what both tell.
    fn second_of_two<'i, T>(
        &mut self,
        parsed: Parse<'i, T>,
        id: u32,
        input: &'i [u8],
        of: impl FnOnce(DeleteReply, T) -> Reply,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        if matches!(parsed, Ok(Parsed::Incomplete)) {
            return Read::Incomplete(0);
        }
        match self.changed.take() {
            Some(Ok(first)) => self.own(parsed, id, input, |told| of(first, told), report),
            Some(Err(error)) => self.answer(parsed, 0, input, |_| Answer::Failed(error), report),
            None => Read::Incomplete(0),
        }
    }

    /// Reads the answer to `mg` for a caller that tells a lease from a miss.
    fn read_closely<'i>(
        &mut self,
        input: &'i [u8],
        id: u32,
        report: impl FnOnce(Answer<'i>),
    ) -> Read {
        match meta_found(input) {
            Ok(Parsed::Complete(Ok(Found::Value(AnswerHeader { len, meta })), header_len)) => {
                self.one_value(input, header_len, len, meta::get::TAIL, || meta, report)
            }
            Ok(Parsed::Complete(Ok(Found::Lease(lease)), len)) => {
                self.reply(id, Reply::Lease(lease), report);
                Read::Last(len)
            }
            parsed => self.answer(parsed, 0, input, |_| Answer::Miss, report),
        }
    }

    /// Reads statistics up to their end.
    fn read_stats<'i>(&mut self, input: &'i [u8], report: impl FnOnce(Answer<'i>)) -> Read {
        match text::stats::parse_reply(input) {
            Ok(Parsed::Complete(Ok(StatsReply::Stat { name, value }), len)) => {
                self.stats.insert(lossy(name), lossy(value));
                Read::More(len)
            }
            Ok(Parsed::Incomplete) => Read::Incomplete(0),
            parsed => {
                let stats = std::mem::take(&mut self.stats);
                self.own(parsed, 0, input, |_| Reply::Stats(stats), report)
            }
        }
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
