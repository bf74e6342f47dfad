//! A server that speaks memcached's protocols over any store.
//!
//! One thread accepts connections ([`Server`]), and hands each to one of a few workers, which wait for many sockets at once. A
//! conversation turns the bytes of a connection into calls of a session, and the outcomes into bytes; it knows no sockets.
//! Each command has a file of its own, under `text` and `meta`, as it has in `larder-protocol`.
//!
//! A worker answers a request itself where the store hardly waits for it (`own.rs`). Calls that may wait for a disk or for
//! another process are made by assistants beside the workers: a conversation and its bytes go there and come back, so no
//! connection waits for another's.

mod assistant;
mod behind;
mod binary;
mod conditional;
mod connection;
mod context;
mod conversation;
mod counts;
mod latency;
mod loads;
mod log;
mod meta;
mod metrics;
mod own;
mod queue;
mod recaches;
mod rusage;
mod server;
mod settings;
mod slow;
mod stats;
mod text;
mod users;
mod waiting;
mod worker;

use larder_host::listen::NotListening;

pub use larder_host::listen::{Address, Listeners};
pub use larder_host::tls::TlsSettings;
pub use log::{Fields, Level, LogFormat, flush_log};
pub use server::{Order, Remote, Server};
pub use settings::Settings;

/// The largest value that a server can be set to take, in bytes.
pub const MAX_ITEM_BYTES: usize = larder_protocol::MAX_VALUE_LEN;

/// The version of memcached whose protocols the server speaks, as clients read it.
pub const MEMCACHED_VERSION: &str = "1.6.39";

impl From<NotListening> for Error {
    fn from(NotListening { address, source }: NotListening) -> Self {
        Self::Listen { address, source }
    }
}

/// The reason why a server could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address at which it could not listen.
    #[error("cannot listen on {address}: {source}{}", hint(source))]
    Listen {
        /// The address.
        address: Address,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// The port for metrics cannot be had.
    #[error("cannot give metrics at {address}: {source}")]
    Metrics {
        /// The address.
        address: std::net::SocketAddr,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file of users or certificates that is not what it should be.
    #[error("{0}")]
    File(String),
    /// The system refused what the server needs.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] larder_store::Error),
}

fn hint(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another server has it: stop that, or take another port with -p"
        }
        std::io::ErrorKind::PermissionDenied => "; take a port above 1023 or a path of your own",
        _ => "",
    }
}
