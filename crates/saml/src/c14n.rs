//! Exclusive XML canonicalization without comments, <https://www.w3.org/TR/xml-exc-c14n/>.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::xml::{Attribute, Document, Element, Id, Node};

/// The URI of the algorithm.
pub(crate) const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";

/// Options: the omitted element, and the prefixes treated as in inclusive canonicalization.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The enveloped signature, which is omitted.
    pub(crate) without: Option<Id>,
    /// `PrefixList`; the default namespace is the empty prefix here.
    pub(crate) inclusive: BTreeSet<String>,
}

/// The canonical form of an element with its contents.
pub(crate) fn canonical(document: &Document, apex: Id, options: &Options) -> String {
    let mut writer = Writer { document, options, out: String::new(), rendered: Vec::new() };
    writer.element(apex);
    writer.out
}

struct Writer<'a> {
    document: &'a Document,
    options: &'a Options,
    out: String,
    /// Declarations in scope of the output, innermost last.
    rendered: Vec<(String, Arc<str>)>,
}

impl Writer<'_> {
    /// Recursion is bounded, because the parser limits the depth.
    fn element(&mut self, id: Id) {
        if self.options.without == Some(id) {
            return;
        }
        let element = self.document.get(id);
        self.out.push('<');
        push_name(&mut self.out, &element.prefix, &element.name);
        let outside = self.rendered.len();
        self.namespaces(id, element);
        self.attributes(element);
        self.out.push('>');
        for child in &element.children {
            match child {
                Node::Element(child) => self.element(*child),
                Node::Text(text) => push_text(&mut self.out, text),
            }
        }
        self.out.push_str("</");
        push_name(&mut self.out, &element.prefix, &element.name);
        self.out.push('>');
        self.rendered.truncate(outside);
    }

    /// Declares prefixes that this element uses and that are not declared in the output yet.
    fn namespaces(&mut self, id: Id, element: &Element) {
        let with_prefix =
            element.attributes.iter().filter(|attribute| !attribute.prefix.is_empty());
        let used = with_prefix.map(|attribute| attribute.prefix.as_str());
        let used = used.chain([element.prefix.as_str()]);
        let inclusive = self.options.inclusive.iter().map(String::as_str);
        let prefixes: BTreeSet<&str> = used.chain(inclusive).filter(|p| *p != "xml").collect();
        for prefix in prefixes {
            let namespace = match (self.document.namespace(id, prefix), prefix) {
                (Some(namespace), _) => namespace,
                (None, "") => Arc::from(""),
                (None, _) => continue,
            };
            let before = self.rendered.iter().rev().find(|(own, _)| own == prefix);
            if before.map_or("", |(_, namespace)| namespace) == &*namespace {
                continue;
            }
            self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            self.out.push_str(prefix);
            self.out.push_str("=\"");
            push_value(&mut self.out, &namespace);
            self.out.push('"');
            self.rendered.push((prefix.to_owned(), namespace));
        }
    }

    fn attributes(&mut self, element: &Element) {
        let mut all: Vec<&Attribute> = element.attributes.iter().collect();
        all.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        for attribute in all {
            self.out.push(' ');
            push_name(&mut self.out, &attribute.prefix, &attribute.name);
            self.out.push_str("=\"");
            push_value(&mut self.out, &attribute.value);
            self.out.push('"');
        }
    }
}

fn push_name(out: &mut String, prefix: &str, name: &str) {
    out.push_str(prefix);
    if !prefix.is_empty() {
        out.push(':');
    }
    out.push_str(name);
}

fn push_value(out: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '"' => out.push_str("&quot;"),
            '\t' => out.push_str("&#x9;"),
            '\n' => out.push_str("&#xA;"),
            '\r' => out.push_str("&#xD;"),
            c => out.push(c),
        }
    }
}

fn push_text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#xD;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Case {
        xml: String,
        apex: String,
        prefixes: BTreeSet<String>,
        canonical: String,
    }

    /// Documents with their canonical forms as computed by libxml2.
    fn cases() -> Vec<Case> {
        let text = include_str!("../tests/fixtures/c14n.json");
        let all: Vec<serde_json::Value> = serde_json::from_str(text).unwrap();
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let prefix = |value| text(value).replace("#default", "");
        all.iter()
            .map(|case| Case {
                xml: text(&case["xml"]),
                apex: text(&case["apex"]),
                prefixes: case["prefixes"].as_array().unwrap().iter().map(prefix).collect(),
                canonical: text(&case["canonical"]),
            })
            .collect()
    }

    #[test]
    fn canonical_forms_are_those_of_libxml2() {
        let cases = cases();
        assert_eq!(cases.len(), 200);
        for case in cases {
            let document = Document::parse(&case.xml).unwrap();
            let has_id = |element: &Element| element.attribute("ID") == Some(&case.apex);
            let (apex, _) = document.all().find(|(_, element)| has_id(element)).unwrap();
            let options = Options { without: None, inclusive: case.prefixes.clone() };
            assert_eq!(canonical(&document, apex, &options), case.canonical, "{case:?}");
        }
    }

    #[test]
    fn the_canonical_form_of_a_canonical_form_is_itself() {
        for case in cases() {
            let document = Document::parse(&case.canonical).unwrap();
            let options = Options { without: None, inclusive: case.prefixes.clone() };
            let again = canonical(&document, Document::ROOT, &options);
            assert_eq!(again, case.canonical);
        }
    }
}
