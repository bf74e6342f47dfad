//! Servers that are killed while requests are outstanding.

use std::time::Instant;

use larder_testkit::{PATIENCE, Sockets};

use crate::Kind;
use crate::asker::{Asker, Told, is_lost, receive_some};
use crate::session_support::open;
use crate::stopped::{go_on, stop};

const REQUESTS: usize = 100;

/// The server is stopped first, so that it answers no request.
pub(crate) fn a_killed_server_ends_every_request_once_and_the_session_works_again(kind: Kind) {
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut asker in Asker::both(&*store) {
        assert_eq!(asker.eventually(|asker| asker.set("key-5", b"value")), Told::Done);
        stop(&server);
        let asked = asker.ask_all_kinds(REQUESTS);
        drop(server);
        asker.finish();
        for request in asked {
            assert!(asker.told(request).is_lost(), "{request}: {:?}", asker.told(request));
        }
        assert!(asker.order().is_sorted(), "{:?}", asker.order());
        // The server is not there, and a request that is sent all the same gets one answer.
        match asker.get("key-5") {
            Ok(request) => {
                asker.finish();
                assert!(asker.told(request).is_lost(), "{:?}", asker.told(request));
            }
            Err(error) => assert!(is_lost(&error), "{error}"),
        }
        (server, _) = (kind.start)(port);
        asker.works_again();
    }
}

/// A stopped server takes no bytes, so that some stay in the memory of the session. The next server gets none of them.
pub(crate) fn a_killed_server_ends_the_requests_that_are_not_sent(kind: Kind) {
    let value = vec![7; 100 << 10];
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut asker in Asker::both(&*store) {
        assert_eq!(asker.eventually(|asker| asker.set("unsent", b"before")), Told::Done);
        stop(&server);
        let sets: Vec<_> = (0..REQUESTS).map(|_| asker.set("unsent", &value).unwrap()).collect();
        asker.pipeline().flush();
        assert!(asker.pipeline().unsent_bytes() > 0, "the buffers between the ends hold 10 MB");
        drop(server);
        asker.finish();
        for set in sets {
            assert!(asker.told(set).is_lost(), "{set}: {:?}", asker.told(set));
        }
        (server, _) = (kind.start)(port);
        asker.works_again();
        assert_eq!(asker.eventually(|asker| asker.get("unsent")), Told::Miss);
    }
}

/// The answers are large, so that some are on their way, and one is cut off.
pub(crate) fn a_server_killed_amid_its_answers_ends_every_request_once(kind: Kind) {
    let value = vec![7; 100 << 10];
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut asker in Asker::both(&*store) {
        assert_eq!(asker.eventually(|asker| asker.set("large", &value)), Told::Done);
        let gets: Vec<_> = (0..REQUESTS).map(|_| asker.get("large").unwrap()).collect();
        asker.pipeline().flush();
        // The answer to the first shows that others have been begun.
        asker.receive_some();
        drop(server);
        asker.finish();
        let is_lost: Vec<_> = gets.iter().map(|get| asker.told(*get).is_lost()).collect();
        for (get, is_lost) in gets.iter().zip(&is_lost) {
            let told = asker.told(*get);
            assert!(*is_lost || *told == Told::Hit(value.clone()), "request {get} is wrong");
        }
        assert!(is_lost.is_sorted(), "an answer came behind a lost one: {is_lost:?}");
        assert!(is_lost[REQUESTS - 1], "10 MB were on their way");
        (server, _) = (kind.start)(port);
        asker.works_again();
    }
}

/// Nothing is outstanding when the server goes, and another one is there when the session sends again. At most the
/// requests of one flush are lost.
pub(crate) fn a_server_that_comes_back_unnoticed_is_reached_again(kind: Kind) {
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut asker in Asker::both(&*store) {
        assert_eq!(asker.eventually(|asker| asker.set("key", b"value")), Told::Done);
        drop(server);
        (server, _) = (kind.start)(port);
        let lost = asker.ask_all_kinds(REQUESTS);
        asker.finish();
        let n_lost = lost.iter().filter(|request| asker.told(**request).is_lost()).count();
        assert!([0, REQUESTS].contains(&n_lost), "{n_lost} of {REQUESTS} are lost");
        let set = asker.set("key", b"value").unwrap();
        asker.finish();
        assert_eq!(*asker.told(set), Told::Done, "the next request");
        asker.works_again();
    }
}

