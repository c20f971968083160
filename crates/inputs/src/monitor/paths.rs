//! The files that a path of `[monitor://...]` and `[batch://...]` matches.
//!
//! `*` stands for any part of one name, `...` for any part of the path; a path that ends in a plain
//! name stands for that file, or for everything below that directory.

use std::fs;
use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashSet};
use knowledge::Pattern;

use super::place::{FileId, Seen};
use super::target::MonitorTarget;
use crate::OwnDirectories;

/// Deeper than that is a loop of links.
const DEEPEST: usize = 64;

/// A path with wildcards, compiled.
#[derive(Debug, Clone)]
pub(crate) struct PathPattern {
    /// The directory, or the file, before the first wildcard.
    pub(crate) base: PathBuf,
    /// Patterns of the names below the base, up to the first `...`.
    levels: Vec<Pattern>,
    /// Pattern of the whole path; `None` if it has no wildcard.
    whole: Option<Pattern>,
    /// Maximum depth of a file below the base.
    deepest: usize,
    /// Whether a matching directory includes everything below it.
    descends: bool,
}

impl PathPattern {
    /// # Errors
    /// The error of the regular expression compiler.
    pub(crate) fn compile(text: &str) -> Result<Self, String> {
        let wild = |name: &&str| name.contains('*') || name.contains("...");
        let names: Vec<&str> = text.split('/').collect();
        let first = names.iter().position(wild).unwrap_or(names.len());
        let plain = names[..first].join("/");
        let base = if plain.is_empty() && first > 0 { "/".to_owned() } else { plain };
        let mut pattern = Self {
            base: PathBuf::from(if base.is_empty() { ".".to_owned() } else { base }),
            levels: Vec::new(),
            whole: None,
            deepest: DEEPEST,
            descends: true,
        };
        if first == names.len() {
            return Ok(pattern);
        }
        let wild_part = &names[first..];
        pattern.descends = !wild_part.last().is_some_and(wild);
        let below = if pattern.descends { "(?:/.*)?" } else { "" };
        pattern.whole = Some(Pattern::compile(&format!("^{}{below}$", translate(text)))?);
        for name in wild_part.iter().take_while(|name| !name.contains("...")) {
            pattern.levels.push(Pattern::compile(&format!("^{}$", translate(name)))?);
        }
        if pattern.levels.len() == wild_part.len() && !pattern.descends {
            pattern.deepest = wild_part.len();
        }
        Ok(pattern)
    }

    pub(crate) fn takes(&self, path: &Path) -> bool {
        match &self.whole {
            Some(whole) => whole.is_match(&path.to_string_lossy()),
            None => path.starts_with(&self.base),
        }
    }
}

fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            out.push_str(".*");
            rest = after;
            continue;
        }
        match c {
            '*' => out.push_str("[^/]*"),
            c if c.is_ascii_punctuation() && c != '/' && c != '_' => out.extend(['\\', c]),
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// A link to a file.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) path: PathBuf,
    /// The target it belongs to.
    pub(crate) number: usize,
    /// The file it leads to.
    pub(crate) id: FileId,
}

/// The files and directories that a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Files, with the number of the target they belong to.
    pub(crate) files: Vec<(PathBuf, Seen, usize)>,
    /// Directories in which files may appear.
    pub(crate) directories: Vec<PathBuf>,
    /// Files that links lead to, by their paths without links.
    pub(crate) links: HashMap<PathBuf, Link>,
    /// Files of a target that were found through links. They come after the others: a file that also has a
    /// name without links is known by that name.
    linked: Vec<(PathBuf, Seen, usize)>,
    /// Directories that a link behind another link led to, by target.
    entered: HashSet<(usize, FileId)>,
    /// Directories of the program that it met and left out.
    pub(crate) left_out: Vec<PathBuf>,
    own: OwnDirectories,
}

