//! One `SELECT` that commands add to, and its text.

use spl::ast::FieldPattern;

use super::aggregate::plain;
use super::{Reason, identifier};

/// The type of an expression's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Number,
    Boolean,
    Time,
    List,
}

impl Kind {
    /// Whether its values are numbers.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Integer | Self::Number)
    }
}

/// A typed expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub sql: String,
    pub kind: Kind,
    /// The text of a literal.
    pub literal: Option<String>,
}

impl Value {
    /// Creates an expression that is not a literal.
    pub fn new(sql: impl Into<String>, kind: Kind) -> Self {
        Self { sql: sql.into(), kind, literal: None }
    }

    /// Returns the expression as a number.
    pub fn number(&self) -> Result<String, Reason> {
        match self.kind {
            Kind::Integer | Kind::Number => Ok(self.sql.clone()),
            Kind::Text => Ok(format!("TRY_CAST({} AS DOUBLE)", self.sql)),
            Kind::Time => Ok(format!("date_part('epoch', {})", self.sql)),
            Kind::Boolean => Err("a condition where a number is needed".to_owned()),
            Kind::List => Err("several values where a number is needed".to_owned()),
        }
    }

    /// Returns the expression as a text in SPL's notation.
    pub fn text(&self) -> Result<String, Reason> {
        match (self.kind, &self.literal) {
            (Kind::Text, _) => Ok(self.sql.clone()),
            (_, Some(text)) => Ok(super::literal(text)),
            (Kind::Integer, None) => Ok(format!("CAST({} AS VARCHAR)", self.sql)),
            _ => Err("a number with decimals, or a time, as a text".to_owned()),
        }
    }
}

/// The source of rows.
#[derive(Debug, Clone)]
pub enum From {
    Table(String),
    /// A subquery with its output columns.
    Query(String, Vec<String>),
}

/// A sort key.
#[derive(Debug, Clone)]
pub struct Key {
    /// The field.
    pub name: String,
    /// Its value when the rows were ordered.
    pub value: Value,
    pub descending: bool,
    /// Whether texts that are numbers are sorted as numbers.
    pub auto: bool,
}

impl Key {
    /// Returns the text of the key in `ORDER BY`.
    pub fn render(&self) -> String {
        let sql = &self.value.sql;
        let direction = if self.descending { " DESC" } else { "" };
        match (self.auto && self.value.kind == Kind::Text, self.descending) {
            (false, _) => format!("{sql}{direction} NULLS LAST"),
            (true, false) => {
                format!("TRY_CAST({sql} AS DOUBLE) NULLS LAST, {sql} NULLS LAST")
            }
            // Numbers come after other texts, and both before missing values.
            (true, true) => {
                format!("{sql} IS NULL, TRY_CAST({sql} AS DOUBLE) DESC NULLS FIRST, {sql} DESC")
            }
        }
    }
}

/// A `SELECT` under construction.
#[derive(Debug, Clone)]
pub struct Layer {
    pub from: From,
    pub filters: Vec<String>,
    /// Computed and renamed fields.
    pub env: Vec<(String, Value)>,
    /// The displayed fields, in order; `None` means all of the table and the computed ones.
    pub columns: Option<Vec<String>>,
    /// Columns of the table that are removed.
    pub dropped: Vec<String>,
    pub order: Vec<Key>,
    pub limit: Option<u64>,
}

impl Layer {
    /// Creates a `SELECT` of events, newest first.
    pub fn table(from: From) -> Self {
        let mut layer = Self::empty(from);
        layer.order = vec![layer.key("_time", true, false)];
        layer
    }

    /// Creates a `SELECT` from a subquery.
    pub fn query(text: String, columns: &[(String, Kind)]) -> Self {
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let mut layer = Self::empty(From::Query(text, names.clone()));
        layer.env = columns
            .iter()
            .map(|(name, kind)| (name.clone(), Value::new(identifier(name), *kind)))
            .collect();
        layer.columns = Some(names);
        layer
    }

    fn empty(from: From) -> Self {
        Self {
            from,
            filters: Vec::new(),
            env: Vec::new(),
            columns: None,
            dropped: Vec::new(),
            order: Vec::new(),
            limit: None,
        }
    }

    /// Returns the key that sorts by a field.
    pub fn key(&self, name: &str, descending: bool, auto: bool) -> Key {
        Key { name: name.to_owned(), value: self.field(name), descending, auto }
    }

    /// Returns the value of a field; null if it does not exist.
    pub fn field(&self, name: &str) -> Value {
        if let Some((_, value)) = self.env.iter().find(|(known, _)| known == name) {
            return value.clone();
        }
        let shown = self.columns.as_ref().is_none_or(|names| names.iter().any(|n| n == name));
        if !shown || self.dropped.iter().any(|dropped| dropped == name) {
            return Value::new("CAST(NULL AS VARCHAR)", Kind::Text);
        }
        let kind = match name {
            model::columns::TIME | model::columns::INDEX_TIME => Kind::Time,
            _ => Kind::Text,
        };
        Value::new(identifier(name), kind)
    }

    /// Sets a field.
    pub fn set(&mut self, name: &str, value: Value) {
        match self.env.iter_mut().find(|(known, _)| known == name) {
            Some((_, slot)) => *slot = value,
            None => self.env.push((name.to_owned(), value)),
        }
        if let Some(columns) = &mut self.columns
            && !columns.iter().any(|known| known == name)
        {
            columns.push(name.to_owned());
        }
    }

