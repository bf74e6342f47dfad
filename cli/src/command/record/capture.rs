//! `larder record --from pcap:FILE`: a recording of captured packets.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

use larder_record::{CaptureFile, Captured, Files, Limits, Upstream, Writer, Written};
use larder_server::LogFormat;
use larder_store::agreeing;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::summary::{counted, grouped, grouped_count, list_files};
use super::{Arguments, about, exit, keys, limits, notify_by, say_what_is_recorded};
use crate::exit::{Exit, Usage};

/// A source of recordings that is no proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source(PathBuf);

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("pcap", path)) if !path.is_empty() => Ok(Self(path.into())),
            _ => Err(format!("`{text}` is no source; write pcap:FILE, or pcap:- for a pipe")),
        }
    }
}

/// Records a capture.
pub(super) fn run(
    source: &Source,
    arguments: &Arguments,
    upstream: &Upstream,
    log: LogFormat,
) -> anyhow::Result<Exit> {
    let path = &source.0;
    let input = open(path).map_err(|error| Usage(format!("--from {}: {error}", path.display())))?;
    let capture = CaptureFile::open(input, upstream)
        .map_err(|error| Usage(format!("--from {}: the file {error}", path.display())))?;
    let notify = notify_by(log);
    let keys = keys(arguments)?;
    let limits = Limits { drops_empty: true, ..limits(arguments)? };
    let is_told_to_end = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second signal ends the process at once.
        signal_hook::flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted as i32,
            Arc::clone(&is_told_to_end),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&is_told_to_end))?;
    }
    let about = about(arguments, upstream);
    let files = Files::begin(&arguments.output, about, limits, Arc::clone(&notify));
    let files = files.map_err(Usage)?;
    let written = files.written();
    say_what_is_recorded(arguments, upstream, &keys, log);
    let (writer, row_sender) = Writer::start(Box::new(files))?;
    let totals = capture.record(keys, &row_sender, &notify, &is_told_to_end);
    let dropped = writer.finish();
    let totals =
        totals.map_err(|error| Usage(format!("--from {}: the file {error}", path.display())))?;
    let written = written.lock().unwrap_or_else(PoisonError::into_inner).clone();
    super::super::print(summary(&totals, dropped, &written).as_bytes())?;
    if totals.counts.rows == 0 && !is_told_to_end.load(Ordering::Relaxed) {
        anyhow::bail!("--from {}: {}", path.display(), nothing(&totals, upstream));
    }
    Ok(exit(&written))
}

/// A capture without a row: the server that was looked for, and what was there.
fn nothing(totals: &Captured, upstream: &Upstream) -> String {
    let kind = upstream.kind.as_str();
    if totals.counts.operations > 0 {
        let operations = grouped_count(totals.counts.operations, "operation");
        return format!("no key of {operations} is in the sample; take a larger --sample");
    }
    let looked = format!("no operation of {kind} at {upstream} is in the capture");
    let packets = grouped_count(totals.n_packets, "packet");
    let connections = grouped_count(totals.n_connections, "connection");
    match (totals.n_packets, totals.n_segments, totals.busiest) {
        (0, ..) => format!("{looked}, which has no packet; capture with `tcpdump -w FILE`"),
        (_, 0, _) if let Some(tunnel) = totals.within => format!(
            "{looked}: {} of {packets} are within {tunnel}, which is not read; capture where they leave it, as on \
             the server itself",
            grouped(totals.n_within)
        ),
        (_, 0, Some(busiest)) => {
            format!("{looked}: of {packets} most are of {busiest}; name that server by --upstream")
        }
        (_, 0, None) => {
            format!("{looked}: no TCP that can be read in {packets}; capture with `tcpdump -s 0`")
        }
        _ if totals.n_lost > 0 => format!(
            "{looked}: of its {connections} {} {} another protocol; check the scheme of --upstream",
            grouped(totals.n_lost),
            agreeing(totals.n_lost, "speaks", "speak")
        ),
        (_, segments, _) => format!(
            "{looked}: no request in its {} on {connections}; capture for longer",
            grouped_count(segments, "packet")
        ),
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(Box::new(file))
}

/// What was seen in all.
fn summary(totals: &Captured, dropped: u64, written: &Written) -> String {
    let mut text = counted(&totals.counts, totals.n_connections, dropped);
    for (number, what) in [
        (
            totals.n_joined,
            "connections that are recorded in part: they were open before, or bytes are missing",
        ),
        (
            totals.n_skipped,
            "connections that were open before, and asked nothing that could be told apart",
        ),
        (totals.n_gaps, "places at which bytes are missing: what was asked there is not recorded"),
        (totals.n_cut, "packets that were captured in part: capture with `tcpdump -s 0`"),
        (totals.n_encrypted, "encrypted connections, which cannot be followed"),
        (totals.n_lost, "connections that were not understood to their end"),
        (totals.n_other_use, "connections that were put to another use"),
        (totals.n_too_many, "packets of connections for which there was no room"),
        (totals.n_fragments, "fragments of packets, which are not put together"),
        (totals.n_within, "packets within others, as of MPLS or VXLAN, which are not read"),
        (totals.n_unknown_links, "packets of a kind of link that is not read"),
        (totals.n_repeated, "bytes that came again"),
    ] {
        if number > 0 {
            let _ = writeln!(text, "{what}: {}", grouped(number));
        }
    }
    if let Some(byte) = totals.cut_at {
        let _ = writeln!(text, "the capture ends within a packet, at byte {byte}");
    }
    list_files(&mut text, written);
    text
}
