//! Transforms by regular expression: matches in `SOURCE_KEY` are formatted by FORMAT and written to
//! `DEST_KEY`.

use std::borrow::Cow;

use eval::{Groups, Pattern};
use model::EventTime;

use super::Tally;
use super::draft::{EventDraft, Queue};

/// The key that a transform reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SourceKey {
    Raw,
    Host,
    Source,
    Sourcetype,
    Index,
    Queue,
    Meta,
    Time,
    /// Indexed fields; several values are joined by blanks.
    Fields(Vec<String>),
}

/// The key that a transform writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DestKey {
    Raw,
    Meta,
    Queue,
    Index,
    Host,
    Source,
    Sourcetype,
    Time,
    TcpRouting,
}

/// FORMAT.
#[derive(Debug)]
pub(super) enum Format {
    /// Text, for most destinations.
    Text(Template),
    /// Names and values for `_meta`, and whether existing fields are kept.
    Pairs { pairs: Vec<(Template, Template)>, keep: bool },
}

/// Text with groups.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Group(usize),
    /// `$0`: the previous value of the destination.
    Previous,
}

impl Template {
    /// Parses a template. `$n` is a group if the pattern has it; otherwise it stands for itself.
    pub(super) fn parse(text: &str, groups: usize) -> Self {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let digits = rest[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
            let number = rest[at + 1..at + 1 + digits].parse::<usize>().ok();
            literal.push_str(&rest[..at]);
            match number.filter(|number| *number <= groups) {
                None => literal.push_str(&rest[at..=at + digits]),
                Some(number) => {
                    parts.push(Part::Text(std::mem::take(&mut literal)));
                    parts.push(if number == 0 { Part::Previous } else { Part::Group(number) });
                }
            }
            rest = &rest[at + 1 + digits..];
        }
        literal.push_str(rest);
        parts.push(Part::Text(literal));
        parts.retain(|part| *part != Part::Text(String::new()));
        Self(parts)
    }

    pub(super) fn is_previous(&self) -> bool {
        self.0 == [Part::Previous]
    }

    fn reads_previous(&self) -> bool {
        self.0.contains(&Part::Previous)
    }

    fn expand(&self, groups: Option<&Groups<'_>>, previous: &str) -> String {
        let mut out = String::new();
        for part in &self.0 {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Group(group) => {
                    out.push_str(groups.and_then(|groups| groups.get(*group)).unwrap_or_default());
                }
                Part::Previous => out.push_str(previous),
            }
        }
        out
    }
}

/// A compiled stanza.
#[derive(Debug)]
pub(super) struct RegexTransform {
    pub(super) pattern: Pattern,
    pub(super) source: SourceKey,
    pub(super) dest: DestKey,
    pub(super) format: Format,
    /// `DEFAULT_VALUE`: the value of the destination if the pattern does not match.
    pub(super) default: Option<Format>,
    /// `LOOKAHEAD`: number of characters that are searched.
    pub(super) lookahead: usize,
    /// `REPEAT_MATCH`.
    pub(super) repeat: bool,
    /// `CLONE_SOURCETYPE`: the transform changes a copy, which gets this sourcetype.
    pub(super) clone_to: Option<String>,
}

