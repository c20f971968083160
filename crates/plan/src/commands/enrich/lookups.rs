//! Automatic lookups (`LOOKUP-<class>`), grouped into the fewest plan steps that their dependencies allow.

use std::collections::HashMap;
use std::sync::Arc;

use frames::Frame;
use knowledge::StanzaMatcher;
use spl::ast::LookupCommand;

use super::Objects;
use super::parsed::{Meant, Parsed, ParsedLookup};
use crate::commands::lookup::{self, Applied, apply_all, time_field};
use crate::{Error, MessageKind};
use context::lookup::Lookup;
use context::planning::PlanningContext;
use context::stanzas::Sourcetypes;

/// A lookup that the configuration applies to some events.
pub(super) struct Automatic {
    parsed: Arc<ParsedLookup>,
    pub(super) command: LookupCommand,
    pub(super) lookup: Arc<Lookup>,
    pub(super) outputs: Vec<String>,
}

/// Opened lookups, by name and inputs: a table is prepared once, however many stanzas use it.
type Read = HashMap<(String, Vec<String>), Result<Arc<Lookup>, String>>;

/// Chooses the lookups that set required fields. Adds the fields that these lookups read to the required
/// fields, and so also chooses the lookups that set those.
pub(super) async fn choose(
    parsed: &Parsed,
    meant: &mut Meant,
    there: Option<&Sourcetypes>,
    found: &mut Objects,
    env: &PlanningContext<'_>,
) -> Result<(), Error> {
    let mut read = Read::new();
    let mut chosen: Vec<(usize, Automatic)> = Vec::new();
    let mut left: Vec<(usize, &Arc<ParsedLookup>)> = parsed.lookups.iter().enumerate().collect();
    loop {
        let mut not_meant = Vec::new();
        let before = chosen.len();
        for (at, one) in left {
            env.context.planning.check()?;
            if !one.may_be_meant(meant) {
                not_meant.push((at, one));
                continue;
            }
            if there.is_some_and(|types| !types.may_have(&one.lookup.matcher)) {
                found.is_part = true;
                continue;
            }
            let Some(automatic) = opened(one, &mut read, env).await? else { continue };
            if !automatic.outputs.iter().any(|name| meant.has(name)) {
                not_meant.push((at, one));
                continue;
            }
            automatic.inputs().for_each(|name| meant.name(name));
            automatic.outputs.iter().for_each(|name| meant.name(name));
            chosen.push((at, automatic));
        }
        left = not_meant;
        if chosen.len() == before {
            break;
        }
    }
    chosen.sort_by_key(|(at, _)| *at);
    for (_, automatic) in chosen {
        found.set.extend(automatic.outputs.iter().cloned());
        found.lookups.push(automatic);
    }
    Ok(())
}

/// Opens a lookup with its table. A lookup that cannot be read is skipped with a message: it must not fail
/// searches that hardly need it.
async fn opened(
    one: &Arc<ParsedLookup>,
    read: &mut Read,
    env: &PlanningContext<'_>,
) -> Result<Option<Automatic>, Error> {
    let place = one.lookup.place.to_string();
    let leave_out = |reason: &str| {
        let text = format!("{place}: the automatic lookup was left out: {reason}");
        env.log.add(MessageKind::Warning, text);
        Ok(None)
    };
    let command = match &one.command {
        Ok(command) => command,
        Err(reason) => return leave_out(reason),
    };
    let inputs = command.inputs.iter().map(|input| input.lookup.node.clone()).collect();
    let key = (command.name.node.clone(), inputs);
    if !read.contains_key(&key) {
        let lookup = match lookup::prepare(command, Some(place.clone()), env).await {
            Ok(lookup) => Ok(lookup),
            Err(Error::Invalid { message, .. }) => Err(message),
            Err(error) => return Err(error),
        };
        read.insert(key.clone(), lookup);
    }
    let lookup = match read.get(&key) {
        Some(Ok(lookup)) => Arc::clone(lookup),
        Some(Err(reason)) => return leave_out(reason),
        None => return Ok(None),
    };
    if let Err(Error::Invalid { message, .. }) = lookup::check(command, &lookup) {
        return leave_out(&message);
    }
    let outputs = lookup::outputs(command, &lookup);
    let outputs = outputs.iter().map(|field| field.event_name().to_owned()).collect();
    let (parsed, command) = (Arc::clone(one), command.clone());
    Ok(Some(Automatic { parsed, command, lookup, outputs }))
}

