//! Reading the configuration directory again while the server runs.
//!
//! Guarantees: after a reload, all files as they were read are in force, or, if it fails, the rules from
//! before. Concurrent reloads and installations run one after the other. A component that has ended, because
//! the process stops, keeps the rules from before. Leaves to others: how files are read and which mistakes
//! refuse a reload, which the caller defines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conf::{Entry, Stanza};
use knowledge::Knowledge;

use super::{Apps, FileRules, Files, State};
use crate::Error;
use crate::blocking::blocking_apart;
use crate::install::{conf_of, counts_installed};
use crate::objects::with_objects;

/// The file with inputs, which are changed while they run.
const INPUTS: &str = "inputs";
/// The error message of a process of a cluster.
const IN_CLUSTER: &str = "nothing is reloaded: all processes of a cluster have to work by the same files. \
    To change apps in all of them without a restart, use `karst cluster bundle apply DIR` or \
    `karst app install --update APP`. After a change in the configuration directories (--conf-dir), \
    distribute the files to all machines and restart the processes (`karst cluster rolling-restart` \
    restarts the indexers)";

/// The result of reading the files again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    /// The configuration directory.
    pub directory: PathBuf,
    /// The files that have changed since they were read before, by their paths below the directory.
    pub changed: BTreeSet<String>,
    /// Lines of the changed files that are oddly written or have no effect, each with file and line.
    pub warnings: Vec<String>,
    /// The files whose HTTP inputs have changed: tokens are read at the start.
    pub http_inputs: BTreeSet<String>,
}

impl Reloaded {
    /// Returns the changed files with settings that take effect at the next start only.
    pub fn restart_required(&self) -> impl Iterator<Item = &str> {
        let is_required = move |file: &&str| match conf_of(Path::new(file)) {
            Some(INPUTS) => self.http_inputs.contains(*file),
            Some(name) => !counts_installed(name),
            None => false,
        };
        self.changed.iter().map(String::as_str).filter(is_required)
    }
}

impl Apps {
    /// Reads the configuration directory again with `read`, and returns when the changes are in force in this
    /// process; `None` if there is no such directory. `check` gets the rules from before and the new ones,
    /// both with installed apps, and may refuse the new ones. If apps end then, because the files disable or
    /// remove them, `end` gets their names while their rules are in force; its result is dropped when the
    /// new rules are.
    ///
    /// # Errors
    /// [`Error::NotReloadable`] in a cluster. The errors of `read` and `check`.
    pub async fn reload<H: Send, E: Future<Output = H> + Send>(
        &self,
        read: impl FnOnce() -> Result<FileRules, Error> + Send + 'static,
        end: impl FnOnce(BTreeSet<String>) -> E + Send,
        check: impl FnOnce(&FileRules, &FileRules) -> Result<(), Error> + Send + 'static,
    ) -> Result<Option<Reloaded>, Error> {
        if self.inner.shared {
            return Err(Error::NotReloadable(IN_CLUSTER.to_owned()));
        }
        let Some(directory) = self.directory().map(Path::to_owned) else { return Ok(None) };
        let _reloading = self.inner.reloading.lock().await;
        let own = self.clone();
        let (base, files, ending) = blocking_apart(move || {
            let base = read()?;
            let files = own.files_of(&base)?;
            let in_force = FileRules { rules: own.rules(), ignored: own.ignored() };
            let (rules, ignored) = (Arc::clone(&files.rules), Arc::clone(&files.ignored));
            check(&in_force, &FileRules { rules, ignored })?;
            let ending = own.ending(&base);
            Ok((base, files, ending))
        })
        .await?;
        // Not while the rules are locked: changes of inputs wait for them.
        let _ended = if ending.is_empty() { None } else { Some(end(ending).await) };
        let mut in_force = self.inner.in_force.lock().await;
        let own = self.clone();
        let reloaded = blocking_apart(move || own.replace_base(directory, base, files)).await?;
        self.put_in_force(&mut in_force).await;
        Ok(Some(reloaded))
    }

    /// New files of the configuration directory, with the apps that are installed now.
    fn files_of(&self, base: &FileRules) -> Result<Arc<Files>, Error> {
        let installed = self.inner.state.read().files.installed.clone();
        Files::new(base, self.directory(), installed, self.inner.tolerate)
    }

    /// The enabled apps of the configuration directory that are disabled or missing in its new files.
    fn ending(&self, new: &FileRules) -> BTreeSet<String> {
        let objects = Arc::clone(&self.inner.state.read().objects);
        let there = new.rules.layers().apps();
        let layers = with_objects(new.rules.layers(), objects.values()).without_disabled();
        let mut ending = self.base().rules.layers().apps();
        ending.retain(|app| layers.disabled().contains(app) || !there.contains(app));
        &ending - &self.disabled()
    }

