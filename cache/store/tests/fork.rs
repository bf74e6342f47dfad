//! A store in a forked child: it refuses, and its destructors do nothing there.

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use larder_store::{
    Capabilities, Catalog, Engine, FoundEntry, Groups, Medium, Meta, PerProcess, Process, Result,
    Session, SetOptions, SetOutcome, Stats, Store, StoreInfo, StoreUrl,
};

thread_local! {
    /// The calls of this thread that reached a store or a session, and their drops. A child has a copy.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static DROPS: Cell<usize> = const { Cell::new(0) };
}

const fn engine(
    scheme: &'static str,
    open: fn(&StoreUrl, &Catalog) -> Result<Arc<dyn Store>>,
) -> Engine {
    Engine {
        scheme,
        aliases: &[],
        summary: "",
        example: "",
        medium: Medium::Memory,
        capacity_option: None,
        connections_option: None,
        recipes: &[],
        options: || schemars::schema_for!(()),
        open,
    }
}

const ENGINES: Catalog = Catalog::new(&[
    engine("alone", |_, _| Ok(Arc::new(Fake { forks: false }))),
    engine("forks", |_, _| Ok(Arc::new(Fake { forks: true }))),
]);

#[derive(Debug)]
struct Fake {
    forks: bool,
}

fn call() {
    CALLS.set(CALLS.get() + 1);
}

impl Drop for Fake {
    fn drop(&mut self) {
        DROPS.set(DROPS.get() + 1);
    }
}

impl Store for Fake {
    fn info(&self) -> StoreInfo {
        call();
        StoreInfo { scheme: "alone", version: Some("1".into()), ..StoreInfo::default() }
    }

    fn capabilities(&self) -> Capabilities {
        call();
        Capabilities { stores: true, groups: true, forks: self.forks, ..Capabilities::default() }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        call();
        Ok(Box::new(Self { forks: self.forks }))
    }

    fn stats(&self) -> Result<Stats> {
        call();
        Ok(Stats::default())
    }
}

impl Session for Fake {
    fn engine(&self) -> &'static str {
        "alone"
    }

    fn get(&mut self, _: &[u8], _: &mut Vec<u8>) -> Result<Option<Meta>> {
        call();
        Ok(None)
    }

    fn set(&mut self, _: &[u8], _: &[u8], _: &SetOptions) -> Result<SetOutcome> {
        call();
        Ok(SetOutcome::NotStored)
    }

    fn delete(&mut self, _: &[u8]) -> Result<bool> {
        call();
        Ok(false)
    }

    fn groups(&mut self) -> Option<&mut dyn Groups> {
        Some(self)
    }
}

impl Groups for Fake {
    fn get_prefix(&mut self, _: &[u8], _: &mut FoundEntry<'_>) -> Result<()> {
        call();
        Ok(())
    }

    fn get_tag(&mut self, _: &[u8], _: &mut FoundEntry<'_>) -> Result<()> {
        call();
        Ok(())
    }

    fn set_tagged(&mut self, _: &[u8], _: &[u8], _: &SetOptions, _: &[u8]) -> Result<SetOutcome> {
        call();
        Ok(SetOutcome::NotStored)
    }

    fn delete_tag(&mut self, _: &[u8]) -> Result<u64> {
        call();
        Ok(0)
    }
}

/// Whether the work succeeds in a forked child.
fn succeeds_in_child(work: impl FnOnce()) -> bool {
    // SAFETY: the child allocates, which the C library allows, and takes no lock of another thread.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // A child that hangs is killed, because its parent waits for it.
        // SAFETY: alarm touches no memory.
        unsafe { libc::alarm(300) };
        let done = std::panic::catch_unwind(AssertUnwindSafe(work));
        // SAFETY: ends this process without its parent's exit handlers.
        unsafe { libc::_exit(i32::from(done.is_err())) };
    }
    let mut status = -1;
    // SAFETY: no other thread waits for this child, and `status` has room for the answer.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

fn counts() -> (usize, usize) {
    (CALLS.get(), DROPS.get())
}

#[test]
fn no_call_and_no_drop_of_a_child_reaches_the_store_of_its_parent() {
    let store = ENGINES.open(&StoreUrl::parse("alone:").unwrap()).unwrap();
    let mut session = store.session().unwrap();
    session.get(b"key", &mut Vec::new()).unwrap();
    session.groups().unwrap().delete_tag(b"tag").unwrap();
    let before = counts();
    let in_child = move || {
        let refused = "alone: opened before a fork; open the store again in this process";
        let error = session.get(b"key", &mut Vec::new()).unwrap_err();
        assert_eq!((error.to_string().as_str(), error.kind()), (refused, "forked"));
        assert!(!error.is_retryable());
        let error = session.groups().unwrap().delete_tag(b"tag").unwrap_err();
        assert_eq!(error.to_string(), refused);
        assert!(session.leases().is_none());
        assert_eq!(session.engine(), "alone");
        assert_eq!(store.session().err().unwrap().to_string(), refused);
        assert_eq!(store.stats().unwrap_err().to_string(), refused);
        assert_eq!((store.info().scheme, store.info().version), ("alone", None));
        assert!(store.capabilities().groups);
        drop((session, store));
        assert_eq!(counts(), before);
        // A store of its own works, and is dropped.
        let own = ENGINES.open(&StoreUrl::parse("alone:").unwrap()).unwrap();
        own.session().unwrap().get(b"key", &mut Vec::new()).unwrap();
        drop(own);
        assert_eq!(counts().1, before.1 + 2);
    };
    assert!(succeeds_in_child(in_child));
}

#[test]
fn a_child_goes_on_with_a_store_that_forks() {
    let store = ENGINES.open(&StoreUrl::parse("forks:").unwrap()).unwrap();
    let mut session = store.session().unwrap();
    assert!(succeeds_in_child(|| {
        session.get(b"key", &mut Vec::new()).unwrap();
        store.session().unwrap().delete(b"key").unwrap();
    }));
}

#[test]
fn a_value_of_a_process_begins_anew_in_its_children() {
    static NAMES: PerProcess<Mutex<Vec<&str>>> = PerProcess::new();
    let inherited =
        || NAMES.inherited().map(|names| names.lock().unwrap().clone()).collect::<Vec<_>>();
    let process = Process::current();
    NAMES.get().lock().unwrap().push("parent");
    // A lock that is held at the fork is no obstacle.
    let held = NAMES.get().lock().unwrap();
    assert!(succeeds_in_child(|| {
        assert!(!process.is_current());
        NAMES.get().lock().unwrap().push("child");
        assert_eq!(*NAMES.get().lock().unwrap(), ["child"]);
        assert!(NAMES.inherited().next().unwrap().try_lock().is_err());
    }));
    drop(held);
    assert!(succeeds_in_child(|| {
        NAMES.get().lock().unwrap().push("child");
        assert!(succeeds_in_child(|| {
            NAMES.get().lock().unwrap().push("grandchild");
            assert_eq!(inherited(), [["child"], ["parent"]]);
        }));
        assert_eq!(inherited(), [["parent"]]);
    }));
    assert!(process.is_current());
    assert_eq!(*NAMES.get().lock().unwrap(), ["parent"]);
    assert!(inherited().is_empty());
}
