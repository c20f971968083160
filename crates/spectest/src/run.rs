//! Runs blocks and compares their results.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use conf::{Layer, Layers};
use knowledge::Knowledge;
use model::{EventTime, IndexName, TimeRange};
use plan::{
    Completed, Limits, PlanContext, ResultKind, Session, SessionSettings, Subsearches, plan_search,
};

use crate::cell::Cell;
use crate::host::MemoryHost;
use crate::report::{Failure, Report};
use crate::spec::{Block, Expectation, parse};
use crate::topology::Topology;

/// If set, differing expectations are rewritten, to be reviewed.
const BLESS: &str = "KARST_BLESS";

/// The result of a search.
#[derive(Debug)]
pub(crate) struct Outcome {
    columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
    completed: Completed,
}

/// Runs all `.spec` files below a directory.
///
/// # Errors
/// If a file cannot be read or is not a spec file.
pub async fn run_directory(
    directory: &Path,
    topologies: &[Arc<dyn Topology>],
) -> Result<Report, String> {
    let mut report = Report::default();
    for file in spec_files(directory)? {
        report.add(run_file(&file, topologies).await?);
    }
    Ok(report)
}

/// Returns all `.spec` files below a directory, sorted.
///
/// # Errors
/// If a directory cannot be read.
pub fn spec_files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(directory);
    for entry in entries.map_err(|error| format!("{}: {error}", directory.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            found.extend(spec_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "spec") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether a spec file is about wildcards in names of fields (`wildcards*.spec`). Its results depend on the
/// fields that stored rows have, so its blocks are not distributed among topologies ([`Topology::share`]).
pub fn is_about_wildcards(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("wildcards"))
}

/// Runs the blocks of a file.
///
/// # Errors
/// If the file cannot be read or is not a spec file.
pub async fn run_file(file: &Path, topologies: &[Arc<dyn Topology>]) -> Result<Report, String> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
    let blocks = parse(&text).map_err(|error| format!("{name}: {error}"))?;
    let mut report = Report { blocks: blocks.len(), failures: Vec::new() };
    let mut rewrites = Vec::new();
    let builtin = Arc::new(Knowledge::builtin());
    let everywhere = is_about_wildcards(file);
    for (number, block) in blocks.iter().enumerate() {
        for topology in topologies {
            let (own, of) = topology.share();
            let is_shared = everywhere || number % of == own;
            if !is_shared || (topology.is_about_events() && block.generates_its_rows()) {
                continue;
            }
            let outcome = run_block(block, topology.as_ref(), &builtin).await;
            if let Err(message) = check(block, &outcome) {
                if std::env::var_os(BLESS).is_some() {
                    rewrites.push((block.expect_lines, expectation(&outcome)));
                    break;
                }
                report.failures.push(Failure {
                    place: format!("{name}:{}", block.line),
                    title: block.title.clone(),
                    topology: topology.name(),
                    message,
                });
            }
        }
    }
    if !rewrites.is_empty() {
        rewrite(file, &text, &rewrites).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(report)
}

/// The configuration of a block. Blocks without one share `builtin`, because compiling it takes long.
fn knowledge_of(block: &Block, builtin: &Arc<Knowledge>) -> Arc<Knowledge> {
    if block.conf.is_empty() && block.models.is_empty() && block.forms.is_empty() {
        return Arc::clone(builtin);
    }
    let mut layers = Layers::builtin();
    for (name, text) in &block.conf {
        // `conf <app>/<file>` is a file of an app.
        let (layer, name) = match name.split_once('/') {
            Some((app, name)) => (Layer::AppDefault(app.to_owned()), name),
            None => (Layer::SystemLocal, name.as_str()),
        };
        layers = layers.with(layer, name, text);
    }
    for (name, json) in &block.models {
        layers = layers.with_model("search", name, json);
    }
    for (name, text) in &block.forms {
        layers = layers.with_form(&format!("apps/search/default/{name}.form"), text);
    }
    Arc::new(Knowledge::new(layers))
}

async fn run_block(
    block: &Block,
    topology: &dyn Topology,
    builtin: &Arc<Knowledge>,
) -> Result<Outcome, String> {
    search(&block.search, &context(block, topology, builtin).await?, topology).await
}

/// The planning context of a block's search.
pub(crate) async fn context(
    block: &Block,
    topology: &dyn Topology,
    builtin: &Arc<Knowledge>,
) -> Result<PlanContext, String> {
    let knowledge = knowledge_of(block, builtin);
    let source = topology.load(&block.events, &knowledge).await?;
    let timezone = jiff::tz::TimeZone::get(&block.timezone).map_err(|error| error.to_string())?;
    let range = block.range.map_or(TimeRange::ALL, |(from, to)| TimeRange {
        earliest: EventTime::from_seconds(from),
        latest: EventTime::from_seconds(to),
    });
    let limits = limits(&block.limits)?;
    let planning = plan::PlanningTime::new(limits.plan_time);
    Ok(PlanContext {
        source,
        host: Arc::new(MemoryHost::new(&block.lookups)?),
        rules: Arc::clone(&knowledge),
        knowledge,
        now: EventTime::from_seconds(block.now),
        timezone,
        range,
        index_range: TimeRange::ALL,
        default_indexes: IndexName::new("main").into_iter().collect(),
        limits,
        restriction: plan::Restriction::default(),
        sid: "spec".to_owned(),
        search_name: None,
        planning,
    })
}

fn limits(set: &[(String, usize)]) -> Result<Limits, String> {
    let mut limits = Limits::default();
    for (name, value) in set {
        if name == "plan_seconds" {
            limits.plan_time = Duration::from_secs(*value as u64);
            continue;
        }
        let limit = match name.as_str() {
            "sort_rows" => &mut limits.sort_rows,
            "stage_rows" => &mut limits.stage_rows,
            "bins" => &mut limits.bins,
            "columns" => &mut limits.columns,
            "wide_fields" => &mut limits.wide_fields,
            "generated_rows" => &mut limits.generated_rows,
            "stream_window" => &mut limits.stream_window,
            "groups" => &mut limits.groups,
            "subsearch_rows" => &mut limits.subsearch_rows,
            "joined_rows" => &mut limits.joined_rows,
            "listed_values" => &mut limits.listed_values,
            "commands" => &mut limits.commands,
            "plan_depth" => &mut limits.plan_depth,
            "memory_bytes" => &mut limits.memory_bytes,
            other => return Err(format!("there is no limit \"{other}\"")),
        };
        *limit = *value;
    }
    Ok(limits)
}

pub(crate) async fn search(
    text: &str,
    context: &PlanContext,
    topology: &dyn Topology,
) -> Result<Outcome, String> {
    let settings = SessionSettings {
        partitions: 3,
        batch_rows: 4,
        wide_columns: topology.wide_columns(),
        ..SessionSettings::default()
    };
    let session = Session::new(&settings, Vec::new()).map_err(|error| error.to_string())?;
    let planned = plan_search(text, context, Subsearches::Run(&session))
        .await
        .map_err(|error| error.render(text))?;
    let mut batches = Vec::new();
    let mut on_batch = |_: &[_], batch| {
        batches.push(batch);
        ControlFlow::Continue(())
    };
    let completed = topology.execute(&planned, context, &session, &mut on_batch).await;
    let completed = completed.map_err(|error| error.render(text))?;
    let shown: Vec<usize> =
        (0..completed.columns.len()).filter(|at| completed.columns[*at].is_visible()).collect();
    let mut rows = Vec::new();
    for batch in &batches {
        for row in 0..batch.num_rows() {
            rows.push(shown.iter().map(|at| Cell::of(batch.column(*at), row)).collect());
        }
    }
    let columns = shown.iter().map(|at| completed.columns[*at].name.clone()).collect();
    Ok(Outcome { columns, rows, completed })
}

fn check(block: &Block, outcome: &Result<Outcome, String>) -> Result<(), String> {
    let found = match (&block.expect, outcome) {
        (Expectation::Error(text), Err(error)) if error.contains(text.as_str()) => return Ok(()),
        (Expectation::Error(text), Err(error)) => {
            return Err(format!("expected the error \"{text}\", got:\n{error}"));
        }
        (Expectation::Error(text), Ok(found)) => {
            return Err(format!("expected the error \"{text}\", got:\n{}", show(found)));
        }
        (_, Err(error)) => return Err(error.clone()),
        (_, Ok(found)) => found,
    };
    for wanted in &block.messages {
        let messages = &found.completed.messages;
        if !messages.iter().any(|message| message.text.contains(wanted.as_str())) {
            return Err(format!("expected a message with \"{wanted}\", got {messages:?}"));
        }
    }
    let Expectation::Rows { columns, rows } = &block.expect else {
        let nothing = found.rows.is_empty();
        return if nothing {
            Ok(())
        } else {
            Err(format!("expected nothing, got:\n{}", show(found)))
        };
    };
    let (mut actual, mut wanted) = (selected(found, columns)?, rows.clone());
    if block.sort {
        actual.sort_by_key(|row| line(row));
        wanted.sort_by_key(|row| line(row));
    }
    if actual == wanted { Ok(()) } else { Err(format!("got:\n{}", show(found))) }
}

/// The rows in the expected columns. For events, only these columns are compared; for reports, all columns.
fn selected(found: &Outcome, columns: &[String]) -> Result<Vec<Vec<Cell>>, String> {
    if found.completed.kind == ResultKind::Report {
        if found.columns != columns {
            return Err(format!("the columns differ, got:\n{}", show(found)));
        }
        return Ok(found.rows.clone());
    }
    let place = |name: &String| {
        let at = found.columns.iter().position(|known| known == name);
        at.ok_or_else(|| format!("there is no column \"{name}\", got:\n{}", show(found)))
    };
    let places = columns.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    let pick = |row: &Vec<Cell>| places.iter().map(|at| row[*at].clone()).collect();
    Ok(found.rows.iter().map(pick).collect())
}

fn line(row: &[Cell]) -> String {
    row.iter().map(Cell::text).collect::<Vec<_>>().join("  ")
}

fn show(found: &Outcome) -> String {
    let names: Vec<Cell> = found.columns.iter().cloned().map(Cell::Text).collect();
    let lines = std::iter::once(line(&names)).chain(found.rows.iter().map(|row| line(row)));
    let mut shown: Vec<String> = lines.map(|line| format!("  {line}")).collect();
    shown.extend(
        found.completed.messages.iter().map(|message| format!("message: {}", message.text)),
    );
    shown.join("\n")
}

/// The expectation that matches the outcome.
fn expectation(outcome: &Result<Outcome, String>) -> Vec<String> {
    match outcome {
        Err(error) => {
            let first = error.lines().next().unwrap_or_default();
            vec![format!("error {}", Cell::Text(format!("{first} ")).text().replace(" \"", "\""))]
        }
        Ok(found) if found.rows.is_empty() => vec!["expect nothing".to_owned()],
        Ok(found) => {
            let names: Vec<Cell> = found.columns.iter().cloned().map(Cell::Text).collect();
            let mut lines = vec!["expect".to_owned(), format!("  {}", line(&names))];
            lines.extend(found.rows.iter().map(|row| format!("  {}", line(row))));
            lines
        }
    }
}

fn rewrite(
    file: &Path,
    text: &str,
    rewrites: &[((usize, usize), Vec<String>)],
) -> std::io::Result<()> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for ((from, behind), new) in rewrites.iter().rev() {
        lines.splice(*from..*behind, new.iter().cloned());
    }
    std::fs::write(file, lines.join("\n") + "\n")
}
