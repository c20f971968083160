//! Scripted input: the standard output of a program becomes events, its standard error is logged.
//!
//! A run never overlaps the previous run. The program gets a process group of its own, which is asked to end,
//! and then killed, when Karst stops. Output that is not safe when Karst crashes is lost: a program cannot
//! repeat it.

mod schedule;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use jiff::Zoned;
use model::IndexName;
use runtime::process::Ending;
use runtime::{Shutdown, metrics as names};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

pub use schedule::{Cron, Schedule};

use crate::intake::Intake;
use crate::{Error, Input, InputMeta, Sink, StreamKey};

/// The interpreter for Python files that are not executable.
const PYTHON: &str = "python3";
/// Bytes read at once at most.
const CHUNK: usize = 256 << 10;
/// Longest line of complaint that is logged whole.
const COMPLAINT: usize = 4 << 10;
/// Time for which a program may continue after it was asked to end.
const GRACE: Duration = Duration::from_secs(5);
/// The least time between two starts of a program that ends at once.
const BREATH: Duration = Duration::from_secs(1);

/// A program whose output is taken in.
#[derive(Debug, Clone)]
pub struct ScriptInput {
    /// The stanza, for messages.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// When it runs.
    pub schedule: Schedule,
    /// The index of events.
    pub index: IndexName,
    /// The host of events.
    pub host: Arc<str>,
    /// Their source.
    pub source: Arc<str>,
    /// Their format; `None`: recognised.
    pub sourcetype: Option<Arc<str>>,
    /// Environment variables in addition to those of this process.
    pub environment: Vec<(String, String)>,
}

impl ScriptInput {
    /// Runs the program at its times until the signal to stop.
    pub async fn run(self, sink: Arc<dyn Sink>, shutdown: Shutdown) {
        let mut first = true;
        while let Some(pause) = self.pause(first) {
            if !shutdown.sleep(pause).await {
                return;
            }
            first = false;
            let begin = Instant::now();
            match self.run_once(&sink, &shutdown).await {
                Ok(status) => self.tell(status),
                Err(Error::Closed | Error::Unacknowledged) => return,
                Err(error) => {
                    metrics::counter!(names::SCRIPT_RUNS, "outcome" => "failed").increment(1);
                    tracing::warn!(script = %self.name, %error, "a script did not run to completion");
                }
            }
            let rest = match &self.schedule {
                Schedule::Once => return,
                Schedule::Cron(_) => Duration::ZERO,
                Schedule::Every(every) if every.is_zero() => BREATH.saturating_sub(begin.elapsed()),
                Schedule::Every(every) => every.saturating_sub(begin.elapsed()),
            };
            if !shutdown.sleep(rest).await {
                return;
            }
        }
    }

    /// Returns the pause before the next run, without the requirements of an interval.
    #[expect(clippy::disallowed_methods, reason = "cron means the machine's clock and zone")]
    fn pause(&self, first: bool) -> Option<Duration> {
        let Schedule::Cron(cron) = &self.schedule else { return Some(Duration::ZERO) };
        let now = Zoned::now();
        let next = cron.next(&now);
        if next.is_none() && first {
            tracing::warn!(script = %self.name, "no time matches the interval; the script never runs");
        }
        let wait = next?.timestamp().duration_since(now.timestamp());
        Some(Duration::try_from(wait).unwrap_or(Duration::ZERO))
    }

    fn tell(&self, status: ExitStatus) {
        let outcome = if status.success() { "ok" } else { "failed" };
        metrics::counter!(names::SCRIPT_RUNS, "outcome" => outcome).increment(1);
        if status.success() {
            tracing::debug!(script = %self.name, "a script has ended");
        } else {
            tracing::warn!(script = %self.name, %status, "a script has ended with a failure");
        }
    }

