//! Real logs, repeated with fresh times: `N` times each line of a file, otherwise identical.
//!
//! Every timestamp that a line is known to hold is moved by the same distance, and keeps its form
//! (`stamp`). The gaps between a file's lines are kept, squeezed or stretched into the repetition's
//! share of the span. With fresh ids, long numbers and hexadecimal words change from one repetition to
//! the next (`ids`), the same one in the same way, so that a bigger file also has more distinct terms.
//! Nothing else of a line changes, its line ending included.

mod ids;
mod sample;
mod scan;
pub(crate) mod stamp;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::load::{Line, Load};
pub use sample::Sample;

/// When the repeated lines happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// UTC microseconds of the first line.
    pub start: i64,
    /// Microseconds from there to the end.
    pub length: u64,
}

/// How files are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// How often each line is written.
    pub scale: u64,
    /// Spread lines evenly over the span instead of keeping their gaps.
    pub even: bool,
    /// Give each repetition other ids.
    pub fresh_ids: bool,
    /// Bytes of the batches of the largest file; those of the others are smaller in proportion, so
    /// that all files end together.
    pub batch: u64,
}

/// Files to repeat.
#[derive(Debug)]
pub struct Replay {
    samples: Vec<Sample>,
    span: Span,
    options: Options,
    rounds: u64,
    host: String,
}

impl Replay {
    /// Reads the files.
    ///
    /// # Errors
    /// If one cannot be read or has no line, or if there is none.
    pub fn open<P: AsRef<Path>>(paths: &[P], span: Span, options: Options) -> Result<Self> {
        let read = |path: &P| {
            let path = path.as_ref();
            let text =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            Sample::new(&name, text).with_context(|| format!("{} is empty", path.display()))
        };
        let samples: Vec<Sample> = paths.iter().map(read).collect::<Result<_>>()?;
        let Some(longest) = samples.iter().map(Sample::bytes).max() else {
            bail!("no file to repeat; name at least one");
        };
        let rounds = (longest * options.scale).div_ceil(options.batch.max(1)).max(1);
        Ok(Self { samples, span, options, rounds, host: "replay".to_owned() })
    }

    /// Bytes of all lines that will be written, about: fresh times may be longer or shorter.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.samples.iter().map(Sample::bytes).sum::<u64>() * self.options.scale
    }

    /// The files.
    #[must_use]
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// With another span, for instance one that its size decides.
    #[must_use]
    pub fn over(self, span: Span) -> Self {
        Self { span, ..self }
    }

    fn sample(&self, source: u64) -> &Sample {
        &self.samples[usize::try_from(source).unwrap_or(0)]
    }

    /// Where a round of a source begins, in lines of all repetitions, not within an event.
    fn border(&self, sample: &Sample, round: u64) -> u64 {
        let lines = sample.lines() * self.options.scale;
        let share = u128::from(lines) * u128::from(round) / u128::from(self.rounds);
        let mut line = u64::try_from(share).unwrap_or(u64::MAX);
        while line < lines && line > 0 && !sample.begins_event(line % sample.lines()) {
            line += 1;
        }
        line
    }
}

impl Load for Replay {
    fn batches(&self) -> u64 {
        self.rounds * self.sources()
    }

    fn sources(&self) -> u64 {
        self.samples.len() as u64
    }

    fn source(&self, source: u64) -> &str {
        self.sample(source).name()
    }

    fn visit(&self, batch: u64, each: &mut dyn FnMut(Line<'_>)) {
        let sample = self.sample(batch % self.sources());
        let round = batch / self.sources();
        let mut text = Vec::new();
        for line in self.border(sample, round)..self.border(sample, round + 1) {
            let repetition = line / sample.lines();
            text.clear();
            let placed = sample.write(
                line % sample.lines(),
                repetition,
                self.span,
                &self.options,
                &mut text,
            );
            if let Some(time) = placed {
                each(Line { text: &text, host: &self.host, time });
            }
        }
    }
}