impl RegexTransform {
    /// Applies the transform to an event; returns whether `_raw` changed.
    pub(super) fn run<'e>(
        &self,
        draft: &mut EventDraft<'e>,
        rule: usize,
        tally: &mut Tally,
        clones: &mut Vec<EventDraft<'e>>,
    ) -> bool {
        match &self.clone_to {
            Some(sourcetype) if *sourcetype != draft.sourcetype => {
                let source = self.source_text(draft).into_owned();
                if !self.pattern.is_match(&source) {
                    return false;
                }
                let mut clone = draft.clone();
                let changed = self.write(&mut clone, &source, rule);
                clone.sourcetype = Cow::Owned(sourcetype.clone());
                clone.queue = Queue::Index;
                tally.of(rule).cloned += 1;
                tally.of(rule).changed += u64::from(changed);
                clones.push(clone);
                false
            }
            _ => {
                let source = match self.source {
                    // This borrows as long as no rule has changed `_raw`.
                    SourceKey::Raw => draft.raw.clone(),
                    _ => Cow::Owned(self.source_text(draft).into_owned()),
                };
                self.write(draft, ahead(&source, self.lookahead), rule)
            }
        }
    }

    fn source_text<'s>(&self, draft: &'s EventDraft<'_>) -> Cow<'s, str> {
        let text = match &self.source {
            SourceKey::Raw => return Cow::Borrowed(ahead(&draft.raw, self.lookahead)),
            SourceKey::Host => format!("host::{}", draft.host),
            SourceKey::Source => format!("source::{}", draft.source),
            SourceKey::Sourcetype => format!("sourcetype::{}", draft.sourcetype),
            SourceKey::Index => return Cow::Borrowed(draft.index.as_ref()),
            SourceKey::Queue => return Cow::Borrowed(draft.queue_name()),
            SourceKey::Meta => draft.meta(),
            SourceKey::Time => draft.time.0.div_euclid(1_000_000).to_string(),
            SourceKey::Fields(names) => {
                let values = names.iter().flat_map(|name| draft.values(name));
                values.collect::<Vec<_>>().join(" ")
            }
        };
        Cow::Owned(text)
    }

    fn write(&self, draft: &mut EventDraft<'_>, source: &str, rule: usize) -> bool {
        let mut matched = false;
        let mut changed = false;
        let repeat = self.repeat && self.dest != DestKey::Raw;
        self.pattern.each_match(source, |groups| {
            matched = true;
            changed |= self.put(&self.format, draft, Some(groups), rule);
            repeat
        });
        if !matched && let Some(default) = &self.default {
            changed |= self.put(default, draft, None, rule);
        }
        changed
    }

    fn put(
        &self,
        format: &Format,
        draft: &mut EventDraft<'_>,
        groups: Option<&Groups<'_>>,
        rule: usize,
    ) -> bool {
        match format {
            Format::Pairs { pairs, keep } => {
                if !keep {
                    draft.fields.clear();
                }
                for (name, value) in pairs {
                    let (name, value) = (name.expand(groups, ""), value.expand(groups, ""));
                    let value = unquoted(value);
                    if !name.is_empty() && !value.is_empty() {
                        draft.fields.push((name.into(), Cow::Owned(value)));
                    }
                }
                false
            }
            Format::Text(template) => {
                let previous =
                    if template.reads_previous() { self.previous(draft) } else { String::new() };
                let text = template.expand(groups, &previous);
                assign(self.dest, text, draft, rule)
            }
        }
    }

    fn previous(&self, draft: &EventDraft<'_>) -> String {
        match self.dest {
            DestKey::Raw => draft.raw.clone().into_owned(),
            DestKey::Meta => draft.meta(),
            DestKey::Queue => draft.queue_name().to_owned(),
            DestKey::Index => draft.index.clone().into_owned(),
            DestKey::Host => format!("host::{}", draft.host),
            DestKey::Source => format!("source::{}", draft.source),
            DestKey::Sourcetype => format!("sourcetype::{}", draft.sourcetype),
            DestKey::Time => draft.time.0.div_euclid(1_000_000).to_string(),
            DestKey::TcpRouting => draft.tcp_routing.clone().unwrap_or_default(),
        }
    }
}

/// A value without the quotes around it, which delimit it in `_meta`: a group may have captured them.
fn unquoted(value: String) -> String {
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inner.filter(|inner| !inner.contains('"')) {
        Some(inner) => inner.to_owned(),
        None => value,
    }
}

/// Returns the first characters of a text.
fn ahead(text: &str, characters: usize) -> &str {
    if text.len() <= characters {
        return text;
    }
    text.char_indices().nth(characters).map_or(text, |(at, _)| &text[..at])
}

/// Sets a key of an event; returns whether `_raw` changed. A value that is invalid for the key is ignored.
pub(super) fn assign(key: DestKey, text: String, draft: &mut EventDraft<'_>, rule: usize) -> bool {
    let without = |prefix: &str, text: String| match text.strip_prefix(prefix) {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    match key {
        DestKey::Raw => {
            let changed = text != draft.raw;
            draft.raw = Cow::Owned(text);
            return changed;
        }
        DestKey::Queue => {
            draft.queue = match text.trim() {
                "nullQueue" => Queue::Null { rule },
                "indexQueue" => Queue::Index,
                _ => draft.queue,
            }
        }
        DestKey::Index if !text.is_empty() => draft.index = Cow::Owned(text),
        DestKey::Host => draft.host = Cow::Owned(without("host::", text)),
        DestKey::Source => draft.source = Cow::Owned(without("source::", text)),
        DestKey::Sourcetype => draft.sourcetype = Cow::Owned(without("sourcetype::", text)),
        DestKey::Time => {
            if let Some(seconds) = eval::value::parse_number(&text) {
                draft.time = EventTime(eval::value::micros(seconds));
            }
        }
        DestKey::TcpRouting => draft.tcp_routing = Some(text),
        DestKey::Index | DestKey::Meta => {}
    }
    false
}