    fn replace_base(
        &self,
        directory: PathBuf,
        base: FileRules,
        checked: Arc<Files>,
    ) -> Result<Reloaded, Error> {
        let former = Arc::clone(&self.inner.state.read().files);
        // An app may have been installed since the check: the files are in force with it unchecked then.
        let is_current = checked.installed == former.installed;
        let files = if is_current { checked } else { self.files_of(&base)? };
        let changed = differing(&base, &self.base());
        let http_inputs = with_http_inputs(&base.rules, &self.base().rules);
        let warnings = base.rules.warnings().iter();
        let warnings = warnings.filter(|warning| changed.contains(&*warning.place.file));
        let reloaded = Reloaded {
            warnings: warnings.map(ToString::to_string).collect(),
            changed: changed
                .iter()
                .map(|file| below(&directory, file))
                .chain(files.pages.changed(&former.pages))
                .collect(),
            http_inputs: http_inputs.iter().map(|file| below(&directory, file)).collect(),
            directory,
        };
        if !reloaded.changed.is_empty() {
            {
                let mut state = self.inner.state.write();
                *self.inner.base.write() = base;
                *state = State::new(files, Arc::clone(&state.objects));
            }
            self.inner.views.forget();
        }
        Ok(reloaded)
    }
}

/// The names of the files that differ, or whose ignored settings do.
fn differing(new: &FileRules, old: &FileRules) -> BTreeSet<String> {
    let mut changed = new.rules.layers().changed_files(old.rules.layers());
    for (these, others) in [(new, old), (old, new)] {
        let other = these.ignored.iter().filter(|one| !others.ignored.contains(*one));
        changed.extend(other.map(|one| one.place.file.to_string()));
    }
    changed
}

/// The names of the files whose settings of HTTP inputs differ.
fn with_http_inputs(new: &Knowledge, old: &Knowledge) -> BTreeSet<Arc<str>> {
    let settings = |rules: &Knowledge| -> BTreeSet<(Arc<str>, String, String, String)> {
        let stanzas = rules.conf(INPUTS).stanzas.into_iter();
        let of_http = stanzas.filter(|one| one.name == "http" || one.name.starts_with("http://"));
        of_http
            .flat_map(|Stanza { name, entries, .. }| {
                let setting =
                    move |entry: Entry| (entry.place.file, name.clone(), entry.key, entry.value);
                entries.into_iter().map(setting)
            })
            .collect()
    };
    let (new, old) = (settings(new), settings(old));
    new.symmetric_difference(&old).map(|(file, ..)| Arc::clone(file)).collect()
}