    /// Removes a field.
    pub fn remove(&mut self, name: &str) {
        self.env.retain(|(known, _)| known != name);
        match &mut self.columns {
            Some(columns) => columns.retain(|known| known != name),
            None => self.dropped.push(name.to_owned()),
        }
    }

    /// Estimates the length of its text.
    pub fn size(&self) -> usize {
        let from = match &self.from {
            From::Table(name) => name.len(),
            From::Query(text, _) => text.len(),
        };
        let computed: usize = self.env.iter().map(|(_, value)| value.sql.len()).sum();
        from + computed + self.filters.iter().map(String::len).sum::<usize>()
    }

    /// Wraps the rows as the source of a new `SELECT`; `ordered` if their order is still needed.
    pub fn sealed(self, ordered: bool) -> Result<Self, Reason> {
        let order = self.order.clone();
        let visible = |key: &Key| match &self.columns {
            Some(columns) => columns.contains(&key.name),
            None => !self.dropped.contains(&key.name),
        };
        if ordered && !order.iter().all(|key| visible(key) && self.field(&key.name) == key.value) {
            return Err("it follows a limit, and what the rows are ordered by is gone".to_owned());
        }
        let text = if self.limit.is_some() { self.render() } else { self.select() };
        let mut sealed = match &self.columns {
            Some(names) => {
                let typed = names.iter().map(|name| (name.clone(), self.field(name).kind));
                Self::query(text, &typed.collect::<Vec<_>>())
            }
            None => {
                let mut open = Self::empty(From::Query(text, Vec::new()));
                let named = |(name, value): &(String, Value)| {
                    (name.clone(), Value::new(identifier(name), value.kind))
                };
                open.env = self.env.iter().map(named).collect();
                open
            }
        };
        if ordered {
            sealed.order =
                order.iter().map(|key| sealed.key(&key.name, key.descending, key.auto)).collect();
        }
        Ok(sealed)
    }

    /// Wraps the rows if they have a limit.
    pub fn unlimited(self) -> Result<Self, Reason> {
        if self.limit.is_some() { self.sealed(true) } else { Ok(self) }
    }

    /// Keeps only these fields. Unknown fields are null.
    pub fn keep(&mut self, names: Vec<String>) {
        let values: Vec<Value> = names.iter().map(|name| self.field(name)).collect();
        self.env = names.iter().cloned().zip(values).collect();
        self.columns = Some(names);
        self.dropped.clear();
    }

    /// Sets a field, in place of the column of the table if it is one that every event has.
    pub fn replace(&mut self, name: &str, value: Value) {
        if self.columns.is_none() && is_fixed(name) {
            self.dropped.push(name.to_owned());
        }
        self.set(name, value);
    }

    /// Returns the select list.
    pub fn list(&self) -> String {
        let item = |name: &String, value: &Value| {
            let quoted = identifier(name);
            if value.sql == quoted { quoted } else { format!("{} AS {quoted}", value.sql) }
        };
        if let Some(columns) = &self.columns {
            let items = columns.iter().map(|name| item(name, &self.field(name)));
            return items.collect::<Vec<_>>().join(", ");
        }
        let mut items = vec!["*".to_owned()];
        if !self.dropped.is_empty() {
            let dropped: Vec<String> = self.dropped.iter().map(|name| identifier(name)).collect();
            items[0] = format!("* EXCEPT ({})", dropped.join(", "));
        }
        // What a query below computes is among its columns.
        let of_query = matches!(self.from, From::Query(..));
        let new = |entry: &&(String, Value)| !of_query || entry.1.sql != identifier(&entry.0);
        items.extend(self.env.iter().filter(new).map(|(name, value)| item(name, value)));
        items.join(", ")
    }

    /// Returns the text behind `FROM`.
    pub fn source_text(&self) -> String {
        match &self.from {
            From::Table(name) => name.clone(),
            From::Query(text, _) => format!("(\n{}\n)", indented(text)),
        }
    }

    /// Returns the `WHERE` clause on a line of its own; empty if there are no filters.
    pub fn where_text(&self) -> String {
        match self.filters.is_empty() {
            true => String::new(),
            false => format!("\nWHERE {}", self.filters.join("\n  AND ")),
        }
    }

    /// Returns the query without order and limit.
    fn select(&self) -> String {
        if let (From::Query(text, names), Some(columns)) = (&self.from, &self.columns) {
            let same = |name: &String| self.field(name).sql == identifier(name);
            if names == columns && columns.iter().all(same) && self.filters.is_empty() {
                return text.clone();
            }
        }
        format!("SELECT {}\nFROM {}{}", self.list(), self.source_text(), self.where_text())
    }

    /// Returns the whole query.
    pub fn render(&self) -> String {
        let mut text = self.select();
        if !self.order.is_empty() {
            let keys: Vec<String> = self.order.iter().map(Key::render).collect();
            text.push_str(&format!("\nORDER BY {}", keys.join(", ")));
        }
        if let Some(limit) = self.limit {
            text.push_str(&format!("\nLIMIT {limit}"));
        }
        text
    }
}

/// Columns that every event has.
fn is_fixed(name: &str) -> bool {
    use model::columns as c;
    [c::TIME, c::INDEX_TIME, c::RAW, c::HOST, c::SOURCE, c::SOURCETYPE, c::INDEX].contains(&name)
}

/// Returns the names of fields; an error if one has wildcards.
pub fn names(fields: &[FieldPattern]) -> Result<Vec<String>, Reason> {
    fields.iter().map(|field| plain(&field.text, field.has_wildcard())).collect()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}
