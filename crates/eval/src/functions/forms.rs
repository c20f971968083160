//! Functions that each evaluator implements itself, and constants.

use super::{Form, Function, constant, form};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    form("case", Form::Case),
    form("coalesce", Form::Coalesce),
    form("exact", Form::Exact),
    constant("false", Value::Boolean(false)),
    form("if", Form::If),
    form("isnotnull", Form::IsNotNull),
    form("isnull", Form::IsNull),
    form("lookup", Form::Lookup),
    form("mvfilter", Form::MvFilter),
    form("mvmap", Form::MvMap),
    form("now", Form::Now),
    constant("null", Value::Null),
    form("nullif", Form::NullIf),
    constant("pi", Value::Float(std::f64::consts::PI)),
    form("searchmatch", Form::SearchMatch),
    form("sigfig", Form::Sigfig),
    form("tojson", Form::ToJson),
    constant("true", Value::Boolean(true)),
    form("validate", Form::Validate),
];
