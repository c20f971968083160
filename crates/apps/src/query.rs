//! Queries of collections: conditions as JSON, the order, the fields, and the page.
//!
//! A condition is `{"field": value}` or `{"field": {"$gt": value}}`, several of which all have to hold;
//! `$and`, `$or` and `$not` combine them. Fields of fields are written with dots.

use std::cmp::Ordering;

use serde_json::{Map, Value};

use crate::{Collection, Error};

/// Maximum depth of nested conditions.
const MAX_DEPTH: usize = 32;
/// Documents of one answer (`max_rows_per_query`).
const MAX_ROWS: usize = 50_000;

type Document = Map<String, Value>;

/// The condition of a query.
#[derive(Debug)]
pub struct Query(Condition);

#[derive(Debug)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Field(String, Test),
}

#[derive(Debug)]
enum Test {
    Is(Value),
    IsNot(Value),
    Ordered(fn(Ordering) -> bool, Value),
    In(Vec<Value>, bool),
    Exists(bool),
}

impl Query {
    /// Reads a condition; an empty text accepts every document.
    ///
    /// # Errors
    /// [`Error::Invalid`] for text that is not JSON, an unknown operator, or too deep nesting.
    pub fn parse(text: &str) -> Result<Self, Error> {
        if text.trim().is_empty() {
            return Ok(Self(Condition::All(Vec::new())));
        }
        let value: Value = serde_json::from_str(text)
            .map_err(|error| Error::Invalid(format!("the query is not valid JSON: {error}")))?;
        Self::of(&value)
    }

    /// Reads a condition from JSON.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn of(value: &Value) -> Result<Self, Error> {
        condition(value, 0).map(Self)
    }

    /// Whether the condition holds for a document.
    #[must_use]
    pub fn accepts(&self, document: &Document) -> bool {
        self.0.accepts(document)
    }
}

fn condition(value: &Value, depth: usize) -> Result<Condition, Error> {
    let Value::Object(members) = value else {
        return Err(Error::Invalid("a query is a JSON object".to_owned()));
    };
    if depth > MAX_DEPTH {
        return Err(Error::Invalid(format!("a query nests at most {MAX_DEPTH} deep")));
    }
    let list = |value: &Value| -> Result<Vec<Condition>, Error> {
        let items = value
            .as_array()
            .ok_or_else(|| Error::Invalid("$and and $or take a list of queries".to_owned()))?;
        items.iter().map(|item| condition(item, depth + 1)).collect()
    };
    let mut all = Vec::new();
    for (name, value) in members {
        match name.as_str() {
            "$and" => all.push(Condition::All(list(value)?)),
            "$or" => all.push(Condition::Any(list(value)?)),
            "$not" => all.push(Condition::Not(Box::new(condition(value, depth + 1)?))),
            name if name.starts_with('$') => {
                return Err(Error::Invalid(format!("a query has no {name}")));
            }
            name => tests(name, value, &mut all)?,
        }
    }
    Ok(Condition::All(all))
}

/// The conditions on one field.
fn tests(name: &str, value: &Value, all: &mut Vec<Condition>) -> Result<(), Error> {
    let is_tests = |members: &Map<String, Value>| members.keys().any(|key| key.starts_with('$'));
    let members = match value {
        Value::Object(members) if is_tests(members) => members,
        _ => {
            all.push(Condition::Field(name.to_owned(), Test::Is(value.clone())));
            return Ok(());
        }
    };
    for (operator, value) in members {
        let wanted = value.clone();
        let items = || {
            let items = value.as_array().cloned();
            items.ok_or_else(|| Error::Invalid(format!("{operator} takes a list")))
        };
        let test = match operator.as_str() {
            "$eq" => Test::Is(wanted),
            "$ne" => Test::IsNot(wanted),
            "$gt" => Test::Ordered(Ordering::is_gt, wanted),
            "$gte" => Test::Ordered(Ordering::is_ge, wanted),
            "$lt" => Test::Ordered(Ordering::is_lt, wanted),
            "$lte" => Test::Ordered(Ordering::is_le, wanted),
            "$in" => Test::In(items()?, true),
            "$nin" => Test::In(items()?, false),
            "$exists" => Test::Exists(value.as_bool().unwrap_or(true)),
            other => return Err(Error::Invalid(format!("a query has no {other}"))),
        };
        all.push(Condition::Field(name.to_owned(), test));
    }
    Ok(())
}

