//! The grammar of `search`: NOT binds tightest, then OR, then AND, written or implied.
//!
//! Guarantees: time modifiers are removed from the boolean tree, except for those of single branches of OR.

use super::{Parsed, Parser};
use crate::ast::{
    ComparisonOperator, Directive, DirectiveKind, PatternPart, SearchCommand, SearchComparison,
    SearchComputed, SearchExpr, SearchIn, SearchPattern, SearchValue, Span, Spanned, Term,
    TimeModifier, TimeModifierKind,
};
use crate::diagnostic::shorten;

/// Fields whose `field::value` form is a comparison; elsewhere `::` is part of a word. They are those of
/// `model::columns::ORIGIN_AND_INDEX`, written out because this crate depends on no other.
const DOUBLE_COLON_FIELDS: [&str; 4] = ["host", "source", "sourcetype", "index"];

/// A part of a search text.
struct Piece {
    pattern: SearchPattern,
    quoted: bool,
    span: Span,
}

impl Parser<'_> {
    /// Reads up to the end of the command, or up to a word that `stop` accepts.
    pub(crate) fn search(&mut self, stop: fn(&mut Self) -> bool) -> Parsed<SearchCommand> {
        let mut time = Vec::new();
        let outer = self.time_format.take();
        let expr = if self.search_is_over(stop) { None } else { self.search_and(&mut time, stop)? };
        let format = std::mem::replace(&mut self.time_format, outer);
        if self.peek() == Some(')') {
            return Err(self.error("unbalanced brackets: ')' was not opened", self.here()));
        }
        let search = SearchCommand { expr, time };
        Ok(match format {
            Some(format) => super::time::formatted(search, &format),
            None => search,
        })
    }

    fn search_is_over(&mut self, stop: fn(&mut Self) -> bool) -> bool {
        self.skip_search_separators();
        self.at_end() || self.peek() == Some(')') || stop(self)
    }

    /// Skips blanks, and commas between terms.
    fn skip_search_separators(&mut self) {
        self.skip_separators();
    }

    fn search_and(
        &mut self,
        time: &mut Vec<TimeModifier>,
        stop: fn(&mut Self) -> bool,
    ) -> Parsed<Option<SearchExpr>> {
        let mut members = Vec::new();
        // A leading AND remains if the macro before it expands to nothing.
        let start = self.pos();
        while self.eat_operator("AND") {
            if self.search_is_over(stop) {
                self.pos = start;
                return Err(self.unexpected("a search term"));
            }
        }
        loop {
            members.extend(self.search_or(time, stop)?);
            if self.search_is_over(stop) {
                break;
            }
            if self.eat_operator("AND") && self.search_is_over(stop) {
                return Err(self.unexpected("a term after AND"));
            }
        }
        Ok(join(members, SearchExpr::And))
    }

    fn search_or(
        &mut self,
        time: &mut Vec<TimeModifier>,
        stop: fn(&mut Self) -> bool,
    ) -> Parsed<Option<SearchExpr>> {
        let mut branches = Vec::new();
        loop {
            let mut own = Vec::new();
            let member = self.search_not(&mut own)?;
            branches.push((member, own));
            if self.search_is_over(stop) || !self.eat_operator("OR") {
                break;
            }
            if self.search_is_over(stop) {
                return Err(self.unexpected("a term after OR"));
            }
        }
        if branches.len() == 1 {
            let only = branches.pop();
            return Ok(only.and_then(|(member, own)| {
                time.extend(own);
                member
            }));
        }
        let in_window = |(member, own): (Option<SearchExpr>, Vec<TimeModifier>)| {
            let times = join(own.into_iter().map(SearchExpr::Time).collect(), SearchExpr::And);
            SearchExpr::all(member, times)
        };
        Ok(join(branches.into_iter().filter_map(in_window).collect(), SearchExpr::Or))
    }

    fn search_not(&mut self, time: &mut Vec<TimeModifier>) -> Parsed<Option<SearchExpr>> {
        self.skip_space();
        let start = self.pos();
        if !self.eat_operator("NOT") {
            return self.search_primary(time);
        }
        let before = time.len();
        let inner = self.enter(|p| p.search_not(time))?;
        let span = self.span_from(start);
        if time.len() > before || inner.as_ref().is_some_and(SearchExpr::has_times) {
            return Err(self.error("a time modifier cannot be negated", span));
        }
        // A subsearch without rows gives `NOT ()`, which matches no events.
        let empty = self.slice(start, self.pos()).trim_end().ends_with(')');
        let inner = inner.or_else(|| empty.then(|| every_event(span)));
        let inner = inner.ok_or_else(|| self.error("NOT has nothing to negate", span))?;
        Ok(Some(SearchExpr::Not(Box::new(inner), span)))
    }

    /// Reads an upper-case operator if it is next as a separate word.
    fn eat_operator(&mut self, operator: &str) -> bool {
        self.skip_space();
        let Some(behind) = self.rest().strip_prefix(operator) else { return false };
        let next = behind.chars().next();
        let found = next.is_none_or(|c| c.is_whitespace() || "|()\"[],".contains(c));
        if found {
            self.pos += operator.len();
        }
        found
    }

    fn search_primary(&mut self, time: &mut Vec<TimeModifier>) -> Parsed<Option<SearchExpr>> {
        self.skip_space();
        match self.peek() {
            Some('(') => self.enter(|p| p.search_group(time)),
            Some('[') => self.text_subsearch().map(|found| Some(SearchExpr::Subsearch(found))),
            Some('=' | '<' | '>') => Err(self.unexpected("a field name before the operator")),
            Some('!') if self.rest().starts_with("!=") => {
                Err(self.unexpected("a field name before the operator"))
            }
            Some(']') => Err(self.error("unbalanced brackets: ']' was not opened", self.here())),
            None | Some('|' | ')') => Err(self.unexpected("a search term")),
            Some(_) => self.search_word(time),
        }
    }

    fn search_group(&mut self, time: &mut Vec<TimeModifier>) -> Parsed<Option<SearchExpr>> {
        let open = self.here();
        self.bump();
        if self.search_is_over(|_| false) {
            if self.peek() == Some(')') {
                self.bump();
                return Ok(None);
            }
            return Err(self.error("unbalanced brackets: '(' is not closed", open));
        }
        let inner = self.search_and(time, |_| false)?;
        if !self.eat(")") {
            return Err(self.error("unbalanced brackets: '(' is not closed", open));
        }
        Ok(inner)
    }

    fn search_word(&mut self, time: &mut Vec<TimeModifier>) -> Parsed<Option<SearchExpr>> {
        let start = self.pos();
        let piece = self.search_piece(is_term_end)?;
        let word = self.slice(start, self.pos());
        if word.is_empty() || matches!(word, "AND" | "OR") {
            self.pos = start;
            return Err(self.unexpected("a search term"));
        }
        if !piece.quoted && self.peek() == Some('(') {
            let kind = match word {
                "TERM" => Some(DirectiveKind::Term),
                "CASE" => Some(DirectiveKind::Case),
                _ => None,
            };
            if let Some(kind) = kind {
                return self.directive(kind, start).map(|d| Some(SearchExpr::Directive(d)));
            }
        }
        if let Some(operator) = self.comparison_operator() {
            let field = self.search_field(&piece)?;
            return self.comparison(field, operator, start, time);
        }
        if let Some(found) = self.search_in(&piece, start)? {
            return Ok(Some(SearchExpr::In(found)));
        }
        let older = || {
            let (name, value) = piece.pattern.as_literal()?.split_once("::")?;
            super::time::older_modifier(name, value).filter(|_| !piece.quoted)
        };
        if let Some((kind, value)) = older() {
            time.push(TimeModifier { kind, value, format: None, span: piece.span });
            return Ok(None);
        }
        if let Some(comparison) = double_colon(&piece) {
            let metadata = DOUBLE_COLON_FIELDS.contains(&comparison.field.node.as_str());
            let comparison = SearchExpr::Comparison(comparison);
            if metadata {
                return Ok(Some(comparison));
            }
            // This is an indexed field, or a text such as `fe80::1` or `std::vector`.
            let Piece { pattern, span, .. } = piece;
            let term = SearchExpr::Term(Term { pattern, quoted: true, span });
            return Ok(Some(SearchExpr::Or(vec![term, comparison])));
        }
        let Piece { pattern, quoted, span } = piece;
        // These words get quotes, which do not change the meaning of a term: without them, a following
        // bracket would look like a list, or the word would end the terms of `WHERE`.
        let seems =
            |word: &str| ["in", "by", "groupby"].iter().any(|k| k.eq_ignore_ascii_case(word));
        let quoted = quoted || pattern.as_literal().is_some_and(seems);
        Ok(Some(SearchExpr::Term(Term { pattern, quoted, span })))
    }

    /// Returns the name of a field; it may have wildcards, but no escaped asterisk.
    fn search_field(&self, piece: &Piece) -> Parsed<Spanned<String>> {
        if piece.pattern.literals().any(|literal| literal.contains('*')) {
            return Err(self.error("a field name cannot contain an escaped '*'", piece.span));
        }
        Ok(Spanned::new(piece.pattern.text(), piece.span))
    }

    /// Reads `=`, `!=`, `<` and so on, after blanks.
    pub(crate) fn comparison_operator(&mut self) -> Option<ComparisonOperator> {
        self.attempt(|p| {
            p.skip_space();
            let (operator, length) = match p.rest().as_bytes() {
                [b'=', b'=', ..] => (ComparisonOperator::Equal, 2),
                [b'!', b'=', ..] => (ComparisonOperator::NotEqual, 2),
                [b'<', b'=', ..] => (ComparisonOperator::LessOrEqual, 2),
                [b'>', b'=', ..] => (ComparisonOperator::GreaterOrEqual, 2),
                [b'=', ..] => (ComparisonOperator::Equal, 1),
                [b'<', ..] => (ComparisonOperator::Less, 1),
                [b'>', ..] => (ComparisonOperator::Greater, 1),
                _ => return None,
            };
            p.pos += length;
            Some(operator)
        })
    }

    fn comparison(
        &mut self,
        field: Spanned<String>,
        operator: ComparisonOperator,
        start: usize,
        time: &mut Vec<TimeModifier>,
    ) -> Parsed<Option<SearchExpr>> {
        self.skip_space();
        if field.node.is_empty() {
            return Err(self.error("field name is empty", field.span));
        }
        if self.peek() == Some('(') && operator == ComparisonOperator::Equal {
            if TimeModifierKind::ALL.iter().any(|kind| kind.name() == field.node) {
                let message = format!("time modifier '{}' takes one time, not a list", field.node);
                return Err(self.error(message, self.here()));
            }
            return self.value_group(&field).map(Some);
        }
        if self.peek() == Some('[') {
            let subsearch = self.text_subsearch()?;
            let computed = SearchComputed { field, operator, subsearch };
            return Ok(Some(SearchExpr::Computed(computed)));
        }
        if let Some(found) = self.directed_value(&field, operator, start)? {
            return Ok(Some(found));
        }
        let value = self.search_value(&field.node, operator)?;
        let span = self.span_from(start);
        // A time format contains conversions; a field named `timeformat` can have other values.
        if field.node == "timeformat" && operator == ComparisonOperator::Equal {
            let text = value.pattern.as_literal().filter(|text| text.contains('%'));
            if let Some(text) = text {
                self.time_format = Some(text.to_owned());
                return Ok(None);
            }
        }
        let modifier = TimeModifierKind::ALL.into_iter().find(|kind| kind.name() == field.node);
        let Some(kind) = modifier else {
            let older = super::time::older_modifier(&field.node, &value.pattern.text());
            if let (Some((kind, value)), ComparisonOperator::Equal) = (older, operator) {
                time.push(TimeModifier { kind, value, format: None, span });
                return Ok(None);
            }
            let comparison = SearchComparison { field, operator, value, span };
            return Ok(Some(SearchExpr::Comparison(comparison)));
        };
        let value = value.pattern.text();
        if let Some(message) = refused_bound(kind, operator, &value) {
            return Err(self.error(message, span));
        }
        time.push(TimeModifier { kind, value, format: None, span });
        Ok(None)
    }

    fn search_value(&mut self, field: &str, operator: ComparisonOperator) -> Parsed<SearchValue> {
        let expected = format!("a value after '{}{}'", shorten(field), operator.symbol());
        if self.at_end() || self.peek() == Some(')') {
            return Err(self.unexpected(&expected));
        }
        let Piece { pattern, quoted, span } = self.search_piece(is_value_end)?;
        if pattern.parts.is_empty() && !quoted {
            return Err(self.unexpected(&expected));
        }
        Ok(SearchValue { pattern, quoted, span })
    }

    /// Reads `CASE(value)` or `TERM(value)` after `=` or `!=`, if it is next, and returns its comparison with
    /// the field. For a value, `TERM` has no effect.
    fn directed_value(
        &mut self,
        field: &Spanned<String>,
        operator: ComparisonOperator,
        start: usize,
    ) -> Parsed<Option<SearchExpr>> {
        let kind = match self.rest() {
            rest if rest.starts_with("CASE(") => DirectiveKind::Case,
            rest if rest.starts_with("TERM(") => DirectiveKind::Term,
            _ => return Ok(None),
        };
        let begins = self.pos();
        self.pos += "CASE".len();
        let Directive { pattern, span: place, .. } = self.directive(kind, begins)?;
        if !matches!(operator, ComparisonOperator::Equal | ComparisonOperator::NotEqual) {
            return Err(self.error("a value in CASE() or TERM() takes only = and !=", place));
        }
        let name = field.node.as_str();
        let is_time = TimeModifierKind::ALL.iter().any(|known| known.name() == name)
            || super::time::older_modifier(name, &pattern.text()).is_some()
            || name == "timeformat";
        if is_time {
            let message = format!("'{}' does not take CASE() or TERM()", shorten(name));
            return Err(self.error(message, place));
        }
        let span = self.span_from(start);
        let compared = |by, pattern| SearchComparison {
            field: field.clone(),
            operator: by,
            value: SearchValue { pattern, quoted: true, span: place },
            span,
        };
        if kind == DirectiveKind::Term {
            return Ok(Some(SearchExpr::Comparison(compared(operator, pattern))));
        }
        let equal = compared(ComparisonOperator::Equal, pattern);
        let cased =
            SearchExpr::And(vec![SearchExpr::Comparison(equal.clone()), SearchExpr::Cased(equal)]);
        if operator == ComparisonOperator::Equal {
            return Ok(Some(cased));
        }
        let any = SearchPattern { parts: vec![PatternPart::Any] };
        let mut exists = compared(ComparisonOperator::Equal, any);
        exists.value.quoted = false;
        let differs = SearchExpr::Not(Box::new(cased), span);
        Ok(Some(SearchExpr::And(vec![SearchExpr::Comparison(exists), differs])))
    }

    /// Reads `field=(a OR b)`, short for `(field=a OR field=b)`.
    fn value_group(&mut self, field: &Spanned<String>) -> Parsed<SearchExpr> {
        self.bump();
        let mut members = Vec::new();
        loop {
            self.skip_space();
            let start = self.pos();
            let operator = ComparisonOperator::Equal;
            let value = self.search_value(&field.node, operator)?;
            let span = field.span.to(self.span_from(start));
            let field = field.clone();
            let comparison = SearchComparison { field, operator, value, span };
            members.push(SearchExpr::Comparison(comparison));
            if self.eat(")") {
                break;
            }
            if !self.eat_operator("OR") {
                return Err(self.unexpected("OR or ')' in the list of values"));
            }
        }
        let only = members.len() == 1;
        Ok(if only { members.remove(0) } else { SearchExpr::Or(members) })
    }

    fn search_in(&mut self, field: &Piece, start: usize) -> Parsed<Option<SearchIn>> {
        let rewind = self.pos();
        let negated = self.eat_operator("NOT");
        self.skip_space();
        let exact = self.rest().starts_with("IN");
        let is_list = self.eat_keyword("in") && self.eat("(");
        let values = if is_list { self.in_values(exact)? } else { None };
        let Some(values) = values else {
            self.pos = rewind;
            return Ok(None);
        };
        let span = self.span_from(start);
        if values.is_empty() {
            return Err(self.error("IN needs at least one value, as in x IN (1, 2)", span));
        }
        let field = self.search_field(field)?;
        if field.node.is_empty() {
            return Err(self.error("field name is empty", field.span));
        }
        Ok(Some(SearchIn { field, values, negated, span }))
    }

    /// Reads the values up to `)`. Returns `None` if the text after a lower-case `in` is not a list.
    fn in_values(&mut self, exact: bool) -> Parsed<Option<Vec<SearchValue>>> {
        let mut values = Vec::new();
        loop {
            self.skip_separators();
            if self.eat(")") {
                return Ok(Some(values));
            }
            if self.at_end() {
                return Err(self.unexpected("')' after the values of IN"));
            }
            let Piece { pattern, quoted, span } = self.search_piece(is_list_end)?;
            if pattern.parts.is_empty() && !quoted {
                return Err(self.unexpected("a value of IN"));
            }
            values.push(SearchValue { pattern, quoted, span });
            let followed = matches!(self.peek_behind_space(), Some(',' | ')'));
            if !exact && !followed {
                return Ok(None);
            }
        }
    }

    fn peek_behind_space(&mut self) -> Option<char> {
        self.skip_space();
        self.peek()
    }

    fn directive(&mut self, kind: DirectiveKind, start: usize) -> Parsed<Directive> {
        self.bump();
        self.skip_space();
        let piece = self.search_piece(|_, c| c == ')' || c == '"')?;
        if !self.eat(")") {
            return Err(self.unexpected("')' after the term"));
        }
        let span = self.span_from(start);
        let pattern = trim_end(piece.pattern);
        if pattern.parts.is_empty() {
            return Err(self.error("the directive contains no term", span));
        }
        Ok(Directive { kind, pattern, span })
    }

    /// Reads a quoted phrase, or a bare word up to `is_end`, with escapes and wildcards.
    fn search_piece(&mut self, is_end: fn(&str, char) -> bool) -> Parsed<Piece> {
        let start = self.pos();
        let quoted = self.peek() == Some('"');
        if quoted {
            self.bump();
        }
        let in_subsearch = self.brackets > 0;
        let mut builder = PatternBuilder::default();
        loop {
            let Some(c) = self.peek() else {
                if !quoted {
                    break;
                }
                self.pos = start;
                let span = self.here();
                return Err(self.error("unbalanced quotes: \" is not closed", span));
            };
            if quoted && c == '"' {
                self.bump();
                break;
            }
            if !quoted && (is_end(self.rest(), c) || (in_subsearch && c == ']')) {
                break;
            }
            self.bump();
            match (c, self.peek()) {
                ('\\', Some(next @ ('"' | '\\' | '*'))) => {
                    self.bump();
                    builder.literal(next);
                }
                ('*', _) => builder.any(),
                _ => builder.literal(c),
            }
        }
        Ok(Piece { pattern: builder.finish(), quoted, span: self.span_from(start) })
    }
}

