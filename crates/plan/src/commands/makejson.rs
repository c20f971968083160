//! `makejson`: a JSON object for each row, nested by the dots in field names.
//!
//! Split: runs where the rows are.

use exprs::kernel::{Row, text};
use spl::ast::{JsonKind, MakejsonCommand};
use tables::text::json::{of_value, quoted};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for MakejsonCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if self.fields.is_empty() {
            fields.all();
        }
        self.fields.iter().for_each(|(field, _)| fields.pattern(&field.text));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let mut fields: Vec<(String, JsonKind)> = Vec::new();
        for name in frame.names() {
            let named = self.fields.iter().find(|(pattern, _)| pattern.matches(&name));
            let hidden = name.starts_with('_');
            match named {
                Some((pattern, kind)) if !hidden || pattern.text.starts_with('_') => {
                    fields.push((name, kind.unwrap_or(JsonKind::None)));
                }
                None if self.fields.is_empty() && !hidden => fields.push((name, JsonKind::None)),
                _ => {}
            }
        }
        fields.sort_by(|(one, _), (two, _)| one.cmp(two));
        let arguments = fields.iter().map(|(name, _)| frame.field(name)).collect();
        let mut root = Object::default();
        for (at, (name, kind)) in fields.iter().enumerate() {
            root.put(name, Leaf { at, kind: *kind, is_list: name.ends_with("{}") });
        }
        let parameters = format!("{fields:?}");
        let object = text("makejson", move |row, out| {
            if !root.write(&row, out) {
                out.push_str("{}");
            }
            Some(())
        });
        let value = object.with(parameters).call(arguments);
        frame.with_columns(vec![(self.output.clone(), value)]).map(Step::Next)
    }
}

/// The members of an object, by name.
#[derive(Debug, Default)]
struct Object(Vec<(String, Member)>);

#[derive(Debug)]
enum Member {
    Leaf(Leaf),
    Object(Object),
}

/// The value of a column.
#[derive(Debug)]
struct Leaf {
    at: usize,
    kind: JsonKind,
    /// Whether it is an array even with one value: its name ends with `{}`.
    is_list: bool,
}

impl Object {
    /// Adds the member of a path. If a leaf and an object have the same name, the first one wins.
    fn put(&mut self, path: &str, leaf: Leaf) {
        let (name, rest) = match path.split_once('.') {
            Some((name, rest)) if !name.is_empty() && !rest.is_empty() => (name, Some(rest)),
            _ => (path, None),
        };
        let name = name.strip_suffix("{}").unwrap_or(name);
        let known = self.0.iter().position(|(known, _)| known == name);
        match (known.map(|at| &mut self.0[at].1), rest) {
            (Some(Member::Object(object)), Some(rest)) => object.put(rest, leaf),
            (Some(_), _) => {}
            (None, None) => self.0.push((name.to_owned(), Member::Leaf(leaf))),
            (None, Some(rest)) => {
                let mut object = Self::default();
                object.put(rest, leaf);
                self.0.push((name.to_owned(), Member::Object(object)));
            }
        }
    }

    /// Writes the members that have values; returns false, and writes nothing, if none has.
    fn write(&self, row: &Row<'_>, out: &mut String) -> bool {
        let start = out.len();
        for (name, member) in &self.0 {
            let before = out.len();
            out.push(if before == start { '{' } else { ',' });
            out.push_str(&quoted(name));
            out.push(':');
            let written = match member {
                Member::Object(object) => object.write(row, out),
                Member::Leaf(leaf) => leaf.write(row, out),
            };
            if !written {
                out.truncate(before);
            }
        }
        if out.len() == start {
            return false;
        }
        out.push('}');
        true
    }
}

impl Leaf {
    fn write(&self, row: &Row<'_>, out: &mut String) -> bool {
        let value = row.value(self.at);
        let Some(json) = of_value(value, self.kind, false) else { return false };
        let alone = self.is_list && value.count() == 1;
        match alone {
            true => out.push_str(&format!("[{json}]")),
            false => out.push_str(&json),
        }
        true
    }
}
