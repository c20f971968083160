//! Which stanzas of `props.conf` apply to an event: one function of the plan, however many stanzas there are.
//!
//! Source types are found by hash; patterns of source types, sources and hosts are tried once for each
//! combination that occurs.

use std::collections::HashSet;
use std::sync::Arc;

use exprs::Typed;
use exprs::kernel::integer;
use exprs::predicate::FieldValue;
use frames::Frame;
use hashbrown::{Equivalent, HashMap};
use knowledge::StanzaMatcher;
use model::columns;
use parking_lot::Mutex;
use spl::ast::{ComparisonOperator, SearchExpr};

/// Combinations of source type, source and host whose stanzas are remembered.
const REMEMBERED: usize = 100_000;

/// The arguments of functions that ask which stanzas apply.
const NAMES: [&str; 3] = [columns::SOURCETYPE, columns::SOURCE, columns::HOST];

/// Some stanzas, by their numbers.
type Numbers = Arc<[u32]>;

/// Several stanzas, numbered from 0.
#[derive(Debug)]
pub(crate) struct Stanzas {
    /// Those that apply to a source type without a look at its other names, in their order.
    by_sourcetype: HashMap<String, Numbers>,
    /// Those that apply to all events.
    everywhere: Numbers,
    /// Those that take a pattern, in their order.
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
    /// Stanzas, numbered in the order in which they come.
    pub(crate) fn new<'m>(matchers: impl Iterator<Item = &'m StanzaMatcher>) -> Self {
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

    /// Whether all of them apply to every event.
    pub(crate) fn are_everywhere(&self) -> bool {
        self.by_sourcetype.is_empty() && self.patterns.is_empty()
    }

    /// What functions that ask take first: the names of an event.
    pub(crate) fn names(frame: &Frame) -> Vec<Typed> {
        NAMES.iter().map(|name| frame.field(name)).collect()
    }

    /// The stanzas that apply to an event of this source type, source and host, in their order.
    pub(crate) fn of_event(&self, names: [&str; 3]) -> Numbers {
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

/// The number of the first stanza that applies to an event; null if none does.
pub(crate) fn first(stanzas: &Arc<Stanzas>, frame: &Frame) -> Typed {
    let identity = format!("{:p}", Arc::as_ptr(stanzas));
    let stanzas = Arc::clone(stanzas);
    let function = integer("first_stanza", move |row| {
        let names = [row.text(0), row.text(1), row.text(2)];
        let names = names.each_ref().map(|name| name.as_deref().unwrap_or_default());
        Some(i64::from(*stanzas.of_event(names).first()?))
    });
    function.with(identity).call(Stanzas::names(frame))
}

/// The source types that the events of a search may have.
#[derive(Debug, Clone)]
pub(crate) struct Sourcetypes(HashSet<String>);

impl Sourcetypes {
    pub(crate) fn new(names: HashSet<String>) -> Self {
        Self(names)
    }

    pub(crate) fn names(&self) -> &HashSet<String> {
        &self.0
    }

    /// Whether a stanza may apply to such an event.
    pub(crate) fn may_have(&self, matcher: &StanzaMatcher) -> bool {
        match matcher {
            StanzaMatcher::Sourcetype(name) => self.0.contains(name),
            StanzaMatcher::SourcetypePattern(pattern) => {
                self.0.iter().any(|name| pattern.is_match(name))
            }
            _ => true,
        }
    }

    /// Those of them that events have which satisfy a filter of stored fields; `None` if that is all of them.
    pub(crate) fn within(&self, filter: Option<&SearchExpr>) -> Option<Self> {
        let filter = Admission::of(filter?)?;
        let admitted: HashSet<_> =
            self.0.iter().filter(|name| filter.admits(name)).cloned().collect();
        (admitted.len() < self.0.len()).then_some(Self(admitted))
    }
}

/// What a filter asks of the source type.
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
    use conf::{Layer, Layers};
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

    #[test]
    fn stanzas_of_source_types_that_do_not_occur_do_not_apply() {
        let there = Sourcetypes::new(["web".to_owned(), "other".to_owned()].into());
        let applying: Vec<bool> = matchers(PROPS).iter().map(|one| there.may_have(one)).collect();
        assert_eq!(applying, [true, true, true, true, true, false]);
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
