//! Which stanzas of `props.conf` apply to an event: one function of the plan, however many stanzas there are.
//!
//! Source types are found by hash; patterns of source types, sources and hosts are tried once for each
//! combination that occurs.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::Int64Array;
use exprs::Typed;
use exprs::column::{Argument, Value};
use exprs::kernel::columns as of_columns;
use exprs::predicate::FieldValue;
use exprs::types::ValueType;
use frames::Frame;
use hashbrown::{Equivalent, HashMap};
use knowledge::StanzaMatcher;
use model::columns;
use parking_lot::Mutex;
use spl::ast::{ComparisonOperator, SearchExpr};

/// Number of cached combinations of source type, source and host.
const REMEMBERED: usize = 100_000;

/// The arguments of functions that look up stanzas.
const NAMES: [&str; 3] = [columns::SOURCETYPE, columns::SOURCE, columns::HOST];

/// Numbers of stanzas.
type Numbers = Arc<[u32]>;

/// Several stanzas, numbered from 0.
#[derive(Debug)]
pub struct Stanzas {
    /// Stanzas that apply by source type alone, in order.
    by_sourcetype: HashMap<String, Numbers>,
    /// Stanzas that apply to all events.
    everywhere: Numbers,
    /// Stanzas with a pattern, in order.
    patterns: Vec<(u32, StanzaMatcher)>,
    remembered: Mutex<HashMap<Names, Numbers>>,
}

/// Source type, source and host of an event.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Names([String; 3]);

#[derive(Hash)]
struct Asked<'a>([&'a str; 3]);

impl Equivalent<Names> for Asked<'_> {
    fn equivalent(&self, names: &Names) -> bool {
        self.0.iter().zip(&names.0).all(|(asked, name)| asked == name)
    }
}

impl Stanzas {
    /// Numbers stanzas in the order given.
    /// Creates it for the patterns of stanzas, in their order.
    pub fn new<'m>(matchers: impl Iterator<Item = &'m StanzaMatcher>) -> Self {
        let (mut everywhere, mut patterns) = (Vec::new(), Vec::new());
        let mut named: HashMap<String, Vec<u32>> = HashMap::new();
        for (number, matcher) in (0..).zip(matchers) {
            match matcher {
                StanzaMatcher::Everything => everywhere.push(number),
                StanzaMatcher::Sourcetype(name) => {
                    named.entry(name.clone()).or_default().push(number);
                }
                _ => patterns.push((number, matcher.clone())),
            }
        }
        let with_all = |mut own: Vec<u32>| {
            own.extend(&everywhere);
            own.sort_unstable();
            own.into()
        };
        let by_sourcetype = named.into_iter().map(|(name, own)| (name, with_all(own))).collect();
        let remembered = Mutex::default();
        Self { by_sourcetype, everywhere: everywhere.into(), patterns, remembered }
    }

    /// Whether all stanzas apply to every event.
    pub fn are_everywhere(&self) -> bool {
        self.by_sourcetype.is_empty() && self.patterns.is_empty()
    }

    /// Returns the leading arguments of functions that look up stanzas: the names of an event.
    pub fn names(frame: &Frame) -> Vec<Typed> {
        NAMES.iter().map(|name| frame.field(name)).collect()
    }

    /// Returns the stanzas that apply to an event with this source type, source and host, in order.
    pub fn of_event(&self, names: [&str; 3]) -> Numbers {
        let plain = || self.by_sourcetype.get(names[0]).unwrap_or(&self.everywhere);
        if self.patterns.is_empty() {
            return Arc::clone(plain());
        }
        let mut remembered = self.remembered.lock();
        if let Some(known) = remembered.get(&Asked(names)) {
            return Arc::clone(known);
        }
        let [sourcetype, source, host] = names;
        let patterns = self.patterns.iter();
        let fitting = patterns.filter(|(_, matcher)| matcher.matches(sourcetype, source, host));
        let mut found: Vec<u32> = fitting.map(|(number, _)| *number).collect();
        found.extend(plain().iter());
        found.sort_unstable();
        let found: Numbers = found.into();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(Names(names.map(str::to_owned)), Arc::clone(&found));
        found
    }
}

