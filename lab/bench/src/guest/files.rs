//! A script as files, in the form that `docs/guests.md` describes.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::Serialize;

use super::records::make_pipes;
use super::script::{Act, Script};
use larder_workload::{Access, KeySpace};

const KEYS: &str = "keys.bin";
const VALUES: &str = "values.bin";
const OPERATIONS: &str = "ops.bin";

/// The content of `plan.json`.
#[derive(Debug, Serialize)]
struct PlanFile<'a> {
    pool: &'a Path,
    processes: usize,
    ttl_s: Option<f64>,
    replays: bool,
    phases: Vec<PhaseFile>,
}

#[derive(Debug, Serialize)]
struct PhaseFile {
    measured: bool,
    /// For each process, its first operation and the number of its operations.
    shares: Vec<(usize, usize)>,
    time_limit_s: Option<f64>,
    multiget: usize,
    again: bool,
}

/// The settings of a plan besides its operations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms<'a> {
    pub(super) pool: &'a Path,
    pub(super) ttl: Option<std::time::Duration>,
    pub(super) replays: bool,
}

/// Writes a plan into a new folder, and returns the bytes of its operations, keys and values.
pub(super) fn write(
    folder: &Path,
    script: &Script,
    keys: &KeySpace,
    terms: Terms<'_>,
) -> io::Result<u64> {
    fs::create_dir(folder)?;
    let mut begin = 0;
    let phases: Vec<PhaseFile> = script
        .phases
        .iter()
        .map(|act| {
            let phase = phase_file(act, begin);
            begin += act.steps.len();
            phase
        })
        .collect();
    let processes = script.phases.first().map_or(1, |act| act.shares.len());
    make_pipes(folder, processes)?;
    let Terms { pool, ttl, replays } = terms;
    let ttl_s = ttl.map(|ttl| ttl.as_secs_f64());
    let plan = PlanFile { pool, processes, ttl_s, replays, phases };
    fs::write(folder.join("plan.json"), serde_json::to_vec_pretty(&plan)?)?;
    let files = [KEYS, VALUES, OPERATIONS].map(|name| folder.join(name));
    write_keys(&files[0], script, keys)?;
    write_values(&files[1], script)?;
    write_operations(&files[2], script)?;
    files.iter().map(|file| Ok(file.metadata()?.len())).sum()
}

fn phase_file(act: &Act, begin: usize) -> PhaseFile {
    PhaseFile {
        measured: act.measured,
        shares: act.shares.iter().map(|share| (begin + share.start, share.len())).collect(),
        time_limit_s: act.time_limit.map(|limit| limit.as_secs_f64()),
        multiget: act.multiget,
        again: act.again,
    }
}

fn write_keys(path: &Path, script: &Script, keys: &KeySpace) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut key = Vec::new();
    for (index, newest) in (0..).zip(&script.newest) {
        key.clear();
        keys.write(index, &mut key);
        file.write_all(&newest.to_le_bytes())?;
        file.write_all(&number(key.len())?.to_le_bytes())?;
        file.write_all(&key)?;
    }
    file.flush()
}

fn write_values(path: &Path, script: &Script) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for value in &script.values {
        for field in [value.at, value.len, value.previous] {
            file.write_all(&field.to_le_bytes())?;
        }
        file.write_all(&value.header)?;
    }
    file.flush()
}

fn write_operations(path: &Path, script: &Script) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    for step in script.phases.iter().flat_map(|act| &act.steps) {
        let kind: u32 = match step.kind {
            Access::Get => 0,
            Access::Set => 1,
            Access::GetOrSet => 2,
            Access::Delete => 3,
            Access::Touch => 4,
            Access::Incr | Access::Decr => {
                unreachable!("a plan with a guest replays counts as sets")
            }
        };
        for field in [kind, step.key, step.value, step.under] {
            file.write_all(&field.to_le_bytes())?;
        }
    }
    file.flush()
}

fn number(len: usize) -> io::Result<u32> {
    u32::try_from(len).map_err(io::Error::other)
}
