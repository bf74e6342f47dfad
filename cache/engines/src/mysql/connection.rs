//! One connection to the server, and its prepared statements.

use std::fmt;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use larder_store::{Error, Result};
use mysql::prelude::Queryable;
use mysql::{Binary, Conn, Params, QueryResult};

use super::address::Address;
use super::config::SslMode;
use super::errors;
use super::store::Shared;
use crate::sql::attempts::{self, Attempts, Transaction};
use crate::sql::connection::{Connection, Row, Statement, Transactions, Value};

/// The number of attempts of a statement that the server gives up because of another transaction.
const ATTEMPTS: usize = 10;

/// A connection to a server, opened when it is first needed and again after an error.
pub(super) struct MysqlConnection {
    address: Arc<Address>,
    /// The state of the store, which counts the connection and lives as long; `None` for a connection of no session.
    shared: Option<Arc<Shared>>,
    /// The statements for each new connection.
    greeting: Vec<String>,
    link: Option<Link>,
    transaction: Transaction,
}

/// An open connection.
struct Link {
    conn: Conn,
    /// The prepared statements, by the id of each statement.
    prepared: Vec<Option<mysql::Statement>>,
}

/// The reason why a statement ends early.
enum Failure {
    Driver(mysql::Error),
    /// The reader of the rows returned an error.
    Reader(Error),
}

impl From<mysql::Error> for Failure {
    fn from(error: mysql::Error) -> Self {
        Self::Driver(error)
    }
}

impl MysqlConnection {
    /// A connection of a session.
    pub(super) fn of_session(shared: Arc<Shared>) -> Self {
        let address = Arc::clone(shared.address());
        Self { shared: Some(shared), ..Self::control(address) }
    }

    /// A connection for questions about the server.
    pub(super) fn control(address: Arc<Address>) -> Self {
        let transaction = Transaction::None;
        Self { address, shared: None, greeting: Vec::new(), link: None, transaction }
    }

    /// A connection that runs these statements each time it is opened.
    pub(super) fn greeted(address: Arc<Address>, greeting: Vec<String>) -> Self {
        Self { greeting, ..Self::control(address) }
    }

    /// Whether the connection is encrypted; opens it to find out.
    pub(super) fn is_encrypted(&mut self) -> Result<bool> {
        let cipher = self.ask("SHOW SESSION STATUS LIKE 'Ssl_cipher'")?;
        Ok(cipher.iter().any(|row| row.get(1).is_some_and(|cipher| !cipher.is_empty())))
    }

    /// The server's answer to a statement, NULL being an empty field.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        let text = |value: mysql::Value| match value {
            mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            mysql::Value::NULL => String::new(),
            number => number.as_sql(true),
        };
        self.with_link(|link, _| {
            let rows: Vec<mysql::Row> = link.conn.query(sql)?;
            Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(text).collect()).collect())
        })
        .map_err(|error| self.in_words(error))
    }

    /// Runs a statement given as text.
    pub(super) fn order(&mut self, sql: &str) -> Result<(), mysql::Error> {
        let done = self.with_link(|link, _| Ok(link.conn.query_drop(sql)?));
        done.map_err(|failure| match failure {
            Failure::Driver(error) => error,
            Failure::Reader(_) => unreachable!("this call has no reader"),
        })
    }

    /// An error of the library as an error of the contract.
    pub(super) fn explain(&self, error: &mysql::Error) -> Error {
        errors::failed(&self.address, error)
    }

    /// Runs a prepared statement, and passes its answer to `read`.
    fn execute<T>(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        read: impl FnOnce(QueryResult<'_, '_, '_, Binary>, &Address) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.with_link(|link, address| {
            let Link { conn, prepared } = link;
            if prepared.len() <= statement.id {
                prepared.resize(statement.id + 1, None);
            }
            let known = match &mut prepared[statement.id] {
                Some(known) => known,
                none => none.insert(conn.prep(&statement.sql)?),
            };
            let values: Vec<mysql::Value> = statement.in_order(values).map(to_driver).collect();
            let values = if values.is_empty() { Params::Empty } else { values.into() };
            read(conn.exec_iter(&*known, values)?, address)
        })
    }

    /// Runs `act` on the connection; an error that ends the connection closes it.
    fn with_link<T>(
        &mut self,
        act: impl FnOnce(&mut Link, &Address) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let link = match &mut self.link {
            Some(link) => link,
            none => {
                let mut link = connect(&self.address, self.shared.as_deref())?;
                for sql in &self.greeting {
                    link.conn.query_drop(sql)?;
                }
                none.insert(link)
            }
        };
        let done = act(link, &self.address);
        if self.transaction == Transaction::Open
            && matches!(&done, Err(Failure::Driver(error)) if errors::is_deadlock(error))
        {
            self.transaction = Transaction::GivenUp;
        }
        if matches!(&done, Err(Failure::Driver(error)) if errors::ends_connection(error))
            && let Some(link) = self.link.take()
        {
            link.hang_up();
        }
        done
    }

    fn in_words(&self, failure: Failure) -> Error {
        match failure {
            Failure::Driver(error) => errors::failed(&self.address, &error),
            Failure::Reader(error) => error,
        }
    }
}

