//! A disk that is replayed from a journal, and the states in which a loss of power may leave it.
//!
//! - The contents of a file are safe once a sync of this file has ended: the changes from before the sync began. A write
//!   through a descriptor with `O_DSYNC` is safe alone.
//! - Of the other contents, each piece of a file is on the disk as it was at any moment since. The pieces do not know of
//!   each other: a later one may be there without an earlier one. Within a piece there is an order, because the page
//!   cache has one state of it at a time.
//! - The changes of a file's length keep their order, and bytes behind a cut that is not on the disk are not there
//!   either. A file may have its new length without its bytes, which are zeros then.
//! - Names follow ext4: they change in the order of the journal, at the latest with a sync of the folder, and perhaps
//!   before. The sync of a new file brings its name too.

use std::collections::{BTreeMap, HashMap};

use larder_testkit::Random;

use crate::contents::{Contents, Odds, n_kept};
use crate::image::Image;
use crate::journal::Event;

/// The state of a disk after a part of a journal.
#[derive(Default)]
pub(crate) struct Disk<'j> {
    files: Vec<Contents<'j>>,
    /// The newest file with this inode.
    by_inode: HashMap<u64, usize>,
    names: Vec<Naming<'j>>,
    /// This many changes of names are on the disk.
    n_safe: usize,
    /// The places at which syncs began.
    syncs: HashMap<u64, usize>,
    /// The file and place of each write.
    writes: HashMap<u64, (usize, usize)>,
    ignores_syncs: bool,
}

/// A change of a name.
struct Naming<'j> {
    at: usize,
    change: NameChange<'j>,
}

#[derive(Clone, Copy)]
enum NameChange<'j> {
    /// A file has this name, as its first or as a further one.
    Link {
        name: &'j str,
        file: usize,
    },
    Rename {
        from: &'j str,
        to: &'j str,
        is_exchange: bool,
    },
    Unlink {
        name: &'j str,
    },
    Folder {
        name: &'j str,
    },
}

impl<'j> Disk<'j> {
    /// An empty disk. One that ignores syncs keeps no promise, so that a test can be seen to fail.
    pub(crate) fn new(ignores_syncs: bool) -> Self {
        Self { ignores_syncs, ..Self::default() }
    }

    /// Applies the event at this place of the journal.
    pub(crate) fn apply(&mut self, at: usize, event: &Event<'j>) {
        match *event {
            Event::Create { file, name } => {
                self.by_inode.insert(file, self.files.len());
                let change = NameChange::Link { name, file: self.files.len() };
                self.files.push(Contents::new(self.names.len()));
                self.names.push(Naming { at, change });
            }
            Event::Write { file, offset, bytes, id } => {
                let Some(&file) = self.by_inode.get(&file) else { return };
                self.writes.insert(id, (file, at));
                self.files[file].write(at, usize::try_from(offset).unwrap(), bytes);
            }
            Event::Truncate { file, len } => {
                let Some(&file) = self.by_inode.get(&file) else { return };
                self.files[file].truncate(at, usize::try_from(len).unwrap());
            }
            Event::SyncBegin { id } => {
                self.syncs.insert(id, at);
            }
            Event::Written { .. } | Event::SyncEnd { .. } if self.ignores_syncs => {}
            Event::Written { id } => {
                let (file, at) = self.writes[&id];
                self.files[file].settle_write(at);
                self.n_safe = self.n_safe.max(self.files[file].created + 1);
            }
            Event::SyncEnd { id, is_folder: true, .. } => {
                let began = self.syncs[&id];
                self.n_safe = self.n_safe.max(self.names.partition_point(|name| name.at < began));
            }
            Event::SyncEnd { file, id, is_folder: false } => {
                let Some(&file) = self.by_inode.get(&file) else { return };
                let began = self.syncs[&id];
                self.files[file].settle_before(began);
                self.n_safe = self.n_safe.max(self.files[file].created + 1);
            }
            Event::Link { file, name } => {
                let Some(&file) = self.by_inode.get(&file) else { return };
                self.names.push(Naming { at, change: NameChange::Link { name, file } });
            }
            Event::Rename { from, to, is_exchange } => {
                let change = NameChange::Rename { from, to, is_exchange };
                self.names.push(Naming { at, change });
            }
            Event::Folder { name } => {
                self.names.push(Naming { at, change: NameChange::Folder { name } });
            }
            Event::Unlink { name } => {
                self.names.push(Naming { at, change: NameChange::Unlink { name } });
            }
            Event::Begin { .. } | Event::Acknowledge { .. } | Event::Closing | Event::Closed => {}
        }
    }

    /// The files as they are while the power is there.
    pub(crate) fn whole(&self) -> Image {
        self.image(self.names.len(), &mut Contents::whole)
    }

    /// Files that a loss of power may leave, where the disk writes this many bytes as a whole.
    pub(crate) fn cut(&self, random: &mut Random, piece_len: usize) -> Image {
        let n_unsafe = self.names.len() - self.n_safe;
        let n_names = self.n_safe + n_kept(n_unsafe, Odds::draw(random), random);
        self.image(n_names, &mut |contents| contents.survive(random, piece_len))
    }

    fn image(&self, n_names: usize, bytes: &mut dyn FnMut(&Contents<'j>) -> Vec<u8>) -> Image {
        let (mut names, mut folders) = (BTreeMap::new(), Vec::new());
        for naming in &self.names[..n_names] {
            match naming.change {
                NameChange::Link { name, file } => {
                    names.insert(name, file);
                }
                NameChange::Rename { from, to, is_exchange } => {
                    let file = names.remove(from).expect("a file that is renamed has a name");
                    let older = names.insert(to, file);
                    if let Some(older) = older.filter(|_| is_exchange) {
                        names.insert(from, older);
                    }
                }
                NameChange::Unlink { name } => {
                    names.remove(name);
                }
                NameChange::Folder { name } => folders.push(name.to_owned()),
            }
        }
        let files = names.into_iter();
        let files = files.map(|(name, file)| (name.into(), bytes(&self.files[file])));
        Image::new(files.collect(), folders)
    }
}
