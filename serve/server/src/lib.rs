//! A server that speaks memcached's protocols over any store.
//!
//! One thread accepts connections ([`Server`]), and hands each to one of a few event loops, which wait for many sockets at once.
//! A `ConnectionState` turns the bytes of a connection into calls of a session, and the outcomes into bytes; it knows no
//! sockets. Each command has a file of its own, under `text` and `meta`, as it has in `larder-protocol`.
//!
//! An event loop answers a request itself where the store hardly waits for it (`request_class.rs`). Storage threads make the calls
//! that may wait for a disk or for another process: the state of a connection and its bytes go there and come back, so no connection
//! waits for another's.

mod binary;
mod buffer_budget;
mod client_leases;
mod conditional;
mod connection;
mod connection_state;
mod context;
mod counts;
mod error;
mod event_loop;
mod latency;
mod limits;
mod log;
mod login;
mod meta;
mod metrics;
mod payload;
mod queue;
mod recaches;
mod remote;
mod request_class;
mod rusage;
mod server;
mod settings;
mod slow;
mod stats;
mod storage_threads;
mod text;
mod users;
mod version;

pub use error::Error;
pub use larder_host::listen::{Address, Listeners};
pub use larder_host::tls::TlsSettings;
pub use log::{Fields, Level, LogFormat, flush_log};
pub use remote::{Order, Remote};
pub use server::Server;
pub use settings::Settings;
pub use version::MEMCACHED_VERSION;

/// The largest value that a server can be set to take, in bytes.
pub const MAX_ITEM_BYTES: usize = larder_protocol::MAX_VALUE_LEN;
