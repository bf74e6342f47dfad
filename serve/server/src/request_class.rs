//! Classes of requests: an event loop answers those for which the store hardly waits, and leaves the others to storage threads.
//!
//! An event loop that answers by itself saves two hand-overs between threads. But while it waits for the store, all of its
//! connections wait. A request is classified once its line is read, and counts as a write where in doubt. A line that is no
//! request does not touch the store.

use std::time::Duration;

use larder_protocol::binary;
use larder_protocol::meta::Command;
use larder_protocol::text::Request;
use larder_store::{Capabilities, Waits};

/// A turn is a stall if it takes longer than this, and [`STALL_TIME_PER_REQUEST`] for each of its requests.
const STALL_TIME: Duration = Duration::from_millis(5);

/// The time that a request may add to a turn: a thousand writes of one client are work, and no stall.
const STALL_TIME_PER_REQUEST: Duration = Duration::from_micros(20);

/// The back-off after a stall: so long the event loop leaves all requests to storage threads, in milliseconds.
const BACK_OFF_MS: u64 = 1000;

/// Requests by their effect on the store. Each class includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RequestClass {
    /// No request.
    Nothing,
    /// Requests that read entries, or do not touch the store.
    Reads,
    /// Requests that change an entry.
    Writes,
    /// All requests: also those for the whole store, which may last long.
    All,
}

impl RequestClass {
    /// The largest class that an event loop answers itself over a store with these capabilities.
    pub(crate) fn of(abilities: &Capabilities) -> Self {
        let (reads, writes) = (abilities.reads_wait, abilities.writes_wait);
        match reads.max(writes) {
            Waits::Never | Waits::Lock => Self::All,
            Waits::Seldom => Self::Writes,
            _ if reads <= Waits::Seldom => Self::Reads,
            _ => Self::Nothing,
        }
    }

    /// The class of a request of the text protocol.
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

    /// The class of a request of the meta protocol.
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

    /// The class of a request of the binary protocol.
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

/// The largest class of requests that one thread serves: normally, and at the moment.
#[derive(Debug)]
pub(crate) struct ServedClasses {
    normal: RequestClass,
    current: RequestClass,
    /// Whether the store may wait for a disk in one of these requests.
    may_stall: bool,
    /// The end of the back-off, in milliseconds since the server began.
    backs_off_until_ms: u64,
}

impl ServedClasses {
    /// All classes: a storage thread may wait.
    pub(crate) fn of_storage_thread() -> Self {
        Self {
            normal: RequestClass::All,
            current: RequestClass::All,
            may_stall: false,
            backs_off_until_ms: 0,
        }
    }

    /// The classes for which the store hardly waits.
    pub(crate) fn of_event_loop(abilities: &Capabilities) -> Self {
        let normal = RequestClass::of(abilities);
        let slowest = match normal {
            RequestClass::Reads => abilities.reads_wait,
            _ => abilities.reads_wait.max(abilities.writes_wait),
        };
        Self { normal, current: normal, may_stall: slowest == Waits::Seldom, backs_off_until_ms: 0 }
    }

    /// Whether requests of this class are left to other threads.
    #[inline]
    pub(crate) fn excludes(&self, needed: RequestClass) -> bool {
        self.current < needed
    }

    /// Whether a turn may be a stall.
    #[inline]
    pub(crate) fn may_stall(&self) -> bool {
        self.may_stall
    }

    /// Whether a turn of `n_requests` was a stall. A turn without a request has not waited for the store.
    #[inline]
    pub(crate) fn is_stall(&self, time: Duration, n_requests: usize) -> bool {
        let more =
            || STALL_TIME_PER_REQUEST.saturating_mul(u32::try_from(n_requests).unwrap_or(u32::MAX));
        let has_called = self.may_stall && n_requests > 0 && self.current != RequestClass::Nothing;
        has_called && time.checked_sub(STALL_TIME).is_some_and(|beyond| beyond > more())
    }

    /// Leaves all requests to other threads for a while.
    pub(crate) fn back_off(&mut self, now_ms: u64) {
        self.current = RequestClass::Nothing;
        self.backs_off_until_ms = now_ms + BACK_OFF_MS;
    }

