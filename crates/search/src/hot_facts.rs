//! Facts about hot rows that planning needs, whichever process holds the rows: field names, hosts, sources
//! and source types.
//!
//! Of rows that have stayed at their indexer that one is asked. Where it cannot answer as this process would
//! (another version, another configuration), the rows are moved here.

use std::collections::HashMap;
use std::sync::Arc;

use apps::{Apps, Namespace};
use bucket::{HotBucket, MissingIndexer, RemoteView};
use distributed::{Failure, describe};
use futures::future::join_all;
use knowledge::Knowledge;
use model::{BucketId, ValueCount, columns};
use parking_lot::Mutex;
use plan::{FieldInfo, MetadataKind};
use runtime::trace::{SpanKind, TraceContext};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::discovered::Fields;
use crate::engine::Engine;
use crate::jobs::JobRequest;
use crate::metadata::{Counts, count_hot, merge};
use crate::recipes::{KnownField, fingerprint, version};
use crate::report::ScanReport;
use crate::traced::call_context;

/// The configuration with which a search is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Planner {
    owner: String,
    app: String,
    hidden: Vec<String>,
    /// The bundle by whose apps the search is planned; `None` for the apps in force.
    #[serde(default)]
    bundle: Option<String>,
    /// The span of the planning, which is not serialized.
    #[serde(skip)]
    trace: TraceContext,
}

impl Planner {
    pub(crate) fn of(request: &JobRequest) -> Self {
        let (owner, app) = (request.owner.clone(), request.app.clone());
        let bundle = request.bundle.as_ref().and_then(Apps::checksum);
        Self { owner, app, hidden: request.rights.hidden(), bundle, trace: request.trace.clone() }
    }
}

/// The question to an indexer about an open view.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Question {
    version: String,
    /// Fingerprint of the configuration and of the limits.
    knowledge: u64,
    planner: Planner,
    view: u64,
    buckets: Vec<BucketId>,
    about: About,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum About {
    Fields,
    SummaryRows,
    Hosts,
    Sources,
    Sourcetypes,
}

impl About {
    fn of(kind: MetadataKind) -> Self {
        match kind {
            MetadataKind::Hosts => Self::Hosts,
            MetadataKind::Sources => Self::Sources,
            MetadataKind::Sourcetypes => Self::Sourcetypes,
        }
    }

    fn kind(self) -> Option<MetadataKind> {
        Some(match self {
            Self::Fields | Self::SummaryRows => return None,
            Self::Hosts => MetadataKind::Hosts,
            Self::Sources => MetadataKind::Sources,
            Self::Sourcetypes => MetadataKind::Sourcetypes,
        })
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
enum Answer {
    Fields(Vec<KnownField>),
    SummaryRows(bool),
    Counts(Vec<ValueCount>),
}

/// The key of a cached answer: view, question and buckets.
type Asked = (u64, About, Vec<BucketId>);

/// Facts about hot rows for one search; see the module documentation.
pub(crate) struct HotFacts {
    engine: Arc<Engine>,
    report: Arc<ScanReport>,
    /// `None` if rows are moved to this process instead.
    planner: Option<Planner>,
    /// Answers of indexers, by view and buckets.
    answers: Mutex<HashMap<Asked, Arc<Answer>>>,
}

impl std::fmt::Debug for HotFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HotFacts").field("planner", &self.planner).finish_non_exhaustive()
    }
}

/// Buckets of one remote view.
struct Remote<'b> {
    view: &'b Arc<dyn RemoteView>,
    buckets: Vec<&'b HotBucket>,
}

impl HotFacts {
    pub(crate) fn new(
        engine: &Arc<Engine>,
        report: &Arc<ScanReport>,
        planner: Option<Planner>,
    ) -> Self {
        let (engine, report) = (Arc::clone(engine), Arc::clone(report));
        Self { engine, report, planner, answers: Mutex::default() }
    }

