//! Event types and tags: in a filter they stand for other filters, as fields they are computed.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::Arc;

use exprs::Typed;
use exprs::by_origin::names_that_hold;
use exprs::kernel::multi;
use exprs::predicate;
use exprs::required_fields::RequiredFields;
use frames::Frame;
use knowledge::{EventType, Knowledge, TaggedValue};
use spl::ast::{
    ComparisonOperator, PatternPart, SearchComparison, SearchExpr, SearchIn, SearchPattern,
    SearchValue, Span, Term,
};

use crate::planning::PlanningContext;
use crate::stanzas::Sourcetypes;
use frames::{Error, MessageKind};

/// The field with the names of event types.
pub const EVENTTYPE: &str = "eventtype";
/// The field with tags.
pub const TAG: &str = "tag";
/// Maximum nesting of event types.
const MAX_DEPTH: usize = 16;

/// Event types and tags of a configuration, parsed once, because installations with many add-ons have
/// thousands.
#[derive(Debug)]
struct Classes {
    event_types: Vec<ParsedType>,
    /// Indexes of event types by lower-case name.
    by_name: HashMap<String, Vec<usize>>,
    tags: Vec<TaggedValue>,
}

/// An event type with its parsed search, or the error.
#[derive(Debug)]
struct ParsedType {
    event_type: EventType,
    search: Result<SearchExpr, String>,
}

impl Classes {
    fn of(knowledge: &Knowledge) -> Self {
        let macros = crate::macros::Macros::of(knowledge);
        let parsed = |event_type: EventType| {
            let search = parsed(&event_type.search, &macros);
            ParsedType { event_type, search }
        };
        let event_types: Vec<_> = knowledge.event_types().into_iter().map(parsed).collect();
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, one) in event_types.iter().enumerate() {
            by_name.entry(one.event_type.name.to_lowercase()).or_default().push(at);
        }
        Self { event_types, by_name, tags: knowledge.tagged_values() }
    }

    /// Returns the event types whose names match a pattern, in order, case-insensitively.
    fn meant(&self, pattern: &SearchPattern) -> Vec<&ParsedType> {
        let text = pattern.text().to_lowercase();
        let mut places: Vec<usize> = match text.contains('*') {
            false => self.by_name.get(&text).cloned().unwrap_or_default(),
            true => {
                let fits = |name: &str| exprs::required_fields::wildcard(&text, name);
                let named = self.by_name.iter().filter(|(name, _)| fits(name));
                named.flat_map(|(_, places)| places.iter().copied()).collect()
            }
        };
        places.sort_unstable();
        places.into_iter().map(|at| &self.event_types[at]).collect()
    }

    /// Returns the event types whose names do not match.
    fn others(&self, pattern: &SearchPattern) -> Vec<&ParsedType> {
        let others = self.event_types.iter();
        others.filter(|one| !matches(pattern, &one.event_type.name)).collect()
    }
}

impl ParsedType {
    fn search(&self, span: Span) -> Result<&SearchExpr, Error> {
        self.search.as_ref().map_err(|reason| Error::at(reason.clone(), span))
    }
}

fn classes(env: &PlanningContext<'_>) -> Arc<Classes> {
    const FILES: &[&str] = &["eventtypes", "tags", "macros"];
    env.context.knowledge.compiled_of(FILES, Classes::of)
}

/// Replaces event types and tags in a filter by their definitions. An event type with an invalid search
/// matches nothing, with a warning.
pub fn expand(expr: &SearchExpr, env: &PlanningContext<'_>) -> Result<SearchExpr, Error> {
    Expansion { classes: &classes(env), env }.expr(expr, 0)
}

struct Expansion<'k> {
    classes: &'k Classes,
    env: &'k PlanningContext<'k>,
}

