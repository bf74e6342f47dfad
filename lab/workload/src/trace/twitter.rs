//! The traces of Twitter's cache clusters (Yang, Yue, Rashmi, "A large scale analysis of hundreds of
//! in-memory cache clusters at Twitter", OSDI 2020): lines without a header of time, key, key size, value
//! size, client, operation, TTL.

use std::io::{self, BufRead, Write};
use std::path::Path;

use larder_store::count;

use super::clock::{Clock, Unit, bare};
use super::format::{Detection, Head, Reader, TraceFormat};
use super::lines::{Lines, ahead, is_text_key, key_size, number, operation, ttl, value_size};
use super::row::{Key, Row, Verb};
use super::sink::{About, Rows, Stop};
use super::time_unit::Beginning;
use super::writer::{Field, Fit, RowWriter};

pub(super) const FORMAT: TraceFormat = TraceFormat {
    name: "twitter",
    summary: "lines of time,key,key size,value size,client,operation,TTL without a header",
    has_sizes: true,
    detect,
    read: Reader::Stream(read),
    write: Some(begin),
    holds: &[Field::Operation, Field::Connection, Field::KeySize, Field::Ttl],
};

fn detect(head: &Head<'_>) -> Detection {
    // A number that is no plausible time is told when it is read.
    match parse(head.line(), &mut Clock::new(Some(Unit::Seconds))) {
        Ok(_) => Detection::ByContent("by its first line"),
        Err(_) => Detection::No,
    }
}

fn read(input: &mut dyn BufRead, rows: &mut Rows<'_>) -> Result<(), Stop> {
    let (ahead, mut input) = ahead(input)?;
    let mut beginning = Beginning::default();
    for line in ahead.split(|byte| *byte == b'\n') {
        let time = line.split(|byte| *byte == b',').next().and_then(bare);
        beginning.push(time, 1);
    }
    let mut lines = Lines::new(&mut input);
    let mut clock = Clock::judging(rows.unit, beginning, rows.counted_before);
    while let Some((line, text)) = lines.next()? {
        let row = parse(text, &mut clock).map_err(|reason| Stop::line(line, reason))?;
        rows.judged(clock.take_judgement());
        rows.push_request(&row)?;
    }
    Ok(())
}

/// A key may have commas in it, so the fields after it are counted from the end.
fn parse<'a>(line: &'a [u8], clock: &mut Clock) -> Result<Row<'a>, String> {
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
            format!("{}, where a request has 7: cut off?", count(fields, "field"))
        })?;
    let operation = operation(name)?;
    Ok(Row {
        time_us: clock.text(seconds)?,
        // Another name of a client is no number of a connection.
        connection: number(client, "client", u32::MAX).ok().flatten().unwrap_or(0),
        operation,
        key_size: key_size(key_len)?,
        value_size: value_size(value_len)?,
        // Here 0 is no TTL, and a change of a value without one stores no absent key.
        ttl_s: ttl(time_to_live)?.filter(|ttl| *ttl > 0 || !operation.changes()),
        ..Row::get(Key::Bytes(key))
    })
}

/// Writes lines. What a row lacks is a 0, as Twitter's own have.
struct Writer<'a>(Box<dyn Write + Send + 'a>);

#[expect(clippy::unnecessary_wraps, reason = "every format begins a trace in this form")]
fn begin<'a>(out: Box<dyn Write + Send + 'a>, _: &Path) -> io::Result<Box<dyn RowWriter + 'a>> {
    Ok(Box::new(Writer(out)))
}

impl RowWriter for Writer<'_> {
    fn push(&mut self, row: &Row<'_>) -> io::Result<Fit> {
        let (operation, fit) = match row.operation {
            Verb::Touch => return Ok(Fit::LeftOut),
            Verb::Gat => (Verb::Get, Fit::AsGet),
            other => (other, Fit::Whole),
        };
        let out = &mut self.0;
        write!(out, "{},", row.time_us.unwrap_or(0) / 1_000_000)?;
        let (key_len, fit) = match row.key {
            Key::Bytes(key) if is_text_key(key) => {
                out.write_all(key)?;
                (u32::try_from(key.len()).unwrap_or(0), fit)
            }
            Key::Bytes(_) => {
                write!(out, "{}", row.key.hash())?;
                (0, Fit::Hashed)
            }
            Key::Hash(hash) => {
                write!(out, "{hash}")?;
                (0, fit)
            }
        };
        let (key_size, connection) = (row.key_size.unwrap_or(key_len), row.connection);
        let (value_size, ttl) = (row.value_size.unwrap_or(0), row.ttl_s.unwrap_or(0));
        writeln!(out, ",{key_size},{value_size},{connection},{operation},{ttl}")?;
        Ok(fit)
    }

    fn finish(mut self: Box<Self>, _: &About) -> io::Result<()> {
        self.0.flush()
    }
}
