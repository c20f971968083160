//! Tables of SQL whose columns knowledge objects compute.
//!
//! A table has a column for each stored and extracted field. If a query names columns that calculated fields,
//! automatic lookups, event types or tags set, the table becomes a view: the scan, these objects as in a
//! search, and a projection to the columns. The engine inlines it, so only what a query reads is computed,
//! and its filters meet the computed values. Columns that objects set but the query does not name keep the
//! stored values: their values do not depend on which other columns a query names. The restriction of the
//! user is applied below all objects.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::datasource::{TableProvider, ViewTable, provider_as_source};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, Operator};
use exprs::Typed;
use exprs::predicate;
use exprs::required_fields::RequiredFields;
use exprs::types::ValueType;
use frames::scan::{TABLE, filter_scan};
use frames::{Frame, FrameColumn, column};
use model::{TimeRange, columns};
use spl::ast::{SearchExpr, SearchIn, SearchPattern, SearchValue, Span, Spanned};

use crate::commands::{Enrichment, Events, FIXED};
use crate::pipeline::{PIPELINES, depth};
use crate::{Error, EventsRequest, MessageLog, PlanContext, SourceField};
use context::planning::PlanningContext;
use context::renames::{ORIGINAL, Renames};

/// What a query says about the columns of its tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SqlColumns {
    /// Columns that the query reads and that objects may compute, each once.
    pub names: Vec<String>,
    /// Words that include the names of all columns that the query needs; `None` if it needs every column.
    pub words: Option<HashSet<String>>,
    /// Columns with texts, one of which they have in every row that the query does not filter out.
    pub texts: Vec<(String, Vec<String>)>,
}

/// Where messages about objects go.
#[derive(Debug, Clone, Copy)]
pub struct SqlLogs<'a> {
    /// About the objects that compute the columns.
    pub applied: &'a MessageLog,
    /// About all objects that could set a column of these names, also if they are invalid.
    pub tried: &'a MessageLog,
}

/// Makes the table of the events of a request.
pub type OpenEvents<'a> = &'a (dyn Fn(EventsRequest) -> Arc<dyn TableProvider> + Send + Sync);

/// Columns that always have the stored value: SQL needs times, and prunes by them.
const TIMES: [&str; 2] = [columns::TIME, columns::INDEX_TIME];

/// Returns the events of a request, whose fields are the columns of `SELECT *`, as a table with those of the
/// named columns that knowledge objects compute; `None` if they compute none of them. The columns depend on
/// the source types of all events of the indexes, not on the time range. Objects that are skipped because of
/// a mistake are reported to the logs.
///
/// # Errors
/// If the columns cannot be planned, or the source cannot be asked.
pub async fn sql_table(
    context: &PlanContext,
    logs: SqlLogs<'_>,
    request: &EventsRequest,
    asked: &SqlColumns,
    open: OpenEvents<'_>,
) -> Result<Option<Arc<dyn TableProvider>>, Error> {
    let tried = PlanningContext::new(context, logs.tried, None, &PIPELINES);
    let found = Box::pin(computed(&tried, request, asked));
    let computed = context.planning.counted(found).await?;
    if computed.is_empty() {
        return Ok(None);
    }
    let env = PlanningContext::new(context, logs.applied, None, &PIPELINES);
    let planned = Box::pin(planned(&env, request, (asked, computed.as_slice()), open));
    Ok(Some(context.planning.counted(planned).await?))
}

/// Returns the columns of the query that objects compute.
async fn computed(
    env: &PlanningContext<'_>,
    request: &EventsRequest,
    asked: &SqlColumns,
) -> Result<Vec<String>, Error> {
    let named = asked.names.iter().filter(|name| !TIMES.contains(&name.as_str())).cloned();
    let names: Vec<String> = named.collect();
    // Lookups whose output is not listed would be opened for a query without columns, too.
    if names.is_empty() {
        return Ok(names);
    }
    let mut all = RequiredFields { names: names.clone(), ..RequiredFields::default() };
    let read = Events { indexes: &request.indexes, range: &TimeRange::ALL, filter: None };
    let set = Box::pin(Enrichment::of(&mut all, read, env)).await?.fields(env);
    let set: HashSet<String> = set.into_iter().collect();
    Ok(names.into_iter().filter(|name| set.contains(name)).collect())
}

