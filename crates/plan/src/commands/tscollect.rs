//! `tscollect`: stores the rows in a namespace, and `tstats ... FROM <namespace>`, which reads them.
//!
//! A namespace is the events of the index `summary` that have its name in an indexed field. The fields of a
//! row are indexed fields of its event, so permissions, retention and sizes are those of the index.
//!
//! Split: runs at the search head, over all rows.

use exprs::column::Values;
use futures::future::BoxFuture;
use model::{EventTime, IndexName, columns};
use spl::Spanned;
use spl::ast::{
    ComparisonOperator, Field, SearchCommand, SearchComparison, SearchExpr, SearchPattern,
    SearchValue, TscollectCommand, TstatsCommand,
};

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step, summary};
use crate::{CollectedEvent, Error};
use context::indexes::absence;
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

/// The index of all namespaces.
const INDEX: &str = "summary";
/// The field with the name of the namespace.
const NAMESPACE: &str = "tscollect_namespace";
/// The source type of the events: no rules for the source type of a row apply to its fields again.
const SOURCETYPE: &str = "tscollect";
/// The text of the events, whose fields are not in it.
const TEXT: &str = "tscollect";
/// The source of rows that have none.
const SOURCE: &str = "search";
/// The field with the number of stored rows.
const COUNT: &str = "count";
/// Rows whose events are made together: the events of all rows would take a multiple of their memory.
const BATCH: usize = 10_000;

impl CommandPlan for TscollectCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        if self.keepresults { OutputFields::Unchanged } else { OutputFields::Replaced }
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let span = input.span();
        let Input { frame, env, .. } = input;
        let sid = &env.context.sid;
        let namespace = match &self.namespace {
            Some(name) => name.node.clone(),
            // As `tstats ... FROM sid=<sid>` names it.
            None if !sid.is_empty() => format!("sid={sid}"),
            None => return Err(Error::at("tscollect needs namespace=<name>", span)),
        };
        let index = IndexName::new(INDEX).map_err(|error| Error::at(error.to_string(), span))?;
        if !env.context.source.indexes().contains(&index) {
            let disabled = env.context.source.disabled_indexes();
            let text = format!("tscollect: {}", absence(INDEX, &disabled));
            return Err(Error::at(text, span));
        }
        let op = Tscollect { command: self.clone(), namespace, index };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

#[derive(Debug)]
struct Tscollect {
    command: TscollectCommand,
    namespace: String,
    index: IndexName,
}

impl TableOp for Tscollect {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            if !env.is_dry_run() {
                for from in (0..rows.count).step_by(BATCH) {
                    let events = self.events(&rows.slice(from, BATCH), env)?;
                    env.context.host.collect(&self.index, events).await?;
                }
            }
            if self.command.keepresults {
                return Ok(rows);
            }
            let mut told = Rows::blank(1);
            told.set_integers(COUNT, [i64::try_from(rows.count).ok()]);
            Ok(told)
        })
    }
}

impl Tscollect {
    fn events(&self, rows: &Rows, env: &PlanningContext<'_>) -> Result<Vec<CollectedEvent>, Error> {
        let times = match rows.column(columns::TIME) {
            Some(column) => Some(Values::new(&column.array)?),
            None => None,
        };
        let [hosts, sources] = [columns::HOST, columns::SOURCE].map(|name| rows.texts(name));
        let (hosts, sources) = (hosts?, sources?);
        let mut fields = Vec::new();
        for name in rows.names() {
            // A row of another namespace must not get into that one again.
            let is_own = [columns::HOST, columns::SOURCE, NAMESPACE].contains(&name.as_str());
            if is_own || name.starts_with('_') {
                continue;
            }
            let stored = summary::collected_name(&name).into_owned();
            let mut cells = rows.lists(&name)?;
            if stored != name {
                // A row that was stored before keeps its first source type and index.
                for (cell, first) in cells.iter_mut().zip(rows.lists(&stored)?) {
                    if !first.is_empty() {
                        cell.clear();
                    }
                }
            }
            fields.push((stored, cells));
        }
        let server = env.context.host.server_name();
        let mut events = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let mut stored = vec![(NAMESPACE.to_owned(), self.namespace.clone())];
            for (name, cells) in &fields {
                let values = cells[row].iter().map(|value| (name.clone(), self.cased(value)));
                stored.extend(values);
            }
            let seconds = times.as_ref().and_then(|times| times.get(row).number());
            events.push(CollectedEvent {
                time: seconds.map_or(env.context.now, EventTime::from_seconds),
                raw: TEXT.to_owned(),
                host: hosts[row].clone().unwrap_or_else(|| server.clone()),
                source: sources[row].clone().unwrap_or_else(|| SOURCE.to_owned()),
                sourcetype: SOURCETYPE.to_owned(),
                fields: stored,
            });
        }
        Ok(events)
    }

    fn cased(&self, value: &str) -> String {
        if self.command.squashcase { value.to_lowercase() } else { value.to_owned() }
    }
}

/// The command that reads the events of a namespace.
pub(super) fn within(command: &TstatsCommand, namespace: &Field) -> TstatsCommand {
    let span = namespace.span;
    let is = |field: &str, value: &str| {
        SearchExpr::Comparison(SearchComparison {
            field: Spanned::new(field.to_owned(), span),
            operator: ComparisonOperator::Equal,
            value: SearchValue { pattern: SearchPattern::literal(value), quoted: true, span },
            span,
        })
    };
    let mut terms = vec![is(columns::INDEX, INDEX), is(NAMESPACE, &namespace.node)];
    match &command.filter.expr {
        Some(SearchExpr::And(members)) => terms.extend(members.iter().cloned()),
        other => terms.extend(other.clone()),
    }
    let expr = Some(SearchExpr::And(terms));
    let filter = SearchCommand { expr, time: command.filter.time.clone() };
    TstatsCommand { namespace: None, filter, ..command.clone() }
}
