//! One direction of a connection: its bytes in order, from segments that come twice, late, or never.

/// A segment that waits for others.
#[derive(Debug)]
struct EarlyBytes {
    number: u32,
    bytes: Vec<u8>,
    at_ns: u64,
    /// The bytes of the other direction that its sender had got.
    expects: u32,
}

/// One direction.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number of the next byte, once it is known.
    pub(super) next: Option<u32>,
    held: Vec<EarlyBytes>,
    pub(super) held_bytes: usize,
    /// The number behind the last byte, once that is known.
    pub(super) last: Option<u32>,
    /// Bytes that came again.
    pub(super) n_repeated: u64,
}

/// Bytes whose turn it is.
#[derive(Debug)]
pub(super) struct Turn {
    pub(super) bytes: Vec<u8>,
    pub(super) at_ns: u64,
}

/// How far a number is behind another one. Numbers go around.
pub(super) fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from).cast_signed()
}

impl Stream {
    /// The part of a segment that is next in order, without a wait for others.
    pub(super) fn direct<'a>(&mut self, number: u32, bytes: &'a [u8]) -> Option<&'a [u8]> {
        let next = self.next?;
        let known = usize::try_from(distance(number, next)).ok()?;
        if !self.held.is_empty() {
            return None;
        }
        self.n_repeated += known.min(bytes.len()) as u64;
        let new = bytes.get(known..).unwrap_or_default();
        self.next = Some(next.wrapping_add(u32::try_from(new.len()).unwrap_or(0)));
        Some(new)
    }

    /// Holds a segment.
    pub(super) fn hold(&mut self, number: u32, bytes: &[u8], at_ns: u64, expects: u32) {
        self.held_bytes += bytes.len() + size_of::<EarlyBytes>();
        let place = self.held.partition_point(|held| distance(held.number, number) >= 0);
        self.held.insert(place, EarlyBytes { number, bytes: bytes.into(), at_ns, expects });
    }

    /// The bytes whose turn it is, if the other direction has come so far as their sender knew.
    pub(super) fn turn(&mut self, other: Option<u32>) -> Option<Turn> {
        let next = self.next?;
        while let Some(first) = self.held.first() {
            let known = usize::try_from(distance(first.number, next)).ok()?;
            if known >= first.bytes.len() {
                let repeated = self.held.remove(0);
                self.n_repeated += repeated.bytes.len() as u64;
                self.held_bytes -= repeated.bytes.len() + size_of::<EarlyBytes>();
                continue;
            }
            if other.is_some_and(|other| distance(first.expects, other) < 0) {
                return None;
            }
            let mut first = self.held.remove(0);
            self.held_bytes -= first.bytes.len() + size_of::<EarlyBytes>();
            self.n_repeated += known as u64;
            let bytes = first.bytes.split_off(known);
            self.next = Some(next.wrapping_add(u32::try_from(bytes.len()).unwrap_or(0)));
            return Some(Turn { bytes, at_ns: first.at_ns });
        }
        None
    }

    /// Whether segments wait.
    pub(super) fn waits(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether all bytes came, up to the last one.
    pub(super) fn is_over(&self) -> bool {
        self.last.is_some() && self.last == self.next
    }

    /// Forgets the waiting segments, and the place.
    pub(super) fn forget(&mut self) {
        (self.held, self.held_bytes, self.next) = (Vec::new(), 0, None);
    }
}
