//! `fields` of an event: names with plain values or lists of them.

use std::borrow::Cow;
use std::sync::Arc;

use model::columns::field_name;

use super::scan::{Malformed, Scanner};
use crate::OverLimit;

/// Why fields are not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WrongFields {
    /// Not an object, or not JSON.
    Shape,
    /// A value that is neither plain nor a list of plain values.
    Nested,
    /// More than an event may have.
    Over(OverLimit),
}

impl From<Malformed> for WrongFields {
    fn from(_: Malformed) -> Self {
        Self::Shape
    }
}

/// Names that repeat from event to event, so that each is allocated once.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Arc<str>>);

impl Names {
    /// The name under which a field is kept.
    fn get(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.0.iter().find(|known| ***known == *name) {
            return Arc::clone(known);
        }
        if let Cow::Owned(other) = field_name(name) {
            return self.get(&other);
        }
        let name: Arc<str> = name.into();
        // The list is searched from the front: it only helps while it is short.
        if self.0.len() < 64 {
            self.0.push(Arc::clone(&name));
        }
        name
    }
}

/// Hands every name and value to `emit`; a list gives one per element, `null` none.
pub(super) fn take_fields(
    json: &str,
    names: &mut Names,
    mut emit: impl FnMut(Arc<str>, &str) -> Result<(), OverLimit>,
) -> Result<(), WrongFields> {
    let mut scanner = Scanner::new(json);
    scanner.expect(b'{')?;
    let mut first = true;
    while let Some(name) = scanner.member(first)? {
        first = false;
        let name = names.get(&name);
        if !scanner.take(b'[') {
            if let Some(value) = plain(&mut scanner)? {
                emit(name, &value).map_err(WrongFields::Over)?;
            }
            continue;
        }
        while !scanner.take(b']') {
            if let Some(value) = plain(&mut scanner)? {
                emit(Arc::clone(&name), &value).map_err(WrongFields::Over)?;
            }
            if scanner.peek() != Some(b']') {
                scanner.expect(b',')?;
            }
        }
    }
    Ok(())
}

fn plain<'a>(scanner: &mut Scanner<'a>) -> Result<Option<Cow<'a, str>>, WrongFields> {
    match scanner.peek() {
        Some(b'"') => Ok(Some(scanner.string()?)),
        Some(b'{' | b'[') => Err(WrongFields::Nested),
        _ => match scanner.value()? {
            "null" => Ok(None),
            value => Ok(Some(Cow::Borrowed(value))),
        },
    }
}
