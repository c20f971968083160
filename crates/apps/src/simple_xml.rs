//! Which parts of a Simple XML view the console draws, for `karst app check` and the report of an
//! installation.
//!
//! The table is `schemas/dashboards/simple-xml.json`, which the console reads, too. The tests of both compare
//! the reports of the samples beside it with `samples/expected.json`, so that both say the same.
//!
//! Guarantees: no entity is expanded, and depth and number of nodes have limits: views come from strangers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use serde::{Deserialize, Serialize};

/// Elements inside each other.
const MAX_DEPTH: usize = 200;
/// Elements of a view.
const MAX_ELEMENTS: usize = 200_000;
/// Elements that display data or ask for input: the units of a report.
const DRAWN: [&str; 9] =
    ["table", "chart", "single", "event", "map", "viz", "list", "html", "input"];

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = include_str!("../../../schemas/dashboards/simple-xml.json");
    serde_json::from_str(text).expect("the table is a part of the program, and tests read it")
});

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    notes: BTreeMap<String, String>,
    roots: BTreeMap<String, String>,
    active_html: Vec<String>,
    contexts: BTreeMap<String, Context>,
    within: BTreeMap<String, String>,
    values: BTreeMap<String, BTreeMap<String, String>>,
    options: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug, Deserialize)]
struct Context {
    attributes: BTreeMap<String, String>,
    children: BTreeMap<String, String>,
}

/// How completely something is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// All of it.
    Full,
    /// The finding has no effect on the display.
    Ignored,
    /// The element is shown without this part.
    Part,
    /// The element is not shown.
    None,
}

/// Something of a view that the console does not show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The line on which its element begins, from 1.
    pub line: usize,
    /// How much is not shown.
    pub level: Level,
    /// The key of the note.
    pub note: String,
    /// The name of the element, attribute or option.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.text())
    }
}

impl Finding {
    /// The note.
    #[must_use]
    pub fn text(&self) -> &str {
        TABLE.notes.get(&self.note).map_or(self.note.as_str(), String::as_str)
    }
}

/// The report on the display of a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// The name of the root element; empty if the text is not XML.
    pub root: String,
    /// The level of the view: the worst of all findings.
    pub level: Level,
    /// The levels of its tables, charts and inputs, in order.
    pub elements: Vec<(String, Level)>,
    /// The parts that are not shown, in order.
    pub findings: Vec<Finding>,
    /// Why the text cannot be read.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// The properties of a view that the REST API returns besides its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The name of the root element.
    pub root: String,
    /// `<label>`.
    pub label: Option<String>,
    /// `<description>`.
    pub description: Option<String>,
    /// `isVisible`; true unless the root element sets it to false.
    pub is_visible: bool,
    /// `version` of the root.
    pub version: Option<String>,
}

#[derive(Debug, Default)]
struct Node {
    /// The name in lower case, without a prefix.
    name: String,
    attributes: Vec<(String, String)>,
    children: Vec<Node>,
    text: String,
    line: usize,
}

impl Node {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn child(&self, name: &str) -> Option<&Node> {
        self.children.iter().find(|child| child.name == name)
    }
}

/// Whether a text has a root element and is well-formed, as far as a view has to be.
///
/// # Errors
/// The reason, with its line.
pub fn check_form(text: &str) -> Result<(), String> {
    parse(text).map(drop)
}

/// Returns the properties of a view; the defaults for a text that is not XML.
#[must_use]
pub fn facts(text: &str) -> Facts {
    let Ok(root) = parse(text) else { return Facts { is_visible: true, ..Facts::default() } };
    let of = |name: &str| root.child(name).map(|child| child.text.trim().to_owned());
    let no =
        |value: &str| matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "f" | "no");
    Facts {
        label: of("label").filter(|label| !label.is_empty()),
        description: of("description").filter(|text| !text.is_empty()),
        is_visible: !root.attribute("isvisible").is_some_and(no),
        version: root.attribute("version").map(str::to_owned),
        root: root.name,
    }
}

