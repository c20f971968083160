//! The agent: runs the inputs and outputs of a configuration.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use conf::Effective;
use inputs::configured::{self, Configured};
use inputs::monitor::{MonitorSettings, MonitorStatus};
use inputs::{OwnDirectories, Sink, SinkLimits};
use knowledge::Knowledge;
use protocol::Hello;
use runtime::{Clock, Shutdown};
use uuid::Uuid;

use crate::cutter::Sizes;
use crate::discovery::{self, Discovery, Servers};
use crate::indexer_rules::{Compiler, IndexerRules};
use crate::outputs::{Group, Outputs};
use crate::queue::{self, DiskQueue};
use crate::routing::Routing;
use crate::rules::{RuleBook, rule_warnings};
use crate::rules_report::RulesReport;
use crate::sender::{Sender, SenderParts};
use crate::settings::Process;
use crate::sink::{Forward, Route, Set};
use crate::status::{InputStatus, StatusBoard};

/// Text size of a batch in bytes.
const BATCH: usize = 512 << 10;
/// Maximum length in bytes of a piece without a boundary between events.
const EVENT: usize = 8 << 20;
/// zstd's fastest level is worth its CPU time on any network.
const LEVEL: i32 = 1;
/// Idle time of a stream after which its unfinished event is considered complete.
const STREAM_IDLE: Duration = Duration::from_secs(3);
/// Time limit for stopping inputs, and then for stopping senders.
const STOP: Duration = Duration::from_secs(25);

/// The options of a process.
#[derive(Debug, Clone)]
pub struct Options {
    /// Directory of queues, checkpoints and the status file, used only by this process.
    pub data: PathBuf,
    /// Host name in events.
    pub host: String,
    /// `AWS_*` variables, for inputs that need them.
    pub aws: BTreeMap<String, String>,
    /// Directory of `.conf` layers.
    pub conf_dir: PathBuf,
    /// Number of pipeline sets; `None` for the setting of `server.conf`.
    pub pipelines: Option<u16>,
}

/// A running forwarder.
#[derive(Debug)]
pub(crate) struct Agent {
    inputs: Shutdown,
    senders: Shutdown,
    rest: Shutdown,
    queues: Vec<Arc<DiskQueue>>,
}

impl Agent {
    /// Starts the inputs and outputs of the configuration. Must be called within Tokio.
    ///
    /// # Errors
    /// If the configuration is invalid or the data directory cannot be used; then nothing is running.
    pub(crate) async fn start(
        options: Options,
        knowledge: Arc<Knowledge>,
        clock: Arc<dyn Clock>,
        board: StatusBoard,
    ) -> Result<Self> {
        let (inputs, senders, rest) = (Shutdown::new(), Shutdown::new(), Shutdown::new());
        let mut agent = Self { inputs, senders, rest, queues: Vec::new() };
        match Box::pin(agent.start_parts(options, knowledge, clock, board)).await {
            Ok(()) => Ok(agent),
            Err(error) => {
                // Stopped completely, because another configuration may be started next.
                agent.stop().await;
                Err(error)
            }
        }
    }

