//! The supported part of XPath: `/a/b`, `//b`, `*`, `@b`, `text()`, and predicates in square brackets: `[2]`,
//! `[last()]`, `[@a]`, `[@a='x']`, `[b='x']`, `[text()='x']`, also with `!=`.

use super::document::Document;

/// A compiled path.
#[derive(Debug)]
pub struct XPath {
    steps: Vec<Step>,
    end: End,
}

/// A step to elements.
#[derive(Debug)]
struct Step {
    /// Whether elements at any depth match.
    deep: bool,
    /// The element name; all elements match if absent.
    name: Option<String>,
    conditions: Vec<Condition>,
}

/// The part of the selected elements that is returned.
#[derive(Debug)]
enum End {
    /// Their text, including that of descendants.
    Content,
    /// Each text directly inside; for `//text()`, of elements at any depth.
    Texts { deep: bool },
    /// An attribute, or all attributes; for `//@a`, of elements at any depth.
    Attribute { deep: bool, name: Option<String> },
}

#[derive(Debug)]
enum Condition {
    Position(usize),
    Last,
    Has(Part),
    Equals { part: Part, value: String, equal: bool },
}

/// The operand of a predicate.
#[derive(Debug)]
enum Part {
    Attribute(String),
    Child(String),
    Text,
}

impl XPath {
    /// Compiles a path.
    ///
    /// # Errors
    /// A message about the unsupported part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut reader = Reader { rest: text.strip_prefix('.').unwrap_or(text) };
        if !reader.rest.starts_with('/') {
            return Err("a path begins with / or //".to_owned());
        }
        let mut path = Self { steps: Vec::new(), end: End::Content };
        while !reader.rest.is_empty() {
            if !matches!(path.end, End::Content) {
                return Err("an attribute and text() can only end a path".to_owned());
            }
            let deep = reader.eat("//");
            if !deep && !reader.eat("/") {
                return Err(format!("'{}' is not understood", reader.rest));
            }
            if reader.eat("text()") {
                path.end = End::Texts { deep };
            } else if reader.eat("@") {
                let name = if reader.eat("*") { None } else { Some(reader.name()?) };
                path.end = End::Attribute { deep, name };
            } else {
                path.steps.push(reader.step(deep)?);
            }
        }
        Ok(path)
    }

    /// Visits the texts that the path selects, in document order.
    pub fn visit(&self, xml: &str, visit: &mut dyn FnMut(&str)) {
        let document = Document::parse(xml);
        let mut current = vec![0];
        for step in &self.steps {
            current = step.take(&document, &current);
        }
        let deep =
            matches!(self.end, End::Texts { deep: true } | End::Attribute { deep: true, .. });
        if deep {
            current = with_descendants(&document, &current);
        }
        for element in current {
            match &self.end {
                End::Content => {
                    let mut text = String::new();
                    document.content(element, &mut text);
                    visit(text.trim());
                }
                End::Texts { .. } => {
                    let texts = document.texts(element).map(str::trim);
                    texts.filter(|text| !text.is_empty()).for_each(&mut *visit);
                }
                End::Attribute { name, .. } => {
                    let attributes = document.elements[element].attributes.iter();
                    let meant = |known: &str| name.as_deref().is_none_or(|name| name == known);
                    for (_, value) in attributes.filter(|(known, _)| meant(known)) {
                        visit(value);
                    }
                }
            }
        }
    }
}

/// Returns elements and their descendants, without duplicates, in document order.
fn with_descendants(document: &Document, elements: &[usize]) -> Vec<usize> {
    let mut seen = vec![false; document.elements.len()];
    let mut waiting = elements.to_vec();
    while let Some(element) = waiting.pop() {
        if !std::mem::replace(&mut seen[element], true) {
            waiting.extend(document.children(element));
        }
    }
    (0..seen.len()).filter(|element| seen[*element]).collect()
}

impl Step {
    fn take(&self, document: &Document, elements: &[usize]) -> Vec<usize> {
        let parents = match self.deep {
            true => with_descendants(document, elements),
            false => elements.to_vec(),
        };
        let mut taken = Vec::new();
        for parent in parents {
            let meant = |element: &usize| {
                let name = &document.elements[*element].name;
                self.name.as_ref().is_none_or(|wanted| wanted == name)
            };
            let mut found: Vec<usize> = document.children(parent).filter(meant).collect();
            for condition in &self.conditions {
                found = condition.filter(document, found);
            }
            taken.extend(found);
        }
        taken.sort_unstable();
        taken
    }
}

impl Condition {
    fn filter(&self, document: &Document, mut elements: Vec<usize>) -> Vec<usize> {
        match self {
            Self::Position(position) => elements.into_iter().skip(position - 1).take(1).collect(),
            Self::Last => elements.split_off(elements.len().saturating_sub(1)),
            Self::Has(part) => {
                elements.retain(|element| part.values(document, *element, &mut |_| true));
                elements
            }
            Self::Equals { part, value, equal } => {
                elements.retain(|element| {
                    part.values(document, *element, &mut |found| (found == value) == *equal)
                });
                elements
            }
        }
    }
}