    /// Returns the fields of rows in memory.
    pub(crate) async fn fields(&self, hot: &[HotBucket], knowledge: &Arc<Knowledge>) -> Fields {
        let (mut here, answers) = self.ask(hot, About::Fields, knowledge).await;
        here.extend(hot.iter().filter(|bucket| bucket.elsewhere.is_none()).cloned());
        let mut found = self.engine.discovered.fields(&here, knowledge).await;
        for answer in &answers {
            let Answer::Fields(fields) = &**answer else { continue };
            for (name, multivalue, count) in fields {
                let (name, multivalue) = (name.clone(), *multivalue);
                let new = || FieldInfo { name: name.clone(), multivalue, count: 0 };
                let field = found.entry(name.clone()).or_insert_with(new);
                field.count += count;
                field.multivalue |= multivalue;
            }
        }
        found
    }

    /// Whether rows in memory are summary rows.
    pub(crate) async fn has_summary_rows(
        &self,
        hot: &[HotBucket],
        knowledge: &Arc<Knowledge>,
    ) -> bool {
        let (moved, answers) = self.ask(hot, About::SummaryRows, knowledge).await;
        let has = |answer: &Arc<Answer>| matches!(**answer, Answer::SummaryRows(true));
        if answers.iter().any(has) {
            return true;
        }
        let here = hot.iter().filter(|bucket| bucket.elsewhere.is_none()).cloned();
        let here: Vec<HotBucket> = here.chain(moved).collect();
        self.engine.has_summary_rows(&here, knowledge).await
    }

    /// Adds the hosts, sources or source types of rows in memory.
    pub(crate) async fn count(
        &self,
        kind: MetadataKind,
        hot: &[HotBucket],
        knowledge: &Arc<Knowledge>,
        counts: &mut Counts,
    ) {
        let (here, answers) = self.ask(hot, About::of(kind), knowledge).await;
        for batch in here.iter().chain(hot).flat_map(|bucket| &bucket.batches) {
            count_hot(kind, batch, counts);
        }
        for answer in &answers {
            let Answer::Counts(values) = &**answer else { continue };
            values.iter().for_each(|value| merge(counts, value));
        }
    }

    /// Asks indexers about the rows that have stayed there. Also returns the buckets whose rows had to be
    /// moved here.
    async fn ask(
        &self,
        hot: &[HotBucket],
        about: About,
        knowledge: &Arc<Knowledge>,
    ) -> (Vec<HotBucket>, Vec<Arc<Answer>>) {
        let mut views: Vec<Remote<'_>> = Vec::new();
        for bucket in hot.iter().filter(|bucket| bucket.stored.is_none()) {
            let Some(elsewhere) = &bucket.elsewhere else { continue };
            let number = elsewhere.view.number();
            match views.iter_mut().find(|known| known.view.number() == number) {
                Some(known) => known.buckets.push(bucket),
                None => views.push(Remote { view: &elsewhere.view, buckets: vec![bucket] }),
            }
        }
        if views.is_empty() {
            return Default::default();
        }
        let fingerprint = fingerprint(knowledge, &self.engine.settings().plan);
        let asked = views.iter().map(|remote| self.ask_one(remote, about, fingerprint));
        let (mut moved, mut answers) = (Vec::new(), Vec::new());
        for (remote, answer) in views.iter().zip(join_all(asked).await) {
            match answer {
                Ok(answer) => answers.push(answer),
                Err(Failure::Lost(reason)) => {
                    let name = self.name_of(remote.view);
                    self.report.miss(&MissingIndexer { name, reason });
                }
                Err(failure @ (Failure::Refused(_) | Failure::Failed(_))) => {
                    tracing::debug!(%failure, "hot rows are moved to be looked at");
                    moved.extend(self.moved(remote).await);
                }
            }
        }
        (moved, answers)
    }