/// Parses a text such as `"a*"` or `a\*` in other commands as a search pattern.
pub(crate) fn pattern_of(text: &str) -> SearchPattern {
    let mut builder = PatternBuilder::default();
    for c in text.chars() {
        if c == '*' { builder.any() } else { builder.literal(c) }
    }
    builder.finish()
}

#[derive(Default)]
struct PatternBuilder {
    parts: Vec<PatternPart>,
}

impl PatternBuilder {
    fn literal(&mut self, c: char) {
        if let Some(PatternPart::Literal(text)) = self.parts.last_mut() {
            text.push(c);
        } else {
            self.parts.push(PatternPart::Literal(c.into()));
        }
    }

    fn any(&mut self) {
        if self.parts.last() != Some(&PatternPart::Any) {
            self.parts.push(PatternPart::Any);
        }
    }

    fn finish(self) -> SearchPattern {
        SearchPattern { parts: self.parts }
    }
}

/// Returns `*`.
fn every_event(span: Span) -> SearchExpr {
    let pattern = SearchPattern { parts: vec![PatternPart::Any] };
    SearchExpr::Term(Term { pattern, quoted: false, span })
}

fn trim_end(mut pattern: SearchPattern) -> SearchPattern {
    if let Some(PatternPart::Literal(text)) = pattern.parts.last_mut() {
        text.truncate(text.trim_end().len());
        if text.is_empty() {
            pattern.parts.pop();
        }
    }
    pattern
}

