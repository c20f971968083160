//! Commands, each as a change of a `SELECT`.

use spl::ast::{
    BinCommand, BinSpan, Command, ComparisonOperator, DedupCommand, EvalCommand, FieldPattern,
    FieldsCommand, FillnullCommand, HeadCommand, RenameCommand, SearchCommand, SearchExpr,
    SortCommand, SortOrder, TimeModifierKind, TimeUnit, TstatsCommand,
};

use super::aggregate::{grouped, plain, ranked};
use super::layer::{From, Kind, Layer, Value};
use super::{Reason, SqlText, expr, filter, identifier, literal};

/// The column that numbers rows of a group.
const ROW: &str = "__row";

/// The first command.
pub(super) fn begin(command: &Command, text: &mut SqlText) -> Result<Layer, Reason> {
    match command {
        Command::Search(search) => events(search, text),
        Command::Tstats(tstats) => counted(tstats, text),
        _ => Err("it makes rows of something else than events".to_owned()),
    }
}

/// A command behind others.
pub(super) fn step(command: &Command, layer: Layer, text: &mut SqlText) -> Result<Layer, Reason> {
    match command {
        Command::Search(search) if search.time.is_empty() => {
            let layer = unlimited(layer)?;
            conditions(search.expr.as_ref(), layer)
        }
        Command::Where(command) => {
            let mut layer = unlimited(layer)?;
            let condition = expr::condition(&command.expr, &layer)?;
            layer.filters.push(condition);
            Ok(layer)
        }
        Command::Eval(command) => eval(command, layer),
        Command::Stats(command) => {
            if command.allnum || command.delim.is_some() || command.dedup_splitvals {
                return Err("its options".to_owned());
            }
            grouped(&command.calls, &command.by, layer, text)
        }
        Command::Top(command) => ranked(command, false, layer),
        Command::Rare(command) => ranked(command, true, layer),
        Command::Sort(command) => sort(command, layer),
        Command::Head(command) => head(command, layer),
        Command::Table(command) => table(&command.fields, layer),
        Command::Fields(command) => fields(command, layer),
        Command::Rename(command) => rename(command, layer),
        Command::Dedup(command) => dedup(command, layer),
        Command::Fillnull(command) => fillnull(command, layer),
        Command::Bin(command) => bin(command, layer),
        _ => Err("it has no equivalent".to_owned()),
    }
}

/// The rows as a source of their own if there is a limit on them.
fn unlimited(layer: Layer) -> Result<Layer, Reason> {
    if layer.limit.is_some() { layer.sealed(true) } else { Ok(layer) }
}

fn events(search: &SearchCommand, text: &mut SqlText) -> Result<Layer, Reason> {
    for modifier in &search.time {
        match modifier.kind {
            TimeModifierKind::Earliest => text.earliest = Some(modifier.value.clone()),
            TimeModifierKind::Latest => text.latest = Some(modifier.value.clone()),
            _ => return Err("bounds of _indextime".to_owned()),
        }
    }
    let mut members = match search.expr.clone() {
        None => Vec::new(),
        Some(SearchExpr::And(members)) => members,
        Some(other) => vec![other],
    };
    let mut indexes = Vec::new();
    members.retain(|member| match named_indexes(member) {
        Some(names) => {
            indexes = names;
            false
        }
        None => true,
    });
    if members.iter().any(mentions_index) {
        return Err("it does not name one index, or a list of them".to_owned());
    }
    if indexes.is_empty() {
        text.notes.push("the search names no index; main is taken for the default".to_owned());
        indexes.push("main".to_owned());
    }
    let tables: Vec<String> = indexes.iter().map(|name| identifier(name)).collect();
    let from = match tables.as_slice() {
        [table] => From::Table(table.clone()),
        tables => {
            let parts: Vec<String> =
                tables.iter().map(|table| format!("SELECT * FROM {table}")).collect();
            From::Query(parts.join("\nUNION ALL BY NAME\n"), Vec::new())
        }
    };
    let mut layer = Layer::table(from);
    for member in &members {
        layer = conditions(Some(member), layer)?;
    }
    Ok(layer)
}