impl Expansion<'_> {
    fn expr(&self, expr: &SearchExpr, depth: usize) -> Result<SearchExpr, Error> {
        if depth > MAX_DEPTH {
            let message = "event types and tags refer to each other in a cycle";
            return Err(Error::at(message, expr.span()));
        }
        let all = |members: &[SearchExpr]| {
            members.iter().map(|member| self.expr(member, depth)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match expr {
            SearchExpr::And(members) => SearchExpr::And(all(members)?),
            SearchExpr::Or(members) => SearchExpr::Or(all(members)?),
            SearchExpr::Not(inner, span) => {
                SearchExpr::Not(Box::new(self.expr(inner, depth)?), *span)
            }
            SearchExpr::Comparison(comparison) => self.comparison(comparison, depth)?,
            SearchExpr::In(list) if is_class(&list.field.node) => {
                let any = list.values.iter().map(|value| {
                    let comparison = SearchComparison {
                        field: list.field.clone(),
                        operator: ComparisonOperator::Equal,
                        value: value.clone(),
                        span: list.span,
                    };
                    self.comparison(&comparison, depth)
                });
                let any = any_of(any.collect::<Result<_, _>>()?, list.span);
                match list.negated {
                    true => SearchExpr::Not(Box::new(any), list.span),
                    false => any,
                }
            }
            other => other.clone(),
        })
    }

    fn comparison(&self, comparison: &SearchComparison, depth: usize) -> Result<SearchExpr, Error> {
        let SearchComparison { field, operator, value, span } = comparison;
        if !is_class(&field.node) {
            return Ok(SearchExpr::Comparison(comparison.clone()));
        }
        let is_equal = match operator {
            ComparisonOperator::Equal => true,
            ComparisonOperator::NotEqual => false,
            other => {
                let message = format!("{} takes = or !=, not {}", field.node, other.symbol());
                return Err(Error::at(message, *span));
            }
        };
        // An event type that excludes another one would be among the others that `!=` means.
        if !is_equal && depth > 0 {
            let (field, value, operator) =
                (field.clone(), value.clone(), ComparisonOperator::Equal);
            let equal = SearchComparison { field, operator, value, span: *span };
            return Ok(SearchExpr::Not(Box::new(self.comparison(&equal, depth)?), *span));
        }
        let asked = Asked { pattern: &value.pattern, is_equal, span: *span };
        match field.node.strip_prefix("tag::") {
            Some(of) => self.tagged(Some(of), asked, depth),
            None if field.node == TAG => self.tagged(None, asked, depth),
            None => self.event_types(asked, depth),
        }
    }

    /// Returns a filter for events with one of the matching event types; with `!=`, for events that have an
    /// event type with another name, as for every field.
    fn event_types(&self, asked: Asked<'_>, depth: usize) -> Result<SearchExpr, Error> {
        let Asked { pattern, is_equal, span } = asked;
        let meant = match is_equal {
            true => self.classes.meant(pattern),
            false => self.classes.others(pattern),
        };
        let mut any = Vec::new();
        for found in meant {
            let event_type = &found.event_type;
            if is_equal {
                if let Some(expr) = unless_invalid(found.search(span), event_type, self.env)? {
                    any.push(self.expr(expr, depth + 1)?);
                }
            } else {
                // An error in an event type that the search does not name must not fail the search.
                let expr = found.search(span).and_then(|expr| self.expr(expr, depth + 1));
                any.extend(unless_invalid(expr, event_type, self.env)?);
            }
        }
        Ok(any_of(any, span))
    }

    /// Returns a filter for events with a tag, on a certain field or on any; with `!=`, for events with
    /// another tag.
    fn tagged(
        &self,
        field: Option<&str>,
        asked: Asked<'_>,
        depth: usize,
    ) -> Result<SearchExpr, Error> {
        let Asked { pattern, is_equal, span } = asked;
        let mut any = Vec::new();
        for tagged in &self.classes.tags {
            let meant = field.is_none_or(|field| field == tagged.field);
            if meant && tagged.tags.iter().any(|tag| matches(pattern, tag) == is_equal) {
                let comparison = SearchComparison {
                    field: spl::Spanned::new(tagged.field.clone(), span),
                    operator: ComparisonOperator::Equal,
                    value: SearchValue {
                        pattern: SearchPattern::literal(tagged.value.clone()),
                        quoted: true,
                        span,
                    },
                    span,
                };
                any.push(self.comparison(&comparison, depth + 1)?);
            }
        }
        Ok(any_of(any, span))
    }
}

/// A condition on an event type or tag.
#[derive(Clone, Copy)]
struct Asked<'p> {
    pattern: &'p SearchPattern,
    /// `=`, not `!=`.
    is_equal: bool,
    span: Span,
}

fn is_class(field: &str) -> bool {
    field == EVENTTYPE || field == TAG || field.starts_with("tag::")
}

