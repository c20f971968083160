//! `karst server`: the roles in one process, from the first file to the last acknowledgement.

mod access_log;
mod advertised;
mod app_mistakes;
mod assemble;
pub(crate) mod audit;
mod bodies;
mod bundle_warnings;
mod certificate;
mod cluster;
mod clustering;
mod connections;
mod console;
mod conversation;
mod credentials;
mod deployment;
mod descriptors;
mod directories;
mod early;
mod failover;
mod former_directory;
mod forwarding;
mod full_disks;
mod gateway;
mod handshake;
mod hangup;
mod health_port;
mod http_conf;
mod identity;
mod incarnation;
mod indexers;
mod ingest_conf;
mod input_tls;
mod inputs;
mod installed_apps;
mod known_store;
mod lack_of_space;
mod leadership;
mod leaving;
mod listen;
mod lock;
mod log_file;
mod logs;
mod lost_directory;
mod memory;
mod opened_store;
mod other_heads;
mod own_events;
mod ownership;
mod ports;
mod removals;
mod reported;
mod request_conf;
mod requests;
mod roles;
mod script_sandbox;
mod server_host;
mod serving;
mod setup;
mod status_condition;
mod stopping;
mod store_conf;
mod streaming;
mod tls;
mod traces;
mod views;
mod whole;
mod wrong_scheme;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::Control;
use runtime::signals::Listeners;
use runtime::{Shutdown, SystemClock};
use search::SearchThreads;
use tokio::signal::unix::Signal;

use self::assemble::{Ground, Karst};
use self::cluster::{Cluster, KnownAs};
use self::clustering::Clustering;
use self::credentials::InitialPassword;
use self::directories::Directories;
use self::failover::Lost;
use self::gateway::Progress;
use self::health_port::HealthPort;
use self::input_tls::InputTls;
use self::leadership::Leadership;
use self::lock::DataLock;
use self::lost_directory::Watch;
use self::memory::Memory;
use self::ports::Ports;
use self::roles::Roles;
use self::serving::Serving;
use self::setup::Setup;
use self::stopping::{SEARCHES, StopSignal};
use self::tls::Certificates;
use self::traces::Traces;
use crate::config::{ServerOptions, otel_variables};

/// The declarations of settings that only this program reads.
pub(crate) const DECLARED: &[&[conf::Setting]] = &[
    audit::Configured::SETTINGS,
    Clustering::SETTINGS,
    http_conf::HttpServer::SETTINGS,
    http_conf::Http2::SETTINGS,
    http_conf::Timeouts::SETTINGS,
    http_conf::Uploads::SETTINGS,
    request_conf::Requests::SETTINGS,
    server_host::Places::SETTINGS,
];

pub(crate) use leadership::CATALOG;
pub(crate) use lock::Owner;
pub(crate) use ownership::{claim as claim_catalog, now_text};
pub(crate) use store_conf::store as store_options;

/// Stack size of threads that plan and run searches: plans are walked by recursive functions, and
/// `max_plan_depth` is set so that they fit. The system allocates only the used part.
const SEARCH_STACK: usize = 128 << 20;
/// The same of a thread that answers requests: it shows plans and drops them.
const IO_STACK: usize = 32 << 20;

/// Options of the allocator: it uses huge pages where the system has them. Clearing small pages was a tenth
/// of the cost of ingest.
const ALLOCATOR: [(&str, &str); 1] = [("MIMALLOC_ALLOW_LARGE_OS_PAGES", "1")];

