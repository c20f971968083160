//! What the configuration adds to events as they are searched, in Splunk's order: calculated fields, then
//! automatic lookups, then event types and tags.
//!
//! Only what a search requires is computed. Everything runs where the events are.

use std::collections::HashMap;
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
        let classes = event_types::Wanted::of(required, env)?;
        let lookups = automatic_lookups(required, env).await?;
        let calculated = calculated_fields(required, env);
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
        for lookups in independent(&self.lookups) {
            frame = look_up(lookups, frame)?;
        }
        self.classes.add(frame, env)
    }
}

/// The lookups in groups within which none reads what an earlier one sets.
fn independent(lookups: &[Automatic]) -> Vec<&[Automatic]> {
    let (mut groups, mut start) = (Vec::new(), 0);
    // By field: the lookups of the group that set it.
    let mut set: HashMap<&str, Vec<&StanzaMatcher>> = HashMap::new();
    for (at, lookup) in lookups.iter().enumerate() {
        let reads_earlier = lookup.inputs().any(|input| {
            let setters = set.get(input).into_iter().flatten();
            setters.into_iter().any(|setter| !setter.excludes(&lookup.matcher))
        });
        if reads_earlier {
            groups.push(&lookups[start..at]);
            start = at;
            set.clear();
        }
        for output in &lookup.outputs {
            set.entry(output).or_default().push(&lookup.matcher);
        }
    }
    if start < lookups.len() {
        groups.push(&lookups[start..]);
    }
    groups
}

impl Automatic {
    /// The fields of events that the lookup reads.
    fn inputs(&self) -> impl Iterator<Item = &str> {
        let time = self.lookup.definition.time.is_some().then(|| {
            self.command.event_time_field.as_ref().map_or(model::columns::TIME, |field| &field.node)
        });
        self.command.inputs.iter().map(|input| input.event_name()).chain(time)
    }
}

/// The events with the outputs of lookups, each where its stanza applies.
fn look_up(lookups: &[Automatic], frame: Frame) -> Result<Frame, Error> {
    // Most stanzas have several lookups: whether they apply is found out once.
    let mut conditions = Vec::new();
    let mut condition_of = Vec::with_capacity(lookups.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for lookup in lookups {
        let stanza = format!("{:?}", lookup.matcher);
        let place = *places.entry(stanza).or_insert_with(|| {
            conditions.push(("applies", applies(&lookup.matcher, &frame)));
            conditions.len() - 1
        });
        condition_of.push(place);
    }
    let (frame, hidden) = frame.with_hidden(conditions)?;
    let mut conditional = Vec::with_capacity(lookups.len());
    for (lookup, place) in lookups.iter().zip(condition_of) {
        conditional.push(lookup::Conditional {
            command: &lookup.command,
            lookup: &lookup.lookup,
            condition: Some(Typed::column(&hidden[place], ValueType::Boolean)),
        });
    }
    Ok(lookup::apply_all(&conditional, frame)?.without_hidden(&hidden))
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
        let leave_out = |reason: &str| {
            let text = format!("{place}: the automatic lookup was left out: {reason}");
            env.log.add(MessageKind::Warning, text);
        };
        let command = match spl::parse_lookup(&arguments) {
            Ok(command) => command,
            Err(error) => {
                leave_out(&error.to_string());
                continue;
            }
        };
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
                leave_out(&message);
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
fn calculated_fields(required: &mut RequiredFields, env: &PlanningContext<'_>) -> Vec<Calculated> {
    let mut found = Vec::new();
    for field in env.context.knowledge.calculated_fields() {
        if !is_meant(required, &field.field) {
            continue;
        }
        match spl::parse_expression(&field.expression) {
            Ok(expr) => found.push(Calculated { field, expr }),
            Err(error) => leave_out(&field, &error.to_string(), env),
        }
    }
    for Calculated { field, expr } in &found {
        required.expr(expr);
        required.name(&field.field);
    }
    found
}

/// Says that a calculated field is not computed: a mistake in an app must not end searches.
fn leave_out(field: &CalculatedField, reason: &str, env: &PlanningContext<'_>) {
    let text = format!(
        "{}: the calculated field EVAL-{} was left out: {reason}",
        field.place, field.field
    );
    env.log.add(MessageKind::Warning, text);
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
        let value = match exprs::compile(&expr, &env.scope(&frame)).map_err(Error::from) {
            Ok(value) => value,
            Err(Error::Invalid { message, .. }) => {
                leave_out(&field, &message, env);
                continue;
            }
            Err(error) => return Err(error),
        };
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
        Some(match &matcher {
            StanzaMatcher::Everything => true,
            StanzaMatcher::Sourcetype(name) => row.text(0).is_some_and(|own| *own == **name),
            _ => matcher.matches(&text(0), &text(1), &text(2)),
        })
    });
    let arguments = [model::columns::SOURCETYPE, model::columns::SOURCE, model::columns::HOST];
    let arguments = arguments.iter().map(|name| frame.field(name)).collect();
    function.with(parameters).call(arguments).expr
}
