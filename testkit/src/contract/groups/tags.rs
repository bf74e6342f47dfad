//! The entries that a tag finds, and the effect of changed entries on the tag.

use std::time::Duration;

use larder_store::{Delta, Session, SetMode, SetOutcome};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, holds, lacks, mode, put, put_with};
use super::super::fixture::{Fixture, TestDir};
use super::super::ttl::{outlive, short_ttl, with_ttl};
use super::{agrees, by_tag, groups, holds_exactly, put_tagged, set_tagged};

pub(in super::super) const CASES: &[Case] = &[
    case!(a_tag_finds_exactly_its_entries, GROUPS),
    case!(a_tag_of_any_bytes_up_to_its_limit_is_a_tag, GROUPS),
    case!(a_tagged_entry_is_an_entry_like_any_other, GROUPS),
    case!(set_tagged_moves_an_entry_to_another_tag, GROUPS),
    case!(a_plain_set_takes_the_tag_away, GROUPS),
    case!(a_plain_add_or_replace_leaves_no_tag, GROUPS, ADD),
    case!(append_keeps_the_tag, GROUPS, APPEND),
    case!(incr_keeps_the_tag, GROUPS, INCR),
    case!(touch_keeps_the_tag, GROUPS, TOUCH),
    case!(delete_takes_an_entry_from_its_tag, GROUPS),
    case!(delete_tag_removes_and_counts_its_own_entries, GROUPS),
    case!(an_expired_entry_is_in_no_tag, GROUPS, TTL),
    case!(a_touched_entry_leaves_its_tag_when_it_expires, GROUPS, TOUCH, TTL),
    case!(clear_empties_every_tag, GROUPS, CLEAR),
    case!(tags_are_there_when_the_store_is_opened_again, GROUPS, KEEPS_FILES),
    case!(tags_of_two_namespaces_do_not_meet, GROUPS, NAMES_A_NAMESPACE),
    case!(a_tag_tells_the_version_that_a_cas_takes, GROUPS, VERSION),
];

fn a_tag_finds_exactly_its_entries(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let tags = ["t", "t2", "T", "u"].map(|name| fixture.key(name));
    let keys: Vec<_> = (0..40).map(|i| fixture.key(format_args!("key {i}"))).collect();
    for (i, key) in keys.iter().enumerate() {
        match tags.get(i % 5) {
            Some(tag) => put_tagged(&mut *session, key, key, tag)?,
            None => put(&mut *session, key, key)?,
        }
    }
    for (n, tag) in tags.iter().enumerate() {
        let own = keys.iter().skip(n).step_by(5);
        let wanted: Vec<(&[u8], &[u8])> = own.map(|key| (key.as_slice(), key.as_slice())).collect();
        holds_exactly(&mut *session, tag, &wanted)?;
    }
    holds_exactly(&mut *session, &fixture.key("no such tag"), &[])?;
    // A tag is not a key, and a key is not a tag.
    lacks(&mut *session, &tags[0])?;
    holds_exactly(&mut *session, &keys[0], &[])
}

fn a_tag_of_any_bytes_up_to_its_limit_is_a_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let base = fixture.key("");
    let mut tags: Vec<Vec<u8>> =
        [&b""[..], b"\0", b"\0\0", b" ", b"\xff", b"\xff\xff", b"\xc3\xa4", b"%", b"_", b"'"]
            .map(|tail| [&base, tail].concat())
            .into();
    for byte in *b"ab" {
        let mut longest = base.clone();
        longest.resize(larder_store::MAX_TAG_LEN - 1, b'x');
        longest.push(byte);
        tags.push(longest);
    }
    for (i, tag) in tags.iter().enumerate() {
        put_tagged(&mut *session, &fixture.key(i), tag, tag)?;
    }
    for (i, tag) in tags.iter().enumerate() {
        holds_exactly(&mut *session, tag, &[(&fixture.key(i), tag)])?;
    }
    Ok(())
}

fn a_tagged_entry_is_an_entry_like_any_other(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    for value in [b"first".to_vec(), Vec::new(), vec![7; 70_000], b"last".to_vec()] {
        put_tagged(&mut *session, &key, &value, &tag)?;
        holds(&mut *session, &key, &value)?;
        let mut hits = Vec::new();
        session.get_many(&[&key], &mut |i, value, _| hits.push((i, value.to_vec())))?;
        ensure_eq!(hits, [(0, value.clone())], "the hits of get_many");
        holds_exactly(&mut *session, &tag, &[(&key, &value)])?;
    }
    Ok(())
}

