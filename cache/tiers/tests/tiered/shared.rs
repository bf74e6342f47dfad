//! An L1 that several stacks share, as the workers of a host do: its own tokens guard it for all of them.

use std::sync::Arc;
use std::time::Duration;

use larder_host::scratch::ScratchDir;
use larder_store::{Leased, Session, SetMode, Store};

use super::spy::{Spy, spy};
use super::{get, mode, open, set, value};

/// Two stacks over one file and one spied tier, each with tokens of its own, as if in two processes.
struct Shared {
    stacks: [Arc<dyn Store>; 2],
    l1: Arc<dyn Store>,
    l2: Arc<Spy>,
    _folder: ScratchDir,
}

fn shared(name: &str) -> Shared {
    let folder = ScratchDir::create_in("shared", &std::env::temp_dir()).unwrap();
    let file = format!("mmap:{}", folder.path().join("cache").display());
    let l1 = open(&format!("{file}?size=1m"));
    let stacks = [(); 2].map(|()| open(&format!("tiered:{file}|spy:/{name}/2")));
    Shared { stacks, l1, l2: spy(&format!("/{name}/2")), _folder: folder }
}

impl Shared {
    /// The value in L1, read past the stacks.
    fn above(&self) -> Option<Vec<u8>> {
        get(&mut *self.l1.session().unwrap(), "k")
    }

    /// A function that does this in the other stack.
    fn elsewhere(&self, write: fn(&mut dyn Session)) -> impl FnOnce() + Send + 'static {
        let other = Arc::clone(&self.stacks[1]);
        move || write(&mut *other.session().unwrap())
    }
}

#[test]
fn a_value_that_another_process_changes_while_it_is_read_is_not_filled_in() {
    type Write = fn(&mut dyn Session);
    let writes: [(&str, Write); 4] = [
        ("set", |session| set(session, "k", b"new", None)),
        ("delete", |session| assert!(session.delete(b"k").unwrap())),
        ("append", |session| {
            assert!(session.set(b"k", b"0", &mode(SetMode::Append)).unwrap().is_stored());
        }),
        ("touch", |session| assert!(session.touch(b"k", None).unwrap())),
    ];
    for (name, write) in writes {
        for by_batch in [false, true] {
            let shared = shared(&format!("shared/{name}/{by_batch}"));
            let mut session = shared.stacks[0].session().unwrap();
            shared.l2.put("k", b"old", None);
            let (again, l1) = (shared.elsewhere(write), Arc::clone(&shared.l1));
            shared.l2.when_done(move || {
                again();
                l1.session().unwrap().delete(b"k").unwrap();
            });
            let mut found = None;
            if by_batch {
                let hit = &mut |_, value: &[u8], _| found = Some(value.to_vec());
                session.get_many(&[b"absent", b"k"], hit).unwrap();
            } else {
                found = get(&mut *session, "k");
            }
            assert_eq!(found, Some(b"old".to_vec()), "{name}");
            assert_eq!(shared.above(), None, "{name}: the old value is back");
            assert_eq!(get(&mut *session, "k"), value(&shared.l2, "k"), "{name}");
        }
    }
}

#[test]
fn of_two_values_that_two_processes_write_the_one_lost_below_is_not_left_above() {
    let shared = shared("shared/writers");
    let mut session = shared.stacks[0].session().unwrap();
    shared.l2.when_done(shared.elsewhere(|session| set(session, "k", b"second", None)));
    set(&mut *session, "k", b"first", None);
    assert_eq!(value(&shared.l2, "k"), Some(b"second".to_vec()));
    assert_ne!(shared.above(), Some(b"first".to_vec()));
    assert_eq!(get(&mut *session, "k"), Some(b"second".to_vec()));
}

#[test]
fn what_is_read_and_written_is_found_above() {
    let shared = shared("shared/plain");
    let [mut one, mut other] = shared.stacks.each_ref().map(|stack| stack.session().unwrap());
    shared.l2.put("k", b"below", None);
    assert_eq!(get(&mut *one, "k"), Some(b"below".to_vec()));
    assert_eq!(shared.above(), Some(b"below".to_vec()));
    set(&mut *other, "k", b"written", None);
    assert_eq!(shared.above(), Some(b"written".to_vec()));
    shared.l2.asked();
    assert_eq!(get(&mut *one, "k"), Some(b"written".to_vec()));
    assert_eq!(shared.l2.asked(), [""; 0]);
}

#[test]
fn the_lowest_tier_gives_the_leases_and_its_stale_values_are_not_filled_in() {
    let stack = open("tiered:moka:|memory:");
    let (mut one, mut other) = (stack.session().unwrap(), stack.session().unwrap());
    let time = Duration::from_hours(1);
    let ask = |session: &mut dyn Session| {
        let mut value = Vec::new();
        let leased = session.leases().unwrap().get_or_lease(b"k", &mut value, time).unwrap();
        (leased, value)
    };
    set(&mut *one, "k", b"old", None);
    // L1 has the value, and drops it.
    assert!(other.leases().unwrap().expire(b"k", None).unwrap());
    for _ in 0..2 {
        assert!(one.get(b"k", &mut Vec::new()).unwrap().unwrap().stale);
    }
    let (Leased::Load { token, stale: Some(_) }, value) = ask(&mut *one) else { panic!() };
    assert_eq!(value, b"old");
    let (Leased::Wait { stale: Some(_) }, _) = ask(&mut *other) else { panic!() };
    let filled = other.leases().unwrap().fill(b"k", b"new", &mode(SetMode::Set), &token).unwrap();
    assert!(filled.is_stored());
    let (Leased::Hit(meta), value) = ask(&mut *one) else { panic!() };
    assert_eq!((meta.stale, &value[..]), (false, &b"new"[..]));
    let hits = stack.tiers().iter().map(|tier| tier.hits).collect::<Vec<_>>();
    assert_eq!(hits[0], 1, "the last answer is of L1");
}
