//! Calculated fields (`EVAL-<field>`): each field is a choice among the expressions of the stanzas.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::logical_expr::{Case, Expr, lit};
use exprs::Typed;
use exprs::types::ValueType;
use frames::Frame;
use knowledge::StanzaMatcher;

use super::super::eval::convert;
use super::parsed::{Meant, ParsedField};
use super::{All, Objects};
use crate::{Error, MessageKind};
use context::lookup::Lookups;
use context::planning::PlanningContext;
use context::stanzas::{Sourcetypes, Together};

/// A field that the configuration computes for some events; its expression is valid.
pub(super) struct Calculated(pub(super) Arc<ParsedField>);

/// Chooses the required calculated fields, and adds the fields that they read to the required fields.
pub(super) fn choose(
    all: All<'_>,
    meant: &mut Meant,
    there: Option<&Sourcetypes>,
    found: &mut Objects,
    env: &PlanningContext<'_>,
) -> Result<(), Error> {
    for one in all.parsed.calculated.iter().chain(all.defaults) {
        env.context.planning.check()?;
        if !meant.has(&one.field.field) {
            continue;
        }
        if there.is_some_and(|types| !types.may_have(&one.field.matcher)) {
            found.is_part = true;
            continue;
        }
        match &one.expr {
            Ok(_) => found.calculated.push(Calculated(Arc::clone(one))),
            Err(reason) => leave_out(one, reason, env),
        }
    }
    // All calculated fields see the original values: a field that one of them reads does not make another one
    // required. The stored value of a calculated field is read only if the search names it or a pattern
    // matches it: otherwise, thousands of fields that no event has would make plans equally wide.
    for Calculated(one) in &found.calculated {
        if let Ok(expr) = &one.expr {
            meant.expr(expr);
        }
        found.set.insert(one.field.field.clone());
    }
    Ok(())
}

/// Reads the lookups that calculated fields use. Fields whose lookup cannot be read are skipped.
pub(super) async fn read_lookups(
    fields: &mut Vec<Calculated>,
    env: &PlanningContext<'_>,
) -> Result<Lookups, Error> {
    let mut read = Lookups::default();
    let mut kept = Vec::with_capacity(fields.len());
    for Calculated(one) in fields.drain(..) {
        let Ok(expr) = &one.expr else { continue };
        match read.add(expr, env.context).await {
            Ok(()) => kept.push(Calculated(one)),
            Err(Error::Invalid { message, .. }) => leave_out(&one, &message, env),
            Err(error) => return Err(error),
        }
    }
    *fields = kept;
    Ok(read)
}

/// Reports that a calculated field is skipped: a mistake in an app must not fail searches.
fn leave_out(one: &ParsedField, reason: &str, env: &PlanningContext<'_>) {
    let (place, field) = (&one.field.place, &one.field.field);
    let text = format!("{place}: the calculated field EVAL-{field} was left out: {reason}");
    env.log.add(MessageKind::Warning, text);
}

/// The stanzas that set a field, by their index among all stanzas, and their expressions for it.
#[derive(Default)]
struct Choices {
    stanzas: Vec<u32>,
    values: Vec<Typed>,
}

/// Sets calculated fields. All of them see the original values, as documented; if several stanzas apply to an
/// event, the first one wins.
pub(super) fn calculate(
    frame: Frame,
    fields: Vec<Calculated>,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let mut names: Vec<&str> = Vec::new();
    let mut choices: HashMap<&str, Choices> = HashMap::new();
    let mut matchers: Vec<&StanzaMatcher> = Vec::new();
    let mut numbers: HashMap<String, u32> = HashMap::new();
    let scope = env.scope(&frame);
    for Calculated(one) in &fields {
        env.context.planning.check()?;
        let Ok(expr) = &one.expr else { continue };
        let compiled = match &one.zone {
            Some(zone) => exprs::compile(expr, &env.scope(&frame).in_zone(zone)),
            None => exprs::compile(expr, &scope),
        };
        let value = match compiled.map_err(Error::from) {
            Ok(value) => value,
            Err(Error::Invalid { message, .. }) => {
                leave_out(one, &message, env);
                continue;
            }
            Err(error) => return Err(error),
        };
        let value = match value.kind {
            ValueType::Boolean | ValueType::Time => convert(value, ValueType::Text),
            _ => value,
        };
        let name = one.field.field.as_str();
        let of_field = choices.entry(name).or_insert_with(|| {
            names.push(name);
            Choices::default()
        });
        let number = numbers.entry(format!("{:?}", one.field.matcher)).or_insert_with(|| {
            matchers.push(&one.field.matcher);
            u32::try_from(matchers.len() - 1).unwrap_or(u32::MAX)
        });
        of_field.stanzas.push(*number);
        of_field.values.push(value);
    }
    let mut values = Vec::with_capacity(names.len());
    let together = Together::new(matchers.into_iter());
    let combination = together.combination(&frame);
    for name in names {
        let Choices { stanzas, values: of_field } = choices.remove(name).unwrap_or_default();
        let number = together.first_of(stanzas, combination.clone());
        values.push((name.to_owned(), choice(number, of_field, scope.value(name))));
    }
    frame.with_columns(values)
}

/// Returns the value of the first stanza that applies to an event, or the original value.
fn choice(stanza: Typed, values: Vec<Typed>, old: Typed) -> Typed {
    let kind = values.iter().fold(old.kind, |kind, value| kind.union(value.kind));
    let whens = (0_i64..)
        .zip(values)
        .map(|(number, value)| (Box::new(lit(number)), Box::new(convert(value, kind).expr)));
    let (whens, number) = (whens.collect(), Box::new(stanza.expr));
    let case = Case::new(Some(number), whens, Some(Box::new(convert(old, kind).expr)));
    Typed::new(Expr::Case(case), kind)
}
