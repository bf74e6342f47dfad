//! The folder of a run's results: no file of the user's is overwritten in it, two runs never share it, and only results of
//! the same plan are replaced unasked.

use std::fmt::Display;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use std::time::SystemTime;

use larder_report::{TraceFile, is_chart_id};
use serde::Deserialize;

use crate::compare::LATENCIES;
use crate::error::{Error, Result, usage};
use crate::output::{ADVICE, INDEX_DATA, RUN, TRACE_INFO, index_names, is_result, prepare};
use crate::plan::PlanIdentity;

/// A folder that exists, can be written, holds only results of Larder's, and belongs to this run until the value is
/// dropped.
#[derive(Debug)]
pub struct Claimed {
    /// When the run began whose result is replaced, from its `run.json`; `None` without such a run.
    pub earlier: Option<String>,
    /// The locked folder; `None` where the file system has no locks.
    _lock: Option<File>,
}

/// The results that others in a folder may give way to.
#[derive(Debug, Clone, Copy)]
pub struct NewResults<'a> {
    /// The plan, as `plan` of `run.json` has it; of a set [`plan_of_set`].
    pub plan: &'a PlanIdentity,
    /// Whether results of another plan are replaced too.
    pub overwrite: bool,
}

/// The plan of a set of scenarios, by the name of the set.
pub fn plan_of_set(name: &str) -> String {
    format!("set {name}")
}

/// Takes a folder for the results of a run, before any work is done for it.
///
/// # Errors
///
/// A usage error where the folder holds a file that is not Larder's, or the results of another plan that are not to be
/// overwritten, or where another run uses the folder.
pub fn claim(folder: &Path, new: NewResults<'_>) -> Result<Claimed> {
    prepare(folder)?;
    let lock = locked(folder)?;
    // An advice has no run where there was nothing to measure.
    let [_, advice] = ADVICE;
    let earlier = [RUN, advice].iter().find_map(|name| Head::read(&folder.join(name)));
    let set = Head::read(&folder.join(INDEX_DATA));
    if let Some(path) = somebodys(folder, earlier.is_some() || set.is_some())? {
        return Err(not_ours(folder, path.strip_prefix(folder).unwrap_or(&path).display()));
    }
    let heads = [&earlier, &set].into_iter().flatten();
    if let Some(other) = heads.into_iter().find(|head| !new.overwrite && !head.is_of(new.plan)) {
        return Err(usage(format!(
            "{}: holds the results of {}, which is another plan; add --overwrite to replace them, or name another folder",
            folder.display(),
            other.what()
        )));
    }
    Ok(Claimed { earlier: earlier.and_then(|head| head.started), _lock: lock })
}

/// Takes a folder for what a trace tells, before the trace is read. Files of other names stay there.
///
/// # Errors
///
/// A usage error where a file of [`TRACE_INFO`] there is not Larder's, or tells of another trace and is not to be overwritten,
/// or where another run uses the folder.
pub fn claim_info(folder: &Path, trace: &TraceFile, overwrite: bool) -> Result<Claimed> {
    prepare(folder)?;
    let lock = locked(folder)?;
    let [data, ..] = TRACE_INFO.map(|name| folder.join(name));
    let Some(earlier) = InfoHead::read(&data) else {
        refuse_foreign(folder, TRACE_INFO)?;
        return Ok(Claimed { earlier: None, _lock: lock });
    };
    if !overwrite && !earlier.is_of(trace) {
        return Err(usage(format!(
            "{}: holds what another trace tells, {}; add --overwrite to replace it, or name another folder",
            folder.display(),
            earlier.trace.path
        )));
    }
    let written = fs::metadata(&data).and_then(|file| file.modified()).ok();
    let earlier = written.and_then(at_second);
    Ok(Claimed { earlier, _lock: lock })
}

/// A time as `run.json` has it.
fn at_second(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Some(jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?.to_string())
}

/// Makes sure that a folder holds no index of other origin, before one is written there.
///
/// # Errors
///
/// A usage error where a file of such a name is not Larder's.
pub fn check_index(folder: &Path) -> Result<()> {
    match Head::read(&folder.join(INDEX_DATA)) {
        Some(_) => Ok(()),
        None => refuse_foreign(folder, index_names()),
    }
}

