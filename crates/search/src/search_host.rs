//! Resources of a search besides events: lookups and collections of apps, results of other jobs, and, through
//! the server, REST, event collection and geolocation.

use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use access::{Object, Rights, Scope};
use apps::{AppFiles, Apps, ConfObject, Namespace, Sharing};
use futures::future::BoxFuture;
use hashbrown::HashSet;
use model::{BucketState, ErrorKind, EventTime, IndexName, TimeRange};
use plan::{
    Action, CollectedEvent, CompiledLookups, Error, Host, Location, LookupQuestion, LookupSource,
    LookupWrite, Message, ProgramSession, RestRequest, Rows, ScriptRequest, SessionRequest,
};
use serde_json::{Map, Value};

use crate::engine::Engine;
use crate::hot_rows::{HotRows, Met};
use crate::jobs::{Job, JobRequest};
use crate::lookup_files::csv_text;
use crate::recipes::Lookups;

/// The resources that the searches of a namespace can use.
#[derive(Debug)]
pub(crate) struct SearchHost {
    pub(crate) engine: Arc<Engine>,
    /// The hot buckets that the job reads.
    pub(crate) hot: Arc<HotRows>,
    pub(crate) namespace: Namespace,
    /// The apps by which the search is planned.
    pub(crate) apps: Apps,
    /// The files of the apps with whose configuration the search is planned.
    pub(crate) files: AppFiles,
    /// The rights of the user.
    pub(crate) rights: Arc<Rights>,
    pub(crate) read_only: bool,
    /// The job and the search text, for programs that the search runs.
    pub(crate) sid: String,
    pub(crate) search: String,
    /// How reads of lookups are recorded or compared.
    pub(crate) lookups: Lookups,
}

/// Returns the namespace of a request: its user and app.
pub(crate) fn namespace(request: &JobRequest) -> Namespace {
    Namespace::new(&request.owner, &request.app)
}

impl SearchHost {
    fn apps(&self) -> &Apps {
        &self.apps
    }

    fn server(&self) -> &Arc<dyn Host> {
        &self.engine.deps.host
    }

    /// Returns the namespace in which a collection is stored: that of its app, for all users. A collection
    /// that the user may not read is reported as missing.
    fn collection(&self, name: &str, change: bool) -> Result<Namespace, Error> {
        let found = self.apps().get("collections", name, &self.namespace).ok();
        let found = found.filter(|found| self.rights.may_read(&object(found, &found.place())));
        let found = found.ok_or_else(|| {
            let message = format!("there is no collection \"{name}\" in collections.conf");
            Error::invalid_anywhere(message)
        })?;
        if change && !self.rights.may_write(&object(&found, &found.place())) {
            return Err(self.refused("the collection", name));
        }
        Ok(Namespace::new(apps::NOBODY, &found.app))
    }

    /// Opens a session of the user for the program of a command, within the scope of this search. Searches of
    /// the server itself have none, and without a network, programs cannot use one.
    fn session_of(
        &self,
        command: &knowledge::CustomCommand,
        settings: &scripts::Settings,
    ) -> Option<Box<dyn ProgramSession>> {
        if !command.gets_session() || self.rights.is_system() || !settings.has_network() {
            return None;
        }
        let Scope { capabilities, indexes } = self.rights.scope().unwrap_or_default();
        let user = self.rights.user().to_owned();
        self.server().open_session(SessionRequest { user, capabilities, indexes })
    }

    fn refused(&self, what: &str, name: &str) -> Error {
        let user = self.rights.user();
        Error::forbidden_anywhere(format!("the user \"{user}\" may not change {what} \"{name}\""))
    }

