//! Captures of real conversations: their rows are those that a proxy records of the same conversation.

use std::io::{Cursor, Read as _, Write as _};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use larder_record::{CaptureFile, Captured, Keys, Tunnel, Upstream, Writer};
use larder_store::StoreUrl;
use larder_testkit::{Memcached, PATIENCE, Random};

use crate::setup::{Kept, Noted, Running, silent};
use crate::transcripts::text_requests;
use crate::{Case, NOTHING, WITH_MEMCACHED};

pub(crate) const CASES: &[Case] = &[
    (WITH_MEMCACHED, "a_capture_has_the_rows_that_a_proxy_has", as_a_proxy),
    (WITH_MEMCACHED, "segments_out_of_order_and_twice_change_nothing", shuffled),
    (WITH_MEMCACHED, "a_gap_costs_the_operations_around_it_and_is_counted", gap),
    (WITH_MEMCACHED, "a_connection_that_was_open_before_is_joined_at_a_request", joined),
    (NOTHING, "what_is_encrypted_is_counted", encrypted),
    (NOTHING, "a_compressed_capture_is_read_as_it_was", compressed),
    (NOTHING, "packets_within_others_are_told_by_the_kind_of_these", within),
    (NOTHING, "a_file_that_is_no_capture_is_told_in_a_line", refused),
    (WITH_MEMCACHED, "no_bytes_crash_the_reader_of_captures", noise),
];

/// A segment of a conversation.
#[derive(Debug, Clone)]
struct Sent {
    is_request: bool,
    bytes: Vec<u8>,
    number: u32,
    expects: u32,
    flags: u8,
}

const SYN: u8 = 2;
const FIN: u8 = 1;
const ACK: u8 = 16;

