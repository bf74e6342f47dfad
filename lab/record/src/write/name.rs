//! The names of a recording's files.
//!
//! A recording of one file has the name that it was given. Those of a recording of many files have behind it the time at
//! which each began, so that their order is that of their names: `calls-20270115T100000.000000Z.parquet`. All times have
//! the same number of digits, because readers sort the names as text.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

/// The ending of a finished file, and that of one that is being written.
pub(super) const FINISHED: &str = "parquet";
pub(super) const JOURNAL: &str = "journal";

/// The form of times in names, and the same with a zero for each digit.
const FORM: &str = "%Y%m%dT%H%M%S.%6fZ";
const DIGITS: &[u8] = b"00000000T000000.000000Z";

/// The names of a recording's files.
#[derive(Debug, Clone)]
pub(super) struct Names {
    folder: PathBuf,
    stem: String,
}

impl Names {
    /// The names for `FILE`, `FILE.parquet`.
    ///
    /// # Errors
    ///
    /// A sentence that names another ending, or a folder that is not there.
    pub(super) fn of(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        let ending = path.extension().and_then(OsStr::to_str);
        if let Some(other) = ending.filter(|ending| !matches!(*ending, FINISHED | JOURNAL))
            && ["csv", "json", "gz", "zst", "xz", "oracleGeneral"].contains(&other)
        {
            return Err(format!(
                "{shown}: a recording is Parquet; name a .parquet, and convert it by larder trace convert"
            ));
        }
        let bare = if matches!(ending, Some(FINISHED | JOURNAL)) {
            path.with_extension("")
        } else {
            path.to_owned()
        };
        let stem = bare.file_name().and_then(OsStr::to_str);
        let stem = stem.ok_or_else(|| format!("{shown}: a recording needs the name of a file"))?;
        let folder = bare.parent().unwrap_or(Path::new("")).to_owned();
        let names = Self { folder, stem: stem.to_owned() };
        let folder = names.folder();
        if !folder.is_dir() {
            return Err(format!("{shown}: there is no folder {}; make it", folder.display()));
        }
        Ok(names)
    }

    pub(super) fn folder(&self) -> &Path {
        if self.folder == Path::new("") { Path::new(".") } else { &self.folder }
    }

    /// The file with the given name alone.
    pub(super) fn only(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.stem))
    }

    /// A journal with a time in its name that no file has yet: this one, or the next free microsecond.
    pub(super) fn of_time(&self, time: Timestamp) -> PathBuf {
        let begin = time.as_microsecond();
        let times = (begin..).map_while(|time| Timestamp::from_microsecond(time).ok());
        let mut names = times.map(|time| format!("{}-{}", self.stem, time.strftime(FORM)));
        let is_free = |name: &String| {
            let taken = |ending: &str| self.folder.join(format!("{name}.{ending}")).exists();
            !taken(JOURNAL) && !taken(FINISHED)
        };
        // Time does not end before a microsecond is free.
        let name = names.find(is_free).unwrap_or_else(|| self.stem.clone());
        self.folder.join(format!("{name}.{JOURNAL}"))
    }

    /// The files with a time in their names and this ending, the oldest first, with their sizes.
    pub(super) fn list(&self, ending: &str) -> io::Result<Vec<(PathBuf, u64)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.folder())? {
            let entry = entry?;
            let name = entry.file_name();
            let bare = name.to_str().and_then(|name| name.strip_suffix(&format!(".{ending}")));
            if bare.is_some_and(|bare| self.is_own(bare)) {
                let len = entry.metadata().map_or(0, |about| about.len());
                found.push((self.folder.join(&name), len));
            }
        }
        found.sort();
        Ok(found)
    }

    /// Whether a name without its ending has this recording's stem and a time.
    fn is_own(&self, bare: &str) -> bool {
        let Some(time) = bare.strip_prefix(&self.stem).and_then(|rest| rest.strip_prefix('-'))
        else {
            return false;
        };
        time.len() == DIGITS.len()
            && time.bytes().zip(DIGITS).all(|(byte, form)| match form {
                b'0' => byte.is_ascii_digit(),
                form => byte == *form,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_time_are_new_and_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let names = Names::of(&folder.path().join("calls.parquet")).unwrap();
        let time = Timestamp::from_second(1_800_000_000).unwrap();
        let shown = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let mut made = Vec::new();
        for n_bytes in 0..12_u64 {
            let next = names.of_time(time).with_extension("parquet");
            fs::write(&next, vec![0_u8; usize::try_from(n_bytes).unwrap()]).unwrap();
            made.push((shown(&next), n_bytes));
        }
        assert_eq!(made[0].0, "calls-20270115T080000.000000Z.parquet");
        assert_eq!(made[11].0, "calls-20270115T080000.000011Z.parquet");
        for other in [
            "calls.parquet",
            "calls-x.parquet",
            "calls-20270115T080000Z.parquet",
            "calls-20270115T080000.000000Z.csv",
            "other-20270115T080000.000000Z.parquet",
        ] {
            fs::write(folder.path().join(other), "x").unwrap();
        }
        let found = names.list(FINISHED).unwrap();
        let found: Vec<(String, u64)> =
            found.iter().map(|(path, len)| (shown(path), *len)).collect();
        assert_eq!(found, made);
    }

    #[test]
    fn a_name_of_another_format_or_place_is_refused() {
        let refused = |name: &str| Names::of(Path::new(name)).unwrap_err();
        assert!(refused("calls.csv").contains("larder trace convert"));
        assert!(refused("/no/such/folder/calls.parquet").contains("make it"));
        assert!(refused("..").contains("name of a file"));
        assert_eq!(
            Names::of(Path::new("calls.v2")).unwrap().only(FINISHED),
            Path::new("calls.v2.parquet")
        );
    }
}
