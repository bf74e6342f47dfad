//! The TCP sockets of this machine and their traffic, from `sock_diag(7)`: one request and one answer for the sockets
//! of all processes. The kernel also lists sockets in the file system, but not their traffic.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket as Handle, Type};

/// `SOCK_DIAG_BY_FAMILY` of `linux/sock_diag.h`.
const BY_FAMILY: u16 = 20;
/// `INET_DIAG_INFO` of `linux/inet_diag.h`: the attribute with a `tcp_info`.
const INFO: u16 = 2;
/// The states of `net/tcp_states.h`, as bits: the state that listens, and the states in which bytes may go or have
/// gone.
const LISTENING: u32 = 1 << 10;
const CONNECTED: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;
/// The length of a netlink header, and of the message about a socket before its attributes.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
/// The offsets in a `tcp_info` of the bytes acknowledged, received, sent, and sent again.
const ACKED: usize = 120;
const RECEIVED: usize = 128;
const SENT: usize = 200;
const SENT_AGAIN: usize = 208;

/// The end of a connection, or a socket that listens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    /// The number by which the files of processes name the socket; 0 when no process has it any more.
    pub(crate) inode: u32,
    /// No other socket has had this number since the machine was started.
    pub(crate) cookie: u64,
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
    /// Bytes sent and received; `None` where the kernel does not count them.
    pub(crate) bytes: Option<Bytes>,
}

/// The traffic of a socket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Bytes {
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// All TCP sockets over which bytes may go.
pub(crate) fn connected() -> io::Result<Vec<Socket>> {
    ask(CONNECTED)
}

/// All TCP sockets that wait for connections.
pub(crate) fn listening() -> io::Result<Vec<Socket>> {
    ask(LISTENING)
}

/// The sockets that these processes have open, by their numbers; `None` where one of them does not show its files.
pub(crate) fn inodes_of(pids: impl IntoIterator<Item = u32>) -> Option<BTreeSet<u32>> {
    let mut inodes = BTreeSet::new();
    for pid in pids {
        for file in fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten() {
            let Ok(target) = fs::read_link(file.path()) else { continue };
            inodes.extend(target.to_str().and_then(inode_in));
        }
    }
    Some(inodes)
}

/// The number in `socket:[4711]`.
pub(super) fn inode_in(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn ask(states: u32) -> io::Result<Vec<Socket>> {
    let handle = Handle::new(
        Domain::from(libc::AF_NETLINK),
        Type::DGRAM,
        Some(Protocol::from(libc::NETLINK_SOCK_DIAG)),
    )?;
    // The kernel answers at once; a program that stands in for the kernel may not.
    handle.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut sockets = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    for family in [libc::AF_INET, libc::AF_INET6] {
        handle.send(&request(family, states))?;
        loop {
            let length = (&handle).read(&mut buffer)?;
            if !take(&buffer[..length], &mut sockets)? {
                break;
            }
        }
    }
    Ok(sockets)
}

/// A `nlmsghdr` and an `inet_diag_req_v2` that asks for all sockets of a family in these states.
fn request(family: libc::c_int, states: u32) -> [u8; 72] {
    let mut request = [0; 72];
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_DUMP).cast_unsigned();
    request[0..4].copy_from_slice(&72_u32.to_ne_bytes());
    request[4..6].copy_from_slice(&BY_FAMILY.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes()[..2]);
    if cfg!(target_endian = "big") {
        request[6..8].copy_from_slice(&flags.to_ne_bytes()[2..]);
    }
    request[16] = family.to_le_bytes()[0];
    request[17] = libc::IPPROTO_TCP.to_le_bytes()[0];
    request[18] = 1 << (INFO - 1);
    request[20..24].copy_from_slice(&states.to_ne_bytes());
    request
}

