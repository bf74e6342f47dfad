//! Options of `larder record`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use larder_host::listen::Address;
use larder_host::tls::TlsSettings;

use super::Arguments;
use crate::exit::Usage;

/// The most threads that pass bytes on.
const MOST_THREADS: usize = 64;

/// Reads a number of threads.
pub(super) fn threads(text: &str) -> Result<NonZero<usize>, String> {
    let number = text.parse::<NonZero<usize>>().ok();
    number.filter(|number| number.get() <= MOST_THREADS).ok_or_else(|| {
        format!(
            "threads are a number from 1 to {MOST_THREADS}; write 1, which passes most loads on"
        )
    })
}

/// Reads a number of files that are kept.
pub(super) fn kept(text: &str) -> Result<NonZero<usize>, String> {
    text.parse().map_err(|_| "a number from 1; leave it out to keep all files".into())
}

/// The form of keys in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum KeyForm {
    /// Their salted hashes
    Hashed,
    /// As they are, for everybody to read
    Clear,
}

/// A share of all keys, above 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Share(pub(super) f64);

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let share = match text.strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
            None => text.parse::<f64>(),
        };
        let share = share.ok().filter(|share| *share > 0.0 && *share <= 1.0);
        share.map(Self).ok_or_else(|| format!("`{text}` is no share; write 1% or 0.01"))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A share such as 0.07 has no exact form.
        let text = format!("{:.6}", self.0 * 100.0);
        write!(f, "{} %", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// The certificates of encrypted addresses, by memcached's names.
#[derive(Debug, Args)]
#[expect(clippy::struct_field_names, reason = "the names are memcached's")]
pub(super) struct Certificates {
    /// Encrypt the addresses, those of sockets and those behind `notls:` apart: the certificates, the own one first, in PEM
    #[arg(long, value_name = "FILE", requires = "ssl_key")]
    ssl_chain_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "ssl_chain_cert")]
    ssl_key: Option<PathBuf>,
    /// The authorities whose certificates the application needs, in PEM
    #[arg(long, value_name = "FILE", requires = "ssl_chain_cert")]
    ssl_ca_cert: Option<PathBuf>,
}

impl Certificates {
    pub(super) fn are_named(&self) -> bool {
        self.ssl_chain_cert.is_some()
    }

    /// The encryption that they give.
    pub(super) fn settings(&self) -> Option<TlsSettings> {
        let (chain, key) = (self.ssl_chain_cert.clone()?, self.ssl_key.clone()?);
        let authorities = self.ssl_ca_cert.clone();
        let needs_client = authorities.is_some();
        Some(TlsSettings { chain, key, authorities, needs_client, is_newest_only: false })
    }
}

/// The addresses at which the proxy listens.
pub(super) fn addresses(arguments: &Arguments) -> Result<Vec<Address>, Usage> {
    if arguments.listen.is_empty() {
        return Err(Usage(
            "--listen: where? write 127.0.0.1:11311, or the path of a socket; or --from pcap:FILE"
                .into(),
        ));
    }
    let is_encrypted = arguments.certificates.are_named();
    let address = |text: &String| {
        let path = text.strip_prefix("unix:").or_else(|| text.contains('/').then_some(text));
        if let Some(path) = path {
            return Ok(Address::Unix(path.into(), arguments.unix_mask));
        }
        let plain = text.strip_prefix("notls:");
        let address = socket_address(plain.unwrap_or(text))?;
        let is_encrypted = is_encrypted && plain.is_none();
        Ok(if is_encrypted { Address::Tls(address) } else { Address::Tcp(address) })
    };
    arguments.listen.iter().map(address).collect()
}

/// An address with its port, or a port of 127.0.0.1. A name becomes its first address.
fn socket_address(text: &str) -> Result<SocketAddr, Usage> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    if text.parse::<IpAddr>().is_ok() || !text.contains(':') {
        return Err(Usage(format!("--listen {text}: at which port? write {text}:11311")));
    }
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| {
        Usage(format!(
            "--listen {text}: no such address; one is 127.0.0.1:11311, [::1]:11311 or a path"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_or_a_percentage() {
        for (text, share, shown) in [
            ("1%", 0.01, "1 %"),
            ("0.07", 0.07, "7 %"),
            ("100%", 1.0, "100 %"),
            ("0.1 %", 0.001, "0.1 %"),
        ] {
            let read: Share = text.parse().unwrap();
            assert!((read.0 - share).abs() < 1e-12, "{text}");
            assert_eq!(read.to_string(), shown);
        }
        for text in ["0", "0%", "101%", "2", "-1%", "x", ""] {
            assert!(text.parse::<Share>().is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_out_of_bounds_name_their_bounds() {
        assert_eq!(threads("64").unwrap().get(), 64);
        for text in ["0", "65", "100000", "-1", "x"] {
            assert!(threads(text).unwrap_err().contains("from 1 to 64; write 1"), "{text}");
        }
        assert_eq!(kept("3").unwrap().get(), 3);
        assert!(kept("0").unwrap_err().contains("from 1; leave it out"));
    }

    #[test]
    fn an_address_has_a_port() {
        for (text, shown) in
            [("11311", "127.0.0.1:11311"), ("0.0.0.0:7", "0.0.0.0:7"), ("[::1]:7", "[::1]:7")]
        {
            assert_eq!(socket_address(text).unwrap().to_string(), shown);
        }
        for (text, needle) in [("127.0.0.1", "write 127.0.0.1:11311"), ("x:y", "no such address")] {
            assert!(socket_address(text).unwrap_err().to_string().contains(needle), "{text}");
        }
    }
}
