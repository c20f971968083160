//! A running program: its process group, limits, environment, pipes, and its end.
//!
//! Guarantees: the group is killed when the [`Process`] is dropped, whether the run ended, failed, was
//! cancelled or timed out. A shell sets the limits before it executes the program, so that they apply from
//! its first instruction; the sandbox already applies to the shell.

use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use runtime::process::Ending;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;

use crate::error::Error;
use crate::modules;
use crate::sandbox;
use crate::settings::{PATH, Sandbox, Settings};

/// Sets limits and executes the program. If a limit cannot be set, the system already has a lower one.
const LIMITED: &str = "ulimit -c 0; ulimit -v \"$1\" 2>/dev/null; ulimit -f \"$2\" 2>/dev/null; \
                       shift 2; exec \"$@\"";
/// Size in bytes of the blocks of `ulimit -f`.
const FILE_BLOCK: u64 = 512;
/// Maximum length of the first line of an answer.
const LINE: u64 = 256;
/// Maximum number of bytes per read from stderr.
const COMPLAINT_CHUNK: usize = 4 << 10;
/// Time limit for reading the rest of stderr after the program has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// What the system says of a file that the sandbox denies.
const DENIED: &str = "Permission denied";
/// The settings that grant more to a program.
const HINT: &str = " (if the sandbox is the reason: sandbox_read, sandbox_write and sandbox_network in \
                    limits.conf [scripts] allow more)";

/// A program of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The name in messages, such as `the command "x"`.
    pub label: String,
    /// The file. A `.py` file is run by the configured interpreter, other files by their `#!` line.
    pub file: PathBuf,
    /// Arguments before those of the search (`command.arg.<n>`).
    pub arguments: Vec<String>,
    /// Its environment variables (`SPLUNK_HOME`, ...); none are inherited.
    pub environment: Vec<(String, String)>,
}

impl Script {
    /// The description of the program in messages.
    pub(crate) fn described(&self) -> String {
        format!("{} ({})", self.label, self.file.display())
    }

    fn is_python(&self) -> bool {
        self.file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("py"))
    }
}

/// Why there is no valid answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The program closed its output.
    End,
    /// The first line is not that of an answer.
    Header(String),
    /// The output exceeds this number of bytes, limited by this setting.
    TooLarge(u64, &'static str),
    /// The pipe fails.
    Pipe(std::io::Error),
}

/// A running program.
#[derive(Debug)]
pub(crate) struct Process {
    program: String,
    child: Child,
    group: Option<u32>,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    complaints: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
    printed: u64,
    output_bytes: u64,
    end_time: Duration,
    is_restricted: bool,
}

impl Process {
    /// Starts a program. `scratch` is the working directory of the run, where it may write files.
    pub(crate) fn start(
        script: &Script,
        arguments: &[String],
        scratch: &Path,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let program = script.described();
        if !script.file.is_file() {
            return Err(Error::Missing { program });
        }
        if settings.sandbox == Sandbox::Required
            && let Some(reason) = settings.unrestricted()
        {
            return Err(Error::Unrestricted { program, reason });
        }
        let failed = |source| Error::Start { program: script.described(), source };
        // The run has a directory of its own, so a path below a relative data or configuration directory
        // must be absolute.
        let file = std::path::absolute(&script.file).map_err(failed)?;
        let mut command = tokio::process::Command::new("/bin/sh");
        command.args(["-c", LIMITED, "sh"]);
        command.arg((settings.memory_bytes >> 10).to_string());
        command.arg((settings.file_bytes / FILE_BLOCK).to_string());
        if script.is_python() {
            command.arg(&settings.python);
        }
        command.arg(&file).args(&script.arguments).args(arguments);
        command
            .current_dir(file.parent().unwrap_or(Path::new("/")))
            .env_clear()
            .env("PATH", PATH)
            .env("LANG", "C.UTF-8")
            .env("HOME", scratch)
            .env("TMPDIR", scratch)
            // Directories of apps belong to the administrator: a run must not write bytecode into them.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONIOENCODING", "utf-8")
            .envs(script.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if script.is_python() {
            command.env("PYTHONPATH", modules::write(scratch).map_err(failed)?);
        }
        let is_restricted = settings.is_restricted();
        let started = match is_restricted {
            true => sandbox::spawn(command, &file, scratch, settings),
            false => command.spawn(),
        };
        let mut child = started.map_err(failed)?;
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(output), Some(errors)) = (output, errors) else {
            return Err(failed(std::io::Error::other("it has no pipes")));
        };
        let complaints = Arc::new(Mutex::new(Vec::new()));
        // Ends when the last process of the group has ended; the group is killed with the run.
        let listener =
            runtime::detached(listen(errors, Arc::clone(&complaints), settings.complaint_bytes));
        Ok(Self {
            program,
            group: child.id(),
            child,
            input,
            output: BufReader::new(output),
            complaints,
            listener,
            printed: 0,
            output_bytes: settings.output_bytes,
            end_time: settings.end_time,
            is_restricted,
        })
    }

