//! Surveys of a region beside its users, and of a damaged region.

#![expect(clippy::unwrap_used, reason = "a test without what it needs has failed")]

mod support;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use larder_segment::{Cache, End, Options, Queue, SegmentSurvey, Set, Survey};
use proptest::prelude::*;
use support::folder;

const SMALL: Options = Options { item: 512, ..Options::of_size(1 << 20) };

fn fill(cache: &Arc<Cache>, keys: std::ops::Range<u32>) {
    let mut session = cache.session();
    for key in keys {
        session.set(&key.to_le_bytes(), &[7; 400], &Set::default()).unwrap();
    }
}

fn segments(survey: &Survey) -> impl Iterator<Item = &SegmentSurvey> {
    survey.partitions.iter().flat_map(|part| &part.segments)
}

fn of_queue(survey: &Survey, queue: Queue) -> Vec<&SegmentSurvey> {
    segments(survey).filter(|segment| segment.queue == queue).collect()
}

#[test]
fn it_tells_what_is_alive_and_what_is_dead() {
    let cache = Cache::private(&SMALL).unwrap();
    let empty = cache.survey();
    assert_eq!(of_queue(&empty, Queue::Free).len(), segments(&empty).count());
    assert_eq!((empty.size, empty.cleared, empty.end), (1 << 20, 0, End::Open));

    fill(&cache, 0..400);
    let full = cache.survey();
    let records: u32 = segments(&full).map(|segment| segment.records).sum();
    assert_eq!((records, full.partitions[0].items), (400, 400));
    assert_eq!(full.partitions[0].bytes, 400 * 404);
    assert!(segments(&full).all(|segment| segment.alive <= segment.written));
    let alive = |survey: &Survey| segments(survey).map(|segment| segment.alive).sum::<u32>();
    let written = |survey: &Survey| segments(survey).map(|segment| segment.written).sum::<u32>();
    // A header is 16 bytes, and the last four bytes of a record fill up a word.
    assert_eq!((alive(&full), written(&full)), (400 * 424, 400 * 424));
    let active: Vec<_> = segments(&full).filter(|segment| segment.is_active).collect();
    assert_eq!(active.len(), 1);
    assert_eq!((active[0].queue, active[0].latest), (Queue::Small, None));

    let mut session = cache.session();
    for key in 0..100_u32 {
        session.delete(&key.to_le_bytes()).unwrap();
    }
    let fewer = cache.survey();
    assert_eq!((alive(&fewer), written(&fewer)), (300 * 424, 400 * 424));

    cache.clear();
    let cleared = cache.survey();
    assert!(segments(&cleared).all(|segment| segment.is_stale != (segment.queue == Queue::Free)));
    assert_eq!((alive(&cleared), written(&cleared), cleared.cleared), (0, 400 * 424, 1));
}

#[test]
fn entries_that_are_read_are_seen_to_move_to_the_main_queue() {
    let cache = Cache::private(&SMALL).unwrap();
    let (mut session, mut value) = (cache.session(), Vec::new());
    for key in 0..10_000_u32 {
        fill(&cache, key..key + 1);
        // The first of these keys that are read came when the region was full already.
        session.get(&(5000 + key % 500).to_le_bytes(), &mut value);
    }
    let of_main = |survey: &Survey| -> u32 {
        of_queue(survey, Queue::Main).iter().map(|segment| segment.records).sum()
    };
    let survey = cache.survey();
    let main = of_queue(&survey, Queue::Main);
    assert!(main.iter().all(|segment| segment.times > 0 && segment.order > 0));
    assert!(of_queue(&survey, Queue::Unknown).is_empty());
    let read = (5000..5500).map(|key: u32| session.delete(&key.to_le_bytes()).unwrap());
    let there: u32 = read.map(u32::from).sum();
    let moved = of_main(&survey) - of_main(&cache.survey());
    assert!((480..=500).contains(&there) && moved == there, "{there} are there, {moved} in main");
}

