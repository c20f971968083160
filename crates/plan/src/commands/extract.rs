//! `extract`: fields from the text of events, by delimiters, by rules of `transforms.conf`, or by automatic
//! extraction.
//!
//! Split: as for all fields whose names are in texts, see `discover`.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use frames::Frame;
use knowledge::{Extractor, FieldRules};
use spl::ast::{Command, ExtractCommand, Spanned};

use super::discover::{Discovery, Existing, Finder};
use super::required::required_by;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::planning::PlanningContext;

impl CommandPlan for ExtractCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        // Automatic extraction is done for every event anyway.
        if self.pairdelim.is_some() || !self.stanzas.is_empty() {
            OutputFields::Collected
        } else {
            OutputFields::Unchanged
        }
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.rest, input.env)
    }
}

/// The default input of a rule.
const RAW: &str = "_raw";

pub(super) fn plan(
    command: &ExtractCommand,
    frame: Frame,
    rest: &[Spanned<Command>],
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let mut inputs = vec![RAW.to_owned()];
    let mut rules = Vec::new();
    if let (Some(pairs), Some(keys)) = (&command.pairdelim, &command.kvdelim) {
        for delimiters in [pairs, keys] {
            if delimiters.node.is_empty() {
                return Err(Error::at("a delimiter has at least one character", delimiters.span));
            }
        }
        let extractor = Extractor::delimited(&pairs.node, &keys.node);
        rules.push(Rule::Named(adapted(extractor, command), 0));
    }
    for stanza in &command.stanzas {
        let extractor = adapted(extractor(stanza, env)?, command);
        let source = extractor.source().unwrap_or(RAW);
        let input = inputs.iter().position(|input| input == source).unwrap_or_else(|| {
            inputs.push(source.to_owned());
            inputs.len() - 1
        });
        rules.push(Rule::Named(extractor, input));
    }
    if rules.is_empty() {
        if command.auto == Some(false) {
            return Ok(Step::Next(frame));
        }
        let rules_of_all = env.context.knowledge.field_rules("", "", "");
        rules.push(Rule::Automatic(rules_of_all));
    }
    let adds = |rule: &Rule| matches!(rule, Rule::Named(extractor, _) if extractor.is_several());
    let adds = rules.iter().any(adds);
    let several: fn(&str) -> bool = if adds { |_| true } else { is_array };
    let existing = match (command.stanzas.is_empty(), adds) {
        _ if command.auto == Some(false) => Existing::Replaced,
        (true, _) => Existing::Replaced,
        (false, true) => Existing::Extended,
        (false, false) => Existing::Kept,
    };
    let count = |limit: u64| match limit {
        0 => usize::MAX,
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let finder = Rules { rules, limit: count(command.limit), chars: count(command.maxchars) };
    let is_automatic = finder.is_automatic();
    let finder = Arc::new(finder);
    let discovery = Discovery { command: "extract", inputs, finder, several, existing };
    if frame.open && is_automatic {
        // Fields of events that no command names are extracted by the same rules when the events are shown.
        return discovery.named(required_by(rest).names, frame, env).map(Step::Next);
    }
    discovery.plan(frame, rest, env)
}

fn extractor(stanza: &Spanned<String>, env: &PlanningContext<'_>) -> Result<Extractor, Error> {
    let name = &stanza.node;
    match env.context.knowledge.extractor(name) {
        Some(Ok(extractor)) => Ok(extractor),
        Some(Err(reason)) => {
            let message =
                format!("the stanza \"{name}\" of transforms.conf cannot be used: {reason}");
            Err(Error::at(message, stanza.span))
        }
        None => {
            let message = format!("there is no stanza \"{name}\" in transforms.conf");
            Err(Error::at(message, stanza.span))
        }
    }
}

/// Applies the options of the command, which override the stanza, to a rule.
fn adapted(extractor: Extractor, command: &ExtractCommand) -> Extractor {
    let extractor = match command.clean_keys {
        Some(clean) => extractor.with_clean_keys(clean),
        None => extractor,
    };
    match command.mv_add {
        Some(several) => extractor.with_several(several),
        None => extractor,
    }
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there are a few of them per search")]
enum Rule {
    /// A rule and the index of its input.
    Named(Extractor, usize),
    /// The automatic extraction of events.
    Automatic(Arc<FieldRules>),
}

impl Rule {
    fn is_several(&self, name: &str) -> bool {
        match self {
            Self::Named(extractor, _) => extractor.is_several(),
            Self::Automatic(_) => is_array(name),
        }
    }
}

/// Whether the automatic extraction has a field of this name for each element of a JSON array.
fn is_array(name: &str) -> bool {
    name.contains("{}")
}

#[derive(Debug)]
struct Rules {
    rules: Vec<Rule>,
    /// Maximum number of values per row.
    limit: usize,
    /// Maximum number of characters of a text that are read.
    chars: usize,
}

impl Rules {
    fn is_automatic(&self) -> bool {
        matches!(self.rules.as_slice(), [Rule::Automatic(_)])
    }
}

impl Finder for Rules {
    fn identity(&self) -> String {
        let rules: Vec<String> = self
            .rules
            .iter()
            .map(|rule| match rule {
                Rule::Named(extractor, input) => format!("{input} {extractor:?}"),
                Rule::Automatic(rules) => rules.fingerprint().to_string(),
            })
            .collect();
        format!("{} {} {rules:?}", self.limit, self.chars)
    }

    fn names(&self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        for rule in &self.rules {
            match rule {
                Rule::Named(extractor, _) => names.extend(extractor.names()?),
                Rule::Automatic(_) => return None,
            }
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String> {
        let mut cut = None;
        let mut count = 0;
        // The first value of a field wins, unless a rule adds further values.
        let mut seen: HashSet<String> = HashSet::new();
        for rule in &self.rules {
            let input = match rule {
                Rule::Named(_, input) => *input,
                Rule::Automatic(_) => 0,
            };
            let Some(text) = texts.get(input).copied().flatten() else { continue };
            let end = match text.len() > self.chars {
                true => text.char_indices().nth(self.chars).map(|(end, _)| end),
                false => None,
            };
            if end.is_some() {
                cut = Some(format!("maxchars={}", self.chars));
            }
            let text = &text[..end.unwrap_or(text.len())];
            let mut take = |name: &str, value: Cow<'_, str>| {
                if !seen.insert(name.to_owned()) && !rule.is_several(name) {
                    return;
                }
                if count == self.limit {
                    cut = Some(format!("limit={}", self.limit));
                    return;
                }
                count += 1;
                visit(name, &value);
            };
            match rule {
                Rule::Named(extractor, _) => extractor.find(text, &mut take),
                Rule::Automatic(rules) => {
                    // The limits of the automatic extraction are ignored: those of the command are lower.
                    let _ = rules.extract(text, &mut take);
                }
            }
        }
        cut
    }
}
