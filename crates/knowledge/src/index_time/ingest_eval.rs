//! `INGEST_EVAL` and `STOP_PROCESSING_IF`: assignments of expressions, and a condition that ends processing.

use std::borrow::Cow;
use std::sync::Arc;

use eval::{Datum, Expression, Value};
use model::EventTime;

use super::draft::{DraftScope, EventDraft, kind_of};
use super::transform::{DestKey, assign};

/// A compiled stanza.
#[derive(Debug, Default)]
pub(super) struct IngestEval {
    pub(super) assignments: Vec<Assignment>,
    /// `STOP_PROCESSING_IF`.
    pub(super) stop_if: Option<Expression>,
}

/// One `target = expression`.
#[derive(Debug)]
pub(super) struct Assignment {
    target: Target,
    /// Whether the assignment (`:=`) replaces all previous values of the field.
    replaces: bool,
    stored_as: StoredAs,
    expression: Expression,
}

#[derive(Debug)]
enum Target {
    Key(DestKey),
    Field(Arc<str>),
}

/// The type in brackets after a name.
#[derive(Debug, Clone, Copy)]
enum StoredAs {
    AsIs,
    Integer,
    Float,
}

/// The keys that rules may set.
pub(super) const KEYS: &[(&str, DestKey)] = &[
    ("_raw", DestKey::Raw),
    ("_meta", DestKey::Meta),
    ("_time", DestKey::Time),
    ("queue", DestKey::Queue),
    ("_MetaData:Index", DestKey::Index),
    ("MetaData:Host", DestKey::Host),
    ("MetaData:Source", DestKey::Source),
    ("MetaData:Sourcetype", DestKey::Sourcetype),
    ("_TCP_ROUTING", DestKey::TcpRouting),
];

/// Keys of Splunk that have no effect, because there are no such outputs.
pub(super) const UNUSED_KEYS: &[&str] = &["_SYSLOG_ROUTING", "_INDEX_AND_FORWARD_ROUTING"];

/// Returns the key with this name in `transforms.conf`; a leading underscore is optional.
pub(super) fn key(name: &str) -> Option<DestKey> {
    let plain = |name: &str| name.strip_prefix('_').unwrap_or(name).to_owned();
    let is_metadata = name.contains("MetaData:");
    let same = |known: &str| known == name || (is_metadata && plain(known) == plain(name));
    KEYS.iter().find(|(known, _)| same(known)).map(|(_, key)| *key)
}

impl IngestEval {
    /// Compiles the assignments of a setting.
    pub(super) fn compile(text: &str) -> Result<Vec<Assignment>, String> {
        let parts = split_assignments(text);
        parts.into_iter().filter(|part| !part.trim().is_empty()).map(Assignment::compile).collect()
    }

    /// Applies the assignments to an event; returns whether `_raw` changed, and whether processing ends.
    pub(super) fn run(
        &self,
        draft: &mut EventDraft<'_>,
        rule: usize,
        now: EventTime,
    ) -> (bool, bool) {
        let mut changed = false;
        for assignment in &self.assignments {
            let value = {
                let scope = DraftScope { draft, now };
                assignment.expression.evaluate(&scope)
            };
            changed |= assignment.put(value, draft, rule);
        }
        let stop = self.stop_if.as_ref().is_some_and(|expression| {
            let scope = DraftScope { draft, now };
            stops(expression.evaluate(&scope).get())
        });
        (changed, stop)
    }
}

/// Compiles an expression over the fields of an event.
pub(super) fn compiled(text: &str) -> Result<Expression, String> {
    Expression::compile(text, &kind_of)
}

/// Returns whether the value ends processing: zero, false and null do not, all other values do.
fn stops(value: Value<'_>) -> bool {
    match value {
        Value::Null => false,
        Value::Boolean(truth) => truth,
        other => other.number() != Some(0.0),
    }
}

