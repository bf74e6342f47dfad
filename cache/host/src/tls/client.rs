//! The certificates that an encrypted connection to a server trusts.

use std::path::Path;
use std::sync::Arc;

use larder_store::{Error, Result};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

/// The certificates that a connection trusts, and for which host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsTrust {
    /// Every certificate: the connection is encrypted, but the server is not authenticated.
    Anybody,
    /// A certificate of a known authority, for any host.
    Authority,
    /// A certificate of a known authority, for this host.
    Host,
}

/// The certificates of a text in PEM.
pub fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).flatten().collect()
}

/// The authorities that this system trusts.
pub fn of_system() -> Vec<CertificateDer<'static>> {
    rustls_native_certs::load_native_certs().certs
}

/// The terms of connections that trust certificates of these authorities.
pub fn client(
    engine: &'static str,
    trust: TlsTrust,
    authorities: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig> {
    let failed = |error: &dyn std::fmt::Display| Error::Unavailable {
        engine,
        what: format!("no TLS: {error}"),
        source: None,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| failed(&error))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities);
    Ok(if trust == TlsTrust::Host {
        builder.with_root_certificates(roots).with_no_client_auth()
    } else {
        let authorities = if trust == TlsTrust::Anybody {
            None
        } else {
            let roots = Arc::new(roots);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            Some(verifier.build().map_err(|error| failed(&error))?)
        };
        let verifier = Arc::new(AnyHost { authorities, provider });
        builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
    })
}

/// Has connections show a certificate to servers that ask for one: the certificates of a file, the own one first, and the key
/// of another file, both in PEM.
///
/// # Errors
///
/// One sentence that names the file and says what is wrong.
pub fn identify(
    config: &mut ClientConfig,
    chain: &Path,
    key: &Path,
) -> std::result::Result<(), String> {
    let certificates = super::certificates_of_file(chain)?;
    let private = super::key_of_file(key)?;
    let provider = config.crypto_provider();
    let certified = CertifiedKey::from_der(certificates, private, provider).map_err(|error| {
        format!(
            "{} and {}: {error}; name a certificate and its own key",
            chain.display(),
            key.display()
        )
    })?;
    config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
    Ok(())
}

/// The terms of connections that trust certificates of these authorities in PEM, or of those of this system, or with
/// `anybody` every certificate. Every connection does all the work of a new one, so that all cost the same.
pub fn without_resumption(
    engine: &'static str,
    authorities: Option<&[u8]>,
    anybody: bool,
) -> Result<ClientConfig> {
    let trust = if anybody { TlsTrust::Anybody } else { TlsTrust::Host };
    let authorities = match (authorities, trust) {
        (Some(pem), _) => certificates(pem),
        (None, TlsTrust::Anybody) => Vec::new(),
        (None, _) => of_system(),
    };
    let mut config = client(engine, trust, authorities)?;
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

/// Trusts certificates for any host: those of known authorities, or every certificate.
#[derive(Debug)]
struct AnyHost {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verified = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is checked last, after all other checks have passed.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
