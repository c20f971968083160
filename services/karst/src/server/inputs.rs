//! Non-HTTP inputs of `inputs.conf` and the command line, Karst's own log, and the HEC tokens of
//! `inputs.conf`.

use std::sync::Arc;

use ::inputs::Sink;
use ::inputs::configured::{self, Bound, Configured, HttpToken, Parts};
use ::inputs::monitor::{MonitorSettings, MonitorTarget};
use ::inputs::tcp::{Framing, TcpInput};
use ::inputs::udp::UdpInput;
use access::HecToken;
use anyhow::{Context, Result};
use knowledge::Knowledge;
use model::IndexName;
use runtime::Shutdown;

use super::assemble::{Karst, host_name};
use super::logs;
use crate::config::{ServerOptions, aws_variables};

/// The enabled inputs, validated as far as possible from the files alone.
///
/// # Errors
/// If something in them is invalid.
pub(crate) fn configured(options: &ServerOptions, knowledge: &Knowledge) -> Result<Configured> {
    let host = host_name();
    let of_app = |place: &conf::Place| knowledge.layers().is_of_app(place);
    let conf = knowledge.conf("inputs");
    let read = Configured::read_tolerating(&conf, &host, &of_app).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        anyhow::anyhow!("inputs.conf is invalid:\n{}", errors.join("\n"))
    });
    let mut all = read?;
    all.monitor_settings = MonitorSettings::read(knowledge.layers())?;
    add_syslog(options, &mut all)?;
    add_files(options, &host, &mut all)?;
    Ok(all)
}

/// Starts the inputs on their bound ports.
///
/// # Errors
/// If an input that is not an app's has an unknown index, or if one cannot be started.
pub(crate) async fn start(
    options: &ServerOptions,
    mut all: Configured,
    mut bound: Bound,
    karst: &Karst,
    shutdown: &Shutdown,
) -> Result<()> {
    for (index, who) in all.indexes() {
        let open = index.check_open().with_context(|| format!("the index of {who}"));
        let usable = open.and_then(|()| {
            let known = karst.state.indexes.contains(&index);
            anyhow::ensure!(
                known,
                "there is no index \"{index}\" for {who}; add it to indexes.conf"
            );
            Ok(())
        });
        match (usable, all.index_of_apps(&index)) {
            (Ok(()), _) => {}
            (Err(error), Some(place)) => {
                tracing::warn!("{place}: {error:#} and restart; the app's input is ignored");
                all.leave_out(&index, &mut bound);
            }
            (Err(error), None) => return Err(error),
        }
    }
    for token in std::mem::take(&mut all.http) {
        keep_token(karst, token).await?;
    }
    let parts = Parts {
        state: options.data.data_dir.join("inputs"),
        aws: aws_variables(),
        files: karst.state.files.clone(),
    };
    let sink = Arc::clone(&karst.ingest) as Arc<dyn Sink>;
    let listeners = configured::start_bound(all, bound, &parts, &sink, shutdown).await;
    for listener in listeners.context("cannot start the inputs")? {
        println!("  input       {listener}");
    }
    Ok(())
}

fn add_syslog(options: &ServerOptions, all: &mut Configured) -> Result<()> {
    let to = IndexName::new(&options.syslog_index)?;
    for address in &options.syslog_tcp {
        all.tcp.push((*address, TcpInput::new(to.clone(), Framing::Syslog)));
    }
    for address in &options.syslog_udp {
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
    let own = logs::directory(options).join("karst.log");
    let own = std::path::absolute(&own).unwrap_or(own);
    let mut own = target(&own.to_string_lossy(), IndexName::new("_internal")?)?;
    own.sourcetype = Some("karst".into());
    all.monitor.push(own);
    Ok(())
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
    let put = karst.state.tokens.put(kept).await;
    put.with_context(|| format!("cannot keep the token [http://{}]", token.name))
}
