//! Display formats of fields (`fieldformat`), separate from their values.
//!
//! Guarantees: formats are evaluated over the values of the final rows of a search, not over the results of
//! other formats; a renamed field keeps its format. Subsearches return values, not formatted texts.

use exprs::{Scope, Typed, compile};
use spl::ast::{Expr, ExprKind};

use crate::Error;

/// The formats of fields, in the order they were given.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Formats(Vec<Format>);

#[derive(Debug, Clone, PartialEq)]
struct Format {
    field: String,
    expr: Expr,
}

impl Formats {
    /// Whether there are no formats.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets the format of a field.
    pub fn set(&mut self, field: &str, expr: Expr) {
        self.0.retain(|format| format.field != field);
        self.0.push(Format { field: field.to_owned(), expr });
    }

    /// Applies simultaneous renames (old name, new name) to the formats.
    pub fn rename(&mut self, renames: &[(String, String)]) {
        let new =
            |name: &str| renames.iter().find(|(old, _)| old == name).map(|(_, new)| new.clone());
        // A field that receives the name of another one keeps only its own format, if it has one.
        self.0.retain(|format| {
            new(&format.field).is_some() || !renames.iter().any(|(_, new)| *new == format.field)
        });
        for format in &mut self.0 {
            if let Some(name) = new(&format.field) {
                format.field = name;
            }
            rename_fields(&mut format.expr, &new);
        }
    }

    /// Returns the displayed values of fields with a format. Fields that do not exist (any more) are omitted.
    pub fn values(&self, scope: &dyn Scope) -> Result<Vec<(String, Typed)>, Error> {
        let mut values = Vec::with_capacity(self.0.len());
        for Format { field, expr } in &self.0 {
            if scope.field(field).is_some() {
                values.push((field.clone(), compile(expr, scope)?));
            }
        }
        Ok(values)
    }
}

fn rename_fields(expr: &mut Expr, new: &impl Fn(&str) -> Option<String>) {
    expr.walk_mut(&mut |expr| {
        if let ExprKind::Field(field) = &mut expr.kind
            && let Some(name) = new(&field.name)
        {
            field.name = name;
            field.quoted = true;
        }
    });
}
