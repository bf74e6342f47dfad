//! The server behind the proxy, as its URL names it. Its options are those of `memcached:` and `redis:`.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use larder_host::address::{addresses, host_and_port, join_port};
use larder_host::destination::Destination;
use larder_host::tls::{TlsTrust, certificates_of_file, client, identify, of_system};
use larder_store::{Error, Result, StoreUrl};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;

use crate::follow::Kind;

/// A server.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// The protocol that it speaks.
    pub kind: Kind,
    /// Its addresses.
    pub destination: Destination,
    /// The encryption of connections to it, and the name that its certificate needs.
    pub tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
    /// Its address as a person writes it.
    shown: String,
}

/// What a scheme means: the protocol, the port where the URL names none, and whether connections are encrypted.
struct Scheme {
    name: &'static str,
    kind: Kind,
    port: u16,
    is_encrypted: bool,
}

const SCHEMES: &[Scheme] = &[
    Scheme { name: "memcached", kind: Kind::Memcached, port: 11211, is_encrypted: false },
    Scheme { name: "memcacheds", kind: Kind::Memcached, port: 11211, is_encrypted: true },
    Scheme { name: "redis", kind: Kind::Redis, port: 6379, is_encrypted: false },
    Scheme { name: "rediss", kind: Kind::Redis, port: 6379, is_encrypted: true },
    Scheme { name: "valkey", kind: Kind::Redis, port: 6379, is_encrypted: false },
    Scheme { name: "valkeys", kind: Kind::Redis, port: 6379, is_encrypted: true },
];

impl Upstream {
    /// The server of a URL: `memcached://host:port`, `rediss://host`, `memcached:///path/of.sock`. Its names are resolved
    /// now.
    ///
    /// # Errors
    ///
    /// A URL of no such server, an option that it does not have, and a name that cannot be resolved.
    pub fn of_url(url: &StoreUrl) -> Result<Self> {
        let invalid =
            |reason: &str| Error::InvalidUrl { url: url.to_string(), reason: reason.into() };
        let scheme = SCHEMES.iter().find(|scheme| scheme.name == url.scheme());
        let scheme = scheme.ok_or_else(|| {
            invalid("a server of memcached's or Redis' protocol; write memcached://host or redis://host")
        })?;
        if url.user().is_some() {
            return Err(invalid("the application logs in itself; leave out the user"));
        }
        check_options(url, scheme)?;
        let (destination, shown, host) = match (url.hosts(), url.path()) {
            ([], path) if path.starts_with('/') => {
                (Destination::Unix(path.into()), path.to_owned(), None)
            }
            ([host], "" | "/") => {
                let (host, port) = host_and_port(url, host, scheme.port)?;
                let found = addresses(host, port)
                    .map_err(|error| invalid(&format!("{host} is not found: {error}")))?;
                (Destination::Tcp(found), join_port(host, port), Some(host))
            }
            ([_], _) => {
                return Err(invalid(
                    "the application selects its database itself; leave out the path",
                ));
            }
            ([], _) => {
                return Err(invalid("which server? write its host, or the path of its socket"));
            }
            _ => return Err(invalid("one server; start a proxy before each")),
        };
        let tls = if scheme.is_encrypted || url.option("tls") == Some("on") {
            let host = host.ok_or_else(|| invalid("a socket of this machine takes no TLS"))?;
            Some(encryption(url, host)?)
        } else {
            None
        };
        Ok(Self { kind: scheme.kind, destination, tls, shown })
    }
}

impl fmt::Display for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

fn check_options(url: &StoreUrl, scheme: &Scheme) -> Result<()> {
    let refuse =
        |reason: String| Err(Error::InvalidOptions { engine: scheme.kind.as_str(), reason });
    for name in url.option_names() {
        if !matches!(name, "tls" | "ca" | "insecure" | "cert" | "key") {
            return refuse(format!(
                "option `{name}`: of a proxy's server only tls, ca, insecure, cert and key"
            ));
        }
    }
    if scheme.is_encrypted && url.option("tls").is_some_and(|tls| tls != "on") {
        let plain = scheme.name.strip_suffix('s').unwrap_or(scheme.name);
        return refuse(format!("option `tls`: this scheme is encrypted; write `{plain}:`"));
    }
    let is_encrypted = scheme.is_encrypted || url.option("tls") == Some("on");
    let trust = ["ca", "insecure", "cert", "key"].iter().find(|name| url.option(name).is_some());
    if let (Some(name), false) = (trust, is_encrypted) {
        return refuse(format!("option `{name}` is for TLS; add tls=on"));
    }
    for (name, other) in [("cert", "key"), ("key", "cert")] {
        if url.option(name).is_some() && url.option(other).is_none() {
            return refuse(format!(
                "option `{name}`: the proxy shows a certificate with its key; add {other}=FILE"
            ));
        }
    }
    if url.option("insecure") == Some("on") && url.option("ca").is_some() {
        return refuse(
            "option `insecure` takes any certificate, so `ca` has no effect; leave out one of them"
                .into(),
        );
    }
    Ok(())
}