    /// Returns the namespace in which the user writes a lookup file. It is the one in which the user reads
    /// it: an own file takes precedence over a shared one, so rows for a shared file would not be seen by the
    /// user, and `append=true` would replace the shared rows by the own ones. A new file belongs to all users
    /// of the app if the user may write there.
    async fn place_of_file(&self, name: &str) -> Result<Namespace, Error> {
        let files = self.apps().list_lookups(&self.namespace).await.map_err(failed)?;
        let of_owner = |owner: &str| {
            files.iter().find(|file| {
                file.name == name && file.app == self.namespace.app && file.owner == owner
            })
        };
        let owner = &self.namespace.owner;
        if owner != apps::NOBODY && of_owner(owner).is_some() {
            return Ok(self.namespace.clone());
        }
        let shared = Namespace::new(apps::NOBODY, &self.namespace.app);
        let Some(file) = of_owner(apps::NOBODY) else {
            let is_shared = self.rights.may_share(&shared.app);
            return Ok(if is_shared { shared } else { self.namespace.clone() });
        };
        let place = file.place();
        match self.rights.may_write(&Object { owner: &file.owner, shared: true, place: &place }) {
            true => Ok(shared),
            false => Err(self.refused("the shared lookup file", name)),
        }
    }
}

impl Host for SearchHost {
    fn may(&self, capability: &str) -> bool {
        self.rights.may(capability)
    }

    fn reads_only(&self) -> bool {
        self.read_only
    }

