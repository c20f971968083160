//! The deployment server of this process: it starts with the settings in the files, and reads them again when
//! they have changed.
//!
//! Every process of a cluster can be a deployment server; forwarders get apps according to the configuration
//! directory of the process that they ask, and this process lists them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use conf::Layers;
use deployment::{DeploymentServer, Error, IndexerDiscovery, Parts};
use runtime::{Clock, Shutdown};

use super::assemble::host_name;
use crate::config::ServerOptions;

/// Interval of checking whether a server that does not watch its files has to do so now.
const IDLE: Duration = Duration::from_secs(60);

/// Starts reading; a mistake in the files does not keep the server from starting.
pub(super) fn start(
    options: &ServerOptions,
    layers: &Layers,
    clock: &Arc<dyn Clock>,
    shutdown: &Shutdown,
) -> Arc<DeploymentServer> {
    let server = Arc::new(DeploymentServer::new(Parts {
        conf_dir: options.conf_dir.clone(),
        layers: layers.clone(),
        work: options.data.data_dir.join("deployment"),
        token: options.forwarding_token.clone(),
        server_name: host_name(),
    }));
    let keeping = keep_reading(Arc::clone(&server), Arc::clone(clock), shutdown.clone());
    shutdown.spawn(keeping);
    server
}

/// Tells forwarders which indexers there are, by the settings in the files.
///
/// # Errors
/// If a setting is invalid.
pub(super) fn discovery(options: &ServerOptions, layers: &Layers) -> Result<Arc<IndexerDiscovery>> {
    let token = options.forwarding_token.as_deref();
    Ok(Arc::new(IndexerDiscovery::read(layers, token)?))
}

async fn keep_reading(server: Arc<DeploymentServer>, clock: Arc<dyn Clock>, shutdown: Shutdown) {
    let now = |clock: &dyn Clock| clock.now().0 / 1_000_000;
    let (reading, at) = (Arc::clone(&server), now(clock.as_ref()));
    let first = tokio::task::spawn_blocking(move || Some(reading.reload(at))).await;
    tell(&server, first.unwrap_or_default());
    loop {
        let interval = server.check_interval();
        if !shutdown.sleep(interval.unwrap_or(IDLE)).await {
            return;
        }
        if interval.is_none() {
            continue;
        }
        let (looking, at) = (Arc::clone(&server), now(clock.as_ref()));
        let looked = tokio::task::spawn_blocking(move || looking.look(at)).await;
        tell(&server, looked.unwrap_or_default());
    }
}

/// Logs the outcome of reading the settings.
fn tell(server: &DeploymentServer, read: Option<Result<(), Error>>) {
    match read {
        None => {}
        Some(Err(error)) => {
            tracing::error!(%error, "the deployment server continues with the configuration read before");
        }
        Some(Ok(())) => {
            for remark in server.remarks() {
                tracing::warn!("deployment server: {remark}");
            }
            let view = server.view().filter(|view| view.enabled);
            if let Some(view) = view {
                let (classes, apps) = (view.classes.classes.len(), view.apps.len());
                tracing::info!(classes, apps, "the deployment server has read its files");
            }
        }
    }
}
