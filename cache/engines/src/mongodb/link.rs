//! The driver, driven on the caller's thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use larder_store::{Error, Result};
use mongodb::bson::{Document, RawDocument, RawDocumentBuf, to_raw_document_buf};
use mongodb::error::Result as DriverResult;
use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;
use mongodb::{Client, Collection, Database};
use tokio::runtime::{Builder, Runtime};

use super::address::Target;
use super::introspection::number;
use super::{SCHEME, errors};
use larder_store::counters::Requests;

/// One thread's way to the servers. It opens its connections when they are first needed, and again after an error.
pub(super) struct Link {
    // The driver's tasks end with the runtime, which is therefore the last to go.
    collection: Collection<RawDocumentBuf>,
    client: Client,
    database: String,
    timeout: Duration,
    peer: String,
    /// For commands that the driver takes unchanged.
    write_concern: Option<RawDocumentBuf>,
    pub(super) requests: Arc<Requests>,
    runtime: Runtime,
}

/// A runtime whose work is done by the thread that waits for it.
pub(super) fn runtime() -> Result<Runtime> {
    Builder::new_current_thread().enable_all().build().map_err(|source| Error::Io {
        engine: SCHEME,
        what: "starting the runtime of the driver".into(),
        source,
    })
}

impl Link {
    /// A way to the servers, whose connections are counted.
    pub(super) fn new(target: &Target, n_connections: &Arc<AtomicU64>) -> Result<Self> {
        let runtime = runtime()?;
        let mut options = target.options.clone();
        let in_words = |error: &_| errors::failed(&target.peer, target.timeout, error);
        let write_concern = options.write_concern.as_ref().map(to_raw_document_buf).transpose();
        let write_concern = write_concern.map_err(|error| in_words(&error.into()))?;
        let counter = Arc::clone(n_connections);
        options.cmap_event_handler = Some(EventHandler::callback(move |event| {
            if let CmapEvent::ConnectionReady(_) = event {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }));
        // The driver starts its tasks where it is made.
        let client = runtime.block_on(async { Client::with_options(options) });
        let client = client.map_err(|error| in_words(&error))?;
        let collection = client.database(&target.database).collection(&target.collection);
        Ok(Self {
            collection,
            client,
            database: target.database.clone(),
            timeout: target.timeout,
            peer: target.peer.clone(),
            write_concern,
            requests: Arc::default(),
            runtime,
        })
    }

    /// The collection of entries.
    pub(super) fn collection(&self) -> &Collection<RawDocumentBuf> {
        &self.collection
    }

    /// The database of the collection.
    pub(super) fn database(&self) -> Database {
        self.client.database(&self.database)
    }

    /// The database of the server itself.
    pub(super) fn admin(&self) -> Database {
        self.client.database("admin")
    }

    /// Has the driver do something within the time that an operation may take.
    pub(super) fn run<T>(&self, operation: impl Future<Output = DriverResult<T>>) -> Result<T> {
        self.attempt(operation)?.map_err(|error| self.failed(&error))
    }

    /// As [`Link::run`], for an operation some of whose errors are answers.
    pub(super) fn attempt<T>(
        &self,
        operation: impl Future<Output = DriverResult<T>>,
    ) -> Result<DriverResult<T>> {
        self.requests.sent.add_one();
        let limited = async { tokio::time::timeout(self.timeout, operation).await };
        self.runtime.block_on(limited).map_err(|_| Error::Timeout {
            engine: SCHEME,
            peer: self.peer.clone(),
            after: self.timeout,
        })
    }

    /// Calls `found` for every document that a filter finds: one round trip, as long as they fit into one answer.
    pub(super) fn find(
        &self,
        filter: Document,
        limit: Option<u32>,
        found: &mut dyn FnMut(&RawDocument) -> Result<()>,
    ) -> Result<()> {
        let mut given = Ok(());
        self.run(async {
            let find = self.collection.find(filter);
            let mut cursor = match limit {
                // A negative limit is one answer and no cursor behind it.
                Some(1) => find.limit(-1).await?,
                // A server that has given all requested documents keeps the cursor open until the next request.
                Some(n) => find.batch_size(n.saturating_add(1)).await?,
                None => find.batch_size(LARGE_BATCH).await?,
            };
            while given.is_ok() && cursor.advance().await? {
                given = found(cursor.current());
            }
            Ok(())
        })?;
        given
    }

    /// The meaning of an error of the driver.
    pub(super) fn failed(&self, error: &mongodb::error::Error) -> Error {
        errors::failed(&self.peer, self.timeout, error)
    }

    /// A document for a command that the driver takes unchanged.
    pub(super) fn raw(&self, document: &Document) -> Result<RawDocumentBuf> {
        to_raw_document_buf(document).map_err(|error| self.failed(&error.into()))
    }

    /// The write concern of a command that the driver takes unchanged.
    pub(super) fn write_concern(&self) -> Option<&RawDocument> {
        self.write_concern.as_deref()
    }

    /// The meaning of an error answer, or of the failure of a part of a command.
    pub(super) fn refused(&self, code: i32, message: &str) -> Error {
        errors::refused(&self.peer, code, message)
    }

    /// The meaning of a write concern that is not met.
    pub(super) fn concern_not_met(&self, error: &Document) -> Error {
        let code = number(error, "code").and_then(|code| i32::try_from(code).ok());
        let message = error.get_str("errmsg").unwrap_or_default();
        errors::concern_not_met(&self.peer, code.unwrap_or_default(), message)
    }

    /// The error of an answer that does not fit the request.
    pub(super) fn unexpected(&self, message: &str) -> Error {
        errors::protocol(&self.peer, message)
    }

    /// The longest time of an operation.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }
}

/// The most documents in one answer of a server where their number is unknown. A server ends an answer at 16 MiB in any
/// case.
const LARGE_BATCH: u32 = 1 << 20;