fn is_term_end(rest: &str, c: char) -> bool {
    is_value_end(rest, c) || "=<>".contains(c) || (c == '!' && rest.starts_with("!="))
}

fn is_value_end(rest: &str, c: char) -> bool {
    let is_end = |c: char| c.is_whitespace() || "|()\"[]".contains(c);
    // A comma inside of a word is a part of it; a comma after a word is a separator.
    is_end(c) || (c == ',' && rest[1..].chars().next().is_none_or(|c| is_end(c) || c == ','))
}

fn is_list_end(_rest: &str, c: char) -> bool {
    c.is_whitespace() || "|,()\"[]".contains(c)
}

fn join(
    mut members: Vec<SearchExpr>,
    combine: fn(Vec<SearchExpr>) -> SearchExpr,
) -> Option<SearchExpr> {
    match members.len() {
        0 | 1 => members.pop(),
        _ => Some(combine(members)),
    }
}

/// Returns why a time modifier cannot have this operator; `None` if it can. `earliest>=-1d` and `latest<@d`
/// are `=` in other words. A number may also be meant for a field of this name, such as a result of `stats`.
fn refused_bound(
    kind: TimeModifierKind,
    operator: ComparisonOperator,
    value: &str,
) -> Option<String> {
    use ComparisonOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};
    let name = kind.name();
    let (others, bounds) = match kind {
        TimeModifierKind::Earliest | TimeModifierKind::IndexEarliest => {
            ("'>' and '>='", [Greater, GreaterOrEqual])
        }
        TimeModifierKind::Latest | TimeModifierKind::IndexLatest => {
            ("'<' and '<='", [Less, LessOrEqual])
        }
    };
    if operator == Equal {
        return None;
    }
    if !bounds.contains(&operator) {
        return Some(format!("time modifier '{name}' takes only '=', {others}"));
    }
    value.parse::<f64>().is_ok().then(|| {
        format!("time modifier '{name}' takes only '=' before a number; compare a field with where")
    })
}

/// Converts `host::web1` to `host=web1`.
fn double_colon(piece: &Piece) -> Option<SearchComparison> {
    let [PatternPart::Literal(first), rest @ ..] = piece.pattern.parts.as_slice() else {
        return None;
    };
    let (name, value) = first.split_once("::")?;
    let is_name = |c: char| c.is_alphanumeric() || "_.-{}".contains(c);
    if piece.quoted || name.is_empty() || !name.chars().all(is_name) {
        return None;
    }
    let mut parts = Vec::new();
    if !value.is_empty() {
        parts.push(PatternPart::Literal(value.to_owned()));
    }
    parts.extend_from_slice(rest);
    let span = piece.span;
    (!parts.is_empty()).then(|| SearchComparison {
        field: Spanned::new(name.to_owned(), span),
        operator: ComparisonOperator::Equal,
        value: SearchValue { pattern: SearchPattern { parts }, quoted: false, span },
        span,
    })
}
