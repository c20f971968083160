//! Pruning: the part of a filter that excludes buckets and granules before any row is read.
//!
//! A [`Pruning`] is made of the filter's own expressions, so SPL and SQL prune alike. It only ever
//! leaves out what the filter rejects: whatever it does not understand may match.

use std::fmt;

use bucket::{MAX_TERM_BYTES, TermQuery};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use exprs::predicate::{Breakers, FieldList, FieldValue, Leaf, RegexTest, TermPattern, leaf};
use exprs::{ColumnComparison, column_comparison};
use model::{EventTime, IndexName, TimeRange, ValueCount, columns};
use plan::{ComparisonOperator, WordPattern};

use super::FIXED;
use super::stale::Stale;
use super::unit::Known;

/// The part of a filter that can be decided without rows.
#[derive(Debug, Clone)]
pub(super) struct Pruning {
    /// Events outside this range cannot match.
    pub(super) range: TimeRange,
    condition: Condition,
    countable: Option<Countable>,
}

/// A filter that determines the number of matching rows of whole granules: bounds of the time, names that all
/// rows of a bucket have, and at most one word, whose rows the term index counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Countable {
    names: Vec<(String, MetadataTest)>,
    pub(super) word: Option<String>,
}

/// A condition on a bucket.
#[derive(Debug, Clone)]
enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    /// Words in `_raw`.
    Raw(TermQuery),
    /// A field that exists and has these words in its value.
    Field {
        name: String,
        words: TermQuery,
    },
    /// A comparison of index, host, source or sourcetype.
    Metadata {
        column: String,
        test: MetadataTest,
    },
    /// No condition.
    Any,
}

#[derive(Debug, Clone)]
enum MetadataTest {
    Compare(ComparisonOperator, FieldValue),
    In(FieldList),
    Exactly(Vec<String>),
}

impl Pruning {
    pub(super) fn of(filters: &[Expr]) -> Self {
        let mut range = TimeRange::ALL;
        for filter in filters {
            narrow(filter, &mut range);
        }
        let condition = Condition::and(filters.iter().map(condition).collect());
        let mut countable = Countable::default();
        let countable = filters.iter().all(|filter| countable.add(filter)).then_some(countable);
        Self { range, condition, countable }
    }

    /// Returns the condition by which matching rows of this bucket can be counted without reading them,
    /// except for the range.
    pub(super) fn countable(&self, bucket: Known<'_>) -> Option<&Countable> {
        self.countable.as_ref().filter(|countable| {
            let all = |(column, test)| metadata(bucket, column, test, Rows::All) == Some(true);
            countable.names.iter().all(|(column, test)| all((column.as_str(), test)))
        })
    }

    /// Whether buckets may be countable, depending on their contents.
    pub(super) fn counts_buckets(&self) -> bool {
        self.countable.as_ref().is_some_and(|countable| countable.word.is_none())
    }

    /// Whether the header and summary of the bucket prove that no event can match.
    pub(super) fn excludes(&self, bucket: Known<'_>, rules_hold: bool) -> bool {
        !self.condition.may_hold(bucket, rules_hold)
    }

    /// Whether summaries may exclude buckets that headers do not.
    pub(super) fn asks_summaries(&self) -> bool {
        self.condition.asks_summaries()
    }

    /// Returns the query for the term index. It includes words of field values only if the rules with which
    /// the bucket was made are unchanged.
    pub(super) fn terms(&self, stale: &Stale) -> TermQuery {
        self.condition.terms(stale)
    }

    /// As [`Self::terms`], without the words that only host, source and source type must have.
    pub(super) fn text_terms(&self, stale: &Stale) -> TermQuery {
        self.condition.without_names().terms(stale)
    }

    /// As [`Self::terms`], for buckets of the current rules and for index data that is read in advance: a
    /// scan that only counts rows needs no term index where the summary has the number.
    pub(super) fn hinted_terms(&self, only_counts: bool) -> TermQuery {
        match only_counts && self.counts_buckets() {
            true => TermQuery::All,
            false => self.terms(&Stale::Nothing),
        }
    }
}

impl fmt::Display for Pruning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_query(&self.terms(&Stale::Nothing), f)
    }
}

/// Returns the query for the term index that filters result in, as text.
pub(crate) fn index_expression(filters: &[Expr]) -> String {
    Pruning::of(filters).to_string()
}

