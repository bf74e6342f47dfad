/// A text in a file of the sources, and its replacement.
struct Change {
    file: &'static str,
    is: &'static str,
    becomes: &'static str,
}

/// A copy of the sources.
struct Mutant {
    name: &'static str,
    changes: &'static [Change],
}

/// The changes of every copy, which give a region few words. As in all private memory, checksums of records are not
/// checked: they would hide most errors in the order of accesses.
const BASE: &[Change] = &[
    Change {
        file: "layout.rs",
        is: "SUPERBLOCK: usize = 4096",
        becomes: "SUPERBLOCK: usize = 1088",
    },
    Change { file: "lock.rs", is: "LOOKS: u32 = 12", becomes: "LOOKS: u32 = 1" },
    Change {
        file: "session.rs",
        is: "PATIENCE: Duration = Duration::from_millis(250)",
        becomes: "PATIENCE: Duration = Duration::ZERO",
    },
    Change {
        file: "layout.rs",
        is: "CHANGE_COUNTERS: usize = 1024",
        becomes: "CHANGE_COUNTERS: usize = 2",
    },
    Change {
        file: "layout.rs",
        is: "LEASE_BUCKETS: usize = 64",
        becomes: "LEASE_BUCKETS: usize = 1",
    },
    Change { file: "layout.rs", is: "LEASES_EACH: usize = 8", becomes: "LEASES_EACH: usize = 2" },
];

