//! The work of a process that forks, and of its child: each checks the store of the parent, and the child its own.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use larder_store::{
    Catalog, Delta, Error, Fill, Put, Reach, Session, SetOptions, Store, StoreUrl, Token,
};
use libtest_mimic::Failed;

use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, put};
use super::pipeline;
use crate::patient::patient;

/// The seconds after which a child is ended that hangs.
const LONGEST: libc::c_uint = 300;

/// The pause between two rounds of the parent.
const PAUSE: Duration = Duration::from_millis(1);

/// Of the second program: opens `url` and forks. The child opens `again`, unless that is empty.
pub(super) fn run(catalog: &Catalog, url: &str, again: &str, prefix: &str) -> Result<(), Failed> {
    let key = |name: &str| format!("{prefix}-{name}").into_bytes();
    let open = |url: &str| catalog.open(&patient(catalog, StoreUrl::parse(url)?));
    let parsed = StoreUrl::parse(url)?;
    let store = open(url)?;
    let capabilities = store.capabilities();
    // A path may also be the folder in which each store makes a file of its own.
    let has_path = capabilities.persistent && !parsed.path().is_empty();
    let is_one_place = url == again && (has_path || !parsed.hosts().is_empty());
    let mut session = store.session()?;
    for name in ["kept", "changed", "deleted"] {
        put(&mut *session, &key(name), b"of the parent")?;
    }
    let mut ahead = store.session()?;
    pipeline::fork::ask_ahead(&mut *ahead, &key("kept"))?;
    // SAFETY: the child ends by `_exit`, and unwinds no frame of its parent.
    let child = unsafe { libc::fork() };
    ensure!(child >= 0, "cannot fork: {}", std::io::Error::last_os_error());
    if child == 0 {
        end_with(|| {
            if capabilities.forks {
                works_on(&*store, session, &key)?;
            } else {
                is_refused(&*store, session, &key)?;
                pipeline::fork::is_refused(&mut *ahead, &key("changed"))?;
            }
            drop(ahead);
            drop(store);
            match again {
                "" => Ok(DONE),
                again => reopens(open(again), is_one_place, &key),
            }
        });
    }
    // A failure of the parent must not leave the child behind.
    let (worked, status) = work_beside(child, &mut *session, &key("own"));
    worked?;
    ensure!(
        libc::WIFEXITED(status) && [DONE, REFUSED].contains(&libc::WEXITSTATUS(status)),
        "the child ended with status {status:#x}"
    );
    pipeline::fork::is_answered(&mut *ahead, b"of the parent")?;
    let is_shared = capabilities.forks && capabilities.reach >= Reach::Host;
    let mut fresh = store.session()?;
    for session in [&mut session, &mut fresh] {
        let changed: &[u8] = if is_shared { b"of the child" } else { b"of the parent" };
        holds(&mut **session, &key("kept"), b"of the parent")?;
        holds(&mut **session, &key("changed"), changed)?;
        if is_shared {
            lacks(&mut **session, &key("deleted"))?;
        } else {
            holds(&mut **session, &key("deleted"), b"of the parent")?;
        }
        put(&mut **session, &key("later"), b"later")?;
        holds(&mut **session, &key("later"), b"later")?;
    }
    if is_one_place && libc::WEXITSTATUS(status) == DONE {
        holds(&mut *session, &key("again"), b"of the child")?;
    }
    let paths = store.info().data_paths;
    let gone = paths.iter().find(|path| !path.exists());
    ensure!(gone.is_none(), "the child removed {gone:?}");
    Ok(())
}

/// The statuses of a child: all is right; or all is right but the files could not be opened again, which it was told in
/// one line.
const DONE: i32 = 0;
const FAILED: i32 = 1;
const REFUSED: i32 = 10;

/// Ends the child with the status of its work. A child that hangs is killed.
fn end_with(work: impl FnOnce() -> Result<i32, Failed>) -> ! {
    // SAFETY: alarm touches no memory.
    unsafe { libc::alarm(LONGEST) };
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    let status = match done {
        Ok(Ok(status)) => status,
        Ok(Err(failed)) => {
            let message = failed.message().unwrap_or("a failure");
            // A closed standard error leaves no other way to report.
            let _ = writeln!(std::io::stderr(), "in the child: {message}");
            FAILED
        }
        Err(_) => FAILED,
    };
    // SAFETY: ends this process without its parent's exit handlers.
    unsafe { libc::_exit(status) }
}

/// In the parent: sets and gets until the child has ended, and returns the child's status.
fn work_beside(
    child: libc::pid_t,
    session: &mut dyn Session,
    key: &[u8],
) -> (Result<(), Failed>, libc::c_int) {
    let mut worked = Ok(());
    for round in 0.. {
        let mut status = 0;
        // SAFETY: `status` is room for the one number that waitpid writes.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } != 0 {
            return (worked, status);
        }
        if worked.is_ok() {
            let value = format!("round {round}");
            worked = put(session, key, value.as_bytes())
                .and_then(|()| holds(session, key, value.as_bytes()).map(drop));
        }
        sleep(PAUSE);
    }
    unreachable!("the rounds have no end")
}

