//! Data models: datasets that inherit from each other, as the JSON files of apps describe them.
//!
//! Guarantees: a dataset has its own constraints and fields and all inherited ones; the full name of a field
//! is the dataset that declares it and its own name, as in `Web.status`. Leaves to others: running the
//! searches.

use std::collections::{HashMap, HashSet};

use model::columns;
use serde::Deserialize;

use crate::knowledge::Knowledge;

/// The parent of root transactions.
const TRANSACTION: &str = "BaseTransaction";

/// A data model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataModel {
    /// Its name.
    pub name: String,
    /// Its app.
    pub app: String,
    /// Its description, for users.
    pub description: String,
    /// Its datasets; parents come before their children.
    pub datasets: Vec<Dataset>,
    /// Its definition in JSON.
    pub json: String,
}

/// A dataset of a model, with inherited constraints and fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// Its name.
    pub name: String,
    /// The names of its ancestors from the root, and its own name.
    pub lineage: Vec<String>,
    /// Searches that an event must all match; those of parents come first.
    pub constraints: Vec<String>,
    /// The complete search of the dataset, instead of constraints.
    pub base_search: Option<String>,
    /// Whether its root groups events of other datasets into transactions, which is not supported.
    pub transaction: bool,
    /// Its fields, inherited ones first.
    pub fields: Vec<ModelField>,
    /// The calculations of its fields, in order.
    pub calculations: Vec<Calculation>,
}

/// A field of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelField {
    /// Its name in events.
    pub name: String,
    /// The dataset that declares it.
    pub owner: String,
    /// Whether a calculation produces it.
    pub calculated: bool,
}

impl ModelField {
    /// Returns the full name, such as `Web.status`; fields that every event has keep their own name.
    #[must_use]
    pub fn full_name(&self) -> String {
        match is_inherent(&self.name) {
            true => self.name.clone(),
            false => format!("{}.{}", self.owner, self.name),
        }
    }
}

/// Returns whether every event has the field, so that its full name is its own name.
fn is_inherent(name: &str) -> bool {
    columns::ALL.contains(&name)
}

/// A calculation of fields of a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calculation {
    /// Computes a field with an expression.
    Eval {
        /// The field.
        field: String,
        /// The expression.
        expression: String,
    },
    /// Extracts fields with the groups of a regular expression.
    Rex {
        /// The field to which the expression is applied.
        input: String,
        /// The expression.
        expression: String,
    },
    /// Adds fields with a lookup; the text has the arguments of the command `lookup`.
    Lookup(String),
}

impl Dataset {
    /// Returns the field with this name: the full name, or the field's own name if dataset names are left
    /// out.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&ModelField> {
        let full = self.fields.iter().find(|field| field.full_name() == name);
        full.or_else(|| self.fields.iter().find(|field| field.name == name))
    }
}

impl DataModel {
    /// Returns the dataset with this name; the root if there is no name.
    #[must_use]
    pub fn dataset(&self, name: Option<&str>) -> Option<&Dataset> {
        match name {
            None => self.datasets.first(),
            Some(name) => {
                let last = name.rsplit('.').next().unwrap_or(name);
                self.datasets.iter().find(|dataset| dataset.name == last)
            }
        }
    }

    /// Parses a model.
    ///
    /// # Errors
    /// A message if the text is not a valid data model.
    pub fn parse(app: &str, name: &str, json: &str) -> Result<Self, String> {
        if !json.trim_start().starts_with('{') {
            return Err("it is not a JSON object".to_owned());
        }
        let raw: RawModel = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let by_name: HashMap<&str, &RawObject> =
            raw.objects.iter().map(|object| (object.name.as_str(), object)).collect();
        let datasets = raw.objects.iter().map(|object| dataset(object, &by_name)).collect();
        Ok(Self {
            name: name.to_owned(),
            app: app.to_owned(),
            description: raw.description,
            datasets,
            json: json.to_owned(),
        })
    }
}

