//! The requests that a worker answers itself, and those that it leaves to assistants.
//!
//! A worker that answers by itself saves two hand-overs between threads. But while it waits for the store, all of its
//! connections wait. So a worker answers the requests for which the store hardly waits. A request is judged once it is
//! read, and where in doubt it counts as one that writes. What is no request does not touch the store.

use std::time::Duration;

use larder_protocol::binary;
use larder_protocol::meta::Command;
use larder_protocol::text::Request;
use larder_store::{Capabilities, Waits};

/// The longest turn that is no stall, beside [`FOR_EACH`] of its requests.
const LONGEST: Duration = Duration::from_millis(5);

/// The time that a request may add to a turn: a thousand writes of one client are work, and no stall.
const FOR_EACH: Duration = Duration::from_micros(20);

/// The time for which a worker leaves all requests to assistants after a stall, in milliseconds.
const REST_MS: u64 = 1000;

/// Requests, by what they do to the store. Each variant includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    /// No request.
    Nothing,
    /// Requests that read entries, or do not touch the store.
    Reads,
    /// Requests that change an entry.
    Writes,
    /// All requests: also those for the whole store, which may last long.
    All,
}

impl Own {
    /// The requests that a worker answers itself over a store with these capabilities.
    pub(crate) fn of(abilities: &Capabilities) -> Self {
        let (reads, writes) = (abilities.reads_wait, abilities.writes_wait);
        match reads.max(writes) {
            Waits::Never | Waits::Lock => Self::All,
            Waits::Seldom => Self::Writes,
            _ if reads <= Waits::Seldom => Self::Reads,
            _ => Self::Nothing,
        }
    }

    /// The least that a thread must answer to answer a request of the text protocol.
    #[inline]
    pub(crate) fn of_text(request: &Request<'_>) -> Self {
        match request {
            Request::Get(request) if request.exptime.is_none() => Self::Reads,
            Request::Verbosity(_) | Request::Version | Request::Quit | Request::Shutdown(_) => {
                Self::Reads
            }
            Request::FlushAll(_) => Self::All,
            _ => Self::Writes,
        }
    }

    /// The least that a thread must answer to answer a request of the meta protocol.
    #[inline]
    pub(crate) fn of_meta(command: &Command<'_>, has_leases: bool) -> Self {
        match command {
            Command::Noop | Command::Debug(_) => Self::Reads,
            // Even a plain read may take the lease of a stale entry.
            Command::Get(request) if !has_leases => {
                let flags = &request.flags;
                let times = [flags.exptime, flags.vivify, flags.recache_s];
                let is_plain = times.iter().all(Option::is_none) && flags.new_version.is_none();
                if is_plain { Self::Reads } else { Self::Writes }
            }
            _ => Self::Writes,
        }
    }

    /// The least that a thread must answer to answer a request of the binary protocol.
    #[inline]
    pub(crate) fn of_binary(command: &binary::Command<'_>) -> Self {
        match command {
            binary::Command::Get(request) if request.exptime.is_none() => Self::Reads,
            binary::Command::Noop
            | binary::Command::Version
            | binary::Command::Verbosity(_)
            | binary::Command::Quit
            | binary::Command::SaslList
            | binary::Command::Sasl(_) => Self::Reads,
            binary::Command::Flush(_) => Self::All,
            _ => Self::Writes,
        }
    }
}

/// The requests that one thread answers, and those that it answers for now.
#[derive(Debug)]
pub(crate) struct Portion {
    usual: Own,
    now: Own,
    /// Whether the store may wait for a disk at one of these requests.
    may_stall: bool,
    /// The millisecond of the server at which a rest ends.
    rests_until_ms: u64,
}

impl Portion {
    /// The portion of an assistant, which may wait.
    pub(crate) fn of_assistant() -> Self {
        Self { usual: Own::All, now: Own::All, may_stall: false, rests_until_ms: 0 }
    }

    /// The portion of a worker.
    pub(crate) fn of_worker(abilities: &Capabilities) -> Self {
        let usual = Own::of(abilities);
        let slowest = match usual {
            Own::Reads => abilities.reads_wait,
            _ => abilities.reads_wait.max(abilities.writes_wait),
        };
        Self { usual, now: usual, may_stall: slowest == Waits::Seldom, rests_until_ms: 0 }
    }

    /// Whether requests that need so much are left to others.
    #[inline]
    pub(crate) fn leaves(&self, needed: Own) -> bool {
        self.now < needed
    }

    /// Whether the times of turns matter.
    #[inline]
    pub(crate) fn may_stall(&self) -> bool {
        self.may_stall
    }

    /// Whether a turn with so many requests was a stall. A turn without a request has not waited for the store.
    #[inline]
    pub(crate) fn is_stall(&self, time: Duration, n_requests: usize) -> bool {
        let more = || FOR_EACH.saturating_mul(u32::try_from(n_requests).unwrap_or(u32::MAX));
        let has_called = self.may_stall && n_requests > 0 && self.now != Own::Nothing;
        has_called && time.checked_sub(LONGEST).is_some_and(|beyond| beyond > more())
    }

    /// Leaves all requests to others for a while.
    pub(crate) fn rest(&mut self, now_ms: u64) {
        self.now = Own::Nothing;
        self.rests_until_ms = now_ms + REST_MS;
    }