/// In the child: the store of the parent works, with all entries of before the fork.
fn works_on(
    store: &dyn Store,
    mut session: Box<dyn Session>,
    key: &dyn Fn(&str) -> Vec<u8>,
) -> Result<(), Failed> {
    let mut fresh = store.session()?;
    for session in [&mut session, &mut fresh] {
        holds(&mut **session, &key("kept"), b"of the parent")?;
        put(&mut **session, &key("changed"), b"of the child")?;
        holds(&mut **session, &key("changed"), b"of the child")?;
        session.delete(&key("deleted"))?;
        lacks(&mut **session, &key("deleted"))?;
        let (kept, deleted) = (key("kept"), key("deleted"));
        let mut found = Vec::new();
        session.get_many(&[&kept, &deleted], &mut |i, value, _| found.push((i, value.to_vec())))?;
        ensure_eq!(found, [(0, b"of the parent".to_vec())], "get_many finds");
    }
    store.stats()?;
    Ok(())
}

/// In the child: every call of the parent's store and of its session is refused.
fn is_refused(
    store: &dyn Store,
    mut session: Box<dyn Session>,
    key: &dyn Fn(&str) -> Vec<u8>,
) -> Result<(), Failed> {
    const KIND: &str = "forked";
    fails_with(store.session().map(drop), KIND)?;
    fails_with(store.stats(), KIND)?;
    fails_with(store.external_stats(), KIND)?;
    fails_with(store.counters(), KIND)?;
    let (kept, changed) = (key("kept"), key("changed"));
    let (options, mut value) = (SetOptions::default(), Vec::new());
    let put = Put { key: &changed, value: b"of the child", options };
    let s = &mut *session;
    fails_with(s.get(&kept, &mut value), KIND)?;
    fails_with(s.get_onto(&kept, &mut value), KIND)?;
    fails_with(s.look(&kept), KIND)?;
    fails_with(s.get_and_touch(&kept, None, &mut value), KIND)?;
    fails_with(s.get_many(&[&kept], &mut |_, _, _| ()), KIND)?;
    fails_with(s.set(&changed, b"of the child", &options), KIND)?;
    fails_with(s.set_many(&[put], &mut |_, _| ()), KIND)?;
    fails_with(s.delete(&key("deleted")), KIND)?;
    fails_with(s.delete_many(&[&kept], &mut |_, _| ()), KIND)?;
    fails_with(s.delete_if(&kept, 1), KIND)?;
    fails_with(s.touch(&kept, None), KIND)?;
    fails_with(s.incr(&kept, Delta::Up(1), None), KIND)?;
    fails_with(s.clear(), KIND)?;
    fails_with(s.settle(), KIND)?;
    fails_with(s.set_patience(PAUSE), KIND)?;
    fails_with(s.set_read_timeout(Some(PAUSE)), KIND)?;
    if let Some(groups) = s.groups() {
        fails_with(groups.get_prefix(b"", &mut |_, _, _| ()), KIND)?;
        fails_with(groups.set_tagged(&changed, b"of the child", &options, b"tag"), KIND)?;
        fails_with(groups.delete_tag(b"tag"), KIND)?;
    }
    pipeline::fork::is_refused(s, &changed)?;
    if let Some(leases) = s.leases() {
        fails_with(leases.get_or_lease(&changed, &mut value, PAUSE), KIND)?;
        fails_with(leases.expire(&changed, None), KIND)?;
        let (token, many) = (Token::from_bytes([0; Token::LEN]), &[&*changed]);
        fails_with(leases.get_or_lease_many(many, PAUSE, PAUSE, &mut |_, _, _| ()), KIND)?;
        fails_with(leases.fill_many(&[Fill { put, token }], &mut |_, _| ()), KIND)?;
        fails_with(leases.release_many(&[(&changed, token)], &mut |_, _| ()), KIND)?;
    }
    Ok(())
}

/// In the child: the store that was opened there works.
fn reopens(
    opened: larder_store::Result<Arc<dyn Store>>,
    is_one_place: bool,
    key: &dyn Fn(&str) -> Vec<u8>,
) -> Result<i32, Failed> {
    let store = match opened {
        Err(error @ Error::Unavailable { .. }) if is_one_place => {
            let text = error.to_string();
            ensure!(text.contains("forked") && !text.contains('\n'), "the refusal is: {text}");
            return Ok(REFUSED);
        }
        opened => opened?,
    };
    let mut session = store.session()?;
    if is_one_place {
        holds(&mut *session, &key("kept"), b"of the parent")?;
    }
    put(&mut *session, &key("again"), b"of the child")?;
    holds(&mut *session, &key("again"), b"of the child")?;
    let mut another = store.session()?;
    holds(&mut *another, &key("again"), b"of the child")?;
    Ok(DONE)
}
