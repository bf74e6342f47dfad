//! Uses a shared cache until its input ends: the worker in Rust of the test of mixed languages, `cache/capi/tests/mixed`.

use std::error::Error;
use std::io::{Write, copy, sink, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::spawn;
use std::time::{Duration, Instant};

use larder::{Delta, Initial, Session, SetOptions};

const KEYS: u64 = 1000;
const LONGEST: u64 = 2000;

/// Random numbers: xorshift64.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// A CRC-32 as zlib computes it.
fn crc32<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u32 {
    !bytes.into_iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    })
}

/// One call; whether it found a value.
fn call(session: &mut dyn Session, draw: &mut Draw) -> Result<bool, Box<dyn Error>> {
    let key = format!("key:{}", draw.below(KEYS));
    let mut value = Vec::new();
    match draw.below(100) {
        0..60 => {
            if session.get(key.as_bytes(), &mut value)?.is_none() {
                return Ok(false);
            }
            let at = value.iter().rposition(|byte| *byte == b':').ok_or("a value without a sum")?;
            let sum = format!("{:08x}", crc32(key.as_bytes().iter().chain(&value[..at])));
            if sum.as_bytes() != &value[at + 1..] {
                return Err(format!("wrong value of {key}").into());
            }
            return Ok(true);
        }
        60..90 => {
            let letter = b'a' + u8::try_from(draw.below(10))?;
            value.resize(usize::try_from(draw.below(LONGEST))?, letter);
            let sum = crc32(key.as_bytes().iter().chain(&value));
            write!(value, ":{sum:08x}")?;
            session.set(key.as_bytes(), &value, &SetOptions::default())?;
        }
        90..95 => {
            session.delete(key.as_bytes())?;
        }
        _ => {
            let key = format!("number:{}", draw.below(10));
            let absent = Some(Initial { number: 1, ttl: None });
            let counted = session.incr(key.as_bytes(), Delta::Up(1), absent)?;
            if counted.is_none_or(|counted| counted.number < 1) {
                return Err(format!("wrong number under {key}").into());
            }
        }
    }
    Ok(false)
}

/// Tells when the input has ended. The other end writes nothing.
fn end_of_input() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ended);
    spawn(move || {
        // An input that cannot be read has ended too.
        let _ = copy(&mut stdin(), &mut sink());
        told.store(true, Ordering::Relaxed);
    });
    ended
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(seed)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mixed_worker URL SEED".into());
    };
    let mut draw = Draw(seed.parse::<u64>()?.wrapping_mul(2_654_435_761) + 1);
    let ended = end_of_input();
    let store = larder::open(&url)?;
    let mut session = store.session()?;
    let (mut calls, mut hits, mut busy) = (0_u64, 0_u64, 0_u64);
    let (mut slowest, mut told) = (Duration::ZERO, Instant::now());
    loop {
        let began = Instant::now();
        match call(&mut *session, &mut draw) {
            Ok(found) => hits += u64::from(found),
            Err(error) => match error.downcast_ref() {
                Some(larder::Error::Busy { .. }) => busy += 1,
                _ => return Err(error),
            },
        }
        slowest = slowest.max(began.elapsed());
        calls += 1;
        if told.elapsed() > Duration::from_millis(200) {
            writeln!(stdout(), "{calls} {hits} {} {busy}", slowest.as_millis())?;
            if ended.load(Ordering::Relaxed) {
                return Ok(store.close()?);
            }
            told = Instant::now();
        }
    }
}