impl Assignment {
    fn compile(text: &str) -> Result<Self, String> {
        let Some((target, replaces, expression)) = split_target(text) else {
            return Err(format!("\"{}\" is not an assignment such as a=1 or a:=1", text.trim()));
        };
        let (name, stored_as) = typed_name(target)?;
        let name = name.trim_matches('$');
        let expression = compiled(expression.trim())?;
        let target = match name {
            "host" => Target::Key(DestKey::Host),
            "source" => Target::Key(DestKey::Source),
            "sourcetype" => Target::Key(DestKey::Sourcetype),
            "index" => Target::Key(DestKey::Index),
            "_meta" | "pd:_meta" => {
                return Err("_meta cannot be assigned; assign its fields one by one".to_owned());
            }
            _ => Self::target(name)?,
        };
        Ok(Self { target, replaces, stored_as, expression })
    }

    fn target(name: &str) -> Result<Target, String> {
        let bare = name.strip_prefix("pd:").unwrap_or(name);
        if let Some(key) = key(bare) {
            return Ok(Target::Key(key));
        }
        if bare != name {
            let known: Vec<_> = KEYS.iter().map(|(name, _)| *name).collect();
            return Err(format!("key {bare} is not known; known are {}", known.join(", ")));
        }
        let field = name.strip_prefix("field:").or_else(|| name.strip_prefix("mv:"));
        match field.unwrap_or(name) {
            "" => Err("an assignment has no name before its equals sign".to_owned()),
            field => Ok(Target::Field(field.into())),
        }
    }

    fn put(&self, value: Datum<'static>, draft: &mut EventDraft<'_>, rule: usize) -> bool {
        let value = value.get();
        let name = match &self.target {
            // A key always has a value: null leaves it unchanged.
            Target::Key(DestKey::Time) => {
                draft.time = value.micros().map_or(draft.time, EventTime);
                return false;
            }
            Target::Key(key) => {
                let text = value.text().map(|text| text.to_string());
                return text.is_some_and(|text| assign(*key, text, draft, rule));
            }
            Target::Field(name) => name,
        };
        if self.replaces {
            draft.fields.retain(|(field, _)| field != name);
        }
        let stored = match self.stored_as {
            StoredAs::AsIs => value,
            StoredAs::Integer => match value.number() {
                Some(number) => Value::Float(number.trunc()),
                None => Value::Null,
            },
            StoredAs::Float => value.number().map_or(Value::Null, Value::Float),
        };
        stored.each_text(|text| {
            draft.fields.push((Arc::clone(name), Cow::Owned(text.to_owned())));
        });
        false
    }
}

/// Parses `name[int]`.
fn typed_name(target: &str) -> Result<(&str, StoredAs), String> {
    let target = target.trim();
    let Some((name, kind)) = target.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) else {
        return Ok((unquoted(target), StoredAs::AsIs));
    };
    let stored_as = match kind {
        "int" => StoredAs::Integer,
        "float" | "float32" | "float-sf" | "float32-sf" => StoredAs::Float,
        "string" => StoredAs::AsIs,
        other => {
            return Err(format!(
                "type [{other}] is not known; known are int, float, float32, float-sf, float32-sf and string"
            ));
        }
    };
    Ok((unquoted(name.trim()), stored_as))
}

fn unquoted(name: &str) -> &str {
    let inside = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inside('"').or_else(|| inside('\'')).unwrap_or(name)
}

/// Splits a text at commas outside of quotes and brackets.
fn split_assignments(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    outside(text, |at, character, depth| {
        if character == ',' && depth == 0 {
            parts.push(&text[start..at]);
            start = at + 1;
        }
        true
    });
    parts.push(&text[start..]);
    parts
}

/// Returns the name, whether the operator is `:=`, and the expression.
fn split_target(text: &str) -> Option<(&str, bool, &str)> {
    let mut found = None;
    outside(text, |at, character, _| {
        if character == '=' {
            found = Some(at);
        }
        found.is_none()
    });
    let at = found?;
    let (left, right) = (&text[..at], &text[at + 1..]);
    match left.trim_end().strip_suffix(':') {
        Some(name) => Some((name, true, right)),
        None => Some((left, false, right)),
    }
}

/// Visits the characters outside of quotes with their bracket depth, until the visitor returns `false`.
fn outside(text: &str, mut visit: impl FnMut(usize, char, usize) -> bool) {
    let (mut depth, mut quote) = (0_usize, None);
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (Some(_), '\\') => {
                characters.next();
            }
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(character),
            (None, other) => {
                if !visit(at, other, depth) {
                    return;
                }
                match other {
                    '(' | '[' => depth += 1,
                    ')' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
}
