//! Whether a store kept its promise: the states that it found, against the journal up to the cut.
//!
//! Each state of a key may be seen from the beginning of its change to the acknowledgement of the next. A store that
//! lost nothing has found, of each key, a state that may be seen at the cut. A store that lost the last changes has found
//! the states of one earlier moment.

use std::collections::HashMap;
use std::fmt;

use crate::image::base;
use crate::journal::{Action, Event};
use crate::values::{KEYS, State};

/// What a store promises for a loss of power.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Promise {
    /// No acknowledged change is lost.
    Everything,
    /// The changes since the last checkpoint may be lost, all from one moment on. A checkpoint has ended when the file
    /// with this name is synced, or has got the name and the folder is synced.
    UpToCheckpoint(&'static str),
}

/// The way in which a promise was broken.
#[derive(Debug)]
pub(crate) enum Fault {
    /// Changes that must be there are not.
    Lost(String),
    /// The keys have states of different moments.
    Mixed,
    /// A value that was never written.
    MadeUp(String),
    /// The store does not open, or fails in use.
    Damaged(String),
    /// The store does not come to an end.
    Hangs,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(text) => write!(f, "lost: {text}"),
            Self::Mixed => write!(f, "the keys have states of different moments"),
            Self::MadeUp(text) | Self::Damaged(text) => write!(f, "damaged: {text}"),
            Self::Hangs => write!(f, "damaged: it hangs"),
        }
    }
}

/// The states of a key, in their order.
type History = Vec<Past>;

/// A state of a key.
struct Past {
    state: State,
    /// The places in the journal at which its change began and was acknowledged.
    begun: usize,
    acknowledged: Option<usize>,
}

/// What a journal says of the keys and of the checkpoints.
pub(crate) struct Book {
    keys: Vec<History>,
    /// For each checkpoint the place at which it ended.
    checkpoints: Vec<usize>,
    /// The places at which a close began and had succeeded.
    closes: Vec<(usize, usize)>,
}