impl Condition {
    fn accepts(&self, document: &Document) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|c| c.accepts(document)),
            Self::Any(conditions) => conditions.iter().any(|c| c.accepts(document)),
            Self::Not(condition) => !condition.accepts(document),
            Self::Field(name, test) => test.accepts(field(document, name)),
        }
    }
}

impl Test {
    fn accepts(&self, value: Option<&Value>) -> bool {
        match self {
            Self::Is(Value::Null) => value.is_none_or(Value::is_null),
            Self::Is(wanted) => value.is_some_and(|value| is(value, wanted)),
            Self::IsNot(wanted) => !value.is_some_and(|value| is(value, wanted)),
            Self::Ordered(fits, wanted) => {
                value.and_then(|value| compare(value, wanted)).is_some_and(fits)
            }
            Self::In(wanted, inside) => {
                value.is_some_and(|value| wanted.iter().any(|w| is(value, w))) == *inside
            }
            Self::Exists(wanted) => value.is_some() == *wanted,
        }
    }
}

/// Whether a value is the wanted one, or a list that has it.
fn is(value: &Value, wanted: &Value) -> bool {
    match value {
        Value::Array(items) if !wanted.is_array() => items.iter().any(|item| is(item, wanted)),
        Value::Number(_) => compare(value, wanted) == Some(Ordering::Equal),
        _ => value == wanted,
    }
}

/// The order of two values of one type.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(a.as_f64()?.total_cmp(&b.as_f64()?)),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// A field of a document, or a field of a field.
fn field<'d>(document: &'d Document, name: &str) -> Option<&'d Value> {
    if let Some(value) = document.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    field(document.get(first)?.as_object()?, rest)
}

/// The order of documents: `field`, `field:1` or `field:-1`, with commas between.
#[derive(Debug)]
struct Order(Vec<(String, bool)>);

impl Order {
    fn parse(text: &str) -> Self {
        let keys = text.split(',').map(str::trim).filter(|key| !key.is_empty());
        Self(
            keys.map(|key| match key.split_once(':') {
                Some((name, direction)) => (name.to_owned(), direction.trim() == "-1"),
                None => (key.to_owned(), false),
            })
            .collect(),
        )
    }

    fn compare(&self, a: &Document, b: &Document) -> Ordering {
        for (name, descending) in &self.0 {
            let order = order_of(field(a, name), field(b, name));
            let order = if *descending { order.reverse() } else { order };
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }
}

/// Orders absent values before numbers, numbers before texts, and texts before other values.
fn order_of(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    let rank = |value: Option<&Value>| match value {
        None | Some(Value::Null) => 0,
        Some(Value::Number(_)) => 1,
        Some(Value::String(_)) => 2,
        Some(_) => 3,
    };
    let both = a.zip(b).and_then(|(a, b)| compare(a, b));
    both.unwrap_or_else(|| rank(a).cmp(&rank(b)))
}

/// The selected fields: `a,b` or `a:1` includes only those, `c:0` includes all but that one.
#[derive(Debug)]
struct Projection {
    wanted: Vec<String>,
    hidden: Vec<String>,
}

impl Projection {
    fn parse(text: &str) -> Self {
        let mut projection = Self { wanted: Vec::new(), hidden: Vec::new() };
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name.split_once(':') {
                // MongoDB's name of `_key` is `_id`.
                Some((name, "0")) => {
                    projection.hidden.push(name.replace("_id", "_key"));
                }
                Some((name, _)) => projection.wanted.push(name.to_owned()),
                None => projection.wanted.push(name.to_owned()),
            }
        }
        projection
    }

    fn keep(&self, mut document: Document) -> Document {
        let is_key = |name: &String| name == "_key";
        if !self.wanted.is_empty() {
            document.retain(|name, _| self.wanted.contains(name) || is_key(name));
        }
        document.retain(|name, _| !self.hidden.contains(name));
        document
    }
}

/// The order, the fields and the part of the documents that a query returns.
#[derive(Debug)]
pub struct Page {
    order: Order,
    projection: Projection,
    limit: usize,
    skip: usize,
}

