//! `redis:` by both versions of the protocol, and scripts that a server has forgotten.

use larder_store::{Change, ChannelKind, Delta, Event, Put, SetMode, SetOptions};
use larder_testkit::PATIENCE;
use libtest_mimic::Trial;

use crate::peer::answering;
use crate::session_support::{failure, get, open, set, try_open};
use crate::support::{ask, redis_server, stranger, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("both_versions_of_the_protocol_mean_the_same", both_versions),
        trial("a_forgotten_script_is_brought_again", a_forgotten_script),
    ]
}

fn both_versions() {
    let user = "--user reader on >secret ~* &* +@all";
    let (_server, port) = redis_server(0, &user.split(' ').collect::<Vec<_>>());
    let address = format!("127.0.0.1:{port}");
    for login in ["", "reader:secret@"] {
        let stores =
            ["2", "3"].map(|version| open(&format!("redis://{login}{address}/1?resp={version}")));
        let infos = stores.each_ref().map(|store| store.info());
        assert_eq!(infos[0].settings, infos[1].settings);
        assert_eq!(
            (&infos[0].version, &infos[0].server_pids),
            (&infos[1].version, &infos[1].server_pids)
        );
        let items = stores.each_ref().map(|store| store.stats().unwrap().items);
        assert_eq!(items, [Some(0); 2]);
        for store in &stores {
            let session = &mut *store.session().unwrap();
            set(session, "key", b"value");
            assert_eq!(
                (get(session, "key"), get(session, "absent")),
                (Some(b"value".to_vec()), None)
            );
            let mut hits = Vec::new();
            let keys: [&[u8]; 2] = [b"absent", b"key"];
            session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
            assert_eq!(hits, [(1, b"value".to_vec())]);
            assert_eq!(session.incr(b"absent", Delta::Up(1), None).unwrap(), None);
            assert!(session.leases().unwrap().expire(b"key", None).unwrap());
            let meta = session.get(b"key", &mut Vec::new()).unwrap().unwrap();
            assert!(meta.stale);
            assert_eq!(session.look(b"key").unwrap().map(|facts| facts.value_len), Some(5));
            assert!(session.delete(b"key").unwrap() && !session.delete(b"key").unwrap());
        }
        let channel = stores[1].channel(ChannelKind::OwnWrites).unwrap();
        let mut subscription = channel.subscribe().unwrap();
        set(&mut *stores[1].session().unwrap(), "key", b"value");
        let keys = Change::Keys(vec![b"key".to_vec()]);
        let heard = (0..100).find_map(|_| match subscription.next(PATIENCE).unwrap() {
            Event::Changed(change) => Some(change),
            _ => None,
        });
        assert_eq!(heard, Some(keys));
        stores[1].session().unwrap().delete(b"key").unwrap();
    }
    for login in ["reader:wr0ng@", "nobody:secret@"] {
        let message = failure(try_open(&format!("redis://{login}{address}?resp=3")), "unavailable");
        assert_eq!(message, format!("redis: {address} refused the user or the password"));
    }
    let old = answering(|words| match words[0].as_str() {
        "HELLO" => b"-ERR unknown command 'HELLO'\r\n".to_vec(),
        _ => Vec::new(),
    });
    let message =
        failure(try_open(&format!("redis://127.0.0.1:{}?resp=3", old.port())), "protocol");
    assert!(message.contains("unknown command 'HELLO'; leave out `resp=3`"), "{message}");
}

fn a_forgotten_script() {
    let (_server, port) = redis_server(0, &[]);
    let link = &mut stranger(&format!("127.0.0.1:{port}"));
    for option in ["", "?ttl_left=on"] {
        let store = open(&format!("redis://127.0.0.1:{port}{option}"));
        let session = &mut *store.session().unwrap();
        for round in 1..=3 {
            set(session, "n", b"5");
            assert_eq!(session.incr(b"n", Delta::Up(1), None).unwrap().map(|n| n.number), Some(6));
            ask::<()>(link, "SCRIPT FLUSH");
            let mut hits = Vec::new();
            let keys: [&[u8]; 2] = [b"n", b"n"];
            session.get_many(&keys, &mut |i, value, _| hits.push((i, value.to_vec()))).unwrap();
            hits.sort();
            assert_eq!(hits, [(0, b"6".to_vec()), (1, b"6".to_vec())], "{option}, {round}");
            ask::<()>(link, "SCRIPT FLUSH");
            let append = SetOptions { mode: SetMode::Append, ..SetOptions::default() };
            let put = |value| Put { key: b"n", value, options: append };
            let mut n_stored = 0;
            session
                .set_many(&[put(b"7"), put(b"8")], &mut |_, outcome| {
                    n_stored += usize::from(outcome.unwrap().is_stored());
                })
                .unwrap();
            assert_eq!((n_stored, get(session, "n")), (2, Some(b"678".to_vec())));
        }
    }
}