    async fn start_parts(
        &mut self,
        options: Options,
        knowledge: Arc<Knowledge>,
        clock: Arc<dyn Clock>,
        board: StatusBoard,
    ) -> Result<()> {
        let data = &options.data;
        let conf = knowledge.conf("outputs");
        for warning in Outputs::warnings(&conf) {
            tracing::warn!("{warning}");
        }
        let outputs = Outputs::read(&conf)?;
        for warning in rule_warnings(&knowledge, &outputs) {
            tracing::warn!("{warning}");
        }
        let process = Process::read(knowledge.layers())?;
        let pipelines = options.pipelines.unwrap_or(process.pipelines);
        let routes = routes(&knowledge, &outputs, &options.host)?;
        let (inputs, rest) = (self.inputs.clone(), self.rest.clone());
        let hello = Hello {
            version: protocol::VERSION,
            forwarder: forwarder_id(data)?.as_bytes().to_vec().into(),
            host: options.host.clone(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            ..Hello::default()
        };
        let compiler = Arc::new(Compiler::new(Arc::clone(&knowledge)));
        let rules_of = |group: &Arc<Group>| {
            let directory = group_directory(data, group);
            Arc::new(IndexerRules::open(Arc::clone(&compiler), &group.name, &directory))
        };
        let parsing: Vec<_> = outputs.groups.iter().map(rules_of).collect();
        let guid = forwarder_id(data)?.to_string();
        let servers_of = |(group, rules): (&Arc<Group>, &Arc<IndexerRules>)| {
            self.start_discovery(discovery::Parts {
                group: Arc::clone(group),
                directory: group_directory(data, group),
                guid: guid.clone(),
                site: process.site.clone(),
                rules: Arc::clone(rules),
                board: board.clone(),
                clock: Arc::clone(&clock),
            })
        };
        let servers: Vec<_> = outputs.groups.iter().zip(&parsing).map(servers_of).collect();
        let mut sets = Vec::new();
        for set in 0..pipelines.max(1) {
            let mut queues = Vec::new();
            let groups = outputs.groups.iter().zip(&parsing).zip(&servers);
            for ((group, rules), servers) in groups {
                let group = (group, rules, servers);
                queues.push(self.start_sender(group, set, &hello, (data, &board))?);
            }
            sets.push(Set::new(queues));
        }
        let rules = RuleBook::new(Arc::clone(&knowledge), outputs.groups.clone());
        let rules = Arc::new(rules);
        let levels = outputs.groups.iter().map(|group| group.compressed.then_some(LEVEL));
        let forward = Arc::new(Forward {
            parsing: parsing.clone(),
            stopping: inputs.clone(),
            clock,
            filter: outputs.filter.clone(),
            rules: Arc::clone(&rules),
            sets,
            levels: levels.collect(),
            sizes: Sizes { batch: BATCH, event: EVENT },
            limits: SinkLimits { queue_wait: Duration::from_secs(10), stream_idle: STREAM_IDLE },
        });
        let (mut files, mut with_files) = (Vec::new(), Vec::new());
        let mut listeners = Vec::new();
        // For an app from the deployment server, `$SPLUNK_HOME/etc/apps/<app>` is the directory of its
        // version.
        let own = OwnDirectories::new([data.clone()]).except([data.join("deployment/versions")]);
        for route in routes {
            // Inputs with checkpoints create it, once there is space.
            let state = data.join("inputs").join(&route.name);
            let status = MonitorStatus::default();
            files.push(status.clone());
            let has_files = !route.configured.monitor.is_empty();
            with_files.push((route.groups.clone(), has_files.then(|| status.clone())));
            let aws = options.aws.clone();
            let parts = configured::Parts { state, aws, files: status, own: own.clone() };
            let sink = Route::new(Arc::clone(&forward), route.groups, &route.name);
            let sink: Arc<dyn Sink> = Arc::new(sink);
            listeners.extend(configured::start(route.configured, &parts, &sink, &inputs).await?);
        }
        rest.spawn(report_inputs(board, (files, listeners), rules, rest.clone()));
        rest.spawn(RulesReport::new(parsing, with_files).run(rest.clone()));
        Ok(())
    }

    /// Returns the indexers of a group. Starts to ask for them if the group does not name them.
    fn start_discovery(&self, parts: discovery::Parts) -> Servers {
        let group = Arc::clone(&parts.group);
        let Some((discovery, servers)) = Discovery::open(parts) else {
            return discovery::fixed(&group);
        };
        self.senders.spawn(discovery.run(self.senders.clone()));
        servers
    }

    /// Starts the sender of a group for a pipeline set; returns its queue.
    fn start_sender(
        &mut self,
        (group, rules, servers): (&Arc<Group>, &Arc<IndexerRules>, &Servers),
        set: u16,
        hello: &Hello,
        (data, board): (&Path, &StatusBoard),
    ) -> Result<Arc<DiskQueue>> {
        let name = format!("{}-{set}", group.name);
        let directory = group_directory(data, group).join(set.to_string());
        let queue = Arc::new(DiskQueue::open(queue_settings(group, &name, &directory))?);
        let hello = Hello {
            channel: queue.channel().as_bytes().to_vec().into(),
            token: group.token.clone(),
            ..hello.clone()
        };
        let sender = Sender::new(SenderParts {
            group: Arc::clone(group),
            servers: servers.clone(),
            queue: Arc::clone(&queue),
            directory,
            name,
            hello,
            rules: Arc::clone(rules),
            board: board.clone(),
        })?;
        self.senders.spawn(sender.run(self.senders.clone()));
        self.queues.push(Arc::clone(&queue));
        Ok(queue)
    }

    /// Stops inputs, then senders; unacknowledged batches stay in the queues.
    pub(crate) async fn stop(self) {
        for (what, part) in [("inputs", &self.inputs), ("senders", &self.senders)] {
            if let Err(error) = part.finish(STOP).await {
                tracing::warn!(%error, what, "not everything stopped in time");
            }
        }
        for queue in &self.queues {
            queue.close();
        }
        // The remaining tasks only write reports.
        let _ = self.rest.finish(Duration::from_secs(2)).await;
    }
}

/// Checks that an agent could run with a configuration.
///
/// # Errors
/// The reason if it could not.
pub(crate) fn check(knowledge: &Knowledge, host: &str) -> Result<()> {
    let outputs = Outputs::read(&knowledge.conf("outputs"))?;
    Process::read(knowledge.layers())?;
    routes(knowledge, &outputs, host).map(drop)
}

/// Inputs with the same output groups.
struct Routed {
    /// Directory of their checkpoints.
    name: String,
    groups: Vec<usize>,
    configured: Configured,
}

/// Groups the inputs of `inputs.conf` by `_TCP_ROUTING`.
fn routes(knowledge: &Knowledge, outputs: &Outputs, host: &str) -> Result<Vec<Routed>> {
    let conf = knowledge.conf("inputs");
    let monitor_settings = MonitorSettings::read(knowledge.layers())?;
    let mut by_routing: BTreeMap<String, Effective> = BTreeMap::new();
    let default = conf.stanza("default");
    for stanza in conf.stanzas.iter().filter(|stanza| stanza.name != "default") {
        let Routing { names: routing, warning } =
            Routing::of(&stanza.name, &conf, knowledge, outputs);
        if let Some(warning) = warning {
            tracing::warn!("{warning}");
        }
        let part = by_routing.entry(routing).or_insert_with(|| Effective {
            conf: conf.conf.clone(),
            stanzas: default.cloned().into_iter().collect(),
        });
        part.stanzas.push(stanza.clone());
    }
    let of_app = |place: &conf::Place| knowledge.layers().is_of_app(place);
    let mut routes = Vec::new();
    for (routing, mut part) in by_routing {
        part.stanzas.sort_by(|a, b| a.name.cmp(&b.name));
        let groups = Routing::groups(&routing, outputs)
            .map_err(|reason| anyhow::anyhow!("inputs.conf: _TCP_ROUTING: {reason}"))?;
        let mut configured =
            Configured::read_tolerating(&part, host, &of_app).map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                anyhow::anyhow!("inputs.conf is invalid:\n{}", errors.join("\n"))
            })?;
        configured.monitor_settings = monitor_settings;
        let has_inputs = !configured.indexes().is_empty();
        if has_inputs && groups.is_empty() {
            anyhow::bail!(
                "inputs without _TCP_ROUTING go to defaultGroup, and [tcpout] in outputs.conf has none"
            );
        }
        let clean = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '+' };
        let name = if routing.is_empty() { "default".into() } else { format!("to-{routing}") };
        routes.push(Routed { name: name.chars().map(clean).collect(), groups, configured });
    }
    Ok(routes)
}

