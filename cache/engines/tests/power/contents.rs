//! The contents of a file on a disk: bytes that are safe, and changes that a loss of power may undo.

use std::collections::{BTreeMap, BTreeSet};

use larder_testkit::Random;

/// The largest piece that is on the disk as a whole or not at all: a page of the page cache.
const PAGE: usize = 4096;

/// The contents of a file.
#[derive(Default)]
pub(crate) struct Contents<'j> {
    safe: Vec<u8>,
    pending: Vec<Pending<'j>>,
    /// The number of changes of names before its own.
    pub(crate) created: usize,
}

/// A change of a file that may be lost. A piece lies within a page.
#[derive(Clone, Copy)]
struct Pending<'j> {
    at: usize,
    change: Change<'j>,
}

#[derive(Clone, Copy)]
enum Change<'j> {
    Write { offset: usize, bytes: &'j [u8] },
    Truncate { len: usize },
}

impl<'j> Contents<'j> {
    /// A new file, after this number of changes of names.
    pub(crate) fn new(created: usize) -> Self {
        Self { created, ..Self::default() }
    }

    /// Notes a write at this place of the journal.
    pub(crate) fn write(&mut self, at: usize, offset: usize, bytes: &'j [u8]) {
        let pieces = pieces(offset, bytes, PAGE);
        let pieces =
            pieces.map(|(offset, bytes)| Pending { at, change: Change::Write { offset, bytes } });
        self.pending.extend(pieces);
    }

    /// Notes a new length.
    pub(crate) fn truncate(&mut self, at: usize, len: usize) {
        self.pending.push(Pending { at, change: Change::Truncate { len } });
    }

    /// Makes the changes before a place of the journal safe.
    pub(crate) fn settle_before(&mut self, place: usize) {
        self.settle(|pending| pending.at < place);
    }

    /// The bytes while the power is there.
    pub(crate) fn whole(&self) -> Vec<u8> {
        let mut bytes = self.safe.clone();
        self.pending.iter().for_each(|pending| pending.change.apply(&mut bytes));
        bytes
    }

    /// Makes some of the pending changes safe, in their order.
    fn settle(&mut self, is_safe: impl Fn(&Pending<'_>) -> bool) {
        let Self { safe, pending, .. } = self;
        pending.retain(|pending| {
            let settles = is_safe(pending);
            if settles {
                pending.change.apply(safe);
            }
            !settles
        });
    }

    /// Makes a write with `O_DSYNC` safe, with its pages' earlier pieces. A change of the length is in the file system's
    /// own journal, so an earlier one is safe too, and with it what came before.
    pub(crate) fn settle_write(&mut self, at: usize) {
        let pages: BTreeSet<usize> = self
            .pending
            .iter()
            .filter(|pending| pending.at == at)
            .filter_map(|pending| pending.change.page())
            .collect();
        let cut = self.pending.iter().filter(|pending| pending.change.page().is_none());
        let cut = cut.map(|pending| pending.at).take_while(|cut| *cut < at).last();
        self.settle(|pending| {
            let is_on_page = pending.change.page().is_some_and(|page| pages.contains(&page));
            cut.is_some_and(|cut| pending.at <= cut) || (pending.at <= at && is_on_page)
        });
    }

    /// The bytes that a loss of power may leave.
    pub(crate) fn survive(&self, random: &mut Random, piece_len: usize) -> Vec<u8> {
        let odds = Odds::draw(random);
        let lengths = self.pending.iter().filter(|pending| pending.change.page().is_none());
        let n_lengths = n_kept(lengths.clone().count(), odds, random);
        let lost = lengths.clone().nth(n_lengths).copied();
        let mut kept = Vec::new();
        let mut n_changes: BTreeMap<usize, usize> = BTreeMap::new();
        for pending in &self.pending {
            match pending.change {
                Change::Truncate { .. } => {
                    if lost.is_none_or(|lost| pending.at < lost.at) {
                        kept.push(pending.change);
                    }
                }
                Change::Write { offset, bytes } => {
                    for (offset, bytes) in pieces(offset, bytes, piece_len) {
                        let is_behind = lost.is_some_and(|lost| lost.is_before(pending.at, offset));
                        if !is_behind {
                            *n_changes.entry(offset / piece_len).or_default() += 1;
                            kept.push(Change::Write { offset, bytes });
                        }
                    }
                }
            }
        }
        let mut left = n_changes;
        for n in left.values_mut() {
            *n = n_kept(*n, odds, random);
        }
        let mut found = self.safe.clone();
        for change in kept {
            if let Change::Write { offset, .. } = change {
                let left = left.get_mut(&(offset / piece_len)).unwrap();
                if *left == 0 {
                    continue;
                }
                *left -= 1;
            }
            change.apply(&mut found);
        }
        if lost.is_none() && random.below(4) == 0 {
            found.resize(self.whole().len(), 0);
        }
        found
    }
}

impl Pending<'_> {
    /// Whether this change of the length decides about a later byte at this offset.
    fn is_before(&self, at: usize, offset: usize) -> bool {
        matches!(self.change, Change::Truncate { len } if self.at < at && offset >= len)
    }
}

impl Change<'_> {
    fn apply(&self, contents: &mut Vec<u8>) {
        match *self {
            Self::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[offset..end].copy_from_slice(bytes);
            }
            Self::Truncate { len } => contents.resize(len, 0),
        }
    }

    /// The page of a piece.
    fn page(&self) -> Option<usize> {
        match *self {
            Self::Write { offset, .. } => Some(offset / PAGE),
            Self::Truncate { .. } => None,
        }
    }
}

/// How much of the pending changes a loss of power leaves.
#[derive(Clone, Copy)]
pub(crate) enum Odds {
    Nothing,
    Everything,
    /// All changes of a piece are there in this many of eight cases, otherwise some are lost.
    Eighths(usize),
}

impl Odds {
    pub(crate) fn draw(random: &mut Random) -> Self {
        [Self::Nothing, Self::Everything, Self::Eighths(1), Self::Eighths(4), Self::Eighths(7)]
            [random.below(5)]
    }
}

/// The number of kept changes of `n` that follow each other.
pub(crate) fn n_kept(n: usize, odds: Odds, random: &mut Random) -> usize {
    match odds {
        Odds::Nothing => 0,
        _ if n == 0 => 0,
        Odds::Everything => n,
        Odds::Eighths(eighths) if random.below(8) < eighths => n,
        Odds::Eighths(_) => random.below(n),
    }
}

/// The parts of a write that lie in one piece each.
fn pieces(offset: usize, bytes: &[u8], piece_len: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let first = (piece_len - offset % piece_len).min(bytes.len());
    let (head, rest) = bytes.split_at(first);
    let rest = rest.chunks(piece_len).enumerate();
    let rest = rest.map(move |(i, bytes)| (offset + first + i * piece_len, bytes));
    std::iter::once((offset, head)).chain(rest)
}