/// Reports which parts of a view the console shows.
#[must_use]
pub fn report(text: &str) -> Report {
    let root = match parse(text) {
        Ok(root) => root,
        Err(error) => {
            let finding = finding(1, Level::None, "unreadable", "the view");
            return Report {
                root: String::new(),
                level: Level::None,
                elements: Vec::new(),
                findings: vec![finding],
                error: Some(error),
            };
        }
    };
    let mut walk = Walk::default();
    let whole = format!("<{}>", root.name);
    let refused = match TABLE.roots.get(&root.name).map(String::as_str) {
        Some("full") if root.attribute("version") == Some("2") => Some("studio"),
        Some("full") => None,
        Some(_) if root.attribute("type") == Some("html") => Some("set-up"),
        Some(_) => Some("advanced"),
        None => Some("root"),
    };
    match refused {
        Some(note) => walk.findings.push(finding(root.line, Level::None, note, &whole)),
        None => walk.node(&root, "root"),
    }
    let level = walk.findings.iter().map(|finding| finding.level);
    let level = level.filter(|level| *level > Level::Ignored).max().unwrap_or(Level::Full);
    Report { root: root.name, level, elements: walk.elements, findings: walk.findings, error: None }
}

fn finding(line: usize, level: Level, note: &str, what: &str) -> Finding {
    Finding { line, level, note: note.to_owned(), what: what.to_owned() }
}

/// The level of a name, and the key of its note. The longest name with a star counts.
fn level_of<'t>(names: &'t BTreeMap<String, String>, name: &str) -> (Level, &'t str) {
    let stars = names
        .iter()
        .filter(|(known, _)| known.strip_suffix('*').is_some_and(|begin| name.starts_with(begin)));
    let star = || stars.max_by_key(|(known, _)| known.len()).map(|(_, level)| level);
    let told = names.get(name).or_else(star).map_or("full", String::as_str);
    let (level, note) = told.split_once(':').unwrap_or((told, ""));
    let level = match level {
        "ignored" => Level::Ignored,
        "part" => Level::Part,
        "none" => Level::None,
        _ => Level::Full,
    };
    (level, note)
}

#[derive(Default)]
struct Walk {
    findings: Vec<Finding>,
    elements: Vec<(String, Level)>,
}

impl Walk {
    fn note(&mut self, line: usize, names: &BTreeMap<String, String>, name: &str, what: &str) {
        let (level, note) = level_of(names, name);
        if level != Level::Full {
            self.findings.push(finding(line, level, note, what));
        }
    }

    fn value(&mut self, node: &Node, key: &str, value: &str, what: &str) {
        // The values of tokens are not known here.
        if let Some(values) = TABLE.values.get(key)
            && !value.contains('$')
        {
            let value = value.trim().to_ascii_lowercase();
            self.note(node.line, values, &value, &format!("{what} {value}"));
        }
    }

    fn node(&mut self, node: &Node, context: &str) {
        let Some(rules) = TABLE.contexts.get(context) else { return };
        for (name, value) in &node.attributes {
            let what = format!("attribute {name} of <{}>", node.name);
            self.note(node.line, &rules.attributes, name, &what);
            self.value(node, &format!("{}@{name}", node.name), value, &what);
        }
        for child in &node.children {
            let before = self.findings.len();
            self.note(
                child.line,
                &rules.children,
                &child.name,
                &format!("<{}> in <{}>", child.name, node.name),
            );
            self.value(
                child,
                &format!("{context}>{}", child.name),
                &child.text,
                &format!("<{}>", child.name),
            );
            match child.name.as_str() {
                "option" => self.option(node, child),
                "html" => self.html(child),
                name => {
                    if let Some(inside) = TABLE.within.get(name) {
                        self.node(child, inside);
                    }
                }
            }
            if DRAWN.contains(&child.name.as_str()) {
                let found = self.findings[before..].iter().map(|finding| finding.level);
                let level = found.filter(|level| *level > Level::Ignored).max();
                self.elements.push((child.name.clone(), level.unwrap_or(Level::Full)));
            }
        }
    }