/// Writes a query as Splunk's inspector shows it: `[ AND error [ OR 10 20 ] ]`.
fn write_query(query: &TermQuery, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let list = |name: &str, parts: &[TermQuery], f: &mut fmt::Formatter<'_>| {
        write!(f, "[ {name}")?;
        for part in parts {
            f.write_str(" ")?;
            write_query(part, f)?;
        }
        f.write_str(" ]")
    };
    match query {
        TermQuery::And(parts) => list("AND", parts, f),
        TermQuery::Or(parts) => list("OR", parts, f),
        TermQuery::Word(word) => f.write_str(word),
        TermQuery::Prefix(prefix) => write!(f, "{prefix}*"),
        TermQuery::Pattern(pattern) => f.write_str(pattern),
        TermQuery::InRaw(inner) => write_query(inner, f),
        TermQuery::All => f.write_str("*"),
        TermQuery::Nothing => f.write_str("[ NONE ]"),
    }
}

impl Condition {
    fn and(parts: Vec<Self>) -> Self {
        Self::And(parts)
    }

    fn may_hold(&self, bucket: Known<'_>, rules_hold: bool) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.may_hold(bucket, rules_hold)),
            Self::Or(parts) => parts.iter().any(|part| part.may_hold(bucket, rules_hold)),
            Self::Field { name, .. } => {
                let may_have = bucket.summary.is_none_or(|summary| summary.field(name).is_some());
                !rules_hold || !bucket.header.fields_complete || may_have
            }
            Self::Metadata { column, test } => {
                metadata(bucket, column, test, Rows::Some) != Some(false)
            }
            Self::Raw(query) => *query != TermQuery::Nothing,
            Self::Any => true,
        }
    }

    fn asks_summaries(&self) -> bool {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::asks_summaries),
            Self::Field { .. } => true,
            Self::Metadata { column, .. } => [columns::HOST, columns::SOURCE].contains(&&**column),
            Self::Raw(_) | Self::Any => false,
        }
    }

    /// Returns the condition without comparisons of index, host, source and source type.
    fn without_names(&self) -> Self {
        let each = |parts: &[Self]| parts.iter().map(Self::without_names).collect();
        match self {
            Self::And(parts) => Self::And(each(parts)),
            Self::Or(parts) => Self::Or(each(parts)),
            Self::Metadata { .. } => Self::Any,
            other => other.clone(),
        }
    }

    fn terms(&self, stale: &Stale) -> TermQuery {
        match self {
            Self::And(parts) => {
                TermQuery::and(parts.iter().map(|part| part.terms(stale)).collect())
            }
            Self::Or(parts) => TermQuery::or(parts.iter().map(|part| part.terms(stale)).collect()),
            Self::Raw(query) => query.clone(),
            Self::Field { words, .. } => stale.terms(words),
            Self::Any => TermQuery::All,
            // Index names are not in the term index; the buckets were already selected by index.
            Self::Metadata { column, .. } if column == columns::INDEX => TermQuery::All,
            Self::Metadata { test, .. } => test.words(),
        }
    }
}

/// A filter that compares index, host, source or sourcetype.
#[derive(Debug, Clone)]
pub(super) struct NameTest {
    column: String,
    test: MetadataTest,
}

impl NameTest {
    /// Parses a filter as a name test; `None` if it is not one.
    pub(super) fn of(filter: &Expr) -> Option<Self> {
        match condition(filter) {
            Condition::Metadata { column, test } => Some(Self { column, test }),
            _ => None,
        }
    }

    /// Returns the result for all events of an index; `None` if the test is not about the index.
    pub(super) fn admits_index(&self, index: &IndexName) -> Option<bool> {
        (self.column == columns::INDEX).then(|| self.test.admits(index.as_str()))
    }

    /// Whether all events of a bucket pass.
    pub(super) fn admits_all(&self, bucket: Known<'_>) -> bool {
        metadata(bucket, &self.column, &self.test, Rows::All) == Some(true)
    }
}

/// The quantifier of a question about the rows of a bucket.
#[derive(Clone, Copy)]
enum Rows {
    Some,
    All,
}

/// Whether the test holds for some or all rows of the bucket; `None` if that is unknown.
fn metadata(bucket: Known<'_>, column: &str, test: &MetadataTest, rows: Rows) -> Option<bool> {
    fn hold<'a>(
        mut values: impl Iterator<Item = &'a str>,
        test: &MetadataTest,
        rows: Rows,
    ) -> bool {
        match rows {
            Rows::Some => values.any(|value| test.admits(value)),
            Rows::All => values.all(|value| test.admits(value)),
        }
    }
    let of =
        |values: &[ValueCount]| hold(values.iter().map(|known| known.value.as_str()), test, rows);
    match column {
        columns::HOST => bucket.summary.map(|summary| of(&summary.hosts)),
        columns::SOURCE => bucket.summary.map(|summary| of(&summary.sources)),
        columns::SOURCETYPE => match &bucket.header.shape {
            Some(shape) => Some(hold(shape.sourcetypes.iter().map(String::as_str), test, rows)),
            None => bucket.summary.map(|summary| of(&summary.sourcetypes)),
        },
        _ => Some(test.admits(bucket.header.index.as_str())),
    }
}