/// A conversation through a proxy: what each side has said in turns, and the rows of the proxy.
fn conversation(seed: u64) -> (Vec<(bool, Vec<u8>)>, Vec<Noted>) {
    let server = Memcached::start();
    let (proxy, kept) = Running::before(&format!("memcached://{}", server.address()));
    let mut socket = proxy.connect();
    let requests = text_requests(seed, 200, [0, 1, 100, 1000, 3000]);
    let mut rest = requests.strip_suffix(b"quit\r\n").unwrap();
    let mut said = Vec::new();
    let mut answers = vec![0; 1 << 20];
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    while !rest.is_empty() {
        // A piece ends with a line, which may be one within a request.
        let until = rest.len().min(3000);
        let end = memchr(&rest[until - 1..]).map_or(rest.len(), |at| until + at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        socket.write_all(piece).unwrap();
        said.push((true, piece.to_vec()));
        while let Ok(n) = socket.read(&mut answers) {
            said.push((false, answers[..n].to_vec()));
        }
    }
    // Nothing is left behind.
    socket.write_all(b"mn\r\n").unwrap();
    said.push((true, b"mn\r\n".to_vec()));
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    while !said.last().unwrap().1.ends_with(b"MN\r\n") {
        let n = socket.read(&mut answers).unwrap();
        said.push((false, answers[..n].to_vec()));
    }
    drop(socket);
    assert_eq!(proxy.end().0.n_lost, 0);
    (said, kept.rows())
}

/// A conversation of a client that waits for its answers, and the rows of a proxy.
fn waiting_conversation(n: usize) -> (Vec<(bool, Vec<u8>)>, Vec<Noted>) {
    let server = Memcached::start();
    let (proxy, kept) = Running::before(&format!("memcached://{}", server.address()));
    let mut socket = proxy.connect();
    let mut said = Vec::new();
    for number in 0..n {
        let value = "v".repeat(3000);
        let requests =
            format!("set key{number} 0 0 3000\r\n{value}\r\nget key{number} absent\r\nmn\r\n");
        socket.write_all(requests.as_bytes()).unwrap();
        said.push((true, requests.into_bytes()));
        let mut answers = Vec::new();
        let mut piece = [0; 10_000];
        while !answers.ends_with(b"MN\r\n") {
            let n = socket.read(&mut piece).unwrap();
            answers.extend_from_slice(&piece[..n]);
        }
        said.push((false, answers));
    }
    drop(socket);
    assert_eq!(proxy.end().0.n_lost, 0);
    (said, kept.rows())
}

fn memchr(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// The segments of a conversation. The numbers of each side go around 2³².
fn segments(said: &[(bool, Vec<u8>)]) -> Vec<Sent> {
    let mut next = [u32::MAX - 5000, u32::MAX - 900];
    let mut sent = Vec::new();
    let mut push = |next: &mut [u32; 2], is_request: bool, bytes: &[u8], flags: u8| {
        let side = usize::from(!is_request);
        let sequence = flags & (SYN | FIN) != 0;
        sent.push(Sent {
            is_request,
            bytes: bytes.to_vec(),
            number: next[side],
            expects: next[1 - side],
            flags,
        });
        next[side] =
            next[side].wrapping_add(u32::try_from(bytes.len()).unwrap() + u32::from(sequence));
    };
    push(&mut next, true, b"", SYN);
    push(&mut next, false, b"", SYN | ACK);
    push(&mut next, true, b"", ACK);
    for (is_request, bytes) in said {
        for piece in bytes.chunks(1448) {
            push(&mut next, *is_request, piece, ACK);
        }
    }
    push(&mut next, true, b"", FIN | ACK);
    push(&mut next, false, b"", FIN | ACK);
    sent
}

/// The first header of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Ethernet,
    Tagged,
    Loopback,
    Cooked,
    Cooked2,
    Raw,
}

/// A packet, 4 or 6 being the version of IP.
fn packet(sent: &Sent, link: Link, version: u8) -> Vec<u8> {
    let ports = if sent.is_request { [40_000_u16, 11_211] } else { [11_211, 40_000] };
    let mut tcp = Vec::new();
    tcp.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    tcp.extend(sent.number.to_be_bytes());
    tcp.extend(sent.expects.to_be_bytes());
    // Twelve bytes of options, as the times of segments take.
    tcp.extend([8 << 4, sent.flags, 0xff, 0xff, 0, 0, 0, 0]);
    tcp.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    tcp.extend(&sent.bytes);
    let hosts = if sent.is_request { [1, 2] } else { [2, 1] };
    let mut ip = Vec::new();
    if version == 4 {
        let len = u16::try_from(20 + tcp.len()).unwrap();
        ip.extend([0x45, 0]);
        ip.extend(len.to_be_bytes());
        ip.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        ip.extend(hosts.iter().flat_map(|host| [10, 0, 0, *host]));
    } else {
        ip.extend([0x60, 0, 0, 0]);
        ip.extend(u16::try_from(tcp.len()).unwrap().to_be_bytes());
        ip.extend([6, 64]);
        for host in hosts {
            ip.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
        }
    }
    ip.extend(tcp);
    let kind: [u8; 2] = if version == 4 { [8, 0] } else { [0x86, 0xdd] };
    let head: Vec<u8> = match link {
        Link::Ethernet => [&[2; 12][..], &kind].concat(),
        Link::Tagged => [&[2; 12][..], &[0x81, 0, 0, 7], &kind].concat(),
        Link::Loopback => vec![if version == 4 { 2 } else { 10 }, 0, 0, 0],
        Link::Cooked => [&[0; 14][..], &kind].concat(),
        Link::Cooked2 => [&kind[..], &[0; 18]].concat(),
        Link::Raw => Vec::new(),
    };
    let mut bytes = [head, ip].concat();
    if link == Link::Ethernet && bytes.len() < 60 {
        // Short frames of Ethernet are filled up.
        bytes.resize(60, 0xee);
    }
    bytes
}

fn link_number(link: Link) -> u32 {
    match link {
        Link::Ethernet | Link::Tagged => 1,
        Link::Loopback => 0,
        Link::Cooked => 113,
        Link::Cooked2 => 276,
        Link::Raw => 101,
    }
}

/// A file of pcap, with packets 20 ms apart.
fn pcap(sent: &[Sent], link: Link, version: u8) -> Vec<u8> {
    pcap_of(sent.iter().map(|sent| packet(sent, link, version)), link)
}

fn pcap_of(packets: impl Iterator<Item = Vec<u8>>, link: Link) -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(0xa1b2_c3d4_u32.to_le_bytes());
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(262_144_u32.to_le_bytes());
    file.extend(link_number(link).to_le_bytes());
    for (number, packet) in (0_u32..).zip(packets) {
        let len = u32::try_from(packet.len()).unwrap();
        let time = [1_800_000_000 + number / 50, number % 50 * 20_000];
        for word in [time[0], time[1], len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// The same as pcapng, in nanoseconds.
fn pcapng(sent: &[Sent], link: Link, version: u8) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let len = u32::try_from(12 + body.len().next_multiple_of(4)).unwrap();
        let mut bytes = [kind.to_le_bytes(), len.to_le_bytes()].concat();
        bytes.extend(body);
        bytes.resize(len as usize - 4, 0);
        bytes.extend(len.to_le_bytes());
        bytes
    };
    let mut file = block(
        0x0a0d_0d0a,
        &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    );
    let mut interface = link_number(link).to_le_bytes().to_vec();
    interface.extend([0; 4]);
    // The option that tells the unit of time, a billionth.
    interface.extend([9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(block(1, &interface));
    for (number, sent) in (0_u64..).zip(sent) {
        let packet = packet(sent, link, version);
        let len = u32::try_from(packet.len()).unwrap();
        let at = 1_800_000_000_000_000_000 + number * 20_000_000;
        let mut body = Vec::new();
        for word in [
            0,
            u32::try_from(at >> 32).unwrap(),
            u32::try_from(at & 0xffff_ffff).unwrap(),
            len,
            len,
        ] {
            body.extend(word.to_le_bytes());
        }
        body.extend(packet);
        file.extend(block(6, &body));
    }
    file
}

/// Records a capture.
fn record(file: Vec<u8>) -> (Captured, Vec<Noted>) {
    let upstream = StoreUrl::parse("memcached://0.0.0.0:11211").unwrap();
    let upstream = Upstream::of_url(&upstream).unwrap();
    let kept = Kept::default();
    let (writer, hand) = Writer::start(Box::new(kept.clone())).unwrap();
    let keys = Keys::new(&[7; 16]).in_clear(true);
    let capture = CaptureFile::open(Cursor::new(file), &upstream).unwrap();
    let seen = capture.record(keys, &hand, &silent(), &AtomicBool::new(false));
    writer.finish();
    (seen.unwrap(), kept.rows())
}

/// Rows without what differs from recording to recording.
fn alike(rows: &[Noted]) -> Vec<Noted> {
    rows.iter().map(|row| Noted { request: 0, connection: 0, ..row.clone() }).collect()
}

fn as_a_proxy() {
    let (said, rows) = conversation(21);
    assert!(rows.len() > 200);
    let sent = segments(&said);
    for (link, version) in [
        (Link::Ethernet, 4),
        (Link::Tagged, 6),
        (Link::Loopback, 4),
        (Link::Cooked, 6),
        (Link::Cooked2, 4),
        (Link::Raw, 6),
    ] {
        for file in [pcap(&sent, link, version), pcapng(&sent, link, version)] {
            let (seen, captured) = record(file);
            assert_eq!(alike(&captured), alike(&rows), "{link:?} {version} {seen:?}");
            assert_eq!((seen.n_connections, seen.n_gaps, seen.n_lost), (1, 0, 0));
            assert_eq!((seen.n_repeated, seen.cut_at, seen.n_joined), (0, None, 0));
        }
    }
    // A file that ends within a packet has all before it.
    let whole = pcap(&sent, Link::Ethernet, 4);
    let (seen, captured) = record(whole[..whole.len() - 10].to_vec());
    assert!(seen.cut_at.is_some_and(|at| at < whole.len()));
    assert_eq!(alike(&captured), alike(&rows));
}

fn shuffled() {
    let (said, rows) = conversation(22);
    let in_order = segments(&said);
    for seed in 0..20 {
        let mut random = Random::new(seed);
        let mut sent = in_order.clone();
        // Segments change their places, those of different sides too; the first three and the last two open and close.
        for place in 3..sent.len() - 3 {
            if random.below(4) == 0 {
                sent.swap(place, place + 1);
            }
        }
        for _ in 0..30 {
            let place = 3 + random.below(sent.len() - 6);
            let again = sent[place].clone();
            let later = (place + random.below(10)).min(sent.len() - 3);
            sent.insert(later, again);
        }
        let (seen, captured) = record(pcapng(&sent, Link::Ethernet, 4));
        assert_eq!(alike(&captured), alike(&rows), "seed {seed}: {seen:?}");
        assert_eq!((seen.n_gaps, seen.n_lost), (0, 0));
        assert!(seen.n_repeated > 0);
    }
}

fn gap() {
    let (said, rows) = waiting_conversation(60);
    let mut sent = segments(&said);
    let is_long = |sent: &Sent| sent.is_request && sent.bytes.len() > 1000;
    let place = sent.iter().skip(20).position(is_long).unwrap() + 20;
    sent.remove(place);
    let (seen, captured) = record(pcap(&sent, Link::Ethernet, 4));
    assert_eq!((seen.n_gaps, seen.n_joined, seen.n_lost), (1, 1, 0), "{seen:?}");
    let (rows, captured) = (alike(&rows), alike(&captured));
    assert!(
        captured.len() < rows.len() && captured.len() > 20,
        "{} of {}",
        captured.len(),
        rows.len()
    );
    // What is there is right, and in order.
    let mut left = rows.iter();
    assert!(captured.iter().all(|row| left.any(|other| other == row)));
    assert_eq!(captured.last(), rows.last());
}

fn joined() {
    let (said, rows) = waiting_conversation(20);
    let sent = segments(&said);
    // The capture begins within the first value that is long.
    let place = sent.iter().skip(5).position(|sent| sent.bytes.len() > 1400).unwrap() + 6;
    let (seen, captured) = record(pcap(&sent[place..], Link::Ethernet, 4));
    assert_eq!((seen.n_gaps, seen.n_joined, seen.n_skipped, seen.n_lost), (0, 1, 0, 0), "{seen:?}");
    let (rows, captured) = (alike(&rows), alike(&captured));
    assert!(rows.ends_with(&captured) && captured.len() > 20, "{} rows", captured.len());
}

fn encrypted() {
    let said =
        [(true, b"\x16\x03\x01\x02\x00\x01\x00".to_vec()), (false, b"\x16\x03\x03".to_vec())];
    let (seen, captured) = record(pcap(&segments(&said), Link::Ethernet, 4));
    assert_eq!((seen.n_encrypted, seen.n_lost, captured.len()), (1, 0, 0));
}

fn compressed() {
    let said = [(true, b"get a\r\n".to_vec()), (false, b"END\r\n".to_vec())];
    let plain = pcap(&segments(&said), Link::Ethernet, 4);
    let (_, rows) = record(plain.clone());
    assert_eq!(rows.len(), 1);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(&plain).unwrap();
    let zstd = zstd::encode_all(plain.as_slice(), 1).unwrap();
    for file in [gzip.finish().unwrap(), xz.finish().unwrap(), zstd] {
        let (seen, captured) = record(file);
        assert_eq!((captured, seen.cut_at), (rows.clone(), None));
    }
}

/// A packet of Ethernet with the header of a tunnel before the packet that it carries.
fn carried(within: Tunnel, inner: &[u8]) -> Vec<u8> {
    let ethernet = |kind: u16| [&[2; 12][..], &kind.to_be_bytes()].concat();
    match within {
        Tunnel::Mpls => [&ethernet(0x8847)[..], &[0, 1, 1, 64], &inner[14..]].concat(),
        Tunnel::Pppoe => {
            [&ethernet(0x8864)[..], &[0x11, 0, 0, 1, 0, 90, 0, 0x21], &inner[14..]].concat()
        }
        _ => {
            let udp_len = u16::try_from(16 + inner.len()).unwrap();
            let mut packet = ethernet(0x0800);
            packet.extend([0x45, 0]);
            packet.extend((20 + udp_len).to_be_bytes());
            packet.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend([0x9c, 0x40]);
            packet.extend(4789_u16.to_be_bytes());
            packet.extend(udp_len.to_be_bytes());
            packet.extend([0, 0, 8, 0, 0, 0, 0, 0, 1, 0]);
            packet.extend(inner);
            packet
        }
    }
}

fn within() {
    let said = [(true, b"get a\r\n".to_vec()), (false, b"END\r\n".to_vec())];
    let sent = segments(&said);
    for tunnel in [Tunnel::Mpls, Tunnel::Pppoe, Tunnel::Vxlan] {
        let packets = sent.iter().map(|sent| carried(tunnel, &packet(sent, Link::Ethernet, 4)));
        let (seen, captured) = record(pcap_of(packets, Link::Ethernet));
        assert_eq!((seen.within, seen.n_within, captured.len()), (Some(tunnel), seen.n_packets, 0));
        assert_eq!(seen.n_packets, sent.len() as u64);
    }
    let (seen, captured) = record(pcap(&sent, Link::Tagged, 4));
    assert_eq!((seen.within, seen.n_within, captured.len()), (None, 0, 1));
}

fn refused() {
    let open = |bytes: &[u8], url: &str| {
        let upstream = Upstream::of_url(&StoreUrl::parse(url).unwrap()).unwrap();
        CaptureFile::open(Cursor::new(bytes.to_vec()), &upstream).unwrap_err()
    };
    for (bytes, needle) in [
        (&b""[..], "has no packets"),
        (b"time,key\n1,a\nand so on, for a while", "neither pcap nor pcapng"),
        (b"\x1f\x8b\x08\0\0\0\0", "gzip data cut off or broken"),
        (&pcap(&[], Link::Raw, 4)[..20], "neither pcap nor pcapng"),
    ] {
        let error = open(bytes, "memcached://127.0.0.1");
        assert!(error.contains(needle) && !error.contains('\n'), "{error}");
    }
    assert!(open(b"", "memcached:/run/m.sock").contains("Unix socket"));
    assert!(open(b"", "memcacheds://127.0.0.1?insecure=on").contains("encrypted"));
}

fn noise() {
    let (said, _) = conversation(25);
    let sent = segments(&said[..said.len().min(40)]);
    let files = [pcap(&sent, Link::Cooked2, 4), pcapng(&sent, Link::Ethernet, 6)];
    let upstream = StoreUrl::parse("memcached://0.0.0.0:11211").unwrap();
    let upstream = Upstream::of_url(&upstream).unwrap();
    let (writer, hand) = Writer::start(Box::new(Kept::default())).unwrap();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let mut file = files[random.below(2)].clone();
        for _ in 0..=random.below(60) {
            let place = random.below(file.len());
            file[place] = random.bytes(1)[0];
        }
        file.truncate(1 + random.below(file.len()));
        let Ok(capture) = CaptureFile::open(Cursor::new(file), &upstream) else { continue };
        let keys = Keys::new(&[7; 16]);
        let seen = capture.record(keys, &hand, &silent(), &AtomicBool::new(false)).unwrap();
        assert!(seen.n_packets < 100_000);
    }
    writer.finish();
}
