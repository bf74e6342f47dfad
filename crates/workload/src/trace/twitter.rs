//! The traces of Twitter's cache clusters (Yang, Yue, Rashmi, "A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter", OSDI 2020): lines without a header of time, key, key size, value
//! size, client, operation, TTL.

use std::io::BufRead;

use super::format::{Head, Reader, TraceFormat};
use super::lines::{Lines, key_size, number, operation, time, ttl, value_size};
use super::row::{Key, Row};
use super::sink::{Rows, Stop};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "twitter",
    summary: "lines of time,key,key size,value size,client,operation,TTL without a header",
    has_sizes: true,
    detect,
    read: Reader::Stream(read),
    write: None,
    begin: None,
};

fn detect(head: &Head<'_>) -> bool {
    parse(head.line()).is_ok()
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let mut lines = Lines::new(input);
    while let Some((line, text)) = lines.next()? {
        let row = parse(text).map_err(|reason| Stop::line(line, reason))?;
        rows.push_request(&row, 1)?;
    }
    Ok(())
}

/// A key may have commas in it, so the fields after it are counted from the end.
fn parse(line: &[u8]) -> Result<Row<'_>, String> {
    let fields = || {
        let mut from_end = line.rsplitn(6, |&byte| byte == b',');
        let [ttl, name, client, value, key] = [(); 5].map(|()| from_end.next());
        let front = from_end.next()?;
        let comma = front.iter().position(|&byte| byte == b',')?;
        Some((&front[..comma], &front[comma + 1..], key?, value?, client?, name?, ttl?))
    };
    let (seconds, key, key_len, value_len, client, name, time_to_live) =
        fields().ok_or_else(|| {
            let fields = line.split(|&byte| byte == b',').count();
            format!("{fields} fields, where a request has 7: cut off?")
        })?;
    Ok(Row {
        time_us: time(seconds)?,
        // Another name of a client is no number of a connection.
        connection: number(client, "client", u32::MAX).ok().flatten().unwrap_or(0),
        operation: operation(name)?,
        key_size: key_size(key_len)?,
        value_size: value_size(value_len)?,
        ttl_s: ttl(time_to_live)?,
        ..Row::get(Key::Bytes(key))
    })
}
