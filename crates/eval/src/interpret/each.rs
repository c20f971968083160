//! Functions that evaluate an expression for each value, or read the whole event: `mvfilter`, `mvmap`,
//! `tojson`.

use serde_json::{Map, Value as Json};

use super::Scope;
use super::node::{Bound, Node, converted};
use crate::functions::json_of;
use crate::row::Environment;
use crate::value::{Datum, ValueType};

/// An expression evaluated for each value of a multivalue field.
#[derive(Debug)]
pub(super) struct Each {
    pub(super) values: Box<Node>,
    /// The field that stands for one value in the expression.
    pub(super) field: String,
    pub(super) inner: Box<Node>,
    /// Whether the expression is a filter of the values, rather than a new value.
    pub(super) filters: bool,
}

impl Each {
    pub(super) fn evaluate(&self, scope: &dyn Scope, env: &Environment) -> Datum<'static> {
        let mut kept = Vec::new();
        self.values.shown(scope, env).get().each_text(|text| {
            let bound = Bound { outer: scope, field: &self.field, text };
            let result = self.inner.shown(&bound, env);
            if !self.filters {
                let result = converted(result, ValueType::Text);
                result.get().each_text(|text| kept.push(text.to_owned()));
            } else if result.get().truth() == Some(true) {
                kept.push(text.to_owned());
            }
        });
        Datum::Multi(kept)
    }
}

/// Returns the fields of the event that have values, as JSON; `internal` includes fields that begin with `_`.
pub(super) fn event_as_json(scope: &dyn Scope, internal: bool) -> Datum<'static> {
    let mut object = Map::new();
    for name in scope.names() {
        if name.starts_with("__") || (name.starts_with('_') && !internal) {
            continue;
        }
        let value = scope.field(&name);
        if !value.get().is_null() {
            let json = json_of(value.get(), false);
            object.insert(name, json);
        }
    }
    Datum::Text(Json::Object(object).to_string())
}