    fn option(&mut self, node: &Node, option: &Node) {
        let name = option.attribute("name").unwrap_or_default().to_ascii_lowercase();
        let what = format!("option {name} of <{}>", node.name);
        if let Some(options) = TABLE.options.get(&node.name) {
            self.note(option.line, options, &name, &what);
        }
        self.value(option, &format!("option:{name}"), &option.text, &what);
    }

    fn html(&mut self, html: &Node) {
        if html.attribute("src").is_some() {
            let what = "attribute src of <html>";
            self.findings.push(finding(html.line, Level::Part, "html-src", what));
        }
        let mut seen = BTreeSet::new();
        let mut waiting: Vec<&Node> = html.children.iter().rev().collect();
        while let Some(node) = waiting.pop() {
            if TABLE.active_html.contains(&node.name) && seen.insert(&node.name) {
                let what = format!("<{}> in <html>", node.name);
                self.findings.push(finding(node.line, Level::Part, "active-html", &what));
            }
            waiting.extend(node.children.iter().rev());
        }
    }
}

/// The text with `&amp;` for each `&` that begins no reference. Lines stay where they are.
fn repaired(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let name = behind.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'#').count();
        let whole = name > 0 && behind.as_bytes().get(name) == Some(&b';');
        out.push_str(if whole { "&" } else { "&amp;" });
        rest = behind;
    }
    out.push_str(rest);
    out
}

fn parse(text: &str) -> Result<Node, String> {
    let repaired = repaired(text.trim_start_matches('\u{feff}'));
    let mut reader = Reader::from_str(&repaired);
    reader.config_mut().expand_empty_elements = true;
    let mut open: Vec<Node> = Vec::new();
    let mut root = None;
    let (mut line, mut counted, mut elements) = (1, 0, 0);
    let bytes = repaired.as_bytes();
    loop {
        let from = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let newlines =
            |from: usize, to: usize| bytes[from..to].iter().filter(|b| **b == b'\n').count();
        line += newlines(counted, from.min(bytes.len()));
        counted = from.min(bytes.len());
        let at = |error: &dyn fmt::Display| format!("line {line}: {error}");
        let event = reader.read_event().map_err(|error| at(&error))?;
        match event {
            Event::Start(start) => {
                elements += 1;
                if open.len() >= MAX_DEPTH || elements > MAX_ELEMENTS {
                    return Err(at(&format!(
                        "more than {MAX_DEPTH} elements inside each other, or {MAX_ELEMENTS} in all"
                    )));
                }
                if root.is_some() {
                    return Err(at(&"a second root element"));
                }
                open.push(node(&start, line).map_err(|error| at(&error))?);
            }
            Event::End(_) => {
                let Some(done) = open.pop() else { continue };
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => root = Some(done),
                }
            }
            Event::Text(text) => add(&mut open, &String::from_utf8_lossy(&text)),
            Event::CData(text) => add(&mut open, &String::from_utf8_lossy(&text)),
            Event::GeneralRef(name) => {
                add(&mut open, reference(&String::from_utf8_lossy(&name)).unwrap_or_default());
            }
            Event::Eof => break,
            Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_)
            | Event::Empty(_) => {}
        }
    }
    if let Some(left) = open.last() {
        return Err(format!("line {}: <{}> is not closed", left.line, left.name));
    }
    root.ok_or_else(|| "line 1: there is no root element".to_owned())
}

fn add(open: &mut [Node], text: &str) {
    if let Some(node) = open.last_mut() {
        node.text.push_str(text);
    }
}

