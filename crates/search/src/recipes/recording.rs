//! Records the questions and answers of planning, for processes that plan the search again.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::datasource::TableProvider;
use futures::future::BoxFuture;
use model::{IndexName, TimeRange, ValueCount};
use parking_lot::Mutex;
use plan::{
    Error, EventSource, EventsRequest, FieldInfo, InnerSearch, LookedUp, LookupSource,
    MetadataKind, PlanContext,
};
use serde::{Deserialize, Serialize};

use super::recipe::Search;
use crate::jobs::JobRequest;

/// The indexes and time range of a question.
pub(crate) type Asked = (Vec<IndexName>, TimeRange);

/// A field: its name, whether some event has several values of it, and the number of events that have it.
pub(crate) type KnownField = (String, bool, u64);

/// The answers of the source of events.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Answers {
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) metric_indexes: Vec<IndexName>,
    pub(crate) fields: Vec<(Asked, Vec<KnownField>)>,
    /// Those of the given fields that may have several values.
    pub(crate) several: Vec<(Asked, Vec<String>, HashSet<String>)>,
    pub(crate) summary_rows: Vec<(Asked, bool)>,
    pub(crate) sourcetypes: Vec<(Asked, Option<HashSet<String>>)>,
    /// Fingerprints of the lookups read, by name.
    pub(crate) lookups: Vec<(String, u64)>,
    /// Results of the lookups of previous stages.
    pub(crate) looked_up: Vec<LookedUp>,
}

/// A recording of planning.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    answers: Mutex<Answers>,
    stages: Mutex<Stages>,
}

/// The current stage of a search.
#[derive(Debug, Default)]
struct Stages {
    /// `None` if other processes cannot plan the stage.
    search: Option<Search>,
    /// The same search, kept for searches within this one.
    around: Option<Search>,
    has_begun: bool,
    is_taken: bool,
}

impl Recording {
    /// Records the search that is planned.
    pub(crate) fn note_search(&self, request: &JobRequest, context: &PlanContext) {
        let search = Search::of(request, context);
        let mut stages = self.stages.lock();
        stages.around.clone_from(&search);
        stages.search = search;
    }

    /// Begins a stage of the search.
    pub(crate) fn begin_stage(&self) {
        let mut stages = self.stages.lock();
        // The previous stage ended with rows that exist only in this process.
        if std::mem::replace(&mut stages.has_begun, true) {
            stages.search = None;
        }
    }

    /// Records that the stage has only looked up data. Processes that know the data can plan the next stage.
    pub(crate) fn read_again(&self, looked_up: &LookedUp) {
        self.note(|answers| answers.looked_up.push(looked_up.clone()));
        let mut stages = self.stages.lock();
        (stages.has_begun, stages.is_taken) = (false, false);
    }

    /// Takes what other processes need to plan the stage; `None` if they cannot plan it, and after the first
    /// call.
    pub(crate) fn take(&self) -> Option<(Search, Answers)> {
        let mut stages = self.stages.lock();
        if std::mem::replace(&mut stages.is_taken, true) {
            return None;
        }
        Some((stages.search.clone()?, self.answers.lock().clone()))
    }

    /// Returns what other processes need to plan a stage of an inner search; `None` if they cannot plan it.
    pub(crate) fn of_inner(&self, inner: &InnerSearch<'_>) -> Option<(Search, Answers)> {
        let search = self.stages.lock().around.clone()?.around(inner)?;
        let answers = self.answers.lock().clone();
        Some((search, Answers { looked_up: inner.looked_up.to_vec(), ..answers }))
    }

    fn note(&self, note: impl FnOnce(&mut Answers)) {
        note(&mut self.answers.lock());
    }
}

/// What to do with the lookups that a search reads.
#[derive(Debug, Clone, Default)]
pub(crate) enum Lookups {
    /// Ignore them.
    #[default]
    Read,
    /// Record their fingerprints.
    Recorded(Arc<Recording>),
    /// Compare them with those of the search head.
    Compared(Arc<Compared>),
}

