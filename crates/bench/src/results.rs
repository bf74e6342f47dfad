//! The folder of a run's results: no file of the user's is overwritten in it, and two runs never share it.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use larder_report::is_chart_id;
use serde::Deserialize;

use crate::compare::LATENCIES;
use crate::error::{Error, Result, usage};
use crate::output::{INDEX_DATA, RUN, is_result, prepare};

/// A folder that exists, can be written, holds only results of Larder's, and belongs to this run until the value is
/// dropped.
#[derive(Debug)]
pub struct Claimed {
    /// When the run began whose result is replaced, from its `run.json`; `None` without such a run.
    pub earlier: Option<String>,
    /// The locked folder; `None` where the file system has no locks.
    _lock: Option<File>,
}

/// Takes a folder for the results of a run, before any work is done for it.
///
/// # Errors
///
/// A usage error where the folder holds a file that is not Larder's, or another run uses the folder.
pub fn claim(folder: &Path) -> Result<Claimed> {
    prepare(folder)?;
    // The lock is on the folder itself, so that no lock file stays behind, and no lock outlives its process.
    let lock = File::open(folder).ok();
    if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
        return Err(usage(format!(
            "{}: another run of larder writes its results there; name another folder, or wait for its end",
            folder.display()
        )));
    }
    let earlier = Head::read(&folder.join(RUN));
    let is_set = Head::read(&folder.join(INDEX_DATA)).is_some();
    if let Some(path) = somebodys(folder, earlier.is_some() || is_set)? {
        return Err(usage(format!(
            "{}: `{}` in it is not a result of larder's; name an empty folder or a new one",
            folder.display(),
            path.strip_prefix(folder).unwrap_or(&path).display()
        )));
    }
    Ok(Claimed { earlier: earlier.and_then(|head| head.started), _lock: lock })
}

/// The fields with which every `run.json` and `index.json` begins, whatever its version.
#[derive(Debug, Deserialize)]
struct Head {
    #[expect(dead_code, reason = "that it is there tells a result from another file of this name")]
    larder: String,
    started: Option<String>,
}

impl Head {
    /// `None` where the file is missing, or is not Larder's.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }
}

/// The first file of a folder that is not Larder's. The name of a report counts only beside the data that the report
/// is made of. Subfolders are not looked into, except the folder of the latencies.
fn somebodys(folder: &Path, has_result: bool) -> Result<Option<PathBuf>> {
    let ours = |name: &str| is_leftover(name) || is_chart(name) || has_result && is_result(name);
    let first = foreign(folder, ours)?;
    let latencies = folder.join(LATENCIES);
    if first.is_some() || !latencies.is_dir() {
        return Ok(first);
    }
    foreign(&latencies, |name| is_leftover(name) || name.strip_suffix(".hlog").is_some())
}

/// The first file, by its name, that is not ours.
fn foreign(folder: &Path, is_ours: impl Fn(&str) -> bool) -> Result<Option<PathBuf>> {
    let at = |source| Error::Write { path: folder.into(), source };
    let mut others = Vec::new();
    for entry in fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name();
        let is_file = !entry.path().is_dir();
        if is_file && !name.to_str().is_some_and(&is_ours) {
            others.push(entry.path());
        }
    }
    Ok(others.into_iter().min())
}

/// The unfinished file that a run leaves when it is killed while it writes.
fn is_leftover(name: &str) -> bool {
    name.starts_with(".tmp")
}

fn is_chart(name: &str) -> bool {
    let stem = name.strip_suffix(".svg").or(name.strip_suffix(".png"));
    stem.is_some_and(is_chart_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"schema": 1, "larder": "0.1.0", "started": "2026-11-22T00:31:00Z"}"#;

    /// The reason why a folder with these files is refused.
    fn refused(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let error = claim(folder.path()).err()?;
        assert!(error.is_usage(), "{error}");
        Some(error.to_string())
    }

    #[test]
    fn a_folder_of_results_is_taken_and_no_foreign_file_is_overwritten() {
        let whole = [("run.json", HEAD), ("report.html", "x"), ("hdr/1-moka-get.hlog", "x")];
        assert_eq!(refused(&[]), None);
        assert_eq!(refused(&whole), None);
        assert_eq!(refused(&[("index.json", HEAD), ("index.html", "x"), ("a001/x", "x")]), None);
        assert_eq!(
            refused(&[("rate-get.svg", "x"), (".tmpAbC123", "x"), ("deep/file", "x")]),
            None
        );
        for (files, first) in [
            (&[("report.html", "mine")][..], "report.html"),
            (&[("run.json", "{}")], "run.json"),
            (&[("run.json", HEAD), ("notes.txt", ""), ("z", "")], "notes.txt"),
            (&[("run.json", HEAD), ("hdr/mine", "")], "hdr/mine"),
            (&[("photo.svg", "")], "photo.svg"),
        ] {
            let told = refused(files).unwrap_or_else(|| panic!("{first} is not refused"));
            assert!(
                told.contains(&format!("`{first}` in it is not a result of larder's")),
                "{told}"
            );
        }
    }

    #[test]
    fn a_folder_belongs_to_one_run_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = claim(folder.path()).unwrap();
        let told = claim(folder.path()).unwrap_err().to_string();
        assert!(told.contains("another run of larder"), "{told}");
        drop(first);
        fs::write(folder.path().join(RUN), HEAD).unwrap();
        let earlier = claim(folder.path()).unwrap().earlier;
        assert_eq!(earlier.as_deref(), Some("2026-11-22T00:31:00Z"));
    }
}