    fn read_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
    ) -> BoxFuture<'a, Result<Option<Arc<Rows>>, Error>> {
        Box::pin(async move {
            match source {
                LookupSource::File(name) => {
                    let readable = |file: &apps::LookupFile| {
                        let (place, shared) = (file.place(), file.owner == apps::NOBODY);
                        self.rights.may_read(&Object { owner: &file.owner, shared, place: &place })
                    };
                    let found = self
                        .apps()
                        .read_lookup_at(&self.files, name, &self.namespace, readable)
                        .await
                        .map_err(failed)?;
                    self.lookups.read(source, found.as_ref().map(|found| &found.bytes));
                    found
                        .map(|found| {
                            self.engine.lookup_files.rows(&found.version, name, &found.bytes)
                        })
                        .transpose()
                }
                LookupSource::Collection(name) => {
                    let namespace = self.collection(name, false)?;
                    let documents =
                        self.apps().documents(&namespace, name).await.map_err(failed)?;
                    self.lookups.read(source, Some(&Contents(&documents)));
                    let records = documents.values().map(document_record).collect();
                    Ok(Some(Arc::new(Rows::of_records(records))))
                }
            }
        })
    }

    fn compiled_lookups(&self) -> Option<&CompiledLookups> {
        Some(&self.engine.compiled_lookups)
    }

    fn write_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
        rows: Rows,
        write: LookupWrite,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match source {
                LookupSource::File(name) => {
                    let namespace = self.place_of_file(name).await?;
                    let old = match write {
                        LookupWrite::Replace => None,
                        _ => self.read_lookup(source).await?,
                    };
                    let rows = merged(old.as_deref(), rows, &write)?;
                    let written =
                        self.apps().write_lookup(name, &namespace, csv_text(&rows)?.into());
                    written.await.map_err(failed)
                }
                LookupSource::Collection(name) => {
                    let namespace = self.collection(name, true)?;
                    let documents = documents(&rows)?;
                    match write {
                        LookupWrite::Replace => {
                            let replaced =
                                self.apps().replace_documents(&namespace, name, documents).await;
                            replaced.map_err(failed)
                        }
                        LookupWrite::Append => self.put(&namespace, name, documents).await,
                        LookupWrite::Upsert(field) => {
                            let known =
                                self.apps().documents(&namespace, name).await.map_err(failed)?;
                            let replaced = replaced(&documents, &field, &known);
                            // In this order, each value has a record at any time.
                            self.put(&namespace, name, documents).await?;
                            if replaced.is_empty() {
                                return Ok(());
                            }
                            let deleted =
                                self.apps().delete_documents(&namespace, name, replaced).await;
                            deleted.map_err(failed)
                        }
                    }
                }
            }
        })
    }

    fn job<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let unknown = || Error::invalid_anywhere(format!("there is no job \"{name}\""));
            let job = self.engine.job_to_load(name, &self.rights).await;
            let job = job.map_err(|error| Error::Source {
                message: error.to_string(),
                kind: error.kind(),
            })?;
            let job = job.ok_or_else(unknown)?;
            job.finished().await.map_err(|error| Error::invalid_anywhere(error.to_string()))?;
            job.result_rows()
        })
    }

    fn rest<'a>(&'a self, request: &'a RestRequest) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            // The REST call has all rights of the user, which may exceed those of the token of this request.
            if self.rights.is_scoped() {
                let text =
                    "rest: a search that was sent with a token of a limited scope may not use REST";
                return Err(Error::forbidden_anywhere(text));
            }
            let mut request = request.clone();
            request.owner.clone_from(&self.namespace.owner);
            self.server().rest(&request).await
        })
    }

    fn collect<'a>(
        &'a self,
        index: &'a IndexName,
        events: Vec<CollectedEvent>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.server().collect(index, events).await })
    }

    fn locate(&self, address: IpAddr) -> Option<Location> {
        self.server().locate(address)
    }

    fn act<'a>(&'a self, action: &'a Action, rows: &'a Rows) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { self.server().act(action, rows).await })
    }

    fn run_script<'a>(
        &'a self,
        request: &'a ScriptRequest,
        rows: Rows,
    ) -> BoxFuture<'a, Result<(Rows, Vec<Message>), Error>> {
        Box::pin(async move {
            let directory = self.apps().directory_at(&self.files, &request.command.app);
            let settings = self.engine.settings();
            // It ends with the command, also if the search is cancelled.
            let session = self.session_of(&request.command, &settings.scripts);
            let asking = crate::custom_commands::Asking {
                sid: &self.sid,
                app: &self.namespace.app,
                owner: &self.namespace.owner,
                search: &self.search,
                directory: directory.as_deref(),
                settings: &settings.scripts,
                session: session.as_deref(),
            };
            crate::custom_commands::run(request, &asking, rows).await
        })
    }

    fn ask_program<'a>(
        &'a self,
        question: &'a LookupQuestion,
        keys: Rows,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let settings = self.engine.settings();
            let directory = self.apps().directory_at(&self.files, &question.program.app);
            crate::external_lookups::ask(question, directory.as_deref(), &settings.scripts, keys)
                .await
        })
    }

    fn history<'a>(&'a self) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let mut jobs = self.engine.jobs.newest_first();
            jobs.extend(self.engine.saved_jobs());
            let record = |job: &Arc<Job>| {
                let counts = job.counts();
                let seconds = |time: EventTime| vec![format!("{:.3}", time.seconds())];
                vec![
                    ("_time".to_owned(), seconds(job.created())),
                    ("api_et".to_owned(), Vec::new()),
                    ("event_count".to_owned(), vec![counts.events_matched.to_string()]),
                    ("is_realtime".to_owned(), vec!["0".to_owned()]),
                    ("scan_count".to_owned(), vec![counts.events_scanned.to_string()]),
                    ("search".to_owned(), vec![job.request().search.clone()]),
                    ("sid".to_owned(), vec![job.sid().to_owned()]),
                    ("result_count".to_owned(), vec![job.result_count().to_string()]),
                ]
            };
            let listed = jobs.iter().filter(|job| {
                job.request().owner == self.namespace.owner
                    && self.engine.is_in_scope(job, &self.rights)
            });
            Ok(Rows::of_records(listed.map(record).collect()))
        })
    }

    fn buckets<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            // In the catalog, an empty list of indexes means all indexes.
            if indexes.is_empty() {
                return Ok(Rows::blank(0));
            }
            let Met { buckets: hot, catalog: snapshot, .. } = self.hot.of(indexes, range).await;
            let left_out = crate::quarantine::quarantined(&snapshot);
            let server = self.server_name();
            let stored = snapshot.overlapping(indexes, range).map(|bucket| Listed {
                id: bucket.id,
                state: state_of(&bucket, &left_out),
                times: (bucket.first_time, bucket.last_time),
                events: bucket.rows,
                raw_bytes: bucket.raw_bytes,
                object: Some((bucket.path(), bucket.size)),
                index: bucket.index,
            });
            let open = hot.iter().filter(|bucket| !snapshot.contains(&bucket.index, bucket.id));
            let open = open.map(|bucket| Listed {
                id: bucket.id,
                index: bucket.index.clone(),
                state: "hot",
                times: (bucket.first_time, bucket.last_time),
                events: bucket.rows,
                raw_bytes: bucket.raw_bytes,
                object: None,
            });
            Ok(Rows::of_records(stored.chain(open).map(|bucket| bucket.record(&server)).collect()))
        })
    }

    fn server_name(&self) -> String {
        self.server().server_name()
    }
}

