//! The files of a trace of several, and their order.
//!
//! Numbers in names count as numbers, so that `part-10` comes after `part-9`. Where the first times of all files are dates and say
//! otherwise, the times decide. Times that begin at 0 in each file do not.

use std::cmp::Ordering;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::clock::FIRST_DATE_US;

/// The files of a folder whose names are meant by a pattern with `*`, in the order of their names.
pub(super) fn matching(folder: &Path, pattern: &[u8]) -> io::Result<Vec<PathBuf>> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut files = Vec::new();
    for entry in fs::read_dir(here)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_hidden = name.as_bytes().starts_with(b".");
        if !is_hidden && matches(pattern, name.as_bytes()) && !entry.path().is_dir() {
            files.push(folder.join(name));
        }
    }
    files
        .sort_by(|one, other| by_numbers(one.as_os_str().as_bytes(), other.as_os_str().as_bytes()));
    Ok(files)
}

/// Whether a name is one that the pattern means. A `*` stands for any letters.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let mut parts = pattern.split(|byte| *byte == b'*');
    let Some(mut left) = parts.next().and_then(|first| name.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return left.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let found = (0..=left.len()).find(|at| left[*at..].starts_with(part));
        let Some(at) = found else { return false };
        left = &left[at + part.len()..];
    }
    true
}

/// The order of names in which numbers count as numbers.
fn by_numbers(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    while let (Some(first), Some(second)) = (left.first(), right.first()) {
        let order;
        if first.is_ascii_digit() && second.is_ascii_digit() {
            let (digits, others) = (number(&mut left), number(&mut right));
            order = digits.len().cmp(&others.len()).then_with(|| digits.cmp(others));
        } else {
            order = first.cmp(second);
            (left, right) = (&left[1..], &right[1..]);
        }
        if order.is_ne() {
            return order;
        }
    }
    // Names that differ in leading zeros alone have an order, too.
    left.len().cmp(&right.len()).then_with(|| one.cmp(other))
}

/// The digits at the beginning without leading zeros, which `rest` then has no more.
fn number<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at(end);
    *rest = behind;
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    &digits[zeros..]
}

/// Puts files into the order of their first times, where all are dates, and tells that their names have another order.
/// `first_time` finds the first time of a file in microseconds; a file that cannot be read has none.
pub(super) fn put_in_order(
    files: &mut Vec<PathBuf>,
    mut first_time: impl FnMut(&Path) -> Option<u64>,
) -> Option<String> {
    if files.len() < 2 {
        return None;
    }
    let date = |path: PathBuf| (first_time(&path).filter(|time| *time >= FIRST_DATE_US), path);
    let mut dated: Vec<_> = std::mem::take(files).into_iter().map(date).collect();
    let is_dated = dated.iter().all(|(time, _)| time.is_some());
    let step = dated.windows(2).find(|pair| is_dated && pair[0].0 > pair[1].0);
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let note = step.map(|pair| {
        format!(
            "the files are read in the order of their times, because {} begins before {}",
            name(&pair[1].1),
            name(&pair[0].1)
        )
    });
    if note.is_some() {
        dated.sort_by_key(|(time, _)| *time);
    }
    files.extend(dated.into_iter().map(|(_, path)| path));
    note
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let ordered = [
            "a", "a-01", "a-1", "a-2.csv", "a-9", "a-10", "a-10-b", "a-10b", "a10-2", "a10-10",
            "b1",
        ];
        let mut names = ordered;
        names.reverse();
        names.sort_by(|one, other| by_numbers(one.as_bytes(), other.as_bytes()));
        assert_eq!(names, ordered);
        let times = ["web-2026-01-09T235959.parquet", "web-2026-01-10T000000.parquet"];
        assert!(by_numbers(times[0].as_bytes(), times[1].as_bytes()).is_lt());
        let long = ["x99999999999999999999999999", "x100000000000000000000000000"];
        assert!(by_numbers(long[0].as_bytes(), long[1].as_bytes()).is_lt());
    }

    #[test]
    fn dates_decide_the_order_and_times_from_0_on_do_not() {
        let second = 1_000_000;
        for (times, expected, is_told) in [
            ([Some(2), Some(1), Some(3)], [1, 0, 2], true),
            ([Some(1), Some(2), Some(3)], [0, 1, 2], false),
            ([Some(1), Some(1), Some(1)], [0, 1, 2], false),
            ([Some(2), None, Some(1)], [0, 1, 2], false),
        ] {
            let name = |n: usize| PathBuf::from(format!("day/{n}.csv"));
            let dates = times.map(|time| time.map(|time| FIRST_DATE_US + time * second));
            for (times, expected, is_told) in
                [(dates, expected, is_told), (times, [0, 1, 2], false)]
            {
                let mut files: Vec<_> = (0..3).map(name).collect();
                let mut times = times.into_iter();
                let note = put_in_order(&mut files, |_| times.next().flatten());
                assert_eq!(files, expected.map(name));
                let told = "the files are read in the order of their times, because 1.csv begins before 0.csv";
                assert_eq!(note, is_told.then(|| told.to_owned()));
            }
        }
    }
}