/// The lookup of stanzas for the events of a batch. The same names recur, and most lookups are answered by
/// the memory address of the names, without reading their text.
#[derive(Debug)]
pub struct OfBatch<'s> {
    stanzas: &'s Stanzas,
    seen: HashMap<[u128; 3], Numbers>,
}

impl<'s> OfBatch<'s> {
    /// Creates the lookup for one batch.
    pub fn new(stanzas: &'s Stanzas) -> Self {
        Self { stanzas, seen: HashMap::new() }
    }

    /// Returns the stanzas that apply to an event with this source type, source and host, in order. The names
    /// must not move while this object is used.
    pub fn of_event(&mut self, names: [Value<'_>; 3]) -> Numbers {
        let [Some(a), Some(b), Some(c)] = names.map(identity) else {
            let names = names.map(Value::text);
            let names = names.each_ref().map(|name| name.as_deref().unwrap_or_default());
            return self.stanzas.of_event(names);
        };
        let stanzas = self.stanzas;
        let new = || {
            stanzas.of_event(names.map(|name| match name {
                Value::Text(text) => text,
                _ => "",
            }))
        };
        Arc::clone(self.seen.entry([a, b, c]).or_insert_with(new))
    }
}

/// The names of an event among arguments that begin with [`Stanzas::names`].
pub fn names_in(arguments: &[Argument], row: usize) -> [Value<'_>; 3] {
    [0, 1, 2].map(|at| arguments.get(at).map_or(Value::Null, |argument| argument.get(row)))
}

/// Returns a key for a name within a batch: its bytes if it is short, otherwise its address. `None` if it is
/// not a text.
fn identity(name: Value<'_>) -> Option<u128> {
    const SHORT: usize = 15;
    match name {
        Value::Null => Some(0),
        Value::Text(text) if text.len() <= SHORT => {
            let mut bytes = [0; SHORT + 1];
            bytes[..text.len()].copy_from_slice(text.as_bytes());
            // The length plus one is part of the key, so that no other text, and not null, has the same key.
            bytes[SHORT] = u8::try_from(text.len()).ok()? + 1;
            Some(u128::from_le_bytes(bytes))
        }
        Value::Text(text) => {
            Some(1 << 127 | (text.len() as u128) << 64 | text.as_ptr().addr() as u128)
        }
        _ => None,
    }
}

/// The stanzas of several choices. The applicable stanzas are looked up once per event, whatever the number
/// of choices.
#[derive(Debug)]
pub struct Together {
    stanzas: Stanzas,
    /// The combinations of applicable stanzas, by number.
    combinations: Mutex<Combinations>,
}

#[derive(Debug, Default)]
struct Combinations {
    numbers: HashMap<Numbers, usize>,
    all: Vec<Numbers>,
}

impl Together {
    pub fn new<'m>(matchers: impl Iterator<Item = &'m StanzaMatcher>) -> Arc<Self> {
        Arc::new(Self { stanzas: Stanzas::new(matchers), combinations: Mutex::default() })
    }

    /// Returns the number of a combination of stanzas.
    fn number(&self, stanzas: &Numbers) -> i64 {
        let Combinations { numbers, all } = &mut *self.combinations.lock();
        let number = *numbers.entry(Arc::clone(stanzas)).or_insert_with(|| {
            all.push(Arc::clone(stanzas));
            all.len() - 1
        });
        i64::try_from(number).unwrap_or(i64::MAX)
    }

    /// Returns the position of the first of some stanzas that belongs to a combination.
    fn first(&self, combination: i64, among: &[u32]) -> Option<i64> {
        let at = usize::try_from(combination).ok()?;
        let stanzas = self.combinations.lock().all.get(at).cloned()?;
        let first = among.iter().position(|one| stanzas.binary_search(one).is_ok())?;
        i64::try_from(first).ok()
    }

