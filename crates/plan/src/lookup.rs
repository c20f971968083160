//! Rows of lookups, ready to be asked: which rows belong to the values of an event.
//!
//! Exact fields and networks are found by hash, so that a large file costs no more per event than a small one;
//! patterns are tried in the order of the rows, and what was found for values is remembered.

mod filter;
mod program;

use std::borrow::Cow;
use std::sync::Arc;

use eval::{Network, Networks};
use exprs::AskedLookup;
use exprs::column::Values;
use exprs::compile::{LookupQuestion as LookupCall, lookup_calls};
use frames::Rows;
use hashbrown::HashMap;
use knowledge::time::{LocalClock, TimeFormat};
use knowledge::{LookupDefinition, LookupPlace, MatchType};
use parking_lot::Mutex;
pub(crate) use program::{Key, Program};
use spl::Spanned;
use spl::ast::{Command, Expr};

use crate::value::parse_number;
use crate::{Error, LookupQuestion, LookupSource, MessageLog, PlanContext};

/// Values whose rows are remembered, where rows have to be tried one by one.
const REMEMBERED: usize = 100_000;
/// Rows that are tried one by one without a look at the hashes of their networks.
const FEW: usize = 8;

/// A lookup asked by some of its fields.
#[derive(Debug)]
pub(crate) struct Lookup {
    pub(crate) definition: LookupDefinition,
    /// Its rows; none but the names of the fields where a program gives them.
    pub(crate) rows: Arc<Rows>,
    /// The program that gives the rows of an external lookup.
    pub(crate) program: Option<Program>,
    /// Rows by the values of the fields that match exactly, in order.
    exact: HashMap<String, Vec<u32>>,
    /// Which inputs are part of the keys of `exact`.
    keyed: Vec<usize>,
    tests: Vec<(usize, Vec<Test>)>,
    /// The rows of each input that is an address in a network.
    networks: Vec<(usize, Networks)>,
    /// The seconds of each row, for time-based lookups.
    times: Option<Vec<Option<f64>>>,
    remembered: Mutex<Remembered>,
}

/// The rows found for values.
type Remembered = HashMap<Vec<Option<String>>, Arc<[u32]>>;

/// What the value of a row asks of an event's value.
#[derive(Debug)]
enum Test {
    /// Nothing can satisfy a missing value.
    Never,
    Pattern(Vec<String>),
    Network(Network),
}

impl Test {
    fn new(kind: MatchType, text: Option<&str>, case_sensitive: bool) -> Self {
        let Some(text) = text else { return Self::Never };
        match kind {
            MatchType::Cidr => Network::new(text).map_or(Self::Never, Self::Network),
            MatchType::Wildcard | MatchType::Exact => {
                let text = if case_sensitive { text.to_owned() } else { text.to_lowercase() };
                Self::Pattern(text.split('*').map(str::to_owned).collect())
            }
        }
    }

    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Network(network) => network.contains(value) == Some(true),
            Self::Pattern(parts) => matches_parts(parts, value),
        }
    }
}