/// Runs the server until it is stopped.
pub(crate) fn run(mut options: Box<ServerOptions>) -> Result<ExitCode> {
    // First, and until there are listeners: process 1 of a container ignores a signal that it does not
    // handle, and would run until it is killed.
    runtime::signals::hold().context("cannot hold back signals")?;
    runtime::process::make_files_private();
    options.read_secrets()?;
    stopping::check(&options)?;
    if let Err(error) = runtime::allocator::begin_again_with(&ALLOCATOR) {
        eprintln!("karst: cannot begin again with settings of the allocator: {error}");
    }
    let Listeners { stop, hangups } =
        runtime::signals::listen().context("cannot listen for signals")?;
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores.max(2))
        .thread_name("karst-io")
        .thread_stack_size(IO_STACK)
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    // Searches get threads of their own, so that a heavy one does not hold up requests and acks.
    let threads = SearchThreads::new(cores.max(2), SEARCH_STACK);
    let threads = threads.context("cannot start the threads of searches")?;
    let signal = runtime.block_on(async { StopSignal::of(stop) });
    let result = runtime.block_on(async {
        let signals = (&signal, hangups);
        let serving = Box::pin(serve(&mut options, threads.clone(), signals));
        tokio::select! {
            biased;
            ended = serving => ended,
            // All acknowledged events are in the journal; nothing else is lost.
            () = signal.arrived_early() => Ok(Ended::Stopped),
        }
    });
    threads.shut_down(SEARCHES);
    let begins_again = matches!(result, Ok(Ended::ToBeginAgain | Ended::LackedSpace { .. }));
    let is_told_to_stop = if begins_again {
        // Signals from now on are for the next start of the server, which would not know of signals that were
        // received here.
        runtime::signals::leave_pending().context("cannot leave signals to the next start")?;
        runtime.block_on(signal.has_arrived())
    } else {
        false
    };
    runtime.shutdown_background();
    match result? {
        Ended::Stopped => Ok(ExitCode::SUCCESS),
        Ended::ToBeginAgain | Ended::LackedSpace { .. } if is_told_to_stop => {
            tracing::info!("told to stop meanwhile: this process does not start again");
            Ok(ExitCode::SUCCESS)
        }
        Ended::Fenced(reason) => anyhow::bail!("stopped: {reason}"),
        // Returns only where it cannot.
        Ended::ToBeginAgain => Err(lack_of_space::begin_again(0)).context("cannot start again"),
        Ended::LackedSpace { starts } => {
            Err(lack_of_space::begin_again(starts)).context("cannot start again")
        }
    }
}

/// Why the server ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ended {
    /// The server was stopped by a signal.
    Stopped,
    /// Somebody asked for a restart.
    ToBeginAgain,
    /// A full disk has ended the start, as it has ended others directly before.
    LackedSpace {
        /// The number of these starts.
        starts: u32,
    },
    /// Another server has its catalog or its identity.
    Fenced(Arc<str>),
}

