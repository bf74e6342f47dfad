//! The largest possible value is there after it was stored, whatever else the region holds and however often that is read.

use larder_segment::{Cache, Options, Session, Set};

fn store_and_read(session: &mut Session, key: &str, value: &[u8]) {
    session.set(key.as_bytes(), value, &Set::default()).expect("it has room");
    let mut found = Vec::new();
    // The value is read so often that each of its chunks is worth keeping.
    for read in 0..4 {
        assert!(session.get(key.as_bytes(), &mut found).is_some(), "{key}, read {read}");
    }
    assert!(found == value, "{key}");
}

#[test]
fn a_quarter_of_the_region_has_room_among_others_of_its_size() {
    for size in [1 << 20, 3 << 20, 16 << 20] {
        let cache = Cache::private(&Options::of_size(size)).expect("a region");
        let (mut session, value) = (cache.session(), vec![7; size / 4]);
        for number in 0..24 {
            store_and_read(&mut session, &format!("{number} of {size}"), &value);
        }
    }
}

#[test]
fn a_quarter_of_the_region_has_room_among_small_ones_that_are_all_used() {
    for size in [1 << 20, 16 << 20] {
        let cache = Cache::private(&Options::of_size(size)).expect("a region");
        let (mut session, value) = (cache.session(), vec![7; size / 4]);
        for round in 0..3 {
            for number in 0..size / 500 {
                store_and_read(&mut session, &format!("{number}"), &value[..300]);
            }
            store_and_read(&mut session, &format!("{round} of {size}"), &value);
        }
    }
}
