//! Apps that are installed at run time: notifies the components that depend on apps when the apps in force
//! change.
//!
//! Guarantees: when an installation is answered, this process uses the app; the other processes of the
//! cluster do a moment later. A failed copy is retried, and administrators are notified. Inputs that another
//! process changes end before the index-time rules that change with them, and begin after them.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ::inputs::configured::PAUSE;
use access::{Console, Permissions};
use api::{ApiState, AppReports, FollowedInputs, Messages};
use apps::{AppSearch, Applied, Apps, FileRules, Installed, Package, SearchCheck, Target};
use catalog::{Catalog, Followed};
use conf::{Layers, Warning};
use futures::future::BoxFuture;
use ingest::{IndexCatalog, Ingest};
use knowledge::Knowledge;
use parking_lot::Mutex;
use runtime::Clock;
use runtime::health::{self, Severity};
use tokio::sync::Notify;

use super::setup::Setup;
use super::{app_mistakes, bundle_warnings, inputs};
use crate::app_searches;
use crate::mistakes::{self, Mistake, Weight};

/// Time after which a failed copy is retried.
const RETRY: Duration = Duration::from_secs(5);
/// The document kind of installed apps.
const KIND: &str = "installed_app";

/// Removes invalid settings of apps.
pub(super) fn tolerate(layers: &mut Layers) -> Vec<Warning> {
    crate::settings::registry().tolerate_apps(layers)
}

/// The components that depend on the files of apps, and the mistakes in them.
#[derive(Debug)]
pub(super) struct Consumers {
    pub(super) ingest: Arc<Ingest>,
    pub(super) indexes: Arc<IndexCatalog>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) messages: Arc<Messages>,
    pub(super) clock: Arc<dyn Clock>,
    /// The configuration directory, and the address of the console, which its files may refer to.
    pub(super) files: (Option<PathBuf>, Console),
    pub(super) announced: Mutex<AnnouncedMistakes>,
}

/// The messages that administrators have received.
#[derive(Debug, Default)]
pub(super) struct AnnouncedMistakes {
    mistakes: Vec<Mistake>,
    /// The names of the messages.
    messages: Vec<String>,
    is_started: bool,
}

impl Consumers {
    /// Creates messages about mistakes in apps. This takes some time if there are many.
    pub(super) fn tell(&self, rules: &Knowledge, ignored: &[Warning]) {
        let mut mistakes = mistakes::ignored(rules, ignored);
        mistakes.extend(app_mistakes::inputs_without_index(&self.indexes, rules));
        let created = self.clock.now().0 / 1_000_000;
        let mut announced = self.announced.lock();
        let messages = app_mistakes::leave(&self.messages, mistakes.clone(), created);
        for name in announced.messages.iter().filter(|name| !messages.contains(name)) {
            self.messages.remove(name);
        }
        // Mistakes at the start are in the log of the start.
        if announced.is_started {
            for mistake in mistakes.iter().filter(|mistake| !announced.mistakes.contains(mistake)) {
                match mistake.weight {
                    Weight::Ignored => tracing::warn!("{}; this is ignored", mistake.text),
                    Weight::Error | Weight::Note => tracing::info!("{}", mistake.text),
                }
            }
        }
        *announced = AnnouncedMistakes { mistakes, messages, is_started: true };
    }

    /// The mistakes of a weight in an app.
    fn announced_of(&self, app: &str, weight: Weight) -> Vec<String> {
        let announced = self.announced.lock();
        let of_app =
            announced.mistakes.iter().filter(|mistake| mistake.app.as_deref() == Some(app));
        let of_app = of_app.filter(|mistake| mistake.weight == weight);
        of_app.map(|mistake| mistake.text.clone()).collect()
    }
}

/// Tells the consumers.
#[derive(Debug)]
pub(super) struct Teller(pub(super) Arc<Consumers>);

impl Applied for Teller {
    fn apply<'a>(&'a self, rules: &'a Arc<Knowledge>, ignored: &'a [Warning]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Self(consumers) = self;
            consumers.permissions.set_metadata(rules.layers().access());
            consumers.indexes.configure(rules, &consumers.ingest);
            // Only if ingestion has ended.
            if let Err(error) = consumers.ingest.set_rules(rules).await {
                tracing::warn!(%error, "events are still parsed with the previous rules");
            }
            let (own, rules, ignored) =
                (Arc::clone(consumers), Arc::clone(rules), ignored.to_vec());
            // The mistakes are found in all rules, with much memory that is released when the thread ends.
            let tell = move || runtime::on_own_thread("karst-apps", || own.tell(&rules, &ignored));
            let announced = tokio::task::spawn_blocking(tell).await;
            if let Err(error) = announced.map_err(io::Error::other).flatten() {
                tracing::error!(%error, "cannot report mistakes in apps");
            }
        })
    }
}

