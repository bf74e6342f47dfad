//! The journal of a run: the changes of files as `cut.c` writes them, and between them what the program did to its keys.
//!
//! The program appends its own records to the same file. So each acknowledgement has its place among the syncs.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// Bytes of the head of a record, as in `notes.h`.
const HEAD: usize = 32;

/// The present name of a file that is about to be synced.
const NAMED: u32 = 11;

/// The first number of the kinds that `notes.h` does not know.
const OWN: u32 = 16;

/// One record.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event<'j> {
    /// A new file with this name.
    Create { file: u64, name: &'j str },
    /// Bytes at a place of a file. Only `Written` names the number.
    Write { file: u64, offset: u64, bytes: &'j [u8], id: u64 },
    /// The write with this number is on the disk.
    Written { id: u64 },
    /// The file has this length now.
    Truncate { file: u64, len: u64 },
    /// A sync begins.
    SyncBegin { id: u64 },
    /// The sync with this number has ended.
    SyncEnd { file: u64, id: u64, is_folder: bool },
    /// A file has another name, which it may have taken from an older file; with an exchange, that file has its name.
    Rename { from: &'j str, to: &'j str, is_exchange: bool },
    /// A file has a further name.
    Link { file: u64, name: &'j str },
    /// A new folder with this name.
    Folder { name: &'j str },
    /// A name is gone.
    Unlink { name: &'j str },
    /// A change of a key begins. The numbers of a key's changes rise.
    Begin { key: u64, number: u64, action: Action },
    /// The change of this key that began last is acknowledged.
    Acknowledge { key: u64 },
    /// The store is about to be closed.
    Closing,
    /// The store was closed without an error, and dropped.
    Closed,
}

/// A change of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Set,
    /// Behind the value that is there, if one is there.
    Append,
    Delete,
}

impl Action {
    const ALL: [Self; 3] = [Self::Set, Self::Append, Self::Delete];
}

/// Reads a journal. A journal that ends in the middle of a record is an error of the test.
pub(crate) fn read(mut bytes: &[u8]) -> Vec<Event<'_>> {
    let (mut events, mut names) = (Vec::new(), Names::default());
    while let Some(len) = bytes.get(..4) {
        let len = u32::from_ne_bytes(len.try_into().unwrap());
        let (record, rest) = bytes.split_at(usize::try_from(len).unwrap());
        let event = match record_kind(record) {
            NAMED => names.unseen_rename(record),
            _ => Some(event(record)),
        };
        if let Some(event) = event {
            names.follow(event);
            events.push(event);
        }
        bytes = rest;
    }
    assert!(bytes.is_empty(), "the journal is cut off");
    events
}

/// The files by their names, to find renames that the layer has not seen.
#[derive(Default)]
struct Names<'j>(HashMap<&'j str, u64>);

impl<'j> Names<'j> {
    fn follow(&mut self, event: Event<'j>) {
        let Self(files) = self;
        match event {
            Event::Create { file, name } | Event::Link { file, name } => {
                files.insert(name, file);
            }
            Event::Unlink { name } => {
                files.remove(name);
            }
            Event::Rename { from, to, is_exchange } => {
                let other = files.get(to).copied().filter(|_| is_exchange);
                if let Some(file) = files.remove(from) {
                    files.insert(to, file);
                }
                files.extend(other.map(|file| (from, file)));
            }
            _ => {}
        }
    }

    /// The rename that has given a file its present name; `None` where the file had this name.
    fn unseen_rename(&self, record: &'j [u8]) -> Option<Event<'j>> {
        let (file, to) = (number(record, 8), str::from_utf8(&record[HEAD..]).unwrap());
        if self.0.get(to) == Some(&file) {
            return None;
        }
        let (from, _) = self.0.iter().find(|(_, named)| **named == file)?;
        Some(Event::Rename { from, to, is_exchange: false })
    }
}

fn number(record: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(record[at..at + 8].try_into().unwrap())
}

fn record_kind(record: &[u8]) -> u32 {
    u32::from_ne_bytes(record[4..8].try_into().unwrap())
}

fn event(record: &[u8]) -> Event<'_> {
    let kind = record_kind(record);
    let [file, first, second] = [8, 16, 24].map(|at| number(record, at));
    let rest = &record[HEAD..];
    let text = || str::from_utf8(rest).unwrap();
    match kind {
        1 => Event::Create { file, name: text() },
        2 => Event::Write { file, offset: first, bytes: rest, id: second },
        3 => Event::Written { id: first },
        4 => Event::Truncate { file, len: first },
        5 => Event::SyncBegin { id: first },
        6 => Event::SyncEnd { file, id: first, is_folder: second != 0 },
        7 => {
            let (from, to) = text().split_once('\0').unwrap();
            Event::Rename { from, to, is_exchange: first != 0 }
        }
        8 => Event::Unlink { name: text() },
        9 => Event::Link { file, name: text() },
        10 => Event::Folder { name: text() },
        OWN => {
            let action = Action::ALL[usize::try_from(second).unwrap()];
            Event::Begin { key: file, number: first, action }
        }
        17 => Event::Acknowledge { key: file },
        18 => Event::Closing,
        19 => Event::Closed,
        _ => panic!("a record of kind {kind}"),
    }
}

/// The program's own way to the journal. Threads share it.
pub(crate) struct Journal(File);

impl Journal {
    pub(crate) fn open(path: &Path) -> Self {
        Self(OpenOptions::new().append(true).create(true).open(path).unwrap())
    }

    pub(crate) fn begin(&self, key: u64, number: u64, action: Action) {
        let action = Action::ALL.iter().position(|one| *one == action).unwrap();
        self.append(OWN, [key, number, action as u64]);
    }

    pub(crate) fn acknowledge(&self, key: u64) {
        self.append(17, [key, 0, 0]);
    }

    pub(crate) fn closing(&self) {
        self.append(18, [0; 3]);
    }

    pub(crate) fn closed(&self) {
        self.append(19, [0; 3]);
    }

    /// Appends a record with one write, so that no other record comes into its middle.
    fn append(&self, kind: u32, numbers: [u64; 3]) {
        let len = u32::try_from(HEAD).unwrap();
        let mut record = Vec::with_capacity(HEAD);
        record.extend([len, kind].iter().flat_map(|number| number.to_ne_bytes()));
        record.extend(numbers.iter().flat_map(|number| number.to_ne_bytes()));
        let written = (&self.0).write(&record).unwrap();
        assert_eq!(written, HEAD, "the journal has room");
    }
}
