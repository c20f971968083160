//! Lookups: finds the rows that match the values of an event.
//!
//! How the rows are found is that of a [`CompiledLookup`]. What was found for values is remembered where rows
//! have to be tried.

mod filter;
mod program;

use std::sync::Arc;

use exprs::AskedLookup;
use exprs::column::Values;
use exprs::compile::{LookupQuestion as LookupCall, lookup_calls};
use frames::Rows;
use hashbrown::HashMap;
use knowledge::{LookupDefinition, LookupPlace};
use parking_lot::Mutex;
pub use program::{Key, Program};
use spl::Spanned;
use spl::ast::{Command, Expr};

use crate::compiled_lookup::CompiledLookup;
use crate::host::{LookupQuestion, LookupSource};
use crate::plan_context::PlanContext;
use frames::{Error, MessageLog};

/// Number of cached results of searches through rows one by one.
const REMEMBERED: usize = 100_000;

/// A lookup, compiled for some input fields.
#[derive(Debug)]
pub struct Lookup {
    pub definition: LookupDefinition,
    /// Its rows; only the field names if a program supplies the rows.
    pub rows: Arc<Rows>,
    /// The program of an external lookup.
    pub program: Option<Program>,
    compiled: Arc<CompiledLookup>,
    remembered: Mutex<Remembered>,
}

/// Cached results, by values.
type Remembered = HashMap<Vec<Option<String>>, Arc<[u32]>>;

/// Returns the definition of a lookup that a command reads or writes as a table. Programs match the first
/// sentence of the error, which is Splunk's.
pub fn table(name: &str, context: &PlanContext) -> Result<LookupDefinition, Error> {
    context.knowledge.lookup(name).map_err(|error| {
        Error::invalid_anywhere(format!(
            "The lookup table '{name}' requires a .csv or KV store lookup definition: {error}"
        ))
    })
}

/// Reads the rows of a lookup by name; the error describes what is missing.
pub async fn read(
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

/// Opens a lookup for these input fields. `wanted` are all named fields with their positions.
pub async fn open(
    name: &str,
    inputs: &[String],
    wanted: &[&Spanned<String>],
    context: &PlanContext,
) -> Result<Arc<Lookup>, Error> {
    let (definition, rows) = read(name, context).await?;
    // Only the rows of a file can be the same object in the next search.
    let is_kept = matches!(definition.place, LookupPlace::File(_)) && definition.filter.is_none();
    let lookup = match context.host.compiled_lookups().filter(|_| is_kept) {
        Some(kept) => {
            let compiled = kept.get(&definition, &rows, inputs)?;
            Lookup::of(definition, rows, compiled)
        }
        None => Lookup::new(definition, rows, inputs)?,
    };
    lookup.check(wanted)?;
    Ok(Arc::new(lookup))
}

fn no_field(lookup: &str, field: &Spanned<String>, fields: &[String]) -> Error {
    let (missing, fields) = (&field.node, fields.join(", "));
    let message =
        format!("the lookup \"{lookup}\" has no field \"{missing}\"; its fields are {fields}");
    Error::at(message, field.span)
}

/// The caller of a lookup.
#[derive(Debug)]
pub struct Asking<'a> {
    pub context: &'a PlanContext,
    pub log: &'a MessageLog,
    /// Whether the rows are for a preview, for which no program is started.
    pub is_dry_run: bool,
    /// The position of the setting of an automatic lookup; then a failure of the program is only a warning.
    pub automatic: Option<String>,
}

/// Opens a lookup that may be external; see [`open`].
pub async fn open_any(
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

/// Returns the table of a lookup.
pub fn source(definition: &LookupDefinition) -> Result<LookupSource, Error> {
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
    /// Creates a lookup for these input fields.
    pub fn new(
        definition: LookupDefinition,
        rows: Arc<Rows>,
        inputs: &[String],
    ) -> Result<Self, Error> {
        let compiled = Arc::new(CompiledLookup::new(&definition, &rows, inputs)?);
        Ok(Self::of(definition, rows, compiled))
    }

    fn of(definition: LookupDefinition, rows: Arc<Rows>, compiled: Arc<CompiledLookup>) -> Self {
        Self { definition, rows, program: None, compiled, remembered: Mutex::default() }
    }

    /// Returns a digest of its rows.
    pub fn contents(&self) -> Option<[u64; 2]> {
        self.compiled.contents(&self.rows)
    }

    /// Checks that the lookup has these fields. An empty table has all fields.
    pub fn check(&self, wanted: &[&Spanned<String>]) -> Result<(), Error> {
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

    /// Returns the rows that match the values of an event at a time (epoch seconds), in order, up to the
    /// lookup's maximum.
    pub fn find(&self, values: &[Option<&str>], time: Option<f64>) -> Arc<[u32]> {
        let compiled = &self.compiled;
        if !compiled.tries_rows() {
            return self.limited(compiled.exactly(values), time);
        }
        let is_timed = compiled.times().is_some();
        let owned: Vec<Option<String>> =
            values.iter().map(|value| value.map(str::to_owned)).collect();
        if !is_timed {
            let known = self.remembered.lock();
            if let Some(found) = known.get(&owned) {
                return Arc::clone(found);
            }
        }
        let most = if is_timed { usize::MAX } else { self.definition.max_matches };
        let found = self.limited(&compiled.tried(values, most), time);
        if !is_timed {
            let mut known = self.remembered.lock();
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(owned, Arc::clone(&found));
        }
        found
    }

    /// Limits rows to the lookup's maximum; for a time-based lookup, to the newest rows that are old enough.
    fn limited(&self, found: &[u32], time: Option<f64>) -> Arc<[u32]> {
        let most = self.definition.max_matches;
        let (Some(times), Some(rule)) = (self.compiled.times(), &self.definition.time) else {
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

/// The lookups that expressions of a command use through `lookup()`.
#[derive(Debug, Default)]
pub struct Lookups(Vec<(String, Vec<String>, Arc<Lookup>)>);

impl Lookups {
    /// Reads the lookups in the expressions of `eval` and `where`.
    pub async fn read(command: &Command, context: &PlanContext) -> Result<Self, Error> {
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

    /// Reads the lookups in a further expression.
    pub async fn add(&mut self, expr: &Expr, context: &PlanContext) -> Result<(), Error> {
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

    /// Returns the lookup with these input fields.
    pub fn get(&self, table: &str, inputs: &[String]) -> Option<Arc<Lookup>> {
        let known = self.0.iter().find(|known| known.0 == table && known.1 == inputs);
        known.map(|(_, _, lookup)| Arc::clone(lookup))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use eval::Network;

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
