//! Datasets of data models as commands over events: `datamodel`, `from`, and `tstats from datamodel=`.
//!
//! A dataset expands to a search with its constraints and the commands that compute its fields. Conditions on
//! fields that events already have are added to this search, so that they prune buckets; the others follow as
//! a filter. There are no acceleration summaries: the field columns and the term index of the buckets serve
//! this purpose. So `summariesonly=` and similar options have no effect.

use frames::Frame;
use knowledge::{Calculation, DataModel, Dataset};
use serde_json::Value;
use spl::ast::{
    BinCommand, BinOptions, Command, ComparisonOperator, DatamodelCommand, DatamodelMode,
    FieldPattern, FillnullCommand, FromCommand, FromKind, InputlookupCommand, MultisearchCommand,
    Pipeline, Rename, RenameCommand, SavedsearchCommand, SearchCommand, SearchComparison,
    SearchExpr, SearchIn, SearchPattern, SearchValue, Spanned, StatsBy, StatsCommand, Subsearch,
    TstatsCommand,
};
use spl::{CommandKind, Span};

use super::Expanded;
use crate::{Error, Rows};
use context::planning::{PlanningContext, SourceRows};
use context::subsearch;

type Commands = Vec<Spanned<Command>>;

/// The field with the name of a dataset, with those of its ancestors.
const NODENAME: &str = "nodename";
/// The message about `PREFIX()` where fields are read instead of words.
pub(super) const PREFIX_ALONE: &str = "PREFIX() counts words of events: it cannot be combined with FROM, \
                                       prestats= or span=auto";