impl Link {
    /// Closes the connection without the library's last message: the library would wait if the server reads nothing.
    fn hang_up(self) {
        // SAFETY: the descriptor is open, because the connection that owns it lives until after the call, which touches
        // no memory.
        unsafe { libc::shutdown(self.conn.as_raw_fd(), libc::SHUT_RDWR) };
    }
}

#[cold]
fn connect(address: &Address, shared: Option<&Shared>) -> Result<Link, mysql::Error> {
    let conn = match Conn::new(address.opts(address.tls())) {
        Err(error) if address.tls() == SslMode::Preferred && errors::lacks_tls(&error) => {
            Conn::new(address.opts(SslMode::Disabled))?
        }
        connected => connected?,
    };
    if let Some(shared) = shared {
        shared.count_connection();
    }
    Ok(Link { conn, prepared: Vec::new() })
}

/// A value for the library, which takes its own copy.
fn to_driver(value: Value<'_>) -> mysql::Value {
    match value {
        Value::Bytes(bytes) => mysql::Value::Bytes(bytes.to_vec()),
        Value::Integer(number) => mysql::Value::Int(number),
        Value::Null => mysql::Value::NULL,
        Value::Many(_) | Value::Integers(_) => {
            unreachable!("no statement of this dialect takes an array")
        }
    }
}

impl Connection for MysqlConnection {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        let mut attempt = 1;
        loop {
            match self.execute(statement, values, |answer, _| Ok(answer.affected_rows())) {
                Err(Failure::Driver(error))
                    if errors::is_deadlock(&error)
                        && self.transaction == Transaction::None
                        && attempt < ATTEMPTS =>
                {
                    attempt += 1;
                }
                done => return done.map_err(|failure| self.in_words(failure)),
            }
        }
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let read = self.execute(statement, values, |mut answer, address| {
            answer.try_for_each(|found| {
                row(&AnswerRow { row: found?, address }).map_err(Failure::Reader)
            })
        });
        read.map_err(|failure| self.in_words(failure))
    }
}

impl Attempts for MysqlConnection {
    fn present(&mut self) -> &mut Transaction {
        &mut self.transaction
    }

    fn begin(&mut self) -> Result<()> {
        self.order("BEGIN").map_err(|error| self.explain(&error))
    }

    fn commit(&mut self) -> Result<()> {
        self.order("COMMIT").map_err(|error| self.explain(&error))
    }

    fn undo(&mut self) {
        if self.link.is_some() && self.order("ROLLBACK").is_err() {
            self.link.take().into_iter().for_each(Link::hang_up);
        }
    }
}

impl Transactions for MysqlConnection {
    fn transaction(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        attempts::transaction(self, work)
    }
}

/// A row of an answer.
struct AnswerRow<'a> {
    row: mysql::Row,
    address: &'a Address,
}

impl AnswerRow<'_> {
    fn unexpected(&self, column: usize) -> Error {
        errors::protocol(self.address, format!("no such value in column {column} of a row"))
    }
}

impl Row for AnswerRow<'_> {
    fn bytes(&self, column: usize) -> Result<&[u8]> {
        match self.row.as_ref(column) {
            Some(mysql::Value::Bytes(bytes)) => Ok(bytes),
            _ => Err(self.unexpected(column)),
        }
    }

    fn integer(&self, column: usize) -> Result<Option<i64>> {
        match self.row.as_ref(column) {
            Some(mysql::Value::Int(number)) => Ok(Some(*number)),
            Some(mysql::Value::NULL) => Ok(None),
            _ => Err(self.unexpected(column)),
        }
    }
}

impl fmt::Debug for MysqlConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlConnection")
            .field("address", &self.address)
            .field("is_open", &self.link.is_some())
            .finish_non_exhaustive()
    }
}
