//! The measured loop allocates nothing: twenty times the operations make no more allocations.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};

use larder_engines::ENGINES;
use larder_report::Operation;
use larder_testkit::{MEMCACHED, has_program, nightly, trial_where};
use libtest_mimic::Arguments;

/// Counts the allocations of the threads that do the work. The main thread tells of progress, and the sampler reads the machine's
/// counters, by the clock: a slow run makes them allocate more.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Whether this thread does a part of the work. The system is asked, because a thread's own variable could allocate.
fn works() -> bool {
    let mut name = [0_u8; 16];
    // SAFETY: the kernel writes the name of this thread, at most 16 bytes with the final zero. The others only return numbers.
    let is_main = unsafe {
        libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr());
        libc::gettid() == libc::getpid()
    };
    !is_main && !name.starts_with(b"sampler\0")
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches no memory but a static.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if works() {
            ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // SAFETY: the caller keeps the promises of this trait's method, which `System` asks for too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; the pointer came from `System`, the only allocator behind this one.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn allocations_of(url: &str, requests: u32, operation: Operation, pace: &str) -> u64 {
    let multiget = if operation == Operation::GetMany { "multiget = 10" } else { "" };
    let workload = format!(
        "keys = 5000\nrounds = 1\ndata-size = 100\nrequests = {requests}\noperations = 'get'\n{multiget}\n{pace}"
    );
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let run = support::run(&ENGINES, &[url], &workload);
    let counts = support::cell(&run, url, operation).counts;
    assert_eq!((counts.ops, counts.hits), (u64::from(requests), u64::from(requests)));
    assert!(support::findings(&run, "ERR-AS-OP").is_empty());
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

/// One allocation in a thousand operations. Progress and results make some tens.
const MADE_BESIDE: u64 = 380;

/// One allocation in ten requests of ten keys. With a server or on a disk a run takes longer on a slow machine, and its counters
/// are read and its answers cut more often. An allocation of each request would be ten times as many.
const MADE_BESIDE_SLOW: u64 = 3_800;

fn main() -> ExitCode {
    let always = || Ok(());
    let connections = "many_connections_to_memcached_allocate_nothing_for_an_operation";
    let long = [
        trial_where(always, "many_connections_allocate_nothing_for_an_operation", || {
            many_connections("null:", MADE_BESIDE);
        }),
        trial_where(
            || has_program(&MEMCACHED),
            connections,
            || {
                many_connections("memcached:?server_threads=1", MADE_BESIDE_SLOW);
            },
        ),
        trial_where(always, "a_stack_allocates_no_more_than_its_tier", stack),
    ];
    let loops = trial_where(always, "more_operations_make_no_more_allocations", loops);
    let trials = std::iter::once(loops).chain(nightly(long)).collect();
    // One at a time, and so on the main thread, because the allocations of all others are counted.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The number of additional allocations of twenty times as many operations.
fn growth(url: &str, operation: Operation, pace: &str) -> u64 {
    allocations_of(url, 20_000, operation, pace); // The first run makes the allocations of the process.
    let few = allocations_of(url, 20_000, operation, pace);
    assert!(few > 0, "the threads that work are not counted");
    allocations_of(url, 400_000, operation, pace).abs_diff(few)
}

fn loops() {
    for pace in ["", "rate = '1m'", "rate = '1m'\narrivals = 'exponential'"] {
        let more = growth("null:", Operation::Get, pace);
        assert!(more < MADE_BESIDE, "{more} more for 400,000 operations than for 20,000: {pace}");
    }
}

fn many_connections(url: &str, most: u64) {
    let many = "connections = 8\npipeline = 4";
    for (operation, pace) in [
        (Operation::Get, many.to_owned()),
        (Operation::GetMany, many.to_owned()),
        (Operation::Get, format!("{many}\nrate = '1m'")),
    ] {
        let more = growth(url, operation, &pace);
        assert!(more < most, "{url} {operation}: {more} more of many connections: {pace}");
    }
}

/// A stack allocates no more than the tier that answers; LMDB itself allocates.
fn stack() {
    for operation in [Operation::Get, Operation::GetMany] {
        let alone = growth("lmdb:", operation, "");
        let stack = growth("tiered:lmdb:|lmdb:|?l1_ttl=1h", operation, "");
        let most = alone + MADE_BESIDE_SLOW;
        assert!(stack < most, "{operation}: {stack} in a stack, {alone} in its tier");
    }
}
