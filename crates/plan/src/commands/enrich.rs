//! Search-time fields that the configuration adds to events, in Splunk's order: calculated fields, then
//! automatic lookups, then event types and tags.
//!
//! Only fields that a search requires are computed, and always where the events are. Stanzas of source types
//! that none of the searched events has are skipped: in an installation with many add-ons, these are most.

mod calculated;
mod default_fields;
mod description;
mod lookups;
mod narrow;
mod parsed;

use std::collections::HashSet;
use std::sync::Arc;

use exprs::identity::marked;
use exprs::required_fields::RequiredFields;
use frames::Frame;
use model::{IndexName, TimeRange, columns};
use spl::ast::SearchExpr;

use self::calculated::Calculated;
pub(super) use self::default_fields::with_local_server;
use self::lookups::Automatic;
pub use self::parsed::check_calculated_field;
use self::parsed::{Meant, Parsed, ParsedField};
use crate::Error;
use context::event_types;
use context::lookup::Lookups;
use context::planning::PlanningContext;
use context::renames::Renames;
use context::stanzas::Sourcetypes;

/// The search-time fields that are added to the events of a search.
pub(crate) struct Enrichment {
    objects: Objects,
    /// The tables that `lookup()` in calculated fields reads.
    asked: Lookups,
    classes: event_types::Wanted,
    /// The source types for which the stanzas were chosen; `None` if no stanza was skipped.
    sourcetypes: Option<Arc<HashSet<String>>>,
}

/// The events that a search reads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Events<'a> {
    pub(crate) indexes: &'a [IndexName],
    pub(crate) range: &'a TimeRange,
    pub(crate) filter: Option<&'a SearchExpr>,
}

/// Maximum number of fields of a search that are marked. Above it, only those of its filter are: each mark is
/// a part of the plan, and event types may read thousands of fields.
const MOST_MARKED: usize = 16;

/// Calculated fields and automatic lookups.
#[derive(Default)]
struct Objects {
    calculated: Vec<Calculated>,
    lookups: Vec<Automatic>,
    /// The fields that they set.
    set: HashSet<String>,
    /// Whether objects were skipped that the search would require for events of other source types.
    is_part: bool,
}

impl Enrichment {
    /// Returns the part that a search requires. Adds the fields that it reads to the required fields.
    pub(crate) async fn of(
        required: &mut RequiredFields,
        events: Events<'_>,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let parsed = env.context.knowledge.compiled_of(Parsed::FILES, Parsed::of);
        let asks_classes = event_types::Wanted::any(required, env);
        let defaults = default_fields::named(required, &parsed, env);
        if !asks_classes && defaults.is_empty() && !parsed.has_any(&Meant::of(required)) {
            let (objects, asked) = (Objects::default(), Lookups::default());
            let classes = event_types::Wanted::of(required, None, None, env)?;
            return Ok(Self { objects, asked, classes, sourcetypes: None });
        }
        let there = env.context.source.sourcetypes(events.indexes, events.range).await?;
        let renames = Renames::of(&env.context.knowledge);
        let shown = |stored: &HashSet<String>| {
            Sourcetypes::new(stored.iter().map(|name| renames.shown(name.clone())).collect())
        };
        let shown = there.as_ref().map(shown);
        let before = required.clone();
        let mut classes = event_types::Wanted::of(required, shown.as_ref(), events.filter, env)?;
        // Event types may depend on default fields that the search does not name.
        let defaults = match asks_classes {
            true => default_fields::named(required, &parsed, env),
            false => defaults,
        };
        let all = All { parsed: &parsed, defaults: &defaults };
        let (mut objects, mut is_part) = chosen(required, all, shown, events.filter, env).await?;
        if classes.is_part && objects.set.contains(columns::SOURCETYPE) {
            // Calculated source types cannot be predicted, so all stanzas apply again.
            *required = before;
            classes = event_types::Wanted::of(required, None, events.filter, env)?;
            let defaults = default_fields::named(required, &parsed, env);
            let all = All { defaults: &defaults, ..all };
            (objects, is_part) = chosen(required, all, None, events.filter, env).await?;
        }
        let asked = calculated::read_lookups(&mut objects.calculated, env).await?;
        let sourcetypes = there.filter(|_| is_part || classes.is_part).map(Arc::new);
        Ok(Self { objects, asked, classes, sourcetypes })
    }

    /// The source types that events may have; objects of other source types were skipped. `None` if none was.
    pub(crate) fn sourcetypes(&self) -> Option<Arc<HashSet<String>>> {
        self.sourcetypes.clone()
    }

    /// Returns the part that already collected events require. The event source provides their source types.
    pub(crate) async fn of_any(
        required: &mut RequiredFields,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let any = Events { indexes: &[], range: &TimeRange::ALL, filter: None };
        Self::of(required, any, env).await
    }

