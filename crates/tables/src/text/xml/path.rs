//! The supported part of XPath: `/a/b`, `//b`, `*`, `@b`, `text()`, and predicates in square brackets: `[2]`,
//! `[last()-1]`, `[position()<3]`, `[@a]`, `[@a='x']`, `[b>2]`, `[text()!='x']`, `[contains(., 'x')]`,
//! `[starts-with(@a, 'x')]`, combined with `and`, `or`, `not()` and parentheses.

use std::cmp::Ordering;

use super::document::Document;

/// Maximum nesting depth of `not()` and parentheses in a predicate.
const NESTED: usize = 20;

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
    /// A number alone: the position.
    Number(Place),
    Position {
        comparison: Comparison,
        place: Place,
    },
    Has(Part),
    Compare {
        part: Part,
        comparison: Comparison,
        value: Literal,
    },
    /// `contains()` and `starts-with()`.
    Finds {
        part: Part,
        text: String,
        at_start: bool,
    },
    Not(Box<Condition>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

/// A position among the elements of a step.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// Counted from 1.
    At(usize),
    /// The number of elements after it.
    BeforeLast(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A quoted text, or a number.
#[derive(Debug)]
enum Literal {
    Text(String),
    Number(f64),
}

/// The operand of a predicate.
#[derive(Debug)]
enum Part {
    Attribute(String),
    Child(String),
    /// Each text directly inside.
    Text,
    /// All text, including that of descendants.
    Content,
}

impl XPath {
    /// Compiles a path.
    ///
    /// # Errors
    /// A message about the unsupported part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let mut reader = Reader { rest: text.strip_prefix('.').unwrap_or(text), depth: 0 };
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
            if reader.call_of_none("text") {
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
    fn filter(&self, document: &Document, elements: Vec<usize>) -> Vec<usize> {
        let count = elements.len();
        let numbered = elements.into_iter().zip(1..);
        let kept =
            numbered.filter(|(element, position)| self.holds(document, *element, *position, count));
        kept.map(|(element, _)| element).collect()
    }

    /// Whether the condition is true for an element at a position among `count` elements.
    fn holds(&self, document: &Document, element: usize, position: usize, count: usize) -> bool {
        match self {
            Self::Number(place) => place.order(position, count) == Ordering::Equal,
            Self::Position { comparison, place } => {
                comparison.accepts(Some(place.order(position, count)))
            }
            Self::Has(part) => part.values(document, element, &mut |_| true),
            Self::Compare { part, comparison, value } => {
                part.values(document, element, &mut |found| comparison.compares(found, value))
            }
            // It is in every text, and in that of a value that is missing.
            Self::Finds { text, .. } if text.is_empty() => true,
            Self::Finds { part, text, at_start } => {
                // Of several values, XPath reads the first one.
                let mut is_first = true;
                part.values(document, element, &mut |found| {
                    let place = found.find(text.as_str());
                    let is_found = place.is_some_and(|place| place == 0 || !at_start);
                    std::mem::take(&mut is_first) && is_found
                })
            }
            Self::Not(inner) => !inner.holds(document, element, position, count),
            Self::All(inner) => {
                inner.iter().all(|inner| inner.holds(document, element, position, count))
            }
            Self::Any(inner) => {
                inner.iter().any(|inner| inner.holds(document, element, position, count))
            }
        }
    }
}

impl Place {
    /// Compares a position among `count` elements with this one.
    fn order(self, position: usize, count: usize) -> Ordering {
        match self {
            Self::At(at) => position.cmp(&at),
            Self::BeforeLast(behind) => position.saturating_add(behind).cmp(&count),
        }
    }
}

impl Comparison {
    /// Whether values in this order satisfy the comparison; those that are not numbers have none.
    fn accepts(self, order: Option<Ordering>) -> bool {
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }

    fn compares(self, found: &str, value: &Literal) -> bool {
        let value = match value {
            // Only equality compares texts.
            Literal::Text(text) if matches!(self, Self::Equal | Self::NotEqual) => {
                return self.accepts(Some(found.cmp(text)));
            }
            Literal::Text(text) => number(text),
            Literal::Number(value) => Some(*value),
        };
        let order = number(found).zip(value).and_then(|(found, value)| found.partial_cmp(&value));
        self.accepts(order)
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
        let mut test_content = |element: usize| {
            let mut text = String::new();
            document.content(element, &mut text);
            test(text.trim())
        };
        match self {
            Self::Attribute(name) => {
                let attributes = &document.elements[element].attributes;
                attributes.iter().any(|(known, value)| known == name && test(value))
            }
            Self::Child(name) => {
                let mut named = document.children(element);
                named.any(|child| document.elements[child].name == *name && test_content(child))
            }
            Self::Text => document.texts(element).any(|text| test(text.trim())),
            Self::Content => test_content(element),
        }
    }
}

/// Returns the number of a text as XPath's `number()` does: digits with an optional point, after an optional
/// minus. Other forms that Rust knows, such as `1e5`, `+1` and `inf`, are not numbers.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_number)
}

struct Reader<'t> {
    rest: &'t str,
    /// The number of open parentheses.
    depth: usize,
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || "_-.:".contains(c)
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

    /// Eats the name of a function and its opening parenthesis.
    fn call(&mut self, function: &str) -> bool {
        let behind = self.rest.strip_prefix(function);
        let inside = behind.and_then(|rest| rest.trim_start().strip_prefix('('));
        self.rest = inside.unwrap_or(self.rest);
        inside.is_some()
    }

    /// Eats a call of a function without arguments.
    fn call_of_none(&mut self, function: &str) -> bool {
        let before = self.rest;
        let is_call = self.call(function) && self.close().is_ok();
        if !is_call {
            self.rest = before;
        }
        is_call
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn name(&mut self) -> Result<String, String> {
        let end = self.rest.find(|c| !is_name_character(c)).unwrap_or(self.rest.len());
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
        if rest.trim_start().starts_with('(') {
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
        let condition = self.any()?;
        self.skip_space();
        if self.eat("]") {
            return Ok(condition);
        }
        Err(format!("'{}' is not understood in a condition", self.rest))
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut found = vec![self.all()?];
        while self.word("or") {
            found.push(self.all()?);
        }
        joined(found, Condition::Any)
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut found = vec![self.test()?];
        while self.word("and") {
            found.push(self.test()?);
        }
        joined(found, Condition::All)
    }

    /// Skips a word that joins conditions.
    fn word(&mut self, word: &str) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(word).filter(|rest| !rest.starts_with(is_name_character));
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Reads conditions up to a closing parenthesis.
    fn nested(&mut self) -> Result<Condition, String> {
        self.depth += 1;
        if self.depth > NESTED {
            return Err(format!("more than {NESTED} nested parentheses are not supported"));
        }
        let condition = self.any()?;
        self.close()?;
        self.depth -= 1;
        Ok(condition)
    }

    fn close(&mut self) -> Result<(), String> {
        self.skip_space();
        if self.eat(")") { Ok(()) } else { Err("a parenthesis is not closed".to_owned()) }
    }

    fn test(&mut self) -> Result<Condition, String> {
        self.skip_space();
        if self.call("not") {
            let inner = self.nested()?;
            check_truth(&inner)?;
            return Ok(Condition::Not(Box::new(inner)));
        }
        if self.eat("(") {
            return self.nested();
        }
        for (function, at_start) in [("contains", false), ("starts-with", true)] {
            if self.call(function) {
                return self.finds(at_start);
            }
        }
        if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let place = match self.whole()? {
                0 => return Err("positions are counted from 1".to_owned()),
                at => Place::At(at),
            };
            return Ok(Condition::Number(place));
        }
        if self.call_of_none("last") {
            return Ok(Condition::Number(self.before_last()?));
        }
        if self.call_of_none("position") {
            let comparison = self.comparison().ok_or("position() is compared with a number")?;
            return Ok(Condition::Position { comparison, place: self.place()? });
        }
        let part = self.part()?;
        let Some(comparison) = self.comparison() else { return Ok(Condition::Has(part)) };
        Ok(Condition::Compare { part, comparison, value: self.literal()? })
    }

    /// Reads the arguments of `contains()` or `starts-with()`.
    fn finds(&mut self, at_start: bool) -> Result<Condition, String> {
        self.skip_space();
        let part = self.part()?;
        self.skip_space();
        if !self.eat(",") {
            return Err(format!("a comma is missing before '{}'", self.rest));
        }
        self.skip_space();
        let Literal::Text(text) = self.literal()? else {
            return Err("contains() and starts-with() look for a quoted string".to_owned());
        };
        self.close()?;
        Ok(Condition::Finds { part, text, at_start })
    }

    fn part(&mut self) -> Result<Part, String> {
        Ok(if self.call_of_none("text") {
            Part::Text
        } else if self.eat(".") {
            Part::Content
        } else if self.eat("@") {
            Part::Attribute(self.name()?)
        } else {
            Part::Child(self.name()?)
        })
    }

    /// Reads an operator with the spaces around it.
    fn comparison(&mut self) -> Option<Comparison> {
        self.skip_space();
        let operators = [
            ("!=", Comparison::NotEqual),
            ("<=", Comparison::LessOrEqual),
            (">=", Comparison::GreaterOrEqual),
            ("=", Comparison::Equal),
            ("<", Comparison::Less),
            (">", Comparison::Greater),
        ];
        let (_, found) = operators.into_iter().find(|(symbol, _)| self.eat(symbol))?;
        self.skip_space();
        Some(found)
    }

    /// Reads a number, `last()`, or `last()` minus a number.
    fn place(&mut self) -> Result<Place, String> {
        if self.call_of_none("last") { self.before_last() } else { self.whole().map(Place::At) }
    }

    /// Reads what follows `last()`.
    fn before_last(&mut self) -> Result<Place, String> {
        self.skip_space();
        if !self.eat("-") {
            return Ok(Place::BeforeLast(0));
        }
        self.skip_space();
        self.whole().map(Place::BeforeLast)
    }

    fn whole(&mut self) -> Result<usize, String> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let number = self.rest[..end].parse::<usize>();
        let number = number.map_err(|_| format!("'{}' is not a position", self.shown()))?;
        self.rest = &self.rest[end..];
        Ok(number)
    }

    /// Returns the rest of the predicate.
    fn shown(&self) -> &str {
        self.rest.split(']').next().unwrap_or_default().trim()
    }

    fn literal(&mut self) -> Result<Literal, String> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'));
        let Some(quote) = quote else {
            let is_digit = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
            let end = self.rest.find(|c| !is_digit(c)).unwrap_or(self.rest.len());
            let found = number(&self.rest[..end]);
            let found =
                found.ok_or_else(|| format!("'{}' is not a quoted string", self.shown()))?;
            self.rest = &self.rest[end..];
            return Ok(Literal::Number(found));
        };
        let rest = &self.rest[1..];
        let end = rest.find(quote).ok_or("a quote is not closed")?;
        self.rest = &rest[end + 1..];
        Ok(Literal::Text(rest[..end].to_owned()))
    }
}

