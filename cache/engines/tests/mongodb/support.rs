//! The shared part of the tests of `mongodb:`.

use std::fs;
use std::process::Command;

use larder_engines::ENGINES;
use larder_host::managed::{self, Server};
use larder_host::scratch::ScratchDir;
use larder_store::{Recipe, Source};
use larder_testkit::{PATIENCE, has_program, trial_where};
use libtest_mimic::Trial;
use mongodb::bson::{Document, doc};
use mongodb::{Client, Collection};
use tokio::runtime::{Builder, Runtime};

const JAVA: Recipe = Recipe::server("java", "default-jre-headless");

/// The stand-in's recipe.
fn stand_in() -> &'static Recipe {
    let recipes = ENGINES.find("mongodb").unwrap().recipes;
    recipes.iter().find(|recipe| matches!(recipe.source, Source::Setup(_))).unwrap()
}

/// A trial that needs the stand-in.
pub(crate) fn trial(name: &str, run: fn()) -> Trial {
    trial_where(|| has_program(stand_in()).and_then(|()| has_program(&JAVA)), name, run)
}

/// A server that the engine under test did not start, on this port of 127.0.0.1; 0 is any port.
pub(crate) fn stand_in_on(port: u16, arguments: &[&str]) -> (Server, u16) {
    let mut command = Command::new(managed::find("test", &JAVA).unwrap());
    command.args(["-XX:+UseSerialGC", "-jar"]);
    command.arg(managed::find("test", stand_in()).unwrap());
    command.arg(port.to_string()).args(arguments);
    let directory = ScratchDir::create("test").unwrap();
    let mut server = Server::start("test", command, directory, None).unwrap().without_grace();
    let log = server.directory().join("server.log");
    let port = server.answer(PATIENCE, || {
        let said = fs::read_to_string(&log).ok()?;
        let (_, port) = said.split_once(" listens on 127.0.0.1:")?;
        port.split_once('\n')?.0.parse().ok()
    });
    (server, port.unwrap())
}

/// Another client's connection to a server.
pub(crate) struct Stranger {
    client: Client,
    runtime: Runtime,
}

impl Stranger {
    pub(crate) fn at(port: u16) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
        let client = runtime.block_on(Client::with_uri_str(url)).unwrap();
        Self { client, runtime }
    }

    /// The collections of a database.
    pub(crate) fn collections(&self, database: &str) -> Vec<String> {
        let database = self.client.database(database);
        let mut names =
            self.runtime.block_on(async { database.list_collection_names().await }).unwrap();
        names.retain(|name| !name.starts_with("system."));
        names.sort();
        names
    }

    /// The names of a collection's indexes.
    pub(crate) fn indexes(&self, database: &str, collection: &str) -> Vec<String> {
        let collection: Collection<Document> =
            self.client.database(database).collection(collection);
        let names = self.runtime.block_on(async { collection.list_index_names().await });
        let mut names = names.unwrap();
        names.sort();
        names
    }

    /// Makes an empty collection.
    pub(crate) fn create(&self, database: &str, collection: &str) {
        let database = self.client.database(database);
        self.runtime.block_on(async { database.create_collection(collection).await }).unwrap();
    }

    pub(crate) fn insert(&self, database: &str, collection: &str, document: Document) {
        let collection: Collection<Document> =
            self.client.database(database).collection(collection);
        self.runtime.block_on(async { collection.insert_one(document).await }).unwrap();
    }

    pub(crate) fn find(&self, database: &str, collection: &str, id: &str) -> Option<Document> {
        let collection: Collection<Document> =
            self.client.database(database).collection(collection);
        let filter = doc! { "_id": id };
        self.runtime.block_on(async { collection.find_one(filter).await }).unwrap()
    }
}