impl Walk {
    /// A walk that leaves the directories of the program out, except for the targets that are the program's.
    pub(crate) fn without(own: OwnDirectories) -> Self {
        Self { own, ..Self::default() }
    }

    /// Adds all files of a target, in the order of their names; files that were found through links come
    /// last.
    pub(crate) fn target(&mut self, number: usize, target: &MonitorTarget) {
        let base = &target.pattern.base;
        let Ok(metadata) = fs::metadata(base) else {
            // It may be created: its directory reports that.
            self.directories.extend(base.parent().map(Path::to_owned));
            return;
        };
        // A mount shows a directory under another name.
        let own = self.own.holding(base).or_else(|| self.own.same(&metadata));
        if let Some(own) = own.filter(|_| !target.of_program) {
            self.left_out.push(own.to_owned());
            return;
        }
        if metadata.is_dir() {
            let above = vec![Seen::of(&metadata).id];
            self.directory(base, &mut Way { number, target, above, links: 0 });
            self.files.append(&mut self.linked);
        } else if metadata.is_file() {
            self.directories.extend(base.parent().map(Path::to_owned));
            if !target.takes(base) {
                return;
            }
            match fs::symlink_metadata(base).is_ok_and(|metadata| metadata.is_symlink()) {
                true => self.link(base.clone(), number),
                false => self.files.push((base.clone(), Seen::of(&metadata), number)),
            }
            self.files.append(&mut self.linked);
        }
    }

    fn directory(&mut self, path: &Path, way: &mut Way<'_>) {
        self.directories.push(path.to_owned());
        let Ok(entries) = fs::read_dir(path) else { return };
        let mut entries: Vec<_> = entries.filter_map(Result::ok).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        let (target, depth) = (way.target, way.above.len());
        for entry in entries {
            let name = entry.file_name();
            let level = target.pattern.levels.get(depth - 1);
            if level.is_some_and(|level| !level.is_match(&name.to_string_lossy())) {
                continue;
            }
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_symlink() && !target.follow_symlink {
                continue;
            }
            let Ok(metadata) = fs::metadata(&path) else { continue };
            let seen = Seen::of(&metadata);
            // Below a directory that is not the program's, only a link leads to the inside of one that is.
            let own = match kind.is_symlink() {
                true => self.own.holding(&path),
                false if metadata.is_dir() => self.own.same(&metadata),
                false => None,
            };
            if let Some(own) = own {
                self.left_out.push(own.to_owned());
                continue;
            }
            if metadata.is_dir() {
                // A link to a directory above has the same files again, under ever longer names. Levels of
                // the pattern are no loop: they end.
                // Links among directories that lie side by side make a path of every order of them: what
                // is behind two links is entered once.
                let mut is_new = || {
                    let again = kind.is_symlink() && way.links > 0;
                    !way.above.contains(&seen.id)
                        && (!again || self.entered.insert((way.number, seen.id)))
                };
                if target.enters(depth) && (level.is_some() || is_new()) {
                    way.above.push(seen.id);
                    way.links += usize::from(kind.is_symlink());
                    self.directory(&path, way);
                    way.links -= usize::from(kind.is_symlink());
                    way.above.pop();
                }
            } else if metadata.is_file() && target.takes(&path) {
                match (kind.is_symlink(), way.links) {
                    (true, _) => self.link(path, way.number),
                    (false, 0) => self.files.push((path, seen, way.number)),
                    (false, _) => self.linked.push((path, seen, way.number)),
                }
            }
        }
    }

    /// A file that a link leads to: the file's own directory tells of changes and has it once the link leads
    /// to another one.
    fn link(&mut self, path: PathBuf, number: usize) {
        // The file and where it is must be of one moment: the link itself may lead elsewhere by now.
        let Ok(real) = fs::canonicalize(&path) else { return };
        let Ok(metadata) = fs::metadata(&real) else { return };
        if !metadata.is_file() {
            return;
        }
        let seen = Seen::of(&metadata);
        self.directories.extend(real.parent().map(Path::to_owned));
        let link = Link { path: path.clone(), number, id: seen.id };
        self.links.entry(real).or_insert(link);
        self.linked.push((path, seen, number));
    }
}