/// Takes the sockets out of a part of an answer; returns whether more parts follow.
fn take(mut answer: &[u8], sockets: &mut Vec<Socket>) -> io::Result<bool> {
    while answer.len() >= HEADER {
        let length = (u32_at(answer, 0) as usize).clamp(HEADER, answer.len());
        match i32::from(u16_at(answer, 4)) {
            libc::NLMSG_DONE => return Ok(false),
            libc::NLMSG_ERROR => {
                let code = if length >= HEADER + 4 { u32_at(answer, HEADER) } else { 0 };
                return Err(io::Error::from_raw_os_error(code.cast_signed().saturating_neg()));
            }
            _ => sockets.extend(socket(&answer[HEADER..length])),
        }
        answer = &answer[aligned(length).min(answer.len())..];
    }
    Ok(true)
}

/// From an `inet_diag_msg` and its attributes.
fn socket(message: &[u8]) -> Option<Socket> {
    let attributes = message.get(MESSAGE..)?;
    let address = |at: usize, port: usize| {
        let bytes = &message[at..];
        let ip = match i32::from(message[0]) {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::from_octets(bytes[..4].try_into().ok()?)),
            _ => IpAddr::V6(Ipv6Addr::from_octets(bytes[..16].try_into().ok()?)),
        };
        let port = u16::from_be_bytes([message[port], message[port + 1]]);
        Some(SocketAddr::new(ip.to_canonical(), port))
    };
    Some(Socket {
        inode: u32_at(message, 68),
        cookie: u64::from(u32_at(message, 44)) | u64::from(u32_at(message, 48)) << 32,
        local: address(8, 4)?,
        remote: address(24, 6)?,
        bytes: info(attributes).and_then(bytes),
    })
}

/// The `tcp_info` among the attributes.
fn info(mut attributes: &[u8]) -> Option<&[u8]> {
    while attributes.len() >= 4 {
        let length = usize::from(u16_at(attributes, 0)).clamp(4, attributes.len());
        if u16_at(attributes, 2) == INFO {
            return Some(&attributes[4..length]);
        }
        attributes = &attributes[aligned(length).min(attributes.len())..];
    }
    None
}

/// The bytes sent, each counted once, and the bytes received. A kernel before 4.19 counts only acknowledged bytes,
/// which stand for those sent.
fn bytes(info: &[u8]) -> Option<Bytes> {
    let number = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
    let sent = || Some(number(SENT)?.saturating_sub(number(SENT_AGAIN)?));
    Some(Bytes { sent: sent().or_else(|| number(ACKED))?, received: number(RECEIVED)? })
}

fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn every_byte_through_a_connection_is_counted_once() {
        for host in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(host).unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut server, _) = listener.accept().unwrap();
            client.write_all(&vec![1; 70_000]).unwrap();
            server.read_exact(&mut vec![0; 70_000]).unwrap();
            server.write_all(&[2; 300]).unwrap();
            client.read_exact(&mut [0; 300]).unwrap();
            let own = inodes_of([std::process::id()]).unwrap();
            let all = connected().unwrap();
            let end = |stream: &TcpStream| {
                let local = stream.local_addr().unwrap();
                *all.iter()
                    .find(|socket| socket.local == local && own.contains(&socket.inode))
                    .unwrap()
            };
            let (of_client, of_server) = (end(&client), end(&server));
            assert_eq!(of_client.bytes, Some(Bytes { sent: 70_000, received: 300 }));
            assert_eq!(of_server.bytes, Some(Bytes { sent: 300, received: 70_000 }));
            assert_eq!((of_client.remote, of_server.remote), (of_server.local, of_client.local));
            assert_ne!(of_client.cookie, of_server.cookie);
            let listens = listening().unwrap();
            let address = listener.local_addr().unwrap();
            assert!(
                listens.iter().any(|socket| socket.local == address && own.contains(&socket.inode))
            );
        }
    }

    #[test]
    fn an_answer_that_is_cut_short_is_no_socket() {
        let mut sockets = Vec::new();
        assert!(take(&[0; 20], &mut sockets).unwrap());
        assert!(
            take(&[200, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 1], &mut sockets).unwrap()
        );
        assert_eq!(sockets, []);
    }

    #[test]
    fn a_socket_is_known_by_the_link_of_its_file() {
        assert_eq!(inode_in("socket:[4711]"), Some(4711));
        assert_eq!(inode_in("pipe:[4711]"), None);
    }
}
