//! Runs the parser on mutated searches: `cargo run -p karst-spl --example fuzz -- --seconds 60`.
//!
//! Texts of a corpus (`crates/spectest/corpus`) are mutated for a given time. The program fails with the text
//! if one causes a panic, takes longer than 50 ms or more than 64 MiB of memory, or is accepted but its
//! written form is rejected or has another meaning. The same seed generates the same texts.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use karst_spl::{
    ParseOptions, UnknownMacros, commands, complete, parse, parse_expression, parse_with,
};

/// Maximum time for one text.
const MAX_TIME: Duration = Duration::from_millis(50);
/// Maximum memory for a batch of texts, in addition to the memory before it.
const MAX_MEMORY: usize = 64 << 20;
/// Number of texts after which memory is checked.
const BATCH: usize = 256;
/// Maximum length of a generated text, in bytes.
const MAX_LENGTH: usize = 16 << 10;
/// Number of failures after which the program stops.
const MAX_FAILURES: usize = 10;

fn main() -> ExitCode {
    let Some(settings) = Settings::of_arguments() else {
        eprintln!("usage: fuzz [--seconds N] [--seed N] [--corpus DIR]");
        return ExitCode::from(2);
    };
    let corpus = corpus(&settings.corpus);
    if corpus.is_empty() {
        eprintln!("no searches below {}", settings.corpus.display());
        return ExitCode::from(2);
    }
    // A panic is reported with its text; the backtrace would only show this program.
    std::panic::set_hook(Box::new(|_| {}));
    let mut run = Run { random: Random(settings.seed), words: words(), corpus, failures: 0 };
    let start = Instant::now();
    let (mut texts, mut bytes, mut accepted) = (0_u64, 0_u64, 0_u64);
    let mut slowest = Duration::ZERO;
    while start.elapsed() < settings.time && run.failures < MAX_FAILURES {
        let batch: Vec<String> = (0..BATCH).map(|_| run.text()).collect();
        reset_peak();
        let before = memory("VmRSS:");
        for text in &batch {
            let outcome = run.throw(text);
            accepted += u64::from(outcome.accepted);
            slowest = slowest.max(outcome.time);
            bytes += text.len() as u64;
        }
        texts += BATCH as u64;
        if let (Some(before), Some(peak)) = (before, memory("VmHWM:"))
            && peak.saturating_sub(before) > MAX_MEMORY
        {
            run.find_greedy(&batch);
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "seed {}: {texts} texts ({} MB) in {seconds:.0} s, {:.0} a second, {accepted} accepted, slowest \
         {slowest:?}, {} failures",
        settings.seed,
        bytes / 1_000_000,
        texts as f64 / seconds,
        run.failures
    );
    if run.failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

struct Settings {
    time: Duration,
    seed: u64,
    corpus: PathBuf,
}

impl Settings {
    fn of_arguments() -> Option<Self> {
        let default = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spectest/corpus");
        let mut settings = Self { time: Duration::from_secs(30), seed: 1, corpus: default };
        let mut arguments = std::env::args().skip(1);
        while let Some(name) = arguments.next() {
            let value = arguments.next()?;
            match name.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value.parse().ok()?),
                "--seed" => settings.seed = value.parse().ok()?,
                "--corpus" => settings.corpus = value.into(),
                _ => return None,
            }
        }
        Some(settings)
    }
}

/// Returns the blocks of all `.spl` files in a directory.
fn corpus(directory: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "spl"));
    files.sort();
    let mut texts = Vec::new();
    for text in files.iter().filter_map(|file| std::fs::read_to_string(file).ok()) {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let text = lines.collect::<Vec<_>>().join("\n");
        let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
        texts.extend(blocks.map(str::to_owned));
    }
    texts
}

/// Returns words to insert: all words with a meaning, and texts that are hard to parse.
fn words() -> Vec<String> {
    let hard = [
        "|",
        "[",
        "]",
        "(",
        ")",
        "\"",
        "'",
        "`",
        "```",
        "\\",
        "\\\"",
        "=",
        "!=",
        "<",
        ">=",
        ",",
        "*",
        "$x$",
        "<<FIELD>>",
        "{}",
        "{0}",
        ".",
        "..",
        "-",
        "+",
        "%",
        "/",
        "AND",
        "OR",
        "NOT",
        "XOR",
        "IN",
        "AS",
        "BY",
        "OUTPUT",
        "WHERE",
        "eval(",
        "count",
        "TERM(",
        "CASE(",
        "0",
        "-1",
        "1e309",
        "99999999999999999999",
        "0x",
        "1.2.3",
        "span=1h",
        "limit=0",
        "\u{0}",
        "\u{feff}",
        "ä",
        "漢字",
        "🦀",
        "\u{202e}",
        "\u{300}",
        "\n",
        "\t",
        "\r\n",
        "earliest=-1d@d",
        "@w9",
        "index=*",
        "field=",
        "(((((((((((((((((((((",
        "[[[[[[[[[[",
        "NOT NOT NOT NOT",
        "- - - - -",
        "\"\"",
        "''",
        "|||",
    ];
    let mut words: Vec<String> = hard.iter().map(|word| (*word).to_owned()).collect();
    words.extend(commands::names().map(str::to_owned));
    for command in karst_spl::COMMANDS {
        words.extend(command.options.iter().map(|option| format!("{option}=")));
    }
    words.extend(karst_spl::FUNCTIONS.iter().map(|function| format!("{}(", function.name)));
    words.extend(karst_spl::STATS_FUNCTIONS.iter().map(|function| format!("{}(", function.name)));
    words
}

