//! What planning a search has asked and what it was told, for those who plan it again.

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

/// Of which indexes and times something was asked.
pub(crate) type Asked = (Vec<IndexName>, TimeRange);

/// The name of a field, whether some event has several values of it, and how many events have it.
pub(crate) type KnownField = (String, bool, u64);

/// What the source of events has answered.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Answers {
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) metric_indexes: Vec<IndexName>,
    pub(crate) fields: Vec<(Asked, Vec<KnownField>)>,
    /// Which of some fields may have several values.
    pub(crate) several: Vec<(Asked, Vec<String>, HashSet<String>)>,
    pub(crate) summary_rows: Vec<(Asked, bool)>,
    pub(crate) sourcetypes: Vec<(Asked, Option<HashSet<String>>)>,
    /// Fingerprints of the lookups that were read, by their names.
    pub(crate) lookups: Vec<(String, u64)>,
    /// What the stages before have looked up.
    pub(crate) looked_up: Vec<LookedUp>,
}

/// What is noted while a search is planned.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    answers: Mutex<Answers>,
    stages: Mutex<Stages>,
}

/// Which stage of a search runs.
#[derive(Debug, Default)]
struct Stages {
    /// `None` once others cannot plan the stage.
    search: Option<Search>,
    /// The same; it stays for searches within this one.
    around: Option<Search>,
    has_begun: bool,
    is_taken: bool,
}

impl Recording {
    /// Notes what is planned.
    pub(crate) fn note_search(&self, request: &JobRequest, context: &PlanContext) {
        let search = Search::of(request, context);
        let mut stages = self.stages.lock();
        stages.around.clone_from(&search);
        stages.search = search;
    }

    /// A stage of the search begins.
    pub(crate) fn begin_stage(&self) {
        let mut stages = self.stages.lock();
        // The stage before has ended with rows that are only here.
        if std::mem::replace(&mut stages.has_begun, true) {
            stages.search = None;
        }
    }

    /// The stage has only looked something up: who knows it can plan the next one.
    pub(crate) fn read_again(&self, looked_up: &LookedUp) {
        self.note(|answers| answers.looked_up.push(looked_up.clone()));
        let mut stages = self.stages.lock();
        (stages.has_begun, stages.is_taken) = (false, false);
    }

    /// What others need to plan the stage, once; `None` if they cannot.
    pub(crate) fn take(&self) -> Option<(Search, Answers)> {
        let mut stages = self.stages.lock();
        if std::mem::replace(&mut stages.is_taken, true) {
            return None;
        }
        Some((stages.search.clone()?, self.answers.lock().clone()))
    }

    /// What others need to plan a stage of a search within this one; `None` if they cannot.
    pub(crate) fn of_inner(&self, inner: &InnerSearch<'_>) -> Option<(Search, Answers)> {
        let search = self.stages.lock().around.clone()?.around(inner)?;
        let answers = self.answers.lock().clone();
        Some((search, Answers { looked_up: inner.looked_up.to_vec(), ..answers }))
    }

    fn note(&self, note: impl FnOnce(&mut Answers)) {
        note(&mut self.answers.lock());
    }
}

/// What is done about the lookups that a search reads.
#[derive(Debug, Clone, Default)]
pub(crate) enum Lookups {
    /// Nothing.
    #[default]
    Read,
    /// Their fingerprints are noted.
    Noted(Arc<Recording>),
    /// They have to be those of the search head.
    Compared(Arc<Compared>),
}

/// Whether what a part of a search finds around it is what the search head has.
#[derive(Debug, Default)]
pub(crate) struct Compared {
    lookups: Vec<(String, u64)>,
    /// The first thing that is not. Planning goes on without a lookup that cannot be read, so an error
    /// would not end it.
    differs: Mutex<Option<String>>,
}

impl Compared {
    pub(crate) fn new(lookups: Vec<(String, u64)>) -> Self {
        Self { lookups, differs: Mutex::default() }
    }

    /// Something differs.
    pub(crate) fn note(&self, what: String) {
        self.differs.lock().get_or_insert(what);
    }

    /// What differs, if something does.
    pub(crate) fn differs(&self) -> Option<String> {
        self.differs.lock().clone()
    }
}

impl Lookups {
    /// A lookup is read; it has this content, or is not there.
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
            Self::Noted(recording) => recording.note(|answers| {
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

/// A source of events whose answers are noted.
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
            // Its rows are made here, whoever reads events.
            self.source.metadata(kind, indexes, range).await
        })
    }
}
