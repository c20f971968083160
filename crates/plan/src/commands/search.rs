//! `search`: reads events as the first command, filters rows as a later one.
//!
//! Split: the filter runs where events are, pruned by the term index; nothing is left to the
//! search head.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::{ScalarValue, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, Operator, lit};
use exprs::required_fields::wildcard;
use exprs::types::ValueType;
use exprs::{by_origin, predicate};
use frames::restriction::Stored;
use frames::scan::{TABLE, conjuncts, filter_scan};
use frames::{Frame, FrameColumn, column};
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, columns};
use spl::ast::{Command, SearchCommand, SearchExpr, Spanned};

use super::required::{choose_fields, required_by};
use super::{
    Begin, CommandPlan, First, Input, OutputFields, Place, RequiredFields, Step,
    enrich::{Enrichment, Events, may_set_sourcetype, with_local_server},
    summary,
};
use crate::arguments::Arguments;
use crate::{Error, EventsRequest, FieldInfo, PlanContext, SourceField};
use context::event_types;
use context::indexes;
use context::planning::{PlanningContext, SourceRows};
use context::range::{Bounds, bounds, with_windows};
use context::renames::{ORIGINAL, Renames};
use context::sql::events::{conditions, events as sql_events};
use context::sql::{Layer, NO_EQUIVALENT, Reason, SqlText};
use context::stanzas::Sourcetypes;

impl CommandPlan for SearchCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        self.expr.iter().for_each(|expr| fields.search(expr));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.pipeline, first.env).await.map(Begin::Rows) })
    }

    fn event_filter(&self) -> Option<&SearchExpr> {
        self.expr.as_ref()
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        filter(self, input.frame, input.env).map(Step::Next)
    }

    fn sql_source(&self, text: &mut SqlText) -> Result<Layer, Reason> {
        sql_events(self, text)
    }

    fn sql(&self, layer: Layer, _: &mut SqlText) -> Result<Layer, Reason> {
        match self.time.is_empty() {
            true => conditions(self.expr.as_ref(), layer.unlimited()?),
            false => Err(NO_EQUIVALENT.to_owned()),
        }
    }

    fn outline(&self, written: &str) -> Arguments {
        Arguments::Search(written.to_owned())
    }
}

/// The columns of every event, in their display order.
pub(crate) const FIXED: [(&str, ValueType); 7] = [
    (columns::TIME, ValueType::Time),
    (columns::RAW, ValueType::Text),
    (columns::HOST, ValueType::Text),
    (columns::SOURCE, ValueType::Text),
    (columns::SOURCETYPE, ValueType::Text),
    (columns::INDEX, ValueType::Text),
    (columns::INDEX_TIME, ValueType::Time),
];

/// Plans the events that a search reads.
pub(super) async fn start(
    search: &SearchCommand,
    pipeline: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let messages = indexes::unread(search.expr.as_ref(), env.context);
    let search = expanded(search, env)?;
    let indexes = indexes::select(search.expr.as_ref(), env.context);
    let bounds = bounds(&search, env.context)?;
    let mut required = required_by(pipeline.get(1..).unwrap_or_default());
    search.expr.iter().for_each(|expr| required.search(expr));
    if !choose_fields(pipeline.get(1..).unwrap_or_default()) {
        // Indexed fields are shown with the events.
        required.name(columns::FIELDS);
    }
    let frame = events(&search, &indexes, bounds, required, env).await?;
    Ok(SourceRows { frame, range: bounds.time, indexes, messages })
}

/// Returns the filter with event types, tags, `splunk_server=local` and time ranges of branches expanded.
pub(super) fn expanded(
    search: &SearchCommand,
    env: &PlanningContext<'_>,
) -> Result<SearchCommand, Error> {
    let expand = |expr| event_types::expand(expr, env).map(|expr| with_local_server(expr, env));
    let expr = search.expr.as_ref().map(expand).transpose()?;
    with_windows(SearchCommand { expr, time: search.time.clone() }, env.context)
}

