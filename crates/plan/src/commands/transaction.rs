//! `transaction`: groups related events.
//!
//! Split: the conditions on first and last events are evaluated where the rows are; the search head needs all
//! rows, newest first: `tables::shape::transaction` creates one row per transaction.

use datafusion::logical_expr::cast;
use exprs::Typed;
use exprs::predicate::compile_search;
use exprs::types::{ArrowType, ValueType};
use frames::Frame;
use spl::ast::{
    Command, Field, TransactionCommand, TransactionLists, TransactionMark, TransactionSpan,
};
use tables::bins::length_of;
use tables::shape::transaction::{ENDS, Rendering, Rules, STARTS, Transaction};

use super::composed::timed;
use super::eval::condition;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;
use context::stage::Breaker;

impl CommandPlan for TransactionCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if self.name.is_some() {
            // The stanza may name any field.
            fields.all();
        }
        fields.fields(&self.fields);
        for mark in self.startswith.iter().chain(&self.endswith) {
            match mark {
                TransactionMark::Search(expr) => fields.search(expr),
                TransactionMark::Eval(expr) => fields.expr(expr),
            }
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn reads_declared(&self) -> bool {
        // A word in a filter is searched in the text of events.
        let is_search = |mark: &TransactionMark| matches!(mark, TransactionMark::Search(_));
        self.name.is_none() && !self.startswith.iter().chain(&self.endswith).any(is_search)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.span(), input.frame, input.env)
    }
}

const TIME: &str = "_time";
/// Default maximum number of events in a transaction.
const MAX_EVENTS: i64 = 1000;
/// Maximum number of fields that join events; each has one bit of a mask.
const MAX_FIELDS: usize = 64;

pub(super) fn plan(
    command: &TransactionCommand,
    span: spl::Span,
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let command = configured(command, env)?;
    frame = timed(frame, TIME)?;
    if frame.kind(TIME).is_none() {
        let message = "transaction needs the field _time, which an earlier command has removed";
        return Err(Error::at(message, span));
    }
    if command.fields.len() > MAX_FIELDS {
        let message = format!("transaction joins by at most {MAX_FIELDS} fields");
        return Err(Error::at(message, span));
    }
    for (name, mark) in [(STARTS, &command.startswith), (ENDS, &command.endswith)] {
        if let Some(mark) = mark {
            let test = match mark {
                TransactionMark::Search(expr) => compile_search(expr, &env.scope(&frame))?,
                TransactionMark::Eval(expr) => condition(expr, &frame, env)?,
            };
            let test = cast(test, ValueType::Integer.data_type());
            let value = Typed::new(test, ValueType::Integer);
            frame = frame.with_columns(vec![(name.to_owned(), value)])?;
        }
    }
    Ok(Step::Materialize(frame, Breaker::table(operation(&command))))
}

/// Completes the command with the options of the stanza that `name=` names.
fn configured(
    command: &TransactionCommand,
    env: &PlanningContext<'_>,
) -> Result<TransactionCommand, Error> {
    let Some(name) = &command.name else { return Ok(command.clone()) };
    let from = definition(name, env)?;
    let mut found = command.clone();
    if found.fields.is_empty() {
        found.fields = from.fields;
    }
    found.maxspan = found.maxspan.or(from.maxspan);
    found.maxpause = found.maxpause.or(from.maxpause);
    found.maxevents = found.maxevents.or(from.maxevents);
    found.startswith = found.startswith.or(from.startswith);
    found.endswith = found.endswith.or(from.endswith);
    found.connected = found.connected.or(from.connected);
    found.unifyends = found.unifyends.or(from.unifyends);
    found.keeporphans = found.keeporphans.or(from.keeporphans);
    found.keepevicted = found.keepevicted.or(from.keepevicted);
    found.mvlist = found.mvlist.or(from.mvlist);
    found.mvraw = found.mvraw.or(from.mvraw);
    found.delim = found.delim.or(from.delim);
    found.nullstr = found.nullstr.or(from.nullstr);
    found.maxopentxn = found.maxopentxn.or(from.maxopentxn);
    found.maxopenevents = found.maxopenevents.or(from.maxopenevents);
    Ok(found)
}

/// The keys of a stanza that correspond to options of the command.
const KEYS: [&str; 15] = [
    "maxspan",
    "maxpause",
    "maxevents",
    "startswith",
    "endswith",
    "connected",
    "unifyends",
    "keeporphans",
    "keepevicted",
    "mvlist",
    "mvraw",
    "delim",
    "nullstr",
    "maxopentxn",
    "maxopenevents",
];

/// Returns a stanza of `transactiontypes.conf` as a command.
pub(super) fn definition(
    name: &Field,
    env: &PlanningContext<'_>,
) -> Result<TransactionCommand, Error> {
    let conf = env.context.knowledge.conf("transactiontypes");
    if conf.stanza(&name.node).is_none() {
        let message = format!("transactiontypes.conf has no stanza [{}]", name.node);
        return Err(Error::at(message, name.span));
    }
    let mut text = "* | transaction".to_owned();
    if let Some(fields) = conf.get(&name.node, "fields") {
        text.push_str(&format!(" fields=\"{}\"", fields.value.trim_matches('"')));
    }
    for key in KEYS {
        if let Some(entry) = conf.get(&name.node, key).filter(|entry| !entry.value.is_empty()) {
            text.push_str(&format!(" {key}={}", entry.value));
        }
    }
    let parsed = spl::parse(&text).map_err(|error| {
        Error::at(format!("transactiontypes.conf [{}]: {error}", name.node), name.span)
    })?;
    match parsed.commands.into_iter().nth(1).map(|command| command.node) {
        Some(Command::Transaction(command)) => Ok(command),
        _ => Err(Error::internal("a transaction type is not a transaction")),
    }
}

fn operation(command: &TransactionCommand) -> Transaction {
    let fields: Vec<String> = command.fields.iter().map(|field| field.node.clone()).collect();
    let span = |span: &Option<TransactionSpan>| match span {
        Some(TransactionSpan::Of(span)) => Some(length_of(span)),
        _ => None,
    };
    let connected = command.connected != Some(false);
    let rules = Rules {
        max_span: span(&command.maxspan),
        max_pause: span(&command.maxpause),
        max_events: usize::try_from(command.maxevents.unwrap_or(MAX_EVENTS)).ok(),
        starts: command.startswith.is_some(),
        ends: command.endswith.is_some(),
        connected,
        unify_ends: command.unifyends.unwrap_or(connected),
        max_open: command.maxopentxn.and_then(|most| usize::try_from(most).ok()),
        max_open_events: command.maxopenevents.and_then(|most| usize::try_from(most).ok()),
    };
    let rendering = Rendering {
        name: command.name.as_ref().map(|name| name.node.clone()),
        all_lists: command.mvlist == Some(TransactionLists::All(true)),
        lists: match &command.mvlist {
            Some(TransactionLists::Fields(names)) => names.clone(),
            _ => Vec::new(),
        },
        raw_list: command.mvraw == Some(true),
        missing: command.nullstr.clone().unwrap_or_else(|| "NULL".to_owned()),
        orphans: command.keeporphans == Some(true),
    };
    Transaction {
        fields,
        rules,
        rendering,
        keep_evicted: command.keepevicted == Some(true),
        keep_orphans: command.keeporphans == Some(true),
    }
}
