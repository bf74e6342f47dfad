//! A recorded run of a case, and the cuts that are made of it.

use std::fs;
use std::path::{Path, PathBuf};

use larder_host::scratch::ScratchDir;
use larder_testkit::Random;

use crate::Case;
use crate::disk::Disk;
use crate::image::Image;
use crate::journal::{Event, read};
use crate::promise::{Book, Fault};
use crate::{reading, work};

/// Names the journal of an earlier run, which takes the place of a new run.
const AGAIN: &str = "LARDER_POWER_AGAIN";

/// This many records are the neighbourhood of an event.
const CLOSE: usize = 100;

/// A recorded run.
pub(crate) struct Run<'c> {
    case: &'c Case,
    pub(crate) journal: Vec<u8>,
    /// For the files of a cut.
    scratch: ScratchDir,
}

impl<'c> Run<'c> {
    /// Runs the program and records it. The journal must lead to the very files that the program left.
    pub(crate) fn new(case: &'c Case, seed: u64) -> Self {
        // In memory, where the files of many cuts cost little.
        let shared = Path::new("/dev/shm");
        let parent = if shared.is_dir() { shared.into() } else { std::env::temp_dir() };
        let scratch = ScratchDir::create_in("power", &parent).unwrap();
        if let Some(path) = std::env::var_os(AGAIN) {
            return Self { case, journal: fs::read(path).unwrap(), scratch };
        }
        let [folder, path] = ["folder", "journal"].map(|name| scratch.path().join(name));
        fs::create_dir(&folder).unwrap();
        work::record(&case.url(&folder), &folder, &path, seed, case.pause);
        let journal = fs::read(&path).unwrap();
        let mut disk = Disk::new(false);
        read(&journal).iter().enumerate().for_each(|(at, event)| disk.apply(at, event));
        let difference = disk.whole().difference(&Image::of(&folder));
        assert_eq!(
            difference, None,
            "{case}: the journal does not lead to the files that are there"
        );
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(&path).unwrap();
        Self { case, journal, scratch }
    }

    /// Opens the files of a cut; returns the number of acknowledged changes that the store has lost.
    pub(crate) fn judge(&self, book: &Book, cut: &Cut) -> Result<usize, Fault> {
        let folder = self.scratch.path().join("cut");
        cut.image.write(&folder);
        let found = reading::read(&self.case.url(&folder), self.scratch.path());
        fs::remove_dir_all(&folder).unwrap();
        book.judge(&found?, cut.place, self.case.promise)
    }

    /// Fails the test, and leaves all that is needed to look into it.
    pub(crate) fn fail(&self, cut: &Cut, seed: u64, fault: &Fault) -> ! {
        let case = self.case;
        let name = format!("larder-power-{}-{seed}-{}", case.scheme, cut.number);
        let kept: PathBuf = std::env::temp_dir().join(name);
        // It may be there from the run whose journal this is, which is in memory.
        let _ = fs::remove_dir_all(&kept);
        cut.image.write(&kept);
        let journal = kept.join("journal");
        fs::write(&journal, &self.journal).unwrap();
        panic!(
            "{case}: cut {} at record {} in pieces of {}: {fault}\nthe files are in {}; the same cuts again: \
             LARDER_POWER_SEED={seed} {AGAIN}={}, with this case alone",
            cut.number,
            cut.place,
            cut.piece_len,
            kept.display(),
            journal.display(),
        );
    }
}

/// The files that a loss of power left.
pub(crate) struct Cut {
    number: usize,
    /// The number of records before it.
    pub(crate) place: usize,
    piece_len: usize,
    image: Image,
}

impl Cut {
    /// The cut of this number, which the seed determines for a journal.
    pub(crate) fn new(
        case: &Case,
        events: &[Event<'_>],
        seed: u64,
        number: usize,
        ignores_syncs: bool,
    ) -> Self {
        let mut random = Random::new(seed ^ (number as u64) << 32);
        let place = place(events, &mut random);
        let piece_len = if random.below(2) == 0 { crate::PAGE } else { case.piece_len };
        let mut disk = Disk::new(ignores_syncs);
        events[..place].iter().enumerate().for_each(|(at, event)| disk.apply(at, event));
        let image = disk.cut(&mut random, piece_len).after_another_start();
        Self { number, place, piece_len, image }
    }
}

/// A place to cut at: anywhere, or in a quarter of the cuts each, while the store is made, and close to the end of a close,
/// where few records stand.
fn place(events: &[Event<'_>], random: &mut Random) -> usize {
    let closes = events.iter().enumerate().filter(|(_, event)| matches!(event, Event::Closed));
    let closes: Vec<usize> = closes.map(|(at, _)| at).collect();
    let place = match random.below(4) {
        0 => random.below(CLOSE),
        1 => closes[random.below(closes.len())].saturating_sub(CLOSE / 2) + random.below(CLOSE),
        _ => random.below(events.len()),
    };
    place.min(events.len())
}
