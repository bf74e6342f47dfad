//! What a client may not do to a server and to the others: each limit, on real connections.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::num::NonZero;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use larder_server::{Address, Settings};
use support::{Client, PATIENCE, Serving, lasting, settings, store};

/// A store that is called by the event loops, and one that is called by storage threads because its files are on a disk.
fn urls() -> [(String, Option<tempfile::TempDir>); 2] {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("file:{}", folder.path().join("cache").display());
    [("memory:?size=64m".into(), None), (file, Some(folder))]
}

fn each(settings: &Settings, check: impl Fn(&Serving)) {
    for (url, _folder) in urls() {
        check(&Serving::start(&url, settings.clone()));
    }
    check(&Serving::of(lasting(), settings.clone()));
}

#[test]
fn values_of_any_length_come_back_whole() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        for len in [0, 1, 4095, 65_536, 100_000, 1 << 20] {
            let value: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
            assert_eq!(client.set("key", &value), "STORED", "{len}");
            assert_eq!(client.get("key").as_ref(), Some(&value), "{len}");
        }
    });
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        for byte in b"set key 7 0 5\r\nhello\r\nget key\r\n" {
            client.send(&[*byte]);
        }
        let lines = ["STORED", "VALUE key 7 5", "hello", "END"];
        assert_eq!(lines.map(|_| client.line()), lines);
    });
}

#[test]
fn thousands_of_requests_may_arrive_at_once() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        let mut socket = client.0.get_ref().try_clone().unwrap();
        let writer = std::thread::spawn(move || {
            for i in 0..3000 {
                write!(socket, "set key{i} {i} 0 4\r\n{i:04}\r\nget key{i}\r\n").unwrap();
            }
        });
        for i in 0..3000 {
            let lines = [
                "STORED".to_owned(),
                format!("VALUE key{i} {i} 4"),
                format!("{i:04}"),
                "END".into(),
            ];
            assert_eq!([(); 4].map(|()| client.line()), lines);
        }
        writer.join().unwrap();
    });
}

#[test]
fn requests_before_the_end_of_a_client_are_answered() {
    // Far more than one turn, and than one read.
    each(&settings(), |serving| {
        let mut client = serving.client();
        for _ in 0..20 {
            client.send("mn\r\n".repeat(1000).as_bytes());
        }
        client.0.get_ref().shutdown(Shutdown::Write).unwrap();
        let mut answers = Vec::new();
        client.0.read_to_end(&mut answers).unwrap();
        assert_eq!(answers.len(), "MN\r\n".len() * 20_000);
    });
}

#[test]
fn one_line_may_ask_for_thousands_of_keys() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        for i in 0..500 {
            assert_eq!(client.set(&format!("key{i}"), &[b'v'; 2000]), "STORED");
        }
        let keys: Vec<String> = (0..5000).map(|i| format!("key{}", i % 1000)).collect();
        client.send(format!("get {}\r\n", keys.join(" ")).as_bytes());
        let mut n = 0;
        loop {
            let line = client.line();
            if line == "END" {
                break;
            }
            assert!(line.starts_with("VALUE key") && line.ends_with(" 0 2000"), "{line}");
            assert_eq!(client.line().len(), 2000);
            n += 1;
        }
        assert_eq!(n, 2500);
    });
}

#[test]
fn a_line_without_an_end_ends_its_connection_alone() {
    each(&settings(), |serving| {
        let (mut client, mut other) = (serving.client(), serving.client());
        client.send(&[b'x'; 9000]);
        assert_eq!(client.line(), "CLIENT_ERROR line too long");
        assert!(client.is_ended());
        let mut client = serving.client();
        let mut keys = b"get".to_vec();
        keys.resize(2 << 20, b'k');
        // The server may end the connection before it has taken all of it.
        let _ = client.0.get_mut().write_all(&keys);
        assert!(client.line().is_empty() || client.is_ended());
        assert_eq!(other.set("key", b"value"), "STORED");
    });
}

#[test]
fn a_value_that_is_too_large_is_refused_before_it_is_kept() {
    let settings = Settings { item_bytes: 1000, ..settings() };
    each(&settings, |serving| {
        let mut client = serving.client();
        assert_eq!(client.set("key", &[b'v'; 1000]), "STORED");
        for len in [1001, 5_000_000] {
            let refused = "SERVER_ERROR object too large for cache";
            assert_eq!(client.set("key", &vec![b'v'; len]), refused);
            // The connection goes on behind the value, and no older value is left.
            assert_eq!(client.get("key"), None);
        }
        assert_eq!(client.stat("store_too_large"), 2);
    });
}

