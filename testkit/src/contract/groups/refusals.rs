//! Tagged sets that store nothing, and invalid tags.

use larder_store::{SetMode, SetOutcome};
use libtest_mimic::Failed;

use super::super::case::{Case, case};
use super::super::expect::{ensure, ensure_eq, fails_with, holds, lacks, mode, put};
use super::super::fixture::Fixture;
use super::{groups, holds_exactly, put_tagged, set_tagged};

pub(in super::super) const CASES: &[Case] = &[
    case!(a_session_has_groups_where_the_capabilities_say_so),
    case!(set_tagged_stores_under_the_condition_of_its_mode, GROUPS, ADD),
    case!(a_tagged_cas_that_fails_leaves_the_tag, GROUPS, VERSION),
    case!(set_tagged_does_not_append, GROUPS),
    case!(a_tag_that_is_empty_or_too_long_is_refused, GROUPS),
    case!(set_tagged_refuses_the_keys_that_set_refuses, GROUPS, KEY_LIMIT),
    case!(a_refused_large_value_leaves_its_tag, GROUPS, VALUE_LIMIT),
];

fn a_session_has_groups_where_the_capabilities_say_so(fixture: &Fixture) -> Result<(), Failed> {
    let promised = fixture.capabilities()?.groups;
    ensure_eq!(fixture.session()?.groups().is_some(), promised, "whether there are groups");
    Ok(())
}

fn set_tagged_stores_under_the_condition_of_its_mode(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [key, one, two] = ["key", "one", "two"].map(|name| fixture.key(name));
    for (condition, tag, value, is_stored) in [
        (SetMode::Replace, &one, "replaces nothing", false),
        (SetMode::Add, &one, "added", true),
        (SetMode::Add, &two, "added again", false),
        (SetMode::Replace, &two, "replaced", true),
        (SetMode::Add, &one, "added once more", false),
    ] {
        let became = set_tagged(&mut *session, &key, value.as_bytes(), condition, tag)?;
        let wanted = if is_stored { became.is_stored() } else { became == SetOutcome::NotStored };
        ensure!(wanted, "`{value}`: {became:?}");
        let (tagged, other): (_, &[u8]) = match value {
            "replaces nothing" => (None, &two),
            "replaced" | "added once more" => (Some((&two, "replaced")), &one),
            _ => (Some((&one, "added")), &two),
        };
        match tagged {
            Some((tag, value)) => {
                holds_exactly(&mut *session, tag, &[(&key, value.as_bytes())])?;
            }
            None => lacks(&mut *session, &key)?,
        }
        holds_exactly(&mut *session, other, &[])?;
    }
    Ok(())
}

fn a_tagged_cas_that_fails_leaves_the_tag(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [key, absent, one, two] = ["key", "absent", "one", "two"].map(|name| fixture.key(name));
    put_tagged(&mut *session, &key, b"first", &one)?;
    let read = holds(&mut *session, &key, b"first")?.version.ok_or("a hit without its version")?;
    put_tagged(&mut *session, &key, b"between", &one)?;
    let outcome = set_tagged(&mut *session, &key, b"lost", SetMode::Cas(read), &two)?;
    ensure_eq!(outcome, SetOutcome::Exists, "cas with an old version");
    let outcome = session.set(&key, b"lost", &mode(SetMode::Cas(read)))?;
    ensure_eq!(outcome, SetOutcome::Exists, "plain cas with an old version");
    let outcome = set_tagged(&mut *session, &absent, b"lost", SetMode::Cas(1), &one)?;
    ensure_eq!(outcome, SetOutcome::NotFound, "cas of an absent key");
    holds_exactly(&mut *session, &one, &[(&key, b"between")])?;
    holds_exactly(&mut *session, &two, &[])
}

fn set_tagged_does_not_append(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let [key, one, two] = ["key", "one", "two"].map(|name| fixture.key(name));
    put_tagged(&mut *session, &key, b"value", &one)?;
    for join in [SetMode::Append, SetMode::Prepend] {
        fails_with(set_tagged(&mut *session, &key, b"more", join, &two), "unsupported")?;
    }
    holds_exactly(&mut *session, &one, &[(&key, b"value")])?;
    holds_exactly(&mut *session, &two, &[])
}

fn a_tag_that_is_empty_or_too_long_is_refused(fixture: &Fixture) -> Result<(), Failed> {
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"value", &tag)?;
    for none in [&[][..], &[b't'; larder_store::MAX_TAG_LEN + 1]] {
        fails_with(set_tagged(&mut *session, &key, b"x", SetMode::Set, none), "invalid_tag")?;
        fails_with(groups(&mut *session)?.get_tag(none, &mut |_, _, _| {}), "invalid_tag")?;
        fails_with(groups(&mut *session)?.delete_tag(none), "invalid_tag")?;
    }
    holds_exactly(&mut *session, &tag, &[(&key, b"value")])
}

fn set_tagged_refuses_the_keys_that_set_refuses(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_key_len.ok_or("no key limit")?;
    let mut session = fixture.session()?;
    let tag = fixture.key("tag");
    let mut key = fixture.key("longest-");
    key.resize(limit, b'x');
    put_tagged(&mut *session, &key, b"value", &tag)?;
    holds_exactly(&mut *session, &tag, &[(&key, b"value")])?;
    let longer = [&key[..], b"x"].concat();
    fails_with(set_tagged(&mut *session, &longer, b"x", SetMode::Set, &tag), "key_too_long")?;
    holds_exactly(&mut *session, &tag, &[(&key, b"value")])
}

fn a_refused_large_value_leaves_its_tag(fixture: &Fixture) -> Result<(), Failed> {
    let limit = fixture.capabilities()?.max_value_len.ok_or("no value limit")?;
    let mut session = fixture.session()?;
    let (key, tag) = (fixture.key("key"), fixture.key("tag"));
    put_tagged(&mut *session, &key, b"old", &tag)?;
    let large = vec![7; limit + 1];
    fails_with(set_tagged(&mut *session, &key, &large, SetMode::Set, &tag), "value_too_large")?;
    holds_exactly(&mut *session, &tag, &[])?;
    put(&mut *session, &key, b"small")?;
    holds_exactly(&mut *session, &tag, &[])
}
