//! Many connections on a server that gives back what it was given: no answer may be mismatched or lost, and every flipped
//! bit must be found.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

#[expect(dead_code, reason = "other tests ask for more")]
mod support;

use larder_engines::ENGINES;
use larder_report::{Counts, Operation};
use larder_testkit::{EchoServer, Flips, is_nightly};
use support::{cell, run};

/// One bit of this many bytes of values is flipped.
const FLIPPED_OF: usize = 1_000_000;

/// Ten million answers take a minute or two.
fn answers() -> u64 {
    if is_nightly() { 10_000_000 } else { 200_000 }
}

/// This many reads, on 40 connections with 8 requests outstanding each.
fn counts_of(server: &EchoServer, answers: u64) -> Counts {
    let workload = format!(
        "keys = 2000\ndata-size = 100\nrounds = 1\nconnections = 40\npipeline = 8\nthreads = 1\n\
         operations = 'get'\nrequests = {answers}"
    );
    let url = server.url();
    let run = run(&ENGINES, &[&url], &workload);
    cell(&run, &url, Operation::Get).counts
}

fn no_answer_is_mismatched_or_lost(answers: u64) {
    let counts = counts_of(&EchoServer::start(None).unwrap(), answers);
    assert_eq!((counts.ops, counts.hits), (answers, answers));
    let Counts { misses, wrong, errors, lost, read_back_wrong, .. } = counts;
    assert_eq!([misses, wrong, errors, lost, read_back_wrong], [0; 5]);
}

fn every_flipped_bit_is_found(answers: u64) {
    // The trials before the reads get some whole values back.
    let flips = Flips { every_bytes: FLIPPED_OF, after_values: 10_000 };
    let server = EchoServer::start(Some(flips)).unwrap();
    let Counts { ops, hits, wrong, damaged, read_back_wrong, .. } = counts_of(&server, answers);
    assert_eq!((ops, hits + wrong), (answers, answers));
    assert_eq!(wrong + read_back_wrong, server.flips());
    assert_eq!(damaged, server.flips(), "of a flipped value, nothing else is said");
    let least = (answers - flips.after_values) * 100 / FLIPPED_OF as u64;
    assert!(server.flips() >= least && least > 0, "{} flips", server.flips());
}

#[test]
fn no_answer_of_many_connections_is_mismatched_or_lost() {
    no_answer_is_mismatched_or_lost(answers());
}

#[test]
fn every_flipped_bit_among_many_connections_is_found() {
    every_flipped_bit_is_found(answers());
}