fn set_tagged_moves_an_entry_to_another_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [key, other, one, two] = ["key", "other", "one", "two"].map(|name| fixture.key(name));
    put_tagged(&mut *session, &other, b"stays", &one)?;
    for round in 0..5 {
        let value = format!("round {round}").into_bytes();
        put_tagged(&mut *session, &key, &value, &one)?;
        holds_exactly(&mut *session, &one, &[(&key, &value), (&other, b"stays")])?;
        holds_exactly(&mut *session, &two, &[])?;
        put_tagged(&mut *session, &key, &value, &two)?;
        holds_exactly(&mut *session, &one, &[(&other, b"stays")])?;
        holds_exactly(&mut *session, &two, &[(&key, &value)])?;
    }
    Ok(())
}

fn a_plain_set_takes_the_tag_away(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put(&mut *session, &key, b"plain")?;
    put_tagged(&mut *session, &key, b"tagged", &tag)?;
    holds_exactly(&mut *session, &tag, &[(&key, b"tagged")])?;
    put(&mut *session, &key, b"plain again")?;
    holds_exactly(&mut *session, &tag, &[])?;
    holds(&mut *session, &key, b"plain again")?;
    ensure_eq!(groups(&mut *session)?.delete_tag(&tag)?, 0, "the entries that were removed");
    holds(&mut *session, &key, b"plain again").map(drop)
}

fn a_plain_add_or_replace_leaves_no_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"tagged", &tag)?;
    let refused = session.set(&key, b"added", &mode(SetMode::Add))?;
    ensure_eq!(refused, SetOutcome::NotStored, "add of a key that is there");
    holds_exactly(&mut *session, &tag, &[(&key, b"tagged")])?;
    let replaced = session.set(&key, b"replaced", &mode(SetMode::Replace))?;
    ensure!(replaced.is_stored(), "replace of a key that is there stores nothing");
    holds_exactly(&mut *session, &tag, &[])?;
    put_tagged(&mut *session, &key, b"tagged", &tag)?;
    session.delete(&key)?;
    session.set(&key, b"added", &mode(SetMode::Add))?;
    holds(&mut *session, &key, b"added")?;
    holds_exactly(&mut *session, &tag, &[])
}

fn append_keeps_the_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, plain, tag) = (fixture.key("key"), fixture.key("plain"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"b", &tag)?;
    put(&mut *session, &plain, b"b")?;
    for key in [&key, &plain] {
        session.set(key, b"c", &mode(SetMode::Append))?;
        session.set(key, b"a", &mode(SetMode::Prepend))?;
    }
    holds_exactly(&mut *session, &tag, &[(&key, b"abc")])
}

fn incr_keeps_the_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"9", &tag)?;
    session.incr(&key, Delta::Up(1), None)?;
    holds_exactly(&mut *session, &tag, &[(&key, b"10")])
}

fn touch_keeps_the_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"value", &tag)?;
    ensure!(session.touch(&key, None)?, "touch of a key that is there is false");
    holds_exactly(&mut *session, &tag, &[(&key, b"value")])
}

fn delete_takes_an_entry_from_its_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [key, other, tag] = ["key", "other", "tag"].map(|name| fixture.key(name));
    put_tagged(&mut *session, &key, b"value", &tag)?;
    put_tagged(&mut *session, &other, b"other", &tag)?;
    ensure!(session.delete(&key)?, "delete of a tagged entry is false");
    holds_exactly(&mut *session, &tag, &[(&other, b"other")])?;
    // The tag does not come back with the key.
    put(&mut *session, &key, b"plain")?;
    holds_exactly(&mut *session, &tag, &[(&other, b"other")])
}

fn delete_tag_removes_and_counts_its_own_entries(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [tag, other, plain, moved] =
        ["tag", "tag2", "plain", "moved"].map(|name| fixture.key(name));
    let keys: Vec<_> = (0..30).map(|i| fixture.key(i)).collect();
    for (i, key) in keys.iter().enumerate() {
        put_tagged(&mut *session, key, b"value", if i < 20 { &tag } else { &other })?;
    }
    put(&mut *session, &plain, b"plain")?;
    put_tagged(&mut *session, &moved, b"moved", &tag)?;
    put_tagged(&mut *session, &moved, b"moved", &other)?;
    session.delete(&keys[0])?;
    ensure_eq!(groups(&mut *session)?.delete_tag(&tag)?, 19, "the entries that were removed");
    ensure_eq!(groups(&mut *session)?.delete_tag(&tag)?, 0, "the entries that were removed again");
    holds_exactly(&mut *session, &tag, &[])?;
    for (i, key) in keys.iter().enumerate() {
        match i {
            0..20 => lacks(&mut *session, key)?,
            _ => drop(holds(&mut *session, key, b"value")?),
        }
    }
    holds(&mut *session, &plain, b"plain")?;
    ensure_eq!(by_tag(&mut *session, &other)?.len(), 11, "the entries of the other tag");
    Ok(())
}

