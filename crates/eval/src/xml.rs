//! XML in texts, for `KV_MODE = xml` and `spath`: elements by path (`Event.System.EventID`), attributes as
//! `path{@name}`.
//!
//! Guarantees: reading stops at the first error; the values before it are kept. Elements nested deeper than
//! 64 levels are not read.

use std::borrow::Cow;
use std::ops::ControlFlow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

const DEPTH: usize = 64;

type Visit<'v, 'a> = &'v mut dyn FnMut(&str, Cow<'a, str>) -> ControlFlow<()>;

/// Returns whether a text is to be read as XML instead of JSON.
#[must_use]
pub fn begins(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}

/// Visits all texts and attributes in order, up to the first error in the XML.
pub fn walk<'a>(raw: &'a str, visit: Visit<'_, 'a>) -> ControlFlow<()> {
    let mut reader = Reader::from_str(raw);
    let mut path = String::new();
    let mut lengths: Vec<usize> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                text.clear();
                if lengths.len() == DEPTH {
                    return ControlFlow::Continue(());
                }
                lengths.push(path.len());
                enter(&mut path, &tag);
                attributes(&path, &tag, visit)?;
            }
            Ok(Event::Empty(tag)) => {
                let length = path.len();
                enter(&mut path, &tag);
                attributes(&path, &tag, visit)?;
                path.truncate(length);
            }
            Ok(Event::Text(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(Event::CData(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(Event::GeneralRef(name)) => entity(&String::from_utf8_lossy(&name), &mut text),
            Ok(Event::End(_)) => {
                if !text.trim().is_empty() {
                    visit(&path, Cow::Owned(text.trim().to_owned()))?;
                }
                text.clear();
                path.truncate(lengths.pop().unwrap_or(0));
            }
            Ok(Event::Eof) | Err(_) => return ControlFlow::Continue(()),
            Ok(_) => {}
        }
    }
}

fn enter(path: &mut String, tag: &BytesStart<'_>) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&String::from_utf8_lossy(tag.name().as_ref()));
}

fn attributes<'a>(path: &str, tag: &BytesStart<'_>, visit: Visit<'_, 'a>) -> ControlFlow<()> {
    for attribute in tag.attributes().flatten() {
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let value = value_of(&attribute.value);
        if !value.is_empty() {
            visit(&format!("{path}{{@{name}}}"), Cow::Owned(value))?;
        }
    }
    ControlFlow::Continue(())
}

/// Returns the value of an attribute. References to unknown entities are kept as they are.
fn value_of(raw: &[u8]) -> String {
    let raw = String::from_utf8_lossy(raw);
    quick_xml::escape::unescape(&raw).map_or_else(|_| raw.to_string(), Cow::into_owned)
}

fn entity(name: &str, out: &mut String) {
    let whole = format!("&{name};");
    match quick_xml::escape::unescape(&whole) {
        Ok(text) => out.push_str(&text),
        Err(_) => out.push_str(&whole),
    }
}

/// A path into XML: `a.b`, `a.b{2}.c` with indexes from 1, `a.b{@name}`. An element without an index matches
/// all elements with its name, as one with `{}` does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlPath {
    steps: Vec<Step>,
    attribute: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    name: String,
    /// The index among the elements with the same name, from 1; `None` for all of them.
    at: Option<usize>,
}

