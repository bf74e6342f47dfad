//! The interface to a driver that the shared session needs.

use larder_store::Result;

use super::places::Kind;

/// One connection to a database, which keeps its statements prepared.
///
/// A connection on which something went wrong is opened anew by the next call, and its statements are prepared again.
/// A statement that the database gave up because of another transaction (a deadlock) has done nothing, and a driver
/// does it again before it reports [`Busy`](larder_store::Error::Busy).
pub trait Connection: Send {
    /// Does a statement that writes, in one round trip, and says how many rows it changed.
    ///
    /// Rows that are inserted and rows that are deleted count one each. An update that gives its row other values
    /// counts one or more; one that leaves its row as it was counts 0 or more
    /// ([`Dialect::counts_found`](super::dialect::Dialect::counts_found) says which). An upsert whose condition does
    /// not hold counts 0. That is how SQLite and PostgreSQL count, and MySQL unless a client asks it for
    /// `CLIENT_FOUND_ROWS`, which therefore no driver may ask for.
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64>;

    /// Does a statement that reads, in one round trip, and hands out what it finds row by row.
    ///
    /// Where [`Statement::finds_one`] is set, the driver need not look for a second row. An error of `row` ends the
    /// reading, and is returned.
    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()>;
}

/// A statement as a dialect writes it.
#[derive(Debug, Clone)]
pub struct Statement {
    /// Its place among the prepared ones of a connection: less than
    /// [`Statements::n_prepared`](super::statements::Statements::n_prepared).
    pub id: usize,
    /// Its text, with the dialect's placeholders.
    pub sql: String,
    /// Whether at most one row answers it.
    pub finds_one: bool,
    /// The meaning of each placeholder of the text, in the order of their numbers, or of the text where they have none.
    pub(super) placeholders: Vec<Placeholder>,
}

/// The meaning of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// Which of the values that come with the statement.
    pub value: usize,
    /// Of which type that value is, or NULL.
    pub kind: Kind,
}

impl Statement {
    /// The values in the order of the placeholders.
    pub fn in_order<'s, 'v>(
        &'s self,
        values: &'s [Value<'v>],
    ) -> impl ExactSizeIterator<Item = Value<'v>> + 's {
        self.placeholders.iter().map(|placeholder| values[placeholder.value])
    }

    /// The types of the placeholders, for a driver that declares them.
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = Kind> {
        self.placeholders.iter().map(|placeholder| placeholder.kind)
    }
}

/// The value in a place of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A string of bytes.
    Bytes(&'a [u8]),
    /// A number.
    Integer(i64),
    /// Nothing.
    Null,
    /// Many strings of bytes, in one place: only where [`Dialect::lookup`](super::dialect::Dialect::lookup) is
    /// [`Array`](super::dialect::Lookup::Array).
    Many(&'a [&'a [u8]]),
}

/// One row of an answer.
pub trait Row {
    /// The string of bytes in a column, counted from 0. NULL is an error.
    fn bytes(&self, column: usize) -> Result<&[u8]>;

    /// The number in a column; `None` is NULL.
    fn integer(&self, column: usize) -> Result<Option<i64>>;
}
