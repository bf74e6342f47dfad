//! The encryption of connections: a server's, and a client's.

use std::path::Path;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

mod client;
mod server;

pub use client::{TlsTrust, certificates, client, identify, of_system, without_resumption};
pub use server::{Tls, TlsSettings};

/// The certificates of a file in PEM; at least one.
///
/// # Errors
///
/// One sentence that names the file and says what is wrong.
pub fn certificates_of_file(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let shown = path.display();
    let read = CertificateDer::pem_file_iter(path).map_err(|error| format!("{shown}: {error}"))?;
    let read: Vec<_> =
        read.collect::<Result<_, _>>().map_err(|error| format!("{shown}: {error}"))?;
    if read.is_empty() {
        return Err(format!("{shown}: there is no certificate in PEM"));
    }
    Ok(read)
}

/// The private key of a file in PEM.
fn key_of_file(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| format!("{}: {error}", path.display()))
}
