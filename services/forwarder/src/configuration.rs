//! The configuration of a forwarder: a directory of `.conf` layers, in which apps from the deployment
//! server replace apps of the same name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use conf::{Layers, Warning};
use inputs::configured::Configured;
use knowledge::Knowledge;

use crate::agent;
use crate::deployment_client::settings::ClientSettings;
use crate::settings::registry;

/// Files in which an error keeps an app from being installed. Other files (saved searches, views) have no
/// effect on a forwarder, and errors of add-ons in `props.conf` are tolerated everywhere.
const STRICT: [&str; 4] = ["inputs", "outputs", "deploymentclient", "server"];

/// The directories with `apps/<app>`, by app.
pub(crate) type Directories = BTreeMap<String, PathBuf>;

fn layers(directory: &Path, deployed: &Directories) -> Result<Layers> {
    Ok(Layers::read(directory)?.with_apps(deployed, |_| true)?.without_disabled())
}

/// Reads the configuration, and logs warnings about it.
///
/// # Errors
/// If the configuration is invalid.
pub(crate) fn read(directory: &Path, deployed: &Directories) -> Result<Knowledge> {
    let mut layers = layers(directory, deployed)?;
    let ignored = registry().tolerate_apps(&mut layers);
    let knowledge = Knowledge::new(layers);
    refuse_errors(&knowledge)?;
    let unknown = registry().warnings(knowledge.layers());
    for warning in ignored.iter().chain(&unknown).chain(knowledge.warnings()) {
        tracing::warn!("{warning}");
    }
    for error in knowledge.app_errors() {
        tracing::warn!("{error}; the setting is ignored");
    }
    Ok(knowledge)
}

fn refuse_errors(knowledge: &Knowledge) -> Result<()> {
    let errors: Vec<String> = knowledge.fatal_errors().map(ToString::to_string).collect();
    anyhow::ensure!(errors.is_empty(), "the configuration is invalid:\n{}", errors.join("\n"));
    Ok(())
}

/// Whether a configuration has no outputs: the forwarder waits for its first apps.
pub(crate) fn is_idle(knowledge: &Knowledge) -> bool {
    let conf = knowledge.conf("outputs");
    !conf.stanzas.iter().any(|stanza| stanza.name.starts_with("tcpout:"))
}

/// Checks that a forwarder could run with a configuration, and would still ask its deployment server.
///
/// # Errors
/// The reason if it could not.
pub(crate) fn check(directory: &Path, deployed: &Directories, host: &str) -> Result<()> {
    let mut layers = layers(directory, deployed)?;
    // Tolerated errors are logged when the configuration is actually used.
    drop(registry().tolerate_apps(&mut layers));
    let knowledge = Knowledge::new(layers);
    refuse_errors(&knowledge)?;
    let client = ClientSettings::read(knowledge.layers())?;
    let asks = client.is_some_and(|client| client.key.is_some());
    anyhow::ensure!(
        asks,
        "the forwarder would lose its deployment server: keep targetUri in deploymentclient.conf, and the key"
    );
    if !is_idle(&knowledge) {
        agent::check(&knowledge, host)?;
    }
    Ok(())
}

/// The errors in an app of a directory that has `apps/<app>`: text that is not a setting, values of the
/// wrong type, invalid inputs.
///
/// # Errors
/// If the files cannot be read.
pub(crate) fn mistakes(directory: &Path, app: &str, host: &str) -> Result<Vec<String>> {
    let mut layers = Layers::read_app(directory, app)?;
    let folder = directory.join("apps").join(app);
    // Built-in files have names, too. The directory is relative if --data-dir is.
    let of_app = |warning: &Warning| {
        let file = Path::new(&*warning.place.file);
        let name = file.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        file.starts_with(&folder) && STRICT.contains(&name)
    };
    let shown = |warning: &Warning| shorter(&warning.to_string(), directory, app);
    let syntax = layers.warnings();
    let mut mistakes: Vec<String> = syntax.iter().filter(|one| of_app(one)).map(shown).collect();
    let values = registry().tolerate_apps(&mut layers);
    // Errors reported before are removed, as are comments after values.
    let inputs = layers.effective("inputs");
    let left_out = |one: &&Warning| of_app(one) && one.text.starts_with(conf::LEFT_OUT);
    mistakes.extend(values.iter().filter(left_out).map(shown));
    if mistakes.is_empty()
        && let Err(errors) = Configured::read(&inputs, host)
    {
        let errors = errors.iter().map(|error| shorter(&error.to_string(), directory, app));
        mistakes.extend(errors);
    }
    Ok(mistakes)
}

