//! Errors, in one line each.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The reason why a region is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The region is too small to be divided.
    #[error("{size} bytes: a region has {least} at least")]
    TooSmall {
        /// The requested size, in bytes.
        size: usize,
        /// The smallest possible size.
        least: usize,
    },
    /// The file is not a region of this kind.
    #[error("the file is not a segment cache: name another, or remove it")]
    Foreign,
    /// The file was made by another version.
    #[error(
        "the file has format {found}, and this program reads format {wanted}: remove it, or name another"
    )]
    Format {
        /// The format in the file.
        found: u64,
        /// The format that this program reads.
        wanted: u64,
    },
    /// The checksum at the beginning of the file is wrong.
    #[error("the beginning of the file is damaged: remove it")]
    Damaged,
    /// The file's description of itself makes no sense.
    #[error("the file describes more than it has: remove it")]
    Geometry,
    /// The file is shorter or longer than when it was made.
    #[error("the file has {len} bytes and was made with {size}: remove it")]
    Truncated {
        /// Its length, in bytes.
        len: u64,
        /// The length with which it was made, in bytes.
        size: u64,
    },
    /// The file belongs to a user whom this process has no reason to trust.
    #[error(
        "{}: it belongs to user {owner}, and this process is user {own}: name another file, or have user {owner} give it away",
        path.display()
    )]
    Owner {
        /// The file.
        path: PathBuf,
        /// The number of its user.
        owner: u32,
        /// The number of this process's user.
        own: u32,
    },
    /// Other users may write the file, and so change the entries that this process reads.
    #[error("{}: other users may write it (mode {mode:03o}): chmod go-w, or name another file", path.display())]
    Mode {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The file has holes, and filling them would take more bytes than the caller allows.
    #[error(
        "{}: it has holes: of its {size} bytes {there} are there, and {most} are allowed: ask for more, or remove it",
        path.display()
    )]
    Holes {
        /// The file.
        path: PathBuf,
        /// The bytes that the file takes now.
        there: u64,
        /// The bytes that the file would take.
        size: usize,
        /// The bytes that the caller allows.
        most: usize,
    },
    /// Keys longer than records can have, or values larger than the region.
    #[error("{what} of {asked} bytes: at most {most}")]
    Limit {
        /// Keys or values.
        what: &'static str,
        /// The requested length, in bytes.
        asked: usize,
        /// The largest possible length.
        most: usize,
    },
    /// The name of a namespace is empty or too long.
    #[error("a namespace of {len} bytes: its name has 1 to {most}")]
    Namespace {
        /// The name's bytes.
        len: usize,
        /// The longest possible length.
        most: usize,
    },
    /// The region has no room for one more namespace.
    #[error(
        "the region has room for {most} namespaces, and none for this one: remove one, or take one of them or another region"
    )]
    Namespaces {
        /// How many it has room for.
        most: usize,
    },
    /// A region of this size cannot have room for this many namespaces.
    #[error("room for {asked} namespaces: a region of this size has it for {most} at most")]
    TooManyNamespaces {
        /// The requested number.
        asked: usize,
        /// The largest there is.
        most: usize,
    },
    /// Another process has a lock that is needed to open the region or to make a namespace.
    #[error(
        "another process has the region locked, and has not let go in time: it opens the file just now, or is stopped"
    )]
    Busy,
    /// The system refused.
    #[error("{}: {what}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The attempted operation.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// The reason why an operation was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// Another thread has held the lock for longer than the session waits
    /// ([`Session::set_patience`](crate::Session::set_patience)). Nothing was changed: the key's older value is still there.
    /// A delete never fails so, and removes the value.
    #[error("{}", busy(*holder, *waited))]
    Busy {
        /// The thread, by its number in its own system. `None` where other sessions changed the value again and again, and in
        /// a child that was forked under the lock.
        holder: Option<u32>,
        /// The time for which this session has waited. It is zero where another session had just waited for that
        /// holder in vain.
        waited: Duration,
    },
    /// The value is larger than the cache takes. A set without a condition has then removed the key's older value; every
    /// other operation leaves it. If the value is not too large, there was no room for it, and every operation leaves the
    /// older value.
    #[error("a value of {size} bytes: at most {most}")]
    TooLarge {
        /// The value's bytes.
        size: usize,
        /// The most that the cache takes.
        most: usize,
    },
    /// The key is longer than the cache takes.
    #[error("a key of {size} bytes: at most {most}")]
    KeyTooLong {
        /// The key's bytes.
        size: usize,
        /// The most that the cache takes.
        most: usize,
    },
    /// So many leases are out that there is no room for another one.
    #[error("too many leases at once: load without one, or try again")]
    Leases,
    /// The session's namespace was removed.
    #[error("the namespace was removed: ask for it again")]
    Removed,
}

