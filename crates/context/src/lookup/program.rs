//! External lookups: a program is asked for the rows that belong to the values of a batch.
//!
//! Guarantees: a program is asked for each combination of values once per search, and by one process at a
//! time. The rows that it gives are held to the memory of a search. A cancelled search does not wait for it.
//! Leaves running the program to the [`Host`].

use std::future::Future;
use std::sync::Arc;

use frames::{PlanningTime, Rows};
use hashbrown::{HashMap, HashSet};
use knowledge::LookupDefinition;
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};

use super::{Asking, Lookup};
use crate::host::{Host, LookupQuestion};
use frames::{Error, MessageKind, MessageLog};

/// The values of the inputs, in their order.
pub type Key = Vec<String>;

/// The program of a lookup, with its answers in this search.
#[derive(Debug)]
pub struct Program {
    host: Arc<dyn Host>,
    question: LookupQuestion,
    definition: LookupDefinition,
    inputs: Vec<String>,
    planning: PlanningTime,
    /// Maximum size of the answers in bytes.
    max_bytes: usize,
    /// Whether the rows are a preview, for which no program is started.
    is_dry_run: bool,
    /// The receiver of failures that do not fail the search.
    warnings: Option<Warnings>,
    /// Held while the program runs.
    turn: Mutex<()>,
    answers: Mutex<Answers>,
}

/// Reports failures of an automatic lookup's program.
#[derive(Debug)]
struct Warnings {
    log: MessageLog,
    place: String,
}

/// The rows that a program has returned.
#[derive(Debug, Default)]
struct Answers {
    /// Row numbers, by the requested values.
    rows: HashMap<Key, Arc<[u32]>>,
    /// The values of each field, by the number of the row.
    cells: HashMap<String, Vec<Option<String>>>,
    count: u32,
    bytes: usize,
    /// Whether the program has failed, so that it is not run again.
    failed: bool,
}

impl Program {
    /// Creates the program of a lookup with these input fields.
    pub fn new(
        definition: LookupDefinition,
        question: LookupQuestion,
        inputs: &[String],
        asking: Asking<'_>,
    ) -> Self {
        let Asking { context, log, is_dry_run, automatic } = asking;
        Self {
            host: Arc::clone(&context.host),
            question,
            definition,
            inputs: inputs.to_vec(),
            planning: context.planning.clone(),
            max_bytes: context.limits.memory_bytes,
            is_dry_run,
            warnings: automatic.map(|place| Warnings { log: log.clone(), place }),
            turn: Mutex::default(),
            answers: Mutex::default(),
        }
    }

    /// Returns the numbers of the rows that match each key, in the order of the keys.
    pub fn rows(&self, keys: &[Key]) -> Result<Vec<Arc<[u32]>>, Error> {
        if !self.is_dry_run && !self.unknown(keys).is_empty() {
            let asked = elsewhere(|| {
                let _turn = self.turn.lock();
                // Another thread may have requested the same values meanwhile.
                match self.unknown(keys) {
                    unknown if unknown.is_empty() => Ok(()),
                    unknown => self.ask(&unknown),
                }
            });
            asked.or_else(|error| self.failed(error))?;
        }
        let answers = self.answers.lock();
        let rows = |key| answers.rows.get(key).cloned().unwrap_or_default();
        Ok(keys.iter().map(rows).collect())
    }

    /// Gives the value of a field in a row to `emit`, if it has one.
    pub fn cell(&self, field: &str, row: usize, emit: &mut dyn FnMut(&str)) {
        let answers = self.answers.lock();
        let cell = answers.cells.get(field).and_then(|cells| cells.get(row)?.as_deref());
        cell.into_iter().for_each(emit);
    }

    fn unknown(&self, keys: &[Key]) -> Vec<Key> {
        let answers = self.answers.lock();
        if answers.failed {
            return Vec::new();
        }
        let unknown: HashSet<&Key> =
            keys.iter().filter(|key| !answers.rows.contains_key(*key)).collect();
        // In event order, so that requests to the program are reproducible.
        let mut left = unknown;
        keys.iter().filter(|key| left.remove(key)).cloned().collect()
    }

