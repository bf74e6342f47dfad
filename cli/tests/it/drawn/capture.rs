//! A drawn trace as a capture of packets between an application and its memcached, and the recording that is made of it.

use super::Drawn;
use crate::scene::Scene;

const SYN: u8 = 2;
const ACK: u8 = 16;

/// 2026, in seconds since 1970.
const BEGAN_S: u64 = 1_775_000_000;

/// Both sides of a connection over TCP, as packets without a header of a link.
struct Connection {
    file: Vec<u8>,
    /// The next sequence numbers of the client and of the server.
    next: [u32; 2],
}

impl Connection {
    /// A file of pcap that begins with the handshake.
    fn open() -> Self {
        let mut file = Vec::new();
        file.extend(0xa1b2_c3d4_u32.to_le_bytes());
        file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend(262_144_u32.to_le_bytes());
        file.extend(101_u32.to_le_bytes());
        let mut connection = Self { file, next: [1000, 5000] };
        connection.send(0, 0, b"", SYN);
        connection.send(0, 1, b"", SYN | ACK);
        connection.send(0, 0, b"", ACK);
        connection
    }

    /// A packet of one side: 0 for the client, 1 for the server.
    fn send(&mut self, ms: u64, side: usize, bytes: &[u8], flags: u8) {
        let ports = [[40_000_u16, 11_211], [11_211, 40_000]][side];
        let hosts = [[1, 2], [2, 1]][side];
        let len = u16::try_from(40 + bytes.len()).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend(len.to_be_bytes());
        packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        packet.extend(hosts.iter().flat_map(|host| [10, 0, 0, *host]));
        packet.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        packet.extend(self.next[side].to_be_bytes());
        packet.extend(self.next[1 - side].to_be_bytes());
        packet.extend([5 << 4, flags, 0xff, 0xff, 0, 0, 0, 0]);
        packet.extend(bytes);
        self.next[side] += u32::try_from(bytes.len()).unwrap() + u32::from(flags & SYN > 0);
        let seconds = u32::try_from(BEGAN_S + ms / 1000).unwrap();
        let micros = u32::try_from(ms % 1000 * 1000).unwrap();
        for word in [seconds, micros, len.into(), len.into()] {
            self.file.extend(word.to_le_bytes());
        }
        self.file.extend(packet);
    }
}

/// The request of an operation, and the server's answer.
fn said(row: &Drawn) -> (String, String) {
    let (key, ttl) = (format!("k{}", row.key), row.ttl.unwrap_or(0));
    let value = "v".repeat(row.size.unwrap_or(row.found));
    let answer = match row.result {
        Some("hit") => format!("VALUE {key} 0 {}\r\n{value}\r\nEND\r\n", value.len()),
        Some("miss") => "END\r\n".to_owned(),
        result => format!("{}\r\n", result.unwrap().to_uppercase()),
    };
    let request = match row.operation {
        "get" => format!("get {key}\r\n"),
        "gat" => format!("gat {ttl} {key}\r\n"),
        "touch" => format!("touch {key} {ttl}\r\n"),
        "delete" => format!("delete {key}\r\n"),
        "cas" => format!("cas {key} 0 {ttl} {} 7\r\n{value}\r\n", value.len()),
        store => format!("{store} {key} 0 {ttl} {}\r\n{value}\r\n", value.len()),
    };
    (request, answer)
}

/// Makes a recording of a capture of the operations.
pub(super) fn recorded(scene: &Scene, rows: &[Drawn], file: &str) {
    let mut connection = Connection::open();
    for row in rows {
        let (request, answer) = said(row);
        connection.send(row.ms, 0, request.as_bytes(), ACK);
        connection.send(row.ms, 1, answer.as_bytes(), ACK);
    }
    scene.write("drawn.pcap", connection.file);
    let record =
        ["record", "--from", "pcap:drawn.pcap", "--upstream", "memcached://10.0.0.2:11211"];
    let keys = ["--keys", "clear", "--overwrite", "-o", file];
    scene.larder(&[&record[..], &keys].concat()).ends_with(0);
}
