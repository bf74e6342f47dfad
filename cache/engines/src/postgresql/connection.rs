//! One thread's connection to the server.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_core::Stream as _;
use larder_store::{Error, Result};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, RowStream, SimpleQueryMessage, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Peer;
use super::store::Shared;
use super::{SCHEME, errors};
use crate::sql::attempts::{self, Attempts, Transaction};
use crate::sql::connection::{Connection, Row, Statement, Transactions, Value};
use crate::sql::places::ArgumentType;

/// The number of attempts of a statement that the server gives up because of another transaction.
const ATTEMPTS: usize = 5;

/// The longest time for a connection to report its end to the server.
const FAREWELL: Duration = Duration::from_millis(100);

/// The task that reads and writes the socket when it is polled.
type Wire =
    tokio_postgres::Connection<Socket, <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream>;

/// A connection to the server, opened when it is first needed and again after an error.
pub(super) struct PostgresqlConnection {
    peer: Arc<Peer>,
    /// Runs in this thread alone: nothing makes progress except while an operation waits.
    runtime: Runtime,
    link: Option<Link>,
    /// The statements for each new connection, after the greeting.
    held: String,
    transaction: Transaction,
    /// The state that lives as long as the session, and counts its connections.
    shared: Option<Arc<Shared>>,
}

/// An open connection, and its prepared statements.
struct Link {
    client: Client,
    wire: Pin<Box<Wire>>,
    prepared: Prepared,
}

/// The prepared statements of a connection, by the ids of the statements.
type Prepared = Vec<Option<tokio_postgres::Statement>>;

impl PostgresqlConnection {
    /// A connection that is not open yet: of a session, or of the store itself.
    pub(super) fn new(peer: Arc<Peer>, shared: Option<Arc<Shared>>) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|source| {
            let what = "making what a connection waits with".into();
            Error::Io { engine: SCHEME, what, source }
        })?;
        Ok(Self {
            peer,
            runtime,
            link: None,
            held: String::new(),
            transaction: Transaction::None,
            shared,
        })
    }

    /// Runs statements now, and again on each connection that is opened after this one: a lock is lost with its
    /// connection.
    pub(super) fn hold(&mut self, sql: String) -> Result<()> {
        self.simple(&sql)?;
        self.held = sql;
        Ok(())
    }

    /// The server at the other end.
    pub(super) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Runs statements without preparing them, and returns the rows of the last one as texts.
    pub(super) fn simple(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        let messages = self.exchange(&async |client, _| client.simple_query(sql).await)?;
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                let texts = (0..row.len()).map(|column| row.get(column).map(ToOwned::to_owned));
                Some(texts.collect())
            }
            _ => None,
        });
        Ok(rows.collect())
    }

    /// Opens the connection if it is not open.
    pub(super) fn connect(&mut self) -> Result<()> {
        if self.link.is_some() {
            return Ok(());
        }
        let peer = &self.peer;
        let greeting = format!("{}; {}", peer.greeting(), self.held);
        let (driver, tls) = peer.driver();
        let connect = async {
            let (client, wire) = driver.connect(tls).await?;
            let mut link = Link { client, wire: Box::pin(wire), prepared: Vec::new() };
            link.drive(async |client, _| client.batch_execute(&greeting).await).await?;
            Ok(link)
        };
        let connected = self.runtime.block_on(async { timeout(peer.timeout(), connect).await });
        let link = connected
            .map_err(|_| errors::timeout(peer))?
            .map_err(|error| errors::failed(peer, &error))?;
        self.link = Some(link);
        if let Some(shared) = &self.shared {
            shared.count_connection();
        }
        Ok(())
    }

    /// Runs `act` on the connection. An error closes the connection, unless it is an answer of the server that leaves
    /// the connection usable. A statement that the server gave up because of another transaction is tried again, unless
    /// it is a part of a transaction itself.
    fn exchange<T>(
        &mut self,
        act: &impl AsyncFn(&Client, &mut Prepared) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T> {
        let mut attempt = 1;
        loop {
            self.connect()?;
            let Self { peer, runtime, link, transaction, .. } = self;
            let Some(open) = link else { return Err(errors::timeout(peer)) };
            let error =
                match runtime.block_on(async { timeout(peer.timeout(), open.drive(act)).await }) {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(error)) if errors::is_deadlock(&error) => {
                        match transaction {
                            Transaction::None if attempt < ATTEMPTS => {
                                attempt += 1;
                                continue;
                            }
                            Transaction::None => {}
                            _ => *transaction = Transaction::GivenUp,
                        }
                        return Err(errors::failed(peer, &error));
                    }
                    Ok(Err(error)) if errors::is_harmless(&error) => {
                        return Err(errors::failed(peer, &error));
                    }
                    Ok(Err(error)) => errors::failed(peer, &error),
                    Err(_) => errors::timeout(peer),
                };
            *link = None;
            return Err(error);
        }
    }
}

