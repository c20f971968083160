//! Descriptions of the fields that the configuration sets: all that a field depends on besides stored
//! columns.
//!
//! Guarantees: two searches that describe a field equally compute equal values for events with the same
//! stored columns, whatever has changed between them. A field has no description if its value depends on the
//! time, on chance, on the user or on a program. Scans remember by descriptions which events satisfy a
//! filter, and the values, so descriptions are short: a digest of 128 bits takes the place of a long text.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use exprs::required_fields::RequiredFields;
use exprs::types::ValueType;
use frames::Frame;
use knowledge::LookupDefinition;
use model::columns;
use spl::ast::{Expr, ExprKind};

use super::Objects;
use super::calculated::Calculated;
use super::lookups::Automatic;
use super::parsed::ParsedField;
use context::event_types::{self, Described};
use context::planning::PlanningContext;

/// Length in bytes from which on a digest takes the place of a text. Scans hash and compare descriptions for
/// each part of a bucket, and the text of event types has the searches of all of them.
const LONG: usize = 256;

/// The functions whose values depend on their arguments alone, and which report nothing to the user.
const PURE: &[&str] = &[
    "abs",
    "bit_and",
    "bit_not",
    "bit_or",
    "bit_shift_left",
    "bit_shift_right",
    "bit_xor",
    "case",
    "ceiling",
    "cidrmatch",
    "coalesce",
    "exact",
    "exp",
    "false",
    "floor",
    "if",
    "in",
    "ipmask",
    "isbool",
    "isint",
    "ismv",
    "isnotnull",
    "isnull",
    "isnum",
    "isstr",
    "len",
    "like",
    "ln",
    "log",
    "lower",
    "ltrim",
    "match",
    "max",
    "md5",
    "min",
    "mvappend",
    "mvcount",
    "mvdedup",
    "mvfind",
    "mvindex",
    "mvjoin",
    "mvsort",
    "mvzip",
    "null",
    "nullif",
    "pow",
    "replace",
    "round",
    "rtrim",
    "sha1",
    "sha256",
    "sha512",
    "sigfig",
    "split",
    "sqrt",
    "substr",
    "tonumber",
    "tostring",
    "trim",
    "true",
    "typeof",
    "upper",
    "urldecode",
    "validate",
];

/// Describes fields that the objects, event types or tags set, as far as they have descriptions. The frame
/// has the events before the objects are applied.
pub(super) fn of_fields(
    names: Vec<String>,
    objects: &Objects,
    classes: &event_types::Wanted,
    frame: &Frame,
    env: &PlanningContext<'_>,
) -> Vec<(String, Arc<str>)> {
    if names.is_empty() {
        return Vec::new();
    }
    // The stanzas that apply to an event are chosen by names that are not those of the stored columns.
    let is_renamed = !env.context.knowledge.renamed_sourcetypes().is_empty();
    if is_renamed || columns::ORIGIN.iter().any(|name| objects.set.contains(*name)) {
        return Vec::new();
    }
    let setters = setters(objects);
    let kind = |field: &str| frame.kind(field);
    let described = names.into_iter().filter_map(|name| {
        let class = classes.may_set(&name).then(|| classes.described(&name, env));
        let description = of_field(&name, class.as_ref(), objects, &setters, &kind)?;
        Some((name, description))
    });
    described.collect()
}

/// Describes a field; `class` is given if it is one of event types or tags.
fn of_field(
    name: &str,
    class: Option<&Described>,
    objects: &Objects,
    setters: &Setters<'_>,
    kind: &dyn Fn(&str) -> Option<ValueType>,
) -> Option<Arc<str>> {
    let text = match class {
        Some(class) => of_class(name, class, objects, setters, kind)?,
        None => together(&[name], objects, setters, kind)?,
    };
    Some(shortened(name, text))
}

/// Returns the description of a field: the text, or a digest of a long one.
fn shortened(name: &str, text: String) -> Arc<str> {
    // No byte of a text has this value.
    const OTHER: u8 = 0xfe;
    if text.len() < LONG {
        return text.into();
    }
    // One of 64 bits would be too short to tell all texts apart.
    let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
    two.write_u8(OTHER);
    text.hash(&mut one);
    text.hash(&mut two);
    format!("{name:?} as {:016x}{:016x}", one.finish(), two.finish()).into()
}

