//! Inputs that do not come over HTTP: syslog, followed files, Karst's own log.

use std::sync::Arc;
use std::time::Duration;

use ::inputs::monitor::{Monitor, MonitorTarget};
use ::inputs::tcp::{Framing, TcpInput};
use ::inputs::udp::UdpInput;
use anyhow::{Context, Result};
use model::IndexName;
use runtime::Shutdown;
use tokio::net::{TcpListener, UdpSocket};

use super::assemble::Karst;
use super::logs;
use crate::config::ServerOptions;

/// How often followed files are looked at.
const POLL: Duration = Duration::from_millis(500);

pub(crate) async fn start(
    options: &ServerOptions,
    karst: &Karst,
    shutdown: &Shutdown,
) -> Result<()> {
    syslog(options, karst, shutdown).await?;
    monitor(options, karst, shutdown)
}

fn index(name: &str, karst: &Karst) -> Result<IndexName> {
    let index = IndexName::new(name)?;
    if !karst.state.indexes.contains(&index) {
        anyhow::bail!("there is no index \"{name}\"; add it to indexes.conf");
    }
    Ok(index)
}

async fn syslog(options: &ServerOptions, karst: &Karst, shutdown: &Shutdown) -> Result<()> {
    let to = index(&options.syslog_index, karst)?;
    for address in &options.syslog_tcp {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("cannot listen on TCP {address} for syslog"))?;
        println!("  syslog      tcp://{}", listener.local_addr()?);
        let input = TcpInput::new(to.clone(), Framing::Syslog);
        shutdown.spawn(input.serve(listener, Arc::clone(&karst.ingest) as _, shutdown.clone()));
    }
    for address in &options.syslog_udp {
        let socket = UdpSocket::bind(address)
            .await
            .with_context(|| format!("cannot listen on UDP {address} for syslog"))?;
        println!("  syslog      udp://{}", socket.local_addr()?);
        let input = UdpInput { index: to.clone(), source: None, sourcetype: None, host: None };
        shutdown.spawn(input.serve(socket, Arc::clone(&karst.ingest) as _, shutdown.clone()));
    }
    Ok(())
}

fn monitor(options: &ServerOptions, karst: &Karst, shutdown: &Shutdown) -> Result<()> {
    let host: Arc<str> = karst.state.info.server_name.as_str().into();
    let to = index(&options.monitor_index, karst)?;
    let mut targets: Vec<MonitorTarget> = options
        .monitor
        .iter()
        .map(|path| MonitorTarget {
            path: path.clone(),
            index: to.clone(),
            host: Arc::clone(&host),
            sourcetype: None,
        })
        .collect();
    targets.push(MonitorTarget {
        path: logs::directory(options).join("karst.log"),
        index: index("_internal", karst)?,
        host,
        sourcetype: Some("karst".into()),
    });
    let checkpoints = options.data.data_dir.join("monitor.json");
    let monitor = Monitor::new(targets, checkpoints, POLL)?;
    shutdown.spawn(monitor.run(Arc::clone(&karst.ingest) as _, shutdown.clone()));
    Ok(())
}
