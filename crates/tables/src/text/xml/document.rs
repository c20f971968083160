//! A document as a tree: elements in document order, with their attributes and texts.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

/// Maximum nesting depth of elements.
const DEPTH: usize = 200;

/// The content of an element.
#[derive(Debug)]
pub(super) enum Node {
    /// The index of a child element.
    Element(usize),
    Text(String),
}

/// An element; the first one of a document represents the document itself.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) children: Vec<Node>,
}

/// The elements of a text, which may consist of several documents.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) elements: Vec<Element>,
}

impl Document {
    /// Parses a text up to the first XML error.
    pub(super) fn parse(text: &str) -> Self {
        let mut document = Self { elements: vec![Element::default()] };
        let mut open = vec![0];
        let mut reader = Reader::from_str(text);
        loop {
            let current = open.last().copied().unwrap_or_default();
            match reader.read_event() {
                Ok(Event::Start(tag)) => {
                    let element = document.add(current, &tag);
                    if open.len() == DEPTH {
                        return document;
                    }
                    open.push(element);
                }
                Ok(Event::Empty(tag)) => {
                    document.add(current, &tag);
                }
                Ok(Event::Text(text)) => document.text(current, &String::from_utf8_lossy(&text)),
                Ok(Event::CData(text)) => document.text(current, &String::from_utf8_lossy(&text)),
                Ok(Event::GeneralRef(name)) => {
                    let mut text = String::new();
                    super::unescape(&format!("&{};", String::from_utf8_lossy(&name)), &mut text);
                    document.text(current, &text);
                }
                Ok(Event::End(_)) => {
                    open.pop();
                }
                Ok(Event::Eof) | Err(_) => return document,
                Ok(_) => {}
            }
        }
    }

    fn add(&mut self, parent: usize, tag: &BytesStart<'_>) -> usize {
        let at = self.elements.len();
        let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
        let attributes = tag.attributes().flatten().map(|attribute| {
            let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
            let mut value = String::new();
            super::unescape(&String::from_utf8_lossy(&attribute.value), &mut value);
            (name, value)
        });
        let attributes = attributes.collect();
        self.elements.push(Element { name, attributes, children: Vec::new() });
        self.elements[parent].children.push(Node::Element(at));
        at
    }

    fn text(&mut self, element: usize, text: &str) {
        let children = &mut self.elements[element].children;
        match children.last_mut() {
            Some(Node::Text(before)) => before.push_str(text),
            _ => children.push(Node::Text(text.to_owned())),
        }
    }

    /// Returns the child elements of an element.
    pub(super) fn children(&self, element: usize) -> impl Iterator<Item = usize> {
        self.elements[element].children.iter().filter_map(|node| match node {
            Node::Element(at) => Some(*at),
            Node::Text(_) => None,
        })
    }

    /// Returns the texts directly inside an element.
    pub(super) fn texts(&self, element: usize) -> impl Iterator<Item = &str> {
        self.elements[element].children.iter().filter_map(|node| match node {
            Node::Element(_) => None,
            Node::Text(text) => Some(text.as_str()),
        })
    }

    /// Appends all text inside an element.
    pub(super) fn content(&self, element: usize, out: &mut String) {
        for node in &self.elements[element].children {
            match node {
                Node::Element(at) => self.content(*at, out),
                Node::Text(text) => out.push_str(text),
            }
        }
    }
}