impl Automatic {
    /// Matches the events to which the lookup is applied.
    pub(super) fn matcher(&self) -> &StanzaMatcher {
        &self.parsed.lookup.matcher
    }

    /// The text of the setting, behind its name.
    pub(super) fn arguments(&self) -> &str {
        &self.parsed.lookup.arguments
    }

    /// The fields of events that the lookup reads.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &str> {
        let time = self.lookup.definition.time.as_ref().map(|_| time_field(&self.command));
        self.command.inputs.iter().map(|input| input.event_name()).chain(time)
    }
}

/// Adds the outputs of lookups to the events to which their stanzas apply.
pub(super) fn look_up(
    lookups: &[Automatic],
    mut frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    for level in levels(lookups) {
        env.context.planning.check()?;
        let applied = level.into_iter().map(|one| Applied {
            command: &one.command,
            lookup: &one.lookup,
            matcher: one.matcher(),
        });
        frame = apply_all(&applied.collect::<Vec<_>>(), frame)?;
    }
    Ok(frame)
}

/// The last level that read or set a field, by the source types of the stanzas.
#[derive(Default)]
struct Touched<'a> {
    sourcetypes: HashMap<&'a str, usize>,
    /// The last level of stanzas that may apply to any source type.
    others: Option<usize>,
    any: Option<usize>,
}

impl<'a> Touched<'a> {
    /// The last level that touched the field in events that a stanza may apply to.
    fn level(&self, matcher: &StanzaMatcher) -> Option<usize> {
        match matcher {
            StanzaMatcher::Sourcetype(name) => {
                self.sourcetypes.get(name.as_str()).copied().max(self.others)
            }
            _ => self.any,
        }
    }

    fn touch(&mut self, matcher: &'a StanzaMatcher, level: usize) {
        let of_stanza = match matcher {
            StanzaMatcher::Sourcetype(name) => self.sourcetypes.entry(name).or_default(),
            _ => self.others.get_or_insert_default(),
        };
        *of_stanza = level.max(*of_stanza);
        self.any = self.any.max(Some(level));
    }
}

/// Groups lookups into levels such that no lookup reads a field that another one in the same level sets. The
/// result is the same as if they were applied one by one: a lookup sees only the outputs of earlier ones, and
/// the last one that sets a field wins.
fn levels(lookups: &[Automatic]) -> Vec<Vec<&Automatic>> {
    let mut levels: Vec<Vec<&Automatic>> = Vec::new();
    let mut set: HashMap<&str, Touched<'_>> = HashMap::new();
    let mut read: HashMap<&str, Touched<'_>> = HashMap::new();
    for lookup in lookups {
        let matcher = lookup.matcher();
        let level_of = |fields: &HashMap<&str, Touched<'_>>, name: &str| {
            fields.get(name).and_then(|touched| touched.level(matcher))
        };
        let behind_inputs = lookup.inputs().filter_map(|name| Some(level_of(&set, name)? + 1));
        let outputs = lookup.outputs.iter();
        let beside_outputs =
            outputs.filter_map(|name| level_of(&set, name).max(level_of(&read, name)));
        let level = behind_inputs.chain(beside_outputs).max().unwrap_or(0);
        lookup.inputs().for_each(|name| read.entry(name).or_default().touch(matcher, level));
        for name in &lookup.outputs {
            set.entry(name).or_default().touch(matcher, level);
        }
        levels.resize_with(levels.len().max(level + 1), Vec::new);
        levels[level].push(lookup);
    }
    levels
}
