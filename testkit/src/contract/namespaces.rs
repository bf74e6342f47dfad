//! Namespaces: stores of one medium with keys of their own.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, fails_with, holds, lacks, put};
use super::fixture::{Fixture, TestDir};
use super::need::{NO_NAMESPACES, STORES};

pub(super) const CASES: &[Case] = &[
    case!(equal_keys_of_two_namespaces_are_different_keys, NAMESPACES),
    case!(a_name_finds_the_same_entries_again, NAMESPACES),
    case!(another_store_on_the_same_files_finds_a_namespace, NAMESPACES, SHARES_FILES),
    case!(clear_of_a_namespace_leaves_the_others, NAMESPACES, CLEAR),
    case!(a_removed_namespace_is_gone_with_its_entries, NAMESPACES),
    case!(a_session_of_a_removed_namespace_goes_on_or_fails, NAMESPACES),
    case!(a_name_is_1_to_48_bytes_long, NAMESPACES),
    case!(a_namespace_has_no_namespaces, NAMESPACES),
    Case {
        name: "a_store_without_namespaces_refuses_them",
        needs: &[STORES, NO_NAMESPACES],
        spawns: false,
        run: a_store_without_namespaces_refuses_them,
    },
];

fn equal_keys_of_two_namespaces_are_different_keys(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let (one, two) = (store.namespace("one")?, store.namespace("two")?);
    let mut sessions = [store.session()?, one.session()?, two.session()?];
    let key = fixture.key("a");
    for (session, value) in sessions.iter_mut().zip([&b"none"[..], b"one", b"two"]) {
        lacks(&mut **session, &key)?;
        put(&mut **session, &key, value)?;
    }
    for (session, value) in sessions.iter_mut().zip([&b"none"[..], b"one", b"two"]) {
        holds(&mut **session, &key, value)?;
    }
    ensure!(sessions[1].delete(&key)?, "the key of a namespace was not there");
    lacks(&mut *sessions[1], &key)?;
    holds(&mut *sessions[0], &key, b"none")?;
    holds(&mut *sessions[2], &key, b"two").map(drop)
}

fn a_name_finds_the_same_entries_again(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let (one, again) = (store.namespace("app")?, store.namespace("app")?);
    let key = fixture.key("a");
    let mut other = again.session()?;
    put(&mut *one.session()?, &key, b"value")?;
    holds(&mut *other, &key, b"value")?;
    other.delete(&key)?;
    lacks(&mut *one.session()?, &key)?;
    put(&mut *other, &key, b"kept")?;
    // A namespace stays when all its stores are closed.
    drop((one, again, other));
    holds(&mut *store.namespace("app")?.session()?, &key, b"kept").map(drop)
}

fn another_store_on_the_same_files_finds_a_namespace(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let (one, two) = (fixture.open_url(&url)?, fixture.open_url(&url)?);
    let key = fixture.key("a");
    // It keeps what it needs of its store.
    let namespace = one.namespace("app")?;
    drop(one);
    put(&mut *namespace.session()?, &key, b"value")?;
    holds(&mut *two.namespace("app")?.session()?, &key, b"value")?;
    lacks(&mut *two.session()?, &key)
}

fn clear_of_a_namespace_leaves_the_others(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let (one, two) = (store.namespace("one")?, store.namespace("two")?);
    let mut sessions = [store.session()?, one.session()?, two.session()?];
    let keys: Vec<_> = (0..20).map(|i| fixture.key(i)).collect();
    for session in &mut sessions {
        keys.iter().try_for_each(|key| put(&mut **session, key, b"value"))?;
    }
    sessions[1].clear()?;
    for key in &keys {
        lacks(&mut *sessions[1], key)?;
        holds(&mut *sessions[0], key, b"value")?;
        holds(&mut *sessions[2], key, b"value")?;
    }
    put(&mut *sessions[1], &keys[0], b"new")?;
    holds(&mut *sessions[1], &keys[0], b"new").map(drop)
}

fn a_removed_namespace_is_gone_with_its_entries(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let key = fixture.key("a");
    ensure!(!store.remove_namespace("app")?, "a namespace was there that nobody has made");
    put(&mut *store.namespace("app")?.session()?, &key, b"value")?;
    put(&mut *store.namespace("other")?.session()?, &key, b"other")?;
    put(&mut *store.session()?, &key, b"none")?;
    ensure!(store.remove_namespace("app")?, "the namespace was not there");
    ensure!(!store.remove_namespace("app")?, "the namespace is there after its removal");
    lacks(&mut *store.namespace("app")?.session()?, &key)?;
    holds(&mut *store.namespace("other")?.session()?, &key, b"other")?;
    holds(&mut *store.session()?, &key, b"none")?;
    put(&mut *store.namespace("app")?.session()?, &key, b"new")?;
    holds(&mut *store.namespace("app")?.session()?, &key, b"new").map(drop)
}

fn a_session_of_a_removed_namespace_goes_on_or_fails(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.namespace("app")?.session()?;
    let key = fixture.key("a");
    put(&mut *session, &key, b"old")?;
    ensure!(store.remove_namespace("app")?, "the namespace was not there");
    lacks(&mut *session, &key)?;
    let wrote = session.set(&key, b"new", &larder_store::SetOptions::default());
    match wrote {
        Ok(_) => drop(holds(&mut *store.namespace("app")?.session()?, &key, b"new")?),
        Err(error) => ensure!(!error.to_string().contains('\n'), "several lines: {error}"),
    }
    // Another name may get the place of the removed one.
    put(&mut *store.namespace("next")?.session()?, &key, b"next")?;
    let mut found = Vec::new();
    session.get(&key, &mut found)?;
    ensure!(found != b"next", "a session of a removed namespace reads another one");
    Ok(())
}

fn a_name_is_1_to_48_bytes_long(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let long = "n".repeat(49);
    for name in ["", &long] {
        fails_with(store.namespace(name).map(drop), "invalid_options")?;
        fails_with(store.remove_namespace(name), "invalid_options")?;
    }
    let key = fixture.key("a");
    for name in ["n", &long[..48]] {
        lacks(&mut *store.namespace(name)?.session()?, &key)?;
        put(&mut *store.namespace(name)?.session()?, &key, name.as_bytes())?;
        holds(&mut *store.namespace(name)?.session()?, &key, name.as_bytes())?;
    }
    Ok(())
}

fn a_namespace_has_no_namespaces(fixture: &Fixture) -> Result<(), Failed> {
    let namespace = fixture.fresh()?.namespace("app")?;
    ensure_eq!(namespace.capabilities().namespaces, false, "the capability is");
    fails_with(namespace.namespace("inner").map(drop), "unsupported")?;
    fails_with(namespace.remove_namespace("inner"), "unsupported").map(drop)
}

fn a_store_without_namespaces_refuses_them(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.store()?;
    fails_with(store.namespace("app").map(drop), "unsupported")?;
    fails_with(store.remove_namespace("app"), "unsupported").map(drop)
}
