//! The state that all searches of a service share.

use std::fmt;
use std::sync::Arc;

use access::Rights;
use apps::Apps;
use model::IndexName;
use plan::{CompiledLookups, Session};

use crate::archive::{Archive, LoadedJobs};
use crate::current_settings::CurrentSettings;
use crate::discovered::Discovered;
use crate::ended::Ended;
use crate::hints::Hints;
use crate::hot_words::HotWords;
use crate::jobs::{Job, JobRequest, Jobs, Uses};
use crate::lookup_files::LookupFiles;
use crate::memory::Memory;
use crate::queries::Queries;
use crate::readers::Readers;
use crate::scan::{ComputedValues, PassedRows};
use crate::summary_rows::SummaryRows;
use crate::workers::LostWorkers;
use crate::{Dependencies, Error, Settings};

pub(crate) struct Engine {
    pub(crate) deps: Dependencies,
    pub(crate) current: CurrentSettings,
    pub(crate) readers: Arc<Readers>,
    /// The rows that passed the filters of earlier searches.
    pub(crate) passed: Arc<PassedRows>,
    /// The values of computed fields of earlier searches.
    pub(crate) values: Arc<ComputedValues>,
    pub(crate) discovered: Arc<Discovered>,
    pub(crate) hot_words: Arc<HotWords>,
    pub(crate) summary_rows: SummaryRows,
    pub(crate) lookup_files: LookupFiles,
    /// Compiled lookups: rows indexed by the values of fields.
    pub(crate) compiled_lookups: CompiledLookups,
    pub(crate) session: Session,
    pub(crate) memory: Memory,
    /// Memory for the parts of other processes' searches. With one pool for both, two search heads could wait
    /// for each other.
    pub(crate) part_memory: Memory,
    pub(crate) lost_workers: Arc<LostWorkers>,
    /// Hints about buckets, to and from other processes.
    pub(crate) hints: Hints,
    pub(crate) jobs: Jobs,
    /// Stored jobs in object storage.
    pub(crate) archive: Archive,
    /// Recently read rows of stored jobs.
    pub(crate) loaded: LoadedJobs,
    pub(crate) uses: Arc<Uses>,
    pub(crate) queries: Arc<Queries>,
    pub(crate) ended: Arc<Ended>,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("current", &self.current).finish_non_exhaustive()
    }
}

impl Engine {
    /// Returns the apps by which a search is planned.
    pub(crate) fn apps_of<'a>(&'a self, request: &'a JobRequest) -> &'a Apps {
        request.bundle.as_ref().unwrap_or(&self.deps.apps)
    }

    /// Returns the apps by which the search head plans a search, for a part of it: those of a bundle, or the
    /// ones in force.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if this process cannot read the bundle.
    pub(crate) async fn apps_at(&self, bundle: Option<&str>) -> Result<Apps, Error> {
        let Some(bundle) = bundle else { return Ok(self.deps.apps.clone()) };
        let apps = Box::pin(self.deps.apps.at(bundle)).await;
        apps.map_err(|error| Error::Unavailable(error.to_string()))
    }

    /// Returns the settings in force.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        self.current.with(&self.deps.apps.knowledge())
    }

    /// Whether a user may see a job and its rows: the owner, users of the roles that the job is shared with,
    /// and users with `admin_all_objects`. In addition, the user must currently have access to the indexes
    /// that the job could read.
    pub(crate) fn may_read_job(&self, job: &Job, rights: &Rights) -> bool {
        let owns = job.request().owner == rights.user()
            || rights.may("admin_all_objects")
            || rights.is_named(&job.readers());
        let names = self.deps.indexes.names();
        let open = |index: &IndexName| rights.may_search(index);
        let filter = &rights.limits().filter;
        let same = filter.is_none() || *filter == job.request().rights.limits().filter;
        owns && same && job.request().rights.searchable(names).iter().all(open)
    }

    /// Whether a job may be in a list for a user. With a token of a limited scope, only jobs within the scope
    /// may: the texts of others tell what is searched outside of it.
    pub(crate) fn is_in_scope(&self, job: &Job, rights: &Rights) -> bool {
        !rights.is_scoped() || self.may_read_job(job, rights)
    }
}