#[test]
fn clients_that_never_read_are_ended_and_harm_nobody() {
    let settings = Settings { waiting_bytes: 4 << 20, ..settings() };
    each(&settings, |serving| {
        let mut client = serving.client();
        assert_eq!(client.set("key", &vec![b'v'; 1 << 20]), "STORED");
        // Each asks for far more than sockets and the server keep.
        let mut deaf: Vec<Client> = (0..8).map(|_| serving.client()).collect();
        for client in &mut deaf {
            client.0.get_ref().set_write_timeout(Some(Duration::from_millis(200))).unwrap();
            let _ = client.0.get_mut().write_all("get key\r\n".repeat(5000).as_bytes());
        }
        assert_eq!(client.get("key").map(|value| value.len()), Some(1 << 20));
        assert!(client.stat("waiting_bytes") <= client.settings("waiting_bytes_max"));
        drop(deaf);
        let began = Instant::now();
        while client.stat("waiting_bytes") > 0 {
            let held = client.stat("waiting_bytes");
            assert!(
                began.elapsed() < PATIENCE,
                "{held} bytes are not given back, {} connections",
                client.stat("curr_connections")
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    });
}

/// Settings with room for two requests with the largest value.
fn little_room() -> Settings {
    Settings { threads: NonZero::<usize>::MIN, waiting_bytes: 0, ..settings() }
}

#[test]
fn clients_that_announce_much_and_send_nothing_take_nothing() {
    each(&little_room(), |serving| {
        let mut clients: Vec<Client> = (0..100).map(|_| serving.client()).collect();
        for client in &mut clients {
            client.send(b"set key 0 0 1000000\r\nbegins");
        }
        let mut client = serving.client();
        for _ in 0..10 {
            assert_eq!(client.set("key", &vec![b'v'; 1 << 20]), "STORED");
            assert_eq!(client.get("key").map(|value| value.len()), Some(1 << 20));
        }
        assert_eq!(client.stat("stall_kicks"), 0);
        // Nobody was ended: the others may go on.
        for client in &mut clients[..3] {
            client.send(&vec![b'x'; 1_000_000 - "begins".len()]);
            client.send(b"\r\n");
            assert_eq!(client.line(), "STORED");
        }
    });
}

#[test]
fn half_a_request_gives_way_to_a_whole_one() {
    each(&little_room(), |serving| {
        let mut client = serving.client();
        let began = Instant::now();
        let mut halves: Vec<Client> = (0..2).map(|_| serving.client()).collect();
        for (i, half) in (1..).zip(&mut halves) {
            half.send(b"set half 0 0 1040000\r\n");
            half.send(&vec![b'h'; 900_000]);
            while client.stat("waiting_bytes") < i * 1_000_000 {
                assert!(began.elapsed() < PATIENCE);
            }
        }
        let mut refused = 0;
        while client.set("key", &vec![b'v'; 1 << 20]) != "STORED" {
            // Until the halves have waited for a second, there is no room.
            refused += 1;
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(client.get("key").map(|value| value.len()), Some(1 << 20));
        assert!(client.stat("store_no_memory") >= refused);
        assert!(client.stat("stall_kicks") > 0);
    });
}

#[test]
fn short_requests_need_no_common_room() {
    each(&little_room(), |serving| {
        let mut halves: Vec<Client> = (0..2).map(|_| serving.client()).collect();
        for client in &mut halves {
            client.send(b"set half 0 0 1040000\r\n");
            client.send(&vec![b'h'; 1_030_000]);
        }
        let mut client = serving.client();
        let value = vec![b'v'; 1000];
        for _ in 0..100 {
            assert_eq!(client.set("key", &value), "STORED");
            assert_eq!(client.get("key").as_ref(), Some(&value));
        }
        client.send("get key\r\n".repeat(1000).as_bytes());
        for _ in 0..1000 {
            let lines = ["VALUE key 0 1000", std::str::from_utf8(&value).unwrap(), "END"];
            assert_eq!(lines.map(|_| client.line()), lines);
        }
    });
}

#[test]
fn a_value_whose_key_is_too_long_is_not_read_as_requests() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        let key = "k".repeat(251);
        assert_eq!(client.set(&key, b"flush_all"), "CLIENT_ERROR bad command line format");
        assert_eq!(client.ask("mn"), "MN");
    });
}

