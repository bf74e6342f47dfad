//! The headers of a packet: Ethernet with its tags, Linux' cooked headers, loopback, or IP at once; then IPv4 or IPv6, and TCP.
//! Packets within other packets are not read. They are reported by the kind of the outer ones.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket, TransportSlice};

/// A segment of TCP.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    /// The number of its first byte.
    pub(super) number: u32,
    /// The number of the next byte that its sender expects.
    pub(super) expects: Option<u32>,
    pub(super) is_first: bool,
    pub(super) is_last: bool,
    pub(super) is_reset: bool,
    pub(super) bytes: &'a [u8],
    /// Bytes behind these that the capture has left out.
    pub(super) n_cut: u32,
}

/// What a packet is.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Tcp(Segment<'a>),
    /// A part of a packet of IP.
    Fragment,
    /// Another packet is within it.
    Within(Tunnel),
    Other,
    /// Its first header is of a kind that is not read.
    UnknownLink,
}

/// What carries other packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tunnel {
    /// Labels before the packet, as providers set them.
    Mpls,
    /// A session over Ethernet, as of DSL.
    Pppoe,
    /// Ethernet in UDP, as between virtual machines or containers.
    Vxlan,
    /// The same, with options.
    Geneve,
    /// Packets of any kind in IP.
    Gre,
    /// IP in IP.
    IpInIp,
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mpls => "MPLS",
            Self::Pppoe => "PPPoE",
            Self::Vxlan => "VXLAN",
            Self::Geneve => "Geneve",
            Self::Gre => "GRE",
            Self::IpInIp => "IP",
        })
    }
}

/// Kinds of packets behind Ethernet that have packets in them: MPLS to one and to many, and that of DSL.
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE: u16 = 0x8864;

/// The ports of UDP to which packets with packets in them go: VXLAN's, that of Linux before it, and Geneve's.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;

/// Kinds of the first header, as <https://www.tcpdump.org/linktypes.html> lists them.
const NULL: i32 = 0;
const ETHERNET: i32 = 1;
const LOOP: i32 = 108;
const LINUX_SLL: i32 = 113;
const LINUX_SLL2: i32 = 276;

/// Reads the headers of a packet.
pub(super) fn content(link: i32, data: &[u8]) -> Content<'_> {
    let sliced = match link {
        ETHERNET => LaxSlicedPacket::from_ethernet(data).ok(),
        // The family stands before the packet, in the machine's byte order; the packet has it too.
        NULL | LOOP => data.get(4..).and_then(|ip| LaxSlicedPacket::from_ip(ip).ok()),
        LINUX_SLL => cooked(data, 14, 16),
        LINUX_SLL2 => cooked(data, 0, 20),
        12 | 14 | 101 | 228 | 229 => LaxSlicedPacket::from_ip(data).ok(),
        _ => return Content::UnknownLink,
    };
    sliced.as_ref().map_or(Content::Other, of_ip)
}

/// A cooked header of Linux, with the kind of the packet at a place.
fn cooked(data: &[u8], kind: usize, len: usize) -> Option<LaxSlicedPacket<'_>> {
    let kind = data.get(kind..kind + 2)?;
    let kind = EtherType(u16::from_be_bytes([kind[0], kind[1]]));
    Some(LaxSlicedPacket::from_ether_type(kind, data.get(len..)?))
}

fn of_ip<'a>(packet: &LaxSlicedPacket<'a>) -> Content<'a> {
    let (source, destination, payload, announced) = match &packet.net {
        Some(LaxNetSlice::Ipv4(ip)) => {
            let header = ip.header();
            let len = usize::from(header.total_len()).saturating_sub(header.slice().len());
            let ends = (header.source_addr().into(), header.destination_addr().into());
            (ends.0, ends.1, ip.payload(), len)
        }
        Some(LaxNetSlice::Ipv6(ip)) => {
            let header = ip.header();
            let ends: (IpAddr, IpAddr) =
                (header.source_addr().into(), header.destination_addr().into());
            (ends.0, ends.1, ip.payload(), usize::from(header.payload_length()))
        }
        _ => return tunnel(packet).map_or(Content::Other, Content::Within),
    };
    if payload.fragmented {
        return Content::Fragment;
    }
    let Some(TransportSlice::Tcp(tcp)) = &packet.transport else {
        return tunnel(packet).map_or(Content::Other, Content::Within);
    };
    let n_cut =
        if payload.incomplete { announced.saturating_sub(payload.payload.len()) } else { 0 };
    Content::Tcp(Segment {
        from: SocketAddr::new(source, tcp.source_port()),
        to: SocketAddr::new(destination, tcp.destination_port()),
        number: tcp.sequence_number(),
        expects: tcp.ack().then(|| tcp.acknowledgment_number()),
        is_first: tcp.syn(),
        is_last: tcp.fin(),
        is_reset: tcp.rst(),
        bytes: tcp.payload(),
        n_cut: u32::try_from(n_cut).unwrap_or(0),
    })
}

/// What a packet without TCP has other packets in, where it has.
fn tunnel(packet: &LaxSlicedPacket<'_>) -> Option<Tunnel> {
    if let Some(TransportSlice::Udp(udp)) = &packet.transport {
        return match udp.destination_port() {
            port if VXLAN.contains(&port) => Some(Tunnel::Vxlan),
            GENEVE => Some(Tunnel::Geneve),
            _ => None,
        };
    }
    if let Some(payload) = packet.ip_payload() {
        return match payload.ip_number {
            IpNumber::GRE => Some(Tunnel::Gre),
            IpNumber::IPV4 | IpNumber::IPV6 => Some(Tunnel::IpInIp),
            _ => None,
        };
    }
    match packet.ether_payload()?.ether_type.0 {
        kind if MPLS.contains(&kind) => Some(Tunnel::Mpls),
        PPPOE => Some(Tunnel::Pppoe),
        _ => None,
    }
}
