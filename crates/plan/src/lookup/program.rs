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
use crate::{Error, Host, LookupQuestion, MessageKind, MessageLog};

/// Values of the inputs, in the order of the inputs.
pub(crate) type Key = Vec<String>;

/// A program that is asked for rows, and what it answered in this search.
#[derive(Debug)]
pub(crate) struct Program {
    host: Arc<dyn Host>,
    question: LookupQuestion,
    definition: LookupDefinition,
    inputs: Vec<String>,
    planning: PlanningTime,
    /// Bytes that the answers may take.
    max_bytes: usize,
    /// Whether the rows are a preview, for which no program is started.
    is_dry_run: bool,
    /// Where a failure is told that does not end the search.
    warnings: Option<Warnings>,
    /// Held while the program is asked.
    turn: Mutex<()>,
    answers: Mutex<Answers>,
}

/// How an automatic lookup tells that its program fails.
#[derive(Debug)]
struct Warnings {
    log: MessageLog,
    place: String,
}

/// The rows that a program has given.
#[derive(Debug, Default)]
struct Answers {
    /// Numbers of rows by the values that they were asked with.
    rows: HashMap<Key, Arc<[u32]>>,
    /// The values of each field, by the number of the row.
    cells: HashMap<String, Vec<Option<String>>>,
    count: u32,
    bytes: usize,
    /// The program failed, and is not asked again.
    failed: bool,
}

impl Program {
    /// The program of a lookup that is asked by these of its fields.
    pub(crate) fn new(
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

    /// The numbers of the rows that belong to each of some keys, in the order of the keys.
    pub(crate) fn rows(&self, keys: &[Key]) -> Result<Vec<Arc<[u32]>>, Error> {
        if !self.is_dry_run && !self.unknown(keys).is_empty() {
            let asked = elsewhere(|| {
                let _turn = self.turn.lock();
                // Another thread may have asked for the same meanwhile.
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
    pub(crate) fn cell(&self, field: &str, row: usize, emit: &mut dyn FnMut(&str)) {
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
        // In the order of the events, so that a program is asked the same in every run.
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

    /// Keeps the rows that match. As in a file, those count whose inputs are what was asked for.
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

    /// A failure ends the search, but not where the lookup is an automatic one.
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

/// Runs what blocks without keeping the other tasks of this thread waiting.
fn elsewhere<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// Waits for work until the search is cancelled. Functions of the engine cannot give way, so it blocks.
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
        // A runtime of one thread, which is this one, could not go on with the work.
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