impl Part {
    /// Whether a test is true for one of the values.
    fn values(
        &self,
        document: &Document,
        element: usize,
        test: &mut dyn FnMut(&str) -> bool,
    ) -> bool {
        match self {
            Self::Attribute(name) => {
                let attributes = &document.elements[element].attributes;
                attributes.iter().any(|(known, value)| known == name && test(value))
            }
            Self::Child(name) => document.children(element).any(|child| {
                let mut text = String::new();
                document.content(child, &mut text);
                document.elements[child].name == *name && test(text.trim())
            }),
            Self::Text => document.texts(element).any(|text| test(text.trim())),
        }
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn eat(&mut self, symbol: &str) -> bool {
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn name(&mut self) -> Result<String, String> {
        let is_name = |c: char| c.is_alphanumeric() || "_-.:".contains(c);
        let end = self.rest.find(|c| !is_name(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(match self.rest {
                "" => "a name is missing at the end".to_owned(),
                rest => format!("a name is missing before '{rest}'"),
            });
        }
        if name.contains("::") {
            return Err(format!("axes such as '{name}' are not supported"));
        }
        if rest.starts_with('(') {
            return Err(format!("the function {name}() is not supported here"));
        }
        self.rest = rest;
        Ok(name.to_owned())
    }

    fn step(&mut self, deep: bool) -> Result<Step, String> {
        if self.rest.starts_with('.') {
            return Err("'.' and '..' are not supported inside a path".to_owned());
        }
        let name = if self.eat("*") { None } else { Some(self.name()?) };
        let mut conditions = Vec::new();
        while self.eat("[") {
            conditions.push(self.condition()?);
        }
        Ok(Step { deep, name, conditions })
    }

    fn condition(&mut self) -> Result<Condition, String> {
        self.skip_space();
        let condition = self.test()?;
        self.skip_space();
        if self.eat("]") {
            return Ok(condition);
        }
        Err(format!(
            "a condition is a position or one comparison; '{}' is not understood",
            self.rest
        ))
    }

    fn test(&mut self) -> Result<Condition, String> {
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let position = self.rest[..end].parse().ok().filter(|position| *position > 0);
            self.rest = &self.rest[end..];
            let position = position.ok_or("positions are counted from 1")?;
            return Ok(Condition::Position(position));
        }
        if self.eat("last()") {
            return Ok(Condition::Last);
        }
        let part = if self.eat("text()") || self.eat(".") {
            Part::Text
        } else if self.eat("@") {
            Part::Attribute(self.name()?)
        } else {
            Part::Child(self.name()?)
        };
        self.skip_space();
        let equal = match (self.eat("!="), self.eat("=")) {
            (false, false) => return Ok(Condition::Has(part)),
            (different, _) => !different,
        };
        self.skip_space();
        Ok(Condition::Equals { part, value: self.literal()?, equal })
    }

    fn literal(&mut self) -> Result<String, String> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else {
            let end = self.rest.find(']').unwrap_or(self.rest.len());
            let (number, rest) = self.rest.split_at(end);
            if number.trim().parse::<f64>().is_err() {
                return Err(format!("'{}' is not a quoted string", number.trim()));
            }
            self.rest = rest;
            return Ok(number.trim().to_owned());
        };
        let rest = &self.rest[1..];
        let end = rest.find(quote).ok_or("a quote is not closed")?;
        self.rest = &rest[end + 1..];
        Ok(rest[..end].to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const XML: &str = "<r><a n='1'>x<b>y</b></a><c><a n='2' m=\"&lt;\"><b>z</b><b>w</b></a></c></r>\
                       <r><a>q &amp; p</a></r>";

    fn found(path: &str) -> Vec<String> {
        let mut out = Vec::new();
        XPath::parse(path).unwrap().visit(XML, &mut |text| out.push(text.to_owned()));
        out
    }

    #[test]
    fn paths_lead_to_elements_texts_and_attributes() {
        assert_eq!(found("/r/a"), ["xy", "q & p"]);
        assert_eq!(found("//a"), ["xy", "zw", "q & p"]);
        assert_eq!(found("//a/text()"), ["x", "q & p"]);
        assert_eq!(found("//c//text()"), ["z", "w"]);
        assert_eq!(found("//a/@n"), ["1", "2"]);
        assert_eq!(found("//@*"), ["1", "2", "<"]);
        assert_eq!(found("/r/*/a/b"), ["z", "w"]);
        assert_eq!(found("/x/y"), [""; 0]);
    }

    #[test]
    fn conditions_choose_among_elements() {
        assert_eq!(found("//b[1]"), ["y", "z"]);
        assert_eq!(found("//b[last()]"), ["y", "w"]);
        assert_eq!(found("//a[@n='2']/b[2]"), ["w"]);
        assert_eq!(found("//a[@n!=2]"), ["xy"]);
        assert_eq!(found("//a[@m]/@n"), ["2"]);
        assert_eq!(found("//a[b='z']/@n"), ["2"]);
        assert_eq!(found("//b[text() = \"y\"]"), ["y"]);
    }

    #[test]
    fn other_paths_are_refused_with_a_reason() {
        let reason = |path: &str| XPath::parse(path).unwrap_err();
        assert!(reason("a/b").contains("begins with /"));
        assert!(reason("//a[position()<3]").contains("position() is not supported"));
        assert!(reason("//a/@b/c").contains("can only end a path"));
        assert!(reason("//a[@b=c]").contains("is not a quoted string"));
        assert!(reason("//a[@b='c").contains("not closed"));
        assert!(reason("/a/").contains("a name is missing"));
        assert!(reason("/ancestor::a").contains("axes"));
        assert!(reason("//a/..").contains("not supported"));
    }

    #[test]
    fn broken_documents_count_as_far_as_they_go() {
        let mut out = Vec::new();
        let path = XPath::parse("//a").unwrap();
        path.visit("<r><a>1</a><a>2</b></r>", &mut |text| out.push(text.to_owned()));
        assert_eq!(out, ["1", "2"]);
    }
}