    /// Returns an expression for the combination of stanzas that applies to an event; see [`Self::first_of`].
    pub fn combination(self: &Arc<Self>, frame: &Frame) -> Typed {
        let together = Arc::clone(self);
        let function = of_columns("stanzas", ValueType::Integer, move |arguments, rows| {
            let mut of_batch = OfBatch::new(&together.stanzas);
            let mut last: Option<(Numbers, i64)> = None;
            let numbers = (0..rows).map(|row| {
                let stanzas = of_batch.of_event(names_in(arguments, row));
                match &last {
                    Some((known, number)) if Arc::ptr_eq(known, &stanzas) => *number,
                    _ => {
                        let number = together.number(&stanzas);
                        last = Some((stanzas, number));
                        number
                    }
                }
            });
            Ok(Arc::new(numbers.collect::<Int64Array>()))
        });
        function.with(format!("{:p}", Arc::as_ptr(self))).call(Stanzas::names(frame))
    }

    /// The place of the first of some stanzas, by their numbers, that applies to an event of a combination;
    /// null if none does.
    pub fn first_of(self: &Arc<Self>, among: Vec<u32>, combination: Typed) -> Typed {
        let identity = format!("{:p} {among:?}", Arc::as_ptr(self));
        let together = Arc::clone(self);
        let function = of_columns("first_stanza", ValueType::Integer, move |arguments, rows| {
            let mut known: HashMap<i64, Option<i64>> = HashMap::new();
            let numbers = (0..rows).map(|row| {
                let Value::Integer(combination) = arguments[0].get(row) else { return None };
                *known.entry(combination).or_insert_with(|| together.first(combination, &among))
            });
            Ok(Arc::new(numbers.collect::<Int64Array>()))
        });
        function.with(identity).call(vec![combination])
    }
}

/// The possible source types of the events of a search.
#[derive(Debug, Clone)]
pub struct Sourcetypes(HashSet<String>);

impl Sourcetypes {
    /// Creates the set of these names.
    pub fn new(names: HashSet<String>) -> Self {
        Self(names)
    }

    /// Whether a stanza may apply to such an event.
    pub fn may_have(&self, matcher: &StanzaMatcher) -> bool {
        match matcher {
            StanzaMatcher::Sourcetype(name) => self.0.contains(name),
            StanzaMatcher::SourcetypePattern(pattern) => {
                self.0.iter().any(|name| pattern.is_match(name))
            }
            _ => true,
        }
    }

    /// Whether an event with one of the source types may satisfy a filter.
    pub fn may_satisfy(&self, filter: &SearchExpr) -> bool {
        Admission::of(filter).is_none_or(|filter| self.0.iter().any(|name| filter.admits(name)))
    }