/// Whether the parts of a pattern, between its stars, make up the text.
fn matches_parts(parts: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = parts else {
        return parts.first().is_some_and(|only| only == text);
    };
    let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
    let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
    for part in middle {
        match rest.find(part.as_str()) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// The definition of a lookup that a command reads or writes as a table. Programs match the first sentence of
/// the error, which is Splunk's.
pub(crate) fn table(name: &str, context: &PlanContext) -> Result<LookupDefinition, Error> {
    context.knowledge.lookup(name).map_err(|error| {
        Error::invalid_anywhere(format!(
            "The lookup table '{name}' requires a .csv or KV store lookup definition: {error}"
        ))
    })
}

/// The rows of a lookup by its name; the error says what is missing.
pub(crate) async fn read(
    name: &str,
    context: &PlanContext,
) -> Result<(LookupDefinition, Arc<Rows>), Error> {
    let definition = context.knowledge.lookup(name).map_err(Error::invalid_anywhere)?;
    let source = source(&definition)?;
    let found = context.host.read_lookup(&source).await?;
    let rows = found.ok_or_else(|| match &source {
        LookupSource::File(file) => {
            Error::invalid_anywhere(format!("the lookup file \"{file}\" does not exist"))
        }
        LookupSource::Collection(name) => {
            Error::invalid_anywhere(format!("the collection \"{name}\" does not exist"))
        }
    })?;
    let rows = match &definition.filter {
        Some(text) => filter::apply(name, text, &rows, context)?,
        None => rows,
    };
    Ok((definition, rows))
}

/// A lookup that is asked by these of its fields. `wanted` are all fields that are named, where they are
/// named.
pub(crate) async fn open(
    name: &str,
    inputs: &[String],
    wanted: &[&Spanned<String>],
    context: &PlanContext,
) -> Result<Arc<Lookup>, Error> {
    let (definition, rows) = read(name, context).await?;
    let lookup = Lookup::new(definition, rows, inputs)?;
    lookup.check(wanted)?;
    Ok(Arc::new(lookup))
}

fn no_field(lookup: &str, field: &Spanned<String>, fields: &[String]) -> Error {
    let (missing, fields) = (&field.node, fields.join(", "));
    let message =
        format!("the lookup \"{lookup}\" has no field \"{missing}\"; its fields are {fields}");
    Error::at(message, field.span)
}

/// Who asks a lookup.
#[derive(Debug)]
pub(crate) struct Asking<'a> {
    pub(crate) context: &'a PlanContext,
    pub(crate) log: &'a MessageLog,
    /// Whether the rows are a preview, for which no program is started.
    pub(crate) is_dry_run: bool,
    /// The place of the setting that applies the lookup, if there is one: then a failure of its program is a
    /// warning.
    pub(crate) automatic: Option<String>,
}

/// As [`open`], for a lookup that may be external.
pub(crate) async fn open_any(
    name: &str,
    inputs: &[String],
    wanted: &[&Spanned<String>],
    asking: Asking<'_>,
) -> Result<Arc<Lookup>, Error> {
    let definition = asking.context.knowledge.lookup(name).map_err(Error::invalid_anywhere)?;
    let LookupPlace::Program(program) = definition.place.clone() else {
        return open(name, inputs, wanted, asking.context).await;
    };
    let fields = definition.fields.clone();
    if let Some(field) = wanted.iter().find(|field| !fields.contains(&field.node)) {
        return Err(no_field(name, field, &fields));
    }
    let mut rows = Rows::blank(0);
    for field in &fields {
        rows.set_texts(field, [None::<String>; 0]);
    }
    let mut lookup = Lookup::new(definition.clone(), Arc::new(rows), inputs)?;
    let question = LookupQuestion { name: name.to_owned(), program, fields };
    lookup.program = Some(Program::new(definition, question, inputs, asking));
    Ok(Arc::new(lookup))
}

/// Where the rows of a lookup are.
pub(crate) fn source(definition: &LookupDefinition) -> Result<LookupSource, Error> {
    match &definition.place {
        LookupPlace::File(file) => Ok(LookupSource::File(file.clone())),
        LookupPlace::Collection(name) => Ok(LookupSource::Collection(name.clone())),
        LookupPlace::Program(program) => Err(Error::invalid_anywhere(format!(
            "the lookup \"{}\" asks a program ({} of the app {}) for the values of events and has no rows of its \
             own: use it with the command lookup, as in `lookup {} {}`",
            definition.name,
            program.file,
            program.app,
            definition.name,
            definition.fields.first().map_or("<field>", String::as_str),
        ))),
    }
}

impl Lookup {
    /// A lookup that is asked by these of its fields.
    pub(crate) fn new(
        definition: LookupDefinition,
        rows: Arc<Rows>,
        inputs: &[String],
    ) -> Result<Self, Error> {
        let mut keyed = Vec::new();
        let (mut tests, mut networks) = (Vec::new(), Vec::new());
        let mut keys = Vec::new();
        for (at, input) in inputs.iter().enumerate() {
            let texts = rows.texts(input)?;
            match definition.match_types.get(input).copied().unwrap_or(MatchType::Exact) {
                MatchType::Exact => {
                    keyed.push(at);
                    keys.push(texts);
                }
                kind => {
                    let case = definition.case_sensitive;
                    let test = |text: &Option<String>| Test::new(kind, text.as_deref(), case);
                    let of_rows: Vec<Test> = texts.iter().map(test).collect();
                    if kind == MatchType::Cidr {
                        networks.push((at, networks_of(&of_rows)));
                    }
                    tests.push((at, of_rows));
                }
            }
        }
        let mut exact: HashMap<String, Vec<u32>> = HashMap::new();
        for row in 0..rows.count {
            let cells = keys.iter().map(|column| column[row].as_deref());
            if let Some(key) = key(cells, definition.case_sensitive) {
                exact.entry(key).or_default().push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        let times = definition.time.as_ref().map(|time| seconds(&rows, time)).transpose()?;
        let remembered = Mutex::default();
        Ok(Self {
            definition,
            rows,
            program: None,
            exact,
            keyed,
            tests,
            networks,
            times,
            remembered,
        })
    }

    /// Refuses fields that it does not have. An empty table has all.
    pub(crate) fn check(&self, wanted: &[&Spanned<String>]) -> Result<(), Error> {
        let Self { definition, rows, .. } = self;
        if rows.count == 0 && self.program.is_none() {
            return Ok(());
        }
        let known = |name: &String| rows.column(name).is_some() || definition.fields.contains(name);
        match wanted.iter().find(|field| !known(&field.node) && field.node != "_key") {
            Some(field) => Err(no_field(&definition.name, field, &rows.names())),
            None => Ok(()),
        }
    }

    /// The rows that belong to the values of an event at a time (epoch seconds), in order, not more than
    /// the lookup gives.
    pub(crate) fn find(&self, values: &[Option<&str>], time: Option<f64>) -> Arc<[u32]> {
        if self.tests.is_empty() {
            return self.limited(self.exactly(values), time);
        }
        let owned: Vec<Option<String>> =
            values.iter().map(|value| value.map(str::to_owned)).collect();
        if self.times.is_none() {
            let known = self.remembered.lock();
            if let Some(found) = known.get(&owned) {
                return Arc::clone(found);
            }
        }
        let lower: Vec<Option<String>> = match self.definition.case_sensitive {
            true => owned.clone(),
            false => owned.iter().map(|v| v.as_ref().map(|v| v.to_lowercase())).collect(),
        };
        let holds = |row: &&u32| {
            self.tests.iter().all(|(at, tests)| {
                lower[*at].as_deref().is_some_and(|value| tests[**row as usize].holds(value))
            })
        };
        let most = if self.times.is_some() { usize::MAX } else { self.definition.max_matches };
        let rows = self.narrowed(self.exactly(values), &lower);
        let found: Vec<u32> = rows.iter().filter(holds).take(most).copied().collect();
        let found = self.limited(&found, time);
        if self.times.is_none() {
            let mut known = self.remembered.lock();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(owned, Arc::clone(&found));
        }
        found
    }

    fn exactly(&self, values: &[Option<&str>]) -> &[u32] {
        let cells = self.keyed.iter().map(|at| values.get(*at).copied().flatten());
        let found = key(cells, self.definition.case_sensitive).and_then(|key| self.exact.get(&key));
        found.map_or(&[], Vec::as_slice)
    }

    /// The rows among these, in order, that may hold: of a field of networks those that contain the address.
    fn narrowed<'r>(&self, rows: &'r [u32], values: &[Option<String>]) -> Cow<'r, [u32]> {
        if rows.len() <= FEW {
            return Cow::Borrowed(rows);
        }
        let find = |(at, networks): &(usize, Networks)| match values[*at].as_deref() {
            Some(address) => networks.find(address),
            None => Vec::new(),
        };
        let Some(mut found) = self.networks.iter().map(find).min_by_key(Vec::len) else {
            return Cow::Borrowed(rows);
        };
        if !self.keyed.is_empty() {
            found.retain(|row| rows.binary_search(row).is_ok());
        }
        Cow::Owned(found)
    }

    /// As many as the lookup gives; of a time-based one the newest that are old enough.
    fn limited(&self, found: &[u32], time: Option<f64>) -> Arc<[u32]> {
        let most = self.definition.max_matches;
        let (Some(times), Some(rule)) = (&self.times, &self.definition.time) else {
            return found.iter().take(most).copied().collect();
        };
        let Some(now) = time else { return Arc::default() };
        #[allow(clippy::cast_precision_loss)]
        let (least, greatest) = (rule.min_offset as f64, rule.max_offset as f64);
        let mut fitting: Vec<(f64, u32)> = found
            .iter()
            .filter_map(|row| Some((times[*row as usize]?, *row)))
            .filter(|(time, _)| (least..=greatest).contains(&(now - time)))
            .collect();
        fitting.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        fitting.iter().take(most).map(|(_, row)| *row).collect()
    }
}

impl AskedLookup for Lookup {
    fn has_time(&self) -> bool {
        self.definition.time.is_some()
    }

    fn find(&self, values: &[Option<&str>], time: Option<f64>) -> Arc<[u32]> {
        Self::find(self, values, time)
    }

    fn values(&self, field: &str) -> Result<Values, exprs::Error> {
        Ok(self
            .rows
            .column(field)
            .map_or(Ok(Values::Null), |column| exprs::column::read(&column.array))?)
    }

    fn default_match(&self, found: usize) -> Option<&str> {
        let default = self.definition.default_match.as_deref();
        default.filter(|_| found < self.definition.min_matches)
    }
}

/// The lookups that the expressions of a command ask with `lookup()`, read.
#[derive(Debug, Default)]
pub(crate) struct Lookups(Vec<(String, Vec<String>, Arc<Lookup>)>);

impl Lookups {
    /// Reads what the expressions of `eval` and `where` ask.
    pub(crate) async fn read(command: &Command, context: &PlanContext) -> Result<Self, Error> {
        let mut read = Self::default();
        match command {
            Command::Eval(eval) => {
                for one in &eval.assignments {
                    read.add(&one.expr, context).await?;
                }
            }
            Command::Where(command) => read.add(&command.expr, context).await?,
            _ => {}
        }
        Ok(read)
    }

    /// Reads what an expression asks, too.
    pub(crate) async fn add(&mut self, expr: &Expr, context: &PlanContext) -> Result<(), Error> {
        let mut calls = Vec::new();
        lookup_calls(expr, &mut calls);
        for call in calls {
            let asked = LookupCall::of(call)?;
            let inputs = asked.input_names();
            let names = asked.inputs.iter().map(|(name, _)| name).chain(&asked.outputs);
            let names: Vec<_> = names.collect();
            if let Some(known) = self.get(asked.table, &inputs) {
                known.check(&names)?;
                continue;
            }
            let found = open(asked.table, &inputs, &names, context).await;
            let found = found.map_err(|error| match error {
                Error::Invalid { message, span: None } => {
                    Error::at(message, call.arguments[0].span)
                }
                other => other,
            })?;
            self.0.push((asked.table.to_owned(), inputs, found));
        }
        Ok(())
    }

    /// The lookup that is asked by these of its fields.
    pub(crate) fn get(&self, table: &str, inputs: &[String]) -> Option<Arc<Lookup>> {
        let known = self.0.iter().find(|known| known.0 == table && known.1 == inputs);
        known.map(|(_, _, lookup)| Arc::clone(lookup))
    }
}

/// The key of exact values; none if one is missing.
fn key<'a>(cells: impl Iterator<Item = Option<&'a str>>, case_sensitive: bool) -> Option<String> {
    let mut key = String::new();
    for cell in cells {
        let cell = cell?;
        match case_sensitive {
            true => key.push_str(cell),
            false => key.push_str(&cell.to_lowercase()),
        }
        key.push('\u{1f}');
    }
    Some(key)
}

