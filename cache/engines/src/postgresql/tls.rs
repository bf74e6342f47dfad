//! The certificates that a connection trusts.

use larder_host::tls::{self, TlsTrust};
use larder_store::Result;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::SCHEME;
use super::config::{PostgresqlConfig, SslMode};
use crate::authorities;

/// The TLS that the options ask for; without TLS the driver does not use it.
pub(super) fn connector(config: &PostgresqlConfig) -> Result<MakeRustlsConnect> {
    let trust = match config.sslmode {
        SslMode::VerifyFull => TlsTrust::Host,
        SslMode::VerifyCa => TlsTrust::Authority,
        // As in libpq.
        SslMode::Require if config.sslrootcert.is_some() => TlsTrust::Authority,
        _ => TlsTrust::Anybody,
    };
    let authorities = match (&config.sslrootcert, trust) {
        (Some(path), _) => tls::certificates(&authorities::read(SCHEME, "sslrootcert", path)?),
        (None, TlsTrust::Anybody) => Vec::new(),
        (None, _) => tls::of_system(),
    };
    tls::client(SCHEME, trust, authorities).map(MakeRustlsConnect::new)
}

/// The TLS that trusts only this authority, whose certificate is in PEM.
pub(super) fn trusting(authority: &str) -> Result<MakeRustlsConnect> {
    let authorities = tls::certificates(authority.as_bytes());
    tls::client(SCHEME, TlsTrust::Host, authorities).map(MakeRustlsConnect::new)
}
