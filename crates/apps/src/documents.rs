//! Documents of collections: read, written and deleted; the types of their fields; which names a change
//! touches.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::collections::Change;
use crate::{Apps, Collection, ConfObject, Error, MAX_BATCH, Namespace};

/// The types of a collection's fields (`field.<name>` of `collections.conf`).
#[derive(Debug, Clone, Default)]
pub struct FieldTypes {
    /// Fields with their types, as they are declared. Unknown types are those of any value.
    types: Vec<(String, String)>,
    /// `enforceTypes`: whether documents with values of other types are refused.
    enforced: bool,
}

impl FieldTypes {
    /// The types that the collection's stanza declares.
    #[must_use]
    pub fn of(collection: &ConfObject) -> Self {
        let types = collection.settings.iter().filter_map(|(key, value)| {
            key.strip_prefix("field.").map(|field| (field.to_owned(), value.clone()))
        });
        let enforced = collection.get("enforceTypes").and_then(conf::boolean) == Some(true);
        Self { types: types.collect(), enforced }
    }

    /// The document as it is stored for `owner`: a text becomes a number, boolean or list where its field
    /// has that type and the text can be read as one.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the value is not a JSON object, or if types are enforced and a field has a value
    /// of another type.
    pub fn apply(&self, value: Value, owner: &str) -> Result<Map<String, Value>, Error> {
        let Value::Object(mut document) = value else {
            return Err(Error::Invalid("a document is a JSON object".to_owned()));
        };
        for (field, kind) in &self.types {
            let Some(value) = document.get_mut(field) else { continue };
            convert(value, kind, self.enforced);
            if self.enforced && !has_type(value, kind) {
                let given = type_of(value);
                let text = format!("{field}: expected the type {kind} (enforceTypes), not {given}");
                return Err(Error::Invalid(text));
            }
        }
        document.insert("_user".to_owned(), json!(owner));
        Ok(document)
    }
}

/// Whether a value has a type. Null has every type, as an absent field.
fn has_type(value: &Value, kind: &str) -> bool {
    value.is_null()
        || match kind {
            "number" | "time" => value.is_number(),
            "bool" => value.is_boolean(),
            "string" | "cidr" => value.is_string(),
            "array" => value.is_array(),
            _ => true,
        }
}

/// Returns the type of a value for messages: the value may have megabytes.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn convert(value: &mut Value, kind: &str, enforced: bool) {
    let Value::String(text) = &*value else { return };
    let converted = match kind {
        "number" | "time" => match serde_json::from_str(text.trim()) {
            Ok(Value::Number(number)) => Some(Value::Number(number)),
            _ => None,
        },
        "bool" if enforced => conf::boolean(text).map(Value::Bool),
        "bool" => Some(Value::Bool(conf::boolean(text) == Some(true))),
        "array" => serde_json::from_str(text).ok().filter(Value::is_array),
        _ => None,
    };
    if let Some(converted) = converted {
        *value = converted;
    }
}

/// Returns the names whose value is new, different or absent once `documents` replace those of `all`.
#[must_use]
pub fn changed_names(all: &Collection, documents: &[Map<String, Value>]) -> BTreeSet<String> {
    let none = Map::new();
    let mut names = BTreeSet::new();
    for document in documents {
        let key = document.get("_key").and_then(Value::as_str);
        let before = key.and_then(|key| all.get(key)).unwrap_or(&none);
        let gone = before.keys().filter(|name| !document.contains_key(*name));
        let other = document.iter().filter(|(name, value)| before.get(*name) != Some(*value));
        let changed = gone.chain(other.map(|(name, _)| name));
        // The server sets these two itself.
        names.extend(changed.filter(|name| !matches!(name.as_str(), "_key" | "_user")).cloned());
    }
    names
}

impl Apps {
    /// The documents of a collection, as of now.
    ///
    /// # Errors
    /// If object storage cannot be read.
    pub async fn documents(
        &self,
        namespace: &Namespace,
        collection: &str,
    ) -> Result<Arc<Collection>, Error> {
        self.kept_collections().documents(namespace, collection).await
    }