impl Connection for PostgresqlConnection {
    fn change(&mut self, statement: &Statement, values: &[Value<'_>]) -> Result<u64> {
        self.exchange(&async |client, prepared| {
            let mut rows = pin!(query(client, prepared, statement, values).await?);
            while next(&mut rows).await?.is_some() {}
            Ok(rows.rows_affected().unwrap_or_default())
        })
    }

    fn rows(
        &mut self,
        statement: &Statement,
        values: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<()> {
        let peer = Arc::clone(&self.peer);
        // Each row is passed on once: only a read that has no rows yet is tried again.
        let row = RefCell::new(row);
        let (is_passed, is_given_up) = (Cell::new(false), Cell::new(false));
        let answered = self.exchange(&async |client, prepared| {
            let mut rows = pin!(query(client, prepared, statement, values).await?);
            loop {
                let found = match next(&mut rows).await {
                    Ok(Some(found)) => found,
                    Ok(None) => return Ok(Ok(())),
                    Err(error) if is_passed.get() && errors::is_deadlock(&error) => {
                        is_given_up.set(true);
                        return Ok(Err(errors::failed(&peer, &error)));
                    }
                    Err(error) => return Err(error),
                };
                is_passed.set(true);
                if let Err(error) = (row.borrow_mut())(&FoundRow { row: &found, peer: &peer }) {
                    return Ok(Err(error));
                }
            }
        });
        if is_given_up.get() && self.transaction == Transaction::Open {
            self.transaction = Transaction::GivenUp;
        }
        answered?
    }
}

impl Attempts for PostgresqlConnection {
    fn present(&mut self) -> &mut Transaction {
        &mut self.transaction
    }

    fn begin(&mut self) -> Result<()> {
        self.simple("BEGIN").map(drop)
    }

    fn commit(&mut self) -> Result<()> {
        self.simple("COMMIT").map(drop)
    }

    fn undo(&mut self) {
        if self.link.is_some() && self.simple("ROLLBACK").is_err() {
            self.link = None;
        }
    }
}

impl Transactions for PostgresqlConnection {
    fn transaction(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Connection) -> Result<()>,
    ) -> Result<()> {
        attempts::transaction(self, work)
    }
}

/// Sends a statement with its values, and prepares it first if necessary.
async fn query(
    client: &Client,
    prepared: &mut Prepared,
    statement: &Statement,
    values: &[Value<'_>],
) -> Result<RowStream, tokio_postgres::Error> {
    if prepared.len() <= statement.id {
        prepared.resize(statement.id + 1, None);
    }
    let known = match &mut prepared[statement.id] {
        Some(known) => known,
        unknown => {
            let types: Vec<Type> = statement.kinds().map(type_of).collect();
            unknown.insert(client.prepare_typed(&statement.sql, &types).await?)
        }
    };
    let values = values.iter().zip(statement.kinds()).map(|(value, kind)| parameter(value, kind));
    client.query_raw(known, values).await
}

/// The next row of an answer.
async fn next(
    rows: &mut Pin<&mut RowStream>,
) -> Result<Option<tokio_postgres::Row>, tokio_postgres::Error> {
    poll_fn(|cx| rows.as_mut().poll_next(cx)).await.transpose()
}

fn type_of(kind: ArgumentType) -> Type {
    match kind {
        ArgumentType::Bytes => Type::BYTEA,
        ArgumentType::Integer => Type::INT8,
        ArgumentType::Array => Type::BYTEA_ARRAY,
        ArgumentType::Integers => Type::INT8_ARRAY,
    }
}

/// A value for the driver.
fn parameter<'v>(value: &'v Value<'_>, kind: ArgumentType) -> &'v (dyn ToSql + Sync) {
    match (value, kind) {
        (Value::Bytes(bytes), _) => bytes,
        (Value::Integer(number), _) => number,
        (Value::Many(many), _) => many,
        (Value::Integers(numbers), _) => numbers,
        (Value::Null, ArgumentType::Integer) => &None::<i64>,
        (Value::Null, _) => &None::<&[u8]>,
    }
}

/// A row of an answer, and the server that sent it.
struct FoundRow<'a> {
    row: &'a tokio_postgres::Row,
    peer: &'a Peer,
}

impl Row for FoundRow<'_> {
    fn bytes(&self, column: usize) -> Result<&[u8]> {
        self.row.try_get(column).map_err(|error| errors::failed(self.peer, &error))
    }

    fn integer(&self, column: usize) -> Result<Option<i64>> {
        self.row.try_get(column).map_err(|error| errors::failed(self.peer, &error))
    }
}

impl Link {
    /// Runs `act`, which waits for the server, and meanwhile reads and writes the socket.
    async fn drive<T>(
        &mut self,
        act: impl AsyncFnOnce(&Client, &mut Prepared) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, tokio_postgres::Error> {
        let Self { client, wire, prepared } = self;
        let mut act = pin!(act(client, prepared));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = act.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            let ended = wire.as_mut().poll(cx);
            // The bytes that were read may be the whole answer, or the reason of the end.
            if let Poll::Ready(answer) = act.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            match ended {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                // The connection ends without an error when its client is gone, but the client is still here.
                Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

impl Drop for PostgresqlConnection {
    /// Tells the server that the connection ends: the server logs a connection that breaks off.
    fn drop(&mut self) {
        if let Some(Link { client, wire, .. }) = self.link.take() {
            drop(client);
            // A server that does not even take the message notices the end by itself.
            let _ = self.runtime.block_on(async { timeout(FAREWELL, wire).await });
        }
    }
}

impl fmt::Debug for PostgresqlConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresqlConnection")
            .field("peer", &self.peer)
            .field("is_open", &self.link.is_some())
            .finish_non_exhaustive()
    }
}
