//! The measured loop allocates nothing: twenty times the operations make no more allocations.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use larder_engines::ENGINES;
use larder_report::Operation;

/// Counts every allocation of the process.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: everything is handed to the system's allocator as it came; counting touches no memory but a static.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises of this trait's method, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from `System`, the only allocator behind this one.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn allocations_of(requests: u32) -> u64 {
    let workload = format!(
        "keys = 5000\nrounds = 1\ndata-size = 100\nrequests = {requests}\noperations = 'get'"
    );
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let run = support::run(&ENGINES, &["null:"], &workload);
    let counts = support::cell(&run, "null:", Operation::Get).counts;
    assert_eq!((counts.ops, counts.hits), (u64::from(requests), u64::from(requests)));
    assert!(support::findings(&run, "ERR-AS-OP").is_empty());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn more_operations_make_no_more_allocations() {
    allocations_of(20_000); // What is made once in a process is made here.
    let (few, many) = (allocations_of(20_000), allocations_of(400_000));
    // The process's memory, its tasks and the machine are read around the loop; their texts differ a little in length.
    assert!(many.abs_diff(few) < 20, "{few} allocations for 20,000 operations, {many} for 400,000");
}
