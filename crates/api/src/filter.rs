//! `search=` of a collection: which of its entries are wanted.
//!
//! Words that occur somewhere in an entry, `field=value` with `*` in it, `AND`, `OR`, `NOT` and
//! parentheses. Upper and lower case are the same.

use access::like;
use serde_json::Value;

use crate::atom::Entry;
use crate::error::RestError;

/// Conditions may nest so deep.
const MAX_DEPTH: usize = 32;

/// A condition on entries.
#[derive(Debug)]
pub(crate) struct Filter(Node);

#[derive(Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Word(Pattern),
    Field(String, Pattern),
}

/// Text in lower case with `*` for anything.
#[derive(Debug)]
struct Pattern(String);

impl Filter {
    /// Reads a condition.
    ///
    /// # Errors
    /// Parentheses that do not fit.
    pub(crate) fn parse(text: &str) -> Result<Self, RestError> {
        let tokens = tokens(text);
        let mut parser = Parser { tokens: &tokens, at: 0 };
        let node = parser.any(0)?;
        if parser.at < tokens.len() {
            return Err(RestError::invalid(format!("search: unmatched parenthesis in \"{text}\"")));
        }
        Ok(Self(node))
    }

    pub(crate) fn accepts(&self, entry: &Entry) -> bool {
        self.0.accepts(entry)
    }
}

impl Node {
    fn accepts(&self, entry: &Entry) -> bool {
        match self {
            Self::All(nodes) => nodes.iter().all(|node| node.accepts(entry)),
            Self::Any(nodes) => nodes.iter().any(|node| node.accepts(entry)),
            Self::Not(node) => !node.accepts(entry),
            Self::Word(pattern) => {
                pattern.is_in(&entry.name)
                    || entry.content.values().any(|value| occurs(value, pattern))
            }
            Self::Field(name, pattern) => field(entry, name)
                .is_some_and(|values| values.iter().any(|value| pattern.is(value))),
        }
    }
}

fn occurs(value: &Value, pattern: &Pattern) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| occurs(item, pattern)),
        Value::Object(items) => items.values().any(|item| occurs(item, pattern)),
        Value::Null => false,
        other => pattern.is_in(&scalar(other)),
    }
}

/// The texts of a field: of the entry itself, of its access rules, of its content.
fn field(entry: &Entry, name: &str) -> Option<Vec<String>> {
    let value = match name {
        "name" | "title" => return Some(vec![entry.name.clone()]),
        "eai:acl.app" | "eai:appName" => return Some(vec![entry.acl.app.clone()]),
        "eai:acl.owner" | "author" => return Some(vec![entry.acl.owner.clone()]),
        "eai:acl.sharing" => return Some(vec![entry.acl.sharing.clone()]),
        name => entry.content.get(name)?,
    };
    Some(match value {
        Value::Array(items) => items.iter().map(scalar).collect(),
        other => vec![scalar(other)],
    })
}

/// A value as Splunk writes it: true is `1`.
pub(crate) fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self(text.to_lowercase())
    }

    /// Whether the pattern matches the whole text.
    fn is(&self, text: &str) -> bool {
        let boolean = match text {
            "1" => Some("true"),
            "0" => Some("false"),
            _ => None,
        };
        boolean == Some(self.0.as_str()) || like(&self.0, &text.to_lowercase())
    }

    /// Whether it occurs in the text.
    fn is_in(&self, text: &str) -> bool {
        like(&format!("*{}*", self.0), &text.to_lowercase())
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Word(String),
}

/// Splits into words and parentheses; quoted text is part of one word.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    let mut quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let ends = !quoted && (character.is_whitespace() || matches!(character, '(' | ')'));
        if ends && !word.is_empty() {
            tokens.push(Token::Word(std::mem::take(&mut word)));
        }
        match character {
            '"' => quoted = !quoted,
            '\\' if quoted => word.extend(characters.next()),
            '(' if !quoted => tokens.push(Token::Open),
            ')' if !quoted => tokens.push(Token::Close),
            _ if ends => {}
            _ => word.push(character),
        }
    }
    if !word.is_empty() {
        tokens.push(Token::Word(word));
    }
    tokens
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
}

impl Parser<'_> {
    fn takes(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Word(text)) if text == word);
        self.at += usize::from(found);
        found
    }

    fn any(&mut self, depth: usize) -> Result<Node, RestError> {
        let mut nodes = vec![self.all(depth)?];
        while self.takes("OR") {
            nodes.push(self.all(depth)?);
        }
        Ok(Node::Any(nodes))
    }

    fn all(&mut self, depth: usize) -> Result<Node, RestError> {
        let mut nodes = Vec::new();
        loop {
            match self.tokens.get(self.at) {
                None | Some(Token::Close) => break,
                Some(Token::Word(word)) if word == "OR" => break,
                Some(Token::Word(word)) if word == "AND" => self.at += 1,
                Some(_) => nodes.push(self.one(depth)?),
            }
        }
        Ok(Node::All(nodes))
    }

    fn one(&mut self, depth: usize) -> Result<Node, RestError> {
        if depth > MAX_DEPTH {
            return Err(RestError::invalid(format!("search: more than {MAX_DEPTH} parentheses")));
        }
        if self.takes("NOT") {
            return Ok(Node::Not(Box::new(self.one(depth + 1)?)));
        }
        let token = self.tokens.get(self.at);
        self.at += 1;
        match token {
            Some(Token::Open) => {
                let node = self.any(depth + 1)?;
                if self.tokens.get(self.at) != Some(&Token::Close) {
                    return Err(RestError::invalid("search: a parenthesis is not closed"));
                }
                self.at += 1;
                Ok(node)
            }
            Some(Token::Word(word)) => Ok(match word.split_once('=') {
                Some((name, value)) if name.ends_with('!') => {
                    let name = name.trim_end_matches('!').to_owned();
                    Node::Not(Box::new(Node::Field(name, Pattern::new(value))))
                }
                Some((name, value)) => Node::Field(name.to_owned(), Pattern::new(value)),
                None => Node::Word(Pattern::new(word)),
            }),
            Some(Token::Close) | None => Err(RestError::invalid("search: a term is missing")),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    fn accepts(search: &str) -> bool {
        let Value::Object(content) = json!({
            "label": "Search & Reporting", "visible": true, "roles": ["admin", "power"],
        }) else {
            return Map::<String, Value>::new().is_empty();
        };
        Filter::parse(search).unwrap().accepts(&Entry::new(
            "/services/apps/local",
            "Search",
            content,
        ))
    }

    #[test]
    fn words_occur_anywhere_and_fields_are_the_whole_value() {
        assert!(
            ["*", "sea", "REPORT", "name=search", "label=\"search & reporting\"", "roles=pow*"]
                .iter()
                .all(|search| accepts(search))
        );
        assert!(!["nothing", "name=sea", "label=search", "absent=*"].iter().any(|s| accepts(s)));
    }

    #[test]
    fn conditions_combine() {
        assert!(accepts("(name=x OR visible=1) AND NOT roles=user"));
        assert!(accepts("visible=true name!=y eai:acl.app=search"));
        assert!(!accepts("name=x OR (visible=1 AND roles=user)"));
        assert!(Filter::parse("(a").is_err() && Filter::parse("a)").is_err());
    }
}