/// Directory of the queues of a group, and of the rules of its indexers.
fn group_directory(data: &Path, group: &Group) -> PathBuf {
    data.join("queue").join(&*group.name)
}

fn queue_settings(group: &Group, name: &str, directory: &Path) -> queue::Settings {
    queue::Settings {
        directory: directory.to_owned(),
        max_size: group.persistent_queue_size,
        segment_size: (group.persistent_queue_size / 8).clamp(256 << 10, 16 << 20),
        memory: group.max_queue_size,
        drop_after: group.drop_on_queue_full,
        name: name.into(),
    }
}

/// Reads the ID in `<data>/forwarder.id`, which is created at the first start.
pub(crate) fn forwarder_id(data: &Path) -> Result<Uuid> {
    let path = data.join("forwarder.id");
    match fs::read_to_string(&path) {
        Ok(text) => Uuid::parse_str(text.trim())
            .with_context(|| format!("{} is damaged; delete it", path.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let id = runtime::random::uuid();
            fs::write(&path, id.to_string())
                .with_context(|| format!("cannot write {}", path.display()))?;
            Ok(id)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

async fn report_inputs(
    board: StatusBoard,
    (files, listeners): (Vec<MonitorStatus>, Vec<String>),
    rules: Arc<RuleBook>,
    shutdown: Shutdown,
) {
    while shutdown.sleep(Duration::from_secs(1)).await {
        let listening = listeners.iter().map(|name| InputStatus {
            name: name.clone(),
            state: "listening".to_owned(),
            position: 0,
            size: 0,
        });
        let mut inputs: Vec<InputStatus> = listening.collect();
        for status in &files {
            inputs.extend(crate::status::of_files(status));
        }
        board.put_inputs(inputs);
        board.put_rules(rules.status());
    }
}