/// Refuses a folder with files of these names, which lie there without the data that Larder leaves beside them.
fn refuse_foreign(folder: &Path, names: impl IntoIterator<Item = &'static str>) -> Result<()> {
    match names.into_iter().find(|name| folder.join(name).symlink_metadata().is_ok()) {
        Some(name) => Err(not_ours(folder, name)),
        None => Ok(()),
    }
}

fn not_ours(folder: &Path, name: impl Display) -> Error {
    usage(format!(
        "{}: `{name}` in it is not a result of larder's; name an empty folder or a new one",
        folder.display()
    ))
}

/// Locks a folder; `None` where the file system has no locks. The lock is on the folder itself, so that no lock file stays
/// behind, and no lock outlives its process.
fn locked(folder: &Path) -> Result<Option<File>> {
    let lock = File::open(folder).ok();
    if let Some(Err(TryLockError::WouldBlock)) = lock.as_ref().map(File::try_lock) {
        return Err(usage(format!(
            "{}: another run of larder writes its results there; name another folder, or wait for its end",
            folder.display()
        )));
    }
    Ok(lock)
}

/// The fields of `trace-info.json` that tell of which trace it is, whatever its version.
#[derive(Debug, Deserialize)]
struct InfoHead {
    #[expect(dead_code, reason = "that it is there tells a result from another file of this name")]
    larder: String,
    trace: OfTrace,
}

#[derive(Debug, Deserialize)]
struct OfTrace {
    path: String,
    content: Option<String>,
}

impl InfoHead {
    /// `None` where the file is missing, or is not Larder's.
    fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Whether this is of a trace: by its content, or by its path where one of them does not tell it.
    fn is_of(&self, trace: &TraceFile) -> bool {
        match (&self.trace.content, &trace.content) {
            (Some(one), Some(other)) => one == other,
            _ => self.trace.path == trace.path,
        }
    }
}

/// The fields with which every `run.json`, `index.json` and `advice.json` begins, whatever its version.
#[derive(Debug, Deserialize)]
struct Head {
    #[expect(dead_code, reason = "that it is there tells a result from another file of this name")]
    larder: String,
    started: Option<String>,
    /// The command that made a run.
    #[serde(default)]
    argv: Vec<String>,
    plan: Option<String>,
    /// The name of a set.
    name: Option<String>,
}

impl Head {
    /// Whether these results are of a plan.
    fn is_of(&self, plan: &PlanIdentity) -> bool {
        let of_set = self.name.as_deref().map(plan_of_set);
        let own = self.plan.as_deref().or(of_set.as_deref());
        own.is_some_and(|own| own == plan.text || own == plan.by_path)
    }

    /// What the results are of, for a message: the command, or the set.
    fn what(&self) -> String {
        match (&self.argv[..], &self.name) {
            ([_, words @ ..], _) if !words.is_empty() => format!("`larder {}`", words.join(" ")),
            (_, Some(name)) => format!("the set `{name}`"),
            _ => "another run".to_owned(),
        }
    }

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

    const HEAD: &str =
        r#"{"schema": 1, "larder": "0.1.0", "started": "2026-11-22T00:31:00Z", "plan": "same"}"#;

    /// Takes a folder for results of the plan `same`.
    fn claim_same(folder: &Path) -> Result<Claimed> {
        let plan = PlanIdentity::from("same".to_owned());
        claim(folder, NewResults { plan: &plan, overwrite: false })
    }

    /// The reason why a folder with these files is refused.
    fn refused(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let error = claim_same(folder.path()).err()?;
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
        let first = claim_same(folder.path()).unwrap();
        let told = claim_same(folder.path()).unwrap_err().to_string();
        assert!(told.contains("another run of larder"), "{told}");
        drop(first);
        fs::write(folder.path().join(RUN), HEAD).unwrap();
        let earlier = claim_same(folder.path()).unwrap().earlier;
        assert_eq!(earlier.as_deref(), Some("2026-11-22T00:31:00Z"));
    }