/// Describes a field of event types or tags, which are described with the fields that they read.
fn of_class(
    name: &str,
    class: &Described,
    objects: &Objects,
    setters: &Setters<'_>,
    kind: &dyn Fn(&str) -> Option<ValueType>,
) -> Option<String> {
    let read: Vec<&str> = class.fields.names.iter().map(String::as_str).collect();
    let read = together(&read, objects, setters, kind)?;
    Some(format!("{name:?} of {}{read}", class.text))
}

/// The lookups that set each field.
type Setters<'o> = HashMap<&'o str, Vec<&'o Automatic>>;

fn setters(objects: &Objects) -> Setters<'_> {
    let mut setters = Setters::new();
    for lookup in &objects.lookups {
        for output in &lookup.outputs {
            setters.entry(output.as_str()).or_default().push(lookup);
        }
    }
    setters
}

/// Describes fields together. `kind` returns the type of a stored column, if the search reads it.
fn together(
    names: &[&str],
    objects: &Objects,
    setters: &Setters<'_>,
    kind: &dyn Fn(&str) -> Option<ValueType>,
) -> Option<String> {
    // Lookups read what others have set. Calculated fields all read stored columns.
    let mut fields: BTreeSet<&str> = names.iter().copied().collect();
    let mut left: Vec<&str> = names.to_vec();
    while let Some(field) = left.pop() {
        for lookup in setters.get(field).into_iter().flatten() {
            left.extend(lookup.inputs().filter(|input| fields.insert(*input)));
        }
    }
    let mut stored: BTreeMap<String, Option<ValueType>> = BTreeMap::new();
    stored.extend(fields.iter().copied().map(|field| (field.to_owned(), kind(field))));
    // Writing to a text cannot fail.
    let mut text = format!("{names:?};");
    for Calculated(one) in &objects.calculated {
        if fields.contains(one.field.field.as_str()) {
            let read = reads(one)?;
            stored.extend(read.into_iter().map(|field| {
                let kind = kind(&field);
                (field, kind)
            }));
            let ParsedField { field, .. } = one.as_ref();
            let _ = write!(text, "{:?} {:?}={:?};", field.matcher, field.field, field.expression);
        }
    }
    for lookup in &objects.lookups {
        if lookup.outputs.iter().any(|output| fields.contains(output.as_str())) {
            write_lookup(lookup, &mut text)?;
        }
    }
    let _ = write!(text, "{stored:?}");
    Some(text)
}

/// Returns the fields that a calculated field reads; `None` if its value depends on more than these.
fn reads(one: &ParsedField) -> Option<Vec<String>> {
    let expr = one.expr.as_ref().ok()?;
    let mut read = RequiredFields::default();
    read.expr(expr);
    let is_known = one.zone.is_none() && is_pure(expr) && read.patterns.is_empty();
    is_known.then_some(read.names)
}

fn is_pure(expr: &Expr) -> bool {
    let mut is_pure = true;
    expr.walk(&mut |part| match &part.kind {
        ExprKind::Call(call) => is_pure &= PURE.contains(&call.function.node.as_str()),
        ExprKind::Subsearch(_) => is_pure = false,
        _ => {}
    });
    is_pure
}

