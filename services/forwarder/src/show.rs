//! `list` and `btool`: show the state of a running forwarder, and the configuration.

use std::io::Write;

use anyhow::{Context, Result};
use conf::Layers;
use forwarder::settings::registry;
use forwarder::{Outputs, routing_warnings, rule_warnings, status};
use knowledge::Knowledge;

use crate::config::{BtoolOptions, ListOptions, Listing};

/// Prints the last status that a forwarder wrote, at most a second old.
pub(crate) fn list(options: &ListOptions) -> Result<()> {
    let data = &options.data.data_dir;
    let status = status::read(data)
        .with_context(|| format!("no forwarder has run over {} (--data-dir)", data.display()))?;
    if !std::path::Path::new("/proc").join(status.pid.to_string()).exists() {
        eprintln!("the forwarder is not running; this was its last state");
    }
    let mut out = std::io::stdout().lock();
    match options.what {
        Listing::Status => writeln!(out, "{}", serde_json::to_string_pretty(&status)?)?,
        Listing::Monitor => {
            for input in &status.inputs {
                writeln!(
                    out,
                    "{}\t{}\t{}/{}",
                    input.name, input.state, input.position, input.size
                )?;
            }
        }
        Listing::Deployment => deployment(&status, &mut out)?,
        Listing::ForwardServer => {
            for (group, discovery) in &status.discovery {
                let (managers, known) = (discovery.managers.join(", "), discovery.indexers.len());
                let error = discovery.last_error.as_deref().unwrap_or("");
                writeln!(out, "{group}: {known} indexers, as known from {managers}\t{error}")?;
            }
            for output in status.outputs.values() {
                writeln!(
                    out,
                    "{}: queue {} of {} bytes, {} batches resent, {} reassigned",
                    output.name,
                    output.queue_bytes,
                    output.queue_capacity,
                    output.resent_batches,
                    output.reassigned_batches,
                )?;
                let letters = &output.dead_letters;
                if letters.batches > 0 {
                    let reason = letters.last_reason.as_deref().unwrap_or("unknown");
                    let noun = if letters.batches == 1 { "batch" } else { "batches" };
                    writeln!(
                        out,
                        "  {} {noun} refused by indexers, kept as dead letters in {}: {reason}",
                        letters.batches, letters.directory,
                    )?;
                }
                for server in &output.servers {
                    let state = match (server.connected, server.target) {
                        (true, true) => "active, target",
                        (true, false) => "active",
                        (false, _) => "inactive",
                    };
                    let error = server.last_error.as_deref().unwrap_or("");
                    writeln!(
                        out,
                        "  {}\t{state}\t{} batches wait\t{} bytes acknowledged{}\t{error}",
                        server.address,
                        server.waiting_batches,
                        server.acknowledged_bytes,
                        levels(server),
                    )?;
                }
            }
        }
    }
    Ok(())
}

/// The numbers of acknowledged batches by level, such as ` (2 local, 5 remote)`.
fn levels(server: &status::ServerStatus) -> String {
    let counts = server.ack_levels.iter().map(|(level, batches)| format!("{batches} {level}"));
    let counts: Vec<String> = counts.collect();
    if counts.is_empty() { String::new() } else { format!(" ({})", counts.join(", ")) }
}

/// Prints the state of the deployment client.
fn deployment(status: &status::Status, out: &mut impl Write) -> Result<()> {
    let Some(deployment) = &status.deployment else {
        writeln!(out, "no deployment server is configured (targetUri in deploymentclient.conf)")?;
        return Ok(());
    };
    let error = deployment.last_error.as_deref().unwrap_or("");
    writeln!(out, "{}\t{}\t{error}", deployment.server, deployment.client_name)?;
    for (app, checksum) in &deployment.apps {
        writeln!(out, "  {app}\t{checksum}")?;
    }
    for (app, reason) in &deployment.failed {
        writeln!(out, "  {app}\tnot in effect: {reason}")?;
    }
    Ok(())
}

/// Prints the effective settings of a file with their origins, or checks the whole configuration.
pub(crate) fn btool(options: &BtoolOptions) -> Result<()> {
    let deployed = forwarder::deployed_apps(&options.data.data_dir);
    let mut layers = Layers::read(&options.conf_dir)?.with_apps(&deployed, |_| true)?;
    if options.check {
        for warning in registry().tolerate_apps(&mut layers) {
            println!("{warning}");
        }
        return check(&Knowledge::new(layers));
    }
    let layers = layers.without_disabled();
    for app in layers.disabled() {
        eprintln!(
            "note: the app {app} is disabled ([install] of app.conf), its settings are left out"
        );
    }
    let knowledge = Knowledge::new(layers);
    let conf = knowledge.conf(&options.conf);
    let mut out = std::io::stdout().lock();
    for stanza in &conf.stanzas {
        if options.stanza.as_ref().is_some_and(|wanted| *wanted != stanza.name) {
            continue;
        }
        writeln!(out, "[{}]", stanza.name)?;
        for entry in conf.complete(&stanza.name) {
            writeln!(out, "{} = {}\t# {}", entry.key, entry.value, entry.place)?;
        }
    }
    Ok(())
}

fn check(knowledge: &Knowledge) -> Result<()> {
    let conf = knowledge.conf("outputs");
    for warning in registry().warnings(knowledge.layers()).iter().chain(knowledge.warnings()) {
        println!("{warning}");
    }
    for warning in Outputs::warnings(&conf) {
        println!("{warning}");
    }
    for error in knowledge.app_errors() {
        println!("{error}; the setting is ignored");
    }
    let mut errors: Vec<String> = knowledge.fatal_errors().map(ToString::to_string).collect();
    match Outputs::read(&conf) {
        Ok(outputs) => {
            let routing = routing_warnings(knowledge, &outputs);
            let rules = rule_warnings(knowledge, &outputs);
            routing.iter().chain(&rules).for_each(|warning| println!("{warning}"));
        }
        Err(error) => errors.push(error.to_string()),
    }
    anyhow::ensure!(errors.is_empty(), "{}", errors.join("\n"));
    println!("the configuration holds");
    Ok(())
}