    #[test]
    fn results_of_another_plan_give_way_only_where_that_is_asked_for() {
        let told = |name: &str, head: &str, plan: &str, overwrite: bool| {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(name), head).unwrap();
            let plan = PlanIdentity { text: plan.to_owned(), by_path: "by path".to_owned() };
            let claimed = claim(folder.path(), NewResults { plan: &plan, overwrite });
            claimed.err().map(|error| {
                assert!(error.is_usage(), "{error}");
                error.to_string()
            })
        };
        let run = r#"{"larder": "0.2.0", "argv": ["larder", "compare", "moka:"], "plan": "same"}"#;
        assert_eq!(told("run.json", run, "same", false), None);
        assert_eq!(told("run.json", run, "other", true), None);
        let refused = told("run.json", run, "other", false).unwrap();
        let expected =
            "holds the results of `larder compare moka:`, which is another plan; add --overwrite";
        assert!(refused.contains(expected), "{refused}");
        // An advice without a measurement has no run.
        assert_eq!(told("advice.json", run, "same", false), None);
        assert!(told("advice.json", run, "other", false).is_some());
        // An older version knew a trace by its path alone.
        let older = r#"{"larder": "0.2.0", "plan": "by path"}"#;
        assert_eq!(told("run.json", older, "by path, 7 bytes 0123456789abcdef", false), None);
        // A run of a still older version does not tell its plan.
        assert!(told("run.json", r#"{"larder": "0.1.0"}"#, "same", false).is_some());
        let set = r#"{"larder": "0.2.0", "name": "all-articles"}"#;
        assert_eq!(told("index.json", set, &plan_of_set("all-articles"), false), None);
        let refused = told("index.json", set, "same", false).unwrap();
        assert!(refused.contains("the results of the set `all-articles`"), "{refused}");
    }

    #[test]
    fn what_a_trace_tells_gives_way_to_what_the_same_trace_tells() {
        let trace = |path: &str, content: Option<&str>| TraceFile {
            path: path.to_owned(),
            content: content.map(str::to_owned),
            ..TraceFile::default()
        };
        let told = |files: &[(&str, &str)], trace: &TraceFile, overwrite: bool| {
            let folder = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::write(folder.path().join(name), content).unwrap();
            }
            let claimed = claim_info(folder.path(), trace, overwrite);
            claimed.map(|claimed| claimed.earlier.is_some()).map_err(|error| {
                assert!(error.is_usage(), "{error}");
                error.to_string()
            })
        };
        let head = r#"{"larder": "0.2.0", "trace": {"path": "web.csv", "content": "one"}}"#;
        let own = [("trace-info.json", head), ("trace-info.html", "x"), ("notes.txt", "mine")];
        assert_eq!(told(&[("notes.txt", "mine")], &trace("web.csv", None), false), Ok(false));
        assert_eq!(told(&own, &trace("web.csv", Some("one")), false), Ok(true));
        assert_eq!(told(&own, &trace("moved.csv", Some("one")), false), Ok(true));
        let other = trace("web.csv", Some("other"));
        assert_eq!(told(&own, &other, true), Ok(true));
        let refused = told(&own, &other, false).unwrap_err();
        assert!(
            refused.contains("holds what another trace tells, web.csv; add --over"),
            "{refused}"
        );
        // An older version knew a trace by its path alone.
        let older = [("trace-info.json", r#"{"larder": "0.1.0", "trace": {"path": "web.csv"}}"#)];
        assert_eq!(told(&older, &other, false), Ok(true));
        assert!(told(&older, &trace("other.csv", Some("other")), false).is_err());
        // A file of such a name without its data is somebody's.
        for name in TRACE_INFO {
            let refused = told(&[(name, "mine")], &other, true).unwrap_err();
            assert!(refused.contains(&format!("`{name}` in it is not a result")), "{refused}");
        }
    }

    #[test]
    fn an_index_of_other_origin_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_index(&folder.path().join("missing")).is_ok());
        fs::write(folder.path().join("index.html"), "mine").unwrap();
        let told = check_index(folder.path()).unwrap_err().to_string();
        assert!(told.contains("`index.html` in it is not a result of larder's"), "{told}");
        fs::write(folder.path().join("index.json"), HEAD).unwrap();
        assert!(check_index(folder.path()).is_ok());
    }

    #[test]
    fn a_file_is_no_folder_for_results() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("afile");
        fs::write(&file, "mine").unwrap();
        let told = claim_same(&file).unwrap_err().to_string();
        assert!(told.ends_with("afile: it is a file; name a folder"), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}