pub(crate) fn a_killed_server_ends_the_requests_of_every_session_of_a_loop(kind: Kind) {
    const SESSIONS: usize = 32;
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    let sockets = Sockets::new().unwrap();
    let mut askers: Vec<_> =
        (0..SESSIONS).map(|number| Asker::watched(&*store, &sockets, number)).collect();
    let finish = |askers: &mut [Asker]| {
        let begun = Instant::now();
        while askers.iter().any(|asker| asker.n_open() > 0) {
            receive_some(&sockets, askers);
            assert!(begun.elapsed() < PATIENCE, "some requests have no last answer");
        }
    };
    for asker in &mut askers {
        asker.pipeline().connect().unwrap();
        asker.ask_all_kinds(6);
    }
    finish(&mut askers);
    stop(&server);
    for asker in &mut askers {
        asker.ask_all_kinds(6);
    }
    drop(server);
    finish(&mut askers);
    for asker in &askers {
        let lost = asker.order().iter().map(|request| asker.told(*request).is_lost());
        assert_eq!(lost.collect::<Vec<_>>(), [[false; 6], [true; 6]].concat());
    }
    let (_server, _) = (kind.start)(port);
    let asked: Vec<_> = askers.iter_mut().map(|asker| asker.ask_all_kinds(6)).collect();
    finish(&mut askers);
    for (asker, asked) in askers.iter().zip(asked) {
        let told: Vec<_> = asked.iter().map(|request| asker.told(*request)).collect();
        assert!(told.iter().all(|told| !told.is_lost()), "{told:?}");
    }
}

/// A batch whose keys are on both nodes fails as a whole, and once.
pub(crate) fn a_killed_node_leaves_the_requests_of_the_other_nodes(kind: Kind) {
    let (one, first) = (kind.start)(0);
    let (mut two, second) = (kind.start)(0);
    let store = open(&kind.url(&[first, second], &[]));
    for mut asker in Asker::both(&*store) {
        asker.pipeline().connect().unwrap();
        let keys: Vec<_> = (0..REQUESTS).map(|i| format!("key-{i}")).collect();
        for key in &keys {
            asker.set(key, key.as_bytes()).unwrap();
        }
        asker.finish();
        // Both are stopped, so that the answers of the first are still outstanding when the second is gone.
        stop(&one);
        stop(&two);
        let gets: Vec<_> = keys.iter().map(|key| asker.get(key).unwrap()).collect();
        let many: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let batch = asker.ask(|pipeline, id| pipeline.get_many(id, &many)).unwrap();
        let last = asker.get(&keys[0]).unwrap();
        asker.pipeline().flush();
        drop(two);
        go_on(&one);
        asker.finish();
        let told: Vec<_> = gets.iter().map(|get| asker.told(*get)).collect();
        let n_lost = told.iter().filter(|told| told.is_lost()).count();
        assert!((1..REQUESTS).contains(&n_lost), "{n_lost} of {REQUESTS} are lost");
        for (told, key) in told.iter().zip(&keys) {
            assert!(told.is_lost() || **told == Told::Hit(key.clone().into_bytes()), "{told:?}");
        }
        assert!(asker.told(batch).is_lost(), "{:?}", asker.told(batch));
        assert_eq!(asker.told(last), told[0]);
        // The keys of the node that is left are there without the other.
        for (get, key) in gets.iter().zip(&keys) {
            if !asker.told(*get).is_lost() {
                let value = Told::Hit(key.clone().into_bytes());
                assert_eq!(asker.eventually(|asker| asker.get(key)), value);
            }
        }
        (two, _) = (kind.start)(second);
        asker.works_again();
    }
}
