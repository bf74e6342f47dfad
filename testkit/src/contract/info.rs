//! Cases about a store's description of itself.

use libtest_mimic::Failed;

use super::case::{Case, case};
use super::expect::{ensure, ensure_eq, put};
use super::fixture::Fixture;

pub(super) const CASES: &[Case] =
    &[case!(info_names_the_engine_and_where_its_data_are), case!(capabilities_do_not_change)];

fn info_names_the_engine_and_where_its_data_are(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.store()?;
    let mut session = store.session()?;
    put(&mut *session, &fixture.key("a"), b"value")?;
    let info = store.info();
    ensure_eq!(info.scheme, session.engine(), "the scheme of the store and of its session");
    ensure!(info.url.starts_with(&format!("{}:", info.scheme)), "its URL is {}", info.url);
    for path in &info.data_paths {
        ensure!(path.exists(), "its data path {} does not exist", path.display());
    }
    if !info.data_paths.is_empty() {
        ensure!(info.file_system.is_some(), "has data paths and knows no file system under them");
    }
    Ok(())
}

fn capabilities_do_not_change(fixture: &Fixture) -> Result<(), Failed> {
    let store = fixture.store()?;
    let before = fixture.capabilities()?;
    put(&mut *store.session()?, &fixture.key("a"), b"value")?;
    ensure_eq!(store.capabilities(), before, "the capabilities after a set");
    let limits = [before.max_key_len, before.max_value_len];
    ensure!(!limits.contains(&Some(0)), "a limit of 0 bytes");
    ensure!(!before.ttl || !before.ttl_resolution.is_zero(), "a ttl without its resolution");
    Ok(())
}