    /// Ends a rest that has lasted long enough.
    #[inline]
    pub(crate) fn end_rest(&mut self, now_ms: u64) {
        if self.now != self.usual && now_ms >= self.rests_until_ms {
            self.now = self.usual;
        }
    }
}

#[cfg(test)]
mod tests {
    use larder_protocol::binary::opcode as op;
    use larder_protocol::{meta, text};

    use super::*;

    fn needed(line: &str) -> Own {
        match meta::parse_request(line.as_bytes()).unwrap() {
            Some(command) => Own::of_meta(&command, false),
            None => Own::of_text(&text::parse_request(line.as_bytes()).unwrap()),
        }
    }

    #[test]
    fn a_request_is_a_read_only_where_it_changes_no_entry() {
        for request in [
            "get a",
            "gets a b",
            "mg a v t f",
            "mg a h l",
            "me a",
            "mn",
            "version",
            "quit",
            "verbosity 1",
        ] {
            assert_eq!(needed(request), Own::Reads, "{request}");
        }
        for request in [
            "set a 0 0 1",
            "gat 0 a",
            "gats 0 a",
            "mg a v N30",
            "mg a R30",
            "mg a v T0",
            "mg a E1",
            "ms a 1",
            "md a",
            "ma a",
            "delete a",
            "incr a 1",
            "touch a 1",
            " set a 0 0 1",
            "stats",
            "cas a 0 0 1 1",
        ] {
            assert_eq!(needed(request), Own::Writes, "{request}");
        }
        assert_eq!(needed("flush_all"), Own::All);
        let command = meta::parse_request(b"mg a v").unwrap().unwrap();
        assert_eq!(Own::of_meta(&command, true), Own::Writes);
    }

    #[test]
    fn a_binary_request_is_judged_alike() {
        let needed = |opcode: u8, n_extras: u8, key: &[u8]| {
            let mut request = [0; binary::HEADER_LEN].to_vec();
            (request[0], request[1], request[4]) = (binary::REQUEST_MAGIC, opcode, n_extras);
            let key_len = u8::try_from(key.len()).unwrap();
            (request[3], request[11]) = (key_len, n_extras + key_len);
            request.resize(request.len() + usize::from(n_extras), 0);
            request.extend_from_slice(key);
            match binary::parse_request(&request) {
                Ok(binary::Arrived::Whole(request, _)) => Own::of_binary(&request.command),
                other => panic!("{opcode}: {other:?}"),
            }
        };
        for opcode in [op::GET, op::GETQ, op::GETK, op::GETKQ] {
            assert_eq!(needed(opcode, 0, b"a"), Own::Reads);
        }
        for opcode in [op::NOOP, op::VERSION, op::QUIT, op::QUITQ, op::SASL_LIST_MECHS] {
            assert_eq!(needed(opcode, 0, b""), Own::Reads);
        }
        for opcode in [op::GAT, op::GATKQ, op::TOUCH] {
            assert_eq!(needed(opcode, 4, b"a"), Own::Writes);
        }
        for (opcode, n_extras) in [(op::SETQ, 8), (op::INCREMENT, 20), (op::DELETE, 0)] {
            assert_eq!(needed(opcode, n_extras, b"a"), Own::Writes);
        }
        assert_eq!(needed(op::STAT, 0, b""), Own::Writes);
        assert_eq!([op::FLUSH, op::FLUSHQ].map(|opcode| needed(opcode, 0, b"")), [Own::All; 2]);
    }

    #[test]
    fn a_worker_answers_what_hardly_waits() {
        let of = |reads_wait, writes_wait| Capabilities {
            reads_wait,
            writes_wait,
            ..Capabilities::default()
        };
        for (reads_wait, writes_wait, own, may_stall) in [
            (Waits::Never, Waits::Lock, Own::All, false),
            (Waits::Lock, Waits::Seldom, Own::Writes, true),
            (Waits::Seldom, Waits::Seldom, Own::Writes, true),
            (Waits::Seldom, Waits::Disk, Own::Reads, true),
            (Waits::Lock, Waits::Network, Own::Reads, false),
            (Waits::Disk, Waits::Lock, Own::Nothing, false),
        ] {
            let portion = Portion::of_worker(&of(reads_wait, writes_wait));
            assert_eq!((portion.usual, portion.may_stall), (own, may_stall));
        }
    }

    #[test]
    fn a_rest_follows_a_stall_and_ends() {
        let seldom = Waits::Seldom;
        let mut portion = Portion::of_worker(&Capabilities {
            reads_wait: seldom,
            writes_wait: seldom,
            ..Capabilities::default()
        });
        assert!(!portion.is_stall(Duration::from_millis(5), 1));
        assert!(portion.is_stall(Duration::from_millis(6), 1));
        assert!(!portion.is_stall(Duration::from_millis(20), 1000));
        assert!(!portion.is_stall(Duration::from_millis(6), 0));
        portion.rest(10);
        portion.end_rest(1009);
        assert!(portion.leaves(Own::Reads));
        portion.end_rest(1010);
        assert!(!portion.leaves(Own::Writes) && portion.leaves(Own::All));
    }
}
