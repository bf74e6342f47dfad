//! The promises of every engine, as test cases; and stores that break promises on purpose.
//!
//! [`contract`] is the whole `main` of an engine's contract test. [`stores`] has an engine with one of many faults, which
//! tests the contract itself and the checks of a comparison; [`traps`] has servers of that kind.

mod calls;
mod certificates;
mod contract;
mod delayed;
mod echo;
mod forked;
mod holder;
mod java;
mod lane;
mod memcached;
mod mounts;
mod owned_answer;
mod patient;
mod peer;
mod postgres;
mod random;
mod require;
mod second_process;
mod signals;
mod sockets;
pub mod stores;
pub mod traps;

pub use calls::{get, set};
pub use certificates::{certificate_files, certificates};
pub use contract::{Outcome, Report, Urls, contract, judge};
pub use delayed::takes_at_least;
pub use echo::{EchoServer, Flips};
pub use forked::{fork, has_succeeded};
pub use holder::{Holder, hold_if_asked, is_running, nothing_is_left_after_kill_9, within};
pub use java::compile_java_fast;
pub use lane::{is_nightly, nightly, nightly_if};
pub use memcached::{MEMCACHED, Memcached};
pub use mounts::{is_root, may_mount, with_mounts};
pub use patient::{PATIENCE, patient};
pub use peer::Peer;
pub use postgres::{POSTGRES, Postgres};
pub use random::Random;
pub use require::{
    everything_is_required, has_perl_modules, has_php_extensions, has_program, run_waiting, trial,
    trial_where,
};
pub use second_process::SecondProcess;
pub use signals::{signal, signal_group, try_signal};
pub use sockets::{Event, Sockets};