/// The position of a walk below the base of a target.
struct Way<'t> {
    number: usize,
    target: &'t MonitorTarget,
    /// The directories on it: the base first, the directory itself last.
    above: Vec<FileId>,
    /// Number of directories on the way that were entered through links.
    links: usize,
}

impl MonitorTarget {
    /// Whether directories that many names below the base are entered.
    fn enters(&self, depth: usize) -> bool {
        let named = self.pattern.levels.len();
        let implied = self.pattern.whole.is_none() || self.pattern.descends;
        if !self.recursive && implied && depth > named {
            return false;
        }
        depth < self.pattern.deepest && depth < DEEPEST
    }

    /// Whether a file of that name belongs to the target.
    pub(crate) fn takes(&self, path: &Path) -> bool {
        if !self.pattern.takes(path) {
            return false;
        }
        if self.whitelist.is_none() && self.blacklist.is_none() {
            return true;
        }
        let name = path.to_string_lossy();
        self.whitelist.as_ref().is_none_or(|list| list.is_match(&name))
            && !self.blacklist.as_ref().is_some_and(|list| list.is_match(&name))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn check(pattern: &str, recursive: bool, expected: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        for file in ["a.log", "b.txt", "x/a.log", "x/y/a.log", "x/y/z/b.log", "w/a.log"] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let text = format!("{}/{pattern}", root.path().display());
        let text = text.strip_suffix('/').unwrap_or(&text);
        let index = model::IndexName::new("main").unwrap();
        let mut target = MonitorTarget::new(text, index, "h".into()).unwrap();
        target.recursive = recursive;
        let mut walk = Walk::default();
        walk.target(0, &target);
        let name = |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
        let found: Vec<_> = walk.files.iter().map(|(path, _, _)| name(path)).collect();
        assert_eq!(found, expected, "{pattern}");
        assert!(walk.files.iter().all(|(path, _, _)| target.takes(path)));
    }

    #[test]
    fn links_to_directories_above_are_left_out_and_names_without_links_come_first() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        fs::create_dir_all(path("real/sub")).unwrap();
        fs::write(path("real/sub/x.log"), "x").unwrap();
        fs::write(path("late.log"), "x").unwrap();
        for (link, to) in
            [("self", "."), ("alias", "real"), ("real/sub/up", ".."), ("a.log", "late.log")]
        {
            std::os::unix::fs::symlink(to, path(link)).unwrap();
        }
        let index = model::IndexName::new("main").unwrap();
        let found = |pattern: &str| {
            let text = format!("{}{pattern}", root.path().display());
            let mut walk = Walk::default();
            walk.target(0, &MonitorTarget::new(&text, index.clone(), "h".into()).unwrap());
            let name =
                |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
            walk.files.iter().map(|(path, _, _)| name(path)).collect::<Vec<_>>()
        };
        let all = ["late.log", "real/sub/x.log", "a.log", "alias/sub/x.log"];
        assert_eq!(found(""), all);
        assert_eq!(found("/*/late.log"), ["self/late.log"], "what the pattern names is there");
    }