impl Page {
    /// Reads `sort`, `fields`, `limit` and `skip`, as `value` has them. A page has at most 50,000 documents.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a limit or skip that is not a whole number.
    pub fn of(value: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let number = |name: &str| -> Result<usize, Error> {
            let Some(text) = value(name) else { return Ok(0) };
            let wrong = || Error::Invalid(format!("{name} must be a whole number of 0 or more"));
            text.parse().map_err(|_| wrong())
        };
        let limit = match number("limit")? {
            0 => MAX_ROWS,
            limit => limit.min(MAX_ROWS),
        };
        Ok(Self {
            order: Order::parse(&value("sort").unwrap_or_default()),
            projection: Projection::parse(&value("fields").unwrap_or_default()),
            limit,
            skip: number("skip")?,
        })
    }

    /// The documents of the page that the query accepts.
    #[must_use]
    pub fn select(&self, query: &Query, all: &Collection) -> Vec<Value> {
        let mut found: Vec<&Document> =
            all.values().filter(|document| query.accepts(document)).collect();
        found.sort_by(|a, b| self.order.compare(a, b));
        let page = found.into_iter().skip(self.skip).take(self.limit);
        page.map(|document| Value::Object(self.projection.keep(document.clone()))).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(value: Value) -> Document {
        value.as_object().cloned().unwrap()
    }

    fn accepts(query: &str) -> bool {
        let document = document(json!({
            "n": 10, "name": "ann", "tags": ["a", "b"], "at": {"city": "Ulm"}, "on": true,
        }));
        Query::parse(query).unwrap().accepts(&document)
    }

    #[test]
    fn conditions_are_about_values_of_the_same_type() {
        for query in [
            "",
            "{}",
            r#"{"n": 10, "name": "ann"}"#,
            r#"{"n": {"$gt": 9, "$lte": 10.0}}"#,
            r#"{"tags": "b", "at.city": "Ulm"}"#,
            r#"{"$or": [{"n": 1}, {"on": true}]}"#,
            r#"{"$not": {"n": 11}, "x": {"$exists": false}, "y": null}"#,
            r#"{"name": {"$in": ["ann", "bob"]}}"#,
        ] {
            assert!(accepts(query), "{query}");
        }
        for query in [
            r#"{"n": "10"}"#,
            r#"{"n": {"$gt": "9"}}"#,
            r#"{"n": {"$ne": 10}}"#,
            r#"{"$and": [{"n": 10}, {"on": false}]}"#,
        ] {
            assert!(!accepts(query), "{query}");
        }
        assert!(Query::parse("[]").is_err() && Query::parse(r#"{"n": {"$near": 1}}"#).is_err());
    }

    #[test]
    fn documents_are_ordered_and_cut() {
        let mut all: Vec<Document> =
            [json!({"n": 2, "t": "b"}), json!({"t": "a"}), json!({"n": 10})]
                .into_iter()
                .map(document)
                .collect();
        let order = Order::parse("n:-1");
        all.sort_by(|a, b| order.compare(a, b));
        let numbers: Vec<Option<i64>> = all.iter().map(|d| d.get("n")?.as_i64()).collect();
        assert_eq!(numbers, [Some(10), Some(2), None]);
        let kept =
            Projection::parse("n,_id:0").keep(document(json!({"_key": "1", "n": 1, "t": 2})));
        assert_eq!(Value::Object(kept), json!({"n": 1}));
    }

    #[test]
    fn a_page_skips_and_limits_what_the_query_accepts() {
        let all: Collection = (1..=4)
            .map(|n| (n.to_string(), document(json!({"_key": n.to_string(), "n": n}))))
            .collect();
        let query = Query::parse(r#"{"n": {"$gt": 1}}"#).unwrap();
        let page = |pairs: &[(&str, &str)]| {
            let value = |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, v)| (*v).to_owned())
            };
            Page::of(value).map(|page| page.select(&query, &all))
        };
        let one = page(&[("sort", "n:-1"), ("skip", "1"), ("limit", "1"), ("fields", "n,_key:0")]);
        assert_eq!(one.unwrap(), [json!({"n": 3})]);
        assert_eq!(page(&[]).unwrap().len(), 3);
        assert!(page(&[("limit", "-1")]).unwrap_err().to_string().contains("limit"));
    }
}
