//! The server as this machine reaches it at the start: not the proxy itself, and perhaps not there yet.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

use larder_host::connect::connect;
use larder_host::destination::Destination;
use larder_host::listen::Address;
use larder_record::Upstream;

use crate::exit::Usage;

/// The time that a server has to take a connection.
const PATIENCE: Duration = Duration::from_secs(1);

/// Refuses a proxy before itself: each connection would open the next one.
///
/// # Errors
///
/// The server's address is one at which the proxy listens.
pub(super) fn refuse_itself(addresses: &[Address], upstream: &Upstream) -> Result<(), Usage> {
    if !addresses.iter().any(|own| is_same(own, &upstream.destination)) {
        return Ok(());
    }
    Err(Usage(format!(
        "--upstream {upstream}: the proxy itself listens there; name the server's own address, or take another --listen"
    )))
}

/// The reason why the server takes no connection at the moment.
pub(super) fn trouble(destination: &Destination) -> Option<io::Error> {
    let Destination::Tcp(addresses) = destination else {
        let error = connect(destination, &mut 0).err();
        // A server with too many connections that wait is there.
        return error.filter(|error| error.kind() != ErrorKind::WouldBlock);
    };
    let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(_) => return None,
            Err(error) => last = error,
        }
    }
    Some(last)
}

fn is_same(own: &Address, server: &Destination) -> bool {
    match (own, server) {
        (Address::Unix(own, _), Destination::Unix(server)) => whole(own) == whole(server),
        (Address::Tcp(own) | Address::Tls(own), Destination::Tcp(servers)) => {
            let is_own = |ip| takes(own.ip().to_canonical(), ip);
            servers.iter().any(|it| it.port() == own.port() && is_own(it.ip().to_canonical()))
        }
        _ => false,
    }
}

/// Whether a listener of this address takes connections to that one.
fn takes(own: IpAddr, to: IpAddr) -> bool {
    if to.is_unspecified() {
        // A connection to the address of zeros goes to this machine.
        return own.is_unspecified() || own.is_loopback();
    }
    let is_heard = own.is_unspecified() && (own.is_ipv6() || to.is_ipv4());
    // Only an address of this machine can be bound.
    own == to || is_heard && UdpSocket::bind((to, 0)).is_ok()
}

/// The path without links. The file itself need not be there.
fn whole(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    fs::canonicalize(path).unwrap_or_else(|_| match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_heard_by_a_listener_of_all() {
        for (own, to, is_own) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("127.0.0.1", "0.0.0.0", true),
            ("0.0.0.0", "127.0.0.1", true),
            ("0.0.0.0", "192.0.2.1", false),
            ("0.0.0.0", "::1", false),
            ("::", "127.0.0.1", true),
        ] {
            let (own_ip, to_ip) = (own.parse().unwrap(), to.parse().unwrap());
            assert_eq!(takes(own_ip, to_ip), is_own, "{own} {to}");
        }
    }

    #[test]
    fn a_socket_is_the_same_by_another_path() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.sock");
        let other =
            folder.path().join("../").join(folder.path().file_name().unwrap()).join("x.sock");
        let own = Address::Unix(path.clone(), 0o700);
        assert!(is_same(&own, &Destination::Unix(other)));
        assert!(!is_same(&own, &Destination::Unix(folder.path().join("y.sock"))));
        assert!(trouble(&Destination::Unix(path.clone())).is_some());
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(trouble(&Destination::Unix(path)).is_none());
    }
}
