//! Role and control planes from `server.conf`, for flags that are not given.

use anyhow::Result;
use conf::{Layers, Type};

use crate::config::{Role, ServerOptions, manager};

conf::settings! {
    /// The place of a process in a cluster.
    #[derive(Debug)]
    pub(super) struct Clustering {
        "server"["clustering"] {
            /// Role of a process with `--cluster-address` and without `--role`: `manager` is the role
            /// control-plane, `peer` is indexer, `searchhead` is search-head, and `disabled` are all three.
            /// `master` and `slave` are the former names. Without `--cluster-address`, it has no effect.
            "mode" => mode: String = "disabled", Type::Choice(&MODES);
            /// Cluster addresses (HOST:PORT, separated by commas) of the control planes, for a process with
            /// `--cluster-address` and without `--manager-uri`. In Splunk, the port is that of the REST API.
            /// Default: none.
            "manager_uri" => managers: Option<String> = "", Type::Text;
        }
    }
}

const MODES: [&str; 6] = ["manager", "peer", "searchhead", "disabled", "master", "slave"];

impl Clustering {
    /// Completes the flags with the settings. Returns the settings that have an effect, for the log.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub(super) fn complete(options: &mut ServerOptions, layers: &Layers) -> Result<Option<String>> {
        // A single server may have the files of a Splunk server.
        if options.cluster_address.is_none() {
            return Ok(None);
        }
        let Self { mode, managers } = Self::read(layers)?;
        let mut taken = Vec::new();
        if options.roles.is_empty() {
            options.roles = match mode.as_str() {
                "manager" | "master" => vec![Role::ControlPlane],
                "peer" | "slave" => vec![Role::Indexer],
                "searchhead" => vec![Role::SearchHead],
                _ => Vec::new(),
            };
            if !options.roles.is_empty() {
                taken.push(format!("mode = {mode}"));
            }
        }
        if options.manager_uri.is_empty() {
            let texts = managers.iter().flat_map(|all| all.split(',')).map(str::trim);
            for text in texts.filter(|text| !text.is_empty()) {
                let known = manager(text).map_err(|error| {
                    anyhow::anyhow!("server.conf [clustering] manager_uri: \"{text}\" {error}")
                })?;
                options.manager_uri.push(known);
            }
            if !options.manager_uri.is_empty() {
                taken.push(format!("manager_uri = {}", options.manager_uri.join(", ")));
            }
        }
        Ok((!taken.is_empty()).then(|| taken.join(", ")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;
    use conf::Layer;

    use super::*;
    use crate::config::{Arguments, Command};

    /// The options of a process with these flags and this file, and the settings that are logged.
    fn start(flags: &[&str], file: &str) -> Result<(Box<ServerOptions>, Option<String>)> {
        let words = ["karst", "server"].iter().chain(flags);
        let Command::Server(mut options) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not the server")
        };
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", file);
        let taken = Clustering::complete(&mut options, &layers)?;
        Ok((options, taken))
    }

    /// The roles and managers of a process with these flags and this file.
    fn completed(flags: &[&str], file: &str) -> Result<(Vec<Role>, Vec<String>)> {
        let (options, _) = start(flags, file)?;
        Ok((options.roles, options.manager_uri))
    }

    const FILE: &str = "[clustering]\nmode = peer\nmanager_uri = https://a:9887, b:9887\n";
    const ADDRESS: [&str; 2] = ["--cluster-address", "127.0.0.1:9888"];

    #[test]
    fn roles_and_managers_of_the_file_count_where_no_flag_says_them() {
        let both = vec!["a:9887".to_owned(), "b:9887".to_owned()];
        assert_eq!(completed(&ADDRESS, FILE).unwrap(), (vec![Role::Indexer], both));
        let flags = [&ADDRESS[..], &["--role", "search-head", "--manager-uri", "c:9887"]].concat();
        let other = (vec![Role::SearchHead], vec!["c:9887".to_owned()]);
        assert_eq!(completed(&flags, FILE).unwrap(), other);
        let manager = completed(&ADDRESS, "[clustering]\nmode = master\n").unwrap();
        assert_eq!(manager, (vec![Role::ControlPlane], Vec::new()));
        assert_eq!(completed(&ADDRESS, "").unwrap(), (Vec::new(), Vec::new()));
    }

    #[test]
    fn settings_that_have_an_effect_are_logged() {
        let taken = |flags: &[&str], file: &str| start(flags, file).unwrap().1;
        let all = "mode = peer, manager_uri = a:9887, b:9887";
        assert_eq!(taken(&ADDRESS, FILE).as_deref(), Some(all));
        assert_eq!(taken(&ADDRESS, "[clustering]\nmode = disabled\n"), None);
        let flags = [&ADDRESS[..], &["--role", "search-head", "--manager-uri", "c:9887"]].concat();
        assert_eq!(taken(&flags, FILE), None);
        assert_eq!(taken(&[], FILE), None);
    }

    #[test]
    fn empty_words_of_manager_uri_are_skipped() {
        for (text, managers) in [("a:9887,,b:9887,", vec!["a:9887", "b:9887"]), ("", vec![])] {
            let file = format!("[clustering]\nmanager_uri = {text}\n");
            assert_eq!(completed(&ADDRESS, &file).unwrap().1, managers, "{text}");
        }
    }

    #[test]
    fn the_file_of_a_splunk_server_does_not_prevent_the_start_of_a_single_server() {
        let file = "[clustering]\nmode = searchhead\nmanager_uri = clustermanager:one\n";
        assert_eq!(completed(&[], file).unwrap(), (Vec::new(), Vec::new()));
        let error = completed(&ADDRESS, file).unwrap_err().to_string();
        assert!(error.contains("manager_uri: \"clustermanager:one\" is not HOST:PORT"), "{error}");
    }
}
