//! What can be typed after `karst-loadgen`, and what it becomes.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use loadgen::load::AVERAGE_LINE;
use loadgen::pace::{Pace, batch_size};
use loadgen::replay::Span;
use loadgen::search::Searches;
use loadgen::sinks::body::{Framing, Header};
use loadgen::sinks::hec::{AckOptions, Hec};
use loadgen::{Stream, parse};

/// Load for tests: generated web-shop logs (the same bytes for the same options, every time), and real
/// logs repeated with fresh times.
#[derive(Debug, Parser)]
#[command(name = "karst-loadgen", version, about, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print the report as JSON on standard output.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
        #[command(flatten)]
        pacing: Pacing,
        /// host:port
        address: String,
    },
    /// Send syslog messages over TCP.
    Syslog {
        #[command(flatten)]
        shape: Shape,
        #[command(flatten)]
        pacing: Pacing,
        #[command(flatten)]
        syslog: SyslogArguments,
        /// host:port
        address: String,
    },
    /// Repeat real log files with fresh times.
    Replay(Box<ReplayArguments>),
    /// Search again and again, and print how many searches were answered, as JSON.
    Search(Box<SearchArguments>),
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

/// Which events.
#[derive(Debug, Args)]
pub(crate) struct Shape {
    /// Another seed gives other events.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many events: 2000000, 500k, 2m.
    #[arg(long, short = 'n', default_value = "100k", value_parser = parse::count)]
    events: u64,
    #[command(flatten)]
    times: Times,
    /// How many hosts send.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    hosts: u32,
    /// Threads that make lines.
    #[arg(long, default_value_t = 1)]
    pub(crate) threads: usize,
}

/// When events happen.
#[derive(Debug, Args)]
pub(crate) struct Times {
    /// Time of the first event, ISO or epoch seconds. Default: --end less --span.
    #[arg(long)]
    start: Option<String>,
    /// Time after the last event, or now. Default: --start and --span; without --start, now.
    #[arg(long)]
    end: Option<String>,
    /// From start to end: 90s, 10m, 24h, 7d. Default: 24h; of a paced run without --start and --end,
    /// from now for as long as it takes.
    #[arg(long, value_parser = parse::span)]
    span: Option<u64>,
}

/// How fast, how long, over how many connections.
#[derive(Debug, Args)]
pub(crate) struct Pacing {
    /// Megabytes (10^6 bytes) of text per second. Default: as fast as it goes.
    #[arg(long, conflicts_with = "gb_per_day")]
    rate: Option<f64>,
    /// The same in gigabytes (10^9 bytes) per day, as licences count.
    #[arg(long)]
    gb_per_day: Option<f64>,
    /// Stop after this long, whatever is left: 60s, 30m.
    #[arg(long = "for", value_parser = parse::duration)]
    length: Option<Duration>,
    /// Connections at the same time.
    #[arg(long, default_value_t = 4)]
    pub(crate) connections: usize,
    /// Bytes of text per request or write.
    #[arg(long, default_value = "1m", value_parser = parse::count)]
    batch: u64,
}

