//! `karst-loadgen`: generated web-shop logs to a file, a HEC or a socket, and the truth about them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use loadgen::sinks::{file, hec, null, tcp};
use loadgen::{Stream, parse, truth};

/// Generated web-shop logs: the same bytes for the same options, every time.
#[derive(Debug, Parser)]
#[command(name = "karst-loadgen", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write lines to a file, or to standard output (-).
    File {
        #[command(flatten)]
        shape: Shape,
        /// Where to.
        path: PathBuf,
    },
    /// Make lines and throw them away, to see how fast that is.
    Null {
        #[command(flatten)]
        shape: Shape,
    },
    /// Send events to an HTTP Event Collector.
    Hec(Box<HecArguments>),
    /// Send lines over TCP.
    Tcp {
        #[command(flatten)]
        shape: Shape,
        /// host:port
        address: String,
    },
    /// Print the true answers of questions, as JSON.
    Truth {
        #[command(flatten)]
        shape: Shape,
        /// count, count:MARKER, markers, hosts, errors, users, latency, user:ID, session:PREFIX,
        /// phrase:TEXT, newest:N; each may end in @FROM..TO.
        #[arg(required = true)]
        questions: Vec<String>,
    },
}

/// Which events, and when.
#[derive(Debug, Args)]
struct Shape {
    /// Another seed gives other events.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many events: 2000000, 500k, 2m.
    #[arg(long, short = 'n', default_value = "100k", value_parser = parse::count)]
    events: u64,
    /// Time of the first event, ISO or epoch seconds. Default: --end less --span.
    #[arg(long)]
    start: Option<String>,
    /// Time after the last event, or now. Default: --start and --span; without --start, now.
    #[arg(long)]
    end: Option<String>,
    /// From start to end: 90s, 10m, 24h, 7d.
    #[arg(long, default_value = "24h", value_parser = parse::span)]
    span: u64,
    /// How many hosts send.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hosts: u32,
    /// Threads that make lines.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

#[derive(Debug, Args)]
struct HecArguments {
    #[command(flatten)]
    shape: Shape,
    /// http://host:8088
    url: String,
    /// The HEC token.
    #[arg(long, env = "KARST_HEC_TOKEN", hide_env_values = true)]
    token: String,
    /// Requests at the same time.
    #[arg(long, default_value_t = 4)]
    connections: usize,
    /// Bytes of text per request.
    #[arg(long, default_value = "1m", value_parser = parse::count)]
    batch: u64,
    /// Lines to /services/collector/raw.
    #[arg(long, conflicts_with = "event")]
    raw: bool,
    /// JSON objects to /services/collector/event (the default).
    #[arg(long)]
    event: bool,
    /// Compress requests.
    #[arg(long)]
    gzip: bool,
    /// Accept any certificate.
    #[arg(long)]
    insecure: bool,
    /// Sourcetype of the events.
    #[arg(long, default_value = "web_shop")]
    sourcetype: String,
    /// Source of the events.
    #[arg(long, default_value = "loadgen")]
    source: String,
    /// Index of the events; the token's if not given.
    #[arg(long)]
    index: Option<String>,
}

impl Shape {
    fn stream(&self) -> Result<Stream> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is off")?;
        let now = i64::try_from(now.as_micros()).context("the clock is off")?;
        let time = |text: &String| if text == "now" { Ok(now) } else { parse::time(text) };
        let start = self.start.as_ref().map(time).transpose()?;
        let end = self.end.as_ref().map(time).transpose()?;
        let back = i64::try_from(self.span).context("--span is too long")?;
        let (start, span) = match (start, end) {
            (Some(start), None) => (start, self.span),
            (None, end) => (end.unwrap_or(now).saturating_sub(back), self.span),
            (Some(start), Some(end)) => {
                let span = u64::try_from(end.saturating_sub(start));
                (start, span.ok().context("--end is before --start")?)
            }
        };
        Ok(Stream { seed: self.seed, events: self.events, start, span, hosts: self.hosts })
    }
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("karst-loadgen: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let report = match command {
        Command::File { shape, path } => file::run(&shape.stream()?, shape.threads, &path)?,
        Command::Null { shape } => null::run(&shape.stream()?, shape.threads)?,
        Command::Tcp { shape, address } => tcp::run(&shape.stream()?, shape.threads, &address)?,
        Command::Hec(arguments) => send(*arguments)?,
        Command::Truth { shape, questions } => {
            println!("{}", truth::answers(&shape.stream()?, &questions)?);
            return Ok(());
        }
    };
    eprintln!("{report}");
    Ok(())
}

fn send(arguments: HecArguments) -> Result<loadgen::sinks::Report> {
    let stream = arguments.shape.stream()?;
    let hec = hec::Hec {
        url: arguments.url,
        token: arguments.token,
        connections: arguments.connections,
        batch: usize::try_from(arguments.batch).context("--batch is too large")?,
        raw: arguments.raw,
        gzip: arguments.gzip,
        insecure: arguments.insecure,
        sourcetype: arguments.sourcetype,
        source: arguments.source,
        index: arguments.index,
    };
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(hec.run(stream))
}
