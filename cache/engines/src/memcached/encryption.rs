//! The options of encrypted connections, and the terms of such connections.

use std::sync::Arc;

use larder_host::tls;
use larder_store::{Error, Result, StoreUrl};
use rustls::ClientConfig;

use super::address::RECORD_LEN;
use super::config::{MemcachedConfig, MemcachedProgram};
use super::{ENCRYPTED, SCHEME};
use crate::authorities;

/// Options of trust in a server, which mean nothing for a server that larder starts.
const FOR_NAMED: [&str; 2] = ["ca", "insecure"];

impl MemcachedConfig {
    /// Refuses options of encryption that mean nothing, and follows the scheme.
    pub(super) fn check_trust(&mut self, url: &StoreUrl, names_servers: bool) -> Result<()> {
        let refuse = |reason: String| Err(Error::InvalidOptions { engine: SCHEME, reason });
        let given = FOR_NAMED.iter().find(|name| url.option(name).is_some());
        if let Some(name) = given.filter(|_| !names_servers) {
            return refuse(format!(
                "option `{name}` is for servers that the URL names; name a host, or leave out the option"
            ));
        }
        if url.scheme() == ENCRYPTED {
            if self.tls == Some(false) {
                return refuse("option `tls`: this scheme is encrypted; write `memcached:`".into());
            }
            self.tls = Some(true);
        }
        if !self.is_encrypted() && given.is_some() {
            return refuse("options `ca` and `insecure` are for TLS; write `memcacheds://`".into());
        }
        if self.insecure && self.ca.is_some() {
            return refuse(
                "option `insecure` takes any certificate, so `ca` has no effect; leave out one of them"
                    .into(),
            );
        }
        if self.is_encrypted() && self.server != MemcachedProgram::Memcached {
            let server = self.server.as_str();
            return refuse(format!("option `tls`: server={server} has none; leave it out"));
        }
        if self.socket && self.is_encrypted() {
            return refuse("option `socket`: a socket of this machine takes no TLS".into());
        }
        Ok(())
    }

    /// Whether connections are encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.tls == Some(true)
    }

    /// The terms of encrypted connections to servers that the URL names; `None` if they are not encrypted.
    pub(super) fn encryption(&self) -> Result<Option<Arc<ClientConfig>>> {
        if !self.is_encrypted() {
            return Ok(None);
        }
        let authorities = self.ca.as_deref().map(|path| authorities::read(SCHEME, "ca", path));
        let authorities = authorities.transpose()?;
        client(authorities.as_deref(), self.insecure).map(Some)
    }
}

/// The terms of encrypted connections that trust these authorities or this system's, or with `anybody` every server.
pub(super) fn client(authorities: Option<&[u8]>, anybody: bool) -> Result<Arc<ClientConfig>> {
    let mut config = tls::without_resumption(SCHEME, authorities, anybody)?;
    config.max_fragment_size = Some(RECORD_LEN);
    Ok(Arc::new(config))
}
