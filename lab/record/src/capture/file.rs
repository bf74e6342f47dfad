//! Packets of a capture file, one after the other: pcap and pcapng, compressed as a trace may be or not. A file may be longer than
//! memory, or a pipe.

use std::io::{Cursor, Read};

use larder_workload::trace::decompressed;
use pcap_parser::pcapng::Block;
use pcap_parser::traits::{PcapNGPacketBlock as _, PcapReaderIterator};
use pcap_parser::{PcapBlockOwned, PcapError, create_reader};

/// Bytes of the file that are held at first, and the longest block that is taken.
const FIRST_BYTES: usize = 256 << 10;
const MOST_BYTES: usize = 64 << 20;

/// The most interfaces of a file.
const MOST_INTERFACES: usize = 1 << 16;

const NANOS: u128 = 1_000_000_000;

/// A packet.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// Nanoseconds since 1970.
    pub(super) at_ns: u64,
    /// The kind of its first header, as pcap counts them.
    pub(super) link: i32,
    pub(super) data: &'a [u8],
}

/// The end of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The end follows a complete packet, or the reader wants no more packets.
    Whole,
    /// The file ends or is damaged within a block that begins at this byte.
    Cut(usize),
}

/// How the packets of an interface are read.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: i32,
    /// Units of time in a second, and the seconds to add.
    resolution: u128,
    offset_s: i64,
}

/// The file.
pub(super) struct Packets {
    reader: Box<dyn PcapReaderIterator + Send>,
    interfaces: Vec<Interface>,
    capacity: usize,
    last_ns: u64,
}

impl Packets {
    /// Reads the beginning of a file.
    ///
    /// # Errors
    ///
    /// The file is no capture; the message says what it looks like.
    pub(super) fn open(input: impl Read + Send + 'static) -> Result<Self, String> {
        let unread = |error| format!("cannot be read: {error}");
        let mut input = decompressed(input).map_err(unread)?;
        let head = head(&mut input).map_err(unread)?;
        let not = |what: &str| format!("{what}; write a capture by `tcpdump -w FILE` or Wireshark");
        if head.len() < 4 {
            return Err(not("has no packets"));
        }
        let whole = Cursor::new(head).chain(input);
        let reader = create_reader(FIRST_BYTES, whole);
        let reader = reader.map_err(|_| not("is neither pcap nor pcapng"))?;
        Ok(Self { reader, interfaces: Vec::new(), capacity: FIRST_BYTES, last_ns: 0 })
    }

    /// Gives each packet to `take`, until that returns `false`.
    ///
    /// # Errors
    ///
    /// The system cannot read the file.
    pub(super) fn each(
        &mut self,
        mut take: impl FnMut(&Packet<'_>) -> bool,
    ) -> Result<End, String> {
        loop {
            let held = self.reader.data().len();
            let missing = match self.reader.next() {
                Ok((len, block)) => {
                    let (interfaces, last) = (&mut self.interfaces, &mut self.last_ns);
                    let packet = packet_of(&block, interfaces, last);
                    let goes_on = packet.is_none_or(|packet| take(&packet));
                    drop(block);
                    self.reader.consume(len);
                    if !goes_on {
                        return Ok(End::Whole);
                    }
                    continue;
                }
                Err(PcapError::Eof) => return Ok(End::Whole),
                Err(PcapError::BufferTooSmall) => true,
                Err(PcapError::Incomplete(_)) => false,
                Err(_) => return Ok(End::Cut(self.reader.consumed())),
            };
            if missing && !self.grow() {
                return Ok(End::Cut(self.reader.consumed()));
            }
            if self.reader.refill().is_err() {
                return Err("cannot be read further".into());
            }
            // A full buffer takes nothing more.
            if self.reader.data().len() == held && !self.reader.reader_exhausted() && !self.grow() {
                return Ok(End::Cut(self.reader.consumed()));
            }
        }
    }

    fn grow(&mut self) -> bool {
        self.capacity *= 2;
        self.capacity <= MOST_BYTES && self.reader.grow(self.capacity)
    }
}

/// The first bytes of a file, enough for its first header. A pipe gives few bytes at once.
fn head(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.by_ref().take(24).read_to_end(&mut head)?;
    if let [0x0a, 0x0d, 0x0d, 0x0a, a, b, c, d, order, ..] = head[..] {
        let len = [a, b, c, d];
        let len = if order == 0x1a { u32::from_be_bytes(len) } else { u32::from_le_bytes(len) };
        let more = u64::from(len).saturating_sub(24).min(FIRST_BYTES as u64 / 2);
        input.by_ref().take(more).read_to_end(&mut head)?;
    }
    Ok(head)
}

/// The packet of a block, if it has one. Blocks that describe interfaces are noted.
fn packet_of<'a>(
    block: &'a PcapBlockOwned<'_>,
    interfaces: &mut Vec<Interface>,
    last_ns: &mut u64,
) -> Option<Packet<'a>> {
    let (interface, units, data) = match block {
        PcapBlockOwned::LegacyHeader(header) => {
            let resolution =
                if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
            // The upper bits are about checksums at the end of packets.
            let link = header.network.0 & 0x0fff_ffff;
            interfaces.push(Interface { link, resolution, offset_s: 0 });
            return None;
        }
        PcapBlockOwned::Legacy(packet) => {
            let interface = interfaces.first()?;
            let resolution = interface.resolution;
            let units = u128::from(packet.ts_sec) * resolution + u128::from(packet.ts_usec);
            (interface, Some(units), packet.data)
        }
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            return None;
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(about)) => {
            let resolution = resolution(about.if_tsresol);
            if interfaces.len() < MOST_INTERFACES {
                interfaces.push(Interface {
                    link: about.linktype.0,
                    resolution,
                    offset_s: about.ts_offset(),
                });
            }
            return None;
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
            let interface = interfaces.get(usize::try_from(packet.if_id).ok()?)?;
            let units = u128::from(packet.ts_high) << 32 | u128::from(packet.ts_low);
            (interface, Some(units), packet.packet_data())
        }
        // Such a packet has no time: it counts as one of the time of the packet before it.
        PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
            (interfaces.first()?, None, packet.packet_data())
        }
        PcapBlockOwned::NG(_) => return None,
    };
    if let Some(units) = units {
        let since = i128::try_from(units * NANOS / interface.resolution).ok()?;
        let at = since + i128::from(interface.offset_s) * 1_000_000_000;
        *last_ns = u64::try_from(at.max(0)).unwrap_or(u64::MAX / 2);
    }
    Some(Packet { at_ns: *last_ns, link: interface.link, data })
}

/// Units of time in a second, by the option `if_tsresol`: a power of ten, or of two where the top bit is set. `pcap-parser`
/// knows the first only. One that no number holds is a damaged option, and counts as the default.
fn resolution(option: u8) -> u128 {
    let exponent = u32::from(option & 0x7f);
    let base: u128 = if option & 0x80 == 0 { 10 } else { 2 };
    base.checked_pow(exponent).unwrap_or(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resolution_is_a_power_of_ten_or_with_the_top_bit_of_two() {
        for (option, expected) in [
            (0, 1),
            (6, 1_000_000),
            (9, 1_000_000_000),
            (38, 10_u128.pow(38)),
            (39, 1_000_000),
            (0x80, 1),
            (0x94, 1 << 20),
            (0x9e, 1 << 30),
            (0xff, 1 << 127),
        ] {
            assert_eq!(resolution(option), expected, "{option:#x}");
        }
    }
}
