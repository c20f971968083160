//! Searches as users write them. Their results are not checked: each one has to be parsed, planned and run,
//! with the events and the knowledge objects of `corpus/world.spec`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use knowledge::Knowledge;
use plan::PlanContext;

use crate::memory::Memory;
use crate::run::{context, search};
use crate::spec::{Block, parse};
use crate::topology::Topology;

/// A search of the corpus.
#[derive(Debug, Clone)]
pub struct CorpusSearch {
    /// File and line.
    pub place: String,
    /// SPL.
    pub text: String,
}

/// The searches of all `.spl` files of a directory: one per paragraph, without lines that begin with `#`.
///
/// # Errors
/// If a file cannot be read.
pub fn corpus(directory: &Path) -> Result<Vec<CorpusSearch>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = std::fs::read_dir(directory).map_err(failed)?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "spl"));
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).map_err(failed)?;
        found.extend(paragraphs(&file.display().to_string(), &text));
    }
    Ok(found)
}

fn paragraphs(name: &str, text: &str) -> Vec<CorpusSearch> {
    let mut found: Vec<CorpusSearch> = Vec::new();
    let mut open = false;
    for (line, text) in text.lines().enumerate() {
        if text.trim().is_empty() || text.starts_with('#') {
            open = false;
            continue;
        }
        match found.last_mut().filter(|_| open) {
            Some(search) => {
                search.text.push('\n');
                search.text.push_str(text);
            }
            None => found.push(CorpusSearch {
                place: format!("{name}:{}", line + 1),
                text: text.to_owned(),
            }),
        }
        open = true;
    }
    found
}

/// The events and configuration for the searches of the corpus.
#[derive(Debug)]
pub struct World {
    context: PlanContext,
}

impl World {
    /// Reads the first block of a spec file.
    ///
    /// # Errors
    /// If the file cannot be read or has no block.
    pub async fn read(file: &Path, topology: &dyn Topology) -> Result<Self, String> {
        let name = file.display();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        Self::of(&text, topology).await.map_err(|error| format!("{name}: {error}"))
    }

    /// Loads the first block of the text of a spec file.
    ///
    /// # Errors
    /// If the text is not a valid spec file or has no block.
    pub async fn of(text: &str, topology: &dyn Topology) -> Result<Self, String> {
        let blocks = parse(text).map_err(|error| error.to_string())?;
        let block: &Block = blocks.first().ok_or("there is no block")?;
        let builtin = Arc::new(Knowledge::builtin());
        Ok(Self { context: context(block, topology, &builtin).await? })
    }

    /// The context for planning searches.
    #[must_use]
    pub fn context(&self) -> &PlanContext {
        &self.context
    }

    /// Runs a search to its end; returns the number of rows.
    ///
    /// # Errors
    /// The message that a user would see.
    pub async fn run(&self, text: &str) -> Result<usize, String> {
        search(text, &self.context, &Memory::Whole).await.map(|found| found.rows.len())
    }
}