    /// The fields that are set.
    pub(crate) fn fields(&self, env: &PlanningContext<'_>) -> Vec<String> {
        let mut fields: Vec<String> = self.objects.set.iter().cloned().collect();
        fields.extend(self.classes.fields(env));
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// Whether a filter reads a field that is set here.
    pub(crate) fn sets(&self, expr: &SearchExpr) -> bool {
        let mut read = RequiredFields::default();
        read.search(expr);
        read.names.iter().any(|name| self.objects.set.contains(name))
    }

    /// Returns a condition on stored fields that holds for all events that may satisfy a filter on fields set
    /// here; `None` if that condition excludes no event.
    pub(crate) fn narrowed(&self, expr: &SearchExpr) -> Option<SearchExpr> {
        narrow::narrowed(expr, &self.objects)
    }

    /// Returns the events with all these fields.
    pub(crate) fn apply(self, mut frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        let Objects { calculated, lookups, .. } = self.objects;
        if !calculated.is_empty() {
            frame = calculated::calculate(frame, calculated, &env.asking(&self.asked))?;
        }
        frame = lookups::look_up(&lookups, frame, env)?;
        self.classes.add(frame, env)
    }

    /// Like [`Self::apply`], for the events of a search. The fields that its filter and its commands name are
    /// marked with all that they depend on besides stored columns, so that scans remember which events
    /// satisfy the filter, and the values. `named` are the fields that its commands name.
    pub(crate) fn apply_marked(
        self,
        filter: Option<&SearchExpr>,
        named: &RequiredFields,
        frame: Frame,
        env: &PlanningContext<'_>,
    ) -> Result<Frame, Error> {
        let mut read = RequiredFields::default();
        filter.into_iter().for_each(|filter| read.search(filter));
        let is_set = |name: &String| self.objects.set.contains(name) || self.classes.may_set(name);
        let set = |read: &RequiredFields| -> Vec<String> {
            read.names.iter().filter(|name| is_set(name)).cloned().collect()
        };
        let of_filter = set(&read);
        read.merge(named.clone());
        let all = if named.patterns.is_empty() { set(&read) } else { Vec::new() };
        let names = if all.is_empty() || all.len() > MOST_MARKED { of_filter } else { all };
        let mut described =
            description::of_fields(names, &self.objects, &self.classes, &frame, env);
        let frame = self.apply(frame, env)?;
        // `tag::<field>` is not set if no value of the field has tags.
        described.retain(|(name, _)| frame.kind(name).is_some());
        if described.is_empty() {
            return Ok(frame);
        }
        let mark = |(name, description): (String, Arc<str>)| {
            let value = marked(frame.field(&name), description);
            (name, value)
        };
        let values = described.into_iter().map(mark).collect();
        frame.with_columns(values)
    }
}

/// Whether the configuration may change the source type of events; then a filter on it does not describe the
/// stored source types.
pub(super) fn may_set_sourcetype(env: &PlanningContext<'_>) -> bool {
    env.context.knowledge.compiled_of(Parsed::FILES, Parsed::of).set(columns::SOURCETYPE)
}

/// All objects that a search may require.
#[derive(Clone, Copy)]
struct All<'a> {
    parsed: &'a Parsed,
    /// The default fields that the search names. Fields that stanzas set take precedence over them.
    defaults: &'a [Arc<ParsedField>],
}

/// Returns the objects that a search of events of these source types requires, and whether objects of other
/// source types were skipped.
async fn chosen(
    required: &mut RequiredFields,
    all: All<'_>,
    there: Option<Sourcetypes>,
    filter: Option<&SearchExpr>,
    env: &PlanningContext<'_>,
) -> Result<(Objects, bool), Error> {
    let before = required.clone();
    let objects = Objects::of(required, all, there.as_ref(), env).await?;
    let Some(there) = there else { return Ok((objects, false)) };
    if objects.set.contains(columns::SOURCETYPE) {
        // Calculated source types cannot be predicted, so all stanzas apply again.
        *required = before;
        return Ok((Objects::of(required, all, None, env).await?, false));
    }
    let is_part = objects.is_part;
    match there.within(filter) {
        Some(fewer) if objects.has_others(&fewer) => {
            *required = before;
            Ok((Objects::of(required, all, Some(&fewer), env).await?, is_part))
        }
        _ => Ok((objects, is_part)),
    }
}

impl Objects {
    /// Returns the objects that a search requires. Adds the fields that they read and set to the required
    /// fields.
    async fn of(
        required: &mut RequiredFields,
        all: All<'_>,
        there: Option<&Sourcetypes>,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let mut meant = Meant::of(required);
        let mut found = Self::default();
        lookups::choose(all.parsed, &mut meant, there, &mut found, env).await?;
        calculated::choose(all, &mut meant, there, &mut found, env)?;
        *required = meant.into();
        Ok(found)
    }

    /// Whether some of the objects apply only to other source types.
    fn has_others(&self, types: &Sourcetypes) -> bool {
        let calculated = self.calculated.iter().map(|one| &one.0.field.matcher);
        let mut all = calculated.chain(self.lookups.iter().map(Automatic::matcher));
        all.any(|matcher| !types.may_have(matcher))
    }
}