    /// Removes the alternatives of a filter that no such event satisfies; `None` if there are none.
    pub fn without_others(&self, filter: &SearchExpr) -> Option<SearchExpr> {
        let each = |members: &[SearchExpr]| {
            let mut changed = false;
            let members = members.iter().map(|member| match self.without_others(member) {
                Some(fewer) => {
                    changed = true;
                    fewer
                }
                None => member.clone(),
            });
            let members: Vec<_> = members.collect();
            changed.then_some(members)
        };
        match filter {
            SearchExpr::And(members) => each(members).map(SearchExpr::And),
            SearchExpr::Or(members) => {
                let fit: Vec<_> =
                    members.iter().filter(|one| self.may_satisfy(one)).cloned().collect();
                // One is kept, so that the filter still matches nothing.
                let fit = if fit.is_empty() { members[..1].to_vec() } else { fit };
                let is_fewer = fit.len() < members.len();
                match (each(&fit), is_fewer) {
                    (Some(fit), _) => Some(SearchExpr::Or(fit)),
                    (None, true) => Some(SearchExpr::Or(fit)),
                    (None, false) => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the existing source types that satisfy a filter on stored fields; `None` if all do.
    pub fn within(&self, filter: Option<&SearchExpr>) -> Option<Self> {
        let filter = Admission::of(filter?)?;
        let admitted: HashSet<_> =
            self.0.iter().filter(|name| filter.admits(name)).cloned().collect();
        (admitted.len() < self.0.len()).then_some(Self(admitted))
    }
}

/// The condition of a filter on the source type.
enum Admission {
    All(Vec<Admission>),
    Any(Vec<Admission>),
    Compare(ComparisonOperator, FieldValue),
}

impl Admission {
    /// `None` if it may hold for every source type.
    fn of(filter: &SearchExpr) -> Option<Self> {
        match filter {
            SearchExpr::And(members) => {
                let known: Vec<_> = members.iter().filter_map(Self::of).collect();
                (!known.is_empty()).then_some(Self::All(known))
            }
            SearchExpr::Or(members) => {
                members.iter().map(Self::of).collect::<Option<_>>().map(Self::Any)
            }
            SearchExpr::Comparison(comparison) if comparison.field.node == columns::SOURCETYPE => {
                let value = FieldValue::new(comparison.value.pattern.clone());
                Some(Self::Compare(comparison.operator, value))
            }
            SearchExpr::In(list) if list.field.node == columns::SOURCETYPE && !list.negated => {
                let values = list.values.iter().map(|value| value.pattern.clone());
                let equal =
                    |pattern| Self::Compare(ComparisonOperator::Equal, FieldValue::new(pattern));
                Some(Self::Any(values.map(equal).collect()))
            }
            _ => None,
        }
    }

    fn admits(&self, name: &str) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.admits(name)),
            Self::Any(parts) => parts.iter().any(|part| part.admits(name)),
            Self::Compare(operator, value) => value.compare_text(*operator, name),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
    use arrow::datatypes::Int64Type;
    use conf::{Layer, Layers};
    use datafusion::common::DFSchema;
    use datafusion::logical_expr::LogicalPlanBuilder;
    use datafusion::prelude::SessionContext;
    use frames::FrameColumn;
    use knowledge::Knowledge;

    use super::*;

    /// The matchers of calculated fields that are named by their numbers.
    fn matchers(props: &str) -> Vec<StanzaMatcher> {
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props));
        let mut found = knowledge.calculated_fields();
        found.retain(|field| field.field.starts_with('n'));
        found.sort_by(|a, b| a.field.cmp(&b.field));
        found.into_iter().map(|field| field.matcher).collect()
    }

    const PROPS: &str = "[default]\nEVAL-n0 = 1\n[web]\nEVAL-n1 = 1\n[source::/a/*]\nEVAL-n2 = 1\n\
        [host::h*]\nEVAL-n3 = 1\n[(?::){0}we*]\nEVAL-n4 = 1\n[db]\nEVAL-n5 = 1\n";

    #[test]
    fn all_stanzas_that_apply_are_found_in_their_order() {
        let matchers = matchers(PROPS);
        assert_eq!(matchers.len(), 6);
        let stanzas = Stanzas::new(matchers.iter());
        // Twice: the second time it is remembered.
        for _ in 0..2 {
            assert_eq!(*stanzas.of_event(["web", "/a/b", "h1"]), [0, 1, 2, 3, 4]);
            assert_eq!(*stanzas.of_event(["db", "/b", "x"]), [0, 5]);
            assert_eq!(*stanzas.of_event(["", "", ""]), [0]);
        }
        let plain = Stanzas::new([&matchers[1], &matchers[5], &matchers[1]].into_iter());
        assert_eq!(*plain.of_event(["web", "/a/b", "h1"]), [0, 2]);
        assert!(plain.of_event(["other", "/a/b", "h1"]).is_empty());
        assert!(!plain.are_everywhere());
        assert!(Stanzas::new([&matchers[0]].into_iter()).are_everywhere());
    }

    /// The numbers that an expression gives for the events of a batch.
    fn evaluated(typed: &Typed, events: &RecordBatch) -> Vec<Option<i64>> {
        let schema = DFSchema::try_from(events.schema()).unwrap();
        let context = SessionContext::new();
        let physical = context.create_physical_expr(typed.expr.clone(), &schema).unwrap();
        let values = physical.evaluate(events).unwrap().into_array(events.num_rows()).unwrap();
        values.as_primitive::<Int64Type>().iter().collect()
    }

    #[test]
    fn the_first_of_some_stanzas_is_the_first_in_their_own_order() {
        let rows = [
            ["web", "/a/b", "h1"],
            ["db", "/b", "x"],
            ["other", "/b", "x"],
            ["a source type of many letters", "/b", "h1"],
            ["web", "/a/b", "h1"],
        ];
        let names = NAMES.iter().enumerate().map(|(at, name)| {
            let texts = StringViewArray::from_iter_values(rows.iter().map(|row| row[at]));
            (*name, Arc::new(texts) as ArrayRef, true)
        });
        let events = RecordBatch::try_from_iter_with_nullable(names).unwrap();
        let column = |name: &&str| FrameColumn { name: (*name).to_owned(), kind: ValueType::Text };
        let plan = LogicalPlanBuilder::empty(false).build().unwrap();
        let frame = Frame::new(plan, NAMES.iter().map(column).collect());
        let matchers = matchers(PROPS);
        let together = Together::new(matchers.iter());
        let first_of = |among: &[u32]| {
            let first = together.first_of(among.to_vec(), together.combination(&frame));
            evaluated(&first, &events)
        };
        assert_eq!(first_of(&[3, 5, 1]), [Some(0), Some(1), None, Some(0), Some(0)]);
        assert_eq!(first_of(&[5, 1, 3]), [Some(1), Some(0), None, Some(2), Some(1)]);
        assert_eq!(first_of(&[4, 0]), [Some(0), Some(1), Some(1), Some(1), Some(0)]);
        assert_eq!(first_of(&[]), [None; 5]);
    }

    #[test]
    fn stanzas_of_source_types_that_do_not_occur_do_not_apply() {
        let there = Sourcetypes::new(["web".to_owned(), "other".to_owned()].into());
        let applying: Vec<bool> = matchers(PROPS).iter().map(|one| there.may_have(one)).collect();
        assert_eq!(applying, [true, true, true, true, true, false]);
    }

    #[test]
    fn a_filter_loses_the_alternatives_that_no_event_satisfies() {
        let there = Sourcetypes::new(["web", "db"].map(str::to_owned).into());
        let without = |filter: &str| {
            let parsed = spl::parse_search_terms(filter).unwrap().expr.unwrap();
            there.without_others(&parsed).map(|fewer| fewer.to_string())
        };
        let parsed = |text: &str| spl::parse_search_terms(text).unwrap().expr.unwrap().to_string();
        let filter = "(sourcetype=web x=1) OR (sourcetype=mail x=2) OR y=3 OR sourcetype=d*";
        let fewer = parsed("(sourcetype=web x=1) OR y=3 OR sourcetype=d*");
        assert_eq!(without(filter), Some(fewer));
        let inner = without("a=1 (sourcetype=mail OR (sourcetype=db b=2) OR c=3)");
        assert_eq!(inner, Some(parsed("a=1 ((sourcetype=db b=2) OR c=3)")));
        // A filter that nothing satisfies stays one.
        let none = without("a=1 (sourcetype=mail OR sourcetype=ftp)").unwrap();
        assert!(none.contains("sourcetype=mail") && !none.contains("ftp"), "{none}");
        for same in ["sourcetype=mail", "NOT (sourcetype=mail OR x=1)", "a=1 OR sourcetype=web"] {
            assert_eq!(without(same), None, "{same}");
        }
    }

    #[test]
    fn a_filter_leaves_source_types_out_only_if_it_must() {
        let there = Sourcetypes::new(["web", "db", "mail"].map(str::to_owned).into());
        let within = |filter: &str| {
            let parsed = spl::parse_search_terms(filter).unwrap();
            let mut names: Vec<String> =
                there.within(parsed.expr.as_ref())?.0.into_iter().collect();
            names.sort();
            Some(names.join(" "))
        };
        assert_eq!(within("sourcetype=WEB x=1").as_deref(), Some("web"));
        assert_eq!(within("sourcetype=web OR sourcetype=d*").as_deref(), Some("db web"));
        assert_eq!(within("sourcetype!=web error").as_deref(), Some("db mail"));
        assert_eq!(within("sourcetype IN (web, mail) sourcetype=m*").as_deref(), Some("mail"));
        assert_eq!(within("sourcetype=none").as_deref(), Some(""));
        for all in ["error", "sourcetype=web OR error", "NOT sourcetype=web", "sourcetype=*"] {
            assert_eq!(within(all), None, "{all}");
        }
    }
}
