//! Rows of a lookup, made ready to be found by the values of its fields, and kept for the next search.
//!
//! Exact fields and networks are found by hash, so that a large file costs no more per event than a small
//! one; patterns are tried in the order of the rows. To hash the rows of a large file takes longer than many
//! searches, so [`CompiledLookups`] keeps those that were used last.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock, Weak};

use eval::{Network, Networks};
use exprs::column::Values;
use frames::Rows;
use hashbrown::HashMap;
use knowledge::time::{LocalClock, TimeFormat};
use knowledge::{LookupDefinition, LookupTime, MatchType};
use parking_lot::Mutex;

use eval::value::parse_number;
use frames::Error;

/// Number of rows below which lookups are not cached, because compiling them is fast.
const MANY_ROWS: usize = 1_000;
/// Maximum number of rows that are tested one by one instead of by their hashed networks.
const FEW: usize = 8;

/// Everything on which a compiled lookup depends besides its rows.
#[derive(Debug, Clone, PartialEq)]
struct Options {
    /// The input fields, and how each is compared.
    inputs: Vec<(String, MatchType)>,
    case_sensitive: bool,
    time: Option<LookupTime>,
}

impl Options {
    fn of(definition: &LookupDefinition, inputs: &[String]) -> Self {
        let kind = |input: &String| {
            let kind = definition.match_types.get(input).copied();
            (input.clone(), kind.unwrap_or(MatchType::Exact))
        };
        Self {
            inputs: inputs.iter().map(kind).collect(),
            case_sensitive: definition.case_sensitive,
            time: definition.time.clone(),
        }
    }
}

/// An index of rows by the values of some fields.
#[derive(Debug)]
pub struct CompiledLookup {
    options: Options,
    /// Rows by the values of the exactly matching fields, in order.
    exact: HashMap<Box<str>, Vec<u32>>,
    /// The inputs that are part of the keys of `exact`.
    keyed: Vec<usize>,
    /// The conditions of each row on the inputs that do not match exactly.
    tests: Vec<(usize, Vec<Test>)>,
    /// The rows of each input that is matched by network.
    networks: Vec<(usize, Networks)>,
    /// The time of each row in seconds, for time-based lookups.
    times: Option<Vec<Option<f64>>>,
    /// A digest of all fields of all rows, if a search has asked for it.
    contents: OnceLock<Option<[u64; 2]>>,
}

impl CompiledLookup {
    /// Compiles the rows of a lookup for these input fields.
    pub fn new(
        definition: &LookupDefinition,
        rows: &Rows,
        inputs: &[String],
    ) -> Result<Self, Error> {
        let options = Options::of(definition, inputs);
        let case = options.case_sensitive;
        let mut keyed = Vec::new();
        let (mut tests, mut networks) = (Vec::new(), Vec::new());
        let mut keys = Vec::new();
        for (at, (input, kind)) in options.inputs.iter().enumerate() {
            let texts = rows.texts(input)?;
            if *kind == MatchType::Exact {
                keyed.push(at);
                keys.push(texts);
                continue;
            }
            let test = |text: &Option<String>| Test::new(*kind, text.as_deref(), case);
            let of_rows: Vec<Test> = texts.iter().map(test).collect();
            if *kind == MatchType::Cidr {
                networks.push((at, networks_of(&of_rows)));
            }
            tests.push((at, of_rows));
        }
        let mut exact: HashMap<Box<str>, Vec<u32>> = HashMap::new();
        for row in 0..rows.count {
            let cells = keys.iter().map(|column| column[row].as_deref());
            if let Some(key) = key(cells, case) {
                // Most keys have one row, so keys and rows are stored without spare capacity.
                let rows =
                    exact.entry(key.into_boxed_str()).or_insert_with(|| Vec::with_capacity(1));
                rows.push(u32::try_from(row).unwrap_or(u32::MAX));
            }
        }
        let times = options.time.as_ref().map(|time| seconds(rows, time)).transpose()?;
        let contents = OnceLock::new();
        Ok(Self { options, exact, keyed, tests, networks, times, contents })
    }