impl Countable {
    /// Adds a filter. Returns false if matching rows must be read.
    fn add(&mut self, filter: &Expr) -> bool {
        if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) = filter {
            return self.add(left) && self.add(right);
        }
        if bound(filter).is_some() || is_always_true(filter) {
            return true;
        }
        if let Some(Leaf::Term { pattern }) = leaf(filter) {
            let word = counted_word(pattern);
            let is_first = self.word.is_none();
            self.word = self.word.take().or(word.clone());
            return is_first && word.is_some();
        }
        match condition(filter) {
            Condition::Metadata { column, test } => {
                self.names.push((column, test));
                true
            }
            _ => false,
        }
    }
}

/// Whether a filter tests for a column that every event has.
fn is_always_true(filter: &Expr) -> bool {
    let Expr::IsNotNull(inner) = filter else { return false };
    matches!(inner.as_ref(), Expr::Column(column) if FIXED.contains(&column.name.as_str()))
}

/// Returns the word of a term if the term index can count its rows: no wildcards, no breakers inside, any
/// case. (The index folds a Kelvin sign to k, but the scan does not.)
fn counted_word(pattern: &TermPattern) -> Option<String> {
    let [WordPattern::Literal(word)] = pattern.pattern().parts.as_slice() else { return None };
    let plain = !pattern.case_sensitive() && pattern.breakers() == Breakers::Any;
    let is_word = || TermQuery::for_text(word) == TermQuery::Word(word.to_lowercase());
    (plain && word.to_lowercase().len() < MAX_TERM_BYTES && is_word()).then(|| word.clone())
}

impl MetadataTest {
    fn admits(&self, text: &str) -> bool {
        match self {
            Self::Compare(operator, value) => value.compare_text(*operator, text),
            Self::In(values) => values.contains_text(text),
            Self::Exactly(values) => values.iter().any(|value| value == text),
        }
    }

    /// Returns the words that every matching host, source or sourcetype has.
    fn words(&self) -> TermQuery {
        match self {
            Self::Compare(ComparisonOperator::Equal, value) => value_words(value),
            Self::Compare(..) => TermQuery::All,
            Self::In(values) => TermQuery::or(values.values().iter().map(value_words).collect()),
            Self::Exactly(values) => {
                TermQuery::or(values.iter().map(|value| TermQuery::for_text(value)).collect())
            }
        }
    }
}

fn condition(expr: &Expr) -> Condition {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            Condition::and(vec![condition(left), condition(right)])
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            Condition::Or(vec![condition(left), condition(right)])
        }
        // A bucket that may have matches may also have rows that do not match.
        Expr::Not(_) => Condition::Any,
        Expr::BinaryExpr(binary) => comparison(binary),
        _ => match column_comparison(expr) {
            Some(compared) => of_comparison(&compared),
            None => leaf(expr).map_or(Condition::Any, |leaf| of_leaf(&leaf)),
        },
    }
}

fn of_leaf(leaf: &Leaf<'_>) -> Condition {
    match leaf {
        Leaf::Term { pattern } => {
            Condition::Raw(TermQuery::for_wildcard(&pattern.pattern().text()).in_raw())
        }
        Leaf::Field { field, op, value } => {
            let test = MetadataTest::Compare(*op, (*value).clone());
            let words = match op {
                ComparisonOperator::Equal => value_words(value),
                _ => TermQuery::All,
            };
            of_field(field, test, words)
        }
        Leaf::In { field, values } => {
            let words = TermQuery::or(values.values().iter().map(value_words).collect());
            of_field(field, MetadataTest::In((*values).clone()), words)
        }
        Leaf::Regex { field, test } => of_regex(field, test),
        Leaf::Other => Condition::Any,
    }
}

/// Returns a condition that every match of a regular expression satisfies.
fn of_regex(field: &str, test: &RegexTest) -> Condition {
    let Some(literal) = test.literal() else { return Condition::Any };
    let words = TermQuery::for_wildcard(&format!("*{literal}*"));
    match field {
        columns::RAW => Condition::Raw(words.in_raw()),
        columns::HOST | columns::SOURCE | columns::SOURCETYPE => Condition::Raw(words),
        columns::TIME | columns::INDEX_TIME | columns::INDEX => Condition::Any,
        _ => Condition::Field { name: field.to_owned(), words },
    }
}

fn of_field(field: &str, test: MetadataTest, words: TermQuery) -> Condition {
    match field {
        columns::HOST | columns::SOURCE | columns::SOURCETYPE | columns::INDEX => {
            Condition::Metadata { column: field.to_owned(), test }
        }
        columns::TIME | columns::INDEX_TIME | columns::RAW => Condition::Any,
        _ => Condition::Field { name: field.to_owned(), words },
    }
}