/// Describes a lookup with its rows; `None` if a program gives them.
fn write_lookup(automatic: &Automatic, text: &mut String) -> Option<()> {
    let lookup = &automatic.lookup;
    if lookup.program.is_some() {
        return None;
    }
    let definition = &lookup.definition;
    // A map is written in no certain order.
    let kinds: BTreeMap<_, _> = definition.match_types.iter().collect();
    let others = LookupDefinition { match_types: HashMap::new(), ..definition.clone() };
    let (matcher, arguments) = (automatic.matcher(), automatic.arguments());
    let contents = lookup.contents()?;
    write!(text, "{matcher:?} {arguments:?} {kinds:?} {others:?} {contents:x?};").ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use knowledge::Knowledge;

    use super::super::parsed::Parsed;
    use super::*;

    /// The description of `EVAL-x = <expression>`, among other fields.
    fn described(expression: &str, more: &str) -> Option<Arc<str>> {
        let props = format!("[web]\nEVAL-x = {expression}\n{more}");
        let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
        let parsed = Parsed::of(&Knowledge::new(layers));
        let calculated = parsed.calculated.into_iter().map(Calculated).collect();
        let objects = Objects { calculated, ..Objects::default() };
        of_field("x", None, &objects, &setters(&objects), &kind)
    }

    fn kind(name: &str) -> Option<ValueType> {
        (name != "b").then_some(ValueType::Text)
    }

    #[test]
    fn a_description_tells_what_a_value_depends_on() {
        let one = described("coalesce(a, lower(b))", "").unwrap();
        assert_eq!(described("coalesce(a, lower(b))", "EVAL-y = now()"), Some(one.clone()));
        assert_eq!(described("coalesce(a, lower(b))", "[db]\nEVAL-y = a"), Some(one.clone()));
        for (expression, more) in [
            ("coalesce(a, upper(b))", ""),
            ("coalesce(b, lower(a))", ""),
            ("coalesce(a, lower(c))", ""),
            ("coalesce(a, lower(b))", "[db]\nEVAL-x = a"),
        ] {
            assert_ne!(described(expression, more).unwrap(), one, "{expression} {more}");
        }
    }

    #[test]
    fn values_of_the_time_of_chance_or_of_other_searches_have_no_description() {
        for expression in [
            "now()",
            "time()",
            "random()",
            "if(a=1, strftime(_time, \"%H\"), b)",
            "strptime(a, \"%H\")",
            "relative_time(a, \"@d\")",
            "tojson()",
            "searchmatch(\"a=1\")",
            "lookup(\"t\", json_object(\"a\", a), json_array(\"b\"))",
        ] {
            assert_eq!(described(expression, ""), None, "{expression}");
        }
    }

    #[test]
    fn event_types_depend_on_their_searches_and_on_what_these_read() {
        let of_types = |text: &str, read: &[&str], expression: &str| {
            let props = format!("[web]\nEVAL-x = {expression}");
            let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
            let parsed = Parsed::of(&Knowledge::new(layers));
            let calculated = parsed.calculated.into_iter().map(Calculated).collect();
            let objects = Objects { calculated, ..Objects::default() };
            let mut class = Described { text: text.to_owned(), ..Described::default() };
            read.iter().for_each(|field| class.fields.name(field));
            of_field("eventtype", Some(&class), &objects, &setters(&objects), &kind)
        };
        let one = of_types("some", &["x", "y"], "lower(a)").unwrap();
        assert_eq!(of_types("some", &["x", "y"], "lower(a)"), Some(one.clone()));
        assert_ne!(of_types("others", &["x", "y"], "lower(a)"), Some(one.clone()));
        assert_ne!(of_types("some", &["x", "b"], "lower(a)"), Some(one.clone()));
        assert_ne!(of_types("some", &["x", "y"], "upper(a)"), Some(one));
        assert_eq!(of_types("some", &["x", "y"], "if(now()>0, a, null())"), None);
        let other = of_types("some", &["y"], "lower(a)").unwrap();
        assert_eq!(of_types("some", &["y"], "upper(a)"), Some(other));
    }

    #[test]
    fn digests_take_the_place_of_long_texts() {
        let objects = Objects::default();
        let of_types = |name: &str, text: &str| {
            let class = Described { text: text.to_owned(), ..Described::default() };
            of_field(name, Some(&class), &objects, &setters(&objects), &kind).unwrap()
        };
        let types: String = (0..5_000).map(|at| format!("\"type {at}\":user=u{at};")).collect();
        let one = of_types("eventtype", &types);
        assert!(one.len() < 64 && one.contains("eventtype"), "{one}");
        assert_eq!(of_types("eventtype", &types), one);
        assert_ne!(of_types("tag", &types), one);
        let (fewer, _) = types.rsplit_once("\"type").unwrap();
        for other in [fewer.to_owned(), types.replacen("u7;", "u8;", 1), format!("{types} ")] {
            assert_ne!(of_types("eventtype", &other), one);
        }
        let of_value = |value: &str| described(&format!("coalesce(a, \"{value}\")"), "").unwrap();
        let (one, other) = (of_value(&"one".repeat(90)), of_value(&"two".repeat(90)));
        assert!(one.len() < 64, "{one}");
        assert_ne!(one, other);
    }

    #[test]
    fn functions_of_descriptions_exist() {
        for name in PURE {
            assert!(spl::functions::find(name).is_some(), "{name}");
        }
    }
}