/// The comparison of the environment of a part with that of the search head.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    lookups: Vec<(String, u64)>,
    /// The first difference. Planning continues without an unreadable lookup, so an error would not end it.
    differs: Mutex<Option<String>>,
}

impl Compared {
    pub(crate) fn new(lookups: Vec<(String, u64)>) -> Self {
        Self { lookups, differs: Mutex::default() }
    }

    /// Records a difference.
    pub(crate) fn note(&self, what: String) {
        self.differs.lock().get_or_insert(what);
    }

    /// Returns the first difference, if there is one.
    pub(crate) fn differs(&self) -> Option<String> {
        self.differs.lock().clone()
    }
}

impl Lookups {
    /// Compares a lookup with this content; `None` if it does not exist.
    pub(crate) fn read(&self, source: &LookupSource, content: Option<&impl Hash>) {
        if matches!(self, Self::Read) {
            return;
        }
        let (LookupSource::File(name) | LookupSource::Collection(name)) = source;
        let mut hasher = DefaultHasher::new();
        content.is_some().hash(&mut hasher);
        if let Some(content) = content {
            content.hash(&mut hasher);
        }
        let fingerprint = hasher.finish();
        match self {
            Self::Read => {}
            Self::Recorded(recording) => recording.note(|answers| {
                answers.lookups.push((name.clone(), fingerprint));
            }),
            Self::Compared(compared) => {
                let is_same = |known: &(String, u64)| known.0 == *name && known.1 == fingerprint;
                if !compared.lookups.iter().any(is_same) {
                    compared.note(format!(
                        "the lookup \"{name}\" differs from that of the search head"
                    ));
                }
            }
        }
    }
}

/// A source of events that records its answers.
#[derive(Debug)]
pub(crate) struct Recorded<S> {
    pub(crate) source: S,
    pub(crate) recording: Arc<Recording>,
}

fn asked(indexes: &[IndexName], range: &TimeRange) -> Asked {
    (indexes.to_vec(), *range)
}

impl<S: EventSource> EventSource for Recorded<S> {
    fn indexes(&self) -> Vec<IndexName> {
        let indexes = self.source.indexes();
        self.recording.note(|answers| answers.indexes.clone_from(&indexes));
        indexes
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        let indexes = self.source.metric_indexes();
        self.recording.note(|answers| answers.metric_indexes.clone_from(&indexes));
        indexes
    }

    /// Not recorded: only messages of the search head name them.
    fn disabled_indexes(&self) -> Vec<IndexName> {
        self.source.disabled_indexes()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        self.source.events(request)
    }

    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move {
            let found = self.source.fields(indexes, range).await?;
            let noted = found.iter().map(|info| (info.name.clone(), info.multivalue, info.count));
            let noted = noted.collect();
            self.recording.note(|answers| answers.fields.push((asked(indexes, range), noted)));
            Ok(found)
        })
    }

    fn several<'a>(
        &'a self,
        names: &'a [&'a str],
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<HashSet<String>, Error>> {
        Box::pin(async move {
            let found = self.source.several(names, indexes, range).await?;
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let noted = (asked(indexes, range), names, found.clone());
            self.recording.note(|answers| answers.several.push(noted));
            Ok(found)
        })
    }

    fn has_summary_rows<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let found = self.source.has_summary_rows(indexes, range).await?;
            self.recording
                .note(|answers| answers.summary_rows.push((asked(indexes, range), found)));
            Ok(found)
        })
    }

    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move {
            let found = self.source.sourcetypes(indexes, range).await?;
            let noted = (asked(indexes, range), found.clone());
            self.recording.note(|answers| answers.sourcetypes.push(noted));
            Ok(found)
        })
    }

    fn metadata<'a>(
        &'a self,
        kind: MetadataKind,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move {
            // The rows of `metadata` are computed here, whichever process reads events.
            self.source.metadata(kind, indexes, range).await
        })
    }
}
