//! The encryption of a server: certificates, keys and the authorities of clients, from files that are read again when the
//! operator asks.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, version};

use super::{certificates_of_file, key_of_file};

/// The files and rules of encrypted addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The server's certificates, its own first, in PEM.
    pub chain: PathBuf,
    /// The key of the first certificate, in PEM.
    pub key: PathBuf,
    /// The authorities whose clients are known, in PEM.
    pub authorities: Option<PathBuf>,
    /// Whether a client needs a certificate of these authorities.
    pub needs_client: bool,
    /// Whether TLS 1.3 alone is spoken; TLS 1.2 too otherwise.
    pub is_newest_only: bool,
}

/// Encryption as of the last reading of its files.
#[derive(Debug)]
pub struct Tls {
    settings: TlsSettings,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files.
    ///
    /// # Errors
    ///
    /// One sentence that names the file and says what is wrong.
    pub fn of_files(settings: TlsSettings) -> Result<Self, String> {
        let config = RwLock::new(read(&settings)?);
        Ok(Self { settings, config })
    }

    /// Reads the files again, for the connections that come. After an error all stays as it was.
    ///
    /// # Errors
    ///
    /// As for [`Tls::of_files`].
    pub fn reload(&self) -> Result<(), String> {
        let config = read(&self.settings)?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// The configuration for a new connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn read(settings: &TlsSettings) -> Result<Arc<ServerConfig>, String> {
    let chain = certificates_of_file(&settings.chain)?;
    let shown = settings.key.display();
    let key = key_of_file(&settings.key)?;
    let versions: &[_] = if settings.is_newest_only {
        &[&version::TLS13]
    } else {
        &[&version::TLS13, &version::TLS12]
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .map_err(|error| error.to_string())?;
    let builder = match &settings.authorities {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for authority in certificates_of_file(path)? {
                let shown = path.display();
                roots.add(authority).map_err(|error| format!("{shown}: {error}"))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier =
                if settings.needs_client { verifier } else { verifier.allow_unauthenticated() };
            let verifier =
                verifier.build().map_err(|error| format!("{}: {error}", path.display()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder
        .with_single_cert(chain, key)
        .map_err(|error| format!("{} and {shown}: {error}", settings.chain.display()))?;
    Ok(Arc::new(config))
}
