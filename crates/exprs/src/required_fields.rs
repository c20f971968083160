//! The fields that expressions, filters and aggregations read, by name or pattern.
//!
//! The traversal of the commands of a pipeline is left to `plan`.

use std::collections::HashSet;

use spl::ast::{
    Expr, ExprKind, Field, FieldPattern, SearchExpr, Span, SplitBy, StatsArgument, StatsBy,
    StatsCall,
};

/// Names and patterns in the order of their first mention.
#[derive(Debug, Clone, Default)]
pub struct RequiredFields {
    /// Exact names.
    pub names: Vec<String>,
    /// Patterns with `*`.
    pub patterns: Vec<String>,
    /// Whether rows of a summary index are merged by the command that replaces the fields.
    pub merges: bool,
}

/// Whether a pattern with `*` matches the name, case-sensitively.
pub fn wildcard(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        // Most patterns of a list do not match: comparing the start first is faster.
        Some((start, _)) => {
            name.starts_with(start) && FieldPattern::new(pattern, Span::default()).matches(name)
        }
    }
}

impl RequiredFields {
    /// Adds the fields of another instance.
    pub fn merge(&mut self, other: Self) {
        self.each(other.names.iter().map(String::as_str));
        self.patterns.extend(other.patterns);
    }

    /// Adds a field by its exact name.
    pub fn name(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// Adds fields by their exact names, of which there may be thousands.
    fn each<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        let mut known: HashSet<String> = self.names.iter().cloned().collect();
        for name in names {
            if known.insert(name.to_owned()) {
                self.names.push(name.to_owned());
            }
        }
    }

    /// Adds a field, or the fields that match a pattern with `*`.
    pub fn pattern(&mut self, pattern: &str) {
        if pattern.contains('*') {
            self.patterns.push(pattern.to_owned());
        } else {
            self.name(pattern);
        }
    }

    /// Adds the fields that match any of the patterns.
    pub fn patterns(&mut self, patterns: &[FieldPattern]) {
        let texts = || patterns.iter().map(|pattern| pattern.text.as_str());
        self.patterns.extend(texts().filter(|text| text.contains('*')).map(str::to_owned));
        self.each(texts().filter(|text| !text.contains('*')));
    }

    /// Adds the fields that match the patterns; all fields if there are no patterns.
    pub fn patterns_or_all(&mut self, patterns: &[FieldPattern]) {
        if patterns.is_empty() {
            self.pattern("*");
        }
        self.patterns(patterns);
    }

    /// Adds all fields of the source.
    pub fn all(&mut self) {
        self.pattern("*");
    }

    /// Adds fields by their exact names.
    pub fn fields<'f>(&mut self, fields: impl IntoIterator<Item = &'f Field>) {
        self.each(fields.into_iter().map(|field| field.node.as_str()));
    }

    /// Adds the fields that split rows or series.
    pub fn splits<const N: usize>(&mut self, splits: [&Option<SplitBy>; N]) {
        splits.into_iter().flatten().for_each(|split| self.name(&split.field.node));
    }

    /// Adds the fields of aggregations, and their group fields.
    pub fn stats(&mut self, calls: &[StatsCall], by: &StatsBy) {
        self.calls(calls);
        self.patterns(&by.fields);
    }

    /// Adds the fields of aggregations.
    pub fn calls(&mut self, calls: &[StatsCall]) {
        calls.iter().for_each(|call| self.call(call));
    }

    fn call(&mut self, call: &StatsCall) {
        match &call.argument {
            StatsArgument::None => {
                if call.function.kind != spl::ast::StatsKind::Count {
                    self.pattern("*");
                }
            }
            StatsArgument::Field(pattern) => self.pattern(&pattern.text),
            StatsArgument::Eval(expr) => self.expr(expr),
            StatsArgument::Over { calls, .. } => self.calls(calls),
            StatsArgument::Prefix(_) => {}
            StatsArgument::Sparkline { call, .. } => {
                call.iter().for_each(|call| self.call(call));
            }
        }
    }

    /// Adds the fields of a filter.
    pub fn search(&mut self, expr: &SearchExpr) {
        expr.walk(&mut |part| part.field().iter().for_each(|field| self.name(&field.node)));
    }

    /// Adds the fields of an expression.
    pub fn expr(&mut self, expr: &Expr) {
        match &expr.kind {
            ExprKind::Field(field) if eval::operators::truth_word(field).is_some() => {}
            ExprKind::Field(field) => self.name(&field.name),
            // `tojson` reads fields that it does not name.
            ExprKind::Call(call) if call.function.node == "tojson" => self.pattern("*"),
            ExprKind::Call(call) => {
                expr.children().into_iter().for_each(|inner| self.expr(inner));
                // The text of `searchmatch` is a filter.
                if let ("searchmatch", [Expr { kind: ExprKind::String(text), .. }]) =
                    (call.function.node.as_str(), call.arguments.as_slice())
                    && let Ok(search) = spl::parse_search_terms(text)
                {
                    search.expr.iter().for_each(|expr| self.search(expr));
                }
            }
            _ => expr.children().into_iter().for_each(|inner| self.expr(inner)),
        }
    }
}

/// Returns the name of a field, or the default name if there is none.
pub fn field_or<'n>(field: &'n Option<Field>, default: &'n str) -> &'n str {
    field.as_ref().map_or(default, |field| field.node.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_once_in_the_order_of_their_first_mention() {
        let patterns =
            ["b", "a*", "a", "b", "c"].map(|text| FieldPattern::new(text, Span::default()));
        let mut required = RequiredFields::default();
        required.name("c");
        required.patterns(&patterns);
        required.name("a");
        required.merge(required.clone());
        assert_eq!(required.names, ["c", "b", "a"]);
        assert_eq!(required.patterns, ["a*", "a*"]);
    }

    #[test]
    fn a_pattern_means_the_names_that_it_fits() {
        for (pattern, name, means) in [
            ("user", "user", true),
            ("user", "users", false),
            ("us*", "user", true),
            ("us*", "house", false),
            ("*er", "user", true),
            ("u*r*", "user", true),
            ("a*a", "a", false),
            ("*", "", true),
        ] {
            assert_eq!(wildcard(pattern, name), means, "{pattern} {name}");
        }
    }
}
