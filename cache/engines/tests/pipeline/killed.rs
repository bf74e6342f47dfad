//! Servers that are killed while requests are outstanding.

use std::time::Instant;

use larder_testkit::{PATIENCE, Sockets};

use crate::Kind;
use crate::client::{Outcome, PipelineClient, is_lost, receive_some};
use crate::session_support::open;
use crate::stopped::{go_on, stop};

const REQUESTS: usize = 100;

/// The server is stopped first, so that it answers no request.
pub(crate) fn a_killed_server_ends_every_request_once_and_the_session_works_again(kind: Kind) {
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut client in PipelineClient::both(&*store) {
        assert_eq!(client.eventually(|client| client.set("key-5", b"value")), Outcome::Done);
        stop(&server);
        let asked = client.ask_all_kinds(REQUESTS);
        drop(server);
        client.finish();
        for request in asked {
            assert!(client.outcome(request).is_lost(), "{request}: {:?}", client.outcome(request));
        }
        assert!(client.order().is_sorted(), "{:?}", client.order());
        // The server is not there, and a request that is sent all the same gets one answer.
        match client.get("key-5") {
            Ok(request) => {
                client.finish();
                assert!(client.outcome(request).is_lost(), "{:?}", client.outcome(request));
            }
            Err(error) => assert!(is_lost(&error), "{error}"),
        }
        (server, _) = (kind.start)(port);
        client.works_again();
    }
}

/// A stopped server takes no bytes, so that some stay in the memory of the session. The next server gets none of them.
pub(crate) fn a_killed_server_ends_the_requests_that_are_not_sent(kind: Kind) {
    let value = vec![7; 100 << 10];
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut client in PipelineClient::both(&*store) {
        assert_eq!(client.eventually(|client| client.set("unsent", b"before")), Outcome::Done);
        stop(&server);
        let sets: Vec<_> = (0..REQUESTS).map(|_| client.set("unsent", &value).unwrap()).collect();
        client.pipeline().flush();
        assert!(client.pipeline().unsent_bytes() > 0, "the buffers between the ends hold 10 MB");
        drop(server);
        client.finish();
        for set in sets {
            assert!(client.outcome(set).is_lost(), "{set}: {:?}", client.outcome(set));
        }
        (server, _) = (kind.start)(port);
        client.works_again();
        assert_eq!(client.eventually(|client| client.get("unsent")), Outcome::Miss);
    }
}

/// The answers are large, so that some are on their way, and one is cut off.
pub(crate) fn a_server_killed_amid_its_answers_ends_every_request_once(kind: Kind) {
    let value = vec![7; 100 << 10];
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut client in PipelineClient::both(&*store) {
        assert_eq!(client.eventually(|client| client.set("large", &value)), Outcome::Done);
        let gets: Vec<_> = (0..REQUESTS).map(|_| client.get("large").unwrap()).collect();
        client.pipeline().flush();
        // The answer to the first shows that others have been begun.
        client.receive_some();
        drop(server);
        client.finish();
        let is_lost: Vec<_> = gets.iter().map(|get| client.outcome(*get).is_lost()).collect();
        for (get, is_lost) in gets.iter().zip(&is_lost) {
            let outcome = client.outcome(*get);
            assert!(*is_lost || *outcome == Outcome::Hit(value.clone()), "request {get} is wrong");
        }
        assert!(is_lost.is_sorted(), "an answer came behind a lost one: {is_lost:?}");
        assert!(is_lost[REQUESTS - 1], "10 MB were on their way");
        (server, _) = (kind.start)(port);
        client.works_again();
    }
}

