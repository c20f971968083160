//! The calculated fields and automatic lookups of a configuration, parsed once for all searches, and the
//! choice of those that a search requires.

use std::collections::HashSet;
use std::sync::Arc;

use exprs::required_fields::RequiredFields;
use jiff::tz::TimeZone;
use knowledge::{AutomaticLookup, CalculatedField, Knowledge, StanzaMatcher};
use spl::ast::{Expr, FieldPattern, LookupCommand, Span};

use crate::Error;

/// All objects, in the order in which they are applied.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) calculated: Vec<Arc<ParsedField>>,
    pub(super) lookups: Vec<Arc<ParsedLookup>>,
}

/// The time zones in which timestamps of events are parsed; the last one applies to all other events.
#[derive(Debug)]
pub(super) struct Zones(pub(super) Vec<(StanzaMatcher, TimeZone)>);

/// A calculated field.
#[derive(Debug)]
pub(super) struct ParsedField {
    pub(super) field: CalculatedField,
    /// Its expression, or the reason why it is invalid.
    pub(super) expr: Result<Expr, String>,
    /// The time zone in which it is computed; `None` for that of the search.
    pub(super) zone: Option<TimeZone>,
}

/// Checks the expression of a calculated field.
///
/// # Errors
/// [`Error::Syntax`] with the position, if the expression is invalid.
pub fn check_calculated_field(expression: &str) -> Result<(), Error> {
    spl::parse_expression(expression)?;
    Ok(())
}

/// An automatic lookup.
#[derive(Debug)]
pub(super) struct ParsedLookup {
    pub(super) lookup: AutomaticLookup,
    /// The lookup as a command, or the reason why it is invalid.
    pub(super) command: Result<LookupCommand, String>,
}

impl Parsed {
    /// The configuration files from which the objects are parsed.
    pub(super) const FILES: &[&str] = &["props"];

    pub(super) fn of(knowledge: &Knowledge) -> Self {
        let calculated = knowledge.calculated_fields().into_iter().map(|field| {
            let expr = spl::parse_expression(&field.expression);
            let expr = expr.map_err(|error| error.to_string());
            Arc::new(ParsedField { field, expr, zone: None })
        });
        let lookups = knowledge.automatic_lookups().into_iter().map(|lookup| {
            let command = spl::parse_lookup(&lookup.arguments);
            Arc::new(ParsedLookup { lookup, command: command.map_err(|error| error.to_string()) })
        });
        Self { calculated: calculated.collect(), lookups: lookups.collect() }
    }

    /// Whether one of the objects sets a field of this name.
    pub(super) fn set(&self, name: &str) -> bool {
        let outputs = |one: &Arc<ParsedLookup>| match &one.command {
            Ok(LookupCommand { output: Some(output), .. }) => {
                output.fields.iter().any(|field| field.event_name() == name)
            }
            _ => false,
        };
        self.calculated.iter().any(|one| one.field.field == name)
            || self.lookups.iter().any(outputs)
    }

    /// Whether a search requires a field that one of the objects sets.
    pub(super) fn has_any(&self, meant: &Meant) -> bool {
        self.calculated.iter().any(|one| meant.has(&one.field.field))
            || self.lookups.iter().any(|one| one.may_be_meant(meant))
    }
}

impl Zones {
    /// Returns the objects of the rules by which events are ingested.
    pub(super) fn of(rules: &Knowledge) -> Self {
        let mut zones = rules.time_zones();
        if !zones.iter().any(|(matcher, _)| matches!(matcher, StanzaMatcher::Everything)) {
            zones.push((StanzaMatcher::Everything, TimeZone::UTC));
        }
        Self(zones)
    }
}

impl ParsedLookup {
    /// Whether a search may require a field that the lookup sets. If the lookup names no output fields, these
    /// are unknown; if it is invalid, it is included so that the mistake is reported.
    pub(super) fn may_be_meant(&self, meant: &Meant) -> bool {
        match &self.command {
            Ok(LookupCommand { output: Some(output), .. }) => {
                output.fields.iter().any(|field| meant.has(field.event_name()))
            }
            _ => true,
        }
    }
}

/// The fields that a search requires, prepared for many checks.
#[derive(Debug)]
pub(super) struct Meant {
    required: RequiredFields,
    names: HashSet<String>,
    patterns: Vec<FieldPattern>,
}

impl Meant {
    pub(super) fn of(required: &RequiredFields) -> Self {
        let names = required.names.iter().cloned().collect();
        let mut meant = Self { required: required.clone(), names, patterns: Vec::new() };
        meant.read_patterns();
        meant
    }

    /// Whether the search may read a field.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name) || self.patterns.iter().any(|pattern| pattern.matches(name))
    }

    /// Adds a field to the required fields.
    pub(super) fn name(&mut self, name: &str) {
        if !self.names.contains(name) {
            self.names.insert(name.to_owned());
            self.required.names.push(name.to_owned());
        }
    }

    /// Adds the fields that an expression reads to the required fields.
    pub(super) fn expr(&mut self, expr: &Expr) {
        let mut read = RequiredFields::default();
        read.expr(expr);
        read.names.iter().for_each(|name| self.name(name));
        for pattern in read.patterns {
            if !self.required.patterns.contains(&pattern) {
                self.required.patterns.push(pattern);
            }
        }
        self.read_patterns();
    }

    fn read_patterns(&mut self) {
        for pattern in &self.required.patterns[self.patterns.len()..] {
            self.patterns.push(FieldPattern::new(pattern, Span::default()));
        }
    }
}

impl From<Meant> for RequiredFields {
    fn from(meant: Meant) -> Self {
        meant.required
    }
}