    /// Sends a request and reads the answer in protocol 2: metadata and body.
    pub(crate) async fn exchange(
        &mut self,
        parts: &[&[u8]],
        most: u64,
        setting: &'static str,
    ) -> Result<(Vec<u8>, Vec<u8>), Broken> {
        let Self { input, output, printed, output_bytes, .. } = self;
        let send = async {
            // If the program does not read all input, it has either answered or ended, which the reader
            // notices.
            let _ = send(input.as_mut(), parts).await;
            Ok(())
        };
        let receive = async {
            let (metadata, body) = read_header(output).await?;
            let bytes = metadata.saturating_add(body);
            if bytes > most {
                return Err(Broken::TooLarge(most, setting));
            }
            *printed += bytes;
            if *printed > *output_bytes {
                return Err(Broken::TooLarge(*output_bytes, OUTPUT_SETTING));
            }
            Ok((read_bytes(output, metadata).await?, read_bytes(output, body).await?))
        };
        let ((), answer) = tokio::try_join!(send, receive)?;
        Ok(answer)
    }

    /// Sends all input and reads all output until the program closes it.
    pub(crate) async fn converse(
        &mut self,
        parts: &[&[u8]],
        most: u64,
        setting: &'static str,
    ) -> Result<Vec<u8>, Broken> {
        let mut input = self.input.take();
        let output = &mut self.output;
        let send = async move {
            let _ = send(input.as_mut(), parts).await;
            Ok(())
        };
        let receive = async {
            let mut printed = Vec::new();
            output.take(most + 1).read_to_end(&mut printed).await.map_err(Broken::Pipe)?;
            if printed.len() as u64 > most {
                return Err(Broken::TooLarge(most, setting));
            }
            Ok(printed)
        };
        let ((), printed) = tokio::try_join!(send, receive)?;
        Ok(printed)
    }

    /// Closes the input and waits until the program ends. Kills it if that takes too long.
    pub(crate) async fn end(&mut self) -> Result<ExitStatus, Error> {
        self.input = None;
        let output = &mut self.output;
        // Output after the last answer is discarded; if it were not read, a full pipe would block the
        // program.
        let drain = async { tokio::io::copy(output, &mut tokio::io::sink()).await };
        let child = &mut self.child;
        let ended = tokio::time::timeout(self.end_time, async {
            let (_, ended) = tokio::join!(drain, child.wait());
            ended
        });
        let ended = match ended.await {
            Ok(ended) => ended,
            Err(_) => {
                self.kill();
                self.child.wait().await
            }
        };
        let ended =
            ended.map_err(|source| Error::Start { program: self.program.clone(), source })?;
        // Kills remaining child processes now: later, the process group ID may have been reused.
        self.kill();
        self.group = None;
        Ok(ended)
    }