fn dataset(object: &RawObject, by_name: &HashMap<&str, &RawObject>) -> Dataset {
    let mut chain = vec![object];
    while let Some(parent) = by_name.get(chain[chain.len() - 1].parent.as_str()) {
        if chain.len() > 64 || chain.iter().any(|known| known.name == parent.name) {
            break;
        }
        chain.push(parent);
    }
    chain.reverse();
    let mut found = Dataset {
        name: object.name.clone(),
        lineage: chain.iter().map(|object| object.name.clone()).collect(),
        constraints: Vec::new(),
        base_search: None,
        transaction: chain.first().is_some_and(|root| root.parent == TRANSACTION),
        fields: Vec::new(),
        calculations: Vec::new(),
    };
    for part in chain {
        let constraints = part.constraints.iter().map(|constraint| constraint.search.trim());
        found.constraints.extend(constraints.filter(|s| !s.is_empty()).map(str::to_owned));
        if let Some(search) = &part.base_search {
            found.base_search = Some(search.clone());
        }
        for field in &part.fields {
            add_field(&mut found, &field.name, &field.owner, &part.name, false);
        }
        for calculation in &part.calculations {
            for field in &calculation.outputs {
                add_field(&mut found, &field.name, &field.owner, &part.name, true);
            }
            found.calculations.extend(calculation.read());
        }
    }
    found
}

fn add_field(dataset: &mut Dataset, name: &str, owner: &str, part: &str, calculated: bool) {
    let owner = owner.rsplit('.').next().filter(|owner| !owner.is_empty()).unwrap_or(part);
    let owner = if owner == "BaseEvent" { part } else { owner };
    if let Some(known) = dataset.fields.iter_mut().find(|field| field.name == name) {
        known.calculated |= calculated;
        return;
    }
    dataset.fields.push(ModelField { name: name.to_owned(), owner: owner.to_owned(), calculated });
}

#[derive(Debug, Deserialize)]
struct RawModel {
    #[serde(default)]
    description: String,
    #[serde(default)]
    objects: Vec<RawObject>,
}