/// Finds the dataset of a name such as `Web` or `Web.Proxy`.
pub(super) fn find(
    model: &str,
    dataset: Option<&str>,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Dataset, Error> {
    let model = model_of(model, span, env)?;
    let found = model.dataset(dataset).cloned();
    found.ok_or_else(|| {
        let names: Vec<&str> = model.datasets.iter().map(|d| d.name.as_str()).collect();
        let message = format!(
            "the data model \"{}\" has no dataset \"{}\"; it has {}",
            model.name,
            dataset.unwrap_or_default(),
            names.join(", ")
        );
        Error::at(message, span)
    })
}

fn model_of(name: &str, span: Span, env: &PlanningContext<'_>) -> Result<DataModel, Error> {
    env.context.knowledge.data_model(name).map_err(|error| Error::at(error, span))
}

/// Returns the commands that read the events of a dataset that satisfy a filter, with its fields. With
/// `prefixed`, field names are prefixed with the name of the dataset.
pub(super) async fn commands(
    dataset: &Dataset,
    filter: &SearchCommand,
    prefixed: bool,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Commands, Error> {
    let at = |command: Command| Spanned::new(command, span);
    if let Some(search) = &dataset.base_search {
        let mut commands = parsed(search, span, env).await?;
        // Those of children: a dataset with a search has no others.
        for constraint in &dataset.constraints {
            let Some(expr) = terms(constraint, span, env)? else { continue };
            let search = SearchCommand { expr: Some(expr), time: Vec::new() };
            commands.push(at(Command::Search(search)));
        }
        add_fields(&mut commands, dataset, prefixed, span, env).await?;
        if filter.expr.is_some() {
            commands.push(at(Command::Search(filter.clone())));
        }
        return Ok(commands);
    }
    let mut all = Vec::new();
    for constraint in &dataset.constraints {
        all.extend(terms(constraint, span, env)?);
    }
    let mut late = Vec::new();
    for member in conjuncts(filter.expr.as_ref()) {
        let mut reads = exprs::required_fields::RequiredFields::default();
        reads.search(&member);
        let field = |name: &String| dataset.field(name);
        if reads.names.iter().filter_map(field).any(|field| field.calculated) {
            late.push(member);
        } else {
            all.push(renamed(&member, dataset));
        }
    }
    let search = SearchCommand { expr: joined(all), time: filter.time.clone() };
    let mut commands = vec![at(Command::Search(search))];
    add_fields(&mut commands, dataset, prefixed, span, env).await?;
    if let Some(expr) = joined(late) {
        let search = SearchCommand { expr: Some(expr), time: Vec::new() };
        commands.push(at(Command::Search(search)));
    }
    Ok(commands)
}

/// Adds the commands that compute the fields of a dataset and give them their names in it.
async fn add_fields(
    commands: &mut Commands,
    dataset: &Dataset,
    prefixed: bool,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<(), Error> {
    for calculation in &dataset.calculations {
        let text = match calculation {
            Calculation::Eval { field, expression } => {
                format!("search * | eval {}={expression}", subsearch::quoted(field))
            }
            Calculation::Rex { input, expression } => {
                let (input, expression) = (subsearch::quoted(input), subsearch::quoted(expression));
                format!("search * | rex field={input} {expression}")
            }
            Calculation::Lookup(arguments) => format!("search * | lookup {arguments}"),
        };
        commands.extend(parsed(&text, span, env).await?.into_iter().skip(1));
    }
    if !prefixed {
        return Ok(());
    }
    let renames: Vec<Rename> = dataset
        .fields
        .iter()
        .filter(|field| field.full_name() != field.name)
        .map(|field| Rename {
            from: FieldPattern::new(&field.name, span),
            to: FieldPattern::new(field.full_name(), span),
        })
        .collect();
    if !renames.is_empty() {
        commands.push(Spanned::new(Command::Rename(RenameCommand { renames }), span));
    }
    Ok(())
}

/// Parses the commands in a text of the configuration.
pub(super) async fn parsed(
    text: &str,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Commands, Error> {
    let parsed = subsearch::parse_placed(text, Some(span), env.subsearches(), env);
    let Pipeline { commands } = parsed.await.map_err(|error| {
        Error::at(format!("the data model has an invalid search: {error}: {text}"), span)
    })?;
    Ok(commands)
}

/// Parses the terms of a constraint.
fn terms(text: &str, span: Span, env: &PlanningContext<'_>) -> Result<Option<SearchExpr>, Error> {
    let macros = context::macros::Macros::of(&env.context.knowledge);
    let options = spl::ParseOptions { macros: Some(&macros), ..spl::ParseOptions::default() };
    let text = text.trim().strip_prefix("search ").unwrap_or(text);
    let parsed = spl::parse_search_terms_with(text, &options);
    let parsed = parsed.map_err(|error| {
        Error::at(format!("the data model has an invalid constraint: {error}: {text}"), span)
    })?;
    Ok(parsed.expr)
}

fn conjuncts(expr: Option<&SearchExpr>) -> Vec<SearchExpr> {
    match expr {
        None => Vec::new(),
        Some(SearchExpr::And(members)) => members.clone(),
        Some(other) => vec![other.clone()],
    }
}

fn joined(mut members: Vec<SearchExpr>) -> Option<SearchExpr> {
    match members.len() {
        0 | 1 => members.pop(),
        _ => Some(SearchExpr::And(members)),
    }
}

/// Returns a filter with the names that the fields have in events.
fn renamed(expr: &SearchExpr, dataset: &Dataset) -> SearchExpr {
    let mut renamed = expr.clone();
    renamed.walk_mut(&mut |part| {
        if let SearchExpr::Comparison(SearchComparison { field, .. })
        | SearchExpr::Cased(SearchComparison { field, .. })
        | SearchExpr::In(SearchIn { field, .. }) = part
            && let Some(known) = dataset.field(&field.node)
        {
            field.node.clone_from(&known.name);
        }
    });
    renamed
}

/// Returns the commands that `from` expands to.
pub(super) async fn expand_from(
    command: &FromCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let name = command.name.clone();
    let commands = match command.kind {
        FromKind::Datamodel => {
            let (model, dataset) = split(&name.node);
            let dataset = find(model, dataset, name.span, env)?;
            commands(&dataset, &SearchCommand::default(), false, span, env).await?
        }
        FromKind::Lookup => {
            let lookup = InputlookupCommand {
                name,
                append: false,
                strict: true,
                start: 0,
                max: None,
                filter: None,
            };
            vec![Spanned::new(Command::Inputlookup(lookup), span)]
        }
        FromKind::Savedsearch => {
            let saved = SavedsearchCommand { name, nosubstitution: false, arguments: Vec::new() };
            vec![Spanned::new(Command::Savedsearch(saved), span)]
        }
        FromKind::Index => {
            let span = name.span;
            let comparison = SearchComparison {
                field: Spanned::new("index".to_owned(), span),
                operator: ComparisonOperator::Equal,
                value: SearchValue {
                    pattern: SearchPattern::literal(name.node),
                    quoted: true,
                    span,
                },
                span,
            };
            let expr = Some(SearchExpr::Comparison(comparison));
            let search = SearchCommand { expr, time: Vec::new() };
            vec![Spanned::new(Command::Search(search), span)]
        }
    };
    Ok(Expanded::of(commands, env))
}

/// Splits `Web.Proxy` into the model and the dataset.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.split_once('.') {
        Some((model, dataset)) => (model, Some(dataset)),
        None => (name, None),
    }
}

/// Returns the commands that `datamodel ... search` expands to; `None` if it only describes the model.
pub(super) async fn expand_datamodel(
    command: &DatamodelCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Option<Expanded>, Error> {
    let (Some(model), Some(dataset), Some(mode)) = (&command.model, &command.dataset, command.mode)
    else {
        return Ok(None);
    };
    let dataset = find(&model.node, Some(&dataset.node), dataset.span, env)?;
    let prefixed = mode != DatamodelMode::Flat;
    let commands = commands(&dataset, &SearchCommand::default(), prefixed, span, env).await?;
    Ok(Some(Expanded::of(commands, env)))
}

/// Returns the descriptions of data models.
pub(super) fn describe(
    command: &DatamodelCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let knowledge = &env.context.knowledge;
    let mut texts = Vec::new();
    match (&command.model, &command.dataset) {
        (None, _) => {
            for name in knowledge.data_model_names() {
                texts.push(knowledge.data_model(&name).map_err(Error::invalid_anywhere)?.json);
            }
        }
        (Some(model), None) => texts.push(model_of(&model.node, model.span, env)?.json),
        (Some(model), Some(dataset)) => {
            find(&model.node, Some(&dataset.node), dataset.span, env)?;
            let model = model_of(&model.node, model.span, env)?;
            let json: Value = serde_json::from_str(&model.json).unwrap_or_default();
            let objects = json["objects"].as_array().cloned().unwrap_or_default();
            let last = dataset.node.rsplit('.').next().unwrap_or_default();
            let found = objects.into_iter().find(|object| object["objectName"] == last);
            texts.extend(found.map(|object| object.to_string()));
        }
    }
    let mut rows = Rows::blank(texts.len());
    rows.set_texts("_raw", texts.iter().map(Some));
    let frame = Frame::of_rows(rows)?;
    let range = env.context.range;
    Ok(SourceRows { frame, range, indexes: Vec::new(), messages: Vec::new() })
}

/// Returns the commands that `tstats` expands to if it searches a data model or chooses its span, which
/// depends on the times of the events; `None` if it aggregates events directly. With `prestats=`, the
/// expansion has no aggregation: the next command aggregates the events.
pub(super) async fn expand_tstats(
    command: &TstatsCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Option<Expanded>, Error> {
    let by = &command.by;
    if command.datamodel.is_none() && !command.prestats && !by.auto_span {
        return Ok(None);
    }
    if super::tokens::has_any(command) {
        return Err(Error::at(PREFIX_ALONE, span));
    }
    let at = |command: Command| Spanned::new(command, span);
    let mut commands = match &command.datamodel {
        None => vec![at(Command::Search(command.filter.clone()))],
        Some(name) => {
            let (model, named) = split(&name.node);
            let mut dataset = find(model, named, name.span, env)?;
            let from = (model, named.is_some(), span);
            let (filter, is_chosen) = narrowed(&command.filter, from, &mut dataset, env)?;
            let within = is_chosen.then_some(&dataset);
            match command.by.fields.iter().any(|field| field.text == NODENAME) {
                true => by_node((model, within), &filter, span, env).await?,
                false => commands(&dataset, &filter, true, span, env).await?,
            }
        }
    };
    if let Some(text) = &command.fillnull_value {
        // Every event has a time, and a fill value (a text) would turn `_time` into a text field.
        let is_filled = |field: &&FieldPattern| field.text != "_time";
        let fields: Vec<_> = command.by.fields.iter().filter(is_filled).cloned().collect();
        if !fields.is_empty() {
            let fillnull = FillnullCommand { value: text.clone(), fields };
            commands.push(at(Command::Fillnull(fillnull)));
        }
    }
    if by.has_span() {
        let bin = BinCommand {
            field: Spanned::new("_time".to_owned(), span),
            alias: None,
            bins: BinOptions { span: by.span.clone(), ..BinOptions::default() },
        };
        commands.push(at(Command::Bin(bin)));
    }
    if !command.prestats {
        let by = StatsBy { span: None, auto_span: false, ..by.clone() };
        let stats = StatsCommand { calls: command.calls.clone(), by, ..StatsCommand::default() };
        commands.push(at(Command::Stats(stats)));
    }
    Ok(Some(Expanded::of(commands, env)))
}

/// Returns the commands that read the events of a dataset and those of each of its descendants (without a
/// dataset, of all datasets of the model), with the name of the dataset in `nodename`: an event of a child is
/// also one of its parent.
async fn by_node(
    (model, within): (&str, Option<&Dataset>),
    filter: &SearchCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Commands, Error> {
    let model = model_of(model, span, env)?;
    let is_in = |one: &&Dataset| match within {
        Some(dataset) => one.lineage.starts_with(&dataset.lineage),
        None => !one.transaction,
    };
    let nodes: Vec<&Dataset> = model.datasets.iter().filter(is_in).collect();
    if nodes.is_empty() {
        let message = format!(
            "the data model \"{}\" has only transactions, which are not supported",
            model.name
        );
        return Err(Error::at(message, span));
    }
    let mut searches = Vec::new();
    for node in &nodes {
        let mut read = commands(node, filter, true, span, env).await?;
        let name = node.lineage.join(".");
        let collects =
            |command: &&Spanned<Command>| command.node.definition().kind != CommandKind::Streaming;
        if nodes.len() > 1
            && let Some(other) = read.iter().skip(1).find(collects)
        {
            let message = format!(
                "BY nodename requires streaming commands if it reads several datasets: the search of the \
                 dataset \"{name}\" has the command {}; choose other datasets in FROM",
                other.node.name()
            );
            return Err(Error::at(message, span));
        }
        let name = subsearch::quoted(&name);
        let text = format!("search * | eval {NODENAME}={name}");
        read.extend(parsed(&text, span, env).await?.into_iter().skip(1));
        searches.push(Subsearch { pipeline: Box::new(Pipeline { commands: read }), span });
    }
    match <[Subsearch; 1]>::try_from(searches) {
        Ok([only]) => Ok(only.pipeline.commands),
        Err(searches) => {
            let merged = MultisearchCommand { searches };
            Ok(vec![Spanned::new(Command::Multisearch(merged), span)])
        }
    }
}

/// Removes `nodename=` from the filter; the dataset becomes the one that it names. If FROM names a dataset,
/// too, events are searched that are in both: those of the lower one. Returns the rest of the filter, and
/// whether any of them names a dataset.
fn narrowed(
    filter: &SearchCommand,
    (model, mut is_chosen, span): (&str, bool, Span),
    dataset: &mut Dataset,
    env: &PlanningContext<'_>,
) -> Result<(SearchCommand, bool), Error> {
    let mut rest = Vec::new();
    for member in conjuncts(filter.expr.as_ref()) {
        let mut reads = exprs::required_fields::RequiredFields::default();
        reads.search(&member);
        if !reads.names.iter().any(|name| name == NODENAME) {
            rest.push(member);
            continue;
        }
        let SearchExpr::Comparison(SearchComparison {
            operator: ComparisonOperator::Equal,
            value,
            span,
            ..
        }) = &member
        else {
            let message = "nodename in WHERE chooses one dataset: write nodename=<dataset> outside of OR and \
                           NOT, or BY nodename and a where command for its rows";
            return Err(Error::at(message, span));
        };
        let node = find(model, Some(&value.pattern.text()), *span, env)?;
        if !is_chosen || node.lineage.starts_with(&dataset.lineage) {
            *dataset = node;
        } else if !dataset.lineage.starts_with(&node.lineage) {
            let [node, other] = [&node, &*dataset].map(|one| one.lineage.join("."));
            let message =
                format!("the dataset \"{node}\" is neither below \"{other}\" nor above it");
            return Err(Error::at(message, *span));
        }
        is_chosen = true;
    }
    let rest = SearchCommand { expr: joined(rest), time: filter.time.clone() };
    Ok((rest, is_chosen))
}