/// Starts the server, in this order: nothing is opened or written before the directory is locked and every
/// port is bound, and no catalog before its lease is held. Clients that connect in the meantime are asked to
/// wait. Until `signal` is opened, the caller handles it.
#[expect(clippy::too_many_lines, reason = "the order of the steps is the point")]
async fn serve(
    options: &mut ServerOptions,
    threads: SearchThreads,
    (signal, hangups): (&StopSignal, Signal),
) -> Result<Ended> {
    let lock = DataLock::take(options)?;
    // Left by the previous process if it was killed.
    credentials::remove_local_session(lock.directory());
    let directories = Directories::arrange(options, lock.directory())?;
    let (setup, inputs) = Setup::read(options)?;
    let of_file = Clustering::complete(options, &setup.layers)?;
    let options: &ServerOptions = options;
    // The roles of this process are known only now; `take` wrote those of the flags.
    lock.tell(options)?;
    let traces = Traces::new(traces::Settings::read(&otel_variables())?);
    let memory = Memory::read(&setup, options, Roles::of(options)?)?;
    let http = http_conf::settings(&setup.layers, options)?;
    descriptors::raise(store_conf::cache(&setup.layers, options)?.nvme_bytes as u64 >> 20)?;
    let cluster = Cluster::join(options, &setup.layers, &SystemClock).await?;
    let roles = cluster.roles;
    let inputs = if roles.indexer { inputs } else { inputs::own_log(options)? };
    let ports = Ports::bind(options, roles, &inputs).await?;
    let for_forwarders = forwarding::open_ports(&ports.forwarders, &inputs)?;
    let loggers = logs::install(options)?;
    if let Some(settings) = of_file {
        tracing::info!(%settings, "server.conf [clustering] gives what the flags do not");
    }
    setup.warn();
    memory.tell();
    let shutdown = Shutdown::new();
    let certificates = ports.need_tls().then(|| Certificates::open(options, lock.directory()));
    let certificates = certificates.transpose()?;
    let tls = certificates.as_ref().map(Certificates::acceptor).transpose()?;
    let of_inputs = certificates.as_ref().filter(|_| roles.indexer);
    let input_tls = InputTls::open(&inputs, &setup.knowledge, of_inputs)?;
    let progress = Progress::new("opening the object store");
    let control = Control::default();
    let serving = Serving::new(http.clone(), &shutdown, &control);
    let listeners = listen::start(ports.http, tls.as_ref(), &progress, &serving)?;
    let health = ports.health.map(|port| HealthPort::start(port, &http, &progress)).transpose()?;
    let waiting = (lock.directory(), &progress);
    let (store, has_catalog) = opened_store::object_store(options, &setup.layers, waiting).await?;
    let found = (&store, has_catalog);
    let leadership = Leadership::new(found, options, &setup.layers, &lock, &cluster)?;
    let initial = InitialPassword::below(lock.directory());
    let (initial, progress) = (&initial, &progress);
    let leading = Arc::clone(&leadership);
    let ground = Ground {
        options,
        cluster,
        leading,
        setup,
        memory,
        directories,
        http,
        store,
        loggers,
        initial,
        progress,
        control,
        access: serving.access.clone(),
        traces: &traces,
    };
    let run = async {
        let (intake, peers) = (shutdown.part(), Shutdown::new());
        let _also_if_the_start_fails = peers.token().drop_guard();
        // Of the server, without its listeners: they go on if the start fails.
        let work = shutdown.part();
        let until = (&work, &peers);
        let (karst, cluster) = match Box::pin(assemble::assemble(ground, threads, until)).await {
            Ok(both) => both,
            Err(error) if is_taken_over(&error) => {
                tracing::warn!(
                    "this process starts again, to wait until its events are stored: {error:#}"
                );
                return Ok(Ended::ToBeginAgain);
            }
            Err(error) if leadership.is_lost_by(&error) => {
                tracing::warn!("this process does not lead any more, and starts again: {error:#}");
                return Ok(Ended::ToBeginAgain);
            }
            Err(error) if lack_of_space::is_cause_of(&error) => {
                peers.stop();
                let has_ended = lack_of_space::end_start(&work).await;
                // Other processes may lead, and recover the events of this one, meanwhile.
                leadership.release().await;
                let before = lack_of_space::starts_before();
                if has_ended {
                    lack_of_space::wait((options, before), &error, progress).await;
                }
                return Ok(Ended::LackedSpace { starts: before.saturating_add(1) });
            }
            Err(error) => return Err(error),
        };
        shutdown.spawn(api::record_expired_sessions(karst.state.clone()));
        let heads = cluster.other_heads(karst.catalog(), &karst.state.info.guid);
        // A client that finds the server ready may stop it, and the ports have to report that first.
        signal.open();
        let receivers = api::Receivers::new(karst.state.clone())?;
        let known_as = KnownAs {
            id: karst.state.info.guid.as_str(),
            management: ownership::management(options),
            forwarder_ports: &for_forwarders,
            forwarding_advertise: forwarding::instead(options, &for_forwarders),
        };
        // Before events are received: searches ask only the indexers in the list.
        let opening = cluster.open(&karst, known_as, &receivers, &shutdown);
        let started = Box::pin(opening).await?;
        shutdown.spawn(api::watch_cluster(karst.state.clone()));
        listeners.open(options, roles, &karst, &receivers, heads);
        let forwarders =
            forwarding::start(ports.forwarders, tls.as_ref(), options, &karst, &intake)?;
        let served = (forwarders, input_tls.handshake());
        let starting =
            inputs::start((options, roles), inputs, ports.inputs, &karst, served, &intake);
        Box::pin(starting).await?;
        let watch = Watch {
            data: lock.directory().to_owned(),
            ingest: Arc::clone(&karst.state.ingest),
            health: karst.state.health.clone(),
            is_indexer: roles.indexer,
            intake: intake.clone(),
        };
        shutdown.spawn(watch.run(lock.opened()?, shutdown.clone()));
        if let Some(certificates) = &certificates {
            let health = karst.state.health.clone();
            let (certificates, other) = (Arc::clone(certificates), input_tls.certificates());
            shutdown.spawn(certificates.keep(other, health, hangups, shutdown.clone()));
        } else {
            shutdown.spawn(hangup::ignore(hangups, shutdown.clone()));
        }
        let certificate = certificates.as_ref().map(|certificates| certificates.path());
        let session =
            credentials::leave_local_session(options, lock.directory(), certificate, &karst)?;
        listeners.announce();
        if let Some(health) = &health {
            health.open(&karst.state, roles);
        }
        initial.show();
        let ended = wait_for_end(options, &karst, &leadership, (&intake, signal)).await;
        let is_fenced = karst.state.health.fatal().is_some();
        if !is_fenced && matches!(ended, Ok(Ended::Stopped | Ended::ToBeginAgain)) {
            stopping::leave(&karst, options, started.as_deref()).await;
        }
        stopping::stop(karst, options, (&intake, &shutdown, &peers), &session).await;
        ended
    };
    let ended = run.await;
    leadership.release().await;
    traces.close().await;
    // Last: until here, probes find that the process is alive.
    if let Some(health) = health {
        health.close();
    }
    ended
}

