//! Non-HTTP inputs of `inputs.conf` and the command line, Karst's own log, and the HEC tokens of
//! `inputs.conf`.

use std::path::PathBuf;
use std::sync::Arc;

use ::inputs::configured::{
    Base, Bound, Configured, HttpToken, InputDependencies, Parts, RunningInputs, ServeForwarders,
};
use ::inputs::monitor::{MonitorSettings, MonitorStatus, MonitorTarget};
use ::inputs::tcp::{Framing, TcpInput};
use ::inputs::tls::Handshake;
use ::inputs::udp::UdpInput;
use ::inputs::{OwnDirectories, Sink};
use access::HecToken;
use anyhow::{Context, Result};
use conf::Layers;
use ingest::{IndexCatalog, Ingest};
use knowledge::Knowledge;
use model::IndexName;
use runtime::Shutdown;

use super::assemble::{Karst, host_name, store_url};
use super::logs;
use super::roles::Roles;
use crate::config::{ServerOptions, aws_variables};

/// The enabled inputs, validated as far as possible from the files alone.
///
/// # Errors
/// If something in them is invalid.
pub(crate) fn configured(options: &ServerOptions, layers: &Layers) -> Result<Configured> {
    let mut all = of_files(layers)?;
    add_syslog(options, &mut all)?;
    add_files(options, &host_name(), &mut all)?;
    Ok(all)
}

/// The enabled inputs of `inputs.conf`, validated in the same way.
///
/// # Errors
/// If something in them is invalid.
pub(crate) fn of_files(layers: &Layers) -> Result<Configured> {
    let of_app = |place: &conf::Place| layers.is_of_app(place);
    let conf = layers.effective("inputs");
    let read = Configured::read_tolerating(&conf, &host_name(), &of_app).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("inputs.conf is invalid:\n{}", errors.join("\n"))
    });
    let mut all = read?;
    all.monitor_settings = MonitorSettings::read(layers)?;
    Ok(all)
}

/// Returns the input of a process without the role indexer: its own log.
///
/// # Errors
/// If its path cannot be monitored.
pub(crate) fn own_log(options: &ServerOptions) -> Result<Configured> {
    let mut all = Configured::default();
    all.monitor.push(log_target(options)?);
    Ok(all)
}

/// The inputs as the API changes them while they run; they do not run yet.
///
/// # Errors
/// If a setting of the monitor is invalid.
pub(crate) fn running(
    options: &ServerOptions,
    layers: &Layers,
    ingest: &Arc<Ingest>,
    indexes: &Arc<IndexCatalog>,
    files: MonitorStatus,
) -> Result<RunningInputs> {
    let indexes = Arc::clone(indexes);
    let state = options.data.data_dir.join("inputs");
    let own = own_directories(options);
    Ok(RunningInputs::new(InputDependencies {
        host: host_name().into(),
        monitor: MonitorSettings::read(layers)?,
        parts: Parts { state, aws: aws_variables(), files, own },
        sink: Arc::clone(ingest) as Arc<dyn Sink>,
        check_index: Arc::new(move |index| {
            index.check_open().map_err(|error| error.to_string())?;
            // A disabled one may be enabled again.
            let known = indexes.get(index).is_some();
            known.then_some(()).ok_or_else(|| {
                format!("there is no index \"{index}\"; create it first at /services/data/indexes")
            })
        }),
    }))
}

/// Returns the directories that this server writes to: the data directory, its parts that may be on other
/// disks, and the object store if it is a directory.
pub(crate) fn written_directories(options: &ServerOptions) -> Vec<PathBuf> {
    let data = &options.data.data_dir;
    let parts = ["journal", "spool"].map(|name| data.join(name));
    let store = store_url(options);
    let store = match store.split_once("://") {
        None => Some(PathBuf::from(&store)),
        Some(("file", path)) => Some(PathBuf::from(path)),
        Some(_) => None,
    };
    let own = [data.clone()].into_iter().chain(parts).chain([cache_directory(options)]);
    own.chain(store).collect()
}

/// The directory of the cache.
pub(crate) fn cache_directory(options: &ServerOptions) -> PathBuf {
    options.cache_dir.as_ref().unwrap_or(&options.data.data_dir).join("cache")
}

/// Returns the directories of this server, and the credentials of the cluster, without the copies of
/// installed apps.
fn own_directories(options: &ServerOptions) -> OwnDirectories {
    let own = written_directories(options).into_iter().chain(options.cluster_dir.clone());
    // `$SPLUNK_HOME/etc/apps/<app>` of an installed app is its copy.
    OwnDirectories::new(own).except([options.data.data_dir.join("installed")])
}

