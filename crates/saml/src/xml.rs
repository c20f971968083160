//! Parses documents of the subset of XML that signed messages need into trees.
//!
//! Refused are document types and therefore entities, processing instructions, comments and CDATA (two
//! parsers may read different texts around them), non-ASCII names, and documents above the limits. Prefixes
//! are kept, because canonicalization writes them.

use std::collections::HashSet;
use std::sync::Arc;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::Error;

/// Maximum size of a document in bytes.
pub(crate) const MAX_BYTES: usize = 512 << 10;
/// Maximum depth of elements.
const MAX_DEPTH: usize = 32;
const MAX_ELEMENTS: usize = 10_000;
/// Maximum number of attributes and of namespace declarations per element.
const MAX_ATTRIBUTES: usize = 32;
/// Maximum length in bytes of a namespace, a name and an ID; a namespace is repeated in the canonical form.
const MAX_NAME_BYTES: usize = 512;

const XML_NAMESPACE: &str = "http://www.w3.org/XML/1998/namespace";
const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";

/// The index of an element in its document.
pub(crate) type Id = usize;

/// A child node of an element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Node {
    Element(Id),
    Text(String),
}

/// An attribute that is not a namespace declaration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) prefix: String,
    pub(crate) name: String,
    /// Empty if the attribute has no prefix.
    pub(crate) namespace: Arc<str>,
    pub(crate) value: String,
}

/// An element with its namespaces resolved.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) prefix: String,
    pub(crate) name: String,
    /// Empty if there is none.
    pub(crate) namespace: Arc<str>,
    pub(crate) attributes: Vec<Attribute>,
    /// Namespace declarations: prefix (empty for the default) and namespace.
    pub(crate) declared: Vec<(String, Arc<str>)>,
    pub(crate) parent: Option<Id>,
    pub(crate) children: Vec<Node>,
}

/// A document; its first element is the root.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    elements: Vec<Element>,
}

impl Document {
    /// The index of the root.
    pub(crate) const ROOT: Id = 0;

    /// Parses a whole document.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_BYTES {
            return Err(Error::TooLarge("more than 512 KiB"));
        }
        if let Some(bad) = text.chars().find(|c| !is_char(*c)) {
            return Err(Error::xml(format!("the character U+{:04X}", u32::from(bad))));
        }
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let mut builder = Builder::default();
        let mut reader = Reader::from_str(&text);
        reader.config_mut().expand_empty_elements = true;
        loop {
            let start = reader.buffer_position();
            let event = reader.read_event().map_err(|error| Error::xml(error.to_string()))?;
            if matches!(event, Event::Eof) {
                return builder.finish();
            }
            builder.take(event, start == 0)?;
        }
    }

    pub(crate) fn get(&self, id: Id) -> &Element {
        &self.elements[id]
    }

    pub(crate) fn root(&self) -> &Element {
        self.get(Self::ROOT)
    }

    /// All elements, in document order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Id, &Element)> {
        self.elements.iter().enumerate()
    }

    /// The child elements of an element.
    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = Id> {
        self.get(id).children.iter().filter_map(|node| match node {
            Node::Element(child) => Some(*child),
            Node::Text(_) => None,
        })
    }

    /// The child elements with a name.
    pub(crate) fn named<'a>(
        &'a self,
        id: Id,
        namespace: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = Id> + 'a {
        self.children(id).filter(move |child| self.get(*child).is(namespace, name))
    }

    /// The only child element with a name; `None` if there is none, `Err` if there are several.
    pub(crate) fn only(&self, id: Id, namespace: &str, name: &str) -> Result<Option<Id>, Error> {
        let mut found = self.named(id, namespace, name);
        let first = found.next();
        match found.next() {
            Some(_) => Err(Error::xml(format!("several {name} in {}", self.get(id).name))),
            None => Ok(first),
        }
    }

    /// The trimmed text of an element that has no child elements.
    pub(crate) fn text(&self, id: Id) -> Result<&str, Error> {
        let element = self.get(id);
        match element.children.as_slice() {
            [] => Ok(""),
            [Node::Text(text)] => Ok(text.trim()),
            _ => Err(Error::xml(format!("{} contains elements", element.name))),
        }
    }

    /// Whether an element has no text except for blanks.
    pub(crate) fn has_no_text(&self, id: Id) -> bool {
        self.get(id).children.iter().all(|node| match node {
            Node::Element(_) => true,
            Node::Text(text) => text.trim().is_empty(),
        })
    }

    /// The namespace of a prefix in the scope of an element.
    pub(crate) fn namespace(&self, id: Id, prefix: &str) -> Option<Arc<str>> {
        let mut at = Some(id);
        while let Some(id) = at {
            let element = self.get(id);
            if let Some((_, namespace)) = element.declared.iter().find(|(own, _)| own == prefix) {
                return Some(Arc::clone(namespace));
            }
            at = element.parent;
        }
        (prefix == "xml").then(|| XML_NAMESPACE.into())
    }
}