impl AppReports for Consumers {
    fn report(&self, package: &Package) -> Installed {
        apps::report(package, Target::Server, &crate::settings::registry())
    }

    fn searches(&self, package: &Package) -> Vec<AppSearch> {
        let files = package.files.iter();
        app_searches::of_files(files.map(|file| (file.path.as_path(), file.bytes.as_slice())))
    }

    fn check_searches(
        &self,
        searches: &[AppSearch],
        seen: &Knowledge,
        all: &Knowledge,
    ) -> SearchCheck {
        app_searches::check(searches, seen, all.layers())
    }

    fn mistakes(&self, rules: &Knowledge, ignored: &[Warning]) -> Vec<(Option<String>, String)> {
        let found = mistakes::ignored(rules, ignored).into_iter();
        let found = found.filter(|mistake| mistake.weight == Weight::Ignored);
        found.map(|mistake| (mistake.app, mistake.text)).collect()
    }

    fn warnings(&self, rules: &Knowledge, apps: &BTreeSet<&str>) -> Vec<String> {
        bundle_warnings::of(rules, apps)
    }

    fn ignored(&self, app: &str) -> Vec<String> {
        self.announced_of(app, Weight::Ignored)
    }

    fn notes(&self, app: &str) -> Vec<String> {
        self.announced_of(app, Weight::Note)
    }

    fn read(&self) -> Result<FileRules, String> {
        let (conf_dir, console) = &self.files;
        let read = || {
            let setup = Setup::of_files(conf_dir.as_deref(), console)?;
            inputs::of_files(&setup.layers)?;
            anyhow::Ok(FileRules { rules: setup.knowledge, ignored: setup.ignored.into() })
        };
        read().map_err(|error| format!("{error:#}"))
    }
}

/// Follows the installations by other processes.
#[derive(Debug, Default)]
pub(super) struct Follower(Notify);

impl Followed for Follower {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn reload(&self) -> Result<(), String> {
        self.again();
        Ok(())
    }
}

/// Tells the other processes by which apps this one works.
#[derive(Debug)]
pub(super) struct Telling {
    pub(super) catalog: Catalog,
    /// This process.
    pub(super) id: String,
}

impl Telling {
    async fn tell(&self, apps: &Apps, announced: &mut Option<String>) {
        let now = apps.checksum();
        let Some(checksum) = now.filter(|now| announced.as_ref() != Some(now)) else { return };
        match peers::note_bundle(&self.catalog, &self.id, &checksum).await {
            Ok(()) => *announced = Some(checksum),
            // It is retried with the next change.
            Err(error) => tracing::warn!(%error, "cannot say by which apps this process works"),
        }
    }
}

impl Follower {
    /// Looks again.
    pub(super) fn again(&self) {
        self.0.notify_one();
    }

    /// Applies installed apps and shared objects, and follows inputs, when other processes change them, and
    /// again after a failure, until shutdown.
    pub(super) async fn run(self: Arc<Self>, state: ApiState, telling: Option<Telling>) {
        let (apps, conditions) = (&state.apps, &state.health);
        let mut disabled = apps.disabled();
        let mut is_behind = false;
        let mut announced = None;
        // Inputs that were changed between the reading of the settings and their start are seen at first.
        let mut followed = FollowedInputs::default();
        let mut not_running = state.inputs.not_running();
        loop {
            if let Some(telling) = &telling {
                telling.tell(apps, &mut announced).await;
            }
            not_running.mark_unchanged();
            tokio::select! {
                () = state.shutdown.stopped() => return,
                () = self.0.notified() => {}
                () = apps.changed() => {}
                () = tokio::time::sleep(RETRY), if is_behind => {}
                () = tokio::time::sleep(PAUSE), if followed.is_behind(&state) => {}
                // A request to this process left inputs that cannot run yet.
                Ok(()) = not_running.changed() => {}
            }
            // Before inputs end: what is removed while files are copied would be in force without its rules.
            apps.copy_installed().await;
            // Inputs end before the index-time rules of their app do, and begin after them.
            followed.end(&state).await;
            let now = apps.disabled();
            let ends = !now.is_subset(&disabled);
            let ending = if ends {
                Some(api::end_inputs_of(&state, disabled.union(&now).cloned().collect()).await)
            } else {
                None
            };
            let applied = apps.apply_installed().await;
            drop(ending);
            disabled = apps.disabled();
            followed.catch_up(&state).await;
            match applied {
                Ok(()) => {
                    conditions.clear(health::APPS_NOT_COPIED);
                    is_behind = false;
                }
                Err(error) => {
                    let text = format!(
                        "an installed app cannot be copied to this process, which works without it or by its \
                         version before: {error}; it is tried again every {} s",
                        RETRY.as_secs()
                    );
                    conditions.set(health::APPS_NOT_COPIED, Severity::Warning, text);
                    is_behind = true;
                }
            }
        }
    }
}
