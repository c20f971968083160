//! What the configuration adds to events as they are searched, in Splunk's order: calculated fields, then
//! automatic lookups, then event types and tags.
//!
//! Only what a search requires is computed. Everything runs where the events are.

use std::sync::Arc;

use datafusion::logical_expr::{Case, Expr};
use exprs::Typed;
use exprs::kernel::truth;
use exprs::required_fields::{RequiredFields, wildcard};
use exprs::types::ValueType;
use knowledge::{AutomaticLookup, CalculatedField, StanzaMatcher};
use spl::ast::{LookupCommand, SearchExpr};

use super::eval::convert;
use super::lookup;
use crate::context::PlanningContext;
use crate::frame::Frame;
use crate::lookup::Lookup;
use crate::{Error, MessageKind, event_types};

/// What is added to the events of a search.
pub(super) struct Enrichment {
    calculated: Vec<Calculated>,
    lookups: Vec<Automatic>,
    classes: event_types::Wanted,
}

/// A field that the configuration computes for some events.
struct Calculated {
    field: CalculatedField,
    expr: spl::ast::Expr,
}

/// A lookup that the configuration applies to some events.
struct Automatic {
    matcher: StanzaMatcher,
    command: LookupCommand,
    lookup: Arc<Lookup>,
    outputs: Vec<String>,
}

impl Enrichment {
    /// The part of it that a search requires. Adds the fields that it is made of.
    pub(super) async fn of(
        required: &mut RequiredFields,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let classes = event_types::Wanted::of(required, &env.context.knowledge)?;
        let lookups = automatic_lookups(required, env).await?;
        let calculated = calculated_fields(required, env)?;
        Ok(Self { calculated, lookups, classes })
    }

    /// Whether a filter reads something that is added here.
    pub(super) fn sets(&self, expr: &SearchExpr) -> bool {
        let mut read = RequiredFields::default();
        read.search(expr);
        let calculated = self.calculated.iter().map(|calculated| &calculated.field.field);
        let mut set = calculated.chain(self.lookups.iter().flat_map(|lookup| &lookup.outputs));
        set.any(|name| read.names.contains(name))
    }

    /// The events with all of it.
    pub(super) fn apply(self, mut frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        if !self.calculated.is_empty() {
            frame = calculate(frame, self.calculated, env)?;
        }
        for Automatic { matcher, command, lookup, .. } in self.lookups {
            let condition = applies(&matcher, &frame);
            frame = lookup::apply(&command, &lookup, frame, Some(condition))?;
        }
        self.classes.add(frame, env)
    }
}

/// Whether a search may read a field.
fn is_meant(required: &RequiredFields, name: &str) -> bool {
    required.names.iter().any(|known| known == name)
        || required.patterns.iter().any(|pattern| wildcard(pattern, name))
}

async fn automatic_lookups(
    required: &mut RequiredFields,
    env: &PlanningContext<'_>,
) -> Result<Vec<Automatic>, Error> {
    let mut found = Vec::new();
    for AutomaticLookup { matcher, arguments, place } in env.context.knowledge.automatic_lookups() {
        let refuse = |reason: String| {
            Error::invalid_anywhere(format!("{place}: invalid automatic lookup: {reason}"))
        };
        let command = spl::parse_lookup(&arguments).map_err(|error| refuse(error.to_string()))?;
        let named: Vec<String> = command
            .output
            .iter()
            .flat_map(|output| &output.fields)
            .map(|field| field.event_name().to_owned())
            .collect();
        if !named.is_empty() && !named.iter().any(|name| is_meant(required, name)) {
            continue;
        }
        // A lookup that cannot be read must not stop searches that hardly need it.
        let lookup = match lookup::prepare(&command, env).await {
            Ok(lookup) => lookup,
            Err(Error::Invalid { message, .. }) => {
                let text = format!("{place}: the automatic lookup was left out: {message}");
                env.log.add(MessageKind::Warning, text);
                continue;
            }
            Err(error) => return Err(error),
        };
        let outputs: Vec<String> = lookup::outputs(&command, &lookup)
            .iter()
            .map(|field| field.event_name().to_owned())
            .collect();
        if !outputs.iter().any(|name| is_meant(required, name)) {
            continue;
        }
        for input in &command.inputs {
            required.name(input.event_name());
        }
        outputs.iter().for_each(|output| required.name(output));
        found.push(Automatic { matcher, command, lookup, outputs });
    }
    Ok(found)
}

/// The calculated fields among those mentioned; what they read is mentioned too.
fn calculated_fields(
    required: &mut RequiredFields,
    env: &PlanningContext<'_>,
) -> Result<Vec<Calculated>, Error> {
    let mut found = Vec::new();
    for field in env.context.knowledge.calculated_fields() {
        if !is_meant(required, &field.field) {
            continue;
        }
        let expr = spl::parse_expression(&field.expression).map_err(|error| {
            Error::invalid_anywhere(format!(
                "the calculated field EVAL-{} ({}) is not an expression: {error}",
                field.field, field.place
            ))
        })?;
        found.push(Calculated { field, expr });
    }
    for Calculated { field, expr } in &found {
        required.expr(expr);
        required.name(&field.field);
    }
    Ok(found)
}

/// Sets calculated fields. All see the values before any of them, as documented; of several
/// stanzas that apply to an event the first one counts.
fn calculate(
    frame: Frame,
    fields: Vec<Calculated>,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    // One choice per field, however many stanzas set it: choices within each other grow with each of them.
    let mut choices: Vec<(String, Vec<(Expr, Typed)>)> = Vec::new();
    for Calculated { field, expr } in fields {
        let value = exprs::compile(&expr, &env.scope(&frame))?;
        let value = match value.kind {
            ValueType::Boolean | ValueType::Time => convert(value, ValueType::Text),
            _ => value,
        };
        let choice = (applies(&field.matcher, &frame), value);
        match choices.iter_mut().find(|(name, _)| *name == field.field) {
            Some((_, of_field)) => of_field.push(choice),
            None => choices.push((field.field, vec![choice])),
        }
    }
    let mut values = Vec::with_capacity(choices.len());
    for (name, of_field) in choices {
        let old = frame.field(&name);
        let kinds = of_field.iter().map(|(_, value)| value.kind);
        let kind = kinds.fold(old.kind, |kind, other| other.union(kind));
        let whens = of_field
            .into_iter()
            .map(|(applies, value)| (Box::new(applies), Box::new(convert(value, kind).expr)));
        let case = Case::new(None, whens.collect(), Some(Box::new(convert(old, kind).expr)));
        values.push((name, Typed::new(Expr::Case(case), kind)));
    }
    frame.with_columns(values)
}

/// Whether a stanza of `props.conf` is about an event.
fn applies(matcher: &StanzaMatcher, frame: &Frame) -> Expr {
    let matcher = matcher.clone();
    let parameters = format!("{matcher:?}");
    let function = truth("stanza_applies", move |row| {
        let text = |at| row.text(at).map(|text| text.to_string()).unwrap_or_default();
        Some(matcher.matches(&text(0), &text(1), &text(2)))
    });
    let arguments = [model::columns::SOURCETYPE, model::columns::SOURCE, model::columns::HOST];
    let arguments = arguments.iter().map(|name| frame.field(name)).collect();
    function.with(parameters).call(arguments).expr
}