#[derive(Debug, Args)]
pub(crate) struct SyslogArguments {
    /// How messages are told apart (RFC 6587).
    #[arg(long, value_enum, default_value = "lf")]
    framing: FramingName,
    /// What stands before each line.
    #[arg(long, value_enum, default_value = "priority")]
    header: HeaderName,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FramingName {
    /// By line feeds.
    Lf,
    /// By their length in front.
    Octets,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum HeaderName {
    /// Nothing.
    None,
    /// <134>, as relays forward lines that have a time and a host.
    Priority,
    /// All of RFC 5424's header.
    Rfc5424,
}

#[derive(Debug, Args)]
pub(crate) struct HecArguments {
    #[command(flatten)]
    pub(crate) shape: Shape,
    #[command(flatten)]
    pub(crate) pacing: Pacing,
    /// http://host:8088
    url: String,
    #[command(flatten)]
    options: HecOptions,
    /// Source of the events.
    #[arg(long, default_value = "loadgen")]
    pub(crate) source: String,
    /// Sourcetype of the events.
    #[arg(long, default_value = "web_shop")]
    sourcetype: String,
}

#[derive(Debug, Args)]
struct HecOptions {
    /// The HEC token.
    #[arg(long, env = "KARST_HEC_TOKEN", hide_env_values = true, default_value = "")]
    token: String,
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
    /// Index of the events; the token's if not given.
    #[arg(long)]
    index: Option<String>,
    /// Use a channel per connection and count what the server acknowledges (the token's useACK).
    #[arg(long)]
    ack: bool,
    /// Between two questions for acknowledgements.
    #[arg(long, default_value = "50ms", value_parser = parse::duration)]
    ack_poll: Duration,
    /// What is not acknowledged by then is given up.
    #[arg(long, default_value = "60s", value_parser = parse::duration)]
    ack_timeout: Duration,
    /// Requests of a connection that may be unacknowledged.
    #[arg(long, default_value_t = 64)]
    open: usize,
    /// How long a server that cannot be reached is tried again; what was under way may be there twice.
    #[arg(long, default_value = "0s", value_parser = parse::duration)]
    patience: Duration,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// http://host:8089
    url: String,
    /// The search; {A..B} in it is another number each time.
    search: String,
    /// Who searches.
    #[arg(long, default_value = "admin")]
    user: String,
    /// The user's password.
    #[arg(long, env = "KARST_PASSWORD", hide_env_values = true)]
    password: String,
    /// Clients at the same time, each with one search.
    #[arg(long, default_value_t = 1)]
    clients: usize,
    /// For how long: 10s, 1m.
    #[arg(long = "for", default_value = "10s", value_parser = parse::duration)]
    length: Duration,
    /// Start of the time range.
    #[arg(long)]
    earliest: Option<String>,
    /// End of the time range.
    #[arg(long)]
    latest: Option<String>,
    /// Another seed gives other numbers.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SearchArguments {
    pub(crate) fn searches(&self) -> Searches {
        Searches {
            url: self.url.trim_end_matches('/').to_owned(),
            login: (self.user.clone(), self.password.clone()),
            search: self.search.clone(),
            earliest: self.earliest.clone(),
            latest: self.latest.clone(),
            clients: self.clients,
            length: self.length,
            seed: self.seed,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// Files of log lines.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// How often each line is sent: 1000, 2k.
    #[arg(long, default_value = "1", value_parser = parse::count)]
    pub(crate) scale: u64,
    /// Where to: a directory (one file per file), - (standard output), null, hec:http://host:8088,
    /// tcp:host:port, syslog:host:port.
    #[arg(long)]
    pub(crate) to: String,
    /// Spread lines evenly over the span instead of keeping the gaps between them.
    #[arg(long)]
    pub(crate) even: bool,
    /// Give each repetition other ids: long numbers and hexadecimal words.
    #[arg(long)]
    pub(crate) fresh_ids: bool,
    /// Sourcetype of the events; the server's choice if not given.
    #[arg(long)]
    sourcetype: Option<String>,
    #[command(flatten)]
    pub(crate) times: Times,
    #[command(flatten)]
    pub(crate) pacing: Pacing,
    #[command(flatten)]
    hec: HecOptions,
    #[command(flatten)]
    pub(crate) syslog: SyslogArguments,
}

impl Shape {
    /// The events, at a pace.
    pub(crate) fn stream(&self, pacing: Option<&Pacing>) -> Result<Stream> {
        let bytes = self.events.saturating_mul(AVERAGE_LINE);
        let Span { start, length } = self.times.span(bytes, pacing)?;
        Ok(Stream { seed: self.seed, events: self.events, start, span: length, hosts: self.hosts })
    }
}

impl Times {
    /// The span of so many bytes.
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn span(&self, bytes: u64, pacing: Option<&Pacing>) -> Result<Span> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is off")?;
        let now = i64::try_from(now.as_micros()).context("the clock is off")?;
        let time = |text: &String| if text == "now" { Ok(now) } else { parse::time(text) };
        let start = self.start.as_ref().map(time).transpose()?;
        let end = self.end.as_ref().map(time).transpose()?;
        if let (None, None, None, Some(rate)) =
            (start, end, self.span, pacing.and_then(Pacing::bytes_per_second))
        {
            return Ok(Span { start: now, length: (bytes as f64 / rate * 1e6) as u64 });
        }
        let length = self.span.unwrap_or(86_400_000_000);
        let back = i64::try_from(length).context("--span is too long")?;
        match (start, end) {
            (Some(start), None) => Ok(Span { start, length }),
            (None, end) => Ok(Span { start: end.unwrap_or(now).saturating_sub(back), length }),
            (Some(start), Some(end)) => {
                let length = u64::try_from(end.saturating_sub(start));
                Ok(Span { start, length: length.ok().context("--end is before --start")? })
            }
        }
    }
}

impl Pacing {
    pub(crate) fn bytes_per_second(&self) -> Option<f64> {
        let per_day = self.gb_per_day.map(|gigabytes| gigabytes * 1e9 / 86_400.0);
        self.rate.map(|megabytes| megabytes * 1e6).or(per_day)
    }

    pub(crate) fn pace(&self) -> Result<Pace> {
        let rate = self.bytes_per_second();
        if rate.is_some_and(|rate| !rate.is_finite() || rate <= 0.0) {
            bail!("a rate must be more than nothing");
        }
        Ok(Pace::new(rate, self.length))
    }

    pub(crate) fn batch(&self) -> u64 {
        batch_size(self.batch, self.bytes_per_second())
    }
}

impl SyslogArguments {
    pub(crate) fn framing(&self) -> Framing {
        match self.framing {
            FramingName::Lf => Framing::LineFeed,
            FramingName::Octets => Framing::OctetCount,
        }
    }

    pub(crate) fn header(&self) -> Header {
        match self.header {
            HeaderName::None => Header::None,
            HeaderName::Priority => Header::Priority,
            HeaderName::Rfc5424 => Header::Rfc5424,
        }
    }
}

impl HecOptions {
    fn hec(
        &self,
        url: &str,
        connections: usize,
        sourcetype: Option<&str>,
        raw: bool,
    ) -> Result<Hec> {
        if self.token.is_empty() {
            bail!("no HEC token; give --token or KARST_HEC_TOKEN");
        }
        let acks = AckOptions { poll: self.ack_poll, open: self.open, patience: self.ack_timeout };
        Ok(Hec {
            url: url.to_owned(),
            token: self.token.clone(),
            connections,
            raw,
            gzip: self.gzip,
            insecure: self.insecure,
            sourcetype: sourcetype.map(str::to_owned),
            index: self.index.clone(),
            acks: self.ack.then_some(acks),
            patience: self.patience,
        })
    }
}

impl HecArguments {
    pub(crate) fn hec(&self) -> Result<Hec> {
        let (options, connections) = (&self.options, self.pacing.connections);
        options.hec(&self.url, connections, Some(&self.sourcetype), options.raw)
    }
}

impl ReplayArguments {
    /// Files go to `/raw`, as what cuts and recognises them is the server's, unless `--event` is given.
    pub(crate) fn hec(&self, url: &str) -> Result<Hec> {
        let (options, connections) = (&self.hec, self.pacing.connections);
        options.hec(url, connections, self.sourcetype.as_deref(), !options.event)
    }
}