impl Element {
    pub(crate) fn is(&self, namespace: &str, name: &str) -> bool {
        self.name == name && &*self.namespace == namespace
    }

    /// The value of an attribute without a prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|a| a.prefix.is_empty() && a.name == name);
        found.map(|attribute| attribute.value.as_str())
    }
}

#[derive(Default)]
struct Builder {
    document: Document,
    open: Vec<Id>,
    ids: HashSet<String>,
}

impl Builder {
    fn take(&mut self, event: Event<'_>, is_first: bool) -> Result<(), Error> {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(_) => {
                self.open.pop();
                Ok(())
            }
            Event::Text(text) => {
                let text = utf8(&text)?;
                if text.contains("]]>") {
                    return Err(Error::xml("]]> in a text"));
                }
                self.text(text)
            }
            Event::GeneralRef(reference) => {
                let c = resolve(utf8(&reference)?)?;
                self.text(c.encode_utf8(&mut [0; 4]))
            }
            Event::Decl(declaration) if is_first => {
                let encoding = declaration.encoding().transpose();
                let encoding = encoding.map_err(|error| Error::xml(error.to_string()))?;
                let is_utf8 = |name: &[u8]| name.eq_ignore_ascii_case(b"utf-8");
                match encoding.is_none_or(|name| is_utf8(&name)) {
                    true => Ok(()),
                    false => Err(Error::xml("an encoding other than UTF-8")),
                }
            }
            Event::Decl(_) => Err(Error::xml("a declaration that is not at the beginning")),
            Event::DocType(_) => Err(Error::xml("a document type")),
            Event::PI(_) => Err(Error::xml("a processing instruction")),
            Event::Comment(_) => Err(Error::xml("a comment")),
            Event::CData(_) => Err(Error::xml("a CDATA section")),
            Event::Empty(_) | Event::Eof => Ok(()),
        }
    }

    fn finish(self) -> Result<Document, Error> {
        match (self.document.elements.is_empty(), self.open.is_empty()) {
            (false, true) => Ok(self.document),
            (true, _) => Err(Error::xml("no element")),
            (_, false) => Err(Error::xml("an element is not closed")),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Error> {
        let Some(&parent) = self.open.last() else {
            let blank = text.bytes().all(|b| matches!(b, b' ' | b'\t' | b'\n'));
            return if blank { Ok(()) } else { Err(Error::xml("text outside of the root")) };
        };
        let children = &mut self.document.elements[parent].children;
        match children.last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ => children.push(Node::Text(text.to_owned())),
        }
        Ok(())
    }

    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), Error> {
        let parent = self.open.last().copied();
        if parent.is_none() && !self.document.elements.is_empty() {
            return Err(Error::xml("several roots"));
        }
        if self.open.len() == MAX_DEPTH {
            return Err(Error::TooLarge("more than 32 elements inside each other"));
        }
        if self.document.elements.len() == MAX_ELEMENTS {
            return Err(Error::TooLarge("more than 10,000 elements"));
        }
        let name = tag.name();
        let (prefix, name) = split(utf8(name.as_ref())?)?;
        let id = self.document.elements.len();
        let raw = raw_attributes(tag)?;
        self.document.elements.push(Element {
            prefix: prefix.to_owned(),
            name: name.to_owned(),
            namespace: "".into(),
            attributes: Vec::new(),
            declared: declarations(&raw)?,
            parent,
            children: Vec::new(),
        });
        self.resolve_names(id, raw)?;
        if let Some(parent) = parent {
            self.document.elements[parent].children.push(Node::Element(id));
        }
        self.open.push(id);
        Ok(())
    }

    fn resolve_names(&mut self, id: Id, raw: Vec<(String, String)>) -> Result<(), Error> {
        let namespace_of = |prefix: &str| match (self.document.namespace(id, prefix), prefix) {
            (Some(namespace), _) => Ok(namespace),
            (None, "") => Ok(Arc::from("")),
            (None, _) => Err(Error::xml(format!("the prefix {prefix} is not declared"))),
        };
        let namespace = namespace_of(&self.document.elements[id].prefix)?;
        let mut attributes: Vec<Attribute> = Vec::new();
        for (name, value) in raw {
            if name == "xmlns" || name.starts_with("xmlns:") {
                continue;
            }
            let (prefix, name) = split(&name)?;
            let namespace = if prefix.is_empty() { Arc::from("") } else { namespace_of(prefix)? };
            if attributes.iter().any(|a| a.name == name && a.namespace == namespace) {
                return Err(Error::xml(format!("the attribute {name} twice")));
            }
            let (prefix, name) = (prefix.to_owned(), name.to_owned());
            attributes.push(Attribute { prefix, name, namespace, value });
        }
        for attribute in attributes.iter().filter(|a| a.name.eq_ignore_ascii_case("id")) {
            if attribute.value.is_empty() || attribute.value.len() > MAX_NAME_BYTES {
                return Err(Error::xml("an ID that is empty or too long"));
            }
            if !self.ids.insert(attribute.value.clone()) {
                return Err(Error::xml("an ID is used twice"));
            }
        }
        let element = &mut self.document.elements[id];
        element.namespace = namespace;
        element.attributes = attributes;
        Ok(())
    }
}

