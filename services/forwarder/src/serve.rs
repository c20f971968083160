//! `karst-forwarder run`: from the first file to the last acknowledgement.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use conf::Layers;
use forwarder::settings::registry;
use forwarder::{Agent, Options};
use knowledge::Knowledge;
use runtime::metrics::{Program, Recorder};
use runtime::telemetry::{self, Format};
use runtime::{Shutdown, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::config::{RunOptions, aws_variables};

/// Runs the forwarder until it is told to stop.
pub(crate) fn run(options: &RunOptions) -> Result<()> {
    runtime::process::make_files_private();
    let log = telemetry::Settings { level: options.log.clone(), format: Format::Auto };
    telemetry::install(&log, None)?;
    let knowledge = Arc::new(knowledge(options)?);
    let pipelines = usize::from(options.parallel_ingestion_pipelines.unwrap_or(1)).clamp(1, 16);
    // Few threads: each costs memory, and one does more than 20 MB/s.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(pipelines)
        .max_blocking_threads(8)
        .thread_stack_size(512 << 10)
        .thread_name("forwarder")
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let result = runtime.block_on(serve(options, knowledge));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

fn knowledge(options: &RunOptions) -> Result<Knowledge> {
    let mut layers = Layers::read(&options.conf_dir)?;
    let ignored = registry().tolerate_apps(&mut layers);
    let knowledge = Knowledge::new(layers);
    let errors: Vec<String> = knowledge.fatal_errors().map(ToString::to_string).collect();
    anyhow::ensure!(errors.is_empty(), "the configuration does not hold:\n{}", errors.join("\n"));
    let unknown = registry().warnings(knowledge.layers());
    for warning in ignored.iter().chain(&unknown).chain(knowledge.warnings()) {
        tracing::warn!("{warning}");
    }
    for error in knowledge.app_errors() {
        tracing::warn!("{error}; the setting is ignored");
    }
    Ok(knowledge)
}

async fn serve(options: &RunOptions, knowledge: Arc<Knowledge>) -> Result<()> {
    let mut hangups = signal(SignalKind::hangup()).context("cannot listen for SIGHUP")?;
    let shutdown = Shutdown::new();
    if let Some(address) = options.metrics_address {
        let recorder = Recorder::install(Program::Forwarder, env!("CARGO_PKG_VERSION"))?;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address} for metrics"))?;
        shutdown.spawn(metrics(listener, recorder, shutdown.clone()));
    }
    let agent = Agent::start(
        Options {
            data: options.data.data_dir.clone(),
            host: options.host.clone().unwrap_or_else(host_name),
            aws: aws_variables(),
            pipelines: options.parallel_ingestion_pipelines,
        },
        knowledge,
        Arc::new(SystemClock),
    )
    .await?;
    println!("karst-forwarder is ready");
    // The terminal that it was started from may go: the files are watched on.
    let ignore_hangups = async {
        while hangups.recv().await.is_some() {
            tracing::info!(
                "SIGHUP: the configuration is read at the start only; restart to read it again"
            );
        }
        std::future::pending().await
    };
    tokio::select! {
        stopped = stop_signal() => stopped?,
        () = ignore_hangups => {}
    }
    tracing::info!("stopping: what is not acknowledged stays in the queue on disk");
    agent.stop().await;
    // Metrics end with the process.
    let _ = shutdown.finish(Duration::from_secs(1)).await;
    Ok(())
}

async fn stop_signal() -> Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for SIGINT")?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Answers every request with the metrics: a scraper asks for nothing else.
async fn metrics(listener: TcpListener, recorder: Recorder, shutdown: Shutdown) {
    let mut upkeep = tokio::time::interval(Duration::from_secs(5));
    loop {
        tokio::select! {
            () = shutdown.stopped() => return,
            _ = upkeep.tick() => recorder.upkeep(),
            accepted = listener.accept() => {
                let Ok((socket, peer)) = accepted else { continue };
                let answer = answer(socket, peer, &recorder);
                // A scraper that hangs does not keep the next one waiting for long.
                let _ = tokio::time::timeout(Duration::from_secs(2), answer).await;
            }
        }
    }
}

async fn answer(mut socket: TcpStream, peer: SocketAddr, recorder: &Recorder) {
    let mut request = [0; 4096];
    if let Err(error) = socket.read(&mut request).await {
        tracing::debug!(%peer, %error, "a request for metrics could not be read");
        return;
    }
    let body = recorder.render();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    let _ = socket.write_all(head.as_bytes()).await;
    let _ = socket.write_all(body.as_bytes()).await;
}