/// The terms of encrypted connections to a host.
fn encryption(url: &StoreUrl, host: &str) -> Result<(Arc<ClientConfig>, ServerName<'static>)> {
    let engine = "record";
    let refuse = |reason: String| Error::InvalidOptions { engine, reason };
    let trust =
        if url.option("insecure") == Some("on") { TlsTrust::Anybody } else { TlsTrust::Host };
    let authorities = match (url.option("ca"), trust) {
        (Some(path), _) => certificates_of_file(Path::new(path)).map_err(|reason| {
            refuse(format!("option `ca`: {reason}; name a file of certificates in PEM"))
        })?,
        (None, TlsTrust::Anybody) => Vec::new(),
        (None, _) => of_system(),
    };
    let mut config = client(engine, trust, authorities)?;
    // memcached with client certificates rejects resumed TLS sessions: it gives OpenSSL no context for sessions.
    config.resumption = Resumption::disabled();
    if let (Some(chain), Some(key)) = (url.option("cert"), url.option("key")) {
        identify(&mut config, Path::new(chain), Path::new(key))
            .map_err(|reason| refuse(format!("option `cert`: {reason}")))?;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        refuse(format!("option `tls`: no certificate can be for `{host}`; write its name"))
    })?;
    Ok((Arc::new(config), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str) -> Result<Upstream> {
        Upstream::of_url(&StoreUrl::parse(url).unwrap())
    }

    #[test]
    fn a_url_names_one_server() {
        for (url, kind, shown) in [
            ("memcached://127.0.0.1", Kind::Memcached, "127.0.0.1:11211"),
            ("redis://[::1]:7000", Kind::Redis, "[::1]:7000"),
            ("valkey://127.0.0.1", Kind::Redis, "127.0.0.1:6379"),
            ("memcached:///run/m.sock", Kind::Memcached, "/run/m.sock"),
            ("redis:/run/r.sock", Kind::Redis, "/run/r.sock"),
        ] {
            let upstream = of(url).unwrap();
            assert_eq!((upstream.kind, &*upstream.to_string()), (kind, shown), "{url}");
            assert!(upstream.tls.is_none());
        }
        assert!(of("rediss://127.0.0.1?insecure=on").unwrap().tls.is_some());
        assert!(of("memcached://127.0.0.1?tls=on&insecure=on").unwrap().tls.is_some());
    }

    #[test]
    fn a_wrong_url_is_refused_with_a_remedy() {
        for (url, needle) in [
            ("moka:", "write memcached://host or redis://host"),
            ("memcached:", "write its host"),
            ("memcached://h1,h2", "start a proxy before each"),
            ("redis://u:p@127.0.0.1", "leave out the user"),
            ("redis://127.0.0.1/3", "leave out the path"),
            ("redis://127.0.0.1?db=3", "only tls, ca, insecure, cert and key"),
            ("redis://127.0.0.1?cert=/x&key=/y", "add tls=on"),
            ("rediss://127.0.0.1?insecure=on&cert=/x", "add key=FILE"),
            ("rediss://127.0.0.1?insecure=on&key=/x", "add cert=FILE"),
            ("rediss://127.0.0.1?insecure=on&cert=/no/such&key=/x", "option `cert`: /no/such"),
            ("redis://127.0.0.1?ca=/x", "add tls=on"),
            ("rediss://127.0.0.1?tls=off", "write `redis:`"),
            ("rediss://127.0.0.1?ca=/no/such", "option `ca`: /no/such"),
            ("rediss://127.0.0.1?ca=/x&insecure=on", "leave out one"),
            ("rediss:///run/r.sock", "takes no TLS"),
        ] {
            let error = of(url).unwrap_err().to_string();
            assert!(error.contains(needle), "{url}: {error}");
        }
    }
}
