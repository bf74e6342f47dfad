//! The form of a block: what a process sends of the operations that it had prepared together. `docs/guests.md` describes it.

/// The kinds of notes: a value by its number, a value by its bytes, and an error.
pub(super) const VALUE: u32 = 1;
pub(super) const BYTES: u32 = 2;
pub(super) const ERROR: u32 = 3;
/// The most operations of a block, of each of several processes.
pub(super) const MOST_OPERATIONS: usize = 262_144;
/// The most bytes of other values that a block has whole, and the bytes of each value after these.
pub(super) const OTHER_BYTES: usize = 16 << 20;
pub(super) const BEGINNING: usize = 64;
/// The bytes of a note before its own bytes, and of the beginning of a segment.
const NOTE_HEAD: usize = 16;
const SEGMENT: usize = 16;

/// A part of a record: operations that were prepared together.
pub(super) struct Block<'b> {
    /// The first operation of each segment, and when it began.
    pub(super) segments: Vec<(usize, u64)>,
    ends: &'b [u8],
    pub(super) outcomes: &'b [u8],
    pub(super) notes: Notes<'b>,
}

/// The notes of a block, in the order of its operations.
pub(super) struct Notes<'b>(&'b [u8]);

/// What a program notes of one operation, beside its outcome.
pub(super) struct Note<'b> {
    pub(super) kind: u32,
    /// The number of a value, or the length of a value of which `bytes` may be the beginning.
    pub(super) number: u32,
    pub(super) bytes: &'b [u8],
}

impl<'b> Block<'b> {
    /// A block in this form; `None` where its length is another.
    pub(super) fn read(part: &'b [u8]) -> Option<Self> {
        let head = part.get(..16)?;
        let [count, segments, notes] = [0, 4, 8].map(|at| number(head, at) as usize);
        let (head, rest) = part[16..].split_at_checked(segments.checked_mul(SEGMENT)?)?;
        let (ends, rest) = rest.split_at_checked(count.checked_mul(8)?)?;
        let (outcomes, rest) = rest.split_at_checked(count)?;
        let segments = head.chunks_exact(SEGMENT);
        let segment = |at: &[u8]| (number(at, 0) as usize, nanoseconds(at, 8));
        let block =
            Self { segments: segments.map(segment).collect(), ends, outcomes, notes: Notes(rest) };
        let mut all = Notes(rest);
        let has_notes = (0..notes).all(|_| all.next().is_some());
        (has_notes && all.0.is_empty()).then_some(block)
    }

    /// When an operation ended.
    pub(super) fn end(&self, n: usize) -> u64 {
        nanoseconds(self.ends, 8 * n)
    }
}

impl<'b> Notes<'b> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The note of this operation, where it is the next one.
    pub(super) fn of(&mut self, n: usize) -> Option<Note<'b>> {
        if number(self.0.get(..NOTE_HEAD)?, 0) as usize != n {
            return None;
        }
        self.next()
    }

    fn next(&mut self) -> Option<Note<'b>> {
        let head = self.0.get(..NOTE_HEAD)?;
        let [kind, value, len] = [4, 8, 12].map(|at| number(head, at));
        let (bytes, rest) = self.0[NOTE_HEAD..].split_at_checked(len as usize)?;
        self.0 = rest;
        Some(Note { kind, number: value, bytes })
    }
}

/// The time at this place of a part, by the monotonic clock.
fn nanoseconds(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// The number at this place of a part.
pub(super) fn number(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}
