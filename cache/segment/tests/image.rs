//! Damaged files, drawn at random. `just fuzz segment_image` looks for worse ones, guided by the code that
//! they reach.

#[path = "support/image.rs"]
mod image;

use std::sync::OnceLock;

use proptest::prelude::*;

/// Each word of the notes on all segments has an impossible value.
#[test]
fn notes_that_make_no_sense_stop_nobody() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let made = image::made(folder.path());
    let (at, segments) = image::notes(&made);
    for word in 0..4 {
        for wrong in [1, 3 << 32 | 1, 77 << 56 | 99 << 48 | 1, u64::MAX] {
            let mut bytes = made.clone();
            for segment in 0..segments {
                let at = at + segment * 32 + word * 8;
                bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(wrong));
            }
            image::try_all(folder.path(), &bytes);
        }
    }
}

#[test]
fn keys_and_values_that_have_no_room_are_refused() {
    let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let made = image::made(folder.path());
    for (at, limit) in [(96, 4097), (96, u64::MAX), (104, (1 << 18) + 1), (104, u64::MAX)] {
        let mut bytes = made.clone();
        bytes[at..at + 8].copy_from_slice(&u64::to_ne_bytes(limit));
        image::damage(&mut bytes, &[]);
        let path = folder.path().join("refused");
        std::fs::write(&path, bytes).expect("a file");
        let refused = larder_segment::Cache::existing(&path).expect_err("a limit that cannot be");
        assert!(refused.to_string().contains("describes more than it has"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_file_says_nobody_crashes_waits_or_reads_a_wrong_value(
        how in prop::collection::vec(any::<u8>(), 11..70),
    ) {
        static MADE: OnceLock<Vec<u8>> = OnceLock::new();
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let mut bytes = MADE.get_or_init(|| image::made(folder.path())).clone();
        image::damage(&mut bytes, &how);
        image::try_all(folder.path(), &bytes);
    }
}
