//! Captures of the network. No file makes the reader panic, and what it holds is bounded.
//!
//!     cargo +nightly fuzz run capture_file
//!
//! The first byte of the input chooses the protocol, and the rest is the file.

#![no_main]

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use larder_record::{Batch, CaptureFile, Keys, RowSink, Notify, Upstream, Writer};
use larder_store::StoreUrl;
use libfuzzer_sys::fuzz_target;

/// A sink that keeps nothing.
struct Nothing;

impl RowSink for Nothing {
    fn write(&mut self, _: &Batch) -> std::io::Result<()> {
        Ok(())
    }

    fn drop_rows(&mut self, _: u64) {}

    fn tick(&mut self) {}

    fn finish(&mut self) {}
}

fuzz_target!(|input: &[u8]| {
    let Some((first, file)) = input.split_first() else { return };
    let url = if first & 1 == 0 { "memcached://0.0.0.0:11211" } else { "redis://0.0.0.0:6379" };
    let upstream = Upstream::of_url(&StoreUrl::parse(url).unwrap()).unwrap();
    let Ok(capture) = CaptureFile::open(Cursor::new(file.to_vec()), &upstream) else { return };
    let (writer, hand) = Writer::start(Box::new(Nothing)).unwrap();
    let tell: Notify = Arc::new(|_, _, _| {});
    let _ = capture.record(Keys::new(&[7; 16]), &hand, &tell, &AtomicBool::new(false));
    // The hand is dropped first, so that the thread that writes ends at once.
    drop(hand);
    writer.finish();
});
