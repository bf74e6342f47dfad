//! Where the latencies of a cell lie in a folder of results.

use std::path::{Path, PathBuf};

use larder_report::{Operation, Point, Run};

use super::Times;

/// The folder of the latencies within a folder of results.
pub(crate) const LATENCIES: &str = "hdr";

/// The file of a cell's times in a folder of results.
pub(crate) fn log_path(
    folder: &Path,
    run: &Run,
    target: &str,
    point: &Point,
    operation: Operation,
    times: Times,
) -> PathBuf {
    let name = file_stem(run, target, point, operation);
    let times = match times {
        Times::Latency => "",
        Times::Service => "-service",
        Times::Lag => "-lag",
        Times::Connect => "-connect",
        Times::FirstAnswer => "-first-answer",
    };
    folder.join(LATENCIES).join(format!("{name}{times}.hlog"))
}

/// The name of a cell's file: the target's number and engine, the operation, the point.
fn file_stem(run: &Run, target: &str, point: &Point, operation: Operation) -> String {
    let targets = &run.targets;
    let at = targets.iter().position(|known| known.url == target).unwrap_or(0);
    let engine = targets.get(at).map_or("", |target| target.engine.as_str());
    let swept = run.swept();
    let mut name = format!("{}-{engine}-{operation}", at + 1);
    for (coordinate, value) in point {
        if swept.contains(&coordinate.as_str()) {
            name.extend(["-", coordinate, "-", &value.to_string()]);
        }
    }
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    name.chars().map(safe).collect()
}