    async fn ask_one(
        &self,
        remote: &Remote<'_>,
        about: About,
        knowledge: u64,
    ) -> Result<Arc<Answer>, Failure> {
        let mut buckets: Vec<_> = remote.buckets.iter().map(|bucket| bucket.id).collect();
        buckets.sort_unstable();
        let key = (remote.view.number(), about, buckets);
        if let Some(known) = self.answers.lock().get(&key) {
            return Ok(Arc::clone(known));
        }
        let refused = |why: &str| Failure::Refused(why.to_owned());
        let planner = self.planner.clone().ok_or_else(|| refused("there is no planner"))?;
        let workers = self.engine.deps.workers.as_ref().map(|workers| workers.now());
        let mut workers = workers.unwrap_or_default().into_iter();
        let worker = workers.find(|worker| worker.id == remote.view.indexer());
        let tracer = &self.engine.deps.tracer;
        let mut span = tracer.of_kind("search.describe", SpanKind::Client, &planner.trace);
        span.set("karst.peer.id", remote.view.indexer().to_owned());
        let channel = worker.and_then(|worker| worker.channel);
        let channel = channel.ok_or_else(|| refused("it runs no parts of searches"))?;
        let (version, view, buckets) = (version(), key.0, key.2.clone());
        let question = Question { version, knowledge, planner, view, buckets, about };
        let unreadable = |error: serde_json::Error| Failure::Failed(error.to_string());
        let question = serde_json::to_vec(&question).map_err(unreadable)?;
        let silence = self.engine.settings().parts.silence;
        let context = call_context(&span);
        let answer = describe(channel, question.into(), silence, &context).await;
        let answer = answer.inspect_err(|failure| span.fail(failure))?;
        let answer: Arc<Answer> = Arc::new(serde_json::from_slice(&answer).map_err(unreadable)?);
        self.answers.lock().insert(key, Arc::clone(&answer));
        Ok(answer)
    }

    fn name_of(&self, view: &Arc<dyn RemoteView>) -> String {
        let workers = self.engine.deps.workers.as_ref().map(|workers| workers.now());
        let mut workers = workers.unwrap_or_default().into_iter();
        let worker = workers.find(|worker| worker.id == view.indexer());
        format!("peer {}", worker.map_or_else(|| view.indexer().to_owned(), |known| known.name))
    }

    /// Returns the same buckets with their rows.
    async fn moved(&self, remote: &Remote<'_>) -> Vec<HotBucket> {
        let mut moved = Vec::with_capacity(remote.buckets.len());
        for bucket in &remote.buckets {
            match remote.view.rows(bucket.id).await {
                Ok(batches) => {
                    moved.push(HotBucket { batches, elsewhere: None, ..(*bucket).clone() });
                }
                Err(missing) => self.report.miss(&missing),
            }
        }
        moved
    }
}

impl Engine {
    /// Whether rows in memory of this process are summary rows.
    async fn has_summary_rows(&self, hot: &[HotBucket], knowledge: &Arc<Knowledge>) -> bool {
        self.summary_rows.may_be_in(hot)
            && self.discovered.fields(hot, knowledge).await.contains_key(columns::SUMMARY_VERSION)
    }
}

impl Question {
    /// Answers the question at the indexer.
    ///
    /// # Errors
    /// What differs from the process that asks.
    pub(crate) async fn answered(self, engine: &Engine) -> Result<Vec<u8>, Error> {
        let Planner { owner, app, hidden, bundle, .. } = &self.planner;
        let apps = engine.apps_at(bundle.as_deref()).await?;
        let knowledge = apps.view_without(&Namespace::new(owner, app), hidden);
        let own = fingerprint(&knowledge, &engine.settings().plan);
        if self.version != version() || self.knowledge != own {
            let text = "its version, its apps or limits.conf differ from those of the search head";
            return Err(Error::Unavailable(text.to_owned()));
        }
        let view = engine.deps.views.get(self.view);
        let view = view.ok_or_else(|| Error::Unavailable("the view is not open".to_owned()))?;
        let hot: Vec<HotBucket> =
            view.iter().filter(|bucket| self.buckets.contains(&bucket.id)).cloned().collect();
        let answer = match self.about.kind() {
            None if self.about == About::SummaryRows => {
                Answer::SummaryRows(engine.has_summary_rows(&hot, &knowledge).await)
            }
            None => {
                let found = engine.discovered.fields(&hot, &knowledge).await;
                let known = found.into_values();
                let known = known.map(|info| (info.name, info.multivalue, info.count));
                Answer::Fields(known.collect())
            }
            Some(kind) => {
                let mut counts = Counts::new();
                for batch in hot.iter().flat_map(|bucket| &bucket.batches) {
                    count_hot(kind, batch, &mut counts);
                }
                Answer::Counts(counts.into_values().collect())
            }
        };
        serde_json::to_vec(&answer).map_err(|error| Error::Internal(error.to_string()))
    }
}