/// A bucket to be listed.
struct Listed {
    id: model::BucketId,
    index: IndexName,
    state: &'static str,
    /// Times of the earliest and the latest event.
    times: (EventTime, EventTime),
    events: u64,
    raw_bytes: u64,
    /// Path and size of the object; `None` for a hot bucket.
    object: Option<(String, u64)>,
}

impl Listed {
    fn record(self, server: &str) -> plan::Record {
        let one = |text: String| vec![text];
        let seconds = |time: EventTime| one(format!("{:.0}", time.seconds()));
        let (path, size) = self.object.unzip();
        let cells = [
            ("bucketId", one(self.id.to_string())),
            ("endEpoch", seconds(self.times.1)),
            ("eventCount", one(self.events.to_string())),
            ("index", one(self.index.to_string())),
            ("path", path.into_iter().collect()),
            ("rawSize", one(self.raw_bytes.to_string())),
            ("sizeOnDiskMB", one(megabytes(size.unwrap_or(0)))),
            ("splunk_server", one(server.to_owned())),
            ("startEpoch", seconds(self.times.0)),
            ("state", one(self.state.to_owned())),
        ];
        cells.into_iter().map(|(name, values)| (name.to_owned(), values)).collect()
    }
}

/// The hashable content of a collection.
struct Contents<'a>(&'a apps::Collection);

impl Hash for Contents<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (key, document) in self.0 {
            key.hash(state);
            for (name, value) in document {
                name.hash(state);
                value.to_string().hash(state);
            }
        }
    }
}

/// Returns an object of a `.conf` file for permission checks.
fn object<'a>(found: &'a ConfObject, place: &'a str) -> Object<'a> {
    Object { owner: &found.owner, shared: found.sharing != Sharing::User, place }
}

impl SearchHost {
    async fn put(
        &self,
        namespace: &Namespace,
        name: &str,
        documents: Vec<Map<String, Value>>,
    ) -> Result<(), Error> {
        for batch in documents.chunks(apps::MAX_BATCH) {
            self.apps().put_documents(namespace, name, batch.to_vec()).await.map_err(failed)?;
        }
        Ok(())
    }
}

fn state_of(
    bucket: &model::BucketHeader,
    left_out: &std::collections::BTreeMap<model::BucketId, crate::Quarantined>,
) -> &'static str {
    match bucket.state {
        _ if left_out.contains_key(&bucket.id) => "quarantined",
        BucketState::Warm => "warm",
        BucketState::Frozen => "frozen",
        BucketState::Thawed => "thawed",
    }
}

#[allow(clippy::cast_precision_loss)]
fn megabytes(bytes: u64) -> String {
    format!("{:.6}", bytes as f64 / f64::from(1 << 20))
}

fn failed(error: apps::Error) -> Error {
    match error.kind() {
        ErrorKind::Invalid | ErrorKind::NotFound => Error::invalid_anywhere(error.to_string()),
        kind => Error::Source { message: error.to_string(), kind },
    }
}

