//! Reads fields and their numbers from a schema and from the code that stands for it, to compare them.

use std::collections::BTreeSet;

/// `message.name = tag: kind` of every field of the schema, oneofs without their own message.
pub(crate) fn in_schema(schema: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut message = "";
    for line in schema.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("message ") {
            message = rest.split([' ', '{']).next().unwrap_or_default();
        }
        if line.starts_with("enum ") {
            message = "";
        }
        let Some((left, tag)) = line.strip_suffix(';').and_then(|line| line.split_once(" = "))
        else {
            continue;
        };
        let words: Vec<_> = left.split(' ').collect();
        if message.is_empty() || words.len() < 2 {
            continue;
        }
        found.insert(format!("{} = {tag}", words[words.len() - 1]));
    }
    found
}

/// The same of the structs of a file.
pub(crate) fn in_code(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut tag = None;
    for line in code.split("#[cfg(test)]").next().unwrap_or_default().lines().map(str::trim) {
        if line.starts_with("#[prost(") && !line.contains("oneof") {
            tag = line.rsplit("tag = \"").next().and_then(|rest| rest.split('"').next());
        } else if let Some(tag) = tag.take() {
            let name = line.strip_prefix("pub ").unwrap_or(line);
            let name = name.split([':', '(']).next().unwrap_or_default().to_lowercase();
            found.insert(format!("{name} = {tag}"));
        }
    }
    found
}
