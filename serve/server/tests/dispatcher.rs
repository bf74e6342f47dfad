//! Which thread calls the store: the event loop where the store hardly waits, and storage threads otherwise.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::num::NonZero;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use larder_server::Settings;
use larder_store::{
    Capabilities, Meta, Put, Result, Session, SetDone, SetOptions, SetOutcome, Stats, Store,
    StoreInfo, Waits,
};
use support::{Client, PATIENCE, Serving, store};

/// Longer than any turn of an event loop that does not wait.
const STALL: Duration = Duration::from_millis(30);

/// A store whose writes wait while its gate is shut, and which notes who calls it.
#[derive(Debug)]
struct Gated {
    store: Arc<dyn Store>,
    reads_wait: Waits,
    writes_wait: Waits,
    gate: Arc<Gate>,
}

#[derive(Debug, Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_shut: bool,
    /// Writes that wait at the gate.
    n_blocked: usize,
    /// The number of entries of each call that writes.
    writes: Vec<usize>,
    /// The threads that have read and written.
    readers: Vec<String>,
    writers: Vec<String>,
    /// The next read waits.
    stalls: bool,
}

struct GatedSession {
    session: Box<dyn Session>,
    gate: Arc<Gate>,
}

impl Gate {
    fn of<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }

    fn shut(&self) {
        self.of(|state| state.is_shut = true);
    }

    fn open(&self) {
        self.of(|state| state.is_shut = false);
        self.changed.notify_all();
    }

    /// Waits until this many writes wait.
    fn wait_for(&self, n_blocked: usize) {
        until(|| self.of(|state| state.n_blocked) == n_blocked);
    }

    /// Waits at the gate with a write of this many entries.
    fn pass(&self, n_entries: usize) {
        let mut state = self.state.lock().unwrap();
        state.writes.push(n_entries);
        state.writers.push(own_name());
        state.n_blocked += 1;
        while state.is_shut {
            state = self.changed.wait(state).unwrap();
        }
        state.n_blocked -= 1;
    }

    fn read(&self) {
        let stalls = self.of(|state| {
            state.readers.push(own_name());
            std::mem::take(&mut state.stalls)
        });
        if stalls {
            thread::sleep(STALL);
        }
    }
}

impl Store for Gated {
    fn info(&self) -> StoreInfo {
        self.store.info()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            batch_write: true,
            leases: false,
            reads_wait: self.reads_wait,
            writes_wait: self.writes_wait,
            ..self.store.capabilities()
        }
    }

    fn session(&self) -> Result<Box<dyn Session>> {
        let gate = Arc::clone(&self.gate);
        Ok(Box::new(GatedSession { session: self.store.session()?, gate }))
    }

    fn stats(&self) -> Result<Stats> {
        self.store.stats()
    }
}

impl Session for GatedSession {
    fn engine(&self) -> &'static str {
        self.session.engine()
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<Option<Meta>> {
        self.gate.read();
        self.session.get(key, value)
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &SetOptions) -> Result<SetOutcome> {
        self.gate.pass(1);
        self.session.set(key, value, options)
    }