/// Starts the inputs on their bound ports, with the settings of the files and the changes over REST.
///
/// # Errors
/// If an input that is not an app's has an unknown index, or if a token cannot be kept.
pub(crate) async fn start(
    (options, roles): (&ServerOptions, Roles),
    mut all: Configured,
    bound: Bound,
    karst: &Karst,
    (forwarders, tls): (ServeForwarders, Option<Handshake>),
    shutdown: &Shutdown,
) -> Result<()> {
    for (index, who) in all.indexes() {
        let open = index.check_open().with_context(|| format!("the index of {who}"));
        let usable = open.and_then(|()| {
            let known = karst.state.indexes.contains(&index);
            let place = all.index_of_system(&index);
            let place = place.map(|place| format!("{place}: ")).unwrap_or_default();
            anyhow::ensure!(
                known,
                "{place}there is no index \"{index}\" for {who}; add it to indexes.conf"
            );
            Ok(())
        });
        match (usable, all.index_of_apps(&index)) {
            (Ok(()), _) => {}
            (Err(error), Some(place)) => {
                tracing::warn!("{place}: {error:#} and restart; the app's input is ignored");
                all.leave_out(&index);
            }
            (Err(error), None) => return Err(error),
        }
    }
    for warning in &all.warnings {
        tracing::warn!("{warning}");
    }
    let host = host_name();
    // The inputs of files and apps are an indexer's.
    let in_force = || karst.state.apps.knowledge().conf("inputs");
    let conf = if roles.indexer { in_force() } else { Knowledge::builtin().conf("inputs") };
    // Mistakes in files have been logged; changes over REST were checked when they were made.
    let now = Configured::read_tolerating(&conf, &host, &|_| true).unwrap_or_default();
    for token in now.http {
        let known = token.indexes.iter().chain([&token.index]);
        if known.into_iter().all(|index| karst.state.indexes.contains(index)) {
            keep_token(karst, token).await?;
        }
    }
    let mut always = Configured::default();
    if roles.indexer {
        add_syslog(options, &mut always)?;
        add_files(options, &host, &mut always)?;
    } else {
        always.monitor.push(log_target(options)?);
    }
    let base = Base { always, forwarders, tls, shutdown: shutdown.clone() };
    for (what, listener) in karst.state.inputs.start(base, &conf, bound).await {
        println!("  {what:<11} {listener}");
    }
    // Another process may have changed an input meanwhile, or a request or another process may have disabled
    // an app: inputs that did not run yet were not changed with it.
    if roles.indexer && in_force() != conf {
        api::follow_inputs(&karst.state).await;
    }
    Ok(())
}

fn add_syslog(options: &ServerOptions, all: &mut Configured) -> Result<()> {
    let syslog = &options.syslog;
    let to = IndexName::new(&syslog.syslog_index)?;
    let input = |tls| TcpInput { tls, ..TcpInput::new(to.clone(), Framing::Syslog) };
    all.tcp.extend(syslog.syslog_tcp.iter().map(|address| (*address, input(false))));
    all.tcp.extend(syslog.syslog_tls.iter().map(|address| (*address, input(true))));
    for address in &syslog.syslog_udp {
        all.udp.push((*address, UdpInput::new(to.clone())));
    }
    Ok(())
}

fn add_files(options: &ServerOptions, host: &str, all: &mut Configured) -> Result<()> {
    let to = IndexName::new(&options.monitor_index)?;
    let target = |path: &str, index| {
        let made = MonitorTarget::new(path, index, host.into());
        made.map_err(|reason| anyhow::anyhow!("cannot follow {path}: {reason}"))
    };
    for path in &options.monitor {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        all.monitor.push(target(&path.to_string_lossy(), to.clone())?);
    }
    all.monitor.push(log_target(options)?);
    Ok(())
}

/// The server's own log.
fn log_target(options: &ServerOptions) -> Result<MonitorTarget> {
    let own = logs::directory(options).join("karst.log");
    let own = std::path::absolute(&own).unwrap_or(own);
    let own = own.to_string_lossy();
    let made = MonitorTarget::new(&own, IndexName::new("_internal")?, host_name().into());
    let mut made = made.map_err(|reason| anyhow::anyhow!("cannot follow {own}: {reason}"))?;
    made.sourcetype = Some("karst".into());
    made.of_program = true;
    Ok(made)
}

/// Creates or updates a token, unless it is unchanged.
async fn keep_token(karst: &Karst, token: HttpToken) -> Result<()> {
    let mut kept = HecToken::new(&token.name, &token.token, token.index);
    kept.indexes = token.indexes;
    kept.sourcetype = token.sourcetype;
    kept.source = token.source;
    kept.host = token.host;
    kept.disabled = token.disabled;
    kept.use_ack = token.use_ack;
    // Settings that the stanza does not have keep their values from REST.
    let known = karst.state.tokens.named(&token.name);
    kept.allow_query_string_auth = token
        .query_string_auth
        .unwrap_or_else(|| known.is_some_and(|known| known.allow_query_string_auth));
    let put = karst.state.tokens.put(kept).await;
    put.with_context(|| format!("cannot keep the token [http://{}]", token.name))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    #[test]
    fn the_credentials_of_the_cluster_are_left_out_and_installed_apps_are_not() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for directory in ["data/auth", "data/installed/1/apps/a", "cluster"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        let flags = [("--data-dir", "data"), ("--cluster-dir", "cluster")];
        let flags = flags.map(|(flag, name)| format!("{flag}={}", at(name).display()));
        let words = ["karst".to_owned(), "server".to_owned()].into_iter().chain(flags);
        let Command::Server(options) = Arguments::parse_from(words).command else {
            unreachable!("it is server")
        };
        let own = own_directories(&options);
        for name in ["data/auth", "cluster"] {
            assert!(own.holding(&at(name)).is_some(), "{name}");
        }
        assert_eq!(own.holding(&at("data/installed/1/apps/a")), None);
    }
}
