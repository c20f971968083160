//! `stats`, `tstats`, `top` and `rare` as groups.

use spl::ast::{StatsArgument, StatsBy, StatsCall, StatsKind, TopCommand};

use super::layer::{Key, Kind, Layer, Value};
use super::{Reason, SqlText, expr, identifier};

/// Groups of rows with aggregates.
pub fn grouped(
    calls: &[StatsCall],
    by: &StatsBy,
    layer: Layer,
    text: &mut SqlText,
) -> Result<Layer, Reason> {
    if !by.prefixes.is_empty() || by.has_span() {
        return Err("PREFIX() or span".to_owned());
    }
    let names = by.fields.iter().map(|field| plain(&field.text, field.has_wildcard()));
    let names = names.collect::<Result<Vec<_>, _>>()?;
    let layer = if layer.limit.is_some() { layer.sealed(true)? } else { layer };
    let mut group = Group::new(layer, &names);
    for call in calls {
        let value = aggregate(call, &group.layer, text)?;
        group.add(call.output_name(), value);
    }
    let mut result = group.layer();
    result.order = names.iter().map(|name| result.key(name, false, false)).collect();
    Ok(result)
}

/// The most and least frequent values.
pub fn ranked(command: &TopCommand, rarest: bool, layer: Layer) -> Result<Layer, Reason> {
    if command.useother {
        return Err("useother".to_owned());
    }
    let named = |fields: &[spl::ast::Field]| -> Vec<String> {
        fields.iter().map(|field| field.node.clone()).collect()
    };
    let (by, fields) = (named(&command.by), named(&command.fields));
    let names: Vec<String> = by.iter().chain(&fields).cloned().collect();
    let layer = if layer.limit.is_some() { layer.sealed(false)? } else { layer };
    let mut group = Group::new(layer, &names);
    let partition: Vec<String> = by.iter().map(|name| group.layer.field(name).sql).collect();
    let over = match partition.is_empty() {
        true => String::new(),
        false => format!("PARTITION BY {}", partition.join(", ")),
    };
    group.add(&command.countfield, Value::new("COUNT(*)", Kind::Integer));
    let percent = format!("100.0 * COUNT(*) / SUM(COUNT(*)) OVER ({over})");
    group.add(&command.percentfield, Value::new(percent, Kind::Number));
    if !by.is_empty() && command.limit > 0 {
        let direction = if rarest { "" } else { " DESC" };
        let tie = |name: &String| format!("{}{direction}", group.layer.field(name).sql);
        let ties: Vec<String> = fields.iter().map(tie).collect();
        let rank =
            format!("ROW_NUMBER() OVER ({over} ORDER BY COUNT(*){direction}, {})", ties.join(", "));
        group.add(RANK, Value::new(rank, Kind::Integer));
    }
    let mut result = group.layer();
    let key = |result: &Layer, name: &String| result.key(name, false, false);
    let mut order: Vec<Key> = by.iter().map(|name| key(&result, name)).collect();
    order.push(result.key(&command.countfield, !rarest, false));
    order.extend(fields.iter().map(|name| result.key(name, !rarest, false)));
    result.order = order;
    if command.limit > 0 && by.is_empty() {
        result.limit = Some(command.limit);
    } else if command.limit > 0 {
        result.filters.push(format!("{} <= {}", identifier(RANK), command.limit));
        result.remove(RANK);
    }
    let hidden =
        [(command.showcount, &command.countfield), (command.showperc, &command.percentfield)];
    for (shown, name) in hidden {
        if !shown {
            result.remove(name);
        }
    }
    Ok(result)
}

/// The rank of a value, which is not shown.
const RANK: &str = "__rank";

/// A group query in the making.
struct Group {
    layer: Layer,
    keys: Vec<String>,
    items: Vec<String>,
    columns: Vec<(String, Kind)>,
}

impl Group {
    /// Groups by fields; rows without one of them are in no group.
    fn new(mut layer: Layer, names: &[String]) -> Self {
        let mut keys = Vec::new();
        let mut items = Vec::new();
        let mut columns = Vec::new();
        for name in names {
            let value = layer.field(name);
            layer.filters.push(format!("{} IS NOT NULL", value.sql));
            items.push(item(name, &value));
            columns.push((name.clone(), value.kind));
            keys.push(value.sql);
        }
        Self { layer, keys, items, columns }
    }

