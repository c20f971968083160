//! The deployment server of this process: it begins with what the files say, and reads them again when they
//! have changed.
//!
//! Every process of a cluster can be one; forwarders get what the directory of configuration of the process
//! says that they ask, and it lists those that asked it.

use std::sync::Arc;
use std::time::Duration;

use conf::Layers;
use deployment::{DeploymentServer, Error, Parts};
use runtime::{Clock, Shutdown};

use super::assemble::host_name;
use crate::config::ServerOptions;

/// How often a server that does not look at its files is asked whether it does now.
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

/// Says what was read, and what is wrong with it.
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
