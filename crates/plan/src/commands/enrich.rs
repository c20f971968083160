//! What the configuration adds to events as they are searched, in Splunk's order: calculated fields, then
//! automatic lookups, then event types and tags.
//!
//! Only what a search requires is computed. Everything runs where the events are. Stanzas of source types
//! that no event of the search has are left out: most stanzas of an installation with many add-ons are.

mod calculated;
mod default_fields;
mod lookups;
mod narrow;
mod parsed;

use std::collections::HashSet;
use std::sync::Arc;

use exprs::required_fields::RequiredFields;
use frames::Frame;
use model::{IndexName, TimeRange, columns};
use spl::ast::SearchExpr;

use self::calculated::Calculated;
pub(super) use self::default_fields::with_local_server;
use self::lookups::Automatic;
pub use self::parsed::check_calculated_field;
use self::parsed::{Meant, Parsed, ParsedField};
use crate::context::PlanningContext;
use crate::lookup::Lookups;
use crate::renames::Renames;
use crate::stanzas::Sourcetypes;
use crate::{Error, event_types};

/// What is added to the events of a search.
pub(crate) struct Enrichment {
    objects: Objects,
    /// What the calculated fields ask with `lookup()`.
    asked: Lookups,
    classes: event_types::Wanted,
    /// The source types that the stanzas were chosen for, if any was left out.
    sourcetypes: Option<Arc<HashSet<String>>>,
}

/// Which events a search reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Events<'a> {
    pub(super) indexes: &'a [IndexName],
    pub(super) range: &'a TimeRange,
    pub(super) filter: Option<&'a SearchExpr>,
}

/// Calculated fields and automatic lookups.
#[derive(Default)]
struct Objects {
    calculated: Vec<Calculated>,
    lookups: Vec<Automatic>,
    /// The fields that they set.
    set: HashSet<String>,
    /// Whether some were left out that the search would require if there were events of their source types.
    is_part: bool,
}

impl Enrichment {
    /// The part of it that a search requires. Adds the fields that it is made of.
    pub(super) async fn of(
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
        // Event types may be asked of fields that are not named themselves.
        let defaults = match asks_classes {
            true => default_fields::named(required, &parsed, env),
            false => defaults,
        };
        let all = All { parsed: &parsed, defaults: &defaults };
        let (mut objects, mut is_part) = chosen(required, all, shown, events.filter, env).await?;
        if classes.is_part && objects.set.contains(columns::SOURCETYPE) {
            // Then events may be of any source type behind it.
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

    /// The source types that events may have: what others need was left out. `None` if nothing was.
    pub(super) fn sourcetypes(&self) -> Option<Arc<HashSet<String>>> {
        self.sourcetypes.clone()
    }

    /// The part of it that some events require which are there already. The source says which source types
    /// these have.
    pub(crate) async fn of_any(
        required: &mut RequiredFields,
        env: &PlanningContext<'_>,
    ) -> Result<Self, Error> {
        let any = Events { indexes: &[], range: &TimeRange::ALL, filter: None };
        Self::of(required, any, env).await
    }

    /// The fields that it sets.
    pub(crate) fn fields(&self, env: &PlanningContext<'_>) -> Vec<String> {
        let mut fields: Vec<String> = self.objects.set.iter().cloned().collect();
        fields.extend(self.classes.fields(env));
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    /// Whether a filter reads something that is added here.
    pub(super) fn sets(&self, expr: &SearchExpr) -> bool {
        let mut read = RequiredFields::default();
        read.search(expr);
        read.names.iter().any(|name| self.objects.set.contains(name))
    }

    /// What stored fields satisfy in all events in which a filter may hold that reads something that is added
    /// here; `None` if that leaves nothing out.
    pub(super) fn narrowed(&self, expr: &SearchExpr) -> Option<SearchExpr> {
        narrow::narrowed(expr, &self.objects)
    }

    /// The events with all of it.
    pub(crate) fn apply(self, mut frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        let Objects { calculated, lookups, .. } = self.objects;
        if !calculated.is_empty() {
            frame = calculated::calculate(frame, calculated, &env.asking(&self.asked))?;
        }
        frame = lookups::look_up(&lookups, frame, env)?;
        self.classes.add(frame, env)
    }
}

/// Whether the configuration may set the source type of events: then it says nothing of the stored ones.
pub(super) fn may_set_sourcetype(env: &PlanningContext<'_>) -> bool {
    env.context.knowledge.compiled_of(Parsed::FILES, Parsed::of).set(columns::SOURCETYPE)
}

/// What a search may require.
#[derive(Clone, Copy)]
struct All<'a> {
    parsed: &'a Parsed,
    /// The default fields that it names. What stanzas set goes before them.
    defaults: &'a [Arc<ParsedField>],
}

/// The objects that a search of events of these source types requires, and whether objects of others were
/// left out.
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
        // Then events may be of any source type behind it.
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
    /// The objects that a search requires. Adds the fields that they read and set to what it requires.
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

    /// Whether some of them are of other source types only.
    fn has_others(&self, types: &Sourcetypes) -> bool {
        let calculated = self.calculated.iter().map(|one| &one.0.field.matcher);
        let mut all = calculated.chain(self.lookups.iter().map(Automatic::matcher));
        all.any(|matcher| !types.may_have(matcher))
    }
}
