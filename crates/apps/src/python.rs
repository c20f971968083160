//! The Python programs of an app that import modules which only Splunk has.
//!
//! Guarantees: a program is listed only if it imports such a module at its start, itself or through other
//! modules of the app; imports in functions and conditions are left out, because a program may run without
//! them. Leaves to others: which programs are run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};

use crate::PackedFile;

/// The package of Splunk's own modules.
const SPLUNK: &str = "splunk";
/// The folders with programs and their modules.
const FOLDERS: [&str; 2] = ["bin", "lib"];

/// Returns the names of the programs in `bin` that cannot run without Splunk's modules.
pub(crate) fn needing_splunk(files: &[PackedFile]) -> BTreeSet<String> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        if let Some(module) = module_of(&file.path) {
            let text = String::from_utf8_lossy(&file.bytes);
            imports.entry(module.clone()).or_default().extend(imported(&text, &module));
        }
    }
    if imports.contains_key(SPLUNK) {
        return BTreeSet::new();
    }
    let mut needing = BTreeSet::from([SPLUNK.to_owned()]);
    loop {
        let needs = |names: &BTreeSet<String>| !names.is_disjoint(&needing);
        let found =
            imports.iter().filter(|&(module, names)| !needing.contains(module) && needs(names));
        let found: Vec<String> = found.map(|(module, _)| module.clone()).collect();
        if found.is_empty() {
            break;
        }
        needing.extend(found);
    }
    let programs = files.iter().filter(|file| {
        file.path.parent() == Some(Path::new("bin"))
            && module_of(&file.path).is_some_and(|module| needing.contains(&module))
    });
    programs.filter_map(|file| file.path.file_name()?.to_str().map(str::to_owned)).collect()
}

/// The name of the module that a file is, as other files in `bin` and `lib` import it.
fn module_of(path: &Path) -> Option<String> {
    let below = FOLDERS.iter().find_map(|folder| path.strip_prefix(folder).ok())?;
    let part = |component: Component<'_>| component.as_os_str().to_str().map(str::to_owned);
    let mut parts = below.components().map(part).collect::<Option<Vec<String>>>()?;
    let name = parts.pop()?;
    match name.strip_suffix(".py")? {
        "__init__" => {}
        stem => parts.push(stem.to_owned()),
    }
    (!parts.is_empty()).then(|| parts.join("."))
}

/// The modules that a text imports at its start, with the packages that they are in.
fn imported(text: &str, module: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let names: Vec<String> = if let Some(names) = line.strip_prefix("import ") {
            names.split(',').map(first_word).collect()
        } else if let Some((from, names)) =
            line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            let from = absolute(from.trim(), module);
            let names = names.trim_start_matches('(').split(',').map(first_word);
            let within = names.filter(|name| !name.is_empty()).map(|name| format!("{from}.{name}"));
            std::iter::once(from.clone()).chain(within).collect()
        } else {
            Vec::new()
        };
        for name in names {
            let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
            found.extend(ends.map(|end| name[..end].to_owned()));
        }
    }
    found.remove("");
    found
}

/// The name in `name as other`.
fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_owned()
}

/// The name of a module, of which `.name` is beside the importing one.
fn absolute(name: &str, module: &str) -> String {
    let plain = name.trim_start_matches('.');
    let mut package: Vec<&str> = match name.len() - plain.len() {
        0 => return plain.to_owned(),
        levels => module.split('.').rev().skip(levels).collect(),
    };
    package.reverse();
    if !plain.is_empty() {
        package.push(plain);
    }
    package.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needing(files: &[(&str, &str)]) -> Vec<String> {
        let packed = |(path, text): &(&str, &str)| PackedFile {
            path: path.into(),
            bytes: text.as_bytes().to_vec(),
            executable: false,
        };
        let files: Vec<PackedFile> = files.iter().map(packed).collect();
        needing_splunk(&files).into_iter().collect()
    }

    #[test]
    fn programs_that_import_splunk_themselves_or_by_a_module_are_listed() {
        let found = needing(&[
            ("bin/direct.py", "import os, splunk.Intersplunk as si\n"),
            ("bin/by_module.py", "from cs_utils import log\n"),
            ("bin/by_package.py", "import kit.deep\n"),
            ("bin/cs_utils.py", "import logger_manager\n"),
            (
                "lib/logger_manager.py",
                "from splunk.clilib.bundle_paths import make_splunkhome_path\n",
            ),
            ("lib/kit/__init__.py", ""),
            ("lib/kit/deep.py", "from .base import x\n"),
            ("lib/kit/base.py", "from splunk import rest # needed\n"),
            ("bin/of_kit.py", "import kit\n"),
            ("bin/sdk.py", "from splunklib.searchcommands import dispatch\nimport splunk_io\n"),
            ("bin/careful.py", "try:\n    import splunk.rest\nexcept ImportError:\n    pass\n"),
            ("bin/tool.sh", "import splunk\n"),
        ]);
        assert_eq!(found, ["by_module.py", "by_package.py", "cs_utils.py", "direct.py"]);
    }

    #[test]
    fn an_app_that_has_the_module_needs_nothing() {
        let files = [("bin/a.py", "import splunk.x\n"), ("bin/splunk/__init__.py", "")];
        assert_eq!(needing(&files), Vec::<String>::new());
    }
}