/// Plans the events of indexes that satisfy a filter, with the required fields. Event types and tags in the
/// filter are expanded.
pub(super) async fn events(
    search: &SearchCommand,
    indexes: &[IndexName],
    bounds: Bounds,
    mut required: RequiredFields,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let time = env.context.restriction.hold(bounds.time, env.context.now, env.log);
    let bounds = Bounds { time, ..bounds };
    let (fewer, there) = without_other_types(search, indexes, &bounds.time, env).await?;
    let search = fewer.as_ref().unwrap_or(search);
    let read = Events { indexes, range: &bounds.time, filter: search.expr.as_ref() };
    let named = required.clone();
    let enrichment = Box::pin(Enrichment::of(&mut required, read, env)).await?;
    let fields = source_fields(&required, indexes, &bounds.time, env).await?;
    let sourcetypes = there.or_else(|| enrichment.sourcetypes());
    let (indexes, range) = (indexes.to_vec(), bounds.time);
    let request = EventsRequest { indexes, range, fields, sourcetypes };
    let table = env.context.source.events(&request)?;
    let name = TableReference::bare(TABLE);
    let mut plan = LogicalPlanBuilder::scan(name, provider_as_source(table), None)?.build()?;
    for condition in time_filters(bounds) {
        plan = filter_scan(plan, condition)?;
    }
    let mut columns: Vec<FrameColumn> = FIXED
        .iter()
        .map(|(name, kind)| FrameColumn { name: (*name).to_owned(), kind: *kind })
        .collect();
    let at = columns.len() - 1;
    columns.splice(
        at..at,
        request.fields.into_iter().map(|field| FrameColumn {
            kind: if field.multivalue { ValueType::Multi } else { ValueType::Text },
            name: field.name,
        }),
    );
    let renames = Renames::of(&env.context.knowledge);
    // The restriction applies to stored source types, as users can change the displayed ones (`rename` in
    // their own props.conf).
    for expr in conjuncts(env.context.restriction.filter.as_ref()) {
        plan = filter_scan(plan, predicate::compile_search(expr, &Stored::default())?)?;
    }
    let order = vec![(columns::TIME, true), (columns::INDEX_TIME, true)];
    // Conditions on stored fields stay directly above the scan, which prunes by them. Conditions on stored
    // fields that are derived from the other conditions are added to them.
    let (late, early): (Vec<_>, Vec<_>) =
        conjuncts(search.expr.as_ref()).into_iter().partition(|expr| enrichment.sets(expr));
    let shape = Frame::new(plan.clone(), columns.clone());
    let narrowed: Vec<_> = late.iter().filter_map(|expr| enrichment.narrowed(expr)).collect();
    let early = early.into_iter().chain(&narrowed);
    let early: Vec<SearchExpr> = early.map(|expr| renames.stored(expr)).collect();
    if let Some(condition) = all_of(early.iter().collect(), &shape, env)? {
        plan = filter_scan(plan, condition)?;
    }
    let mut frame = Frame::of_table(plan, TABLE, columns, order)?.unordered();
    frame.open = true;
    frame = renames.apply(frame, required.names.iter().any(|name| name == ORIGINAL))?;
    frame = enrichment.apply_marked(search.expr.as_ref(), &named, frame, env)?;
    let fixed = |name: &String| FIXED.iter().any(|(known, _)| known == name);
    let possible: Vec<String> = frame.names().into_iter().filter(|name| !fixed(name)).collect();
    frame = frame.if_present(possible);
    // One filter per condition, so that each can be pushed below lookups and calculated fields independently.
    let scope = env.scope(&frame);
    let late = late.into_iter().map(|expr| {
        predicate::compile_search(expr, &scope)
            .map(|condition| by_origin::filter(condition, &scope))
    });
    let late = late.collect::<Result<Vec<_>, _>>()?;
    if let Some(condition) = predicate::balanced(Operator::And, late) {
        frame = frame.filter(condition)?;
    }
    Ok(frame)
}

/// Minimum number of source type comparisons in a filter for which alternatives of absent source types are
/// removed.
const MANY_TYPES: usize = 8;

/// Removes alternatives for source types that no event has from the filter; also returns the source types for
/// which the result is valid. In an installation with many add-ons, a tag expands to hundreds of
/// alternatives.
async fn without_other_types(
    search: &SearchCommand,
    indexes: &[IndexName],
    range: &TimeRange,
    env: &PlanningContext<'_>,
) -> Result<(Option<SearchCommand>, Option<Arc<HashSet<String>>>), Error> {
    let Some(expr) = search.expr.as_ref().filter(|expr| compared_types(expr) >= MANY_TYPES) else {
        return Ok((None, None));
    };
    if may_set_sourcetype(env) {
        return Ok((None, None));
    }
    let Some(there) = env.context.source.sourcetypes(indexes, range).await? else {
        return Ok((None, None));
    };
    let renames = Renames::of(&env.context.knowledge);
    let shown = Sourcetypes::new(there.iter().map(|name| renames.shown(name.clone())).collect());
    let Some(expr) = shown.without_others(expr) else { return Ok((None, None)) };
    Ok((Some(SearchCommand { expr: Some(expr), ..search.clone() }), Some(Arc::new(there))))
}

fn compared_types(expr: &SearchExpr) -> usize {
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => {
            members.iter().map(compared_types).sum()
        }
        SearchExpr::Not(inner, _) => compared_types(inner),
        SearchExpr::Comparison(comparison) => {
            usize::from(comparison.field.node == columns::SOURCETYPE)
        }
        _ => 0,
    }
}