/// The unchanged code, and copies with one deliberate error each.
const MUTANTS: &[Mutant] = &[
    Mutant { name: "real", changes: &[] },
    Mutant {
        name: "no_fence_of_readers",
        changes: &[Change {
            file: "partition.rs",
            is: "fence(Ordering::Acquire);\n        if self.segment_word",
            becomes: "if self.segment_word",
        }],
    },
    Mutant {
        name: "no_second_look",
        changes: &[Change {
            file: "partition.rs",
            is: "if self.segment_word(segment).load(Ordering::Relaxed) != word {",
            becomes: "if false {",
        }],
    },
    Mutant {
        name: "lives_are_one",
        changes: &[Change {
            file: "space.rs",
            is: "if life(word) == self.life { Space::of",
            becomes: "if true { Space::of",
        }],
    },
    Mutant {
        name: "no_fence_of_writers",
        changes: &[
            Change { file: "free_space.rs", is: "fence(Ordering::SeqCst);", becomes: "" },
            Change {
                file: "free_space.rs",
                is: "fence(Ordering::Release);\n        memory.store(self.partition.note_at(segment, STATE)",
                becomes: "memory.store(self.partition.note_at(segment, STATE)",
            },
            Change {
                file: "free_space.rs",
                is: "fence(Ordering::Release);\n        memory.store(self.partition.note_at(segment, FILL)",
                becomes: "memory.store(self.partition.note_at(segment, FILL)",
            },
        ],
    },
    Mutant {
        name: "no_release_of_slots",
        changes: &[
            Change {
                file: "store.rs",
                is: ".store(slot.0, Ordering::Release);",
                becomes: ".store(slot.0, Ordering::Relaxed);",
            },
            Change {
                file: "slot.rs",
                is: "other.0, Ordering::AcqRel,",
                becomes: "other.0, Ordering::Relaxed,",
            },
            Change { file: "store.rs", is: "fence(Ordering::Release);", becomes: "" },
        ],
    },
    Mutant {
        name: "slots_before_records",
        changes: &[
            Change {
                file: "store.rs",
                is: "let (segment, at) = (place.segment, self.append(place, &header, entry));",
                becomes: "let (segment, at) = (place.segment, self.partition.start_of(place.segment) + place.end);",
            },
            Change {
                file: "store.rs",
                is: "        if !is_there {\n",
                becomes: "        self.append(place, &header, entry);\n        if !is_there {\n",
            },
        ],
    },
    Mutant {
        name: "no_look_after_a_fill",
        changes: &[Change {
            file: "store.rs",
            is: "if is_late && is_there {",
            becomes: "if is_late && false {",
        }],
    },
    Mutant {
        name: "moment_before_counter",
        changes: &[
            Change {
                file: "session.rs",
                is: "let partition = self.partition(hash);\n        // First",
                becomes: "let (moment, partition) = (self.cache.moment(), self.partition(hash));\n        // First",
            },
            Change {
                file: "session.rs",
                is: "self.space()), self.cache.moment());",
                becomes: "self.space()), moment);",
            },
        ],
    },
    Mutant {
        name: "no_second_look_of_deleters",
        changes: &[Change {
            file: "partition.rs",
            is: "if now.is_of(slot) {",
            becomes: "if now.is_of(now) {",
        }],
    },
    Mutant {
        name: "no_look_at_the_next_bucket",
        changes: &[Change {
            file: "partition.rs",
            is: "for bucket in next.into_iter()",
            becomes: "for bucket in next.into_iter().take(0)",
        }],
    },
    Mutant {
        name: "no_second_look_of_splitters",
        changes: &[
            Change { file: "grow.rs", is: "!slot_of(from).is_of(slot)", becomes: "false" },
            Change { file: "grow.rs", is: "exchange(to, copy, Slot::EMPTY);", becomes: "" },
        ],
    },
    Mutant {
        name: "no_look_at_the_grown",
        changes: &[Change {
            file: "partition.rs",
            is: "if self.grown() == grown {\n                return None;",
            becomes: "if true {\n                return None;",
        }],
    },
    Mutant {
        name: "no_finishing",
        changes: &[Change {
            file: "changes.rs",
            is: "if intent == FILLS && now",
            becomes: "if intent == FILLS && false && now",
        }],
    },
    Mutant {
        name: "one_change_is_none",
        changes: &[Change {
            file: "changes.rs",
            is: "(0..changes).any(",
            becomes: "(1..changes).any(",
        }],
    },
    Mutant {
        name: "no_look_at_leases",
        changes: &[Change { file: "lease.rs", is: "if leases.is_given(now) {", becomes: "if false {" }],
    },
    Mutant {
        name: "no_look_at_the_entry",
        changes: &[Change {
            file: "lease.rs",
            is: "if present.map(|present| present.found.version) != stale.map(|stale| stale.version) {",
            becomes: "if false {",
        }],
    },
    Mutant {
        name: "no_second_look_at_the_lease",
        changes: &[Change {
            file: "store.rs",
            is: "Some(Fence::Lease(_)) => has_lost_lease,",
            becomes: "Some(Fence::Lease(_)) => false,",
        }],
    },
    Mutant {
        name: "no_end_of_leases",
        changes: &[Change {
            file: "changes.rs",
            is: "self.end_leases(hash, space, moment);",
            becomes: "",
        }],
    },
    Mutant {
        name: "noted_before_the_end",
        changes: &[Change {
            file: "changes.rs",
            is: "self.end_leases(hash, space, moment);\n        self.note_change(hash)",
            becomes: "let noted = self.note_change(hash);\n        self.end_leases(hash, space, moment);\n        noted",
        }],
    },
    Mutant {
        name: "no_release_of_locks",
        changes: &[Change {
            file: "lock.rs",
            is: "Ordering::Release, Ordering::Relaxed) {\n                Ok(_) if",
            becomes: "Ordering::Relaxed, Ordering::Relaxed) {\n                Ok(_) if",
        }],
    },
    Mutant {
        name: "taken_over_by_a_store",
        changes: &[Change {
            file: "lock.rs",
            is: "{ Err(is) } else { self.exchange(is, own, true, true) }",
            becomes: "{ Err(is) } else { self.exchange(self.word().load(Ordering::Relaxed), own, true, true) }",
        }],
    },
    Mutant {
        name: "changes_take_any_slot",
        changes: &[Change {
            file: "change.rs",
            is: "Takes::Older, None)",
            becomes: "Takes::Any, None)",
        }],
    },
];
