//! Checks the declared place of each command against its behaviour, over randomly split rows.
//!
//! The examples of a command are the blocks of `specs/commands/<name>.spec`. The declared [`Place`] has to
//! be valid for all of them; for a command that needs the search head, at least one example must show why,
//! or there must be a stated reason.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use knowledge::Knowledge;
use parking_lot::Mutex;
use plan::{
    Origin, Place, PlanContext, PlanOf, Rows, Session, SessionSettings, Subsearches, TwoStep,
    Watch, execute_watched, place_of, plan_search,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use spl::ast::{Command, Pipeline, Spanned};

use crate::cell::Cell;
use crate::host::MemoryHost;
use crate::memory::Memory;
use crate::run::context;
use crate::spec::{Block, Expectation, parse};

/// Number of random splits of the rows of an example.
const SPLITS: u64 = 6;
/// Maximum number of examples per command.
const EXAMPLES: usize = 8;
/// Number of indexers.
const PARTS: usize = 3;
/// The column with the position of a row among all rows.
const AT: &str = "row_of_the_test";

/// Commands that run at the search head although no split of rows shows the need, with the reason.
const HIDDEN: &[(&str, &str)] = &[
    ("collect", "it writes its events once"),
    ("delete", "it is refused"),
    ("fieldformat", "formats are for display: later commands see the values as they are"),
    ("join", "the rows of its subsearch come together there"),
    ("localop", "it is there to run what follows at the search head"),
    ("map", "its searches begin there"),
    ("mcollect", "it writes its points once"),
    ("meventcollect", "it writes its points once"),
    ("outputcsv", "it writes one file"),
    ("outputlookup", "it writes one lookup"),
    ("reverse", "it changes nothing but the order of all rows"),
    ("rtorder", "it is about the order of all rows"),
    ("script", "programs run there"),
    ("sendalert", "it acts once, for all rows"),
    ("sendemail", "it sends one mail, with all rows"),
    ("tscollect", "it writes its rows once"),
];

/// An example of a command: the search before it, the command, and the planning context.
struct Example {
    place: String,
    before: String,
    command: Spanned<Command>,
    context: PlanContext,
    block: Block,
}

/// Checks the place of every command.
///
/// # Errors
/// One line per command whose place is wrong, or that has no example.
pub async fn check_places(specs: &Path) -> Result<(), String> {
    let builtin = Arc::new(Knowledge::builtin());
    let mut faults = Vec::new();
    for definition in spl::COMMANDS {
        let found = examples(specs, definition.name, &builtin).await?;
        if let Err(fault) = check(definition.name, &found).await {
            faults.push(format!("{}: {fault}", definition.name));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// The blocks of a command's spec that use it and return rows.
async fn examples(
    specs: &Path,
    name: &str,
    builtin: &Arc<Knowledge>,
) -> Result<Vec<Example>, String> {
    let file = specs.join("commands").join(format!("{name}.spec"));
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let blocks = parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut found = Vec::new();
    for block in blocks {
        let refused = matches!(block.expect, Expectation::Error(_));
        let Ok(pipeline) = spl::parse(&block.search) else { continue };
        let is = |command: &Spanned<Command>| command.node.name() == name;
        let begins = pipeline.commands.first().is_some_and(|first| {
            is(first) && matches!(place_of(&first.node), Place::Generating(_))
        });
        let at = if begins { Some(0) } else { pipeline.commands.iter().rposition(is) };
        let Some(at) = at.filter(|_| !refused) else { continue };
        let (before, rest) = pipeline.commands.split_at(at);
        found.push(Example {
            place: format!("{name}.spec:{}", block.line),
            before: Pipeline { commands: before.to_vec() }.to_string(),
            command: rest[0].clone(),
            context: context(&block, &Memory::Whole, builtin).await?,
            block,
        });
        if found.len() == EXAMPLES {
            break;
        }
    }
    Ok(found)
}

async fn check(name: &str, examples: &[Example]) -> Result<(), String> {
    let hidden = HIDDEN.iter().any(|(known, _)| *known == name);
    let (mut ran, mut witness, mut partial) = (false, false, false);
    for example in examples {
        let place = place_of(&example.command.node);
        let differs = match place {
            Place::Generating(_) if example.before.is_empty() => {
                ran = true;
                match place {
                    Place::Generating(Origin::Indexers | Origin::TwoStep) => {
                        example.scanned().await?.0
                    }
                    _ => None,
                }
            }
            Place::TwoStep(TwoStep::Aggregate) => {
                let (differs, both) = example.scanned().await?;
                ran = true;
                partial |= both;
                differs
            }
            Place::Generating(_) => continue,
            _ if example.before.is_empty() => continue,
            Place::TwoStep(TwoStep::Reduce { rows }) => {
                ran = true;
                example.reduced(rows).await?
            }
            _ => {
                let differs = example.split(place).await?;
                ran = true;
                differs
            }
        };
        match (place, differs) {
            (_, None) => {}
            (Place::SearchHead, Some(_)) => witness = true,
            (_, Some(how)) => {
                let place = &example.place;
                return Err(format!("{place}: does not hold for parts of the rows: {how}"));
            }
        }
    }
    let place = examples.first().map(|example| place_of(&example.command.node));
    match place {
        _ if !ran && !hidden => Err("there is no example that runs".to_owned()),
        Some(Place::SearchHead) if !witness && !hidden => {
            Err("no split of an example shows why it needs the search head".to_owned())
        }
        Some(Place::TwoStep(TwoStep::Aggregate)) if !partial => {
            Err("no example aggregates in two steps".to_owned())
        }
        _ => Ok(()),
    }
}

impl Example {
    /// The input rows of the command, with all their fields.
    async fn rows(&self) -> Result<Rows, String> {
        run(&format!("{} | fields *", self.before), &self.context, None).await
    }

    /// The output of the command for these rows.
    async fn after(&self, rows: Rows) -> Result<Rows, String> {
        let lookups = MemoryHost::new(&self.block.lookups)?;
        let host = lookups.with_jobs(HashMap::from([("rows".to_owned(), rows)]));
        let context = PlanContext { host: Arc::new(host), ..self.context.clone() };
        run(&format!("| loadjob rows | {}", self.command.node), &context, None).await
    }

    /// The difference between the command over each part and the command over all rows, ignoring order;
    /// `None` if there is none.
    async fn split(&self, place: Place) -> Result<Option<String>, String> {
        let rows = self.rows().await?;
        let whole = self.after(rows.clone()).await;
        for seed in 0..SPLITS {
            let mut parts = Vec::new();
            let mut failure = None;
            for part in parts_of(rows.count, seed) {
                match self.after(taken(&rows, &part)?).await {
                    Ok(found) => parts.extend(lines(&found)),
                    Err(error) => failure = Some(error),
                }
            }
            let parts = failure.map_or(Ok(parts), Err);
            let same = match (&whole, parts) {
                (Ok(whole), Ok(mut parts)) => {
                    let mut whole = lines(whole);
                    whole.sort();
                    parts.sort();
                    (whole != parts).then(|| format!("{whole:#?}\nin parts {parts:#?}"))
                }
                (Err(error), _) if place != Place::SearchHead => Some(error.clone()),
                (Err(_), Err(_)) => None,
                (_, Err(error)) => Some(error),
                (Err(error), Ok(_)) => Some(error.clone()),
            };
            if same.is_some() {
                return Ok(same);
            }
        }
        Ok(None)
    }

    /// The difference between the command over the reduced parts and the command over all rows.
    async fn reduced(&self, most: Option<u64>) -> Result<Option<String>, String> {
        let mut rows = self.rows().await?;
        rows.set_integers(AT, (0..rows.count).map(|at| i64::try_from(at).ok()));
        let whole = lines(&self.after(rows.clone()).await?);
        for seed in 0..SPLITS {
            let mut left = Rows::default();
            for part in parts_of(rows.count, seed) {
                let found = self.after(taken(&rows, &part)?).await?;
                if most.is_some_and(|most| found.count as u64 > most) {
                    return Ok(Some(format!("{} rows are left of a part", found.count)));
                }
                left = left.append(found).map_err(|error| error.to_string())?;
            }
            let at = left.numbers(AT).map_err(|error| error.to_string())?;
            let mut order: Vec<usize> = (0..left.count).collect();
            order.sort_by(|a, b| at[*a].partial_cmp(&at[*b]).expect("places are numbers"));
            let again = lines(&self.after(taken(&left, &order)?).await?);
            if again != whole {
                return Ok(Some(format!("{whole:#?}\nin parts {again:#?}")));
            }
        }
        Ok(None)
    }

    /// The difference of the search up to the command over events in several partitions, and whether any
    /// plan aggregates in two steps.
    async fn scanned(&self) -> Result<(Option<String>, bool), String> {
        let pipe = if self.before.is_empty() { "| " } else { " | " };
        let text = format!("{}{pipe}{}", self.before, self.command.node);
        let whole = lines(&run(&text, &self.context, None).await?);
        let watch = Partial(AtomicBool::new(false));
        for seed in 0..SPLITS {
            let builtin = Arc::clone(&self.context.knowledge);
            let context = context(&self.block, &Memory::Pieces(100 + seed), &builtin).await?;
            let parts = lines(&run(&text, &context, Some(&watch)).await?);
            if parts != whole {
                return Ok((Some(format!("{whole:#?}\nin parts {parts:#?}")), false));
            }
        }
        Ok((None, watch.0.load(Ordering::Relaxed)))
    }
}

/// Records whether a plan aggregates in two steps.
#[derive(Debug)]
struct Partial(AtomicBool);

impl Watch for Partial {
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: PlanOf<'_>,
    ) -> datafusion::error::Result<Arc<dyn ExecutionPlan>> {
        if displayable(plan.as_ref()).indent(false).to_string().contains("mode=Partial") {
            self.0.store(true, Ordering::Relaxed);
        }
        Ok(plan)
    }
}

async fn run(text: &str, context: &PlanContext, watch: Option<&dyn Watch>) -> Result<Rows, String> {
    let settings = SessionSettings { partitions: 3, batch_rows: 4, ..SessionSettings::default() };
    let session = Session::new(&settings, Vec::new()).map_err(|error| error.to_string())?;
    let planned = plan_search(text, context, Subsearches::Run(&session))
        .await
        .map_err(|error| error.render(text))?;
    let batches: Mutex<Vec<RecordBatch>> = Mutex::default();
    let completed = execute_watched(&planned, &session, watch, &mut |_, batch| {
        batches.lock().push(batch);
        ControlFlow::Continue(())
    })
    .await
    .map_err(|error| error.render(text))?;
    let batches = batches.into_inner();
    plan::collected(&completed.columns, &batches).map_err(|error| error.to_string())
}

/// The row numbers of each part, in order.
fn parts_of(count: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut parts = vec![Vec::new(); PARTS];
    (0..count).for_each(|row| parts[random.random_range(0..PARTS)].push(row));
    parts
}

fn taken(rows: &Rows, places: &[usize]) -> Result<Rows, String> {
    rows.take(places).map_err(|error| error.to_string())
}

/// Formats each row: its fields, sorted by name.
fn lines(rows: &Rows) -> Vec<String> {
    let mut columns: Vec<_> = rows.columns.iter().collect();
    columns.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |row: usize| {
        let cells = columns.iter().map(|column| (&column.name, Cell::of(&column.array, row)));
        let cells = cells.filter(|(_, cell)| *cell != Cell::Null);
        cells.map(|(name, cell)| format!("{name}={}", cell.text())).collect::<Vec<_>>().join(" ")
    };
    (0..rows.count).map(row).collect()
}