/// Combines conditions into one expression: a separate filter for each would make the plan as deep as their
/// number.
fn all_of(
    conditions: Vec<&SearchExpr>,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Result<Option<Expr>, Error> {
    let scope = env.scope(frame);
    let compiled = conditions.into_iter().map(|expr| predicate::compile_search(expr, &scope));
    Ok(predicate::balanced(Operator::And, compiled.collect::<Result<_, _>>()?))
}

/// Returns the rows that satisfy the terms.
pub(super) fn filter(
    search: &SearchCommand,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    // Events were read in the range of `_indextime` of the request, and other rows have no `_indextime`: only
    // the modifiers of this command bound it.
    let context = if env.context.index_range == TimeRange::ALL {
        Cow::Borrowed(env.context)
    } else {
        Cow::Owned(PlanContext { index_range: TimeRange::ALL, ..env.context.clone() })
    };
    let mut search = with_windows(search.clone(), &context)?;
    if let Some(expr) = search.expr.take() {
        let expr = with_local_server(expr, env);
        let condition = predicate::compile_search(&expr, &env.scope(&frame))?;
        frame = frame.filter(condition)?;
    }
    if !search.time.is_empty() && frame.kind(columns::TIME).is_some() {
        let mut bounds = bounds(&search, &context)?;
        bounds.time = bounds.time.intersect(&context.range);
        let conditions = bounded(bounds, |name| frame.field(name).to(ValueType::Time).expr);
        for condition in conditions {
            frame = frame.filter(condition)?;
        }
    }
    Ok(frame)
}

/// The finite bounds as conditions on the fields of events.
pub(super) fn time_filters(bounds: Bounds) -> Vec<Expr> {
    bounded(bounds, column)
}

fn bounded(bounds: Bounds, time: impl Fn(&str) -> Expr) -> Vec<Expr> {
    let mut conditions = Vec::new();
    for (name, range) in [(columns::TIME, bounds.time), (columns::INDEX_TIME, bounds.index_time)] {
        let literal =
            |micros: i64| lit(ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into())));
        if range.earliest != TimeRange::ALL.earliest {
            conditions.push(time(name).gt_eq(literal(range.earliest.0)));
        }
        if range.latest != TimeRange::ALL.latest {
            conditions.push(time(name).lt(literal(range.latest.0)));
        }
    }
    conditions
}

/// Returns the required fields of the source, with wildcards resolved.
async fn source_fields(
    required: &RequiredFields,
    indexes: &[IndexName],
    range: &TimeRange,
    env: &PlanningContext<'_>,
) -> Result<Vec<SourceField>, Error> {
    let fixed = |name: &str| name == ORIGINAL || FIXED.iter().any(|(known, _)| *known == name);
    let wanted = |name: &&String| !fixed(name) && !name.starts_with("__") && !name.is_empty();
    let names: Vec<&String> = required.names.iter().filter(wanted).collect();
    if names.is_empty() && required.patterns.is_empty() && !required.merges {
        return Ok(Vec::new());
    }
    let source = &env.context.source;
    // All field names are listed only if necessary, as that takes long over many buckets. An array element
    // (`a{}.b`) needs it, too: if it is unknown, it is treated as multivalue.
    let is_plain = required.patterns.is_empty() && names.iter().all(|name| !name.contains("{}"));
    if is_plain && !(required.merges && source.has_summary_rows(indexes, range).await?) {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let asked: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        let several = source.several(&asked, indexes, range).await?;
        let field = |name: &String| {
            let multivalue = several.contains(name);
            SourceField { name: name.clone(), multivalue }
        };
        return Ok(names.into_iter().map(field).collect());
    }
    let mut known = source.fields(indexes, range).await?;
    known.sort_by(|a, b| a.name.cmp(&b.name));
    let several = |name: &str| {
        let found = known.binary_search_by(|field| field.name.as_str().cmp(name));
        found.map_or(name.contains("{}"), |at| known[at].multivalue)
    };
    let mut fields: Vec<SourceField> = Vec::new();
    for name in &names {
        fields.push(SourceField { name: (*name).clone(), multivalue: several(name) });
    }
    let named: HashSet<&String> = names.into_iter().collect();
    // Rows of summary indexes have fields that no command names.
    let summed = required.merges && known.iter().any(|field| field.name == summary::VERSION);
    let meant = |info: &&FieldInfo| {
        let part = summed && summary::is_part(&info.name);
        wanted(&&info.name)
            && (part || required.patterns.iter().any(|pattern| wildcard(pattern, &info.name)))
    };
    for info in known.iter().filter(meant) {
        if !named.contains(&info.name) {
            fields.push(SourceField { name: info.name.clone(), multivalue: info.multivalue });
        }
    }
    Ok(fields)
}
