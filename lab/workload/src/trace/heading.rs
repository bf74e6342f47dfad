//! The names of columns, in CSV and in Parquet: which of them has what.

use std::fmt;
use std::str::FromStr;

use super::clock::Unit;
use super::lines::shown;

/// What a column says of its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heading {
    /// In the unit that the column's type tells, or that its numbers show.
    Time,
    /// In seconds.
    TimeS,
    /// In milliseconds.
    TimeMs,
    /// In microseconds.
    TimeUs,
    /// In nanoseconds.
    TimeNs,
    Connection,
    Request,
    Operation,
    KeyHash,
    Key,
    KeySize,
    ValueSize,
    Ttl,
    Amount,
    Result,
    Latency,
    /// How many times the operation was repeated.
    Times,
}

/// The names of what a column says: those that Larder writes and those of Meta's traces, of which the first stands in messages;
/// and those that other programs give it, in lower case, which count where no column has a name of the former kind.
const NAMES: &[(Heading, &[&str], &[&str])] = &[
    (Heading::Time, &["time", "op_time"], &["timestamp"]),
    (Heading::TimeS, &["time_s"], &[]),
    (Heading::TimeMs, &["time_ms"], &[]),
    (Heading::TimeUs, &["time_us"], &[]),
    (Heading::TimeNs, &["time_ns"], &[]),
    (Heading::Connection, &["connection"], &[]),
    (Heading::Request, &["request"], &[]),
    (Heading::Operation, &["op", "operation"], &[]),
    (Heading::KeyHash, &["key_hash"], &[]),
    (Heading::Key, &["key"], &["obj_id", "object_id", "cache_key", "cachekey"]),
    (Heading::KeySize, &["key_size"], &[]),
    (Heading::ValueSize, &["size", "value_size"], &["obj_size", "object_size", "objectsize"]),
    (Heading::Ttl, &["ttl", "ttl_s"], &[]),
    (Heading::Amount, &["amount"], &[]),
    (Heading::Result, &["result"], &[]),
    (Heading::Latency, &["latency_ns"], &[]),
    (Heading::Times, &["op_count"], &[]),
];

/// The most columns that are told one by one.
const TOLD: usize = 16;

impl Heading {
    /// The meaning of a name, in upper or lower case.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let is_name = |known: &&str| known.as_bytes().eq_ignore_ascii_case(name);
        let found = NAMES.iter().find(|(_, names, _)| names.iter().any(is_name));
        found.map(|(heading, ..)| *heading)
    }

    /// The names of a column that says this.
    fn names(self) -> &'static [&'static str] {
        NAMES.iter().find(|(heading, ..)| *heading == self).map_or(&[], |(_, names, _)| names)
    }

    pub(super) fn name(self) -> &'static str {
        self.names().first().copied().unwrap_or_default()
    }

    /// Whether both are columns for the same.
    fn is_as(self, other: Self) -> bool {
        self == other || self.is_time() && other.is_time()
    }

    /// Whether the column has times.
    pub(super) fn is_time(self) -> bool {
        self == Self::Time || self.unit().is_some()
    }

    /// The unit of times that the name tells.
    pub(super) fn unit(self) -> Option<Unit> {
        match self {
            Self::TimeS => Some(Unit::Seconds),
            Self::TimeMs => Some(Unit::Millis),
            Self::TimeUs => Some(Unit::Micros),
            Self::TimeNs => Some(Unit::Nanos),
            _ => None,
        }
    }
}

/// Names of columns as typed: `key:obj_id,size:obj_size`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnNames(Vec<(Heading, String)>);

impl ColumnNames {
    /// Whether no column was named.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a column was named for this.
    fn has(&self, heading: Heading) -> bool {
        self.0.iter().any(|(known, _)| known.is_as(heading))
    }
}

impl FromStr for ColumnNames {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = || {
            let names: Vec<_> = NAMES.iter().map(|(heading, ..)| heading.name()).collect();
            names.join(", ")
        };
        let mut columns = Self::default();
        for pair in text.split(',') {
            let (name, column) = pair.split_once(':').unwrap_or((pair, ""));
            let heading = Heading::of(name.trim().as_bytes());
            let heading = heading.filter(|_| !column.trim().is_empty()).ok_or_else(|| {
                format!("columns: `{pair}` is not NAME:COLUMN with a name of {}", known())
            })?;
            if columns.has(heading) {
                return Err(format!("columns: two columns for `{}`", heading.name()));
            }
            columns.0.push((heading, column.trim().to_owned()));
        }
        Ok(columns)
    }
}