    /// Returns a digest of all fields of its rows, which are given: those of lookups with other rows differ.
    /// `None` if they have a column of an unknown type.
    pub fn contents(&self, rows: &Rows) -> Option<[u64; 2]> {
        *self.contents.get_or_init(|| digest(rows).ok())
    }

    /// Whether rows must be tested one by one.
    pub fn tries_rows(&self) -> bool {
        !self.tests.is_empty()
    }

    /// Returns the time of each row in seconds, if the lookup is time-based.
    pub fn times(&self) -> Option<&[Option<f64>]> {
        self.times.as_deref()
    }

    /// Returns the rows with these values of the exactly matching fields, in order.
    pub fn exactly(&self, values: &[Option<&str>]) -> &[u32] {
        let cells = self.keyed.iter().map(|at| values.get(*at).copied().flatten());
        let found = key(cells, self.options.case_sensitive).and_then(|key| self.exact.get(&*key));
        found.map_or(&[], Vec::as_slice)
    }

    /// Returns the first rows, in order, that match these values in all fields.
    pub fn tried(&self, values: &[Option<&str>], most: usize) -> Vec<u32> {
        let lower = |value: &str| match self.options.case_sensitive {
            true => value.to_owned(),
            false => value.to_lowercase(),
        };
        let lower: Vec<Option<String>> = values.iter().map(|value| value.map(lower)).collect();
        let holds = |row: &&u32| {
            self.tests.iter().all(|(at, tests)| {
                lower[*at].as_deref().is_some_and(|value| tests[**row as usize].holds(value))
            })
        };
        let rows = self.narrowed(self.exactly(values), &lower);
        rows.iter().filter(holds).take(most).copied().collect()
    }

    /// Narrows rows to those that may match: for network fields, those whose network contains the address.
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

    /// Estimates the memory in bytes.
    fn bytes(&self) -> usize {
        let rows = |rows: &Vec<u32>| rows.capacity() * size_of::<u32>();
        let exact = self.exact.iter().map(|(key, found)| key.len() + rows(found));
        let exact =
            exact.sum::<usize>() + self.exact.capacity() * size_of::<(Box<str>, Vec<u32>)>();
        let tests = self.tests.iter().flat_map(|(_, tests)| tests).map(Test::bytes);
        let networks = self.networks.iter().map(|(_, networks)| networks.bytes());
        let times = self.times.as_ref().map_or(0, |times| size_of_val(&times[..]));
        exact + tests.sum::<usize>() + networks.sum::<usize>() + times
    }
}

/// The condition of a row's value on an event's value.
#[derive(Debug)]
enum Test {
    /// Never satisfied, because the value is missing.
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

    /// Estimates the memory in bytes.
    fn bytes(&self) -> usize {
        let parts = match self {
            Self::Pattern(parts) => &parts[..],
            Self::Never | Self::Network(_) => &[],
        };
        let parts = parts.iter().map(|part| size_of::<String>() + part.capacity());
        size_of::<Self>() + parts.sum::<usize>()
    }

    fn holds(&self, value: &str) -> bool {
        match self {
            Self::Never => false,
            Self::Network(network) => network.contains(value) == Some(true),
            Self::Pattern(parts) => matches_parts(parts, value),
        }
    }
}

/// Whether a text matches a pattern, given the parts between its wildcards.
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

/// Returns the key of exact values; `None` if one is missing.
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