/// Whether a wildcard pattern matches a name, case-insensitively.
fn matches(pattern: &SearchPattern, name: &str) -> bool {
    exprs::required_fields::wildcard(&pattern.text().to_lowercase(), &name.to_lowercase())
}

/// Returns the result, or logs a warning that an event type is skipped: an error in an app must not fail
/// searches.
fn unless_invalid<T>(
    result: Result<T, Error>,
    event_type: &EventType,
    env: &PlanningContext<'_>,
) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Invalid { message, .. }) => {
            let text = format!("the event type \"{}\" was left out: {message}", event_type.name);
            env.log.add(MessageKind::Warning, text);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Checks whether a search could be that of an event type.
///
/// # Errors
/// [`Error::Syntax`] or [`Error::Invalid`], with the place where there is one.
pub fn check_event_type(search: &str, knowledge: &Knowledge) -> Result<(), Error> {
    checked(search, &crate::macros::Macros::of(knowledge)).map(drop)
}

/// Parses the search of an event type.
fn parsed(search: &str, macros: &crate::macros::Macros<'_>) -> Result<SearchExpr, String> {
    checked(search, macros).map_err(|error| format!("its search is invalid: {error}"))
}

fn checked(search: &str, macros: &crate::macros::Macros<'_>) -> Result<SearchExpr, Error> {
    let options = spl::ParseOptions { macros: Some(macros), ..spl::ParseOptions::default() };
    let parsed = spl::parse_search_terms_with(search, &options)?;
    if parsed.expr.as_ref().is_some_and(|expr| expr.subsearch().is_some()) {
        return Err(Error::invalid_anywhere("event types cannot have subsearches"));
    }
    Ok(parsed.expr.unwrap_or_else(|| everything(Span::default())))
}

fn everything(span: Span) -> SearchExpr {
    let pattern = SearchPattern { parts: vec![PatternPart::Any] };
    SearchExpr::Term(Term { pattern, quoted: false, span })
}

/// Joins filters by `OR`; without members, the filter matches nothing.
fn any_of(mut members: Vec<SearchExpr>, span: Span) -> SearchExpr {
    match members.len() {
        0 => SearchExpr::Not(Box::new(everything(span)), span),
        1 => members.remove(0),
        _ => SearchExpr::Or(members),
    }
}

/// Returns the fields of event types and tags, if any are configured.
pub fn names(env: &PlanningContext<'_>) -> Vec<String> {
    let classes = classes(env);
    let tagged: BTreeSet<&str> = classes.tags.iter().map(|tagged| tagged.field.as_str()).collect();
    let mut names: Vec<String> = tagged.iter().map(|field| format!("tag::{field}")).collect();
    if !classes.tags.is_empty() {
        names.push(TAG.to_owned());
    }
    if !classes.event_types.is_empty() {
        names.push(EVENTTYPE.to_owned());
    }
    names
}

/// The event types and tags that a search needs as fields.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Indexes of the event types that some of the events may have; `None` if they are not needed.
    event_types: Option<Vec<usize>>,
    tags: bool,
    /// Whether event types were skipped that apply to other source types.
    pub is_part: bool,
    /// What the selected event types depend on.
    described: Described,
}

/// All that fields of event types or tags depend on besides the fields of events.
#[derive(Debug, Clone, Default)]
pub struct Described {
    /// The names and searches of the event types, and the tags. Two equal texts have the same meaning.
    pub text: String,
    /// The fields that are read.
    pub fields: RequiredFields,
}

impl Wanted {
    /// Whether event types and tags (in this order) are among the required fields.
    fn named(required: &RequiredFields, classes: &Classes) -> (bool, bool) {
        let named = |name: &str| required.names.iter().any(|required| required == name);
        let tag_field = |name: &String| name.starts_with("tag::");
        // If none are configured, these are ordinary fields.
        let tags = (named(TAG) || required.names.iter().any(tag_field)) && !classes.tags.is_empty();
        ((tags || named(EVENTTYPE)) && !classes.event_types.is_empty(), tags)
    }

    /// Selects all event types, for the rows of any search.
    pub fn event_types(env: &PlanningContext<'_>) -> Self {
        let all = (0..classes(env).event_types.len()).collect();
        let described = Described::default();
        Self { event_types: Some(all), tags: false, is_part: false, described }
    }