/// Returns the text of a predefined reference; others are dropped, because entities are not expanded.
fn reference(name: &str) -> Option<&'static str> {
    match name {
        "amp" => Some("&"),
        "lt" => Some("<"),
        "gt" => Some(">"),
        "quot" => Some("\""),
        "apos" => Some("'"),
        _ => None,
    }
}

fn node(start: &BytesStart<'_>, line: usize) -> Result<Node, String> {
    let local = |name: &[u8]| {
        let name = String::from_utf8_lossy(name).to_ascii_lowercase();
        name.rsplit(':').next().unwrap_or_default().to_owned()
    };
    let mut attributes: Vec<(String, String)> = Vec::new();
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let name = String::from_utf8_lossy(attribute.key.as_ref()).to_ascii_lowercase();
        let value = String::from_utf8_lossy(&attribute.value).into_owned();
        attributes.push((name, value));
    }
    let name = local(start.name().as_ref());
    Ok(Node { name, attributes, line, ..Node::default() })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use super::*;
    use std::fs;

    const SAMPLES: &str = "../../schemas/dashboards/samples";

    #[test]
    fn every_level_of_the_table_has_a_note_and_every_note_is_used() {
        let contexts = TABLE.contexts.values();
        let names = contexts.flat_map(|context| [&context.attributes, &context.children]);
        let names = names.chain(TABLE.values.values()).chain(TABLE.options.values());
        let levels = names.flat_map(|names| names.values()).chain(TABLE.roots.values());
        let named: BTreeSet<&str> =
            levels.filter_map(|level| level.split_once(':').map(|(_, note)| note)).collect();
        let known: BTreeSet<&str> = TABLE.notes.keys().map(String::as_str).collect();
        assert!(named.is_subset(&known), "{:?}", named.difference(&known).collect::<Vec<_>>());
        let code = ["active-html", "html-src", "root", "set-up", "studio", "unreadable"];
        let unused: Vec<_> = known.difference(&named).filter(|note| !code.contains(note)).collect();
        assert!(unused.is_empty(), "{unused:?}");
    }

    #[test]
    fn samples_have_the_reports_that_the_console_gives_too() {
        let mut reports: BTreeMap<String, Report> = BTreeMap::new();
        for entry in fs::read_dir(SAMPLES).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|suffix| suffix == "xml") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let mut report = report(&fs::read_to_string(&path).unwrap());
                // The parsers word errors differently.
                report.error = None;
                reports.insert(name, report);
            }
        }
        assert!(reports.len() >= 5, "only {} samples", reports.len());
        let expected = format!("{SAMPLES}/expected.json");
        let text = serde_json::to_string_pretty(&reports).unwrap() + "\n";
        if std::env::var_os("KARST_BLESS").is_some() {
            fs::write(&expected, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&expected).unwrap());
    }

    #[test]
    fn a_bare_ampersand_is_text() {
        let found = facts("<form><label>a & b &amp; c&d</label></form>");
        assert_eq!(found.label.as_deref(), Some("a & b & c&d"));
    }

    #[test]
    fn nothing_is_expanded_and_deep_views_are_refused() {
        let bomb = "<!DOCTYPE d [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><form><label>x&b;y</label></form>";
        assert_eq!(facts(bomb).label.as_deref(), Some("xy"));
        let deep = format!("<form>{}", "<row>".repeat(1_000));
        assert!(report(&deep).error.unwrap().contains("inside each other"));
    }

    #[test]
    fn what_is_broken_is_said_with_its_line() {
        assert_eq!(check_form("").unwrap_err(), "line 1: there is no root element");
        assert!(check_form("<form>\n<row>\n</form>").unwrap_err().starts_with("line 3: "));
    }

    #[test]
    fn a_view_says_whether_it_is_visible() {
        assert!(facts("<dashboard/>").is_visible);
        assert!(!facts("<dashboard isVisible='False'/>").is_visible);
    }
}