/// Returns a digest of rows. One of 64 bits would be too short to tell all versions of all lookups apart.
fn digest(rows: &Rows) -> Result<[u64; 2], Error> {
    // No byte of a text has this value.
    const NEXT: u8 = 0xfe;
    let (mut one, mut two) = (DefaultHasher::new(), DefaultHasher::new());
    two.write_u8(NEXT);
    for column in &rows.columns {
        column.name.hash(&mut one);
        column.name.hash(&mut two);
        let values = Values::new(&column.array)?;
        for row in 0..rows.count {
            one.write_u8(NEXT);
            two.write_u8(NEXT);
            values.get(row).each_text(|text| {
                text.hash(&mut one);
                text.hash(&mut two);
            });
        }
    }
    Ok([one.finish(), two.finish()])
}

/// Indexes the rows by network.
fn networks_of(tests: &[Test]) -> Networks {
    let mut networks = Networks::default();
    for (row, test) in tests.iter().enumerate() {
        if let Test::Network(network) = test {
            networks.add(*network, u32::try_from(row).unwrap_or(u32::MAX));
        }
    }
    networks
}

/// Returns the time of each row in seconds.
fn seconds(rows: &Rows, time: &LookupTime) -> Result<Vec<Option<f64>>, Error> {
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

/// A cache of recently used compiled lookups, shared by searches.
#[derive(Debug)]
pub struct CompiledLookups {
    /// Maximum size in bytes.
    most: usize,
    /// Called with the current size after a lookup has been compiled.
    tell: fn(usize),
    /// The entries, least recently used first.
    kept: Mutex<Vec<Kept>>,
}

#[derive(Debug)]
struct Kept {
    /// The compiled rows. While the reference is held, no other rows can have this address.
    rows: Weak<Rows>,
    compiled: Arc<CompiledLookup>,
    bytes: usize,
}

impl CompiledLookups {
    /// Creates an empty cache with this maximum size in bytes. `tell` is called with the current size after a
    /// lookup has been compiled.
    #[must_use]
    pub fn new(most: usize, tell: fn(usize)) -> Self {
        Self { most, tell, kept: Mutex::default() }
    }

    /// Returns compiled rows, from the cache if possible.
    pub fn get(
        &self,
        definition: &LookupDefinition,
        rows: &Arc<Rows>,
        inputs: &[String],
    ) -> Result<Arc<CompiledLookup>, Error> {
        self.get_within(self.most, definition, rows, inputs)
    }

    fn get_within(
        &self,
        most: usize,
        definition: &LookupDefinition,
        rows: &Arc<Rows>,
        inputs: &[String],
    ) -> Result<Arc<CompiledLookup>, Error> {
        let compile = || CompiledLookup::new(definition, rows, inputs).map(Arc::new);
        if rows.count < MANY_ROWS {
            return compile();
        }
        let options = Options::of(definition, inputs);
        let is_same = |one: &Kept| {
            std::ptr::eq(one.rows.as_ptr(), Arc::as_ptr(rows)) && one.compiled.options == options
        };
        let mut kept = self.kept.lock();
        kept.retain(|one| one.rows.strong_count() > 0);
        if let Some(at) = kept.iter().position(is_same) {
            let found = kept.remove(at);
            let compiled = Arc::clone(&found.compiled);
            kept.push(found);
            return Ok(compiled);
        }
        // The lock is released while a large file is compiled.
        drop(kept);
        let compiled = compile()?;
        let bytes = compiled.bytes();
        let mut kept = self.kept.lock();
        kept.retain(|one| one.rows.strong_count() > 0 && !is_same(one));
        if bytes <= most {
            let one = Kept { rows: Arc::downgrade(rows), compiled: Arc::clone(&compiled), bytes };
            kept.push(one);
        }
        let mut held: usize = kept.iter().map(|one| one.bytes).sum();
        while held > most {
            held -= kept.remove(0).bytes;
        }
        (self.tell)(held);
        Ok(compiled)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn rows() -> Arc<Rows> {
        let mut rows = Rows::blank(MANY_ROWS);
        for name in ["a", "b"] {
            rows.set_texts(name, (0..MANY_ROWS).map(|row| Some(format!("{name}{row}"))));
        }
        Arc::new(rows)
    }

    fn kept() -> CompiledLookups {
        CompiledLookups::new(64 << 20, |bytes| assert!(bytes <= 64 << 20))
    }

    fn definition(conf: &str) -> LookupDefinition {
        use conf::{Layer, Layers};
        let conf = format!("[l]\nfilename = f.csv\n{conf}");
        let layers = Layers::builtin().with(Layer::SystemLocal, "transforms", &conf);
        knowledge::Knowledge::new(layers).lookup("l").unwrap()
    }

    #[test]
    fn a_lookup_is_compiled_once_for_the_same_rows_and_options() {
        let (kept, one, other) = (kept(), rows(), rows());
        let [a, b] = ["a", "b"].map(|name| [name.to_owned()]);
        let plain = definition("");
        let first = kept.get(&plain, &one, &a).unwrap();
        assert_eq!(first.exactly(&[Some("a7")]), [7]);
        // What is not part of it may differ.
        let again = kept.get(&definition("max_matches = 1"), &one, &a).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let lower = definition("case_sensitive_match = false");
        let wild = definition("match_type = WILDCARD(a)");
        for (definition, rows, inputs) in
            [(&plain, &other, &a), (&plain, &one, &b), (&lower, &one, &a), (&wild, &one, &a)]
        {
            let compiled = kept.get(definition, rows, inputs).unwrap();
            assert!(!Arc::ptr_eq(&first, &compiled));
            assert!(Arc::ptr_eq(&compiled, &kept.get(definition, rows, inputs).unwrap()));
        }
        assert_eq!(kept.kept.lock().len(), 5);
        // Rows of a file that has changed are let go, and what is compiled of them with the next.
        drop(other);
        kept.get(&lower, &one, &b).unwrap();
        assert_eq!(kept.kept.lock().len(), 5);
    }

    #[test]
    fn other_rows_have_another_digest() {
        let of = |cells: &[Option<&str>], name: &str| {
            let mut rows = Rows::blank(cells.len());
            rows.set_texts(name, cells.iter().copied());
            digest(&rows).unwrap()
        };
        let (a, b) = (Some("a"), Some("b"));
        let some = of(&[a, b, None], "f");
        assert_eq!(some, of(&[a, b, None], "f"));
        assert_ne!(some[0], some[1]);
        for other in [
            of(&[a, None, b], "f"),
            of(&[b, a, None], "f"),
            of(&[a, b], "f"),
            of(&[a, b, Some("")], "f"),
            of(&[Some("ab"), None, None], "f"),
            of(&[a, b, None], "g"),
        ] {
            assert_ne!(some, other);
        }
    }

    #[test]
    fn what_was_not_used_for_longest_is_dropped_first() {
        let (kept, rows) = (kept(), rows());
        let [a, b] = ["a", "b"].map(|name| [name.to_owned()]);
        let (plain, lower) = (definition(""), definition("case_sensitive_match = false"));
        let get = |most: usize, definition: &LookupDefinition, inputs: &[String]| {
            kept.get_within(most, definition, &rows, inputs).unwrap()
        };
        let bytes = CompiledLookup::new(&plain, &rows, &a).unwrap().bytes();
        assert!(bytes > MANY_ROWS * 40, "{bytes}");
        let most = 2 * bytes + bytes / 2;
        let (first, second) = (get(most, &plain, &a), get(most, &plain, &b));
        assert!(Arc::ptr_eq(&first, &get(most, &plain, &a)));
        get(most, &lower, &a);
        assert!(Arc::ptr_eq(&first, &get(most, &plain, &a)));
        assert!(!Arc::ptr_eq(&second, &get(most, &plain, &b)));
        assert_eq!(kept.kept.lock().len(), 2);
        get(bytes / 2, &lower, &b);
        assert_eq!(kept.kept.lock().len(), 0);
    }
}
