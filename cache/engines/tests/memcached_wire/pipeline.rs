//! Requests that are sent without waiting.

use larder_store::{Answer, Delta, Initial, Pipeline, Put, SetOptions};
use larder_testkit::Peer;

use crate::memcached_support::memcached;
use crate::session_at;
use crate::session_support::open;

/// The answers to all outstanding requests: each with its number, as text.
fn answers(pipeline: &mut dyn Pipeline) -> Vec<(usize, String)> {
    let (mut told, mut room) = (Vec::new(), vec![0; 300]);
    let text = |value: &[u8]| match value.len() {
        0..20 => String::from_utf8_lossy(value).into_owned(),
        len => format!("{len} bytes"),
    };
    while pipeline.n_outstanding() > 0 {
        pipeline.wait(&mut room, &mut |id, answer| {
            let text = match answer {
                Answer::Hit { value, .. } => text(value),
                Answer::Entry { place, value, .. } => format!("[{place}] {}", text(value)),
                Answer::Outcome { place, outcome } => {
                    format!("[{place}] {}", outcome.unwrap().is_stored())
                }
                Answer::Stored(outcome) => outcome.is_stored().to_string(),
                Answer::Counted(counted) => {
                    format!("counted {:?}", counted.map(|counted| counted.number))
                }
                Answer::Failed(error) => format!("{}: {error}", error.kind()),
                other => format!("{other:?}"),
            };
            told.push((id, text));
        });
    }
    told
}

pub(crate) fn byte_by_byte() {
    let (_server, port) = memcached(0, &[]);
    for piece in [1, 2, 7, 1000] {
        let relay = Peer::relaying(port, piece);
        for protocol in ["text", "meta"] {
            let url = format!("memcached://127.0.0.1:{}?protocol={protocol}", relay.port());
            let session = &mut *open(&url).session().unwrap();
            let pipeline = session.pipeline().unwrap();
            let large = vec![b'\n'; 200 * piece.min(100) + 20];
            let options = SetOptions::default();
            let put = |key, value| Put { key, value, options };
            let entries = [put(&b"small"[..], &b"7"[..]), put(b"large", &large)];
            pipeline.set_many(0, &entries).unwrap();
            pipeline.get(1, b"large").unwrap();
            pipeline.get(2, b"absent").unwrap();
            pipeline.get_many(3, &[b"large", b"absent", b"small", b"large"]).unwrap();
            pipeline.touch(4, b"small", None).unwrap();
            pipeline.delete(5, b"small").unwrap();
            pipeline.delete(6, b"small").unwrap();
            pipeline.set(7, b"small", b"8", &options).unwrap();
            pipeline.get(8, b"small").unwrap();
            let initial = Some(Initial { number: 41, ttl: None });
            pipeline.incr(9, b"small", Delta::Up(3), None).unwrap();
            pipeline.incr(10, b"absent", Delta::Up(3), None).unwrap();
            pipeline.incr(11, b"small", Delta::Down(1), initial).unwrap();
            pipeline.incr(12, b"number", Delta::Up(3), initial).unwrap();
            pipeline.incr(13, b"number", Delta::Up(3), initial).unwrap();
            pipeline.incr(14, b"large", Delta::Up(3), initial).unwrap();
            pipeline.delete(15, b"number").unwrap();
            let bytes = format!("{} bytes", large.len());
            let wanted = [
                (0, "[0] true"),
                (0, "[1] true"),
                (0, "End"),
                (1, &bytes),
                (2, "Miss"),
                (3, &format!("[0] {bytes}")),
                (3, "[2] 7"),
                (3, &format!("[3] {bytes}")),
                (3, "End"),
                (4, "Found(true)"),
                (5, "Found(true)"),
                (6, "Found(false)"),
                (7, "true"),
                (8, "8"),
                (9, "counted Some(11)"),
                (10, "counted None"),
                (11, "counted Some(10)"),
                (12, "counted Some(41)"),
                (13, "counted Some(44)"),
                (14, "not_a_number: memcached: the value under this key is not a number"),
                (15, "Found(true)"),
            ];
            let told = answers(pipeline);
            let told: Vec<_> = told.iter().map(|(id, text)| (*id, text.as_str())).collect();
            assert_eq!(told, wanted, "{protocol}, {piece}");
        }
    }
}