    #[test]
    fn links_between_directories_side_by_side_do_not_multiply_the_paths() {
        let root = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e", "f", "g"];
        for name in names {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("x.log"), "x").unwrap();
            for other in names.iter().filter(|other| **other != name) {
                let link = root.path().join(name).join(format!("to_{other}"));
                std::os::unix::fs::symlink(format!("../{other}"), link).unwrap();
            }
        }
        let text = root.path().display().to_string();
        let index = model::IndexName::new("main").unwrap();
        let mut walk = Walk::default();
        walk.target(0, &MonitorTarget::new(&text, index, "h".into()).unwrap());
        // Each directory, each link in it, and each directory once behind two links.
        assert!(walk.directories.len() <= 1 + 7 + 7 * 6 + 7, "{}", walk.directories.len());
        let first: Vec<_> = walk.files.iter().take(7).map(|(path, ..)| path.clone()).collect();
        assert_eq!(first, names.map(|name| root.path().join(name).join("x.log")));
    }

    #[test]
    fn a_directory_stands_for_what_is_below_it() {
        check("x", true, &["x/a.log", "x/y/a.log", "x/y/z/b.log"]);
        check("x", false, &["x/a.log"]);
        check("a.log", true, &["a.log"]);
        check("none", true, &[]);
    }

    #[test]
    fn directories_of_the_program_are_left_out_whatever_leads_into_them() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        for file in ["a.log", "data/auth/server.key", "data/log/karst.log", "other/b.log"] {
            fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            fs::write(at(file), "x").unwrap();
        }
        std::os::unix::fs::symlink(at("data/auth"), at("other/keys")).unwrap();
        std::os::unix::fs::symlink(at("data/auth/server.key"), at("other/key")).unwrap();
        let outside = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(root.path(), outside.path().join("above")).unwrap();
        let target = |path: &Path| {
            let text = path.display().to_string();
            let index = model::IndexName::new("main").unwrap();
            MonitorTarget::new(&text, index, "h".into()).unwrap()
        };
        let walk = |target: &MonitorTarget| {
            let mut walk = Walk::without(OwnDirectories::new([at("data")]));
            walk.target(0, target);
            walk
        };
        let data = fs::canonicalize(at("data")).unwrap();
        let names = ["", "*", "other", "data", "data/auth", "data/...", "other/keys", "*/key"];
        let paths = names.iter().map(|name| at(name));
        for path in paths.chain([outside.path().to_owned(), outside.path().join("above")]) {
            let met = walk(&target(&path));
            let name = path.display();
            let mut files = met.files.iter().map(|(path, _, _)| fs::canonicalize(path).unwrap());
            assert!(!files.any(|path| path.starts_with(&data)), "{name}: {met:?}");
            assert_eq!(met.left_out.first(), Some(&data), "{name}");
        }
        let above = walk(&target(outside.path()));
        assert!(above.files.iter().any(|(path, _, _)| path.ends_with("b.log")));
        let mut log = target(&at("data/log/karst.log"));
        assert!(walk(&log).files.is_empty());
        log.of_program = true;
        assert_eq!(walk(&log).files.len(), 1);
    }

    #[test]
    fn a_star_stands_for_a_part_of_one_name() {
        check("*.log", true, &["a.log"]);
        check("*/a.log", true, &["w/a.log", "x/a.log"]);
        check("x*/y", true, &["x/y/a.log", "x/y/z/b.log"]);
        check("*/*", true, &["w/a.log", "x/a.log"]);
    }

    #[test]
    fn dots_stand_for_any_part_of_the_path() {
        check(".../a.log", true, &["w/a.log", "x/a.log", "x/y/a.log"]);
        check("x/...", true, &["x/a.log", "x/y/a.log", "x/y/z/b.log"]);
        check("x...b.log", true, &["x/y/z/b.log"]);
    }

    #[test]
    fn lists_choose_by_the_full_path() {
        let index = model::IndexName::new("main").unwrap();
        let mut target = MonitorTarget::new("/var/log", index, "h".into()).unwrap();
        target.whitelist = Some(Pattern::compile(r"\.log$").unwrap());
        target.blacklist = Some(Pattern::compile("debug").unwrap());
        let takes = |path: &str| target.takes(Path::new(path));
        assert!(takes("/var/log/a.log") && takes("/var/log/x/b.log"));
        assert!(!takes("/var/log/a.txt") && !takes("/var/log/debug/a.log") && !takes("/etc/a.log"));
    }
}