    /// Ends a back-off that has lasted long enough.
    #[inline]
    pub(crate) fn end_back_off(&mut self, now_ms: u64) {
        if self.current != self.normal && now_ms >= self.backs_off_until_ms {
            self.current = self.normal;
        }
    }
}

#[cfg(test)]
mod tests {
    use larder_protocol::binary::opcode as op;
    use larder_protocol::{meta, text};

    use super::*;

    fn needed(line: &str) -> RequestClass {
        match meta::parse_request(line.as_bytes()).unwrap() {
            Some(command) => RequestClass::of_meta(&command, false),
            None => RequestClass::of_text(&text::parse_request(line.as_bytes()).unwrap()),
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
            assert_eq!(needed(request), RequestClass::Reads, "{request}");
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
            assert_eq!(needed(request), RequestClass::Writes, "{request}");
        }
        assert_eq!(needed("flush_all"), RequestClass::All);
        let command = meta::parse_request(b"mg a v").unwrap().unwrap();
        assert_eq!(RequestClass::of_meta(&command, true), RequestClass::Writes);
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
                Ok(binary::Arrived::Whole(request, _)) => RequestClass::of_binary(&request.command),
                other => panic!("{opcode}: {other:?}"),
            }
        };
        for opcode in [op::GET, op::GETQ, op::GETK, op::GETKQ] {
            assert_eq!(needed(opcode, 0, b"a"), RequestClass::Reads);
        }
        for opcode in [op::NOOP, op::VERSION, op::QUIT, op::QUITQ, op::SASL_LIST_MECHS] {
            assert_eq!(needed(opcode, 0, b""), RequestClass::Reads);
        }
        for opcode in [op::GAT, op::GATKQ, op::TOUCH] {
            assert_eq!(needed(opcode, 4, b"a"), RequestClass::Writes);
        }
        for (opcode, n_extras) in [(op::SETQ, 8), (op::INCREMENT, 20), (op::DELETE, 0)] {
            assert_eq!(needed(opcode, n_extras, b"a"), RequestClass::Writes);
        }
        assert_eq!(needed(op::STAT, 0, b""), RequestClass::Writes);
        assert_eq!(
            [op::FLUSH, op::FLUSHQ].map(|opcode| needed(opcode, 0, b"")),
            [RequestClass::All; 2]
        );
    }

    #[test]
    fn an_event_loop_answers_what_hardly_waits() {
        let of = |reads_wait, writes_wait| Capabilities {
            reads_wait,
            writes_wait,
            ..Capabilities::default()
        };
        for (reads_wait, writes_wait, class, may_stall) in [
            (Waits::Never, Waits::Lock, RequestClass::All, false),
            (Waits::Lock, Waits::Seldom, RequestClass::Writes, true),
            (Waits::Seldom, Waits::Seldom, RequestClass::Writes, true),
            (Waits::Seldom, Waits::Disk, RequestClass::Reads, true),
            (Waits::Lock, Waits::Network, RequestClass::Reads, false),
            (Waits::Disk, Waits::Lock, RequestClass::Nothing, false),
        ] {
            let served = ServedClasses::of_event_loop(&of(reads_wait, writes_wait));
            assert_eq!((served.normal, served.may_stall), (class, may_stall));
        }
    }

    #[test]
    fn a_rest_follows_a_stall_and_ends() {
        let seldom = Waits::Seldom;
        let mut served = ServedClasses::of_event_loop(&Capabilities {
            reads_wait: seldom,
            writes_wait: seldom,
            ..Capabilities::default()
        });
        assert!(!served.is_stall(Duration::from_millis(5), 1));
        assert!(served.is_stall(Duration::from_millis(6), 1));
        assert!(!served.is_stall(Duration::from_millis(20), 1000));
        assert!(!served.is_stall(Duration::from_millis(6), 0));
        served.back_off(10);
        served.end_back_off(1009);
        assert!(served.excludes(RequestClass::Reads));
        served.end_back_off(1010);
        assert!(!served.excludes(RequestClass::Writes) && served.excludes(RequestClass::All));
    }
}