/// Handles `column = 'text'` of SQL.
fn comparison(binary: &BinaryExpr) -> Condition {
    let (Expr::Column(column), Operator::Eq, Expr::Literal(value, _)) =
        (binary.left.as_ref(), binary.op, binary.right.as_ref())
    else {
        return Condition::Any;
    };
    let Some(Some(text)) = value.try_as_str() else { return Condition::Any };
    equals(&column.name, text)
}

/// Handles `column="text"` of `where`. A number has no words, because it also equals other notations: `7` is
/// `007`.
fn of_comparison(compared: &ColumnComparison<'_>) -> Condition {
    match (compared.operator, compared.number) {
        (ComparisonOperator::Equal, None) if !compared.text.is_empty() => {
            equals(compared.column, &compared.text)
        }
        _ => Condition::Any,
    }
}

/// Returns the condition that a value is exactly this text.
fn equals(field: &str, text: &str) -> Condition {
    of_field(field, MetadataTest::Exactly(vec![text.to_owned()]), TermQuery::for_text(text))
}

fn value_words(value: &FieldValue) -> TermQuery {
    // An address in a network need not share any segment with the text of the network.
    if value.is_network() {
        TermQuery::All
    } else {
        // A literal asterisk becomes a wildcard, which only widens.
        TermQuery::for_wildcard(&value.pattern().text())
    }
}

/// Narrows the range by bounds of `_time` that hold for every row.
fn narrow(expr: &Expr, range: &mut TimeRange) {
    if let Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) = expr {
        narrow(left, range);
        narrow(right, range);
    } else if let Some(bound) = bound(expr) {
        *range = range.intersect(&bound);
    }
}

/// Whether a filter is only a bound of the time.
pub(super) fn is_bound(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            is_bound(left) && is_bound(right)
        }
        _ => bound(expr).is_some(),
    }
}

/// Returns the range of times that satisfies a comparison of `_time`.
fn bound(expr: &Expr) -> Option<TimeRange> {
    let Expr::BinaryExpr(binary) = expr else { return None };
    let (Expr::Column(column), Expr::Literal(value, _)) =
        (binary.left.as_ref(), binary.right.as_ref())
    else {
        return None;
    };
    let ScalarValue::TimestampMicrosecond(Some(micros), _) = value else { return None };
    if column.name != columns::TIME {
        return None;
    }
    let after = EventTime(micros.saturating_add(1));
    let at = EventTime(*micros);
    let (earliest, latest) = match binary.op {
        Operator::GtEq => (at, EventTime::MAX),
        Operator::Gt => (after, EventTime::MAX),
        Operator::Lt => (EventTime::MIN, at),
        Operator::LtEq => (EventTime::MIN, after),
        Operator::Eq => (at, after),
        _ => return None,
    };
    Some(TimeRange { earliest, latest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_are_not_numbers_have_words_in_comparisons() {
        let of = |operator, text: &str, number| {
            let text = text.to_owned();
            let compared = ColumnComparison { column: "f", operator, text, number };
            of_comparison(&compared).terms(&Stale::Nothing)
        };
        let words = of(ComparisonOperator::Equal, "Web-1", None);
        assert_eq!(words, TermQuery::for_text("Web-1"));
        assert_ne!(words, TermQuery::All);
        assert_eq!(of(ComparisonOperator::NotEqual, "Web-1", None), TermQuery::All);
        assert_eq!(of(ComparisonOperator::Greater, "Web-1", None), TermQuery::All);
        assert_eq!(of(ComparisonOperator::Equal, "172975", Some(172_975.0)), TermQuery::All);
        assert_eq!(of(ComparisonOperator::Equal, "", None), TermQuery::All);
    }

    #[test]
    fn words_are_not_read_in_advance_where_summaries_have_the_number_of_rows() {
        let of = |word: Option<&str>| {
            let test = MetadataTest::Exactly(vec!["web1".to_owned()]);
            let countable = Countable { names: Vec::new(), word: word.map(str::to_owned) };
            Pruning {
                range: TimeRange::ALL,
                condition: Condition::Metadata { column: columns::HOST.to_owned(), test },
                countable: Some(countable),
            }
        };
        let words = of(None).terms(&Stale::Nothing);
        assert_ne!(words, TermQuery::All);
        assert_eq!(of(None).hinted_terms(true), TermQuery::All);
        assert_eq!(of(None).hinted_terms(false), words);
        assert_eq!(of(Some("error")).hinted_terms(true), words, "the term index counts its rows");
    }
}