    fn ask(&self, keys: &[Key]) -> Result<(), Error> {
        let mut asked = Rows::blank(keys.len());
        for (at, input) in self.inputs.iter().enumerate() {
            asked.set_texts(input, keys.iter().map(|key| key.get(at).map(String::as_str)));
        }
        let answer = self.host.ask_program(&self.question, asked);
        let rows = wait(answer, &self.planning)?;
        self.keep(keys, rows)
    }

    /// Stores the matching rows: those whose inputs equal the requested values, as for a file.
    fn keep(&self, keys: &[Key], rows: Rows) -> Result<(), Error> {
        let rows = Arc::new(rows);
        let table = Lookup::new(self.definition.clone(), Arc::clone(&rows), &self.inputs)?;
        let mut fields = Vec::with_capacity(self.question.fields.len());
        for field in &self.question.fields {
            fields.push((field, rows.texts(field)?));
        }
        let mut answers = self.answers.lock();
        for key in keys {
            let values: Vec<Option<&str>> = key.iter().map(|value| Some(value.as_str())).collect();
            let found = table.find(&values, None);
            let first = answers.count;
            answers.count += u32::try_from(found.len()).unwrap_or(u32::MAX);
            for (field, texts) in &fields {
                let cells = answers.cells.entry_ref(field.as_str()).or_default();
                cells.extend(found.iter().map(|row| texts[*row as usize].clone()));
            }
            answers.bytes += found.iter().map(|row| bytes_of(&fields, *row)).sum::<usize>();
            answers.bytes += key.iter().map(String::len).sum::<usize>();
            let numbers = (first..answers.count).collect();
            answers.rows.insert(key.clone(), numbers);
        }
        if answers.bytes <= self.max_bytes {
            return Ok(());
        }
        Err(Error::Exhausted {
            message: format!(
                "the answers of the lookup \"{}\" take more than {} MB, which is what a search may hold: raise \
                 max_mem_usage_mb in limits.conf [search], or look up fewer values",
                self.definition.name,
                self.max_bytes >> 20
            ),
        })
    }

    /// Returns an error that fails the search, unless the lookup is an automatic one.
    fn failed(&self, error: Error) -> Result<(), Error> {
        match (&self.warnings, error) {
            (_, Error::Cancelled) => Err(Error::Cancelled),
            (None, error) => Err(error),
            (Some(Warnings { log, place }), error) => {
                self.answers.lock().failed = true;
                let text =
                    format!("{place}: the automatic lookup was left out of some events: {error}");
                log.add(MessageKind::Warning, text);
                Ok(())
            }
        }
    }
}

fn bytes_of(fields: &[(&String, Vec<Option<String>>)], row: u32) -> usize {
    let cell = |texts: &Vec<Option<String>>| texts[row as usize].as_ref().map_or(0, String::len);
    fields.iter().map(|(_, texts)| cell(texts) + size_of::<Option<String>>()).sum()
}

/// Runs blocking work without blocking other tasks of this thread.
fn elsewhere<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Waits for work until the search is cancelled. Functions of the engine are not asynchronous, so this
/// blocks.
fn wait<T: Send>(
    work: impl Future<Output = Result<T, Error>> + Send,
    planning: &PlanningTime,
) -> Result<T, Error> {
    let work = async {
        tokio::select! {
            done = work => done,
            () = planning.cancelled() => Err(Error::Cancelled),
        }
    };
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            handle.block_on(work)
        }
        // The work could not progress on a runtime whose only thread is this one.
        _ => std::thread::scope(|scope| {
            let run = || {
                let runtime = Builder::new_current_thread().enable_all().build();
                let runtime = runtime.map_err(|error| Error::internal(error.to_string()))?;
                runtime.block_on(work)
            };
            let thread = std::thread::Builder::new().name("karst-lookup".to_owned());
            let started = thread.spawn_scoped(scope, run);
            let started = started.map_err(|error| Error::internal(error.to_string()))?;
            started.join().unwrap_or_else(|_| Err(Error::internal("a lookup panicked")))
        }),
    }
}