/// Nothing is outstanding when the server goes, and another one is there when the session sends again. At most the
/// requests of one flush are lost.
pub(crate) fn a_server_that_comes_back_unnoticed_is_reached_again(kind: Kind) {
    let (mut server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    for mut client in PipelineClient::both(&*store) {
        assert_eq!(client.eventually(|client| client.set("key", b"value")), Outcome::Done);
        drop(server);
        (server, _) = (kind.start)(port);
        let lost = client.ask_all_kinds(REQUESTS);
        client.finish();
        let n_lost = lost.iter().filter(|request| client.outcome(**request).is_lost()).count();
        assert!([0, REQUESTS].contains(&n_lost), "{n_lost} of {REQUESTS} are lost");
        let set = client.set("key", b"value").unwrap();
        client.finish();
        assert_eq!(*client.outcome(set), Outcome::Done, "the next request");
        client.works_again();
    }
}

pub(crate) fn a_killed_server_ends_the_requests_of_every_session_of_a_loop(kind: Kind) {
    const SESSIONS: usize = 32;
    let (server, port) = (kind.start)(0);
    let store = open(&kind.url(&[port], &[]));
    let sockets = Sockets::new().unwrap();
    let mut askers: Vec<_> =
        (0..SESSIONS).map(|number| PipelineClient::watched(&*store, &sockets, number)).collect();
    let finish = |askers: &mut [PipelineClient]| {
        let begun = Instant::now();
        while askers.iter().any(|client| client.n_open() > 0) {
            receive_some(&sockets, askers);
            assert!(begun.elapsed() < PATIENCE, "some requests have no last answer");
        }
    };
    for client in &mut askers {
        client.pipeline().connect().unwrap();
        client.ask_all_kinds(6);
    }
    finish(&mut askers);
    stop(&server);
    for client in &mut askers {
        client.ask_all_kinds(6);
    }
    drop(server);
    finish(&mut askers);
    for client in &askers {
        let lost = client.order().iter().map(|request| client.outcome(*request).is_lost());
        assert_eq!(lost.collect::<Vec<_>>(), [[false; 6], [true; 6]].concat());
    }
    let (_server, _) = (kind.start)(port);
    let asked: Vec<_> = askers.iter_mut().map(|client| client.ask_all_kinds(6)).collect();
    finish(&mut askers);
    for (client, asked) in askers.iter().zip(asked) {
        let outcome: Vec<_> = asked.iter().map(|request| client.outcome(*request)).collect();
        assert!(outcome.iter().all(|outcome| !outcome.is_lost()), "{outcome:?}");
    }
}

/// A batch whose keys are on both nodes fails as a whole, and once.
pub(crate) fn a_killed_node_leaves_the_requests_of_the_other_nodes(kind: Kind) {
    let (one, first) = (kind.start)(0);
    let (mut two, second) = (kind.start)(0);
    let store = open(&kind.url(&[first, second], &[]));
    for mut client in PipelineClient::both(&*store) {
        client.pipeline().connect().unwrap();
        let keys: Vec<_> = (0..REQUESTS).map(|i| format!("key-{i}")).collect();
        for key in &keys {
            client.set(key, key.as_bytes()).unwrap();
        }
        client.finish();
        // Both are stopped, so that the answers of the first are still outstanding when the second is gone.
        stop(&one);
        stop(&two);
        let gets: Vec<_> = keys.iter().map(|key| client.get(key).unwrap()).collect();
        let many: Vec<&[u8]> = keys.iter().map(String::as_bytes).collect();
        let batch = client.ask(|pipeline, id| pipeline.get_many(id, &many)).unwrap();
        let last = client.get(&keys[0]).unwrap();
        client.pipeline().flush();
        drop(two);
        go_on(&one);
        client.finish();
        let outcome: Vec<_> = gets.iter().map(|get| client.outcome(*get)).collect();
        let n_lost = outcome.iter().filter(|outcome| outcome.is_lost()).count();
        assert!((1..REQUESTS).contains(&n_lost), "{n_lost} of {REQUESTS} are lost");
        for (outcome, key) in outcome.iter().zip(&keys) {
            assert!(
                outcome.is_lost() || **outcome == Outcome::Hit(key.clone().into_bytes()),
                "{outcome:?}"
            );
        }
        assert!(client.outcome(batch).is_lost(), "{:?}", client.outcome(batch));
        assert_eq!(client.outcome(last), outcome[0]);
        // The keys of the node that is left are there without the other.
        for (get, key) in gets.iter().zip(&keys) {
            if !client.outcome(*get).is_lost() {
                let value = Outcome::Hit(key.clone().into_bytes());
                assert_eq!(client.eventually(|client| client.get(key)), value);
            }
        }
        (two, _) = (kind.start)(second);
        client.works_again();
    }
}
