//! The command line, as a whole.

use clap::{Parser, Subcommand};

use std::ffi::OsString;
use std::path::Path;

use crate::command::{
    advise, backup, compare, diff, engines, entry, generate, inspect, record, report, scenarios,
    serve, stats, top, trace,
};
use crate::exit::Usage;
use crate::version::{LONG, SHORT};

/// Compares caches honestly: many cache systems on the same verified work.
#[derive(Debug, Parser)]
#[command(name = "larder", version = SHORT.as_str(), long_version = LONG.as_str())]
#[command(max_term_width = 100, arg_required_else_help = true, after_help = BEGIN)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The next step of a user who types only the program's name.
const BEGIN: &str =
    "Begin with `larder compare`: the caches that most people begin with, in 45 seconds.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure several caches on the same verified work, side by side
    Compare(Box<compare::Arguments>),
    /// Say which cache to take for a trace, how large, and what would change the answer
    ///
    /// Replays the trace on the candidates at a few sizes, and writes the results of that comparison beside the advice.
    Advise(Box<advise::Arguments>),
    /// Render the results of a comparison again, print them, or draw their charts
    ///
    /// Without --format, this larder writes report.md and report.html again beside each run.json.
    Report(report::Arguments),
    /// Show the changes from one result to another
    ///
    /// Compares the cells that both results have. A ~ stands in the place of a change where the two cannot be told
    /// apart.
    Diff(diff::Arguments),
    /// List the caches that can be compared, and which of them can run here
    Engines(engines::Arguments),
    /// List the built-in scenarios, or show one
    Scenarios(scenarios::Arguments),
    /// Serve a store to every client of memcached
    ///
    /// The options are memcached's. Through a link named `memcached` the program serves without being told to.
    Serve(Box<serve::Arguments>),
    /// Record what an application asks its memcached or Redis, by a proxy between both
    ///
    /// The bytes pass unchanged, whatever becomes of the recording. Larder reads it as a trace.
    Record(Box<record::Arguments>),
    /// Watch servers of memcached's protocol: requests, hit rate, memory and more, live
    ///
    /// In the view, q ends and ? shows the other keys. A server that does not answer is asked again at every interval.
    Top(top::Arguments),
    /// Print the value under a key
    Get(entry::Get),
    /// Store a value under a key
    Set(entry::Set),
    /// Remove a key
    Delete(entry::Delete),
    /// Copy all entries of a store to a file
    ///
    /// The copy is of one moment where the store has such reads, as lmdb has. Tags of entries are not kept.
    Backup(backup::Backup),
    /// Store the entries of a backup
    ///
    /// An entry that the backup lacks stays, unless --clear is given.
    Restore(backup::Restore),
    /// Print the counters of a store
    Stats(stats::Arguments),
    /// Draw the fill and the age of the segments of a segment cache
    Inspect(inspect::Arguments),
    /// Look at recorded traffic, or convert it
    Trace {
        #[command(subcommand)]
        command: trace::Command,
    },
    /// Print completions for a shell
    Completions(generate::Completions),
    /// Print the manual page
    Man,
}

/// The arguments of this process. Through a link named `memcached` they are those of `serve`.
///
/// # Errors
///
/// Options of `serve` in a file or in the environment that are wrong.
pub(crate) fn given() -> Result<Vec<OsString>, Usage> {
    let mut given: Vec<OsString> = std::env::args_os().collect();
    let name = given.first().and_then(|path| Path::new(path).file_name().map(ToOwned::to_owned));
    let asks_version = given.iter().any(|word| word == "-V" || word == "--version");
    if name.is_some_and(|name| name == "memcached") && !asks_version {
        given.insert(1, "serve".into());
    }
    if given.get(1).is_some_and(|word| word == "serve") {
        return serve::with_sources(given);
    }
    Ok(given)
}
