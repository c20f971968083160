//! The interface to what searches read and write besides events: lookups, results of other jobs, REST.
//!
//! `search` implements it over files and services, tests over maps in memory. Everything has a default
//! that refuses with a message, so that an implementation offers what it has.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;

use frames::Rows;
use futures::future::BoxFuture;
use model::{EventTime, IndexName, TimeRange};

use crate::compiled_lookup::CompiledLookups;
use frames::{Error, Message};

/// The table of a lookup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LookupSource {
    /// A CSV file in the `lookups` directory of an app.
    File(String),
    /// A collection of the KV store.
    Collection(String),
}

/// How rows are written to a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LookupWrite {
    /// Replace the contents.
    Replace,
    /// Append to the contents.
    Append,
    /// Replace rows with the same value of a field, and append the others. In a collection, the values become
    /// the keys of the new records.
    Upsert(String),
}

/// An event that `collect` and `mcollect` write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectedEvent {
    /// Its time.
    pub time: EventTime,
    /// Its text.
    pub raw: String,
    /// The host.
    pub host: String,
    /// The source.
    pub source: String,
    /// The source type.
    pub sourcetype: String,
    /// Indexed fields; a name may occur several times.
    pub fields: Vec<(String, String)>,
}

/// A geographic location of an address.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Location {
    /// City.
    pub city: Option<String>,
    /// Continent.
    pub continent: Option<String>,
    /// Country.
    pub country: Option<String>,
    /// Metropolitan area, in the United States.
    pub metro_code: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// Region, such as a state.
    pub region: Option<String>,
    /// Time zone.
    pub timezone: Option<String>,
}

/// A request to the REST API: an endpoint below `/services` and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestRequest {
    /// The user.
    pub owner: String,
    /// `/services/...` or `/servicesNS/...`.
    pub path: String,
    /// Parameters of the query.
    pub parameters: Vec<(String, String)>,
}

/// A side effect of a completed search: an email, an alert action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Action {
    /// Its name, such as `email`.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<(String, String)>,
}

/// A custom command of an app that a search runs over its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRequest {
    /// The command.
    pub command: knowledge::CustomCommand,
    /// Its arguments, as written.
    pub arguments: String,
    /// The time range of the search.
    pub range: TimeRange,
    /// Whether it is the first command of the search.
    pub first: bool,
    /// Maximum number of rows that it may return.
    pub max_rows: usize,
    /// Maximum size of these rows in bytes.
    pub max_bytes: usize,
}

/// Whose session a program of a search gets, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRequest {
    /// The user.
    pub user: String,
    /// The capabilities to which the session is restricted; `None` for all of the user.
    pub capabilities: Option<Vec<String>>,
    /// The indexes to which it is restricted (with `*`); `None` for all of the user.
    pub indexes: Option<Vec<String>>,
}

/// A session at the management port, for a program of a search. It ends when this value is dropped.
pub trait ProgramSession: Send + Sync {
    /// The key.
    fn key(&self) -> &str;

    /// The address of the management port for programs on this machine.
    fn uri(&self) -> &str;
}

/// A request to the program of an external lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupQuestion {
    /// The lookup.
    pub name: String,
    /// Its program.
    pub program: knowledge::LookupProgram,
    /// All fields of the lookup, in the order of the columns that the program reads and prints.
    pub fields: Vec<String>,
}

/// Resources of searches besides events.
pub trait Host: Send + Sync + Debug {
    /// Whether the user of the search has a capability.
    fn may(&self, capability: &str) -> bool {
        let _ = capability;
        true
    }

    /// Whether the search must not have side effects.
    fn reads_only(&self) -> bool {
        false
    }

    /// Reads the rows of a lookup; `None` if there is no such file or collection.
    ///
    /// # Errors
    /// If it cannot be read.
    fn read_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
    ) -> BoxFuture<'a, Result<Option<Arc<Rows>>, Error>> {
        Box::pin(async move {
            let _ = source;
            Ok(None)
        })
    }

    /// Returns the cache of compiled lookups, if there is one.
    fn compiled_lookups(&self) -> Option<&CompiledLookups> {
        None
    }

    /// Writes rows to a lookup, which is created if it does not exist.
    ///
    /// # Errors
    /// If it cannot be written.
    fn write_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
        rows: Rows,
        write: LookupWrite,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let _ = (source, rows, write);
            Err(missing("lookups cannot be written"))
        })
    }

    /// Returns the rows of a job, or of the last job of a saved search (`owner:app:name`).
    ///
    /// # Errors
    /// If there is no such job, or it has not ended.
    fn job<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { Err(missing(&format!("there is no job \"{name}\""))) })
    }

    /// Returns the entries of an endpoint.
    ///
    /// # Errors
    /// If the endpoint does not exist or refuses.
    fn rest<'a>(&'a self, request: &'a RestRequest) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { Err(missing(&format!("{} cannot be asked", request.path))) })
    }

    /// Writes events to an index; returns once they are acknowledged.
    ///
    /// # Errors
    /// If there is no such index, or the events are not taken.
    fn collect<'a>(
        &'a self,
        index: &'a IndexName,
        events: Vec<CollectedEvent>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let _ = (index, events);
            Err(missing("events cannot be collected"))
        })
    }

    /// Returns the location of an address; `None` without a geolocation database.
    fn locate(&self, address: IpAddr) -> Option<Location> {
        let _ = address;
        None
    }

    /// Performs an action with the rows of a result.
    ///
    /// # Errors
    /// If there is no such action, or it fails.
    fn act<'a>(&'a self, action: &'a Action, rows: &'a Rows) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let _ = rows;
            Err(missing(&format!("there is no alert action \"{}\"", action.name)))
        })
    }

    /// Opens a session for a program; `None` without a management port.
    fn open_session(&self, request: SessionRequest) -> Option<Box<dyn ProgramSession>> {
        let _ = request;
        None
    }

    /// Runs a custom command over rows; returns its rows and messages.
    ///
    /// # Errors
    /// If it cannot be run, or fails.
    fn run_script<'a>(
        &'a self,
        request: &'a ScriptRequest,
        rows: Rows,
    ) -> BoxFuture<'a, Result<(Rows, Vec<Message>), Error>> {
        Box::pin(async move {
            let _ = rows;
            Err(missing(&format!("the command \"{}\" cannot be run here", request.command.name)))
        })
    }

    /// Returns the rows that the program of an external lookup outputs for the values of some of its fields.
    ///
    /// # Errors
    /// If it cannot be run, or fails.
    fn ask_program<'a>(
        &'a self,
        question: &'a LookupQuestion,
        keys: Rows,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let _ = keys;
            Err(missing(&format!(
                "the program of the lookup \"{}\" cannot be run here",
                question.name
            )))
        })
    }

    /// Returns the history of searches, newest first.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn history<'a>(&'a self) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move { Ok(Rows::blank(0)) })
    }

    /// Returns a row for each bucket of the indexes.
    ///
    /// # Errors
    /// If the catalog cannot be read.
    fn buckets<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let _ = (indexes, range);
            Ok(Rows::blank(0))
        })
    }

    /// Returns the server name, for fields such as `splunk_server`.
    fn server_name(&self) -> String {
        "localhost".to_owned()
    }
}

fn missing(message: &str) -> Error {
    Error::invalid_anywhere(message)
}

/// A host without any resources.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventsOnly;

impl Host for EventsOnly {}