    /// Puts documents, in place of those with the same `_key`; those without one get one. Returns the
    /// keys in order.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are more than [`MAX_BATCH`], or object storage fails.
    pub async fn put_documents(
        &self,
        namespace: &Namespace,
        collection: &str,
        mut documents: Vec<Map<String, Value>>,
    ) -> Result<Vec<String>, Error> {
        if documents.len() > MAX_BATCH {
            let message =
                format!("a batch has at most {MAX_BATCH} documents, not {}", documents.len());
            return Err(Error::Invalid(message));
        }
        let mut keys = Vec::with_capacity(documents.len());
        for document in &mut documents {
            let key = match document.get("_key") {
                Some(Value::String(key)) if !key.is_empty() => key.clone(),
                Some(Value::Number(key)) => key.to_string(),
                _ => runtime::random::uuid().as_simple().to_string(),
            };
            document.insert("_key".to_owned(), Value::String(key.clone()));
            keys.push(key);
        }
        let changes = documents.into_iter().map(Change::Put).collect();
        self.kept_collections().change(namespace, collection, changes).await?;
        Ok(keys)
    }

    /// Replaces all documents of a collection.
    ///
    /// # Errors
    /// As [`Self::put_documents`].
    pub async fn replace_documents(
        &self,
        namespace: &Namespace,
        collection: &str,
        documents: Vec<Map<String, Value>>,
    ) -> Result<(), Error> {
        let mut changes = vec![Change::Clear];
        for mut document in documents {
            if document.get("_key").and_then(Value::as_str).is_none_or(str::is_empty) {
                let key = runtime::random::uuid().as_simple().to_string();
                document.insert("_key".to_owned(), Value::String(key));
            }
            changes.push(Change::Put(document));
        }
        self.kept_collections().change(namespace, collection, changes).await
    }

    /// Deletes documents by their keys; one that is not there is no error.
    ///
    /// # Errors
    /// If object storage fails.
    pub async fn delete_documents(
        &self,
        namespace: &Namespace,
        collection: &str,
        keys: Vec<String>,
    ) -> Result<(), Error> {
        let changes = keys.into_iter().map(Change::Delete).collect();
        self.kept_collections().change(namespace, collection, changes).await
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn document(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn texts_become_what_their_field_declares_where_they_can() {
        let types = ["n number", "on bool", "off bool", "list array", "word number"];
        let types = types.map(|text| text.split_once(' ').unwrap());
        let types = types.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        let types = FieldTypes { types, enforced: false };
        let (on, off) = ("enabled", "no");
        let given =
            json!({"n": " 4 ", "on": on, "off": off, "list": "[1]", "word": "four", "x": "5"});
        let stored = types.apply(given, "ann").unwrap();
        let expected = json!({
            "n": 4, "on": true, "off": false, "list": [1], "word": "four", "x": "5", "_user": "ann"
        });
        assert_eq!(Value::Object(stored), expected);
        assert!(types.apply(json!([]), "ann").is_err());
    }

    #[test]
    fn enforced_types_refuse_other_values() {
        let types = ["n number", "at time", "on bool", "list array", "word string", "x other"];
        let types = types.map(|text| text.split_once(' ').unwrap());
        let types = types.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec();
        let types = FieldTypes { types, enforced: true };
        let fits = json!({
            "n": "4", "at": 1.5, "on": "yes", "list": [1], "word": "four", "x": 5, "y": "any"
        });
        let stored = types.apply(fits, "ann").unwrap();
        assert_eq!((&stored["n"], &stored["on"]), (&json!(4), &json!(true)));
        assert!(types.apply(json!({"n": null}), "ann").is_ok());
        for wrong in [
            json!({"n": "abc"}),
            json!({"at": "today"}),
            json!({"on": "maybe"}),
            json!({"list": "[1"}),
            json!({"word": 4}),
        ] {
            let refused = types.apply(wrong.clone(), "ann").unwrap_err().to_string();
            assert!(refused.contains("enforceTypes"), "{wrong}: {refused}");
        }
        let refused = types.apply(json!({"n": "secret"}), "ann").unwrap_err().to_string();
        assert!(refused.contains("not a text") && !refused.contains("secret"), "{refused}");
    }

    #[test]
    fn names_that_are_new_different_or_absent_have_changed() {
        let before = document(json!({"_key": "1", "same": 1, "other": 1, "gone": 1}));
        let all = Collection::from([("1".to_owned(), before)]);
        let after = document(json!({"_key": "1", "_user": "a", "same": 1, "other": 2, "new": 1}));
        let changed = changed_names(&all, &[after]);
        assert_eq!(
            changed.iter().map(String::as_str).collect::<Vec<_>>(),
            ["gone", "new", "other"]
        );
    }
}