#[test]
fn namespaces_are_told_by_name() {
    let cache = Cache::private(&SMALL).unwrap();
    assert_eq!(cache.survey().namespaces, []);
    let longest = "x".repeat(48);
    for name in ["shop", "forum", &longest, "shop"] {
        cache.namespace(name).unwrap();
    }
    cache.namespace("forum").unwrap().clear();
    let told = cache.survey().namespaces;
    let told: Vec<_> = told.iter().map(|it| (it.name.as_str(), it.cleared)).collect();
    assert_eq!(told, [("forum", 1), ("shop", 0), (longest.as_str(), 0)]);
}

#[test]
fn a_file_is_only_read_whether_it_is_open_or_not() {
    let folder = folder();
    let path = folder.path().join("cache");
    assert!(Survey::of_file(&path).unwrap().is_none());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);

    let cache = Cache::open(&path, &SMALL).unwrap();
    fill(&cache, 0..1000);
    cache.namespace("shop").unwrap();
    let before = fs::read(&path).unwrap();
    let open = Survey::of_file(&path).unwrap().unwrap();
    assert_eq!((open.is_open, open.end), (Some(true), End::Open));
    // They differ only in the clock.
    assert_eq!(Survey { now: open.now, ..cache.survey() }, open);
    drop(cache);
    let closed = Survey::of_file(&path).unwrap().unwrap();
    assert_eq!((closed.is_open, closed.end), (Some(false), End::Closed));
    assert_eq!(closed.partitions, open.partitions);
    // The bytes are the same, except the word for the end and those for the time.
    let mut after = fs::read(&path).unwrap();
    after[384..392].copy_from_slice(&before[384..392]);
    after[528..544].copy_from_slice(&before[528..544]);
    assert!(after == before, "something was written");

    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(&12_345_u64.to_ne_bytes(), 384).unwrap();
    assert_eq!(Survey::of_file(&path).unwrap().unwrap().end, End::Lost);
    file.set_len(5000).unwrap();
    let refused = Survey::of_file(&path).unwrap_err().to_string();
    assert!(refused.contains("5000 bytes and was made with 1048576"), "{refused}");
    let refused = Survey::of_file(folder.path()).unwrap_err().to_string();
    assert!(refused.contains("cannot be read"), "{refused}");
}

/// Checks that every figure is possible for a segment.
fn check(survey: &Survey) {
    for segment in segments(survey) {
        assert!(segment.written as usize <= survey.segment_size, "{segment:?}");
        assert!(segment.alive <= segment.written && segment.class < 8, "{segment:?}");
        assert!(segment.records <= segment.written / 16, "{segment:?}");
        assert!(segment.queue != Queue::Free || segment.written == 0, "{segment:?}");
    }
}

fn damage(path: &Path, damage: &[(u64, Vec<u8>)]) {
    let file = OpenOptions::new().write(true).open(path).unwrap();
    for (at, bytes) in damage {
        let bytes = &bytes[..bytes.len().min(usize::try_from((1 << 20) - at).unwrap())];
        file.write_all_at(bytes, *at).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_surveyed_or_refused(
        // The changes lie at the beginning, and mostly in the notes behind it.
        beginning in prop::collection::vec((0_u64..4096, prop::collection::vec(any::<u8>(), 1..9)), 0..2),
        notes in prop::collection::vec((4096_u64..20_000, prop::collection::vec(any::<u8>(), 1..200)), 0..40),
        anywhere in prop::collection::vec((4096_u64..1 << 20, prop::collection::vec(any::<u8>(), 1..200)), 0..10),
        len in prop::option::weighted(0.1, 0_u64..2 << 20),
    ) {
        let folder = folder();
        let path = folder.path().join("cache");
        fill(&Cache::open(&path, &SMALL).unwrap(), 0..3000);
        damage(&path, &beginning);
        damage(&path, &notes);
        damage(&path, &anywhere);
        if let Some(len) = len {
            OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
        }
        match Survey::of_file(&path) {
            Ok(survey) => check(&survey.unwrap()),
            Err(refused) => prop_assert!(!beginning.is_empty() || len.is_some(), "{refused}"),
        }
    }
}