    fn set_many(&mut self, entries: &[Put<'_>], done: &mut SetDone<'_>) -> Result<()> {
        self.gate.pass(entries.len());
        assert!(entries.iter().all(|put| put.key != b"panic"));
        self.session.set_many(entries, done)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool> {
        self.gate.pass(0);
        self.session.delete(key)
    }
}

fn own_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

/// Waits until something is so.
fn until(mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "this does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A server of one event loop and one storage thread. An event loop that may stall could give the storage thread any request
/// at any time, so most tests have reads that do not wait for a disk. The gate opens when the test ends, so that the server
/// can end.
struct Scene {
    gate: Arc<Gate>,
    serving: Serving,
}

impl Scene {
    fn new(reads_wait: Waits, writes_wait: Waits) -> Self {
        let gate = Arc::new(Gate::default());
        let store = store("memory:?size=16m");
        let store = Gated { store, reads_wait, writes_wait, gate: Arc::clone(&gate) };
        let one = NonZero::<usize>::MIN;
        let settings = Settings { threads: one, storage_threads: one, ..Settings::default() };
        Self { gate, serving: Serving::of(Arc::new(store), settings) }
    }

    /// A client that the event loop knows already.
    fn client(&self) -> Client {
        let mut client = self.serving.client();
        assert_eq!(client.ask("mn"), "MN");
        client
    }

    /// Waits until the event loop has done with all that clients have sent before: it goes through the second request later
    /// than through all that had arrived with the first.
    fn settle(client: &mut Client) {
        for _ in 0..2 {
            assert_eq!(client.ask("mn"), "MN");
        }
    }

    /// Begins a set that waits at the gate, and returns its client.
    fn blocked(&self) -> Client {
        let mut client = self.client();
        self.gate.shut();
        client.send(b"set blocked 0 0 1\r\n1\r\n");
        self.gate.wait_for(1);
        client
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.gate.open();
    }
}

#[test]
fn reads_are_answered_while_a_write_waits() {
    let scene = Scene::new(Waits::Lock, Waits::Disk);
    let mut client = scene.client();
    assert_eq!(client.set("key", b"value"), "STORED");
    let mut blocked = scene.blocked();
    let mut others: Vec<_> = (0..20).map(|_| scene.client()).collect();
    for request in
        ["get key\r\n", "gets key other\r\n", "mg key v\r\n", "get other\r\n", "me other\r\n"]
    {
        for client in &mut others {
            client.send(request.as_bytes());
        }
        for client in &mut others {
            let answer = client.line();
            let value = answer.starts_with('V').then(|| client.line());
            assert!(value.is_none_or(|value| value == "value"), "{request}");
            if answer.starts_with("VALUE") {
                assert_eq!(client.line(), "END");
            }
        }
    }
    assert_eq!(scene.gate.of(|state| state.n_blocked), 1);
    scene.gate.open();
    assert_eq!(blocked.line(), "STORED");
    scene.gate.of(|state| assert!(state.writers.iter().all(|name| name == "storage 0")));
}

#[test]
fn answers_keep_the_order_of_the_requests() {
    for (reads_wait, writes_wait) in [(Waits::Lock, Waits::Disk), (Waits::Seldom, Waits::Seldom)] {
        let scene = Scene::new(reads_wait, writes_wait);
        let mut client = scene.client();
        assert_eq!(client.set("key", b"old"), "STORED");
        scene.gate.shut();
        client.send(b"get key\r\nset key 0 0 3\r\nnew\r\nget key\r\nversion\r\n");
        scene.gate.wait_for(1);
        if writes_wait == Waits::Disk {
            // It is sent before the write is done.
            assert_eq!(
                ["VALUE key 0 3", "old", "END"].map(|_| client.line()),
                ["VALUE key 0 3", "old", "END"]
            );
            scene.gate.open();
        } else {
            scene.gate.open();
            assert_eq!([(); 3].map(|()| client.line()), ["VALUE key 0 3", "old", "END"]);
        }
        assert_eq!([(); 4].map(|()| client.line()), ["STORED", "VALUE key 0 3", "new", "END"]);
        assert!(client.line().starts_with("VERSION "));
    }
}

#[test]
fn sets_that_wait_together_are_stored_by_one_call() {
    let scene = Scene::new(Waits::Lock, Waits::Disk);
    let mut clients: Vec<_> = (0..10).map(|_| scene.client()).collect();
    let mut other = scene.client();
    let mut blocked = scene.blocked();
    for (i, client) in clients.iter_mut().enumerate() {
        // One of them asks for more, and one does not want an answer.
        let (quiet, more) = match i {
            3 => ("", "get key3\r\n"),
            4 => (" noreply", "mn\r\n"),
            _ => ("", ""),
        };
        client.send(format!("set key{i} {i} 0 2{quiet}\r\n{i:02}\r\n{more}").as_bytes());
        Scene::settle(&mut other);
    }
    scene.gate.open();
    assert_eq!(blocked.line(), "STORED");
    for (i, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.line(), if i == 4 { "MN" } else { "STORED" });
        if i == 3 {
            assert_eq!([(); 3].map(|()| client.line()), ["VALUE key3 3 2", "03", "END"]);
        }
    }
    assert_eq!(scene.gate.of(|state| state.writes.clone()), [1, 10]);
    for i in 0..10 {
        assert_eq!(other.get(&format!("key{i}")), Some(format!("{i:02}").into_bytes()));
    }
}

#[test]
fn other_requests_keep_their_place_between_sets_that_wait() {
    let scene = Scene::new(Waits::Lock, Waits::Disk);
    let mut other = scene.client();
    let mut clients: Vec<_> = (0..6).map(|_| scene.client()).collect();
    let mut blocked = scene.blocked();
    let set = "set key 0 0 1\r\n1\r\n";
    for (client, request) in
        clients.iter_mut().zip([set, set, "delete key\r\n", set, "add key 0 0 1\r\n1\r\n", set])
    {
        client.send(request.as_bytes());
        Scene::settle(&mut other);
    }
    scene.gate.open();
    assert_eq!(blocked.line(), "STORED");
    let answers = clients.iter_mut().map(Client::line);
    assert_eq!(
        answers.collect::<Vec<_>>(),
        ["STORED", "STORED", "DELETED", "STORED", "NOT_STORED", "STORED"]
    );
    assert_eq!(scene.gate.of(|state| state.writes.clone()), [1, 2, 0, 1, 1, 1]);
}

#[test]
fn a_panic_costs_those_their_connections_whose_sets_were_stored_together() {
    let scene = Scene::new(Waits::Lock, Waits::Disk);
    let mut other = scene.client();
    let mut clients = ["a", "panic", "b"].map(|key| (key, scene.client()));
    let mut blocked = scene.blocked();
    for (key, client) in &mut clients {
        client.send(format!("set {key} 0 0 1\r\n1\r\n").as_bytes());
        Scene::settle(&mut other);
    }
    scene.gate.open();
    assert_eq!(blocked.line(), "STORED");
    assert!(clients.iter_mut().all(|(_, client)| client.is_ended()));
    assert_eq!(other.set("key", b"value"), "STORED");
}

#[test]
fn a_stall_leaves_all_requests_to_storage_threads_for_a_while() {
    let scene = Scene::new(Waits::Seldom, Waits::Seldom);
    let gate = &scene.gate;
    let mut client = scene.client();
    // A thread that had to wait for its processor has stalled too, so each state is waited for.
    let mut is_by_worker = || {
        assert_eq!(client.get("key"), None);
        gate.of(|state| state.readers.pop().unwrap()) == "event loop 0"
    };
    until(&mut is_by_worker);
    until(|| {
        gate.of(|state| state.stalls = true);
        is_by_worker() && !is_by_worker()
    });
    until(&mut is_by_worker);
    until(|| {
        let stored = client.set("key", b"value");
        stored == "STORED" && gate.of(|state| state.writers.pop().unwrap()) == "event loop 0"
    });
    assert!(client.stat("larder_stalls") > 0);
}