    /// Whether event types or tags are among the required fields.
    pub fn any(required: &RequiredFields, env: &PlanningContext<'_>) -> bool {
        let (event_types, tags) = Self::named(required, &classes(env));
        event_types || tags
    }

    /// Selects the required event types and tags for events of the source types `there` that match the filter
    /// of the search. Adds the fields that they read.
    pub fn of(
        required: &mut RequiredFields,
        there: Option<&Sourcetypes>,
        filter: Option<&SearchExpr>,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let classes = classes(env);
        let (event_types, tags) = Self::named(required, &classes);
        let mut found_types = event_types.then(Vec::new);
        let mut is_part = false;
        let mut described = Described::default();
        let fewer = there.and_then(|there| there.within(filter));
        if let Some(found_types) = &mut found_types {
            for (at, found) in classes.event_types.iter().enumerate() {
                env.context.planning.check()?;
                let expr = found.search(Span::default()).and_then(|expr| expand(expr, env));
                let Some(expr) = unless_invalid(expr, &found.event_type, env)? else { continue };
                if there.is_some_and(|there| !there.may_satisfy(&expr)) {
                    is_part = true;
                } else if fewer.as_ref().is_none_or(|fewer| fewer.may_satisfy(&expr)) {
                    described.event_type(&found.event_type.name, &expr);
                    found_types.push(at);
                }
            }
        }
        let event_types = found_types;
        required.merge(described.fields.clone());
        if tags {
            for tagged in &classes.tags {
                if tagged.field != EVENTTYPE {
                    required.name(&tagged.field);
                }
            }
        }
        Ok(Self { event_types, tags, is_part, described })
    }

    /// Returns the fields that [`Self::add`] sets.
    pub fn fields(&self, env: &PlanningContext<'_>) -> Vec<String> {
        let mut all = names(env);
        let event_types = self.event_types.is_some();
        all.retain(|name| if name == EVENTTYPE { event_types } else { self.tags });
        all
    }

    /// Whether [`Self::add`] may set a field of this name, or append to it.
    pub fn may_set(&self, name: &str) -> bool {
        is_class(name) && if name == EVENTTYPE { self.event_types.is_some() } else { self.tags }
    }

    /// Returns all that a field of [`Self::fields`] depends on, itself included, as its values are kept.
    pub fn described(&self, name: &str, env: &PlanningContext<'_>) -> Described {
        let Described { mut text, mut fields } = self.described.clone();
        fields.name(EVENTTYPE);
        if name != EVENTTYPE {
            for tagged in &classes(env).tags {
                // Writing to a text cannot fail.
                let _ = write!(text, "{:?}={:?} {:?};", tagged.field, tagged.value, tagged.tags);
                fields.name(&tagged.field);
            }
            fields.name(name);
        }
        Described { text, fields }
    }

    /// Adds the selected fields to a frame.
    pub fn add(self, mut frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        let classes = classes(env);
        if let Some(event_types) = &self.event_types {
            frame = event_type_field(frame, &classes, event_types, env)?;
        }
        if self.tags {
            frame = tag_fields(frame, &classes)?;
        }
        Ok(frame)
    }
}

impl Described {
    /// Adds an event type, the search of which is expanded.
    fn event_type(&mut self, name: &str, search: &SearchExpr) {
        // Writing to a text cannot fail.
        let _ = write!(self.text, "{name:?}:");
        write_search(search, &mut self.text);
        self.text.push(';');
        self.fields.search(search);
    }
}

/// Writes a search without positions, so that equal texts are equal searches.
fn write_search(expr: &SearchExpr, text: &mut String) {
    let sign = match expr {
        SearchExpr::And(_) => '&',
        SearchExpr::Or(_) => '|',
        SearchExpr::Not(..) => '!',
        part => return write_part(part, text),
    };
    text.push(sign);
    text.push('(');
    for member in expr.children() {
        write_search(member, text);
        text.push(',');
    }
    text.push(')');
}