impl fmt::Display for ColumnNames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (heading, column)) in self.0.iter().enumerate() {
            let separator = if number > 0 { "," } else { "" };
            write!(f, "{separator}{}:{column}", heading.name())?;
        }
        Ok(())
    }
}

/// The reason why columns cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum HeadingFault {
    /// No column has keys, as far as the names tell.
    NoKey,
    /// A reason that shows a header which was meant to be read.
    Reason(String),
}

/// The columns of a file, in their order: what each says; `None` for one that is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Headings(Vec<Option<Heading>>);

impl Headings {
    /// Finds out by the names. Those that were typed count for more than names that are known.
    pub(super) fn of(names: &[&[u8]], typed: &ColumnNames) -> Result<Self, HeadingFault> {
        let mut columns = Self(vec![None; names.len()]);
        columns.take_typed(names, typed)?;
        columns.take_known(names, typed)?;
        columns.take_other_programs(names);
        if columns.has(Heading::Key) || columns.has(Heading::KeyHash) {
            Ok(columns)
        } else {
            Err(HeadingFault::NoKey)
        }
    }

    fn take_typed(&mut self, names: &[&[u8]], typed: &ColumnNames) -> Result<(), HeadingFault> {
        for (heading, column) in &typed.0 {
            let is_same = |name: &&[u8]| *name == column.as_bytes();
            let is_alike = |name: &&[u8]| name.eq_ignore_ascii_case(column.as_bytes());
            let place = names.iter().position(is_same).or_else(|| names.iter().position(is_alike));
            let missing = || {
                let reason = format!("no column is named `{column}`; there are {}", list(names));
                HeadingFault::Reason(reason)
            };
            let place = place.ok_or_else(missing)?;
            if let Some(other) = self.0[place] {
                let (heading, other) = (heading.name(), other.name());
                let reason = format!("column `{column}` is both `{other}` and `{heading}`");
                return Err(HeadingFault::Reason(reason));
            }
            self.0[place] = Some(*heading);
        }
        Ok(())
    }

    fn take_known(&mut self, names: &[&[u8]], typed: &ColumnNames) -> Result<(), HeadingFault> {
        for (place, name) in names.iter().enumerate() {
            let known = Heading::of(name).filter(|heading| !typed.has(*heading));
            let Some(heading) = known.filter(|_| self.0[place].is_none()) else { continue };
            if self.has(heading) {
                let (name, heading) = (shown(name), heading.name());
                let reason =
                    format!("two columns for `{name}`; take one by `?columns={heading}:NAME`");
                return Err(HeadingFault::Reason(reason));
            }
            self.0[place] = Some(heading);
        }
        Ok(())
    }

    /// Takes the names that other programs give, where a single column has such a name.
    fn take_other_programs(&mut self, names: &[&[u8]]) {
        for (heading, _, others) in NAMES {
            let is_known = match heading {
                Heading::Key => self.has(Heading::Key) || self.has(Heading::KeyHash),
                other => self.has(*other),
            };
            let is_other = |place: usize| {
                self.0[place].is_none()
                    && others
                        .iter()
                        .any(|other| other.as_bytes().eq_ignore_ascii_case(names[place]))
            };
            let mut places = (0..names.len()).filter(|place| is_other(*place));
            if let (false, Some(place), None) = (is_known, places.next(), places.next()) {
                self.0[place] = Some(*heading);
            }
        }
    }

    /// Whether some column is for this.
    pub(super) fn has(&self, heading: Heading) -> bool {
        self.0.iter().flatten().any(|known| known.is_as(heading))
    }

    /// The unit of the column of times that its name tells.
    pub(super) fn unit(&self) -> Option<Unit> {
        self.0.iter().flatten().find_map(|heading| heading.unit())
    }

    /// What the column at a place says.
    pub(super) fn at(&self, place: usize) -> Option<Heading> {
        self.0.get(place).copied().flatten()
    }

