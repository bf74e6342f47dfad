//! Small servers for tests that speak memcached's text protocol over loopback. There are a sound server, and one
//! server for each broken promise that a comparison must detect.
//!
//! A hostile user who doubts a benchmark would write such servers. Unlike [`stores`](crate::stores) they are at the
//! other end of a connection, where a cache may also close it, stay silent, or send unrequested answers. Each fault
//! occurs at fixed requests, so that a run with one thread is reproducible.
//!
//! `cargo run -p larder-testkit --example trap -- nodelete` serves one trap for manual use.

mod cache;
mod commands;
mod fault;
mod request;
mod server;

pub use fault::Fault;
pub use server::TrapServer;

/// A fault by its name in the example program and in the tests' table.
#[derive(Debug, Clone, Copy)]
pub struct Trap {
    /// The name: one word.
    pub name: &'static str,
    /// The behaviour of the server.
    pub fault: Fault,
}

/// Every trap; the first has no fault.
pub const TRAPS: &[Trap] = &[
    trap("honest", Fault::None),
    trap("nodelete", Fault::IgnoresDeletes { every: 1 }),
    trap("halfdelete", Fault::IgnoresDeletes { every: 2 }),
    trap("keepfirst", Fault::KeepsFirst),
    trap("refuse", Fault::RefusesOverwrites),
    trap("hangover", Fault::HangsOnOverwrites),
    trap("dropset", Fault::DropsSets { every: 20 }),
    trap("excuse", Fault::DropsAndCounts { every: 20 }),
    trap("earlyack", Fault::AcknowledgesEarly { every: 25 }),
    trap("neverstore", Fault::NeverStores),
    trap("full", Fault::DropsWhenFull { entries: 60 }),
    trap("restart", Fault::Restarts { every: 150 }),
    trap("miss", Fault::Misses { every: 20 }),
    trap("partial", Fault::LeavesOut),
    trap("wrong", Fault::FlipsBits { every: 37 }),
    trap("tail", Fault::AppendsBytes { every: 37 }),
    trap("trunc", Fault::CutsValues { keep: 300 }),
    trap("swap", Fault::SwapsValues { every: 37 }),
    trap("namespace", Fault::FoldsKeys),
    trap("old", Fault::AnswersOld { every: 11 }),
    trap("late", Fault::Lags { by: 150 }),
    trap("undead", Fault::Revives),
    trap("zombie", Fault::ReturnsLater),
    trap("replica", Fault::LingersElsewhere { by: 40 }),
    trap("lazy", Fault::Lags { by: 2 }),
    trap("oddshard", Fault::DropsOddKeys),
    trap("afterset", Fault::MissesAfterSets { every: 10 }),
    trap("nottl", Fault::IgnoresTtl),
    trap("fastclock", Fault::RunsFast),
    trap("tick", Fault::TicksOnceASecond),
    trap("notouch", Fault::IgnoresTouch),
    trap("keepttl", Fault::KeepsFirstTtl),
    trap("sliding", Fault::Slides),
    trap("fewttl", Fault::ExpiresWhenFew { entries: 80 }),
    trap("largettl", Fault::KeepsLargeForEver { bytes: 512 }),
    trap("hugettl", Fault::KeepsLargeForEver { bytes: 16 << 10 }),
    trap("longkeyttl", Fault::KeepsLongKeysForEver { bytes: 28 }),
    trap("noprolong", Fault::NeverProlongsLarge { bytes: 255 }),
    trap("manyold", Fault::AnswersCopiesTogether { keys: 4 }),
    trap("manyttl", Fault::AnswersEndedTogether),
    trap("touchmiss", Fault::DeniesTouches { every: 20 }),
    trap("deletemiss", Fault::DeniesDeletes { every: 20 }),
    trap("failtouch", Fault::FailsTouches),
    trap("noflush", Fault::IgnoresFlush),
    trap("stall", Fault::Stalls { every: 200 }),
    trap("close", Fault::Closes { every: 100 }),
    trap("hang", Fault::Hangs { after: 700 }),
    trap("garbage", Fault::AnswersGarbage { every: 50 }),
    trap("otherkey", Fault::NamesOtherKey { every: 50 }),
    trap("crossed", Fault::CrossesConnections { every: 50 }),
    trap("twice", Fault::EndsTwice { every: 50 }),
    trap("flags", Fault::ChangesFlags { every: 37 }),
    trap("noflags", Fault::ForgetsFlags),
];

const fn trap(name: &'static str, fault: Fault) -> Trap {
    Trap { name, fault }
}

/// The trap of this name.
pub fn find(name: &str) -> Option<Trap> {
    TRAPS.iter().find(|trap| trap.name == name).copied()
}