fn write_part(part: &SearchExpr, text: &mut String) {
    let written = match part {
        SearchExpr::Term(Term { pattern, .. }) => write!(text, "term {:?}", pattern.parts),
        SearchExpr::Directive(one) => write!(text, "as {:?} {:?}", one.kind, one.pattern.parts),
        SearchExpr::Comparison(SearchComparison { field, operator, value, .. }) => {
            write!(text, "{:?} {operator:?} {:?}", field.node, value.pattern.parts)
        }
        SearchExpr::Cased(SearchComparison { field, value, .. }) => {
            write!(text, "{:?} case {:?}", field.node, value.pattern.parts)
        }
        SearchExpr::In(SearchIn { field, values, negated, .. }) => {
            let values: Vec<_> = values.iter().map(|value| &value.pattern.parts).collect();
            write!(text, "{:?} in {negated} {values:?}", field.node)
        }
        // An event type with such a part is left out.
        _ => write!(text, "none"),
    };
    debug_assert!(written.is_ok(), "writing to a text cannot fail");
}

/// Returns the names of the event types of each event, appended without duplicates to existing values.
fn event_type_field(
    frame: Frame,
    classes: &Classes,
    event_types: &[usize],
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let mut named = Vec::new();
    for found in event_types.iter().map(|at| &classes.event_types[*at]) {
        env.context.planning.check()?;
        let condition = found
            .search(Span::default())
            .and_then(|expr| expand(expr, env))
            .and_then(|expr| Ok(predicate::compile_search(&expr, &env.scope(&frame))?));
        let Some(condition) = unless_invalid(condition, &found.event_type, env)? else { continue };
        named.push((found.event_type.name.clone(), condition));
    }
    let own = frame.field(EVENTTYPE);
    let value = names_that_hold("event_types", named, own, &env.scope(&frame));
    frame.with_columns(vec![(EVENTTYPE.to_owned(), value)])
}

/// Adds the tags of each event: all in `tag`, those of a field in `tag::field`.
fn tag_fields(frame: Frame, classes: &Classes) -> Result<Frame, Error> {
    let mut fields: Vec<String> = Vec::new();
    let mut tags: HashMap<(usize, String), Vec<String>> = HashMap::new();
    for tagged in &classes.tags {
        let at = fields.iter().position(|field| *field == tagged.field).unwrap_or_else(|| {
            fields.push(tagged.field.clone());
            fields.len() - 1
        });
        tags.entry((at, tagged.value.to_lowercase()))
            .or_default()
            .extend(tagged.tags.iter().cloned());
    }
    let tags = Arc::new(tags);
    let mut values = Vec::new();
    let all: Vec<(String, Vec<usize>)> =
        std::iter::once((TAG.to_owned(), (0..fields.len()).collect()))
            .chain(fields.iter().enumerate().map(|(at, field)| (format!("tag::{field}"), vec![at])))
            .collect();
    for (name, places) in all {
        let mut arguments: Vec<Typed> = places.iter().map(|at| frame.field(&fields[*at])).collect();
        arguments.push(frame.field(&name));
        let parameters = format!("{name} {:p}", Arc::as_ptr(&tags));
        let tags = Arc::clone(&tags);
        let function = multi("tags", move |row, out| {
            row.value(places.len()).each_text(|text| out.append_value(text));
            let mut found: Vec<&String> = Vec::new();
            for (argument, at) in places.iter().enumerate() {
                row.value(argument).each_text(|text| {
                    if let Some(tags) = tags.get(&(*at, text.to_lowercase())) {
                        found.extend(tags);
                    }
                });
            }
            found.sort_unstable();
            found.dedup();
            found.iter().for_each(|tag| out.append_value(tag));
            Some(())
        });
        values.push((name, function.with(parameters).call(arguments)));
    }
    frame.with_columns(values)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn described(search: &str) -> String {
        let parsed = spl::parse_search_terms(search).unwrap().expr.unwrap();
        let mut described = Described::default();
        described.event_type("some", &parsed);
        described.text
    }

    #[test]
    fn searches_are_described_by_all_that_they_test() {
        let searches = [
            "a=1",
            "a!=1",
            "a<1",
            "a=1*",
            r#"a="1\*""#,
            "a=CASE(1)",
            "b=1",
            "1",
            "TERM(1)",
            "CASE(1)",
            "a IN (1, 2)",
            r#"a IN ("1, 2")"#,
            "NOT a=1",
            "a=1 b=2",
            "a=1 OR b=2",
            "a=1 (b=2 OR c=3)",
            "(a=1 b=2) OR c=3",
        ];
        for (at, one) in searches.iter().enumerate() {
            assert_eq!(described(one), described(&format!("  {one} ")), "positions do not count");
            for other in &searches[at + 1..] {
                assert_ne!(described(one), described(other), "{one} and {other}");
            }
        }
    }
}