/// Names and values of the attributes of a tag, in order.
fn raw_attributes(tag: &BytesStart<'_>) -> Result<Vec<(String, String)>, Error> {
    let mut all: Vec<(String, String)> = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| Error::xml(error.to_string()))?;
        if all.len() == MAX_ATTRIBUTES {
            return Err(Error::TooLarge("more than 32 attributes"));
        }
        let name = utf8(attribute.key.as_ref())?.to_owned();
        all.push((name, attribute_value(utf8(&attribute.value)?)?));
    }
    Ok(all)
}

fn declarations(raw: &[(String, String)]) -> Result<Vec<(String, Arc<str>)>, Error> {
    let mut all = Vec::new();
    for (name, value) in raw {
        let prefix = match name.strip_prefix("xmlns") {
            Some("") => "",
            Some(rest) if rest.starts_with(':') => split(name)?.1,
            _ => continue,
        };
        let reserved = matches!(prefix, "xml" | "xmlns")
            || matches!(value.as_str(), XML_NAMESPACE | XMLNS_NAMESPACE);
        if reserved || (value.is_empty() && !prefix.is_empty()) || value.len() > MAX_NAME_BYTES {
            return Err(Error::xml(format!("the declaration of the prefix {prefix:.50}")));
        }
        all.push((prefix.to_owned(), Arc::from(value.as_str())));
    }
    Ok(all)
}

/// Splits a name into prefix and local part.
fn split(name: &str) -> Result<(&str, &str), Error> {
    let (prefix, local) = match name.split_once(':') {
        Some((prefix, local)) if is_name(prefix) => (prefix, local),
        Some(_) => return Err(Error::xml("a name that is not accepted")),
        None => ("", name),
    };
    match is_name(local) && name.len() <= MAX_NAME_BYTES {
        true => Ok((prefix, local)),
        false => Err(Error::xml("a name that is not accepted")),
    }
}

/// Whether a text is an ASCII name without a colon.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

/// Whether a character is allowed in XML 1.0.
fn is_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{FFFD}' | '\u{10000}'..)
}

/// Decodes the value of an attribute: blanks become spaces, references are resolved.
fn attribute_value(raw: &str) -> Result<String, Error> {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['&', '<', '\t', '\n']) {
        value.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'&' => {
                let after = &rest[at + 1..];
                let end = after.find(';').ok_or_else(|| Error::xml("a & alone"))?;
                value.push(resolve(&after[..end])?);
                rest = &after[end + 1..];
            }
            b'<' => return Err(Error::xml("a < in an attribute")),
            _ => {
                value.push(' ');
                rest = &rest[at + 1..];
            }
        }
    }
    value.push_str(rest);
    Ok(value)
}

/// Resolves a reference, given without `&` and `;`, to a character.
fn resolve(reference: &str) -> Result<char, Error> {
    let number = |digits: &str, radix| {
        let digits = Some(digits).filter(|text| text.chars().all(|c| c.is_digit(radix)));
        digits.and_then(|digits| u32::from_str_radix(digits, radix).ok()).and_then(char::from_u32)
    };
    let c = match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => match reference.strip_prefix('#') {
            Some(text) => match text.strip_prefix('x') {
                Some(digits) => number(digits, 16),
                None => number(text, 10),
            },
            None => None,
        },
    };
    c.filter(|c| is_char(*c)).ok_or_else(|| Error::xml("a reference to an entity"))
}