impl XmlPath {
    /// Parses a path. Every text is a valid path: a suffix that is neither an index nor an attribute matches
    /// all elements.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut steps = Vec::new();
        let mut attribute = None;
        for part in text.split('.') {
            let (name, mut rest) = part.split_at(part.find('{').unwrap_or(part.len()));
            let mut step = Step { name: name.trim_matches('\'').to_owned(), at: None };
            while let Some(inner) = rest.strip_prefix('{') {
                let (inside, after) = inner.split_once('}').unwrap_or((inner, ""));
                match inside.trim().strip_prefix('@') {
                    Some(name) => attribute = Some(name.to_owned()),
                    None => step.at = inside.trim().parse().ok(),
                }
                rest = after;
            }
            steps.push(step);
        }
        Self { steps, attribute }
    }

    /// Visits the values at the path, in order: the value of the attribute, the text of an element, or, if
    /// the element has child elements, its content as it is written.
    pub fn visit(&self, xml: &str, visit: &mut dyn FnMut(&str)) {
        let mut reader = Reader::from_str(xml);
        // The number of open elements; how many of them, from the outermost one, match the path; and for each
        // of these, how many elements with the name of the next step it has had so far.
        let (mut depth, mut matched) = (0, 0);
        let mut counts = vec![0_usize; self.steps.len()];
        let mut begin = 0;
        let mut text = String::new();
        let mut has_elements = false;
        loop {
            let before = position(&reader);
            let event = reader.read_event();
            match &event {
                Ok(Event::Start(tag) | Event::Empty(tag)) => {
                    let is_empty = matches!(event, Ok(Event::Empty(_)));
                    has_elements = true;
                    let is_next = depth == matched && self.is_step(matched, tag, &mut counts);
                    let is_last = is_next && matched + 1 == self.steps.len();
                    if let (true, Some(attribute)) = (is_last, &self.attribute) {
                        let named = |name: &[u8]| name == attribute.as_bytes();
                        let mut attributes = tag.attributes().flatten();
                        if let Some(found) = attributes.find(|found| named(found.key.as_ref())) {
                            visit(&value_of(&found.value));
                        }
                    }
                    if is_empty {
                        continue;
                    }
                    if depth == DEPTH {
                        return;
                    }
                    depth += 1;
                    if is_next {
                        matched += 1;
                        match counts.get_mut(matched) {
                            Some(count) => *count = 0,
                            None => {
                                begin = position(&reader);
                                has_elements = false;
                                text.clear();
                            }
                        }
                    }
                }
                Ok(Event::Text(part)) => text.push_str(&String::from_utf8_lossy(part)),
                Ok(Event::CData(part)) => text.push_str(&String::from_utf8_lossy(part)),
                Ok(Event::GeneralRef(name)) => entity(&String::from_utf8_lossy(name), &mut text),
                Ok(Event::End(_)) => {
                    if depth == matched && matched > 0 {
                        if matched == self.steps.len() && self.attribute.is_none() {
                            let inside = match has_elements {
                                true => xml.get(begin..before).unwrap_or_default(),
                                false => text.as_str(),
                            };
                            if !inside.trim().is_empty() {
                                visit(inside.trim());
                            }
                        }
                        matched -= 1;
                    }
                    depth = depth.saturating_sub(1);
                }
                Ok(Event::Eof) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Counts an element, and returns whether it matches a step.
    fn is_step(&self, at: usize, tag: &BytesStart<'_>, counts: &mut [usize]) -> bool {
        let Some(step) = self.steps.get(at) else { return false };
        if step.name.as_bytes() != tag.name().as_ref() {
            return false;
        }
        counts[at] += 1;
        step.at.is_none_or(|wanted| wanted == counts[at])
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_attributes_are_named_by_path() {
        let raw = "<Event><System><Provider Name='a &amp; b'/><ID>4 &lt; 5</ID></System></Event>";
        let mut out = Vec::new();
        let _ = walk(raw, &mut |name, value| {
            out.push(format!("{name}={value}"));
            ControlFlow::Continue(())
        });
        assert_eq!(out, ["Event.System.Provider{@Name}=a & b", "Event.System.ID=4 < 5"]);
    }

    #[test]
    fn broken_xml_gives_what_precedes_the_fault() {
        let mut names = Vec::new();
        let _ = walk("<a><b>1</b><c", &mut |name, _| {
            names.push(name.to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(names, ["a.b"]);
    }

    fn at(xml: &str, path: &str) -> Vec<String> {
        let mut found = Vec::new();
        XmlPath::new(path).visit(xml, &mut |text| found.push(text.to_owned()));
        found
    }

    const BOOKS: &str = "<?xml version=\"1.0\"?>\n<purchases>\n \
        <book pages='10'><title yearPublished=\"1903\">The Ambassadors</title></book>\n \
        <book><title yearPublished='2008'>Anathem &amp; more</title><title>B</title></book>\n \
        <cd/><book pages='7'/></purchases>";

    #[test]
    fn a_path_gives_the_texts_of_all_elements_there() {
        let titles = ["The Ambassadors", "Anathem & more", "B"];
        assert_eq!(at(BOOKS, "purchases.book.title"), titles);
        assert_eq!(at(BOOKS, "purchases.book{}.title{}"), titles);
        assert!(at(BOOKS, "purchases.title").is_empty());
        assert!(at(BOOKS, "book.title").is_empty());
        assert!(at(BOOKS, "purchases.cd").is_empty());
        assert_eq!(at("<a>1</a><a>2</a><b>3</b>", "a"), ["1", "2"]);
    }

    #[test]
    fn indexes_count_from_one_inside_of_their_element() {
        assert_eq!(at(BOOKS, "purchases.book{1}.title"), ["The Ambassadors"]);
        assert_eq!(at(BOOKS, "purchases.book.title{2}"), ["B"]);
        assert_eq!(at(BOOKS, "purchases.book{2}.title{1}"), ["Anathem & more"]);
        assert!(at(BOOKS, "purchases.book{4}.title").is_empty());
    }

    #[test]
    fn attributes_are_named_in_braces() {
        assert_eq!(at(BOOKS, "purchases.book.title{@yearPublished}"), ["1903", "2008"]);
        assert_eq!(at(BOOKS, "purchases.book{@pages}"), ["10", "7"]);
        assert_eq!(at(BOOKS, "purchases.book{3}{@pages}"), ["7"]);
        assert!(at(BOOKS, "purchases.book{@none}").is_empty());
    }

    #[test]
    fn an_element_with_elements_gives_what_is_written_inside() {
        let inside = at(BOOKS, "purchases.book");
        assert_eq!(inside.len(), 2, "{inside:?}");
        assert_eq!(inside[0], "<title yearPublished=\"1903\">The Ambassadors</title>");
        assert_eq!(at(&inside[0], "title"), ["The Ambassadors"]);
    }

    #[test]
    fn broken_xml_gives_values_up_to_the_fault() {
        assert_eq!(at("<a><b>1</b><b>2</b", "a.b"), ["1"]);
        assert!(at("no xml", "a").is_empty());
        assert!(at("</a>", "a").is_empty());
        let deep = "<a>".repeat(100);
        assert!(at(&deep, "a").is_empty());
    }

    #[test]
    fn what_is_read_as_xml() {
        assert!(begins(" \n<a/>") && begins("\u{feff}<a/>"));
        assert!(!begins("{\"a\":\"<\"}") && !begins(""));
    }
}