/// The text about a lock that was not free in time.
fn busy(holder: Option<u32>, waited: Duration) -> String {
    match holder {
        None => "others change this value again and again: try once more".to_owned(),
        Some(thread) if waited.is_zero() => format!(
            "thread {thread} holds the lock of this partition of the cache, and this call does not wait for it"
        ),
        Some(thread) => format!(
            "thread {thread} holds the lock of this partition of the cache, and has not let go for {} ms: \
             it is stopped, or gets no processor",
            waited.as_millis()
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::{Cache, Condition, Options, Session, Set, futex};

    fn set(session: &mut Session, value: &[u8], condition: Condition) -> Option<Failed> {
        session.set(b"key", value, &Set { condition, ..Set::default() }).err()
    }

    fn is_there(session: &mut Session) -> bool {
        session.get(b"key", &mut Vec::new()).is_some()
    }

    #[test]
    fn a_value_that_is_too_large_takes_the_older_one_away_only_without_a_condition() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        let (size, most) = (cache.max_value() + 1, cache.max_value());
        let (large, too_large) = (vec![0; size], Some(Failed::TooLarge { size, most }));
        assert_eq!(set(&mut session, b"value", Condition::None), None);
        let version = session.get(b"key", &mut Vec::new()).unwrap().version;
        let all = [
            Condition::Absent,
            Condition::Present,
            Condition::Version(version),
            Condition::Unchanged(session.token(b"key")),
        ];
        for condition in all {
            assert_eq!(set(&mut session, &large, condition), too_large);
            assert!(is_there(&mut session), "{condition:?}");
        }
        for condition in [Condition::Append, Condition::Prepend] {
            let size = size + b"value".len();
            let too_large = Some(Failed::TooLarge { size, most });
            assert_eq!(set(&mut session, &large, condition), too_large);
            assert!(is_there(&mut session), "{condition:?}");
        }
        assert_eq!(set(&mut session, &large, Condition::None), too_large);
        assert!(!is_there(&mut session));
    }

    #[test]
    fn who_waits_in_vain_leaves_the_value_as_it_is_unless_it_deletes() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        assert_eq!(set(&mut session, b"value", Condition::None), None);
        let ((held, is_held), (done, is_done)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::scope(|scope| {
            let cache = &cache;
            scope.spawn(move || {
                let session = cache.session();
                let _locked = session.lock_of(cache.partition(0)).unwrap();
                held.send(futex::thread()).unwrap();
                let _ = is_done.recv();
            });
            let thread = is_held.recv().unwrap();
            let is_busy = |failed: Option<Failed>| {
                let Some(Failed::Busy { holder, .. }) = failed else { panic!("{failed:?}") };
                assert_eq!(holder, Some(thread));
            };
            session.set_patience(Duration::from_millis(20));
            is_busy(set(&mut session, b"more", Condition::Append));
            is_busy(session.touch(b"key", Some(Duration::from_secs(9))).err());
            is_busy(session.expire(b"key", None).err());
            is_busy(set(&mut session, b"another", Condition::None));
            is_busy(session.try_set(b"key", b"another", &Set::default()).err());
            assert!(is_there(&mut session));
            assert_eq!(session.try_delete(b"key"), Ok(true));
            assert!(!is_there(&mut session));
            drop(done);
        });
    }

    #[test]
    fn the_message_tells_what_is_known() {
        let busy =
            |holder, ms| Failed::Busy { holder, waited: Duration::from_millis(ms) }.to_string();
        assert!(busy(Some(7), 250).contains("thread 7 ") && busy(Some(7), 250).contains("250 ms"));
        assert!(busy(Some(7), 0).contains("does not wait"));
        assert!(busy(None, 0).contains("others change this value"));
    }
}
