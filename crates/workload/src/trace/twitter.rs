//! The traces of Twitter's cache clusters (Yang, Yue, Rashmi, "A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter", OSDI 2020): lines without a header of time, key, key size, value
//! size, client, operation, TTL.

use std::io::BufRead;

use super::format::{Head, TraceFormat};
use super::lines::{Lines, key_size, operation, time, ttl, value_size};
use super::recorder::{Record, Recorder, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "twitter",
    summary: "lines of time,key,key size,value size,client,operation,TTL without a header",
    has_sizes: true,
    detect,
    read,
    write: None,
};

fn detect(head: &Head<'_>) -> bool {
    parse(head.line()).is_ok()
}

fn read(input: &mut dyn BufRead, recorder: &mut Recorder) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    while let Some((line, text)) = lines.next()? {
        let record = parse(text).map_err(|reason| Stop::line(line, reason))?;
        recorder.push(&record, 1)?;
    }
    Ok(())
}

/// A key may have commas in it, so the fields after it are counted from the end.
fn parse(line: &[u8]) -> Result<Record<'_>, String> {
    let fields = || {
        let mut from_end = line.rsplitn(6, |&byte| byte == b',');
        let [ttl, name, _client, value, key] = [(); 5].map(|()| from_end.next());
        let front = from_end.next()?;
        let comma = front.iter().position(|&byte| byte == b',')?;
        Some((&front[..comma], &front[comma + 1..], key?, value?, name?, ttl?))
    };
    let (seconds, key, key_len, value_len, name, time_to_live) = fields().ok_or_else(|| {
        let fields = line.split(|&byte| byte == b',').count();
        format!("{fields} fields, where a request has 7: cut off?")
    })?;
    Ok(Record {
        key,
        operation: operation(name)?,
        value_size: value_size(value_len)?,
        key_size: key_size(key_len)?,
        ttl: ttl(time_to_live)?,
        time_s: time(seconds)?,
    })
}
