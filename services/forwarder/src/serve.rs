//! `karst-forwarder run`: runs the process from start to stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use forwarder::{Change, Forwarder, Options};
use runtime::metrics::{Program, Recorder};
use runtime::signals::{Listeners, ON_ITS_WAY};
use runtime::telemetry::{self, Format};
use runtime::{Shutdown, SystemClock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::config::{RunOptions, aws_variables};

/// Runs the forwarder until a signal stops it.
pub(crate) fn run(options: &RunOptions) -> Result<()> {
    let mut listeners = runtime::signals::listen().context("cannot listen for signals")?;
    runtime::process::make_files_private();
    let log = telemetry::Settings { level: options.log.clone(), format: Format::Auto };
    telemetry::install(&log, None)?;
    let pipelines = usize::from(options.parallel_ingestion_pipelines.unwrap_or(1)).clamp(1, 16);
    // Few threads, because each costs memory, and one is fast enough for more than 20 MB/s.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(pipelines)
        .max_blocking_threads(8)
        .thread_stack_size(512 << 10)
        .thread_name("forwarder")
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    let mut result = runtime.block_on(serve(options, &mut listeners));
    if matches!(result, Ok(End::Restart)) {
        // Later signals are left to the next process, which would not know of those received here.
        runtime::signals::leave_pending().context("cannot leave signals to the next start")?;
        let arrived = async { tokio::time::timeout(ON_ITS_WAY, listeners.stop.arrived()).await };
        if runtime.block_on(arrived).is_ok() {
            result = Ok(End::Stop);
        }
    }
    runtime.shutdown_timeout(Duration::from_secs(1));
    match result? {
        End::Stop => Ok(()),
        End::Restart => {
            let error = runtime::process::begin_again();
            Err(error).context("cannot restart as an app of the deployment server requires")
        }
    }
}

/// What the process does after everything has stopped.
enum End {
    Stop,
    Restart,
}

async fn serve(options: &RunOptions, listeners: &mut Listeners) -> Result<End> {
    let Listeners { stop, hangups } = listeners;
    let shutdown = Shutdown::new();
    if let Some(address) = options.metrics_address {
        let recorder = Recorder::install(Program::Forwarder, env!("CARGO_PKG_VERSION"))?;
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on {address} for metrics"))?;
        shutdown.spawn(metrics(listener, recorder, shutdown.clone()));
    }
    let start = Options {
        data: options.data.data_dir.clone(),
        host: options.host.clone().unwrap_or_else(host_name),
        aws: aws_variables(),
        conf_dir: options.conf_dir.clone(),
        pipelines: options.parallel_ingestion_pipelines,
    };
    let mut forwarder = tokio::select! {
        started = Forwarder::start(start, Arc::new(SystemClock), &shutdown) => started?,
        () = stop.arrived() => return Ok(End::Stop),
    };
    println!("karst-forwarder is ready");
    // SIGHUP is ignored, so that the forwarder outlives the terminal from which it was started.
    let ignore_hangups = async {
        while hangups.recv().await.is_some() {
            tracing::info!(
                "SIGHUP: the configuration is read at the start only; restart to read it again"
            );
        }
        std::future::pending::<()>().await;
    };
    let stopped = stop.arrived();
    tokio::pin!(ignore_hangups, stopped);
    let end = loop {
        tokio::select! {
            () = &mut stopped => break End::Stop,
            () = &mut ignore_hangups => {}
            change = forwarder.changed() => match change {
                Change::Reload => forwarder.reload().await?,
                Change::Restart => break End::Restart,
            },
        }
    };
    tracing::info!("stopping: what is not acknowledged stays in the queue on disk");
    forwarder.stop().await;
    // Metrics end with the process, and the status is written once more.
    let _ = shutdown.finish(Duration::from_secs(2)).await;
    Ok(end)
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}

/// Answers every request with the metrics, because nothing else is served.
async fn metrics(listener: TcpListener, recorder: Recorder, shutdown: Shutdown) {
    let mut upkeep = tokio::time::interval(Duration::from_secs(5));
    loop {
        tokio::select! {
            () = shutdown.stopped() => return,
            _ = upkeep.tick() => recorder.upkeep(),
            accepted = listener.accept() => {
                let Ok((socket, peer)) = accepted else { continue };
                let answer = answer(socket, peer, &recorder);
                // Limits the time for which a hanging scraper delays the next one.
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
