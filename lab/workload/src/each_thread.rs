//! The keys that each thread reads, where threads take keys in order.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

/// The keys that each thread reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EachThread {
    /// Its share: the threads divide the keys among themselves.
    #[default]
    Share,
    /// Every key.
    All,
    /// Every key of its application. This many threads are one application, and each application has keys of its own.
    AllOfApplication(NonZeroU32),
}

impl EachThread {
    /// The number of applications for this number of threads; `None` where the threads share the keys, or where a thread
    /// would be left over.
    pub fn applications(self, threads: u32) -> Option<u32> {
        match self {
            Self::Share => None,
            Self::All => Some(1),
            Self::AllOfApplication(size) => {
                threads.is_multiple_of(size.get()).then(|| threads / size)
            }
        }
    }
}

impl fmt::Display for EachThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share => f.pad("share"),
            Self::All => f.pad("all"),
            Self::AllOfApplication(size) => f.pad(&format!("all:{size}")),
        }
    }
}

impl FromStr for EachThread {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "share" => return Ok(Self::Share),
            None if text == "all" => return Ok(Self::All),
            Some(("all", size)) => {
                if let Ok(size) = size.parse() {
                    return Ok(Self::AllOfApplication(size));
                }
            }
            _ => {}
        }
        Err(format!(
            "`{text}` is not share, all, or all:N, where N threads, 1 or more, are one application"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_applications_only_where_no_thread_is_left_over() {
        let applications = |text: &str, threads| {
            let each: EachThread = text.parse().unwrap();
            assert_eq!(each.to_string(), text);
            each.applications(threads)
        };
        assert_eq!(applications("share", 4), None);
        assert_eq!(applications("all", 4), Some(1));
        assert_eq!(applications("all:4", 8), Some(2));
        assert_eq!(applications("all:4", 6), None);
        assert_eq!(applications("all:4", 2), None);
    }

    #[test]
    fn what_is_not_a_way_to_read_is_refused_by_its_name() {
        for text in ["each", "all:", "all:0", "all:-1", "share:2", ""] {
            let wrong = text.parse::<EachThread>().unwrap_err();
            assert!(wrong.starts_with(&format!("`{text}` is not share")), "{wrong}");
        }
    }
}
