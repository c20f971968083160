//! The forwarder as a process: its configuration, the agent that runs it, the deployment client, and the
//! change from one configuration to the next.
//!
//! Guarantees: one process per data directory; a configuration that does not start is replaced by the
//! previous one, if only apps of the deployment server differ; positions and queues are on disk, so that a
//! reload neither loses nor duplicates events.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use knowledge::Knowledge;
use runtime::{Clock, Shutdown};

use crate::agent::{Agent, Options, forwarder_id};
use crate::configuration;
use crate::deployment_client::settings::ClientSettings;
use crate::deployment_client::versions::Versions;
use crate::deployment_client::{Change, DeploymentClient, Identity};
use crate::status::StatusBoard;

/// See the module.
#[derive(Debug)]
pub struct Forwarder {
    options: Options,
    clock: Arc<dyn Clock>,
    board: StatusBoard,
    /// `None` while the configuration has no outputs.
    agent: Option<Agent>,
    versions: Versions,
    client: Option<DeploymentClient>,
    /// The lock that excludes a second process.
    _lock: File,
}

impl Forwarder {
    /// Starts the configuration; `rest` stops the writer of the status file. Must be called within Tokio.
    ///
    /// # Errors
    /// If the configuration is invalid, or the data directory cannot be used.
    pub async fn start(options: Options, clock: Arc<dyn Clock>, rest: &Shutdown) -> Result<Self> {
        let data = &options.data;
        fs::create_dir_all(data).with_context(|| format!("cannot create {}", data.display()))?;
        let lock = lock(data)?;
        let versions = Versions::open(data)?;
        let board = StatusBoard::default();
        let mut forwarder =
            Self { options, clock, board, agent: None, versions, client: None, _lock: lock };
        Box::pin(forwarder.begin()).await?;
        let (board, data) = (forwarder.board.clone(), forwarder.options.data.clone());
        rest.spawn(board.keep_writing(data, rest.clone()));
        Ok(forwarder)
    }

    /// Starts the installed apps; if that fails, the previous ones.
    async fn begin(&mut self) -> Result<()> {
        loop {
            let error = match Box::pin(self.try_begin()).await {
                Ok(()) => break,
                Err(error) => error,
            };
            if !self.versions.go_back(&format!("{error:#}"))? {
                return Err(error);
            }
            tracing::error!(
                "the apps of the deployment server do not start, the previous ones do: {error:#}"
            );
        }
        // If this fails, the next start confirms it.
        if let Err(error) = self.versions.confirm() {
            tracing::warn!(%error, "the previous versions of apps are kept");
        }
        Ok(())
    }

    async fn try_begin(&mut self) -> Result<()> {
        let deployed = self.versions.directories(self.versions.apps());
        let knowledge = Arc::new(configuration::read(&self.options.conf_dir, &deployed)?);
        let settings = ClientSettings::read(knowledge.layers())?;
        let guid = forwarder_id(&self.options.data)?.to_string();
        self.board.clear();
        self.agent = match settings.is_some() && configuration::is_idle(&knowledge) {
            true => {
                tracing::warn!(
                    "outputs.conf has no [tcpout:<name>]: waiting for apps of the deployment server"
                );
                None
            }
            false => Some(Box::pin(self.start_agent(&knowledge)).await?),
        };
        let identity = Identity {
            guid,
            host: self.options.host.clone(),
            conf_dir: self.options.conf_dir.clone(),
        };
        let (clock, board) = (Arc::clone(&self.clock), self.board.clone());
        self.client = match settings {
            Some(settings) => {
                DeploymentClient::new(settings, identity, clock, board, &self.versions)
            }
            None => {
                board.put_deployment(None);
                None
            }
        };
        Ok(())
    }

    async fn start_agent(&self, knowledge: &Arc<Knowledge>) -> Result<Agent> {
        let (options, knowledge) = (self.options.clone(), Arc::clone(knowledge));
        let (clock, board) = (Arc::clone(&self.clock), self.board.clone());
        Box::pin(Agent::start(options, knowledge, clock, board)).await
    }

    /// Waits until installed apps have changed; forever without a deployment server.
    pub async fn changed(&mut self) -> Change {
        match &mut self.client {
            Some(client) => client.next_change(&mut self.versions).await,
            None => std::future::pending().await,
        }
    }

    /// Asks the deployment server once.
    #[cfg(test)]
    pub(crate) async fn call(&mut self) -> Option<Change> {
        self.client.as_mut()?.call(&mut self.versions).await
    }

    /// Restarts with the installed apps.
    ///
    /// # Errors
    /// If neither these nor the previous ones start.
    pub async fn reload(&mut self) -> Result<()> {
        if let Some(agent) = self.agent.take() {
            agent.stop().await;
        }
        Box::pin(self.begin()).await
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> crate::status::Status {
        self.board.get()
    }

    /// Stops inputs, then senders; unacknowledged batches stay in the queues.
    pub async fn stop(self) {
        if let Some(agent) = self.agent {
            agent.stop().await;
        }
    }
}

fn lock(data: &Path) -> Result<File> {
    let path = data.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.try_lock().map_err(|_| {
        anyhow::anyhow!("another forwarder runs over {}; stop it first", data.display())
    })?;
    Ok(file)
}
