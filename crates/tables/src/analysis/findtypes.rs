//! Suggestions for event types. Events with the same source type and the same punctuation form a group; a
//! group is characterized by words that all of its events and few other events contain.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use eval::value::NumberText;

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{Record, Rows};

const RAW: &str = "_raw";
const PUNCT: &str = "punct";
const SOURCETYPE: &str = "sourcetype";
/// Maximum number of examined events.
const MOST_EVENTS: usize = 5_000;
/// Maximum number of words of a suggestion.
const WORDS: usize = 3;

/// A row for each suggested search, ordered by number of events, descending.
#[derive(Debug)]
pub struct Learner {
    /// The field whose values group events; the punctuation if absent.
    pub field: Option<String>,
    /// Number of compared characters of a value; all if absent.
    pub length: Option<usize>,
    /// Whether suggestions contain words.
    pub words: bool,
    /// Whether only events without an event type are used.
    pub uncovered: bool,
    /// Maximum number of suggestions.
    pub most: usize,
}

/// A group of events.
#[derive(Default)]
struct Look {
    count: usize,
    /// The words that all events contain.
    words: Option<BTreeSet<String>>,
}

impl Operation for Learner {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        if rows.count > MOST_EVENTS {
            let text = format!("event types are learnt from the first {MOST_EVENTS} events");
            context.inform(text);
        }
        let rows = rows.slice(0, MOST_EVENTS);
        let looks = self.looks(&rows)?;
        let total: usize = looks.iter().map(|(_, look)| look.count).sum();
        let mut having: HashMap<&str, usize> = HashMap::new();
        for (_, look) in &looks {
            for word in look.words.iter().flatten() {
                *having.entry(word).or_default() += 1;
            }
        }
        let mut records: Vec<(usize, Record)> = Vec::new();
        for ((sourcetype, value), look) in &looks {
            let search = self.search(sourcetype, value, look, &having);
            let percent = 100.0 * statistics::number(look.count) / statistics::number(total);
            let record = vec![
                ("search".to_owned(), vec![search]),
                ("count".to_owned(), vec![look.count.to_string()]),
                ("percent".to_owned(), vec![NumberText::float(percent).to_string()]),
            ];
            records.push((look.count, record));
        }
        records.sort_by_key(|(count, _)| Reverse(*count));
        records.truncate(self.most);
        Ok(Rows::of_records(records.into_iter().map(|(_, record)| record).collect()))
    }
}

impl Learner {
    /// Returns the groups of events by source type and value, in the order of their first event.
    #[allow(clippy::type_complexity, reason = "said in full in the line above")]
    fn looks(&self, rows: &Rows) -> Result<Vec<((String, String), Look)>, Error> {
        let raw = rows.texts(RAW)?;
        let sourcetypes = rows.texts(SOURCETYPE)?;
        let values = rows.texts(self.field.as_deref().unwrap_or(PUNCT))?;
        let covered = rows.texts("eventtype")?;
        let mut place: HashMap<(String, String), usize> = HashMap::new();
        let mut looks: Vec<((String, String), Look)> = Vec::new();
        for row in 0..rows.count {
            if self.uncovered && covered[row].is_some() {
                continue;
            }
            let text = raw[row].as_deref().unwrap_or_default();
            let value = match (&values[row], &self.field) {
                (Some(value), _) => value.clone(),
                (None, Some(_)) => continue,
                (None, None) => punctuation(text),
            };
            let value = value.chars().take(self.length.unwrap_or(usize::MAX)).collect();
            let key = (sourcetypes[row].clone().unwrap_or_default(), value);
            let at = *place.entry(key.clone()).or_insert_with(|| {
                looks.push((key, Look::default()));
                looks.len() - 1
            });
            let look = &mut looks[at].1;
            look.count += 1;
            let own = words(text);
            look.words = Some(match look.words.take() {
                Some(known) => known.intersection(&own).cloned().collect(),
                None => own,
            });
        }
        Ok(looks)
    }

    /// Returns a search for the events of a group.
    fn search(
        &self,
        sourcetype: &str,
        value: &str,
        look: &Look,
        having: &HashMap<&str, usize>,
    ) -> String {
        let quoted =
            |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut terms = Vec::new();
        if !sourcetype.is_empty() {
            terms.push(format!("sourcetype={}", quoted(sourcetype)));
        }
        if let Some(field) = &self.field {
            let rest = if self.length.is_some_and(|most| value.chars().count() >= most) {
                "*"
            } else {
                ""
            };
            terms.push(format!("{field}={}", quoted(&format!("{value}{rest}"))));
        }
        if self.words {
            let mut words: Vec<&String> = look.words.iter().flatten().collect();
            words.sort_by_key(|word| (having[word.as_str()], Reverse(word.len())));
            terms.extend(words.into_iter().take(WORDS).map(|word| quoted(word)));
        }
        if terms.is_empty() { "*".to_owned() } else { terms.join(" ") }
    }
}

/// Returns the punctuation of a text, with spaces as `_`.
fn punctuation(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let sign = |c: char| match c {
        c if c.is_alphanumeric() => None,
        c if c.is_whitespace() => Some('_'),
        c => Some(c),
    };
    line.chars().filter_map(sign).collect()
}

/// Returns the words of a text that are not numbers.
fn words(text: &str) -> BTreeSet<String> {
    let is_word = |word: &&str| word.len() > 2 && word.chars().all(char::is_alphabetic);
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(is_word).map(str::to_lowercase).collect()
}
