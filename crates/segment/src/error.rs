//! Errors, in one line each.

use std::io;
use std::path::PathBuf;

/// Why a region is not opened.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    /// The region is too small to be divided.
    #[error("{size} bytes: a region has {least} at least")]
    TooSmall {
        /// The requested size, in bytes.
        size: usize,
        /// The smallest there is.
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
    /// The beginning of the file is not what was written there.
    #[error("the beginning of the file is damaged: remove it")]
    Damaged,
    /// The file's description of itself makes no sense.
    #[error("the file describes more than it has: remove it")]
    Geometry,
    /// The file is shorter or longer than it was made.
    #[error("the file has {len} bytes and was made with {size}: remove it")]
    Truncated {
        /// Its length, in bytes.
        len: u64,
        /// The length with which it was made, in bytes.
        size: u64,
    },
    /// Keys longer than records can have, or values larger than the region.
    #[error("{what} of {asked} bytes: at most {most}")]
    Limit {
        /// Keys or values.
        what: &'static str,
        /// The requested length, in bytes.
        asked: usize,
        /// The largest there is.
        most: usize,
    },
    /// The name of a namespace is empty or too long.
    #[error("a namespace of {len} bytes: its name has 1 to {most}")]
    Namespace {
        /// The name's bytes.
        len: usize,
        /// The length of the longest.
        most: usize,
    },
    /// Every namespace that a region can have is there.
    #[error(
        "the region has {most} namespaces, as many as it can have: take one of them, or another region"
    )]
    Namespaces {
        /// How many it can have.
        most: usize,
    },
    /// A process that is stopped holds a lock without which the region cannot be opened, or a namespace cannot be made.
    #[error("a stopped process holds a lock of the region: resume or end it")]
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

/// Why an operation was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// A process holds a lock that this needs, and is stopped. A set has then taken the key's older value away, whatever its
    /// condition was; only [`Append`](crate::Condition::Append) and [`Prepend`](crate::Condition::Prepend) leave it, as every
    /// other change of a value does: touch, expire and revise.
    #[error("a stopped process holds the lock of this partition of the cache")]
    Busy,
    /// The value is larger than the cache takes: a set without a condition has then taken the key's older value away, and
    /// every other one leaves it, as do touch, expire and revise. Or, if it is no larger, no room could be made for it, and
    /// the older value is left by all.
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
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::session::lock_of;
    use crate::{Cache, Condition, Options, Session, Set};

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
    fn who_waits_in_vain_takes_the_value_away_by_a_set_and_leaves_it_by_a_change() {
        let cache = Cache::private(&Options::of_size(1 << 20)).unwrap();
        let mut session = cache.session();
        assert_eq!(set(&mut session, b"value", Condition::None), None);
        let ((held, is_held), (done, is_done)) = (mpsc::channel(), mpsc::channel::<()>());
        std::thread::scope(|scope| {
            let cache = &cache;
            scope.spawn(move || {
                let _locked = lock_of(cache, cache.partition(0)).unwrap();
                held.send(()).unwrap();
                let _ = is_done.recv();
            });
            is_held.recv().unwrap();
            let busy = Some(Failed::Busy);
            assert_eq!(set(&mut session, b"more", Condition::Append), busy);
            assert_eq!(session.touch(b"key", Some(Duration::from_secs(9))).err(), busy);
            assert_eq!(session.expire(b"key").err(), busy);
            assert!(is_there(&mut session));
            assert_eq!(set(&mut session, b"another", Condition::None), busy);
            assert!(!is_there(&mut session));
            drop(done);
        });
    }
}