/// The result for a text.
#[derive(Default)]
struct Outcome {
    accepted: bool,
    time: Duration,
}

struct Run {
    random: Random,
    words: Vec<String>,
    corpus: Vec<String>,
    failures: usize,
}

impl Run {
    /// Returns a text of the corpus after random mutations.
    fn text(&mut self) -> String {
        let mut text = self.any_text();
        for _ in 0..self.random.below(6) + 1 {
            text = self.mutated(text);
        }
        let mut end = text.len().min(MAX_LENGTH);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text
    }

    fn any_text(&mut self) -> String {
        let at = self.random.below(self.corpus.len());
        self.corpus[at].clone()
    }

    fn mutated(&mut self, text: String) -> String {
        let (from, to) = self.piece(&text);
        let (head, piece, tail) = (&text[..from], &text[from..to], &text[to..]);
        match self.random.below(9) {
            0 => [head, tail].concat(),
            1 => [head, piece, piece, tail].concat(),
            2 => {
                let count = self.random.below(200) + 2;
                [head, &piece.repeat(count.min(MAX_LENGTH / (piece.len() + 1) + 1)), tail].concat()
            }
            3 | 4 => {
                let at = self.random.below(self.words.len());
                let blank = if self.random.below(2) == 0 { " " } else { "" };
                [head, blank, &self.words[at], blank, tail].concat()
            }
            5 => {
                let other = self.any_text();
                let (from, to) = self.piece(&other);
                [head, &other[from..to], tail].concat()
            }
            6 => {
                let other = self.any_text();
                let (from, _) = self.piece(&other);
                [head, &other[from..]].concat()
            }
            7 => head.to_owned(),
            _ => {
                let mut changed = head.to_owned();
                let _ = write!(changed, "[ {piece} ]");
                changed + tail
            }
        }
    }

    /// Returns a random part of a text between character boundaries, mostly a short one.
    fn piece(&mut self, text: &str) -> (usize, usize) {
        let boundary = |mut at: usize| {
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            at
        };
        let from = boundary(self.random.below(text.len() + 1));
        let longest = if self.random.below(3) == 0 { text.len() } else { 12 };
        let to = boundary((from + self.random.below(longest + 1)).min(text.len()));
        (from, to.max(from))
    }

    /// Parses a text in all modes.
    fn throw(&mut self, text: &str) -> Outcome {
        let caught = std::panic::catch_unwind(|| check(text));
        let Ok(checked) = caught else {
            self.fail("panic", text);
            return Outcome::default();
        };
        let (mut outcome, wrong) = checked;
        // Another process may have used the processor: only a text that is slow in every attempt counts.
        for _ in 0..3 {
            if outcome.time > MAX_TIME {
                outcome.time = outcome.time.min(check(text).0.time);
            }
        }
        if outcome.time > MAX_TIME {
            self.fail(&format!("slow: {:?}", outcome.time), text);
        }
        if let Some(what) = wrong {
            self.fail(&what, text);
        }
        outcome
    }

    fn find_greedy(&mut self, batch: &[String]) {
        for text in batch {
            reset_peak();
            let before = memory("VmRSS:").unwrap_or(0);
            let _ = check(text);
            let peak = memory("VmHWM:").unwrap_or(0);
            if peak.saturating_sub(before) > MAX_MEMORY {
                self.fail(&format!("memory: {} bytes", peak - before), text);
            }
        }
    }

    fn fail(&mut self, what: &str, text: &str) {
        self.failures += 1;
        println!("{what}\n{text:?}\n");
    }
}

/// The CPU time of this thread if the system provides it, otherwise the elapsed time.
enum Clock {
    Worked(Duration),
    Passed(Instant),
}

impl Clock {
    fn now() -> Self {
        worked().map_or_else(|| Self::Passed(Instant::now()), Self::Worked)
    }

    fn elapsed(&self) -> Duration {
        match self {
            Self::Worked(before) => worked().unwrap_or(*before).saturating_sub(*before),
            Self::Passed(before) => before.elapsed(),
        }
    }
}

fn worked() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// Parses a text, and returns the result and what is wrong with it.
fn check(text: &str) -> (Outcome, Option<String>) {
    let start = Clock::now();
    let parsed = parse(text);
    let time = start.elapsed();
    let opaque = ParseOptions { unknown_macros: UnknownMacros::Opaque, ..ParseOptions::default() };
    let _ = parse_with(text, &opaque);
    let _ = parse_expression(text);
    let _ = complete(text, text.len() / 2);
    let outcome = Outcome { accepted: parsed.is_ok(), time };
    let wrong = match parsed {
        Err(error) if error.0.is_empty() => Some("an error without a message".to_owned()),
        Err(error) => {
            let _ = error.render(text);
            None
        }
        Ok(pipeline) => {
            let written = pipeline.to_string();
            match parse(&written) {
                Err(error) => Some(format!("written as {written:?}, which is refused: {error}")),
                Ok(again) => {
                    let twice = again.to_string();
                    (twice != written).then(|| format!("written as {written:?}, then as {twice:?}"))
                }
            }
        }
    };
    (outcome, wrong)
}

/// Returns a line of `/proc/self/status` in bytes.
fn memory(name: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: usize = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Resets the peak of memory.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// SplitMix64.
struct Random(u64);

impl Random {
    /// Returns a number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }
}
