//! The reasons why a server could not begin or go on.

use larder_host::listen::{Address, NotListening};

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
    /// An address for metrics at which it could not listen.
    #[error("cannot give metrics at {address}: {source}")]
    Metrics {
        /// The address.
        address: std::net::SocketAddr,
        /// The cause.
        #[source]
        source: std::io::Error,
    },
    /// A file of users or certificates is wrong.
    #[error("{0}")]
    File(String),
    /// A system call failed.
    #[error("cannot serve: {0}")]
    Io(#[from] std::io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] larder_store::Error),
}

impl From<NotListening> for Error {
    fn from(NotListening { address, source }: NotListening) -> Self {
        Self::Listen { address, source }
    }
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