pub(crate) fn refusals() {
    for (bad, kind, is_whole) in [
        ("SERVER_ERROR out of memory storing object", "full: ", true),
        ("SERVER_ERROR backend is down", "protocol: ", false),
        ("ERROR", "protocol: ", false),
        ("CLIENT_ERROR bad command line format", "protocol: ", false),
        ("STORED", "protocol: ", false),
    ] {
        let answer = format!("{bad}\r\n").into_bytes();
        let session = &mut *session_at(move |line| match line {
            "get bad" => answer.clone(),
            _ => b"END\r\n".to_vec(),
        });
        let pipeline = session.pipeline().unwrap();
        for (id, key) in ["one", "bad", "two", "three"].iter().enumerate() {
            pipeline.get(id, key.as_bytes()).unwrap();
        }
        let told = answers(pipeline);
        assert_eq!((told.len(), &*told[0].1), (4, "Miss"));
        let words = bad.strip_prefix("SERVER_ERROR ").unwrap_or(bad);
        assert!(told[1].1.starts_with(kind) && told[1].1.contains(words), "{told:?}");
        for (_, behind) in &told[2..] {
            assert_eq!(behind == "Miss", is_whole, "{bad}: {behind}");
            assert!(is_whole || behind.contains("lost behind"), "{bad}: {behind}");
        }
        pipeline.get(4, b"four").unwrap();
        assert_eq!(answers(pipeline), [(4, "Miss".to_owned())]);
    }
}

/// Another client stores the key between the `incr` and the `add` of one request.
pub(crate) fn overtaken_count() {
    let session = &mut *session_at(move |line| match line {
        "incr n 1" => b"NOT_FOUND\r\n".to_vec(),
        "41" => b"NOT_STORED\r\n".to_vec(),
        "get n" => b"END\r\n".to_vec(),
        _ => Vec::new(),
    });
    let pipeline = session.pipeline().unwrap();
    let initial = Some(Initial { number: 41, ttl: None });
    pipeline.incr(0, b"n", Delta::Up(1), initial).unwrap();
    pipeline.get(1, b"n").unwrap();
    let told = answers(pipeline);
    assert!(told[0].1.starts_with("busy: ") && told[0].1.contains("another client"), "{told:?}");
    assert_eq!(told[1].1, "Miss");
}

/// A proxy joins the answers of several servers.
pub(crate) fn any_order() {
    let value = |key: &str, value: &str| format!("VALUE {key} 0 {}\r\n{value}\r\n", value.len());
    let answer = [value("c", "3"), value("a", "1"), value("a", "1"), "END\r\n".to_owned()];
    let answer = answer.concat().into_bytes();
    let session = &mut *session_at(move |line| match line {
        "get a b a c" => answer.clone(),
        "get a" => b"VALUE a 0 1\r\n7\r\nEND\r\n".to_vec(),
        _ => b"VALUE stranger 0 1\r\n7\r\nEND\r\n".to_vec(),
    });
    let pipeline = session.pipeline().unwrap();
    pipeline.get_many(0, &[b"a", b"b", b"a", b"c"]).unwrap();
    pipeline.get(1, b"a").unwrap();
    let wanted = [(0, "[3] 3"), (0, "[0] 1"), (0, "[2] 1"), (0, "End"), (1, "7")];
    let told = answers(pipeline);
    let told: Vec<_> = told.iter().map(|(id, text)| (*id, text.as_str())).collect();
    assert_eq!(told, wanted);
    // A key that was not asked for.
    pipeline.get_many(2, &[b"a", b"b"]).unwrap();
    pipeline.get(3, b"a").unwrap();
    let told = answers(pipeline);
    assert!(told[0].1.contains("not an answer to `get`: VALUE stranger"), "{told:?}");
    assert!(told[1].1.contains("lost behind"), "{told:?}");
}