/// Removes the path before an app's files from a text, because the app is sufficient for the reader.
fn shorter(text: &str, directory: &Path, app: &str) -> String {
    let folder = format!("{}/", directory.join("apps").join(app).display());
    text.replace(&folder, "")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    struct Place(tempfile::TempDir);

    impl Place {
        fn new(files: &[(&str, &str)]) -> Self {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in files {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }

        fn mistakes(&self, app: &str) -> Vec<String> {
            mistakes(self.0.path(), app, "host").unwrap()
        }
    }

    const CLIENT: (&str, &str) = (
        "conf/system/local/deploymentclient.conf",
        "[target-broker:deploymentServer]\ntargetUri = ds:8089\n",
    );
    const KEY: (&str, &str) = ("conf/system/local/server.conf", "[deployment]\npass4SymmKey = x\n");

    #[test]
    fn mistakes_of_an_app_are_named_with_file_and_line() {
        for (file, text, part) in [
            ("inputs", "[monitor:///x]\nindex", "default/inputs.conf:2: expected \"key = value\""),
            ("inputs", "[monitor:///x\nindex = a", "has no closing bracket"),
            ("outputs", "[tcpout:a]\nautoLBFrequency = often", "default/outputs.conf:2: "),
            ("inputs", "[script://x]\ninterval = soon\n", "default/inputs.conf:2"),
            ("inputs", "[monitor:///x]\nwhitelist = (\n", "default/inputs.conf"),
        ] {
            let path = format!("apps/a/default/{file}.conf");
            let said = Place::new(&[(&path, text)]).mistakes("a");
            assert!(said.join("\n").contains(part), "{text}: {said:?}");
        }
    }

    #[test]
    fn mistakes_are_found_in_a_relative_directory() {
        let text = "[monitor:///x]\ngarbage text here\n";
        let place = Place::new(&[("apps/a/default/inputs.conf", text)]);
        let here = std::env::current_dir().unwrap();
        let mut relative: PathBuf = here.components().skip(1).map(|_| "..").collect();
        relative.push(place.0.path().strip_prefix("/").unwrap());
        let said = mistakes(&relative, "a", "host").unwrap().join("\n");
        assert!(said.starts_with("default/inputs.conf:2: expected \"key = value\""), "{said}");
    }

    #[test]
    fn what_a_forwarder_does_not_read_is_no_mistake() {
        let place = Place::new(&[
            ("apps/a/default/savedsearches.conf", "[x\ny"),
            ("apps/a/default/props.conf", "[x]\nTRUNCATE = many\nFUTURE = 1\n"),
            ("apps/a/default/inputs.conf", "[monitor:///x]\nunknown = 1\ndisabled = 0 # no\n"),
        ]);
        assert_eq!(place.mistakes("a"), [""; 0]);
    }

    #[test]
    fn a_configuration_holds_or_waits_for_outputs() {
        let outputs = "[tcpout]\ndefaultGroup = g\n[tcpout:g]\nserver = h:1\n";
        let inputs = ("apps/apps/a/default/inputs.conf", "[monitor:///x]\n");
        let place = Place::new(&[CLIENT, KEY, inputs, ("out/apps/o/local/outputs.conf", outputs)]);
        let at = |folder: &str| place.0.path().join(folder);
        let a = ("a".to_owned(), at("apps"));
        let both = Directories::from([a.clone(), ("o".to_owned(), at("out"))]);
        check(&at("conf"), &Directories::from([a]), "host").unwrap();
        check(&at("conf"), &both, "host").unwrap();
        assert!(!is_idle(&read(&at("conf"), &both).unwrap()));
        assert!(is_idle(&read(&at("conf"), &Directories::new()).unwrap()));
        fs::write(at("out/apps/o/local/outputs.conf"), "[tcpout:g]\nserver = h\n").unwrap();
        let error = check(&at("conf"), &both, "host").unwrap_err().to_string();
        assert!(error.contains("expected host:port"), "{error}");
    }

    #[test]
    fn a_deployed_app_stands_in_place_of_one_of_the_directory() {
        let place = Place::new(&[
            CLIENT,
            ("conf/apps/a/local/inputs.conf", "[monitor:///old]\n"),
            ("new/apps/a/default/inputs.conf", "[monitor:///new]\n"),
        ]);
        let deployed = Directories::from([("a".to_owned(), place.0.path().join("new"))]);
        let knowledge = read(&place.0.path().join("conf"), &deployed).unwrap();
        let conf = knowledge.conf("inputs");
        assert!(conf.stanza("monitor:///new").is_some() && conf.stanza("monitor:///old").is_none());
    }

    #[test]
    fn a_configuration_without_deployment_server_or_key_is_refused() {
        let place = Place::new(&[KEY, CLIENT, ("off/apps/a/default/x.conf", "")]);
        let conf = place.0.path().join("conf");
        check(&conf, &Directories::new(), "host").unwrap();
        fs::remove_file(conf.join("system/local/server.conf")).unwrap();
        let error = check(&conf, &Directories::new(), "host").unwrap_err().to_string();
        assert!(error.contains("lose its deployment server"), "{error}");
    }
}
