//! The search head's side of distributed searches: selects the branches of a plan that run in parts, and the
//! readers of each bucket.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use bucket::{RemoteView, TermQuery};
use bytes::Bytes;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use distributed::{Cut, Gather, MAX_RECIPE, cut};
use exprs::leaf::LeafExec;
use model::{BucketHeader, BucketId};
use plan::{InnerSearch, LookedUp, MessageLog, PlanOf, Watch};
use runtime::trace::TraceContext;

use super::gather::{Gathered, Shared, Task};
use super::ramp::weights;
use super::shares::{Reader, preference, shares};
use crate::control::ScanControl;
use crate::engine::Engine;
use crate::hints::count;
use crate::preview::{self, PreviewState};
use crate::recipes::{Answers, HotShare, PartOf, Recipe, Recording, Search};
use crate::report::ScanReport;
use crate::scan::BucketScanExec;
use crate::workers::{Worker, near};

/// A search that may be distributed.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) engine: Arc<Engine>,
    pub(crate) recording: Arc<Recording>,
    pub(crate) control: Arc<ScanControl>,
    pub(crate) report: Arc<ScanReport>,
    /// The log for messages of operators.
    pub(crate) log: MessageLog,
    /// The normalized search text.
    pub(crate) text: String,
    /// Maximum number of events, newest first.
    pub(crate) events: Option<usize>,
    /// The parent span of its parts.
    pub(crate) trace: TraceContext,
}

/// A distributed plan.
#[derive(Debug)]
pub(crate) struct Distribution {
    pub(crate) plan: Arc<dyn ExecutionPlan>,
    /// The state for previews, if the plan allows them.
    pub(crate) kept: Option<Arc<PreviewState>>,
}

impl Head {
    /// Begins a stage of the search.
    pub(crate) fn begin_stage(&self) {
        self.recording.begin_stage();
    }

    /// Records that the stage has only looked up data and that the next one reads the events again.
    pub(crate) fn read_again(&self, looked_up: &LookedUp) {
        self.recording.read_again(looked_up);
    }

    /// Distributes the plan of a stage; `None` if that is impossible or not worthwhile. To be called once per
    /// stage.
    ///
    /// # Errors
    /// If the engine refuses the plan.
    pub(crate) fn distribute(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        previews: Option<preview::Limits>,
    ) -> PlanResult<Option<Distribution>> {
        let recipe = || {
            let (search, answers) = self.recording.take()?;
            Some((search.understood(&self.text)?, answers))
        };
        self.distribute_as(plan, previews, &self.log, recipe)
    }

    /// Distributes the plan of a stage of an inner search.
    ///
    /// # Errors
    /// If the engine refuses the plan.
    pub(crate) fn distribute_inner(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        inner: &InnerSearch<'_>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let recipe = || self.recording.of_inner(inner);
        let distributed = self.distribute_as(&plan, None, inner.log, recipe)?;
        Ok(distributed.map_or(plan, |distributed| distributed.plan))
    }