/// Whether another indexer has got the events of this one while it started.
fn is_taken_over(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<ingest::Error>() {
        Some(ingest::Error::TakenOver { .. }) => true,
        Some(ingest::Error::Catalog(error)) => matches!(**error, catalog::Error::OldEpoch { .. }),
        _ => false,
    }
}

/// Waits until somebody wants the server to end, or it has no catalog any more.
async fn wait_for_end(
    options: &ServerOptions,
    karst: &Karst,
    leadership: &Leadership,
    (intake, told_to_stop): (&Shutdown, &StopSignal),
) -> Result<Ended> {
    let (reason, is_superseded) = tokio::select! {
        () = told_to_stop.arrived() => return Ok(Ended::Stopped),
        () = karst.state.control.retirement_wanted() => return Ok(Ended::Stopped),
        () = karst.state.control.restart_wanted() => return Ok(Ended::ToBeginAgain),
        reason = leadership.ended(karst.catalog()) => (reason, false),
        lost = karst.failover.lost() => match lost {
            Lost::Recovered(reason) => {
                intake.stop();
                karst.fence(&reason);
                tracing::error!(
                    "this process starts again, to go on when its events are stored: {reason}"
                );
                return Ok(Ended::ToBeginAgain);
            }
            // Starting again would take the sets from the other process, which would do the same.
            Lost::Superseded(reason) => (reason, true),
        },
    };
    // First: inputs that continue would log each refusal.
    intake.stop();
    match is_superseded {
        true => karst.supersede(&reason),
        false => karst.fence(&reason),
    }
    if leadership.stands_by() && !is_superseded {
        tracing::warn!("this process does not lead any more, and starts again: {reason}");
        return Ok(Ended::ToBeginAgain);
    }
    let said = Duration::from_secs(options.fenced_seconds);
    let until = tokio::time::Instant::now() + said;
    let mut told = reason;
    loop {
        tokio::select! {
            () = told_to_stop.arrived() => return Ok(Ended::Fenced(told)),
            () = karst.state.control.restart_wanted() => return Ok(Ended::ToBeginAgain),
            () = tokio::time::sleep_until(until) => return Ok(Ended::Fenced(told)),
            // The catalog knows that it was taken over, the lease knows by which process.
            reason = leadership.lost(), if !told.contains("management") => {
                tracing::warn!("{reason}");
                karst.fence(&reason);
                told = reason;
            }
        }
    }
}
