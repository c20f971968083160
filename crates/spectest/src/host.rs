//! In-memory lookups, collections, locations of addresses, and collected events.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use futures::future::BoxFuture;
use model::IndexName;
use parking_lot::Mutex;
use plan::{
    Action, CollectedEvent, Error, Host, Location, LookupQuestion, LookupSource, LookupWrite,
    RestRequest, Rows,
};

/// The ID of the job that exists in every block.
const JOB: &str = "1700000000.9";

/// The environment of the searches of a block.
#[derive(Debug)]
pub(crate) struct MemoryHost {
    lookups: Mutex<HashMap<String, Arc<Rows>>>,
    jobs: Mutex<HashMap<String, Rows>>,
}

impl MemoryHost {
    /// Creates an environment with lookups by name, as CSV without quotes.
    pub(crate) fn new(lookups: &[(String, String)]) -> Result<Self, String> {
        let mut found = HashMap::new();
        for (name, text) in lookups {
            found.insert(name.clone(), Arc::new(rows(text)));
        }
        let mut rows = Rows::blank(2);
        rows.set_texts("n", [Some("1"), Some("2")]);
        let jobs = HashMap::from([(JOB.to_owned(), rows)]);
        Ok(Self { lookups: Mutex::new(found), jobs: Mutex::new(jobs) })
    }

    /// The same lookups, with the rows of jobs for `loadjob`.
    pub(crate) fn with_jobs(&self, jobs: HashMap<String, Rows>) -> Self {
        let lookups = self.lookups.lock().clone();
        Self { lookups: Mutex::new(lookups), jobs: Mutex::new(jobs) }
    }
}

/// Parses comma-separated values; an empty value is missing.
fn rows(text: &str) -> Rows {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').map(str::trim).collect();
    let lines: Vec<Vec<&str>> =
        lines.map(|line| line.split(',').map(str::trim).collect()).collect();
    let mut rows = Rows::blank(lines.len());
    for (at, name) in names.iter().enumerate() {
        let cells = lines.iter().map(|line| line.get(at).filter(|cell| !cell.is_empty()));
        rows.set_texts(name, cells);
    }
    rows
}

fn name(source: &LookupSource) -> &str {
    match source {
        LookupSource::File(name) | LookupSource::Collection(name) => name,
    }
}

impl Host for MemoryHost {
    fn read_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
    ) -> BoxFuture<'a, Result<Option<Arc<Rows>>, Error>> {
        Box::pin(async move {
            let lookups = self.lookups.lock();
            Ok(lookups.get(name(source)).cloned())
        })
    }

    /// Answers for a program with the rows of the lookup of the same name.
    fn ask_program<'a>(
        &'a self,
        question: &'a LookupQuestion,
        _: Rows,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let found = self.lookups.lock().get(&question.program.file).cloned();
            let message = format!("the program {} does not exist", question.program.file);
            found.map(|rows| rows.as_ref().clone()).ok_or(Error::Invalid { message, span: None })
        })
    }

    fn write_lookup<'a>(
        &'a self,
        source: &'a LookupSource,
        rows: Rows,
        write: LookupWrite,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let mut lookups = self.lookups.lock();
            let old = lookups.get(name(source)).map(|rows| rows.as_ref().clone());
            let rows = match (write, old) {
                (LookupWrite::Replace, _) | (_, None) => rows,
                (_, Some(old)) => old.append(rows)?,
            };
            lookups.insert(name(source).to_owned(), Arc::new(rows));
            Ok(())
        })
    }

    fn job<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let jobs = self.jobs.lock();
            let message = format!("there is no job \"{name}\"");
            jobs.get(name).cloned().ok_or(Error::Invalid { message, span: None })
        })
    }

    fn act<'a>(&'a self, action: &'a Action, _: &'a Rows) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            match action.name.as_str() {
                "email" | "logger" => Ok(()),
                name => {
                    let message = format!("there is no alert action \"{name}\"");
                    Err(Error::Invalid { message, span: None })
                }
            }
        })
    }

    fn rest<'a>(&'a self, request: &'a RestRequest) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let record = vec![
                ("title".to_owned(), vec!["main".to_owned()]),
                ("path".to_owned(), vec![request.path.clone()]),
            ];
            Ok(Rows::of_records(vec![record]))
        })
    }

    fn collect<'a>(
        &'a self,
        _: &'a IndexName,
        _: Vec<CollectedEvent>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move { Ok(()) })
    }

    fn locate(&self, address: IpAddr) -> Option<Location> {
        let known: IpAddr = [8, 8, 8, 8].into();
        (address == known).then(|| Location {
            city: Some("Mountain View".to_owned()),
            country: Some("United States".to_owned()),
            region: Some("California".to_owned()),
            latitude: Some(37.4),
            longitude: Some(-122.1),
            continent: Some("North America".to_owned()),
            metro_code: Some("807".to_owned()),
            timezone: Some("America/Los_Angeles".to_owned()),
        })
    }
}