/// The rows by their networks.
fn networks_of(tests: &[Test]) -> Networks {
    let mut networks = Networks::default();
    for (row, test) in tests.iter().enumerate() {
        if let Test::Network(network) = test {
            networks.add(*network, u32::try_from(row).unwrap_or(u32::MAX));
        }
    }
    networks
}

/// The time of each row in seconds.
fn seconds(rows: &Rows, time: &knowledge::LookupTime) -> Result<Vec<Option<f64>>, Error> {
    let texts = rows.texts(&time.field)?;
    let Some(format) = &time.format else {
        return Ok(texts.iter().map(|text| parse_number(text.as_deref()?)).collect());
    };
    let format = TimeFormat::parse(format);
    let mut clock = LocalClock::utc();
    let reference = model::EventTime(0);
    let mut read = |text: &Option<String>| {
        let found = format.strptime(text.as_deref()?, &mut clock, reference)?;
        Some(found.seconds())
    };
    Ok(texts.iter().map(&mut read).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows(columns: &[(&str, &[&str])]) -> Arc<Rows> {
        let mut rows = Rows::blank(columns[0].1.len());
        for (name, texts) in columns {
            rows.set_texts(name, texts.iter().map(|text| Some(*text).filter(|t| !t.is_empty())));
        }
        Arc::new(rows)
    }

    fn definition(conf: &str) -> LookupDefinition {
        use conf::{Layer, Layers};
        let conf = format!("[l]\nfilename = f.csv\n{conf}");
        let layers = Layers::builtin().with(Layer::SystemLocal, "transforms", &conf);
        knowledge::Knowledge::new(layers).lookup("l").unwrap()
    }

    fn lookup(conf: &str, rows: Arc<Rows>, inputs: &[&str]) -> Lookup {
        let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
        Lookup::new(definition(conf), rows, &inputs).unwrap()
    }

    fn places(rows: &[u32]) -> Vec<u32> {
        rows.to_vec()
    }

    #[test]
    fn all_inputs_must_be_equal() {
        let table = rows(&[("a", &["1", "1", "2", ""]), ("b", &["x", "y", "x", "z"])]);
        let found = lookup("", table, &["a", "b"]);
        assert_eq!(found.find(&[Some("1"), Some("y")], None).to_vec(), places(&[1]));
        assert_eq!(found.find(&[Some("2"), Some("y")], None).to_vec(), places(&[]));
        assert_eq!(found.find(&[None, Some("z")], None).to_vec(), places(&[]));
    }

    #[test]
    fn case_counts_unless_it_is_told_not_to() {
        let table = rows(&[("a", &["Web", "web"])]);
        assert_eq!(
            lookup("", Arc::clone(&table), &["a"]).find(&[Some("web")], None).to_vec(),
            places(&[1])
        );
        let found = lookup("case_sensitive_match = false", table, &["a"]);
        assert_eq!(found.find(&[Some("WEB")], None).to_vec(), places(&[0, 1]));
    }

    #[test]
    fn patterns_and_networks_are_tried_in_the_order_of_rows() {
        let table = rows(&[("u", &["/a/*", "*.css", "*b*d", "/exact"])]);
        let found = lookup("match_type = WILDCARD(u)", table, &["u"]);
        assert_eq!(found.find(&[Some("/a/x.css")], None).to_vec(), places(&[0, 1]));
        assert_eq!(found.find(&[Some("abcd")], None).to_vec(), places(&[2]));
        assert_eq!(found.find(&[Some("/exact")], None).to_vec(), places(&[3]));
        assert_eq!(found.find(&[Some("/exact2")], None).to_vec(), places(&[]));
        let table = rows(&[("n", &["10.0.0.0/8", "10.1.0.0/16", "bad"])]);
        let found = lookup("match_type = CIDR(n)\nmax_matches = 1", table, &["n"]);
        assert_eq!(found.find(&[Some("10.1.2.3")], None).to_vec(), places(&[0]));
        assert_eq!(found.find(&[Some("11.1.2.3")], None).to_vec(), places(&[]));
    }

    #[test]
    fn many_networks_are_found_as_if_each_row_were_tried() {
        let count = 600_u32;
        let networks: Vec<String> = (0..count)
            .map(|row| match row % 5 {
                0 => format!("10.{}.0.0/16", row % 7),
                1 => "10.0.0.0/8".to_owned(),
                2 => format!("10.{}.2.0/24", row % 7),
                3 => "2001:DB8::/32".to_owned(),
                _ => "no network".to_owned(),
            })
            .collect();
        let zones: Vec<String> = (0..count).map(|row| format!("Zone{}", row % 3)).collect();
        let paths: Vec<&str> = (0..count).map(|row| ["/a*", "/b*"][row as usize % 2]).collect();
        let networks: Vec<&str> = networks.iter().map(String::as_str).collect();
        let zones: Vec<&str> = zones.iter().map(String::as_str).collect();
        let table = rows(&[("n", &networks[..]), ("m", &networks), ("z", &zones), ("p", &paths)]);
        let match_type = "match_type = CIDR(n), CIDR(m), WILDCARD(p)";
        let conf = format!("{match_type}\ncase_sensitive_match = false\nmax_matches = 9");
        let addresses = ["10.3.2.1", "10.4.9.9", "10.200.0.1", "2001:db8::7", "11.0.0.1", "x"];
        for inputs in [&["n"][..], &["n", "z"], &["p", "n"], &["z", "m", "p", "n"]] {
            let found = lookup(&conf, Arc::clone(&table), inputs);
            for address in addresses {
                let value = |input: &&str| match *input {
                    "z" => Some("zone1"),
                    "p" => Some("/B/c"),
                    _ => Some(address),
                };
                let values: Vec<Option<&str>> = inputs.iter().map(value).collect();
                let holds = |row: &u32| {
                    let at = *row as usize;
                    let inside = Network::new(networks[at])
                        .is_some_and(|network| network.contains(address) == Some(true));
                    inside
                        && (!inputs.contains(&"z") || at % 3 == 1)
                        && (!inputs.contains(&"p") || at % 2 == 1)
                };
                let expected: Vec<u32> = (0..count).filter(holds).take(9).collect();
                assert_eq!(found.find(&values, None).to_vec(), expected, "{inputs:?} {address}");
            }
            let nothing: Vec<Option<&str>> = vec![None; inputs.len()];
            assert_eq!(found.find(&nothing, None).to_vec(), places(&[]), "{inputs:?}");
        }
    }

    #[test]
    fn a_time_based_lookup_gives_the_newest_row_before_the_event() {
        let table = rows(&[("ip", &["a", "a", "a"]), ("at", &["100", "200", "300"])]);
        let found = lookup("time_field = at\nmax_offset_secs = 150", table, &["ip"]);
        assert_eq!(found.find(&[Some("a")], Some(250.0)).to_vec(), places(&[1]));
        assert_eq!(found.find(&[Some("a")], Some(99.0)).to_vec(), places(&[]));
        assert_eq!(found.find(&[Some("a")], Some(600.0)).to_vec(), places(&[]));
        assert_eq!(found.find(&[Some("a")], None).to_vec(), places(&[]));
    }
}
