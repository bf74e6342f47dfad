//! Two hosts over one memcached or Redis, with a real Redis as their channel. A file of `mmap:` stands for each host, and
//! its processes share it.
//!
//! Values may stay in L1 for an hour, and a test first makes sure that they are stored for long. So a value that goes from
//! L1 was ended by the channel.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]
#![expect(clippy::print_stdout, reason = "how the other processes answer")]

mod process;
mod setup;

use std::process::ExitCode;

use larder_store::{Error, Session, SetOptions};
use larder_testkit::everything_is_required;
use libtest_mimic::{Arguments, Completion, Trial};
use setup::{Client, Hosts, get, until};

type Test = (&'static str, fn(&Hosts));

/// The tests, each for a channel by messages (`false`) and for the server's own report of changed keys (`true`).
const TESTS: [Test; 7] = [
    ("a_write_on_one_host_ends_the_copy_of_the_other", writes),
    ("a_host_goes_on_with_another_connection_and_an_empty_l1", is_cut),
    ("a_server_that_is_silent_counts_as_lost", is_silent),
    ("another_process_takes_over_from_a_killed_subscriber", is_killed),
    ("a_write_that_is_no_stacks_ends_the_copies", foreign_write),
    ("a_channel_that_cannot_be_is_refused_in_one_line", refusals),
    ("a_password_is_in_no_text", password),
];

fn main() -> ExitCode {
    larder_host::delay_proxy::serve_if_asked();
    if let Some(code) = process::work_if_asked() {
        return code;
    }
    let both = TESTS.into_iter().flat_map(|test| [(test, false), (test, true)]);
    let trial = |((name, test), tracking): (Test, bool)| {
        let channel = if tracking { "tracking" } else { "messages" };
        Trial::ignorable_test(format!("{name}::{channel}"), move || match Hosts::open(tracking) {
            Ok(hosts) => {
                test(&hosts);
                Ok(Completion::Completed)
            }
            Err(Error::Unavailable { what, .. }) if !everything_is_required() => {
                Ok(Completion::ignored_with(format!("cannot run here: {what}")))
            }
            Err(error) => Err(error.to_string().into()),
        })
    };
    libtest_mimic::run(&Arguments::from_args(), both.map(trial).collect()).exit_code()
}

fn set(session: &mut dyn Session, key: &str, value: &str) {
    let stored = session.set(key.as_bytes(), value.as_bytes(), &SetOptions::default());
    assert!(stored.unwrap().is_stored());
}

fn writes(hosts: &Hosts) {
    let [one, other] = [0, 1].map(|number| hosts.stack(number));
    let (mut writer, mut reader) = (one.session().unwrap(), other.session().unwrap());
    set(&mut *writer, "k", "old");
    hosts.warm(1, &mut *reader, "k");
    set(&mut *writer, "k", "new");
    until("the new value is read", || get(&mut *reader, "k").as_deref() == Some("new"));
    hosts.warm(1, &mut *reader, "k");
    assert!(writer.delete(b"k").unwrap());
    until("the delete is seen", || get(&mut *reader, "k").is_none());
    // And the other way.
    set(&mut *writer, "k", "again");
    hosts.warm(0, &mut *writer, "k");
    set(&mut *reader, "k", "back");
    until("the new value is read", || get(&mut *writer, "k").as_deref() == Some("back"));
}

fn is_cut(hosts: &Hosts) {
    let stack = hosts.stack(1);
    let mut session = stack.session().unwrap();
    set(&mut *session, "k", "old");
    hosts.warm(1, &mut *session, "k");
    // Nothing has changed below, so only the gap can end it.
    hosts.client().killed_subscribers();
    until("L1 is empty", || hosts.above(1, "k").is_none());
    until("a gap", || setup::count(&*stack, "channel_gaps") > 0);
    hosts.warm(1, &mut *session, "k");
    set(&mut *hosts.stack(0).session().unwrap(), "k", "new");
    until("the new value is read", || get(&mut *session, "k").as_deref() == Some("new"));
}

fn is_silent(hosts: &Hosts) {
    let stack = hosts.stack(1);
    let mut session = stack.session().unwrap();
    set(&mut *session, "k", "old");
    hosts.warm(1, &mut *session, "k");
    let stopped = hosts.stopped();
    until("L1 is empty", || hosts.above(1, "k").is_none());
    drop(stopped);
    set(&mut *session, "k", "new");
    hosts.warm(1, &mut *session, "k");
}

fn is_killed(hosts: &Hosts) {
    let url = hosts.url(1);
    let stack = hosts.stack(0);
    let mut writer = stack.session().unwrap();
    set(&mut *writer, "k", "old");
    let (mut subscriber, mut heir) = (process::start(&url), process::start(&url));
    let n_takeovers = "count channel_takeovers";
    // A process that starves for too long loses its place, which is not what is judged here.
    until("the first one subscribes for both", || {
        hosts.drop_short(1, "k");
        if subscriber.ask("get k") != "old" || !hosts.is_for_long(1, "k") {
            return false;
        }
        if heir.ask(n_takeovers) != "0" {
            heir = process::start(&url);
        }
        subscriber.ask(n_takeovers) != "0" && heir.ask(n_takeovers) == "0"
    });
    subscriber.kill();
    // No process of the host hears of it.
    set(&mut *writer, "k", "new");
    until("another one takes over", || heir.ask(n_takeovers) == "1");
    assert_eq!(heir.ask("get k"), "new");
    until("L1 has it for long", || {
        hosts.drop_short(1, "k");
        heir.ask("get k") == "new" && hosts.is_for_long(1, "k")
    });
    set(&mut *writer, "k", "newer");
    until("the heir hears", || heir.ask("get k") == "newer");
}

fn foreign_write(hosts: &Hosts) {
    let stack = hosts.stack(1);
    let mut session = stack.session().unwrap();
    set(&mut *session, "k", "old");
    hosts.warm(1, &mut *session, "k");
    if hosts.is_tracking() {
        hosts.client().ask("SET k new");
    } else {
        // No stack, but a program that publishes something which no stack can read.
        hosts.client().ask("PUBLISH larder:tiers hello");
        until("L1 is empty", || hosts.above(1, "k").is_none());
        return;
    }
    until("the new value is read", || get(&mut *session, "k").as_deref() == Some("new"));
    hosts.warm(1, &mut *session, "k");
    hosts.client().ask("FLUSHALL");
    until("it is gone", || get(&mut *session, "k").is_none());
}

fn refusals(hosts: &Hosts) {
    for (url, needle) in [
        ("tiered:memory:|redis:?nodes=3|?channel=tracking", "and this is a cluster"),
        ("tiered:memory:|memcached:|?channel=tracking", "has no channel; write redis://h1"),
        ("tiered:memory:|moka:|?channel=moka:", "moka: has no channel; write redis://h1"),
        ("tiered:memory:|moka:|?channel=redis:", "`redis:` names no server"),
        ("tiered:memory:|redis:|?l1_ttl=off&channel=tracking", "has a bound; write 5m"),
    ] {
        if hosts.is_tracking() == url.ends_with("tracking") {
            let refused = setup::open(url).unwrap_err().to_string();
            assert!(refused.contains(needle) && !refused.contains('\n'), "{url}: {refused}");
        }
    }
}

fn password(hosts: &Hosts) {
    let stack = hosts.stack(1);
    let shown = stack.info().url + &stack.info().settings.values().cloned().collect::<String>();
    assert!(!shown.contains(setup::PASSWORD), "{shown}");
    assert!(!hosts.is_tracking() || shown.contains("channel=tracking"), "{shown}");
    drop(Client::greeted(hosts));
}
