//! Iteration over the values of a field: the first value of all rows at once, then the second, and so on.
//!
//! Guarantees: a row is processed once per value, and the total work is proportional to the number of values.
//! If the item is used only as a value, the commands are the same for all items; if it is part of a name,
//! rows with equal items run together.

use std::collections::HashMap;

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{Command, ForeachCommand, ForeachMode, Spanned};
use tables::text::template::{Kind, Scan};

use super::parse;
use crate::Error;
use context::planning::{PlanningContext, plan_stage};
use context::run::run_to_rows;
use context::stage::stack::Stack;
use context::stage::{Rows, TableOp};

/// The column that holds the item of a row.
const ITEM: &str = "__item";

#[derive(Debug)]
pub(super) struct Items {
    command: ForeachCommand,
    /// Whether the template uses the item as part of a name.
    names: bool,
}

/// An element: its text, and whether it is a number.
type Item = (String, bool);

impl Items {
    pub(super) fn new(command: &ForeachCommand) -> Result<Self, Error> {
        let (text, names) = instance(command, 0, "x");
        let commands = parse(&text, command)?;
        if let Some(other) = commands.iter().find(|found| !matches!(found.node, Command::Eval(_))) {
            let message = format!(
                "foreach runs only eval for the values of a field, not {}",
                other.node.name()
            );
            return Err(Error::at(message, command.template.span));
        }
        Ok(Self { command: command.clone(), names })
    }

    /// Returns the commands for an item.
    fn commands(&self, iter: usize, item: &str) -> Result<Vec<Spanned<Command>>, Error> {
        parse(&instance(&self.command, iter, item).0, &self.command)
    }

    /// The fields whose values are iterated.
    fn fields(&self, rows: &Rows) -> Vec<String> {
        match self.command.fields.first() {
            // A wildcard is a literal part of the name here.
            Some(field) => vec![field.text.clone()],
            None => rows.names().into_iter().filter(|name| !name.starts_with('_')).collect(),
        }
    }

    /// Returns the items of each row.
    fn items(&self, rows: &Rows, field: &str) -> Result<Vec<Vec<Item>>, Error> {
        let lists = rows.lists(field)?.into_iter();
        let plain = |list: Vec<String>| list.into_iter().map(|text| (text, false)).collect();
        Ok(match self.command.mode {
            ForeachMode::JsonArray => lists
                .map(|list| single(&list).and_then(|text| array(text)).unwrap_or_default())
                .collect(),
            ForeachMode::AutoCollections => {
                // If no field is named, a field with a single value is not treated as a collection.
                let named = !self.command.fields.is_empty();
                let items = |list: Vec<String>| match single(&list).and_then(|text| array(text)) {
                    Some(items) => items,
                    None if named || list.len() > 1 => plain(list),
                    None => Vec::new(),
                };
                lists.map(items).collect()
            }
            ForeachMode::Multivalue | ForeachMode::Multifield => lists.map(plain).collect(),
        })
    }

    /// Runs the commands for every item of a field.
    async fn through(
        &self,
        rows: Rows,
        field: &str,
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        let items = self.items(&rows, field)?;
        let limit = env.context.limits.columns;
        if items.iter().any(|items| items.len() > limit) {
            let message =
                format!("foreach iterates over at most {limit} values of a row (a fixed limit)");
            return Err(Error::Exhausted { message });
        }
        if items.iter().all(Vec::is_empty) {
            return Ok(rows);
        }
        let mut places: Vec<usize> = (0..rows.count).collect();
        let mut active = rows;
        let mut done: Vec<(Vec<usize>, Rows)> = Vec::new();
        for iter in 0.. {
            let (left, over): (Vec<usize>, Vec<usize>) =
                (0..places.len()).partition(|row| items[places[*row]].len() > iter);
            let at = |rows: &[usize]| rows.iter().map(|row| places[*row]).collect::<Vec<_>>();
            if !over.is_empty() {
                done.push((at(&over), active.take(&over)?));
                active = active.take(&left)?;
                places = at(&left);
            }
            if places.is_empty() {
                break;
            }
            let items: Vec<&Item> = places.iter().map(|place| &items[*place][iter]).collect();
            active = self.step(active, iter, &items, env).await?;
        }
        in_order(done, env)
    }

