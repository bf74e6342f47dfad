//! Refusals: of options, and of operations that an engine lacks.

use std::time::Duration;

use larder_store::{Delta, SetMode, SetOptions};
use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, fails_with, holds, lacks, mode, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] = &[
    Case {
        name: "an_unknown_option_is_refused_with_the_known_ones",
        needs: &[],
        spawns: false,
        run: an_unknown_option_is_refused_with_the_known_ones,
    },
    case!(an_operation_that_is_missing_says_so, LACKS_SOMETHING),
];

fn an_unknown_option_is_refused_with_the_known_ones(fixture: &Fixture) -> Result<(), Failed> {
    let opened = fixture.open_url(&fixture.url_with("no_such_option=1"));
    let text = fails_with(opened.map(|_| "a store"), "invalid_options")?.to_string();
    ensure!(text.contains("no_such_option") && text.contains("known"), "it says only `{text}`");
    Ok(())
}

/// A store that does not honour a TTL, flags or a condition must refuse them: ignoring is worse than lacking.
fn an_operation_that_is_missing_says_so(fixture: &Fixture) -> Result<(), Failed> {
    let capabilities = fixture.capabilities()?;
    let mut session = fixture.session()?;
    let key = fixture.key("a");
    let absent = fixture.key("absent");
    put(&mut *session, &key, b"5")?;
    let flags = SetOptions { flags: 1, ..SetOptions::default() };
    let ttl = SetOptions { ttl: Some(Duration::from_secs(100)), ..SetOptions::default() };
    for (has, options) in [
        (capabilities.add, mode(SetMode::Add)),
        (capabilities.add, mode(SetMode::Replace)),
        (capabilities.version, mode(SetMode::Cas(1))),
        (capabilities.append, mode(SetMode::Append)),
        (capabilities.append, mode(SetMode::Prepend)),
        (capabilities.flags, flags),
        (capabilities.ttl, ttl),
    ] {
        if !has {
            fails_with(session.set(&absent, b"x", &options), "unsupported")?;
            lacks(&mut *session, &absent)?;
        }
    }
    if !capabilities.touch {
        fails_with(session.touch(&key, None), "unsupported")?;
    }
    if !capabilities.get_and_touch {
        fails_with(session.get_and_touch(&key, None, &mut Vec::new()), "unsupported")?;
    }
    if !capabilities.version {
        fails_with(session.delete_if(&key, 1), "unsupported")?;
    }
    if !capabilities.incr {
        fails_with(session.incr(&key, Delta::Up(1), None), "unsupported")?;
    }
    if !capabilities.clear {
        fails_with(session.clear(), "unsupported")?;
    }
    holds(&mut *session, &key, b"5").map(drop)
}