/// Returns one condition, or several joined.
fn joined(
    mut found: Vec<Condition>,
    join: fn(Vec<Condition>) -> Condition,
) -> Result<Condition, String> {
    if found.len() == 1 {
        return Ok(found.swap_remove(0));
    }
    found.iter().try_for_each(check_truth)?;
    Ok(join(found))
}

/// Refuses a number: there, XPath takes it for true, whatever the position.
fn check_truth(condition: &Condition) -> Result<(), String> {
    match condition {
        Condition::Number(_) => {
            Err("a number within and, or, not() is not a position: compare position()".to_owned())
        }
        _ => Ok(()),
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
    fn conditions_have_functions_numbers_and_words() {
        assert_eq!(found("//b[position()<2]"), ["y", "z"]);
        assert_eq!(found("//b[position() != last()]"), ["z"]);
        assert_eq!(found("//b[last() - 1]"), ["z"]);
        assert_eq!(found("//a[contains(., 'y')]/@n"), ["1"]);
        assert_eq!(found("//a[starts-with(b, \"z\")]/@n"), ["2"]);
        // The text of the first of several elements counts.
        assert_eq!(found("//a[contains(b, 'w')]"), [""; 0]);
        assert_eq!(found("//a[not(@n)]"), ["q & p"]);
        assert_eq!(found("//a[@n>1 or contains(text(), 'q')]"), ["zw", "q & p"]);
        assert_eq!(found("//a[(@n=1 or @n=2) and @m]/@n"), ["2"]);
        assert_eq!(found("//a[b and not(order)]"), ["xy", "zw"]);
        assert_eq!(found("//a[@n=1.0]/@n"), ["1"]);
        assert_eq!(found("//a[@n='1.0']/@n"), [""; 0]);
        assert_eq!(found("//a[. >= 0]"), [""; 0]);
    }

    #[test]
    fn numbers_missing_values_and_blanks_are_those_of_xpath() {
        for (text, expected) in [("-1.50", -1.5), (" 2. ", 2.0), (".5", 0.5), ("-.5", -0.5)] {
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in ["inf", "-inf", "nan", "1e5", "+5", "--1", "", "-", ".", "1.2.3", "0x1"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(found("//a[contains(@m, '')]/@n"), ["1", "2"]);
        assert_eq!(found("//a[starts-with(x, '')]/@n"), ["1", "2"]);
        assert_eq!(found("//a[not (@n)]"), ["q & p"]);
        assert_eq!(found("//a[contains (text ( ), 'q')]"), ["q & p"]);
        assert_eq!(found("//b[last ( ) - 1]"), ["z"]);
        assert_eq!(found("//b[(2)]"), ["w"]);
    }

    #[test]
    fn other_paths_are_refused_with_a_reason() {
        let reason = |path: &str| XPath::parse(path).unwrap_err();
        assert!(reason("a/b").contains("begins with /"));
        assert!(reason("//a[count(b)<3]").contains("count() is not supported"));
        assert!(reason("//a[position()]").contains("compared with a number"));
        assert!(reason("//a[position()<b]").contains("'b' is not a position"));
        assert!(reason("//a[0]").contains("counted from 1"));
        assert!(reason("//a[contains(@n, 2)]").contains("quoted string"));
        assert!(reason("//a[not(@n]").contains("a parenthesis is not closed"));
        assert!(reason("//a[@n or]").contains("a name is missing"));
        for path in ["//a[2 and @n]", "//a[@n or last()]", "//a[not(2)]", "//a[(1) and (@n)]"] {
            assert!(reason(path).contains("is not a position"), "{path}");
        }
        assert!(reason("//a[count (b)<3]").contains("count() is not supported"));
        assert!(reason("//a[@n b]").contains("'b]' is not understood"));
        let nested = format!("//a[{}@n{}]", "(".repeat(10_000), ")".repeat(10_000));
        assert!(reason(&nested).contains("nested parentheses"));
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