#[test]
fn a_page_in_a_browser_asks_for_nothing() {
    each(&settings(), |serving| {
        for line in ["POST / HTTP/1.1", "GET /x HTTP/1.0", "OPTIONS * HTTP/1.1"] {
            let mut client = serving.client();
            client.send(format!("{line}\r\nHost: x\r\n\r\nset key 0 0 1\r\nv\r\n").as_bytes());
            assert!(client.is_ended(), "{line}");
        }
        assert_eq!(serving.client().get("key"), None);
    });
}

#[test]
fn many_large_values_fit_one_answer() {
    let settings = Settings { item_bytes: 8 << 20, ..settings() };
    each(&settings, |serving| {
        let mut client = serving.client();
        let value = vec![b'v'; 6 << 20];
        for (key, len) in [("a", 1), ("b", 6 << 20), ("c", 1), ("d", 6 << 20)] {
            assert_eq!(client.set(key, &value[..len]), "STORED");
        }
        client.send(format!("get{}\r\n", " a b c d absent".repeat(5)).as_bytes());
        let mut lens = Vec::new();
        loop {
            let line = client.line();
            if line == "END" {
                break;
            }
            assert!(line.starts_with("VALUE "), "{line}");
            lens.push(client.line().len());
        }
        lens.sort_unstable();
        assert_eq!(lens, [[1; 10], [6 << 20; 10]].concat());
    });
}

#[test]
fn pipelined_reads_come_back_in_their_order() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        for (key, len) in [("a", 10), ("b", 60_000), ("c", 300_000), ("d", 0)] {
            assert_eq!(client.set(key, &vec![b'v'; len]), "STORED");
        }
        let reads = "get a\r\nget none\r\nget b\r\nget d\r\nget c\r\nget a b\r\nget none\r\n";
        client.send(reads.repeat(30).as_bytes());
        let mut heard = Vec::new();
        while heard.len() < 30 * 19 {
            let line = client.line();
            heard.push(if line.len() > 30 { format!("{} bytes", line.len()) } else { line });
        }
        let once = [
            "VALUE a 0 10",
            "vvvvvvvvvv",
            "END",
            "END",
            "VALUE b 0 60000",
            "60000 bytes",
            "END",
            "VALUE d 0 0",
            "",
            "END",
            "VALUE c 0 300000",
            "300000 bytes",
            "END",
        ];
        // The two values of one request may come in any order.
        for heard in heard.chunks(19) {
            assert_eq!(heard[..once.len()], once);
            assert_eq!(heard[17..], ["END", "END"]);
        }
    });
}

#[test]
fn noreply_is_a_key_to_commands_that_read() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        let long = "k".repeat(251);
        let wrong = "CLIENT_ERROR bad command line format";
        assert_eq!(client.ask(&format!("get {long} noreply")), wrong);
        client.send(b"incr a b noreply\r\n");
        assert_eq!(client.ask("mn"), "MN");
    });
}

#[test]
fn connections_beyond_the_limit_are_told_so() {
    let settings = Settings { connections: 3, ..settings() };
    each(&settings, |serving| {
        let mut clients: Vec<Client> = (0..3).map(|_| serving.client()).collect();
        for client in &mut clients {
            assert_eq!(client.ask("mn"), "MN");
        }
        let mut refused = serving.client();
        assert_eq!(refused.line(), "ERROR Too many open connections");
        assert!(refused.is_ended());
        clients.pop();
        // The place is free once the server has seen the end.
        let began = Instant::now();
        while clients[0].stat("curr_connections") > 2 {
            assert!(began.elapsed() < PATIENCE);
        }
        assert_eq!(serving.client().ask("mn"), "MN");
        assert_eq!(clients[0].stat("rejected_connections"), 1);
    });
}

#[test]
fn who_says_nothing_is_ended_after_the_idle_time() {
    let settings = Settings { idle: Some(Duration::from_secs(1)), ..settings() };
    each(&settings, |serving| {
        let mut client = serving.client();
        assert_eq!(client.ask("mn"), "MN");
        assert!(client.is_ended());
        assert_eq!(serving.client().stat("idle_kicks"), 1);
    });
}