/// Merges old and new rows as the kind of write requires.
fn merged(old: Option<&Rows>, new: Rows, write: &LookupWrite) -> Result<Rows, Error> {
    let Some(old) = old else { return Ok(new) };
    let LookupWrite::Upsert(field) = write else { return Ok(old.clone().append(new)?) };
    let replaced: HashSet<String> = new.texts(field)?.into_iter().flatten().collect();
    let keys = old.texts(field)?;
    let kept: Vec<usize> = (0..old.count)
        .filter(|row| keys[*row].as_ref().is_none_or(|key| !replaced.contains(key)))
        .collect();
    Ok(old.take(&kept)?.append(new)?)
}

/// Converts a document to a record. Nested values become JSON; arrays of plain values become several values.
fn document_record(document: &Map<String, Value>) -> plan::Record {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let values = |value: &Value| match value {
        Value::Null => Vec::new(),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            items.iter().map(text).collect()
        }
        other => vec![text(other)],
    };
    document.iter().map(|(name, value)| (name.clone(), values(value))).collect()
}

/// Converts rows to documents.
fn documents(rows: &Rows) -> Result<Vec<Map<String, Value>>, Error> {
    let mut documents = vec![Map::new(); rows.count];
    for name in rows.names().iter().filter(|name| !name.starts_with("__")) {
        for (document, values) in documents.iter_mut().zip(rows.lists(name)?) {
            let value = match <[String; 1]>::try_from(values) {
                Ok([value]) => Value::String(value),
                Err(values) if values.is_empty() => continue,
                Err(values) => values.into_iter().map(Value::String).collect(),
            };
            document.insert(name.clone(), value);
        }
    }
    Ok(documents)
}

/// Returns the keys of records that new documents replace: records with a random key, as earlier versions
/// assigned them, whose value of the field equals the key of a new document. Otherwise they would remain
/// beside the new records with old values. Records with user-assigned keys stay.
fn replaced(
    documents: &[Map<String, Value>],
    field: &str,
    known: &apps::Collection,
) -> Vec<String> {
    let key = |document: &Map<String, Value>| document.get("_key").and_then(text);
    let new: HashSet<String> = documents.iter().filter_map(key).collect();
    let is_replaced = |(key, document): &(&String, &Map<String, Value>)| {
        let value = document.get(field).and_then(text);
        is_random(key)
            && value.is_some_and(|value| new.contains(&value))
            && !new.contains(key.as_str())
    };
    known.iter().filter(is_replaced).map(|(key, _)| key.clone()).collect()
}

/// Whether a key has the form of automatically assigned keys.
fn is_random(key: &str) -> bool {
    key.len() == 32 && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns a single value of a document in the form of a key.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(value: &Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn a_record_with_the_value_of_a_new_one_and_another_key_is_replaced() {
        let random = |start: &str| format!("{start}{}", "0".repeat(28));
        let stored = [
            json!({ "_key": random("5f1c"), "host": "web1", "n": 1 }),
            json!({ "_key": random("6a2d"), "host": "web3" }),
            json!({ "_key": "7", "host": "web2" }),
            json!({ "_key": random("8b3e"), "host": 7 }),
            json!({ "_key": random("9c4f"), "host": ["web1", "web2"] }),
            json!({ "_key": "web1:80", "host": "web1" }),
            json!({ "_key": "web1", "host": "web1" }),
            json!({ "_key": "web2" }),
        ];
        let keyed = |value: &Value| {
            let document = document(value);
            (document["_key"].as_str().unwrap_or_default().to_owned(), document)
        };
        let known: apps::Collection = stored.iter().map(keyed).collect();
        let new = ["web1", "web2", "7"].map(|key| document(&json!({ "_key": key })));
        // "7" is also the key of a new document, which replaces it.
        assert_eq!(replaced(&new, "host", &known), [random("5f1c"), random("8b3e")]);
        assert!(replaced(&new, "_key", &known).is_empty());
        assert!(replaced(&new, "other", &known).is_empty());
    }
}
