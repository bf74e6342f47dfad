//! Certificates for servers that are started with TLS.

use larder_store::{Error, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// The certificates by which clients trust a server on this machine, all in PEM.
pub(crate) struct Certificates {
    /// The certificate of an authority that no other program trusts, and whose key is already dropped.
    pub(crate) authority: String,
    /// The server's certificate, signed by the authority.
    pub(crate) server: String,
    /// The key of the server.
    pub(crate) key: String,
}

impl Certificates {
    /// Makes new certificates.
    pub(crate) fn make(engine: &'static str) -> Result<Self> {
        make().map_err(|error| Error::Unavailable {
            engine,
            what: format!("a certificate could not be made: {error}"),
            source: None,
        })
    }
}

fn make() -> Result<Certificates, rcgen::Error> {
    let mut authority = CertificateParams::new([])?;
    // OpenSSL takes a certificate for self-signed when its name is that of its authority.
    authority.distinguished_name.push(DnType::CommonName, "larder");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let key = KeyPair::generate()?;
    let server = CertificateParams::new(["127.0.0.1".into(), "localhost".into()])?;
    let server = server.signed_by(&key, &Issuer::new(authority, authority_key))?;
    Ok(Certificates { authority: authority_pem, server: server.pem(), key: key.serialize_pem() })
}