#[test]
fn garbage_ends_in_errors_and_nothing_else() {
    each(&settings(), |serving| {
        let mut other = serving.client();
        assert_eq!(other.set("key", b"value"), "STORED");
        let mut state = 1_u64;
        for _ in 0..50 {
            let mut client = serving.client();
            let mut bytes = b"set k 0 0 10\r\n".to_vec();
            for _ in 0..2000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                bytes.push(state.to_be_bytes()[0]);
            }
            let _ = client.0.get_mut().write_all(&bytes);
            let _ = client.0.get_ref().shutdown(Shutdown::Write);
            let mut answers = Vec::new();
            let _ = client.0.read_to_end(&mut answers);
        }
        assert_eq!(other.get("key").as_deref(), Some(&b"value"[..]));
    });
}

#[test]
fn requests_that_have_arrived_are_answered_before_the_end() {
    for (url, _folder) in urls() {
        let serving = Serving::start(&url, settings());
        let mut client = serving.client();
        assert_eq!(client.set("key", &vec![b'v'; 1 << 20]), "STORED");
        client.send(b"get key\r\n");
        // The answer has begun, so the request has arrived.
        assert_eq!(client.line(), "VALUE key 0 1048576");
        let reader = std::thread::spawn(move || {
            let mut rest = Vec::new();
            client.0.read_to_end(&mut rest).unwrap();
            rest.len()
        });
        serving.stop().unwrap();
        assert_eq!(reader.join().unwrap(), (1 << 20) + "\r\nEND\r\n".len());
    }
}

#[test]
fn a_path_is_an_address_and_vanishes_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    // A socket that a killed server has left is replaced.
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let address = Address::Unix(path.clone(), 0o600);
    let serving = Serving::at(&address, store("memory:?size=16m"), settings()).unwrap();
    let mut client = UnixStream::connect(&path).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.write_all(b"mn\r\n").unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"MN\r\n");
    // One that answers is not.
    let second = Serving::at(&address, store("memory:?size=16m"), settings());
    let told = second.err().unwrap().to_string();
    assert!(told.contains("another server has it"), "{told}");
    serving.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_restart_over_a_shared_file_is_warm() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("mmap:{}?size=16m", folder.path().join("cache").display());
    let serving = Serving::start(&url, settings());
    assert_eq!(serving.client().set("key", b"value"), "STORED");
    serving.stop().unwrap();
    let serving = Serving::start(&url, settings());
    assert_eq!(serving.client().get("key").as_deref(), Some(&b"value"[..]));
}

#[test]
fn a_delayed_flush_comes_later() {
    each(&settings(), |serving| {
        let mut client = serving.client();
        if client.ask("flush_all") != "OK" {
            return;
        }
        assert_eq!(client.set("key", b"value"), "STORED");
        assert_eq!(client.ask("flush_all 1"), "OK");
        let began = Instant::now();
        while client.get("key").is_some() {
            assert!(began.elapsed() < PATIENCE, "it never comes");
            std::thread::sleep(Duration::from_millis(10));
        }
        let refusing = Settings { allows_flush: false, ..settings() };
        let refusing = Serving::start("memory:?size=16m", refusing);
        assert_eq!(refusing.client().ask("flush_all"), "CLIENT_ERROR flush_all not allowed");
    });
}

#[test]
fn one_client_with_endless_requests_leaves_others_their_turn() {
    let settings = Settings {
        threads: NonZero::new(1).unwrap(),
        requests_a_turn: NonZero::new(10).unwrap(),
        ..settings()
    };
    each(&settings, |serving| {
        let mut other = serving.client();
        let greedy = TcpStream::connect(serving.address).unwrap();
        let mut writer = greedy.try_clone().unwrap();
        let mut reader = greedy.try_clone().unwrap();
        let writing = std::thread::spawn(move || {
            let requests = "get none\r\n".repeat(1000);
            while writer.write_all(requests.as_bytes()).is_ok() {}
        });
        let reading = std::thread::spawn(move || {
            let mut bytes = vec![0; 65_536];
            while reader.read(&mut bytes).is_ok_and(|n| n > 0) {}
        });
        // The greedy one has begun, and has had to wait.
        let began = Instant::now();
        while other.stat("conn_yields") == 0 {
            assert!(began.elapsed() < PATIENCE);
        }
        for _ in 0..100 {
            assert_eq!(other.get("none"), None);
        }
        greedy.shutdown(Shutdown::Both).unwrap();
        writing.join().unwrap();
        reading.join().unwrap();
    });
}