#[derive(Debug, Deserialize)]
struct RawObject {
    #[serde(rename = "objectName")]
    name: String,
    #[serde(rename = "parentName", default)]
    parent: String,
    #[serde(default)]
    fields: Vec<RawField>,
    #[serde(default)]
    calculations: Vec<RawCalculation>,
    #[serde(default)]
    constraints: Vec<RawConstraint>,
    #[serde(rename = "baseSearch", default)]
    base_search: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RawField {
    #[serde(rename = "fieldName")]
    name: String,
    #[serde(default)]
    owner: String,
    #[serde(rename = "lookupOutputFieldName", default)]
    lookup_name: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RawConstraint {
    #[serde(default)]
    search: String,
}

#[derive(Debug, Deserialize)]
struct RawInput {
    #[serde(rename = "inputField", default)]
    event: String,
    #[serde(rename = "lookupField", default)]
    lookup: String,
}

#[derive(Debug, Deserialize)]
struct RawCalculation {
    #[serde(rename = "calculationType", default)]
    kind: String,
    #[serde(default)]
    expression: String,
    #[serde(rename = "outputFields", default)]
    outputs: Vec<RawField>,
    #[serde(rename = "lookupName", default)]
    lookup: String,
    #[serde(rename = "lookupInputs", default)]
    inputs: Vec<RawInput>,
    #[serde(rename = "inputField", default)]
    input: Option<String>,
}

impl RawCalculation {
    fn read(&self) -> Option<Calculation> {
        match self.kind.to_ascii_lowercase().as_str() {
            "eval" => Some(Calculation::Eval {
                field: self.outputs.first()?.name.clone(),
                expression: self.expression.clone(),
            }),
            "rex" => Some(Calculation::Rex {
                input: self.input.clone().unwrap_or_else(|| "_raw".to_owned()),
                expression: self.expression.clone(),
            }),
            "lookup" => {
                let quoted = |name: &str| format!("\"{name}\"");
                let mut text = quoted(&self.lookup);
                for input in &self.inputs {
                    text += &format!(" {} AS {}", quoted(&input.lookup), quoted(&input.event));
                }
                text += " OUTPUT";
                for output in &self.outputs {
                    let from = output.lookup_name.as_ref().unwrap_or(&output.name);
                    text += &format!(" {} AS {}", quoted(from), quoted(&output.name));
                }
                Some(Calculation::Lookup(text))
            }
            _ => None,
        }
    }
}

impl Knowledge {
    /// Returns the names of all data models: each once, also if several apps have one of the name.
    #[must_use]
    pub fn data_model_names(&self) -> Vec<String> {
        let mut seen = HashSet::new();
        let names = self.layers().models().map(|(_, name, _)| name);
        names.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
    }

    /// Returns the data model with this name.
    ///
    /// # Errors
    /// A message if there is no such model, or if its file is invalid.
    pub fn data_model(&self, name: &str) -> Result<DataModel, String> {
        let mut models = self.layers().models();
        let found = models.find(|(_, known, _)| *known == name);
        let Some((app, name, json)) = found else {
            // Clients match the first sentence, which is the same as Splunk's.
            return Err(format!(
                "Error in 'DataModelEvaluator': Data model '{name}' was not found: there is no data model \"{name}\" \
                 in any app"
            ));
        };
        DataModel::parse(app, name, json)
            .map_err(|error| format!("the data model \"{name}\" of app {app} is invalid: {error}"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const WEB: &str = r#"{"modelName":"Web","objects":[
        {"objectName":"Web","parentName":"BaseEvent","constraints":[{"search":"tag=web"}],
         "fields":[{"fieldName":"status","owner":"Web"},{"fieldName":"_time","owner":"BaseEvent"}],
         "calculations":[{"calculationType":"Eval","expression":"if(status>399,1,0)",
           "outputFields":[{"fieldName":"bad","owner":"Web"}]},
          {"calculationType":"Lookup","lookupName":"hosts","lookupInputs":[{"inputField":"src","lookupField":"ip"}],
           "outputFields":[{"fieldName":"owner","lookupOutputFieldName":"person"}]}]},
        {"objectName":"Proxy","parentName":"Web","constraints":[{"search":"tag=proxy"}],
         "fields":[{"fieldName":"cache","owner":"Web.Proxy"}],"calculations":[]}]}"#;

    #[test]
    fn a_dataset_inherits_constraints_fields_and_calculations() {
        let model = DataModel::parse("app", "Web", WEB).unwrap();
        let proxy = model.dataset(Some("Web.Proxy")).unwrap();
        assert_eq!(proxy.lineage, ["Web", "Proxy"]);
        assert_eq!(proxy.constraints, ["tag=web", "tag=proxy"]);
        let names: Vec<String> = proxy.fields.iter().map(ModelField::full_name).collect();
        assert_eq!(names, ["Web.status", "_time", "Web.bad", "Web.owner", "Proxy.cache"]);
        assert!(proxy.field("Web.bad").unwrap().calculated);
        assert_eq!(proxy.field("status").unwrap().owner, "Web");
        assert_eq!(proxy.calculations.len(), 2);
        let lookup = "\"hosts\" \"ip\" AS \"src\" OUTPUT \"person\" AS \"owner\"";
        assert_eq!(proxy.calculations[1], Calculation::Lookup(lookup.to_owned()));
        assert_eq!(model.dataset(None).unwrap().name, "Web");
    }

    #[test]
    fn models_of_one_name_in_several_apps_are_named_once() {
        let layers = conf::Layers::default()
            .with_model("a", "M", "{}")
            .with_model("b", "M", "{}")
            .with_model("b", "N", "{}");
        assert_eq!(Knowledge::new(layers).data_model_names(), ["M", "N"]);
    }

    #[test]
    fn parents_in_a_circle_end() {
        let json = r#"{"objects":[{"objectName":"a","parentName":"b"},{"objectName":"b","parentName":"a"}]}"#;
        assert_eq!(DataModel::parse("x", "m", json).unwrap().datasets.len(), 2);
        assert!(DataModel::parse("x", "m", "[]").is_err());
    }
}
