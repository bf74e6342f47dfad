//! Certificates for servers that a test starts.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

/// The certificate of a new authority, a certificate from it for a server of this name, and that server's key.
pub fn certificates(name: &str) -> [String; 3] {
    make(name).expect("what rcgen makes by default is valid")
}

/// The same certificates in files of a folder.
pub fn certificate_files(folder: &Path, name: &str) -> [PathBuf; 3] {
    let files = ["authority.pem", "server.pem", "key.pem"].map(|file| folder.join(file));
    for (file, text) in files.iter().zip(certificates(name)) {
        fs::write(file, text).expect("a file in the temporary directory");
    }
    files
}

fn make(name: &str) -> Result<[String; 3], rcgen::Error> {
    let mut authority = CertificateParams::new([])?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "an authority");
    let authority_key = KeyPair::generate()?;
    let authority_pem = authority.self_signed(&authority_key)?.pem();
    let key = KeyPair::generate()?;
    let issuer = Issuer::new(authority, authority_key);
    let server = CertificateParams::new([name.to_owned()])?.signed_by(&key, &issuer)?;
    Ok([authority_pem, server.pem(), key.serialize_pem()])
}