fn an_expired_entry_is_in_no_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [mortal, dead, lasting, revived, tag] =
        ["mortal", "dead", "lasting", "revived", "tag"].map(|name| fixture.key(name));
    let ttl = short_ttl(fixture)?;
    put_tagged(&mut *session, &lasting, b"l", &tag)?;
    put_tagged(&mut *session, &dead, b"before", &tag)?;
    let zero = with_ttl(Duration::ZERO);
    groups(&mut *session)?.set_tagged(&dead, b"d", &zero, &tag)?;
    for key in [&mortal, &revived] {
        groups(&mut *session)?.set_tagged(key, b"m", &with_ttl(ttl), &tag)?;
    }
    outlive(fixture, ttl)?;
    holds_exactly(&mut *session, &tag, &[(&lasting, b"l")])?;
    // The tag died with the entry.
    put(&mut *session, &revived, b"plain")?;
    holds_exactly(&mut *session, &tag, &[(&lasting, b"l")])?;
    ensure_eq!(groups(&mut *session)?.delete_tag(&tag)?, 1, "the entries that were removed");
    holds(&mut *session, &revived, b"plain").map(drop)
}

fn a_touched_entry_leaves_its_tag_when_it_expires(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [mortal, saved, tag] = ["mortal", "saved", "tag"].map(|name| fixture.key(name));
    let ttl = short_ttl(fixture)?;
    put_tagged(&mut *session, &mortal, b"m", &tag)?;
    groups(&mut *session)?.set_tagged(&saved, b"s", &with_ttl(Duration::from_hours(1)), &tag)?;
    session.touch(&mortal, Some(ttl))?;
    session.touch(&saved, None)?;
    outlive(fixture, ttl)?;
    holds_exactly(&mut *session, &tag, &[(&saved, b"s")])
}

fn clear_empties_every_tag(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.fresh()?;
    let mut session = store.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"value", &tag)?;
    session.clear()?;
    holds_exactly(&mut *session, &tag, &[])?;
    put(&mut *session, &key, b"plain")?;
    holds_exactly(&mut *session, &tag, &[])?;
    put_tagged(&mut *session, &key, b"tagged", &tag)?;
    holds_exactly(&mut *session, &tag, &[(&key, b"tagged")])
}

fn tags_are_there_when_the_store_is_opened_again(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let [key, moved, plain, tag, other] =
        ["key", "moved", "plain", "tag", "other"].map(|name| fixture.key(name));
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    for key in [&key, &moved, &plain] {
        put_tagged(&mut *session, key, b"first", &tag)?;
    }
    put_tagged(&mut *session, &moved, b"second", &other)?;
    put(&mut *session, &plain, b"second")?;
    drop((session, store));
    let store = fixture.open_url(&url)?;
    let mut session = store.session()?;
    holds_exactly(&mut *session, &tag, &[(&key, b"first")])?;
    holds_exactly(&mut *session, &other, &[(&moved, b"second")])?;
    // Later writes find the tags written earlier.
    put(&mut *session, &key, b"third")?;
    holds_exactly(&mut *session, &tag, &[])
}

fn tags_of_two_namespaces_do_not_meet(fixture: &Fixture) -> Result<(), Failed> {
    let directory = TestDir::create()?;
    let url = fixture.url_at(&directory.path());
    let mark = if url.contains('?') { '&' } else { '?' };
    let stores = [fixture.open_url(&url)?, fixture.open_url(&format!("{url}{mark}namespace=two"))?];
    let [mut one, mut two] = [stores[0].session()?, stores[1].session()?];
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *one, &key, b"of one", &tag)?;
    holds_exactly(&mut *two, &tag, &[])?;
    agrees(&super::by_prefix(&mut *two, &key)?, &[])?;
    put_tagged(&mut *two, &key, b"of two", &tag)?;
    holds_exactly(&mut *one, &tag, &[(&key, b"of one")])?;
    ensure_eq!(groups(&mut *two)?.delete_tag(&tag)?, 1, "the entries that were removed");
    holds_exactly(&mut *one, &tag, &[(&key, b"of one")])
}

fn a_tag_tells_the_version_that_a_cas_takes(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"first", &tag)?;
    let version = |session: &mut dyn Session| -> Result<u64, Failed> {
        let found = by_tag(session, &tag)?;
        let (_, meta) = found.get(&key).ok_or("the entry is not found by its tag")?;
        Ok(meta.version.ok_or("an entry without its version")?)
    };
    let read = version(&mut *session)?;
    let outcome = set_tagged(&mut *session, &key, b"second", SetMode::Cas(read), &tag)?;
    ensure!(outcome.is_stored(), "cas with the version just read stores nothing");
    let read = version(&mut *session)?;
    // Without the tag, a cas is a plain write.
    let outcome = session.set(&key, b"third", &mode(SetMode::Cas(read)))?;
    ensure!(outcome.is_stored(), "cas with the version just read stores nothing");
    holds_exactly(&mut *session, &tag, &[])?;
    put_with(&mut *session, &key, b"fourth", &mode(SetMode::Set))
}