    /// The number of columns, those that are not read included.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The columns for a reader: those that are read, with their meaning where the name is another one, and the others.
    pub(super) fn in_order(&self, names: &[&[u8]]) -> String {
        let named = || self.0.iter().zip(names);
        let read = named().filter_map(|(heading, name)| heading.map(|heading| (heading, *name)));
        let read: Vec<String> = read
            .map(|(heading, name)| match Heading::of(name) {
                Some(known) if known == heading => shown(name),
                _ => format!("{} as {}", shown(name), heading.name()),
            })
            .collect();
        let others: Vec<&[u8]> =
            named().filter(|(heading, _)| heading.is_none()).map(|(_, name)| *name).collect();
        let read = read.join(", ");
        if others.is_empty() { read } else { format!("{read}; without {}", list(&others)) }
    }
}

/// The names of columns for a message, in a line of bounded length.
pub(super) fn list(names: &[&[u8]]) -> String {
    let told = |name: &&[u8]| {
        if name.is_empty() { "(no name)".to_owned() } else { shown(name) }
    };
    let mut told: Vec<String> = names.iter().take(TOLD).map(told).collect();
    if names.len() > TOLD {
        told.push(larder_store::count(names.len() - TOLD, "other"));
    }
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(header: &str, typed: &str) -> Result<String, HeadingFault> {
        let names: Vec<&[u8]> = header.split(',').map(str::as_bytes).collect();
        let typed = if typed.is_empty() { ColumnNames::default() } else { typed.parse().unwrap() };
        Headings::of(&names, &typed).map(|columns| columns.in_order(&names))
    }

    #[test]
    fn names_are_known_in_any_case_and_others_stand_in_where_one_is_missing() {
        for (header, expected) in [
            ("op_time,key,op,size", "op_time, key, op, size"),
            ("Key,Op,Value_Size,TTL", "Key, Op, Value_Size, TTL"),
            (
                "timestamp,obj_id,obj_size,next_access_vtime",
                "timestamp as time, obj_id as key, obj_size as size; without next_access_vtime",
            ),
            ("timestamp,time,key", "time, key; without timestamp"),
            ("time_us,timestamp,key", "time_us, key; without timestamp"),
            ("Time_NS,timestamp,key", "Time_NS, key; without timestamp"),
            ("key_hash,obj_id", "key_hash; without obj_id"),
            ("key,obj_size,object_size", "key; without obj_size, object_size"),
        ] {
            assert_eq!(recognised(header, "").as_deref(), Ok(expected), "{header}");
        }
        assert_eq!(recognised("obj_id,object_id", ""), Err(HeadingFault::NoKey));
    }

    #[test]
    fn typed_names_come_first() {
        let typed = recognised("url,key,bytes,at,size", "key:url,value_size:Bytes,time:at");
        let expected = "url as key, bytes as size, at as time; without key, size";
        assert_eq!(typed.as_deref(), Ok(expected));
        let twice = recognised("key,size,size", "");
        let HeadingFault::Reason(reason) = twice.unwrap_err() else { panic!("no reason") };
        assert_eq!(reason, "two columns for `size`; take one by `?columns=size:NAME`");
        assert_eq!(
            recognised("key,size,value_size", "size:size").as_deref(),
            Ok("key, size; without value_size")
        );
        assert_eq!(
            recognised("key,at,time_s", "time:at").as_deref(),
            Ok("key, at as time; without time_s")
        );
        let twice = recognised("key,time,time_s", "");
        let HeadingFault::Reason(reason) = twice.unwrap_err() else { panic!("no reason") };
        assert_eq!(reason, "two columns for `time_s`; take one by `?columns=time_s:NAME`");
        let HeadingFault::Reason(reason) = recognised("a,b", "key:c").unwrap_err() else {
            panic!("no reason")
        };
        assert_eq!(reason, "no column is named `c`; there are a, b");
        for (text, expected) in [
            (
                "id:url",
                "columns: `id:url` is not NAME:COLUMN with a name of time, time_s, time_ms, time_us, ",
            ),
            ("key", "columns: `key` is not NAME:COLUMN"),
            ("key:", "columns: `key:` is not NAME:COLUMN"),
            ("size:a,value_size:b", "columns: two columns for `size`"),
            ("time:a,time_ms:b", "columns: two columns for `time_ms`"),
        ] {
            let error = text.parse::<ColumnNames>().unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        let names: ColumnNames = "key: a,op_time:b".parse().unwrap();
        assert_eq!(names.to_string(), "key:a,time:b");
    }
}