    /// Runs the program and sends its output to the sink.
    async fn run_once(
        &self,
        sink: &Arc<dyn Sink>,
        shutdown: &Shutdown,
    ) -> Result<ExitStatus, Error> {
        let fail = |error| Error::read(self.program.display(), error);
        let mut command = Command::new(&self.program);
        if needs_python(&self.program) {
            command = Command::new(PYTHON);
            command.arg(&self.program);
        }
        command
            .args(&self.arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let mut child = command.spawn().map_err(fail)?;
        let group = child.id();
        if let Some(complaints) = child.stderr.take() {
            shutdown.spawn(log_complaints(self.name.clone(), complaints));
        }
        let output = child.stdout.take();
        let taken = tokio::select! {
            taken = self.take(output, Arc::clone(sink)) => taken,
            () = shutdown.stopped() => {
                end_group(&mut child, group).await;
                return Err(Error::Closed);
            }
        };
        if taken.is_err() {
            end_group(&mut child, group).await;
            taken?;
        }
        let ended = tokio::select! {
            ended = child.wait() => ended.map_err(fail),
            () = shutdown.stopped() => {
                end_group(&mut child, group).await;
                Err(Error::Closed)
            }
        };
        ended
    }

    async fn take(&self, output: Option<ChildStdout>, sink: Arc<dyn Sink>) -> Result<(), Error> {
        let Some(output) = output else { return Ok(()) };
        let meta = Arc::new(InputMeta {
            index: self.index.clone(),
            host: Arc::clone(&self.host),
            source: Arc::clone(&self.source),
            sourcetype: self.sourcetype.clone(),
        });
        let stream =
            StreamKey(format!("{}:{}", self.name, runtime::random::time_ordered_uuid()).into());
        take_stream(output, meta, stream, sink).await
    }
}

/// Whether a program is a Python file that the system cannot execute: apps have such files, because Splunk
/// runs every `.py` file with its own Python.
fn needs_python(program: &Path) -> bool {
    let is_python = program.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("py"));
    let mode = || program.metadata().map(|metadata| metadata.permissions().mode());
    is_python && mode().is_ok_and(|mode| mode & 0o111 == 0)
}

/// Takes in a stream of lines to its end; an event that waits for more is complete when the stream
/// is silent for as long as the sink allows.
pub(crate) async fn take_stream(
    mut from: impl AsyncReadExt + Unpin,
    origin: Arc<InputMeta>,
    stream: StreamKey,
    sink: Arc<dyn Sink>,
) -> Result<(), Error> {
    let idle = sink.limits().stream_idle;
    let mut intake = Intake::new(sink);
    let mut unfinished = false;
    loop {
        let mut chunk = BytesMut::with_capacity(CHUNK);
        let read = match tokio::time::timeout(idle, from.read_buf(&mut chunk)).await {
            Err(_) if !unfinished => continue,
            Err(_) => None,
            Ok(read) => Some(read),
        };
        let (bytes, end) = match &read {
            None => (Bytes::new(), true),
            Some(Ok(0) | Err(_)) => (Bytes::new(), true),
            Some(Ok(_)) => (chunk.freeze(), false),
        };
        unfinished = !end;
        let (origin, stream) = (Arc::clone(&origin), stream.clone());
        intake.push(Input::Raw { origin, stream, bytes, modified: None, end }).await?;
        match read {
            Some(Ok(0)) => return intake.settle().await,
            Some(Err(error)) => {
                intake.settle().await?;
                return Err(Error::read("a pipe", error));
            }
            _ => {}
        }
    }
}

async fn log_complaints(script: String, complaints: ChildStderr) {
    let mut reader = BufReader::new(complaints);
    let mut line = Vec::new();
    loop {
        line.clear();
        match reader.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(line.trim_ascii_end());
        let shown: String = text.chars().take(COMPLAINT).collect();
        let cut = text.len() - shown.len();
        tracing::warn!(%script, cut_bytes = cut, "script: {shown}");
    }
}

/// Asks the program and everything it started to end, and makes them.
async fn end_group(child: &mut Child, group: Option<u32>) {
    let Some(group) = group else { return };
    signal(group, Ending::Ask);
    if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
        signal(group, Ending::Kill);
        if let Err(error) = child.wait().await {
            tracing::warn!(%error, "a script cannot be ended");
        }
    }
}

fn signal(group: u32, ending: Ending) {
    if let Err(error) = runtime::process::end_group(group, ending) {
        tracing::warn!(%error, group, "cannot signal a script");
    }
}
