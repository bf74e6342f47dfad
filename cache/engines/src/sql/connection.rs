//! The interface to a driver that the shared session needs.

use larder_store::Result;

use super::places::ArgumentType;

/// One connection to a database, which keeps its statements prepared.
///
/// After a failure, the next call opens the connection again, and its statements are prepared again. A statement that
/// the database gave up because of another transaction (a deadlock) has done nothing. A driver tries it again before it
/// reports [`Busy`](larder_store::Error::Busy).
pub trait Connection {
    /// Runs a statement that writes, in one round trip, and returns how many rows it changed.
    ///
    /// Rows that are inserted and rows that are deleted count one each. An update that gives its row other values
    /// counts one or more; an update that leaves its row as it was counts 0 or more
    /// ([`Dialect::counts_found`](super::dialect::Dialect::counts_found) says which). An upsert whose condition does
    /// not hold counts 0. SQLite and PostgreSQL count like this, and MySQL too, unless a client asks for
    /// `CLIENT_FOUND_ROWS`: no driver may ask for that.
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64>;

    /// Runs a statement that reads, in one round trip, and passes each found row to `row`.
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

/// A connection that can also run several statements as one transaction.
pub trait Transactions: Connection + Send {
    /// Runs `work`, whose statements take effect together: when it ends without an error, and not at all otherwise.
    ///
    /// When the database gives the transaction up because of another one, `work` runs again from its beginning. It must
    /// return the first error of the connection that it is given.
    fn transaction(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()>;
}

/// A statement as a dialect writes it.
#[derive(Debug, Clone)]
pub struct Statement {
    /// The place of the statement among the prepared ones of a connection: less than
    /// [`Statements::n_prepared`](super::statements::Statements::n_prepared).
    pub id: usize,
    /// The text, with the dialect's placeholders.
    pub sql: String,
    /// Whether the statement finds at most one row.
    pub finds_one: bool,
    /// The meaning of each placeholder, in the order of their numbers, or of the text where they have no numbers.
    pub(super) placeholders: Vec<Placeholder>,
}

/// The meaning of a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder {
    /// The place of the value among those that come with the statement.
    pub value: usize,
    /// The type of the value, unless it is NULL.
    pub kind: ArgumentType,
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
    pub fn kinds(&self) -> impl ExactSizeIterator<Item = ArgumentType> {
        self.placeholders.iter().map(|placeholder| placeholder.kind)
    }
}

/// The value for a placeholder of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'a> {
    /// A string of bytes.
    Bytes(&'a [u8]),
    /// A number.
    Integer(i64),
    /// NULL.
    Null,
    /// Many strings of bytes, in one place: only where [`Dialect::lookup`](super::dialect::Dialect::lookup) is
    /// [`Array`](super::dialect::Lookup::Array).
    Many(&'a [&'a [u8]]),
    /// Many numbers or NULLs, in one place: as [`Value::Many`].
    Integers(&'a [Option<i64>]),
}

/// One row of an answer.
pub trait Row {
    /// The string of bytes in a column, counted from 0. NULL is an error.
    fn bytes(&self, column: usize) -> Result<&[u8]>;

    /// The number in a column; `None` is NULL.
    fn integer(&self, column: usize) -> Result<Option<i64>>;
}