async fn planned(
    env: &PlanningContext<'_>,
    request: &EventsRequest,
    (asked, computed): (&SqlColumns, &[String]),
    open: OpenEvents<'_>,
) -> Result<Arc<dyn TableProvider>, Error> {
    let read = Events { indexes: &request.indexes, range: &TimeRange::ALL, filter: None };
    // The columns of the query that are not computed would be read as fields, too.
    let mut required = RequiredFields { names: computed.to_vec(), ..RequiredFields::default() };
    let enrichment = Box::pin(Enrichment::of(&mut required, read, env)).await?;
    let mut request = request.clone();
    if let Some(words) = &asked.words {
        // Plans over all fields of a large index take hundreds of megabytes.
        let by_objects: HashSet<&String> = required.names.iter().collect();
        let is_needed = |name: &String| words.contains(name) || by_objects.contains(name);
        request.fields.retain(|field| is_needed(&field.name));
    }
    let (scan, fields) = scanned(env, &request, &required, &enrichment, open)?;
    let scan = narrowed(scan, &fields, asked, &enrichment, env)?;
    let mut frame = Frame::of_table(scan, TABLE, fields, Vec::new())?;
    frame.open = true;
    let listed = listed(&request, computed);
    let unchanged = stored(&frame, &listed, computed, &enrichment.fields(env));
    let values = unchanged.iter().map(|(name, _)| ("stored", column(name))).collect();
    let (mut frame, hidden) = frame.with_hidden(values)?;
    let wants_original = required.names.iter().any(|name| name == ORIGINAL);
    frame = Renames::of(&env.context.knowledge).apply(frame, wants_original)?;
    frame = enrichment.apply(frame, env)?;
    let kept: HashMap<&String, Typed> = unchanged
        .iter()
        .zip(&hidden)
        .map(|((name, kind), hidden)| (name, Typed::column(hidden, *kind)))
        .collect();
    let outputs = listed.iter().map(|name| {
        let value = kept.get(name).cloned().unwrap_or_else(|| as_text(frame.field(name)));
        (name.clone(), value)
    });
    let outputs: Vec<(String, Typed)> = outputs.collect();
    let frame = frame.without_hidden(&hidden).project(outputs)?;
    depth::check_sql(frame.plan(), env.context.limits.plan_depth)?;
    Ok(Arc::new(ViewTable::new(frame.plan().clone(), None)))
}

/// Returns the columns that show stored values although objects may set them, with their types: the times,
/// the source type, which may be renamed, and what objects set beside the columns that the query names.
fn stored(
    frame: &Frame,
    listed: &[String],
    computed: &[String],
    set: &[String],
) -> Vec<(String, ValueType)> {
    let set: HashSet<&str> = set.iter().map(String::as_str).collect();
    let always = [columns::TIME, columns::INDEX_TIME, columns::SOURCETYPE];
    let is_stored = |name: &String| {
        let may_change = always.contains(&name.as_str()) || set.contains(name.as_str());
        may_change && !computed.contains(name)
    };
    let names = listed.iter().filter(|name| is_stored(name));
    names.map(|name| (name.clone(), frame.field(name).kind)).collect()
}