    /// Implements [`Self::distribute`]. `recipe` is only called if the distribution is worthwhile.
    fn distribute_as(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        previews: Option<preview::Limits>,
        log: &MessageLog,
        recipe: impl FnOnce() -> Option<(Search, Answers)>,
    ) -> PlanResult<Option<Distribution>> {
        let mut scans = 0;
        let mut rows = 0;
        let mut has_remote = false;
        let mut is_possible = true;
        plan.apply(|node| {
            if let Some(scan) = node.downcast_ref::<BucketScanExec>() {
                scans += 1;
                rows += scan.stored().map(|bucket| bucket.rows).sum::<u64>();
                has_remote |= scan.remote().next().is_some();
                is_possible &= !scan.is_keyed_at_once();
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let is_large = rows > 0 && rows >= self.engine.settings().parts.min_events;
        if !is_possible || !(is_large || has_remote) {
            return Ok(None);
        }
        let owners = self.engine.deps.workers.as_ref().map(|workers| workers.now());
        let owners = owners.unwrap_or_default();
        let mut readers = near(self.engine.lost_workers.without(owners.clone()));
        if !is_large || readers.iter().all(|worker| worker.channel.is_none()) {
            readers.clear();
        }
        if readers.is_empty() && !has_remote {
            return Ok(None);
        }
        let Some((search, answers)) = recipe() else { return Ok(None) };
        let previews = previews.filter(|_| scans == 1);
        let (kept, tasks) = (None, 0);
        let log = log.clone();
        let mut branches =
            Branches { head: self, log, readers, owners, search, answers, previews, kept, tasks };
        let distributed = cut(plan, &is_events, &mut |cut| branches.branch(cut))?;
        let Branches { kept, tasks, .. } = branches;
        Ok((tasks > 0).then_some(Distribution { plan: distributed, kept }))
    }
}

/// Distributes a search without previews, and its inner searches.
#[derive(Debug)]
pub(crate) struct Sharing(pub(crate) Head);

impl Watch for Sharing {
    fn runs(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        of: PlanOf<'_>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        match of {
            PlanOf::Stage(_) => {
                self.0.begin_stage();
                let distributed = self.0.distribute(&plan, None)?;
                Ok(distributed.map_or(plan, |distributed| distributed.plan))
            }
            PlanOf::Inner(inner) => self.0.distribute_inner(plan, inner),
            PlanOf::Again | PlanOf::Command => Ok(plan),
        }
    }

    fn reads_again(&self, looked_up: &LookedUp) {
        self.0.read_again(looked_up);
    }
}

/// Whether an operator reads events.
pub(crate) fn is_events(node: &dyn ExecutionPlan) -> bool {
    node.downcast_ref::<BucketScanExec>().is_some()
}

/// State of the distribution of one plan.
struct Branches<'h> {
    head: &'h Head,
    /// The log for messages of operators.
    log: MessageLog,
    /// Workers that read buckets of the catalog; empty if these have few events.
    readers: Vec<Worker>,
    /// Workers that may hold hot rows.
    owners: Vec<Worker>,
    search: Search,
    answers: Answers,
    previews: Option<preview::Limits>,
    kept: Option<Arc<PreviewState>>,
    /// Number of tasks so far.
    tasks: usize,
}

impl Branches<'_> {
    /// Returns the operator that replaces a branch of the plan.
    fn branch(&mut self, cut: Cut) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let control = &self.head.control;
        let reads_all = match &cut.gather {
            // The first buckets are usually enough, so reading all buckets at once would waste work.
            Gather::Any(Some(_)) => false,
            Gather::Sorted(_, Some(_)) => control.must_count_all(),
            Gather::Sorted(..) | Gather::Any(None) => true,
        };
        let found = buckets_of(&cut.map)?;
        let mut shares = self.hot_shares(&found);
        if reads_all {
            shares.extend(self.stored_shares(&found.stored, &found.query));
        }
        if shares.is_empty() {
            return Ok(cut.map);
        }
        let taken: HashSet<BucketId> = shares.iter().flat_map(|share| share.ids()).collect();
        let rest = over(&cut.map, |id| !taken.contains(id), true)?;
        let mut local = Arc::clone(&rest);
        let mut kept = None;
        if let Some(limits) = self.previews
            && let Some(placed) = preview::place_among(&rest, control, limits, shares.len())?
        {
            let (plan, placed, partitions) = placed;
            local = plan;
            self.kept = Some(Arc::clone(&placed));
            kept = Some((placed, partitions));
        }
        let schema = cut.map.schema();
        let part = PartOf {
            branch: cut.number,
            schema: &schema,
            events: self.head.events,
            counts_all: control.must_count_all(),
            timeline: self.head.report.timeline().is_some(),
            previews: kept.is_some(),
            allow_partial: self.head.engine.settings().allow_partial_results,
        };
        let mut tasks = Vec::with_capacity(shares.len());
        for share in shares {
            let recipe = Recipe::new(self.search.clone(), self.answers.clone(), part);
            let recipe = match &share.buckets {
                Buckets::Stored(buckets) => recipe.over(buckets),
                Buckets::Hot(hot) => recipe.over_hot(hot.clone()),
            };
            let recipe = serde_json::to_vec(&recipe);
            let recipe = recipe.map_err(|error| DataFusionError::External(Box::new(error)))?;
            if recipe.len() > MAX_RECIPE {
                self.tasks -= tasks.len();
                self.kept = None;
                return Ok(cut.map);
            }
            let ids: HashSet<BucketId> = share.ids().collect();
            tasks.push(Arc::new(Task {
                // Parts of previous stages keep their numbers, because their cost counts too.
                number: self.head.report.number_part(),
                place: tasks.len(),
                buckets: ids.len(),
                candidates: share.candidates,
                recipe: Bytes::from(recipe),
                here: over(&cut.map, |id| ids.contains(id), false)?,
            }));
            self.tasks += 1;
        }
        let engine = &self.head.engine;
        let settings = engine.settings();
        let shared = Shared {
            control: Arc::clone(control),
            report: Arc::clone(&self.head.report),
            log: self.log.clone(),
            lost: Arc::clone(&engine.lost_workers),
            kept,
            settings: settings.parts.clone(),
            preview_interval: settings.preview_interval,
            allow_partial: settings.allow_partial_results,
            tracer: engine.deps.tracer.clone(),
            trace: self.head.trace.clone(),
        };
        let order = cut.map.properties().eq_properties.clone();
        let gathered = Gathered::new(local, tasks, shared, order);
        Ok(cut.gather.together(Arc::new(LeafExec(gathered))))
    }

    /// Returns a share per indexer with the buckets that have stayed there.
    fn hot_shares(&self, found: &Found) -> Vec<Share> {
        let share = |(view, buckets): &(Arc<dyn RemoteView>, Vec<BucketId>)| {
            let owner = self.owners.iter().find(|worker| worker.id == view.indexer())?;
            owner.channel.as_ref()?;
            let hot = HotShare { view: view.number(), buckets: buckets.clone() };
            Some(Share { candidates: vec![owner.clone()], buckets: Buckets::Hot(hot) })
        };
        found.hot.iter().filter_map(share).collect()
    }

    /// Divides the buckets of the catalog into shares, and notes hints for the next choices of the buckets.
    fn stored_shares(&self, buckets: &[Arc<BucketHeader>], query: &TermQuery) -> Vec<Share> {
        if self.readers.is_empty() {
            return Vec::new();
        }
        let readers = self.weighted_readers();
        let sizes: Vec<_> = buckets.iter().map(|bucket| (bucket.id, bucket.rows)).collect();
        let mut of_reader = vec![Vec::new(); readers.len()];
        let mut hinted = vec![Vec::new(); readers.len()];
        for (bucket, assigned) in buckets.iter().zip(shares(&sizes, &readers)) {
            of_reader[assigned.reader].push(Arc::clone(bucket));
            if let Some(next) = assigned.next {
                hinted[next].push(bucket.id);
            }
        }
        self.note_hints(&of_reader, &hinted, query);
        let is_remote = |at: &usize| self.readers[*at].channel.is_some();
        let tasks = of_reader.into_iter().enumerate();
        let tasks = tasks.filter(|(at, share)| is_remote(at) && !share.is_empty());
        let with_order = |(at, share): (usize, Vec<Arc<BucketHeader>>)| {
            let others = share.first().map(|bucket| preference(bucket.id, &readers));
            let others =
                others.into_iter().flatten().filter(|other| *other != at && is_remote(other));
            let order = std::iter::once(at).chain(others);
            Share {
                candidates: order.map(|at| self.readers[at].clone()).collect(),
                buckets: Buckets::Stored(share),
            }
        };
        tasks.map(with_order).collect()
    }

    /// Returns the readers with the weights of their shares at the moment.
    fn weighted_readers(&self) -> Vec<Reader<'_>> {
        let engine = &self.head.engine;
        let (now, period) = (engine.deps.clock.now(), engine.settings().warming.ramp_period);
        let cold_since: Vec<_> = self.readers.iter().map(|worker| worker.cold_since).collect();
        let readers = self.readers.iter().zip(weights(&cold_since, now, period));
        readers.map(|(worker, weight)| Reader { id: &worker.id, weight }).collect()
    }

    /// Notes for each reader of which buckets it is the next choice, and for this process which ones it
    /// reads.
    fn note_hints(
        &self,
        of_reader: &[Vec<Arc<BucketHeader>>],
        hinted: &[Vec<BucketId>],
        query: &TermQuery,
    ) {
        let engine = &self.head.engine;
        if engine.settings().warming.percent == 0 {
            return;
        }
        let of_readers = self.readers.iter().zip(of_reader);
        for (_, own) in of_readers.filter(|(reader, _)| reader.channel.is_none()) {
            engine.hints.inbox.lock().note_own(own.iter().map(|bucket| bucket.id));
        }
        let mut outbox = engine.hints.outbox.lock();
        let dropped = outbox.note_search(query, &self.readers, hinted, Instant::now());
        count("dropped", dropped);
    }
}