    /// Runs the commands for one item of each row.
    async fn step(
        &self,
        rows: Rows,
        iter: usize,
        items: &[&Item],
        env: &PlanningContext<'_>,
    ) -> Result<Rows, Error> {
        if !self.names {
            return run(rows, items, &self.commands(iter, "")?, env).await;
        }
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (row, (text, _)) in items.iter().enumerate() {
            groups.entry(text).or_default().push(row);
        }
        let mut groups: Vec<(&str, Vec<usize>)> = groups.into_iter().collect();
        groups.sort_unstable_by_key(|(_, places)| places[0]);
        let mut done = Vec::with_capacity(groups.len());
        for (text, places) in groups {
            let group: Vec<&Item> = places.iter().map(|place| items[*place]).collect();
            let commands = self.commands(iter, text)?;
            done.push((places.clone(), run(rows.take(&places)?, &group, &commands, env).await?));
        }
        in_order(done, env)
    }
}

impl TableOp for Items {
    fn apply<'a>(
        &'a self,
        mut rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            for field in self.fields(&rows) {
                rows = self.through(rows, &field, env).await?;
            }
            Ok(rows)
        })
    }
}

/// Runs commands over rows with their items.
async fn run(
    mut rows: Rows,
    items: &[&Item],
    commands: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<Rows, Error> {
    match items.iter().all(|(_, number)| *number) {
        true => rows.set_numbers(ITEM, items.iter().map(|(text, _)| text.parse().ok())),
        false => rows.set_texts(ITEM, items.iter().map(|(text, _)| Some(text))),
    }
    let stage = plan_stage(Frame::of_rows(rows)?, commands, env).await?;
    let mut rows = run_to_rows(stage, env).await?;
    rows.remove(ITEM);
    Ok(rows)
}

/// Merges parts of rows, restoring the original order.
fn in_order(parts: Vec<(Vec<usize>, Rows)>, env: &PlanningContext<'_>) -> Result<Rows, Error> {
    let (places, rows): (Vec<Vec<usize>>, Vec<Rows>) = parts.into_iter().unzip();
    let places = places.concat();
    let mut order = vec![0; places.len()];
    for (now, place) in places.into_iter().enumerate() {
        order[place] = now;
    }
    let mut stack = Stack::new(env)?;
    rows.into_iter().try_for_each(|rows| stack.push(rows))?;
    Ok(stack.stacked(env.context.limits.stage_rows)?.take(&order)?)
}

/// The only value of a list.
fn single(list: &[String]) -> Option<&String> {
    match list {
        [text] => Some(text),
        _ => None,
    }
}

/// Parses the elements of a JSON array.
fn array(text: &str) -> Option<Vec<Item>> {
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let elements: Vec<serde_json::Value> = serde_json::from_str(text).ok()?;
    let item = |value: serde_json::Value| match value {
        serde_json::Value::String(text) => (text, false),
        number @ serde_json::Value::Number(_) => (number.to_string(), true),
        other => (other.to_string(), false),
    };
    Some(elements.into_iter().map(item).collect())
}

/// Returns the template for an item, and whether the template uses the item as part of a name.
fn instance(command: &ForeachCommand, iter: usize, item: &str) -> (String, bool) {
    let placeholders = &command.placeholders;
    let mut names = false;
    let mut scan = Scan::new(&command.template.node);
    let starts = |rest: &str| match rest {
        rest if rest.starts_with(placeholders.item.as_str()) => Some(&placeholders.item),
        rest if rest.starts_with(placeholders.iter.as_str()) => Some(&placeholders.iter),
        _ => None,
    };
    while let Some(found) = scan.next(starts) {
        let length = found.len();
        if *found == placeholders.iter {
            scan.put(length, &iter.to_string());
            continue;
        }
        let alone = scan.alone(length, |rest| starts(rest).is_some()) || beside_dots(&scan, length);
        let piece = match scan.quote() {
            // Within a string literal: closes the string, concatenates the value, and opens the next string.
            Some('"') => format!("\".'{ITEM}'.\""),
            None if alone => format!("'{ITEM}'"),
            _ => {
                names = true;
                scan.fit(item, false, Kind::Name)
            }
        };
        scan.put(length, &piece);
    }
    (scan.out, names)
}

/// Whether the next token is adjacent to others only through dots, the concatenation operator.
fn beside_dots(scan: &Scan<'_>, length: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() || "_:{}@*$>".contains(c);
    let before = scan.out.chars().next_back().is_some_and(joins);
    let after = scan.rest()[length..].chars().next().is_some_and(joins);
    !before && !after
}
