//! The requests that a worker answers itself, and those that it leaves to assistants.
//!
//! A worker that answers by itself saves two hand-overs between threads. But while it waits for the store, all of its
//! connections wait. So a worker answers the requests for which the store hardly waits. A request is judged by its verb,
//! and where in doubt it counts as one that writes.

use std::time::Duration;

use larder_protocol::binary::opcode as op;
use larder_protocol::meta::Command;
use larder_protocol::text::Request;
use larder_protocol::{Parsed, meta, request, text};
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

    /// The least that a thread must answer to answer the request that begins with these bytes. A request whose line is not
    /// whole, or wrong, does not touch the store.
    pub(crate) fn needed_for(input: &[u8], is_binary: bool, has_leases: bool) -> Self {
        if is_binary {
            return Self::needed_for_opcode(input);
        }
        // A line of thousands of keys is not searched for its end.
        if input.starts_with(b"get ") {
            return Self::Reads;
        }
        let Ok(Parsed::Complete(line, _)) = request::line(input, 0) else { return Self::Reads };
        if line.starts_with(b"m")
            && let Ok(Some(command)) = meta::parse_request(line)
        {
            return Self::needed_for_meta(&command, has_leases);
        }
        match text::parse_request(line) {
            Ok(Request::Get(request)) if request.exptime.is_none() => Self::Reads,
            Ok(Request::Verbosity(_) | Request::Version | Request::Quit | Request::Shutdown(_)) => {
                Self::Reads
            }
            Ok(Request::FlushAll(_)) => Self::All,
            Ok(_) => Self::Writes,
            Err(_) => Self::Reads,
        }
    }

    fn needed_for_meta(command: &Command<'_>, has_leases: bool) -> Self {
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

    #[expect(clippy::match_same_arms, reason = "a line for each group of names")]
    fn needed_for_opcode(input: &[u8]) -> Self {
        match input.get(1) {
            None => Self::Reads,
            Some(&(op::GET | op::GETQ | op::GETK | op::GETKQ)) => Self::Reads,
            Some(&(op::NOOP | op::VERSION | op::QUIT | op::QUITQ)) => Self::Reads,
            Some(&(op::SASL_LIST_MECHS | op::SASL_AUTH | op::SASL_STEP)) => Self::Reads,
            Some(&(op::FLUSH | op::FLUSHQ)) => Self::All,
            Some(_) => Self::Writes,
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

    /// Whether some requests are left to others.
    #[inline]
    pub(crate) fn leaves_some(&self) -> bool {
        self.now != Own::All
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
    use super::*;

    fn needed(request: &str) -> Own {
        Own::needed_for(request.as_bytes(), false, false)
    }

    #[test]
    fn a_request_is_a_read_only_where_it_changes_no_entry() {
        for request in [
            "get a\r\n",
            "gets a b\n",
            "mg a v t f\r\n",
            "mg a h l\r\n",
            "me a\r\n",
            "mn\r\n",
            "version\r\n",
            "quit\r\n",
            "verbosity 1\r\n",
            "nonsense\r\n",
            "mg\r\n",
            "set a\r\n",
            "\r\n",
            "gat 0 a",
            "set a 0 0 1",
        ] {
            assert_eq!(needed(request), Own::Reads, "{request}");
        }
        for request in [
            "set a 0 0 1\r\n1\r\n",
            "set a 0 0 9\r\n1",
            "gat 0 a\r\n",
            "gats 0 a\r\n",
            "mg a v N30\r\n",
            "mg a R30\r\n",
            "mg a v T0\r\n",
            "mg a E1\r\n",
            "ms a 1\r\n1\r\n",
            "md a\r\n",
            "ma a\r\n",
            "delete a\r\n",
            "incr a 1\r\n",
            "touch a 1\r\n",
            " set a 0 0 1\r\n1\r\n",
            "stats\r\n",
            "cas a 0 0 1 1\r\n1\r\n",
        ] {
            assert_eq!(needed(request), Own::Writes, "{request}");
        }
        assert_eq!(needed("flush_all\r\n"), Own::All);
        assert_eq!(Own::needed_for(b"mg a v\r\n", false, true), Own::Writes);
        let binary = |opcode| Own::needed_for(&[0x80, opcode], true, false);
        assert_eq!([op::GETKQ, op::NOOP].map(binary), [Own::Reads; 2]);
        assert_eq!([op::GAT, op::SETQ, op::DELETE, op::STAT, 0xff].map(binary), [Own::Writes; 5]);
        assert_eq!(binary(op::FLUSHQ), Own::All);
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
