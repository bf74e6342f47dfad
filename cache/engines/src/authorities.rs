//! Files with the certificates of the authorities that a connection trusts.

use std::fs;

use larder_store::{Error, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Reads the PEM file of certificates that an option names; an error where the file has no certificate.
pub(crate) fn read(engine: &'static str, option: &str, path: &str) -> Result<Vec<u8>> {
    let pem = fs::read(path).map_err(|source| {
        let what = format!("option `{option}`: reading {path}");
        Error::Io { engine, what, source }
    })?;
    if CertificateDer::pem_slice_iter(&pem).flatten().next().is_none() {
        let reason =
            format!("option `{option}`: there is no certificate in {path}; give a file in PEM");
        return Err(Error::InvalidOptions { engine, reason });
    }
    Ok(pem)
}
