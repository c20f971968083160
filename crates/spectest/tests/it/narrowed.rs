//! Filters on fields set by the configuration find the same events whether the scan is narrowed by them or
//! they are applied to all events. Tested with random configurations, events and filters.

use std::fmt::Write;

use karst_spectest::{Memory, World};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const CONFIGURATIONS: u64 = 40;
const FILTERS: usize = 12;
const EVENTS: usize = 60;

const FIELDS: &[&str] = &["a", "b", "c", "d"];
/// Values of fields in events, in spec notation; `-` is null.
const VALUES: &[&str] = &["x", "X", "y", "kick", "1", "01", "1.0", "2", "10", "-", "-"];
const CONSTANTS: &[&str] = &["x", "X", "y", "KICK", "1", "01", "1.0", "2", "*x", ""];
const STANZAS: &[&str] = &[
    "t0",
    "t1",
    "t2",
    "default",
    "source::...s1",
    "source::/v/(s0|s2)",
    "host::H*",
    "(?::){0}t*2",
];
const TABLES: &[&str] = &["plain", "folded", "wild", "other"];

const TRANSFORMS: &str = "conf transforms
  [plain]
  filename = plain.csv
  [folded]
  filename = folded.csv
  case_sensitive_match = false
  [wild]
  filename = wild.csv
  match_type = WILDCARD(in)
  [other]
  filename = other.csv
  min_matches = 1
  default_match = none
";
const LOOKUPS: &str = "lookup plain.csv
  in,out
  x,y
  y,x
  1,kick
  x,1
lookup folded.csv
  in,out
  KICK,x
  Y,01
  x,X
lookup wild.csv
  in,out
  *x,y
  1*,x
lookup other.csv
  in,out
  01,x
  2,y
";

struct Random(StdRng);

impl Random {
    fn of<'v>(&mut self, values: &[&'v str]) -> &'v str {
        values[self.0.random_range(0..values.len())]
    }

    fn upto(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return match self.upto(3) {
                0 => format!("\"{}\"", self.of(CONSTANTS)),
                _ => self.of(FIELDS).to_owned(),
            };
        }
        let inner = |random: &mut Self| random.expression(depth - 1);
        match self.upto(10) {
            0 => format!("coalesce({}, {})", inner(self), inner(self)),
            1 => format!("mvappend({}, {})", inner(self), inner(self)),
            2 => format!("nullif({}, {})", inner(self), inner(self)),
            3 => format!("lower({})", inner(self)),
            4 => format!("{} . \"x\"", self.of(FIELDS)),
            5 => "null()".to_owned(),
            6 => format!("{} + 1", self.of(FIELDS)),
            7 => format!("if({}, {}, {})", self.condition(depth), inner(self), inner(self)),
            _ => format!(
                "case({}, {}, {}, {})",
                self.condition(depth),
                inner(self),
                self.condition(depth),
                inner(self)
            ),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        if depth > 0 && self.upto(3) == 0 {
            let operator = self.of(&["AND", "OR"]);
            let (left, right) = (self.condition(depth - 1), self.condition(depth - 1));
            return format!("({left} {operator} {right})");
        }
        let field = self.of(FIELDS);
        let (one, two) = (self.of(CONSTANTS), self.of(CONSTANTS));
        match self.upto(8) {
            0 => format!("isnull({field})"),
            1 => format!("{field} IN (\"{one}\", \"{two}\")"),
            2 => format!("NOT {field}=\"{one}\""),
            3 => format!("{field}={}", self.of(&["1", "2", "1.0"])),
            4 => format!("\"{one}\"=={field}"),
            5 => "true()".to_owned(),
            _ => format!("{field}==\"{one}\""),
        }
    }

    fn lookup(&mut self, class: usize) -> String {
        let (table, output) = (self.of(TABLES), self.of(&["OUTPUT", "OUTPUTNEW"]));
        let (input, to) = (self.of(FIELDS), self.of(FIELDS));
        format!("LOOKUP-{class} = {table} in AS {input} {output} out AS {to}")
    }

    fn filter(&mut self, depth: usize) -> String {
        if depth > 0 {
            let inner = |random: &mut Self| random.filter(depth - 1);
            match self.upto(5) {
                0 => return format!("({} OR {})", inner(self), inner(self)),
                1 => return format!("({} {})", inner(self), inner(self)),
                2 => return format!("NOT ({})", inner(self)),
                _ => {}
            }
        }
        let field = self.of(FIELDS);
        let value = self.of(&["x", "X", "y", "kick", "k*", "*", "1", "01", "*x", "none", "xx"]);
        match self.upto(7) {
            0 => format!("{field}!={value}"),
            1 => format!("{field}>{}", self.of(&["1", "0", "x"])),
            2 => format!("{field} IN ({value}, y)"),
            3 => format!("{field} NOT IN ({value}, y)"),
            4 => format!("sourcetype=t1 {field}={value}"),
            _ => format!("{field}={value}"),
        }
    }

    /// Writes a spec file with events and a configuration.
    fn world(&mut self) -> String {
        let mut text = "# At random.\nrows\n  n sourcetype source host a b c d\n".to_owned();
        for n in 0..EVENTS {
            let sourcetype = self.of(&["t0", "t1", "t2", "t12", "u"]);
            let source = self.of(&["/v/s0", "/v/s1", "/v/s2", "s1"]);
            let host = self.of(&["h1", "H2", "g"]);
            let fields: Vec<&str> = FIELDS.iter().map(|_| self.of(VALUES)).collect();
            writeln!(text, "  {n} {sourcetype} {source} {host} {}", fields.join(" "))
                .expect("text");
        }
        text += "conf props\n";
        for stanza in STANZAS {
            writeln!(text, "  [{stanza}]").expect("text");
            for field in FIELDS {
                if self.upto(4) == 0 {
                    writeln!(text, "  EVAL-{field} = {}", self.expression(2)).expect("text");
                }
            }
            for class in 0..self.upto(3) {
                writeln!(text, "  {}", self.lookup(class)).expect("text");
            }
        }
        text + TRANSFORMS + LOOKUPS + "search *\nexpect\n  n\n  1\n"
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn narrowed_filters_find_the_same_events() {
    let mut found = 0;
    for seed in 0..CONFIGURATIONS {
        let mut random = Random(StdRng::seed_from_u64(seed));
        let text = random.world();
        let world = World::of(&text, &Memory::Pieces(seed)).await.expect("a world");
        for _ in 0..FILTERS {
            let filter = random.filter(2);
            let count = async |search: String| world.run(&search).await;
            let narrowed = count(format!("search index=* {filter} | stats count by n")).await;
            let all = format!("search index=* | head 1000 | search {filter} | stats count by n");
            let all = count(all).await;
            assert_eq!(narrowed, all, "seed {seed}: {filter}\n{text}");
            found += narrowed.unwrap_or_default();
        }
    }
    assert!(found > 500, "most filters find nothing: {found} events");
}