impl Book {
    pub(crate) fn new(events: &[Event<'_>], promise: Promise) -> Self {
        let start = || vec![Past { state: State::new(), begun: 0, acknowledged: Some(0) }];
        let mut keys: Vec<History> = (0..KEYS).map(|_| start()).collect();
        let (mut closes, mut closing) = (Vec::new(), 0);
        for (at, event) in events.iter().enumerate() {
            match *event {
                Event::Begin { key, number, action } => {
                    let history = &mut keys[usize::try_from(key).unwrap()];
                    let before = &history.last().unwrap().state;
                    let state = match action {
                        Action::Set => vec![number],
                        Action::Append if before.is_empty() => State::new(),
                        Action::Append => [before, [number].as_slice()].concat(),
                        Action::Delete => State::new(),
                    };
                    history.push(Past { state, begun: at, acknowledged: None });
                }
                Event::Acknowledge { key } => {
                    let history = &mut keys[usize::try_from(key).unwrap()];
                    history.last_mut().unwrap().acknowledged = Some(at);
                }
                Event::Closing => closing = at,
                Event::Closed => closes.push((closing, at)),
                _ => {}
            }
        }
        let checkpoints = match promise {
            Promise::Everything => Vec::new(),
            Promise::UpToCheckpoint(name) => checkpoints(events, name),
        };
        Self { keys, checkpoints, closes }
    }

    /// The number of acknowledged changes before a place.
    pub(crate) fn n_acknowledged(&self, cut: usize) -> usize {
        self.keys.iter().flatten().filter(|past| past.begun > 0 && past.is_due(cut)).count()
    }

    /// Whether no change had begun before a place.
    pub(crate) fn is_unused(&self, cut: usize) -> bool {
        self.keys.iter().flatten().all(|past| past.begun == 0 || past.begun >= cut)
    }

    /// The number of ended checkpoints before a place.
    pub(crate) fn n_checkpoints(&self, cut: usize) -> usize {
        self.checkpoints.partition_point(|ended| *ended < cut)
    }

    /// Judges the states that a store found after a cut; returns the number of lost changes.
    pub(crate) fn judge(
        &self,
        found: &[State],
        cut: usize,
        promise: Promise,
    ) -> Result<usize, Fault> {
        let spans: Vec<_> =
            self.keys.iter().zip(found).map(|(key, state)| spans(key, state, cut)).collect();
        if let Some(key) = spans.iter().position(Vec::is_empty) {
            return Err(Fault::MadeUp(format!("key {key} was never {:?}", found[key])));
        }
        let due = match promise {
            Promise::Everything => cut,
            Promise::UpToCheckpoint(_) => self.due(cut),
        };
        let is_in = |spans: &[(usize, usize)], moment| {
            spans.iter().any(|(from, to)| (*from..=*to).contains(&moment))
        };
        // The latest moment that suits all keys is the end of a span of one of them.
        let ends = spans.iter().flatten().map(|(_, to)| *to);
        let moment = ends.filter(|end| spans.iter().all(|spans| is_in(spans, *end))).max();
        match moment {
            Some(moment) if moment >= due => {
                let lost = self.keys.iter().zip(found);
                Ok(lost.map(|(key, state)| n_lost(key, state, moment, cut)).sum())
            }
            moment => {
                let older = |spans: &Vec<(usize, usize)>| spans.iter().all(|(_, to)| *to < due);
                let n_older = spans.iter().filter(|spans| older(spans)).count();
                if moment.is_none() && n_older == 0 {
                    return Err(Fault::Mixed);
                }
                let which = spans.iter().position(older).unwrap_or_default();
                Err(Fault::Lost(format!(
                    "{n_older} keys are older than they must be, the first is key {which}: {:?}; the state is that of \
                     place {moment:?} of the journal, and must be that of {due} or later, with a cut at {cut}",
                    found[which]
                )))
            }
        }
    }

    /// The place from which on changes may be lost. The last checkpoint may have begun with a look at the store that is
    /// older than its first write; but it began after the end of the one before it.
    fn due(&self, cut: usize) -> usize {
        let before =
            self.n_checkpoints(cut).checked_sub(2).map_or(0, |last| self.checkpoints[last]);
        let closed =
            self.closes.iter().filter(|(_, closed)| *closed < cut).map(|(closing, _)| *closing);
        closed.max().unwrap_or_default().max(before)
    }
}

impl Past {
    /// Whether the change is acknowledged at a place.
    fn is_due(&self, cut: usize) -> bool {
        self.acknowledged.is_some_and(|at| at < cut)
    }
}

/// The spans of the journal, up to the cut, in which a key may be seen in this state. Spans of a repeated state that
/// touch each other are one.
fn spans(history: &History, state: &State, cut: usize) -> Vec<(usize, usize)> {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for (at, past) in history.iter().enumerate() {
        if past.begun >= cut && at > 0 {
            break;
        }
        if past.state != *state {
            continue;
        }
        let next = history.get(at + 1).and_then(|next| next.acknowledged);
        let to = next.map_or(cut, |to| to.min(cut));
        match spans.last_mut() {
            Some((_, end)) if *end >= past.begun => *end = to,
            _ => spans.push((past.begun, to)),
        }
    }
    spans
}

/// The number of changes that are acknowledged and not in the state that was found.
fn n_lost(history: &History, state: &State, moment: usize, cut: usize) -> usize {
    let last = history.iter().rposition(|past| past.state == *state && past.begun <= moment);
    let later = &history[last.map_or(0, |last| last + 1)..];
    later.iter().filter(|past| past.is_due(cut)).count()
}

/// The places at which checkpoints ended.
fn checkpoints(events: &[Event<'_>], name: &str) -> Vec<usize> {
    let mut ended = Vec::new();
    let (mut inodes, mut begun) = (HashMap::new(), HashMap::new());
    let mut renamed = None;
    for (at, event) in events.iter().enumerate() {
        match *event {
            Event::Create { file, name } | Event::Link { file, name } => {
                inodes.insert(name, file);
            }
            Event::Rename { from, to, .. } => {
                if base(to) == name {
                    renamed = Some(at);
                }
                if let Some(file) = inodes.remove(from) {
                    inodes.insert(to, file);
                }
            }
            Event::SyncBegin { id } => {
                begun.insert(id, at);
            }
            Event::SyncEnd { id, is_folder: true, .. } => {
                let is_safe = |renamed: &mut usize| *renamed < begun[&id];
                ended.extend(renamed.take_if(is_safe).map(|_| at));
            }
            Event::SyncEnd { file, .. } => {
                let has_name =
                    |(found, inode): (&&str, &u64)| base(found) == name && *inode == file;
                if inodes.iter().any(has_name) {
                    ended.push(at);
                }
            }
            _ => {}
        }
    }
    ended
}
