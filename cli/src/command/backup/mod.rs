//! `larder backup` and `larder restore`: the entries of a store in a file, and back, while others use the store.

mod file;

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use larder_store::{
    ByteSize, Clock, Error, Meta, Put, Remaining, Session, SetMode, SetOptions, agreeing, count,
    noun_after,
};

use super::{atomic_file, open, open_existing};
use crate::exit::{Exit, Usage};
use file::{Entry, Reader, Writer};

/// Entries, and their bytes, that are stored by one call.
const TOGETHER: usize = 256;
const BYTES_TOGETHER: usize = 4 << 20;

/// Copies all entries of a store to a file, with their flags and their ends.
#[derive(Debug, Args)]
pub(crate) struct Backup {
    /// The store, for example `lmdb:/var/lib/cache`; servers and other processes may use it meanwhile
    url: String,
    /// The file, which appears once it is whole
    file: PathBuf,
}

/// Stores the entries of a backup.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    /// The file of a backup; it is read to its end before the first entry is stored
    file: PathBuf,
    /// The store, of any kind; servers and other processes may use it meanwhile
    url: String,
    /// Remove all other entries first
    #[arg(long)]
    clear: bool,
}

pub(crate) fn backup(arguments: &Backup) -> anyhow::Result<Exit> {
    let path = &arguments.file;
    let store = open_existing(&arguments.url)?;
    let mut session = store.session()?;
    let Some(groups) = session.groups() else {
        let url = store.info().url;
        bail!(
            "{url}: this store cannot list its entries; lmdb, sqlite, postgresql, mysql and mongodb can"
        );
    };
    refuse_other_file(path)?;
    let (n_entries, bytes) = atomic_file::write_for_long(path, atomic_file::FOR_OWNER, |out| {
        let mut writer = Writer::new(out)?;
        let (clock, mut bytes, mut refused) = (Clock::system(), 0, None);
        groups.get_prefix(b"", &mut |key, value, meta| {
            if refused.is_none() {
                bytes += (key.len() + value.len()) as u64;
                refused = writer.add(key, value, meta.flags, deadline_ms(meta, &clock)).err();
            }
        })?;
        if let Some(error) = refused {
            return Err(error.into());
        }
        Ok((writer.end()?, bytes))
    })?;
    let (size, are) = (ByteSize(bytes), agreeing(n_entries, "is", "are"));
    anstream::eprintln!(
        "larder: {} of {size} {are} in {}",
        count(n_entries, "entry"),
        path.display()
    );
    Ok(Exit::Done)
}

/// Refuses to replace a file that is no backup.
fn refuse_other_file(path: &Path) -> anyhow::Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let shown = path.display();
    let file = File::open(path).with_context(|| shown.to_string())?;
    if Reader::new(BufReader::new(file)).is_err() {
        bail!(Usage(format!("{shown} exists, and is no backup of larder; name another file")));
    }
    Ok(())
}

pub(crate) fn restore(arguments: &Restore) -> anyhow::Result<Exit> {
    let path = &arguments.file;
    let failed = || path.display().to_string();
    each_entry(path, &mut |_| Ok(())).with_context(failed)?;
    let store = open(&arguments.url)?;
    let mut session = store.session()?;
    if arguments.clear {
        session.clear()?;
    }
    let evictions = || store.stats().ok().and_then(|stats| stats.evictions).unwrap_or(0);
    let evicted_before = evictions();
    let clock = Clock::system();
    let (mut n_stored, mut n_expired, mut bytes) = (0, 0, 0);
    let mut entries = Vec::new();
    each_entry(path, &mut |entry| {
        if (1..=clock.now_ms()).contains(&entry.deadline_ms) {
            n_expired += 1;
            return Ok(());
        }
        bytes += entry.key.len() + entry.value.len();
        entries.push(entry);
        if entries.len() == TOGETHER || bytes >= BYTES_TOGETHER {
            n_stored += put(&mut *session, &entries, clock.now_ms())?;
            (entries, bytes) = (Vec::new(), 0);
        }
        Ok(())
    })
    .with_context(failed)?;
    n_stored += put(&mut *session, &entries, clock.now_ms())?;
    drop(session);
    let n_evicted = evictions().saturating_sub(evicted_before);
    store.close()?;
    let were = agreeing(n_stored, "was", "were");
    let told = |n: u64, what: &str| if n == 0 { String::new() } else { format!("; {n} {what}") };
    anstream::eprintln!(
        "larder: {} {were} stored in {}{}{}",
        count(n_stored, "entry"),
        store.info().url,
        told(n_expired, "had expired"),
        told(n_evicted, &format!("{} of the store made room", noun_after(n_evicted, "entry"))),
    );
    Ok(Exit::Done)
}

/// Calls `found` with each entry of a backup.
fn each_entry(
    path: &Path,
    found: &mut dyn FnMut(Entry) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
    while let Some(entry) = reader.next()? {
        found(entry)?;
    }
    Ok(())
}

/// Stores entries; returns how many.
fn put(session: &mut dyn Session, entries: &[Entry], now_ms: u64) -> anyhow::Result<usize> {
    let mut puts = Vec::with_capacity(entries.len());
    for Entry { key, value, flags, deadline_ms } in entries {
        // One that has expired a moment ago ends at once.
        let left = Duration::from_millis(deadline_ms.saturating_sub(now_ms).max(1));
        let ttl = (*deadline_ms != 0).then_some(left);
        puts.push(Put {
            key,
            value,
            options: SetOptions { mode: SetMode::Set, ttl, flags: *flags },
        });
    }
    let (mut n_stored, mut refused) = (0, None::<(usize, Error)>);
    session.set_many(&puts, &mut |i, outcome| match outcome {
        Ok(_) => n_stored += 1,
        Err(error) => refused = Some((i, error)),
    })?;
    match refused {
        Some((i, error)) => bail!("key `{}`: {error}", entries[i].key.escape_ascii()),
        None => Ok(n_stored),
    }
}

/// When an entry expires, in milliseconds since 1970; 0 is never.
fn deadline_ms(meta: Meta, clock: &Clock) -> u64 {
    match meta.ttl {
        Remaining::For(left) => clock.deadline_ms(left),
        Remaining::Forever | Remaining::Unknown => 0,
    }
}
