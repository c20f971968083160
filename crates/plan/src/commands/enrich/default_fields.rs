//! Fields that events have by default in Splunk and that are not stored here: parts of the time, the number
//! of lines, the server. They are computed only if a search names them; wildcards do not match them.

use std::sync::Arc;

use conf::Place;
use exprs::required_fields::RequiredFields;
use jiff::tz::TimeZone;
use knowledge::{CalculatedField, StanzaMatcher};
use spl::ast::{SearchExpr, SearchPattern, SearchValue};

use super::parsed::{Parsed, ParsedField, Zones};
use context::planning::PlanningContext;

/// The computation of each field, for events that do not have it themselves.
const FIELDS: [(&str, &str); 9] = [
    ("date_hour", r#"tonumber(strftime(_time, "%H"))"#),
    ("date_mday", r#"tonumber(strftime(_time, "%d"))"#),
    ("date_minute", r#"tonumber(strftime(_time, "%M"))"#),
    ("date_month", r#"lower(strftime(_time, "%B"))"#),
    ("date_second", r#"tonumber(strftime(_time, "%S"))"#),
    ("date_wday", r#"lower(strftime(_time, "%A"))"#),
    ("date_year", r#"tonumber(strftime(_time, "%Y"))"#),
    ("linecount", r#"mvcount(split(_raw, urldecode("%0A")))"#),
    (SERVER, ""),
];

/// The field with the name of the server that returned an event.
const SERVER: &str = "splunk_server";

/// Splunk's name in filters for the server that runs the search.
const LOCAL: &str = "local";

/// Replaces `splunk_server=local` with the name of the server that runs the search.
pub(crate) fn with_local_server(mut expr: SearchExpr, env: &PlanningContext<'_>) -> SearchExpr {
    expr.walk_mut(&mut |part| match part {
        SearchExpr::Comparison(comparison) | SearchExpr::Cased(comparison)
            if comparison.field.node == SERVER =>
        {
            name_local_server(&mut comparison.value, env);
        }
        SearchExpr::In(list) if list.field.node == SERVER => {
            list.values.iter_mut().for_each(|value| name_local_server(value, env));
        }
        _ => {}
    });
    expr
}

fn name_local_server(value: &mut SearchValue, env: &PlanningContext<'_>) {
    if value.pattern.as_literal().is_some_and(|text| text.eq_ignore_ascii_case(LOCAL)) {
        value.pattern = SearchPattern::literal(env.context.host.server_name());
    }
}

/// Returns the default fields that a search names. Parts of the time are in the time zone in which the
/// timestamps of the events are parsed, not in the user's, so that all users get the same counts. For the
/// same reason, the time zones of all apps count, whatever the user may see of them.
pub(super) fn named(
    required: &RequiredFields,
    parsed: &Parsed,
    env: &PlanningContext<'_>,
) -> Vec<Arc<ParsedField>> {
    let is_named = |name: &str| required.names.iter().any(|named| named == name);
    let wanted = FIELDS.iter().filter(|(name, _)| is_named(name));
    // A field that the configuration sets for all events needs no default.
    let is_set = |name: &str| {
        parsed.calculated.iter().any(|one| {
            one.field.field == name && matches!(one.field.matcher, StanzaMatcher::Everything)
        })
    };
    let wanted = wanted.filter(|(name, _)| !is_set(name));
    let zones = env.context.rules.compiled_of(Parsed::FILES, Zones::of);
    let mut fields = Vec::new();
    for (name, expression) in wanted {
        match *name {
            SERVER => {
                let value = format!("{:?}", env.context.host.server_name());
                fields.push(field(name, &value, &StanzaMatcher::Everything, None));
            }
            name if name.starts_with("date_") => {
                let of = |(matcher, zone): &(StanzaMatcher, TimeZone)| {
                    field(name, expression, matcher, Some(zone))
                };
                fields.extend(zones.0.iter().map(of));
            }
            name => fields.push(field(name, expression, &StanzaMatcher::Everything, None)),
        }
    }
    fields
}

fn field(
    name: &str,
    value: &str,
    matcher: &StanzaMatcher,
    zone: Option<&TimeZone>,
) -> Arc<ParsedField> {
    let expression = format!("coalesce({name}, {value})");
    let expr = spl::parse_expression(&expression).map_err(|error| error.to_string());
    let field = CalculatedField {
        matcher: matcher.clone(),
        field: name.to_owned(),
        expression,
        place: Place { file: "default fields".into(), line: 0 },
    };
    Arc::new(ParsedField { field, expr, zone: zone.cloned() })
}
