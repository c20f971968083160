//! Extracts searches from files, by the kind of file.
//!
//! Guarantees: each search has the line on which it begins. It does not check whether it is valid.

mod json;
mod xml;
mod yaml;

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use conf::ConfFile;

use crate::config::FileKind;

/// The format of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A whole search.
    Search,
    /// The definition of a macro: any part of a search.
    Fragment,
    /// The definition of an `iseval` macro.
    Expression,
}

/// A search found in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file name as given.
    pub(crate) file: String,
    /// The line it begins at, from 1.
    pub(crate) line: usize,
    /// Whether its lines are lines of the file.
    pub(crate) lines_match: bool,
    /// Its name in the file; may be empty.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) reading: Reading,
}

/// Configuration files of an app that contain searches.
const CONFS: [&str; 3] = ["savedsearches.conf", "macros.conf", "eventtypes.conf"];

/// The first bytes of gzip files.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads the searches of files, of files below directories, and of standard input.
pub(crate) fn read(
    paths: &[PathBuf],
    kind: Option<FileKind>,
    multiline: bool,
) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
            let text = String::from_utf8_lossy(&bytes);
            found.extend(of("-", &text, kind.unwrap_or(FileKind::Text), multiline)?);
        } else if path.is_dir() {
            let mut files = Vec::new();
            walk(path, &mut files)?;
            for file in files {
                match read_text(&file)? {
                    Some(text) => found.extend(of_file(&file, &text, kind, multiline)?),
                    None => eprintln!("karst: skipped {}", not_text(&file)),
                }
            }
        } else {
            let text = read_text(path)?.with_context(|| not_text(path))?;
            found.extend(of_file(path, &text, kind, multiline)?);
        }
    }
    Ok(found)
}

/// Reads a file; `None` if it is not text, such as a packed app, whose suffix may be that of searches.
fn read_text(path: &Path) -> Result<Option<String>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_text = !bytes.starts_with(&GZIP) && !bytes.contains(&0);
    Ok(is_text.then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

/// What a file is that is not text, and what to do.
fn not_text(path: &Path) -> String {
    let path = path.display();
    format!(
        "{path}: not a text; to check the searches of a packed app, unpack it and give its directory"
    )
}

fn of_file(path: &Path, text: &str, kind: Option<FileKind>, multiline: bool) -> Result<Vec<Found>> {
    let kind = kind.or_else(|| kind_of(path)).unwrap_or(FileKind::Text);
    of(&path.display().to_string(), text, kind, multiline)
}

/// The files below a directory that may contain searches, sorted by name.
fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let fail = || format!("cannot read {}", directory.display());
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(fail)? {
        entries.push(entry.with_context(fail)?.path());
    }
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, files)?;
            continue;
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let wanted = match kind_of(&path) {
            Some(FileKind::Conf) => CONFS.contains(&name),
            Some(_) => true,
            None => name.ends_with(".spl"),
        };
        if wanted {
            files.push(path);
        }
    }
    Ok(())
}

fn kind_of(path: &Path) -> Option<FileKind> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "conf" => FileKind::Conf,
        "xml" => FileKind::Xml,
        "json" => FileKind::Json,
        "jsonl" | "ndjson" => FileKind::Jsonl,
        "yml" | "yaml" => FileKind::Yaml,
        _ => return None,
    })
}

/// Returns the searches of a text of this kind.
///
/// # Errors
/// If it is not valid YAML.
pub(crate) fn of(file: &str, text: &str, kind: FileKind, multiline: bool) -> Result<Vec<Found>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut found = match kind {
        FileKind::Conf => conf(text),
        FileKind::Xml => xml::searches(text),
        FileKind::Json => json::searches(text),
        FileKind::Jsonl => json::lines(text),
        FileKind::Yaml => yaml::searches(text).with_context(|| format!("cannot read {file}"))?,
        FileKind::Text if multiline => blocks(text),
        FileKind::Text => lines(text),
    };
    found.retain(|search| !search.text.trim().is_empty());
    found.iter_mut().for_each(|search| search.file = file.to_owned());
    Ok(found)
}

/// A search without a file name yet.
pub(crate) fn search(line: usize, name: &str, text: impl Into<String>) -> Found {
    Found {
        file: String::new(),
        line,
        lines_match: true,
        name: name.to_owned(),
        text: text.into(),
        reading: Reading::Search,
    }
}

fn conf(text: &str) -> Vec<Found> {
    let file = ConfFile::parse("", text);
    let mut found = Vec::new();
    for stanza in &file.stanzas {
        let is_eval =
            stanza.get("iseval").and_then(|entry| conf::boolean(&entry.value)) == Some(true);
        for entry in &stanza.entries {
            let reading = match (entry.key.as_str(), is_eval) {
                ("search", _) => Reading::Search,
                ("definition", false) => Reading::Fragment,
                ("definition", true) => Reading::Expression,
                _ => continue,
            };
            let line = entry.place.line as usize;
            found.push(Found { reading, ..search(line, &stanza.name, entry.value.as_str()) });
        }
    }
    found
}

fn lines(text: &str) -> Vec<Found> {
    let numbered = (1..).zip(text.lines()).filter(|(_, line)| !line.starts_with('#'));
    numbered.map(|(number, line)| search(number, "", line)).collect()
}

fn blocks(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            open = false;
            continue;
        }
        match found.last_mut().filter(|_| open) {
            Some(block) => {
                block.text.push('\n');
                block.text.push_str(line);
            }
            None => found.push(search(number, "", line)),
        }
        open = true;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conf_files_give_searches_and_definitions_with_their_lines() {
        let text = "[a]\nsearch = index=x \\\n| head\n[m(1)]\ndefinition = x=$a$\n[e]\n\
                    definition = if(1,2,3)\niseval = 1\n[p]\nother = 1";
        let found = of("f", text, FileKind::Conf, false).expect("text");
        let shown = found.iter().map(|s| (s.line, s.name.as_str(), s.reading));
        let wanted = [
            (2, "a", Reading::Search),
            (5, "m(1)", Reading::Fragment),
            (7, "e", Reading::Expression),
        ];
        assert_eq!(shown.collect::<Vec<_>>(), wanted);
        assert_eq!(found[0].text, "index=x \n| head");
    }

    #[test]
    fn packed_apps_are_not_read_as_text() {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let packed = write("packed.spl", b"\x1f\x8bindex=a\n");
        let tar = write("tar.spl", b"ta/default/app.conf\0\0\n");
        write("text.spl", "index=b # \u{e4}\n".as_bytes());
        let found = read(&[folder.path().to_owned()], None, false).expect("read");
        let files: Vec<&str> = found.iter().map(|search| search.file.as_str()).collect();
        assert_eq!(files, [folder.path().join("text.spl").to_str().expect("a name")]);
        for path in [packed, tar] {
            let error = read(&[path], None, false).expect_err("not a text").to_string();
            assert!(error.contains("unpack it"), "{error}");
        }
    }

    #[test]
    fn plain_text_is_a_search_a_line_or_a_block() {
        let text = "# one\nindex=a\n| head\n\n\nindex=b\n";
        let texts = |multiline| {
            let found = of("f", text, FileKind::Text, multiline).expect("text");
            found.into_iter().map(|s| (s.line, s.text)).collect::<Vec<_>>()
        };
        let line = |number: usize, text: &str| (number, text.to_owned());
        assert_eq!(texts(false), [line(2, "index=a"), line(3, "| head"), line(6, "index=b")]);
        assert_eq!(texts(true), [line(2, "index=a\n| head"), line(6, "index=b")]);
    }
}
