//! `walklex`: the terms of events, with the number of events that contain each.
//!
//! Split: field names and values of `host`, `source` and `sourcetype` are answered from bucket summaries. The
//! term index of a bucket contains hashes of words, not the words: these are read from the events of the time
//! range and counted where the events are.

use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::lit;
use exprs::Typed;
use exprs::kernel::multi;
use exprs::predicate::Breakers;
use exprs::required_fields::wildcard;
use exprs::types::ValueType;
use frames::Frame;
use futures::future::BoxFuture;
use model::{IndexName, columns};
use spl::ast::{LexiconKind, SearchCommand, WalklexCommand};

use super::eventcount::meant;
use super::stats::{Valueless, explode, order_by_groups};
use super::{
    Begin, CommandPlan, First, Input, Origin, OutputFields, Place, RequiredFields, Step, search,
};
use crate::{Error, MetadataKind};
use context::planning::{PlanningContext, SourceRows};
use context::range::bounds;
use context::stage::{Record, Rows};

impl CommandPlan for WalklexCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::TwoStep)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn begin<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Begin, Error>> {
        Box::pin(async move { start(self, first.env).await.map(Begin::Rows) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

const TERM: &str = "term";
const COUNT: &str = "count";

pub(super) async fn start(
    command: &WalklexCommand,
    env: &PlanningContext<'_>,
) -> Result<SourceRows, Error> {
    let indexes = meant(&command.indexes, env);
    let range = env.context.range;
    let pattern = command.pattern.as_ref().map(|pattern| pattern.node.to_lowercase());
    let frame = match command.kind {
        LexiconKind::Field => fields(&indexes, pattern.as_deref(), env).await?,
        LexiconKind::Fieldvalue => values(&indexes, pattern.as_deref(), env).await?,
        kind => terms(&indexes, pattern, kind == LexiconKind::All, env).await?,
    };
    Ok(SourceRows { frame, range, indexes, messages: Vec::new() })
}

fn matches(pattern: Option<&str>, text: &str) -> bool {
    pattern.is_none_or(|pattern| wildcard(pattern, &text.to_lowercase()))
}

fn record(index: &IndexName, name: &str, text: String, events: u64) -> Record {
    vec![
        ("index".to_owned(), vec![index.to_string()]),
        (name.to_owned(), vec![text]),
        (COUNT.to_owned(), vec![events.to_string()]),
    ]
}

async fn fields(
    indexes: &[IndexName],
    pattern: Option<&str>,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let mut records = Vec::new();
    for index in indexes {
        let only = std::slice::from_ref(index);
        let mut found = env.context.source.fields(only, &env.context.range).await?;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let named = found.into_iter().filter(|field| matches(pattern, &field.name));
        records.extend(named.map(|field| record(index, "field", field.name, field.count)));
    }
    Frame::of_rows(Rows::of_records(records))
}

async fn values(
    indexes: &[IndexName],
    pattern: Option<&str>,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let kinds = [
        (columns::HOST, MetadataKind::Hosts),
        (columns::SOURCE, MetadataKind::Sources),
        (columns::SOURCETYPE, MetadataKind::Sourcetypes),
    ];
    let mut records = Vec::new();
    for index in indexes {
        let only = std::slice::from_ref(index);
        for (name, kind) in kinds {
            let mut found = env.context.source.metadata(kind, only, &env.context.range).await?;
            found.sort_by(|one, other| one.value.cmp(&other.value));
            for value in found {
                let text = format!("{name}::{}", value.value);
                if matches(pattern, &text) {
                    records.push(record(index, TERM, text, value.count));
                }
            }
        }
    }
    Frame::of_rows(Rows::of_records(records))
}

/// Returns the words of events; with `all`, also the values of `host`, `source` and `sourcetype`.
async fn terms(
    indexes: &[IndexName],
    pattern: Option<String>,
    all: bool,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let search = SearchCommand::default();
    let bounds = bounds(&search, env.context)?;
    let frame = search::events(&search, indexes, bounds, RequiredFields::default(), env).await?;
    let parameters = format!("{pattern:?} {all}");
    let split = multi("terms", move |row, out| {
        let text = row.text(0)?;
        let mut words = words(&text.to_lowercase());
        if all {
            for (at, name) in columns::ORIGIN.iter().enumerate() {
                words.extend(
                    row.text(at + 1).map(|value| format!("{name}::{}", value.to_lowercase())),
                );
            }
        }
        for word in words.iter().filter(|word| matches(pattern.as_deref(), word)) {
            out.append_value(word);
        }
        Some(())
    });
    let mut arguments = vec![frame.field(columns::RAW)];
    if all {
        let fixed = columns::ORIGIN;
        arguments.extend(fixed.map(|name| frame.field(name)));
    }
    let value = split.with(parameters).call(arguments);
    let frame = frame.with_columns(vec![(TERM.to_owned(), value)])?;
    let frame = explode(frame, TERM, Valueless::Go)?;
    let names = [columns::INDEX.to_owned(), TERM.to_owned()];
    let keys = names.iter().map(|name| (name.clone(), frame.field(name))).collect();
    let events = Typed::new(count(lit(1_i64)), ValueType::Integer);
    let frame = frame.aggregate(keys, vec![(COUNT.to_owned(), events)])?;
    order_by_groups(frame, &names)
}

/// Returns the distinct words of a text: those between major breakers, and those between breakers of any
/// kind.
fn words(text: &str) -> Vec<String> {
    let is = |breakers: Breakers| {
        move |c: char| u8::try_from(c).is_ok_and(|c| c.is_ascii() && breakers.contains(c))
    };
    let large = text.split(is(Breakers::Major));
    let small = text.split(is(Breakers::Any));
    let mut words: Vec<&str> = large.chain(small).filter(|word| !word.is_empty()).collect();
    words.sort_unstable();
    words.dedup();
    words.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_between_breakers_of_both_kinds_once_each() {
        assert_eq!(words("a=1 b/1 (a=1)"), ["1", "a", "a=1", "b", "b/1"]);
    }
}
