//! A request of the text or meta protocol, as far as its answer and its rows need it.

use larder_protocol::storage::StorageMode;
use larder_workload::trace::{Outcome, Verb};

use super::ttl::ttl_s;
use crate::batch::NONE;
use crate::recorder::{Recorder, RequestFacts};

/// Longest run of quiet requests to keep; older ones count as answered by silence.
pub(super) const MAX_QUIET: usize = 1 << 16;

/// The answer that a request expects.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected {
    pub(super) kind: Kind,
    pub(super) silence: Silence,
    pub(super) tag: Tag,
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Get,
    Store,
    Delete,
    Touch,
    Count,
    MetaGet,
    MetaStore,
    MetaDelete,
    MetaCount,
    MetaNoop,
    MetaDebug,
    /// One line of any words.
    Line,
    /// Lines up to one that ends them.
    Lines,
    /// A line with an error.
    Fault,
}

/// The meaning of an answer that does not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Silence {
    /// There is an answer in any case.
    Never,
    /// The client wants no answer: the result is not known.
    Wanted,
    /// The most likely answer, which is left out.
    Means(Option<Outcome>),
}

/// The mark by which an answer names its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tag {
    None,
    /// The hash of an opaque word.
    Opaque(u64),
    /// The hash of the key as the request has it.
    Key(u64),
}

impl Expected {
    pub(super) fn of(kind: Kind, is_quiet: bool) -> Self {
        let silence = if is_quiet { Silence::Wanted } else { Silence::Never };
        Self { kind, silence, tag: Tag::None }
    }
}

/// The fields of a request's rows, but for its keys.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowFields {
    pub(super) verb: Verb,
    pub(super) ttl_s: u32,
    pub(super) amount: u64,
}

impl RowFields {
    pub(super) fn of(verb: Verb) -> Self {
        Self { verb, ttl_s: NONE, amount: 0 }
    }

    /// A value that is stored at this time. What joins another one leaves the TTL of the entry.
    pub(super) fn storing(mode: StorageMode, end: i64, at: u64) -> Self {
        let ttl_s = if joins(mode) { NONE } else { ttl_s(end, at) };
        Self { ttl_s, ..Self::of(verb_of(mode)) }
    }

    /// The facts of a request of this connection, which came at this time.
    pub(super) fn facts(
        &self,
        connection: u32,
        came_ns: u64,
        recorder: &mut Recorder,
    ) -> RequestFacts {
        let Self { ttl_s, amount, .. } = *self;
        RequestFacts { number: recorder.number(), connection, came_ns, ttl_s, amount }
    }
}

pub(super) fn joins(mode: StorageMode) -> bool {
    matches!(mode, StorageMode::Append | StorageMode::Prepend)
}

pub(super) fn verb_of(mode: StorageMode) -> Verb {
    match mode {
        StorageMode::Set => Verb::Set,
        StorageMode::Add => Verb::Add,
        StorageMode::Replace => Verb::Replace,
        StorageMode::Append => Verb::Append,
        StorageMode::Prepend => Verb::Prepend,
        StorageMode::Cas(_) => Verb::Cas,
    }
}
