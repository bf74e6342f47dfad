//! `larder trace`: recorded traffic. One file a command.

mod beginning;
mod convert;
mod info;

use clap::Subcommand;

use crate::exit::Exit;

pub(super) use self::beginning::Beginning;

/// What is done with traces.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Write a trace in another format
    ///
    /// A trace may be larger than the memory. All that the new format has a place for is kept, and the rest is told.
    Convert(Box<convert::Convert>),
    /// Say what a trace asks of a cache: rate, mix, sizes, popularity, and hit ratios against capacity
    ///
    /// A trace may be larger than the memory: it is read once, and what depends on keys comes from a sample of them, told
    /// with its error. docs/trace-info.md says what each figure means.
    Info(Box<info::Info>),
}

pub(crate) fn run(command: &Command) -> anyhow::Result<Exit> {
    match command {
        Command::Convert(arguments) => convert::run(arguments),
        Command::Info(arguments) => info::run(arguments),
    }
}