/// Returns the events with the fields of the request and those that the objects read, and their columns.
fn scanned(
    env: &PlanningContext<'_>,
    request: &EventsRequest,
    required: &RequiredFields,
    enrichment: &Enrichment,
    open: OpenEvents<'_>,
) -> Result<(LogicalPlan, Vec<FrameColumn>), Error> {
    let mut request = request.clone();
    let mut known: HashSet<String> =
        request.fields.iter().map(|field| field.name.clone()).collect();
    known.extend(columns::ALL.map(str::to_owned));
    known.extend([ORIGINAL.to_owned(), String::new()]);
    for name in required.names.iter().filter(|name| !name.starts_with("__")) {
        if known.insert(name.clone()) {
            // As in a search: an array element that no event is known to have may have several values.
            let multivalue = name.contains("{}");
            request.fields.push(SourceField { name: name.clone(), multivalue });
        }
    }
    request.sourcetypes = enrichment.sourcetypes();
    let mut columns: Vec<FrameColumn> = FIXED
        .iter()
        .map(|(name, kind)| FrameColumn { name: (*name).to_owned(), kind: *kind })
        .collect();
    columns.extend(request.fields.iter().map(|field| FrameColumn {
        name: field.name.clone(),
        kind: if field.multivalue { ValueType::Multi } else { ValueType::Text },
    }));
    let table = env.context.restriction.table(open(request))?;
    let name = TableReference::bare(TABLE);
    let scan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
    Ok((scan, columns))
}

/// Adds conditions on stored fields that every event satisfies whose computed columns have the texts that the
/// query asks for: buckets are pruned as in a search (docs/decisions/0031-filters-on-computed-fields.md).
fn narrowed(
    mut scan: LogicalPlan,
    columns: &[FrameColumn],
    asked: &SqlColumns,
    enrichment: &Enrichment,
    env: &PlanningContext<'_>,
) -> Result<LogicalPlan, Error> {
    let renames = Renames::of(&env.context.knowledge);
    let shape = Frame::new(scan.clone(), columns.to_vec());
    let conditions: Vec<SearchExpr> = asked
        .texts
        .iter()
        .filter_map(|(name, texts)| filter_of(name, texts))
        .filter(|filter| enrichment.sets(filter))
        .filter_map(|filter| enrichment.narrowed(&filter))
        .map(|filter| renames.stored(&filter))
        .collect();
    let scope = env.scope(&shape);
    let compiled = conditions.iter().map(|filter| predicate::compile_search(filter, &scope));
    let compiled = compiled.collect::<Result<Vec<_>, _>>()?;
    if let Some(condition) = predicate::balanced(Operator::And, compiled) {
        scan = filter_scan(scan, condition)?;
    }
    Ok(scan)
}

/// Returns a filter of searches that holds for a field with one of these texts. Numbers are left out: a
/// search compares them as numbers, and a text that SQL compares may be rounded.
fn filter_of(name: &str, texts: &[String]) -> Option<SearchExpr> {
    let is_word = |text: &String| !text.is_empty() && text.trim().parse::<f64>().is_err();
    if texts.is_empty() || !texts.iter().all(is_word) {
        return None;
    }
    let span = Span::default();
    let value = |text: &String| SearchValue {
        pattern: SearchPattern::literal(text.clone()),
        quoted: true,
        span,
    };
    Some(SearchExpr::In(SearchIn {
        field: Spanned::new(name.to_owned(), span),
        values: texts.iter().map(value).collect(),
        negated: false,
        span,
    }))
}

/// The columns of the table: those of `SELECT *` without computed ones, and the computed ones.
fn listed(request: &EventsRequest, computed: &[String]) -> Vec<String> {
    let mut names = Vec::from(columns::ALL.map(str::to_owned));
    names.extend(request.fields.iter().map(|field| field.name.clone()));
    let known: HashSet<&String> = names.iter().collect();
    let new: Vec<String> = computed.iter().filter(|name| !known.contains(name)).cloned().collect();
    names.extend(new);
    names
}

/// Every column besides the times is a text or a list of texts, also if all expressions for it are numbers.
fn as_text(value: Typed) -> Typed {
    match value.kind {
        ValueType::Text | ValueType::Multi | ValueType::Null => value,
        _ => value.to(ValueType::Text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_are_asked_of_stored_fields() {
        let asks = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            filter_of("action", &texts).map(|filter| filter.to_string())
        };
        assert!(asks(&["success", "failure"]).is_some_and(|filter| filter.contains("failure")));
        let others: [&[&str]; 7] =
            [&["200"], &["1e3"], &["nan"], &[" 5 "], &[""], &["success", "7"], &[]];
        for texts in others {
            assert_eq!(asks(texts), None, "{texts:?}");
        }
    }
}