    /// The error for a program without a valid answer. `said` is its own error message, if there is one.
    pub(crate) async fn failed(&mut self, broken: Broken, said: String) -> Error {
        let program = self.program.clone();
        match broken {
            Broken::End => match self.end().await {
                Ok(status) => self.ended(status, said).await,
                Err(error) => error,
            },
            Broken::Header(line) => Error::Header { program, line, said: self.complaint().await },
            Broken::TooLarge(limit, setting) => Error::TooLarge { program, limit, setting },
            Broken::Pipe(source) => Error::Start { program, source },
        }
    }

    /// The error for a program that ended with this status.
    pub(crate) async fn ended(&mut self, status: ExitStatus, said: String) -> Error {
        let said = if said.is_empty() { self.complaint().await } else { said };
        let said = hinted(said, self.is_restricted);
        Error::of_end(self.program.clone(), described(status), said)
    }

    /// The error for a program that did not answer in time.
    pub(crate) async fn silent(&mut self, after: Duration, setting: &'static str) -> Error {
        let seconds = after.as_secs();
        let said = self.complaint().await;
        Error::Silent { program: self.program.clone(), seconds, setting, said }
    }

    /// The end of stderr. Kills the program first.
    async fn complaint(&mut self) -> String {
        self.kill();
        let _ = tokio::time::timeout(LAST_WORDS, &mut self.listener).await;
        String::from_utf8_lossy(&self.complaints.lock()).trim().to_owned()
    }

    fn kill(&self) {
        // A group that has already ended is not an error.
        if let Some(group) = self.group {
            let _ = runtime::process::end_group(group, Ending::Kill);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a program said, with the settings that grant more if the sandbox may be the reason.
pub(crate) fn hinted(mut said: String, is_restricted: bool) -> String {
    if is_restricted && said.contains(DENIED) {
        said += HINT;
    }
    said
}

/// The name of the setting of [`Settings::output_bytes`].
pub(crate) const OUTPUT_SETTING: &str = "max_output_mb in limits.conf [scripts]";

async fn send(input: Option<&mut ChildStdin>, parts: &[&[u8]]) -> std::io::Result<()> {
    let Some(input) = input else { return Ok(()) };
    for part in parts {
        input.write_all(part).await?;
    }
    input.flush().await
}

/// Parses the lengths of metadata and body in the first line of an answer.
async fn read_header(output: &mut BufReader<ChildStdout>) -> Result<(u64, u64), Broken> {
    let mut line = Vec::new();
    output.take(LINE).read_until(b'\n', &mut line).await.map_err(Broken::Pipe)?;
    if line.is_empty() {
        return Err(Broken::End);
    }
    let text = String::from_utf8_lossy(line.trim_ascii()).into_owned();
    let lengths = text.strip_prefix("chunked").and_then(|rest| {
        let (version, lengths) = rest.trim_start().split_once(',')?;
        let (metadata, body) = lengths.split_once(',')?;
        let length = |text: &str| text.trim().parse::<u64>().ok();
        (version.trim() == "1.0").then_some((length(metadata)?, length(body)?))
    });
    lengths.filter(|_| line.ends_with(b"\n")).ok_or(Broken::Header(text))
}

/// Reads bytes; memory grows with the received data, not with the stated length.
async fn read_bytes(output: &mut BufReader<ChildStdout>, length: u64) -> Result<Vec<u8>, Broken> {
    let mut bytes = Vec::new();
    output.take(length).read_to_end(&mut bytes).await.map_err(Broken::Pipe)?;
    if (bytes.len() as u64) < length { Err(Broken::End) } else { Ok(bytes) }
}

/// Keeps the last bytes of stderr.
async fn listen(mut errors: ChildStderr, kept: Arc<Mutex<Vec<u8>>>, most: usize) {
    let mut chunk = vec![0; COMPLAINT_CHUNK];
    while let Ok(read @ 1..) = errors.read(&mut chunk).await {
        let mut kept = kept.lock();
        kept.extend_from_slice(&chunk[..read]);
        let surplus = kept.len().saturating_sub(most);
        kept.drain(..surplus);
    }
}

fn described(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => "for an unknown reason".to_owned(),
    }
}
