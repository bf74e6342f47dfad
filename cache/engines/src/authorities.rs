//! Files with the certificates of the authorities that a connection trusts.

use std::fs;

#[cfg(feature = "redis")]
use larder_host::tls;
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

/// The authorities that this system trusts, in PEM, without those that cannot be used.
#[cfg(feature = "redis")]
pub(crate) fn of_system_in_pem() -> Vec<u8> {
    use base64::Engine as _;

    let is_usable =
        |der: &CertificateDer<'_>| rustls::RootCertStore::empty().add(der.clone()).is_ok();
    let in_pem = |der: CertificateDer<'_>| {
        let text = base64::engine::general_purpose::STANDARD.encode(der);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    };
    tls::of_system().into_iter().filter(is_usable).map(in_pem).collect::<String>().into_bytes()
}
