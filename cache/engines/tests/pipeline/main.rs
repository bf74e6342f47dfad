//! Requests that are sent without waiting, to servers that are killed or stopped meanwhile.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod client;
mod killed;
#[path = "../memcached_support/mod.rs"]
mod memcached_support;
#[cfg(feature = "redis")]
#[expect(dead_code, reason = "tests of one engine need more")]
#[path = "../redis/support.rs"]
mod redis_support;
#[expect(dead_code, reason = "tests of one engine need more")]
#[path = "../session_support/mod.rs"]
mod session_support;
mod stopped;

use std::process::ExitCode;

use larder_host::managed::Server;
use libtest_mimic::{Arguments, Trial};

/// A kind of servers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kind {
    /// The name in the list of trials.
    name: &'static str,
    /// The scheme of its engine.
    scheme: &'static str,
    /// The options of its engine.
    options: &'static [&'static str],
    /// Starts a server on this port of 127.0.0.1, or on any for 0.
    pub(crate) start: fn(u16) -> (Server, u16),
    /// A trial that needs the server's program.
    trial: fn(&str, fn()) -> Trial,
}

impl Kind {
    /// The URL of the servers on these ports, with more options.
    pub(crate) fn url(&self, ports: &[u16], options: &[&str]) -> String {
        let hosts: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
        let options = [self.options, options].concat().join("&");
        format!("{}://{}?{options}", self.scheme, hosts.join(","))
    }
}

const MEMCACHED: Kind = Kind {
    name: "memcached",
    scheme: "memcached",
    options: &[],
    start: |port| memcached_support::memcached(port, &[]),
    trial: memcached_support::trial,
};

/// The protocol whose answers name their keys.
const TEXT: Kind = Kind { name: "memcached-text", options: &["protocol=text"], ..MEMCACHED };

#[cfg(feature = "redis")]
const REDIS: Kind = Kind {
    name: "redis",
    scheme: "redis",
    options: &[],
    start: |port| redis_support::redis_server(port, &[]),
    trial: redis_support::trial,
};

/// The trials of a kind.
macro_rules! trials {
    ($kind:ident: $($module:ident::$run:ident,)+) => {
        vec![$({
            let name = format!("{}::{}", stringify!($run), $kind.name);
            ($kind.trial)(&name, || $module::$run($kind))
        }),+]
    };
    ($kind:ident) => {
        trials!($kind:
            killed::a_killed_server_ends_every_request_once_and_the_session_works_again,
            killed::a_killed_server_ends_the_requests_that_are_not_sent,
            killed::a_server_killed_amid_its_answers_ends_every_request_once,
            killed::a_server_that_comes_back_unnoticed_is_reached_again,
            killed::a_killed_server_ends_the_requests_of_every_session_of_a_loop,
            stopped::a_stopped_server_ends_every_request_by_expire,
            stopped::a_stopped_server_ends_every_request_by_wait,
        )
    };
}

/// The trials of a kind that spreads keys over servers.
macro_rules! trials_of_a_pool {
    ($kind:ident) => {
        trials!($kind: killed::a_killed_node_leaves_the_requests_of_the_other_nodes,)
    };
}

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    let mut trials = trials!(MEMCACHED);
    trials.extend(trials!(TEXT));
    trials.extend(trials_of_a_pool!(MEMCACHED));
    trials.extend(trials_of_a_pool!(TEXT));
    #[cfg(feature = "redis")]
    trials.extend(trials!(REDIS));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
