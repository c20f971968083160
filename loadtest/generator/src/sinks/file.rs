//! Lines into files, or onto standard output.

use std::fs::File;
use std::io::{Write, stdout};
use std::path::Path;

use anyhow::{Context, Result};

use super::body::Form;
use super::{Report, Started};
use crate::event::Stream;
use crate::load::Load;
use crate::pace::Pace;
use crate::produce;

/// Writes every line to `path`, or to standard output if it is `-`.
///
/// # Errors
/// If the file cannot be created or written.
pub fn run(stream: &Stream, threads: usize, path: &Path) -> Result<Report> {
    let started = Started::now();
    let cannot = || format!("cannot write {}", path.display());
    let mut out = open(path)?;
    let mut bytes = 0;
    produce::ordered(stream, threads, |chunk| {
        bytes += chunk.len() as u64;
        out.write_all(chunk).with_context(cannot)
    })?;
    out.flush().with_context(cannot)?;
    Ok(Report::since(&started, stream.events, bytes))
}

/// Writes each source of a load to a file of its name in a directory, all side by side, as loggers
/// would; everything to standard output if it is `-`.
///
/// # Errors
/// If a file cannot be created or written.
pub fn folder(load: &dyn Load, pace: &Pace, directory: &Path) -> Result<Report> {
    let started = Started::now();
    let cannot = || format!("cannot write below {}", directory.display());
    let everything = directory == Path::new("-");
    if !everything {
        std::fs::create_dir_all(directory).with_context(cannot)?;
    }
    let files = if everything { 1 } else { load.sources() };
    let open = |source| match everything {
        true => open(directory),
        false => open(&directory.join(load.source(source))),
    };
    let mut files: Vec<_> = (0..files).map(open).collect::<Result<_>>()?;
    let (mut events, mut bytes) = (0, 0);
    let mut text = Vec::new();
    for batch in 0..load.batches() {
        text.clear();
        let contents = Form::Lines.write(load, batch, &mut text);
        let Some(wait) = pace.place(contents.bytes) else { break };
        std::thread::sleep(wait);
        let file = usize::try_from(batch % files.len() as u64)?;
        files[file].write_all(&text).with_context(cannot)?;
        events += contents.events;
        bytes += contents.bytes;
    }
    files.iter_mut().try_for_each(|file| file.flush().with_context(cannot))?;
    Ok(Report::since(&started, events, bytes))
}

fn open(path: &Path) -> Result<Box<dyn Write>> {
    if path == Path::new("-") {
        return Ok(Box::new(stdout().lock()));
    }
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Box::new(file))
}
