//! What `server.conf` says of the place of this process in a cluster, where no flag does.

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
    /// Completes the flags with the settings.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub(super) fn complete(options: &mut ServerOptions, layers: &Layers) -> Result<()> {
        // A single server may have the files of a Splunk server.
        if options.cluster_address.is_none() {
            return Ok(());
        }
        let Self { mode, managers } = Self::read(layers)?;
        if options.roles.is_empty() {
            options.roles = match mode.as_str() {
                "manager" | "master" => vec![Role::ControlPlane],
                "peer" | "slave" => vec![Role::Indexer],
                "searchhead" => vec![Role::SearchHead],
                _ => Vec::new(),
            };
        }
        if options.manager_uri.is_empty() {
            for text in managers.iter().flat_map(|all| all.split(',')).map(str::trim) {
                let known = manager(text).map_err(|error| {
                    anyhow::anyhow!("server.conf [clustering] manager_uri: \"{text}\" {error}")
                })?;
                options.manager_uri.push(known);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;
    use conf::Layer;

    use super::*;
    use crate::config::{Arguments, Command};

    /// The roles and managers of a process with these flags and this file.
    fn completed(flags: &[&str], file: &str) -> Result<(Vec<Role>, Vec<String>)> {
        let words = ["karst", "server"].iter().chain(flags);
        let Command::Server(mut options) = Arguments::try_parse_from(words).unwrap().command else {
            panic!("not the server")
        };
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", file);
        Clustering::complete(&mut options, &layers)?;
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
    fn the_file_of_a_splunk_server_does_not_prevent_the_start_of_a_single_server() {
        let file = "[clustering]\nmode = searchhead\nmanager_uri = clustermanager:one\n";
        assert_eq!(completed(&[], file).unwrap(), (Vec::new(), Vec::new()));
        let error = completed(&ADDRESS, file).unwrap_err().to_string();
        assert!(error.contains("manager_uri: \"clustermanager:one\" is not HOST:PORT"), "{error}");
    }
}