fn utf8(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes).map_err(|_| Error::xml("not UTF-8"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Document::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_have_their_namespaces() {
        let text = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<a xmlns='u:1' xmlns:p='u:2'>\r\n\
                    <p:b p:k='1' k='&#x41;\t&amp;'/>x&lt;<c xmlns=''/></a>\n";
        let document = Document::parse(text).unwrap();
        let names: Vec<_> = document.all().map(|(_, e)| (&*e.namespace, e.name.as_str())).collect();
        assert_eq!(names, [("u:1", "a"), ("u:2", "b"), ("", "c")]);
        let b = document.get(1);
        assert_eq!((&*b.attributes[0].namespace, b.attribute("k")), ("u:2", Some("A &")));
        assert_eq!(document.root().children[0], Node::Text("\n".to_owned()));
        assert_eq!(document.root().children[2], Node::Text("x<".to_owned()));
        assert!(document.text(Document::ROOT).is_err());
    }

    #[test]
    fn what_readers_may_see_differently_is_refused() {
        let cases = [
            ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "a document type"),
            ("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "a document type"),
            ("<a>&x;</a>", "entity"),
            ("<a k='&x;'/>", "entity"),
            ("<a>&#0;</a>", "entity"),
            ("<a>&#xD800;</a>", "entity"),
            ("<a>&#+65;</a>", "entity"),
            ("<a>x<!-- -->y</a>", "a comment"),
            ("<!-- --><a/>", "a comment"),
            ("<a><![CDATA[x]]></a>", "CDATA"),
            ("<a><?x y?></a>", "processing instruction"),
            ("<a/><?xml version='1.0'?>", "declaration"),
            ("<?xml version='1.0' encoding='utf-16'?><a/>", "encoding"),
            ("<a>]]></a>", "]]>"),
            ("<a>\u{1}</a>", "U+0001"),
            ("<a>\u{FFFE}</a>", "U+FFFE"),
            ("<a/><b/>", "several roots"),
            ("<a/>x", "outside"),
            ("x<a/>", "outside"),
            ("", "no element"),
            ("<a>", "not closed"),
            ("<a></b>", "expected"),
            ("</a>", "not acceptable"),
            ("<a k='1' k='2'/>", "not acceptable"),
            ("<a xmlns:p='u' xmlns:q='u' p:k='1' q:k='2'/>", "twice"),
            ("<a k='<'/>", "< in an attribute"),
            ("<a k='&'/>", "& alone"),
            ("<a k=1/>", "not acceptable"),
            ("<p:a/>", "not declared"),
            ("<a p:k='1'/>", "not declared"),
            ("<a xmlns:p=''/>", "declaration of the prefix"),
            ("<a xmlns:xml='u'/>", "declaration of the prefix"),
            ("<a xmlns:xmlns='u'/>", "declaration of the prefix"),
            ("<a xmlns='http://www.w3.org/2000/xmlns/'/>", "declaration of the prefix"),
            ("<a:b:c xmlns:a='u'/>", "a name"),
            ("<\u{e4}/>", "a name"),
            ("<1/>", "a name"),
            ("<a ID='x'><b ID='x'/></a>", "an ID is used twice"),
            ("<a ID='x'><b Id='x'/></a>", "an ID is used twice"),
            ("<a ID='x'><b xml:id='x'/></a>", "an ID is used twice"),
            ("<a ID=''/>", "an ID"),
        ];
        for (text, expected) in cases {
            let refusal = refusal(text);
            assert!(refusal.contains(expected), "{text}: {refusal}");
        }
    }

    #[test]
    fn sizes_are_limited() {
        let deep = |n: usize| format!("{}{}", "<a>".repeat(n), "</a>".repeat(n));
        assert!(Document::parse(&deep(MAX_DEPTH)).is_ok());
        assert!(refusal(&deep(MAX_DEPTH + 1)).contains("inside each other"));
        let wide = |n: usize| format!("<a>{}</a>", "<b/>".repeat(n));
        assert!(Document::parse(&wide(MAX_ELEMENTS - 1)).is_ok());
        assert!(refusal(&wide(MAX_ELEMENTS)).contains("10,000 elements"));
        let attributes =
            |n| format!("<a {}/>", (0..n).map(|i| format!("k{i}='' ")).collect::<String>());
        assert!(Document::parse(&attributes(MAX_ATTRIBUTES)).is_ok());
        assert!(refusal(&attributes(MAX_ATTRIBUTES + 1)).contains("32 attributes"));
        let long = |n: usize| format!("<a>{}</a>", "x".repeat(n - 7));
        assert!(Document::parse(&long(MAX_BYTES)).is_ok());
        assert!(refusal(&long(MAX_BYTES + 1)).contains("512 KiB"));
        assert!(refusal(&format!("<a xmlns='{}'/>", "u".repeat(600))).contains("declaration"));
    }
}
