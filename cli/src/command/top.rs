//! `larder top`: a live view of servers of memcached's text protocol.

use clap::Args;
use larder_store::Span;
use larder_top::Options;

use crate::exit::{Exit, Usage};
use crate::terminal::speaks_unicode;

/// Watches servers of memcached's text protocol: `larder serve`, memcached itself, and others.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Servers: HOST, HOST:PORT, or the path of a unix socket. Without any: 127.0.0.1:11211
    #[arg(value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// The time between two samples, from 100ms to 1h
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    interval: Span,
    /// Print one table with the figures of one interval, as without a terminal
    #[arg(long)]
    once: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let options = Options {
        addresses: arguments.addresses.clone(),
        interval: arguments.interval.0,
        once: arguments.once,
        unicode: speaks_unicode(),
    };
    match larder_top::run(&options) {
        Ok(()) => Ok(Exit::Done),
        Err(error) if error.is_usage() => Err(Usage(error.to_string()).into()),
        Err(error) => Err(error.into()),
    }
}