/// The input of one task.
struct Share {
    /// The workers to ask, in this order.
    candidates: Vec<Worker>,
    buckets: Buckets,
}

enum Buckets {
    Stored(Vec<Arc<BucketHeader>>),
    Hot(HotShare),
}

impl Share {
    fn ids(&self) -> impl Iterator<Item = BucketId> + '_ {
        let (stored, hot): (&[Arc<BucketHeader>], &[BucketId]) = match &self.buckets {
            Buckets::Stored(stored) => (stored, &[]),
            Buckets::Hot(hot) => (&[], &hot.buckets),
        };
        stored.iter().map(|bucket| bucket.id).chain(hot.iter().copied())
    }
}

/// The buckets of a branch that other processes can read.
struct Found {
    /// Buckets of the catalog, which any process can read.
    stored: Vec<Arc<BucketHeader>>,
    /// The query for their term indexes.
    query: TermQuery,
    /// Buckets that have stayed at their indexers, by view.
    hot: Vec<(Arc<dyn RemoteView>, Vec<BucketId>)>,
}

fn buckets_of(map: &Arc<dyn ExecutionPlan>) -> PlanResult<Found> {
    let mut found = Found { stored: Vec::new(), query: TermQuery::Nothing, hot: Vec::new() };
    map.apply(|node| {
        let Some(scan) = node.downcast_ref::<BucketScanExec>() else {
            return Ok(TreeNodeRecursion::Continue);
        };
        found.stored.extend(scan.stored().map(Arc::clone));
        found.query = TermQuery::or(vec![found.query.clone(), scan.hinted_terms()]);
        for (bucket, view) in scan.remote() {
            match found.hot.iter_mut().find(|(known, _)| known.number() == view.number()) {
                Some((_, buckets)) => buckets.push(bucket),
                None => found.hot.push((Arc::clone(view), vec![bucket])),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Returns a branch over those shareable buckets that pass the test, with or without its other data.
fn over(
    map: &Arc<dyn ExecutionPlan>,
    passes: impl Fn(&BucketId) -> bool,
    with_others: bool,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    // State that operators learn at run time must not be shared between the copies.
    let copy = reset_plan_states(Arc::clone(map))?;
    // Sorts have new filters now, and scans still have those of the original sorts.
    let mut filters = HashMap::new();
    pair_filters(map, &copy, &mut filters);
    let replaced = copy.transform_down(|node| {
        Ok(match node.downcast_ref::<BucketScanExec>() {
            Some(scan) => {
                let scan = scan.over_shared(&passes, with_others).learning(&filters)?;
                Transformed::yes(Arc::new(scan) as Arc<dyn ExecutionPlan>)
            }
            None => Transformed::no(node),
        })
    });
    replaced.data()
}

/// Notes the dynamic filters of a copied plan by the ids of those of the original. They are paired for each
/// operator apart, because a copied sort without a limit has a filter, and the original has none.
fn pair_filters(
    original: &Arc<dyn ExecutionPlan>,
    copy: &Arc<dyn ExecutionPlan>,
    filters: &mut HashMap<u64, Arc<dyn PhysicalExpr>>,
) {
    let of_original = original.dynamic_expressions_produced();
    // With several, one that a copy does not have would pair filters of different columns.
    debug_assert!(of_original.len() <= 1, "{} has several dynamic filters", original.name());
    let both = of_original.iter().zip(copy.dynamic_expressions_produced());
    filters.extend(both.filter_map(|(old, new)| Some((old.expression_id()?, new))));
    for (original, copy) in original.children().into_iter().zip(copy.children()) {
        pair_filters(original, copy, filters);
    }
}