/// The indexes that a part of a filter names, if that is all it does.
fn named_indexes(expr: &SearchExpr) -> Option<Vec<String>> {
    let name = |value: &spl::ast::SearchValue| value.pattern.as_literal().map(str::to_owned);
    match expr {
        SearchExpr::Comparison(comparison)
            if comparison.field.node == model::columns::INDEX
                && comparison.operator == ComparisonOperator::Equal =>
        {
            name(&comparison.value).map(|name| vec![name])
        }
        SearchExpr::In(list) if list.field.node == model::columns::INDEX && !list.negated => {
            list.values.iter().map(name).collect()
        }
        SearchExpr::Or(members) => {
            let names: Option<Vec<Vec<String>>> = members.iter().map(named_indexes).collect();
            names.map(|names| names.concat())
        }
        _ => None,
    }
}

fn mentions_index(expr: &SearchExpr) -> bool {
    match expr {
        SearchExpr::And(members) | SearchExpr::Or(members) => members.iter().any(mentions_index),
        SearchExpr::Not(inner, _) => mentions_index(inner),
        SearchExpr::Comparison(comparison) => comparison.field.node == model::columns::INDEX,
        SearchExpr::In(list) => list.field.node == model::columns::INDEX,
        _ => false,
    }
}

fn conditions(expr: Option<&SearchExpr>, mut layer: Layer) -> Result<Layer, Reason> {
    let members = match expr {
        None => return Ok(layer),
        Some(SearchExpr::And(members)) => members.as_slice(),
        Some(other) => std::slice::from_ref(other),
    };
    for member in members {
        let condition = filter::condition(member, &layer)?;
        if condition != "TRUE" {
            layer.filters.push(condition);
        }
    }
    Ok(layer)
}

fn counted(tstats: &TstatsCommand, text: &mut SqlText) -> Result<Layer, Reason> {
    if tstats.datamodel.is_some() || tstats.prestats || tstats.append {
        return Err("data models, prestats and append".to_owned());
    }
    let layer = events(&tstats.filter, text)?;
    grouped(&tstats.calls, &tstats.by, layer, text)
}

fn eval(command: &EvalCommand, mut layer: Layer) -> Result<Layer, Reason> {
    for assignment in &command.assignments {
        let value = expr::value(&assignment.expr, &layer)?;
        let name = assignment.field.node.as_str();
        if value.kind == Kind::Boolean {
            return Err(format!("{name} would be a condition"));
        }
        if layer.columns.is_none() && is_fixed(name) {
            layer.dropped.push(name.to_owned());
        }
        layer.set(name, value);
    }
    Ok(layer)
}

/// Columns that every event has.
fn is_fixed(name: &str) -> bool {
    use model::columns as c;
    [c::TIME, c::INDEX_TIME, c::RAW, c::HOST, c::SOURCE, c::SOURCETYPE, c::INDEX].contains(&name)
}

fn sort(command: &SortCommand, layer: Layer) -> Result<Layer, Reason> {
    let mut layer = unlimited(layer)?;
    let mut order = Vec::new();
    for key in &command.keys {
        if key.order == SortOrder::Ip {
            return Err("ip()".to_owned());
        }
        let mut sorted = layer.key(
            &key.field.node,
            key.descending != command.reversed,
            key.order == SortOrder::Auto,
        );
        if key.order == SortOrder::Number {
            sorted.value = Value::new(sorted.value.number()?, Kind::Number);
        }
        order.push(sorted);
    }
    // Rows that are equal stay in the order they were in.
    order.append(&mut layer.order);
    layer.order = order;
    layer.limit = command.limit.filter(|limit| *limit > 0);
    Ok(layer)
}

fn head(command: &HeadCommand, mut layer: Layer) -> Result<Layer, Reason> {
    if command.condition.is_some() {
        return Err("a condition".to_owned());
    }
    let limit = command.limit.unwrap_or(10);
    layer.limit = Some(layer.limit.map_or(limit, |before| before.min(limit)));
    Ok(layer)
}

fn names(fields: &[FieldPattern]) -> Result<Vec<String>, Reason> {
    fields.iter().map(|field| plain(&field.text, field.has_wildcard())).collect()
}

fn table(fields: &[FieldPattern], mut layer: Layer) -> Result<Layer, Reason> {
    let names = names(fields)?;
    keep(&mut layer, names);
    Ok(layer)
}

/// Shows these fields only. Those that are not known are null.
fn keep(layer: &mut Layer, names: Vec<String>) {
    let values: Vec<Value> = names.iter().map(|name| layer.field(name)).collect();
    layer.env = names.iter().cloned().zip(values).collect();
    layer.columns = Some(names);
    layer.dropped.clear();
}

