//! Reads the fields and tags from a schema and from the code for it, to compare them.

use std::collections::BTreeSet;

/// Returns `message.name = tag: kind` for every field of the schema; oneofs count as fields of their
/// message.
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

/// Returns the same for the structs of a source file.
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