    fn add(&mut self, name: &str, value: Value) {
        self.items.push(item(name, &value));
        self.columns.push((name.to_owned(), value.kind));
    }

    fn layer(self) -> Layer {
        let (from, filters) = (self.layer.source_text(), self.layer.where_text());
        let mut text = format!("SELECT {}\nFROM {from}{filters}", self.items.join(", "));
        if !self.keys.is_empty() {
            text.push_str(&format!("\nGROUP BY {}", self.keys.join(", ")));
        }
        Layer::query(text, &self.columns)
    }
}

fn item(name: &str, value: &Value) -> String {
    let quoted = identifier(name);
    if value.sql == quoted { quoted } else { format!("{} AS {quoted}", value.sql) }
}

/// A name that is no pattern.
pub fn plain(name: &str, wildcard: bool) -> Result<String, Reason> {
    if wildcard { Err(format!("the wildcard of {name}")) } else { Ok(name.to_owned()) }
}

fn aggregate(call: &StatsCall, layer: &Layer, text: &mut SqlText) -> Result<Value, Reason> {
    let kind = call.function.kind;
    let argument = match &call.argument {
        StatsArgument::None if kind == StatsKind::Count => {
            return Ok(Value::new("COUNT(*)", Kind::Integer));
        }
        StatsArgument::Field(pattern) => {
            layer.field(&plain(&pattern.text, pattern.has_wildcard())?)
        }
        StatsArgument::Eval(inner) => expr::value(inner, layer)?,
        _ => return Err(format!("{} has no equivalent", call.text)),
    };
    if kind == StatsKind::Count {
        return Ok(Value::new(counted(&argument), Kind::Integer));
    }
    if argument.kind == Kind::List {
        return Err(format!("{}: several values", call.text));
    }
    over(call, &argument, layer, text)
}

fn counted(argument: &Value) -> String {
    match argument.kind {
        Kind::Boolean => format!("COUNT(*) FILTER (WHERE {})", argument.sql),
        _ => format!("COUNT({})", argument.sql),
    }
}

fn over(
    call: &StatsCall,
    argument: &Value,
    layer: &Layer,
    text: &mut SqlText,
) -> Result<Value, Reason> {
    use StatsKind as K;
    let sql = &argument.sql;
    let numbers = |function: &str| {
        Ok(Value::new(format!("{function}({})", argument.number()?), Kind::Number))
    };
    let picked = |function: &str, order: &str| {
        let picked = format!("{function}({sql} ORDER BY {order}) FILTER (WHERE {sql} IS NOT NULL)");
        Ok(Value::new(picked, argument.kind))
    };
    let by_time = || match layer.field(model::columns::TIME) {
        Value { sql, kind: Kind::Time, .. } => Ok(sql),
        _ => Err(format!("{}: there is no _time", call.text)),
    };
    match call.function.kind {
        K::DistinctCount => Ok(Value::new(format!("COUNT(DISTINCT {sql})"), Kind::Integer)),
        K::Sum => numbers("SUM"),
        K::Average => numbers("AVG"),
        K::StandardDeviation => numbers("stddev_samp"),
        K::StandardDeviationPopulation => numbers("stddev_pop"),
        K::Variance => numbers("var_samp"),
        K::VariancePopulation => numbers("var_pop"),
        K::Min | K::Max => {
            let function = if call.function.kind == K::Min { "MIN" } else { "MAX" };
            if matches!(argument.kind, Kind::Time | Kind::Integer) {
                return Ok(Value::new(format!("{function}({sql})"), argument.kind));
            }
            if argument.kind == Kind::Text {
                let note = format!("{} is of numbers; texts have another order", call.text);
                text.notes.push(note);
            }
            numbers(function)
        }
        K::Range => {
            let number = argument.number()?;
            Ok(Value::new(format!("(MAX({number}) - MIN({number}))"), Kind::Number))
        }
        K::Values => {
            let list = format!(
                "array_agg(DISTINCT {sql} ORDER BY {sql}) FILTER (WHERE {sql} IS NOT NULL)"
            );
            Ok(Value::new(list, Kind::List))
        }
        K::Earliest => picked("first_value", &by_time()?),
        K::Latest => picked("last_value", &by_time()?),
        _ => Err(format!("{} has no equivalent", call.text)),
    }
}