fn fields(command: &FieldsCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let is_internal = |field: &FieldPattern| field.text == "_*";
    if command.remove {
        let named: Vec<FieldPattern> =
            command.fields.iter().filter(|field| !is_internal(field)).cloned().collect();
        for name in names(&named)? {
            layer.remove(&name);
        }
        if command.fields.iter().any(is_internal) {
            return Err("the wildcard of _*".to_owned());
        }
        return Ok(layer);
    }
    let mut kept = names(&command.fields)?;
    if layer.columns.is_none() {
        // Time and text of an event stay unless they are removed.
        for name in [model::columns::RAW, model::columns::TIME] {
            if !kept.iter().any(|known| known == name) {
                kept.insert(0, name.to_owned());
            }
        }
    }
    keep(&mut layer, kept);
    Ok(layer)
}

fn rename(command: &RenameCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let mut values = Vec::new();
    for rename in &command.renames {
        let from = plain(&rename.from.text, rename.from.has_wildcard())?;
        values.push((layer.field(&from), from, rename.to.text.clone()));
    }
    for (value, from, to) in values {
        match &mut layer.columns {
            Some(columns) => {
                columns.retain(|known| *known != to);
                columns.iter_mut().filter(|known| **known == from).for_each(|known| {
                    known.clone_from(&to);
                });
                layer.env.retain(|(known, _)| *known != from);
            }
            None => layer.remove(&from),
        }
        layer.set(&to, value);
    }
    Ok(layer)
}

fn dedup(command: &DedupCommand, layer: Layer) -> Result<Layer, Reason> {
    if command.keepevents || command.keepempty || command.consecutive {
        return Err("its options".to_owned());
    }
    let names = names(&command.fields)?;
    let sort_first = SortCommand { limit: Some(0), keys: command.sortby.clone(), reversed: false };
    let layer = if command.sortby.is_empty() { layer } else { sort(&sort_first, layer)? };
    let mut layer = unlimited(layer)?;
    let order = layer.order.clone();
    if order.is_empty() {
        return Err("rows without an order".to_owned());
    }
    let values: Vec<String> = names.iter().map(|name| layer.field(name).sql).collect();
    layer.filters.extend(values.iter().map(|value| format!("{value} IS NOT NULL")));
    let keys: Vec<String> = order.iter().map(super::layer::Key::render).collect();
    let number = format!(
        "ROW_NUMBER() OVER (PARTITION BY {} ORDER BY {})",
        values.join(", "),
        keys.join(", ")
    );
    layer.set(ROW, Value::new(number, Kind::Integer));
    let mut layer = layer.sealed(true)?;
    layer.filters.push(format!("{} <= {}", identifier(ROW), command.count));
    layer.remove(ROW);
    Ok(layer)
}

fn fillnull(command: &FillnullCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let mut names = names(&command.fields)?;
    if names.is_empty() {
        names = layer.columns.clone().ok_or("fields that are not named")?;
    }
    for name in names {
        let value = layer.field(&name);
        let number = command.value.parse::<f64>().is_ok();
        let filled = match value.kind {
            Kind::Integer | Kind::Number if number => {
                Value::new(format!("COALESCE({}, {})", value.sql, command.value), value.kind)
            }
            _ => {
                let text = value.text()?;
                Value::new(format!("COALESCE({text}, {})", literal(&command.value)), Kind::Text)
            }
        };
        layer.set(&name, filled);
    }
    Ok(layer)
}

fn bin(command: &BinCommand, mut layer: Layer) -> Result<Layer, Reason> {
    let value = layer.field(&command.field.node);
    let bins = &command.bins;
    let Some(BinSpan::Time(span)) = &bins.span else { return Err("bins without span".to_owned()) };
    let unit = match span.unit {
        TimeUnit::Second => "second",
        TimeUnit::Minute => "minute",
        TimeUnit::Hour => "hour",
        _ => return Err("spans of days and more, which are of a time zone".to_owned()),
    };
    if value.kind != Kind::Time || bins.aligntime.is_some() {
        return Err("bins of something else than _time".to_owned());
    }
    let sql = format!("date_bin(INTERVAL '{} {unit}', {})", span.count, value.sql);
    let name = command.alias.as_ref().unwrap_or(&command.field).node.clone();
    if layer.columns.is_none() && is_fixed(&name) {
        layer.dropped.push(name.clone());
    }
    layer.set(&name, Value::new(sql, Kind::Time));
    Ok(layer)
}