/// The path of a file below a directory.
fn below(directory: &Path, file: &str) -> String {
    let below = Path::new(file).strip_prefix(directory);
    below.map_or_else(|_| file.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use catalog::Catalog;
    use conf::Layers;
    use object_store::ObjectStore;
    use object_store::memory::InMemory;

    use super::*;
    use crate::{NOBODY, Namespace, Parts};

    const PROPS: &str = "apps/doors/local/props.conf";

    fn read(directory: &Path) -> Result<FileRules, Error> {
        let rules = Arc::new(Knowledge::new(Layers::read(directory)?));
        Ok(FileRules { rules, ignored: Arc::default() })
    }

    async fn open(directory: Option<&Path>, shared: bool) -> Apps {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let (clock, settings) = (Arc::new(runtime::SystemClock), catalog::Settings::default());
        let catalog = Catalog::open(Arc::clone(&store), "catalog", settings, clock).await.unwrap();
        let knowledge = match directory {
            Some(directory) => read(directory).unwrap().rules,
            None => Arc::new(Knowledge::builtin()),
        };
        Apps::open(Parts {
            catalog,
            store,
            knowledge,
            ignored: Vec::new(),
            directory: directory.map(ToOwned::to_owned),
            shared,
            installed: None,
            tolerate: |_| Vec::new(),
        })
        .unwrap()
    }

    fn write(directory: &Path, file: &str, text: &str) {
        let path = directory.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn reload(apps: &Apps, directory: &Path) -> Result<Option<Reloaded>, Error> {
        let directory = directory.to_owned();
        let check = |_: &FileRules, new: &FileRules| match new.rules.errors().first() {
            Some(error) => Err(Error::Invalid(error.to_string())),
            None => Ok(()),
        };
        apps.reload(move || read(&directory), |_| std::future::ready(()), check).await
    }

    #[tokio::test]
    async fn changed_files_are_in_force_and_named_and_invalid_ones_are_not() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path();
        write(directory, PROPS, "[st]\nTRUNCATE = 7\n");
        let apps = open(Some(directory), false).await;
        let shared = Namespace::new(NOBODY, "doors");
        let stored = vec![("TRUNCATE".to_owned(), "5".to_owned())];
        apps.create("props", "made", &shared, stored).await.unwrap();
        let truncate = |name| apps.rules().parsing_rules(name, "", "").truncate;
        let changed = |reloaded: &Reloaded| reloaded.changed.iter().cloned().collect::<Vec<_>>();
        let none = reload(&apps, directory).await.unwrap().unwrap();
        assert_eq!((changed(&none).len(), truncate("st")), (0, Some(7)));
        write(directory, PROPS, "[st]\nTRUNCATE = 9\nnonsense\n");
        write(directory, "apps/doors/local/data/ui/views/all.xml", "<dashboard/>");
        write(directory, "apps/new/default/macros.conf", "[m]\ndefinition = x\n");
        write(directory, "system/local/server.conf", "[general]\nserverName = x\n");
        let reloaded = reload(&apps, directory).await.unwrap().unwrap();
        let expected = [
            "apps/doors/data/ui/views/all.xml",
            PROPS,
            "apps/new",
            "apps/new/default/macros.conf",
            "system/local/server.conf",
        ];
        assert_eq!(changed(&reloaded), expected);
        let restart: Vec<&str> = reloaded.restart_required().collect();
        assert_eq!(restart, ["system/local/server.conf"]);
        assert!(reloaded.warnings.iter().any(|text| text.contains("props.conf:3")), "{reloaded:?}");
        assert_eq!((truncate("st"), truncate("made")), (Some(9), Some(5)));
        let inputs = "apps/new/local/inputs.conf";
        let token = "[http://t]\ntoken = secret\n";
        write(directory, inputs, token);
        let reloaded = reload(&apps, directory).await.unwrap().unwrap();
        assert_eq!(reloaded.restart_required().collect::<Vec<_>>(), [inputs]);
        write(directory, inputs, &format!("[tcp://1]\nindex = main\n{token}"));
        let reloaded = reload(&apps, directory).await.unwrap().unwrap();
        assert_eq!(changed(&reloaded), [inputs]);
        assert_eq!(reloaded.restart_required().count(), 0);
        fs::remove_dir_all(directory.join("apps/new/local")).unwrap();
        reload(&apps, directory).await.unwrap();
        let own = apps.view(&Namespace::new("ann", "new"));
        assert!(own.conf("macros").stanza("m").is_some());
        assert!(apps.get("views", "all", &shared).is_ok());
        write(directory, PROPS, "[st]\nTRUNCATE = 11\nEXTRACT-a = (?<a\n");
        let refused = reload(&apps, directory).await.unwrap_err().to_string();
        assert!(refused.contains("props.conf:3: "), "{refused}");
        assert_eq!(truncate("st"), Some(9));
        fs::remove_dir_all(directory.join("apps/new")).unwrap();
        write(directory, PROPS, "[st]\nTRUNCATE = 9\nnonsense\n");
        let removed = reload(&apps, directory).await.unwrap().unwrap();
        assert_eq!(changed(&removed), ["apps/new", "apps/new/default/macros.conf"]);
        assert!(apps.knowledge().conf("macros").stanza("m").is_none());
    }

    #[tokio::test]
    async fn apps_that_the_files_disable_or_remove_are_named_before_their_rules_end() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path();
        for app in ["doors", "lifts", "gates"] {
            let rule = format!("[{app}]\nTRUNCATE = 7\n");
            write(directory, &format!("apps/{app}/local/props.conf"), &rule);
        }
        let apps = open(Some(directory), false).await;
        write(directory, "apps/doors/local/app.conf", "[install]\nstate = disabled\n");
        fs::remove_dir_all(directory.join("apps/lifts")).unwrap();
        let in_force = |name: &str| apps.rules().parsing_rules(name, "", "").truncate == Some(7);
        let (mut ended, from) = (Vec::new(), directory.to_owned());
        let end = |apps: BTreeSet<String>| {
            ended = apps.into_iter().map(|app| (in_force(&app), app)).collect();
            std::future::ready(())
        };
        let refused = |_: &FileRules, _: &FileRules| Err(Error::Invalid("a mistake".to_owned()));
        let again = from.clone();
        let none = |apps: BTreeSet<String>| {
            assert!(apps.is_empty(), "{apps:?}");
            std::future::ready(())
        };
        apps.reload(move || read(&again), none, refused).await.unwrap_err();
        let read = move || {
            // The allocator releases the memory of rules that are read on a thread that ends.
            assert_eq!(std::thread::current().name(), Some("karst-apps"));
            read(&from)
        };
        apps.reload(read, end, |_, _| Ok(())).await.unwrap();
        assert_eq!(ended, [(true, "doors".to_owned()), (true, "lifts".to_owned())]);
        assert_eq!(["doors", "lifts", "gates"].map(in_force), [false, false, true]);
    }

    #[tokio::test]
    async fn without_a_directory_nothing_is_read_and_in_a_cluster_the_error_names_the_command() {
        let root = tempfile::tempdir().unwrap();
        let apps = open(None, false).await;
        assert_eq!(reload(&apps, root.path()).await.unwrap(), None);
        for directory in [None, Some(root.path())] {
            let apps = open(directory, true).await;
            let refused = reload(&apps, root.path()).await.unwrap_err();
            assert_eq!(refused.kind(), model::ErrorKind::Conflict);
            assert!(refused.to_string().contains("karst cluster bundle apply"), "{refused}");
        }
    }
}
