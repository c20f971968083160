//! The Python programs of an app that cannot run: they import modules of Splunk which Karst does not have, or
//! are in Python 2.
//!
//! Guarantees: a program is listed only if it imports such a module at its start, itself or through other
//! modules of the app; imports in functions and conditions are left out, because a program may run without
//! them. Python 2 is recognized by its statements `print` and `except`, and by modules that Python 3 does not
//! have. Memory is bounded, and time is linear in the size of the files: names with more than [`LONGEST`]
//! bytes, and imports after the first [`MOST`], are left out. Leaves to others: which programs are run.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::path::{Component, Path};

use crate::PackedFile;

/// The package of Splunk's own modules.
const SPLUNK: &str = "splunk";
/// The modules and functions of this package that Karst gives to programs (`crates/scripts/python`).
const SUPPLIED: [&str; 28] = [
    "splunk.AuthenticationFailed",
    "splunk.AuthorizationFailed",
    "splunk.BadRequest",
    "splunk.InternalServerError",
    "splunk.Intersplunk",
    "splunk.LicenseRestriction",
    "splunk.RESTException",
    "splunk.ResourceNotFound",
    "splunk.SplunkdConnectionException",
    "splunk.SplunkdException",
    "splunk.admin",
    "splunk.appserver.mrsparkle.lib.util",
    "splunk.auth",
    "splunk.clilib.bundle_paths",
    "splunk.clilib.cli_common",
    "splunk.entity",
    "splunk.getDefault",
    "splunk.getLocalServerInfo",
    "splunk.getReleaseVersion",
    "splunk.input",
    "splunk.mergeHostPath",
    "splunk.mining.dcutils",
    "splunk.models.base",
    "splunk.models.field",
    "splunk.rest",
    "splunk.setDefault",
    "splunk.setupSplunkLogger",
    "splunk.util",
];
/// The name under which statements of Python 2 are noted among the imports of a file.
const PYTHON_2: &str = "statements of Python 2";
/// Modules of the standard library of Python 2 that Python 3 does not have.
const OF_PYTHON_2: [&str; 11] = [
    "ConfigParser",
    "Cookie",
    "HTMLParser",
    "StringIO",
    "__builtin__",
    "cPickle",
    "cStringIO",
    "cookielib",
    "httplib",
    "urllib2",
    "urlparse",
];
/// The folders with programs and their modules.
const FOLDERS: [&str; 2] = ["bin", "lib"];
/// Maximum length of the name of an imported module, in bytes.
const LONGEST: usize = 100;
/// Maximum number of imported modules in the files of an app together, with the packages that they are in.
const MOST: usize = 1_000_000;

/// Returns the programs in `bin` that cannot run, each with a reason, such as `is in Python 2`.
pub(crate) fn unable(files: &[PackedFile]) -> BTreeMap<String, String> {
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut room = MOST;
    for file in files {
        if let Some(module) = module_of(&file.path) {
            let text = String::from_utf8_lossy(&file.bytes);
            let mut found = imported(&text, &module, room);
            if is_python_2(&text) {
                found.insert(PYTHON_2.to_owned());
            }
            room = room.saturating_sub(found.len());
            imports.entry(module).or_default().extend(found);
        }
    }
    let needing = importing_missing(&imports);
    let programs = files.iter().filter(|file| file.path.parent() == Some(Path::new("bin")));
    let needed = |file: &PackedFile| {
        let missing = needing.get(module_of(&file.path)?.as_str())?;
        let name = file.path.file_name()?.to_str()?;
        Some((name.to_owned(), reason(missing)))
    };
    programs.filter_map(needed).collect()
}

/// Why a program that needs a missing module cannot run, and what helps.
fn reason(module: &str) -> String {
    if module == PYTHON_2 {
        return "is in Python 2, and Python 3 runs it: convert it".to_owned();
    }
    if OF_PYTHON_2.contains(&module) {
        return format!(
            "imports the module {module}, which only Python 2 has, and Python 3 runs it: convert it"
        );
    }
    format!(
        "imports the Python module {module}, which is part of Splunk and not of Karst: use splunk.rest, or \
         splunklib of the SDK"
    )
}

/// Whether a text has statements of Python 2 outside of texts over several lines.
fn is_python_2(text: &str) -> bool {
    let mut is_quoted = false;
    for line in text.lines() {
        let was_quoted = is_quoted;
        let quotes: usize = ["\"\"\"", "'''"].map(|quote| line.matches(quote).count()).iter().sum();
        is_quoted ^= quotes % 2 == 1;
        let line = line.trim();
        let is_printed = |c: char| c.is_alphanumeric() || "_\"'".contains(c);
        let prints = line.strip_prefix("print ").is_some_and(|rest| rest.starts_with(is_printed));
        let caught = line.strip_prefix("except ").and_then(|rest| rest.strip_suffix(':'));
        let catches = caught.is_some_and(|rest| rest.contains(',') && !rest.contains('('));
        if !was_quoted && (prints || catches) {
            return true;
        }
    }
    false
}

/// The modules that import a missing module, themselves or through others, and the missing ones themselves,
/// each with the missing module.
fn importing_missing(imports: &BTreeMap<String, BTreeSet<String>>) -> BTreeMap<&str, &str> {
    let mut importers: HashMap<&str, Vec<&str>> = HashMap::new();
    for (importer, names) in imports {
        for name in names {
            importers.entry(name).or_default().push(importer);
        }
    }
    // A module is before its functions in this order, so that it is the one that is named.
    let has_splunk = imports.contains_key(SPLUNK);
    let is_old = |name: &str| {
        name == PYTHON_2 || (OF_PYTHON_2.contains(&name) && !imports.contains_key(name))
    };
    let missing = importers.keys().copied();
    let missing: BTreeSet<&str> =
        missing.filter(|name| is_old(name) || (!has_splunk && is_missing(name))).collect();
    let mut found: BTreeMap<&str, &str> = missing.iter().map(|name| (*name, *name)).collect();
    let mut waiting: VecDeque<&str> = missing.into_iter().collect();
    while let Some(name) = waiting.pop_front() {
        let Some(cause) = found.get(name).copied() else { continue };
        for importer in importers.remove(name).unwrap_or_default() {
            if let Entry::Vacant(place) = found.entry(importer) {
                place.insert(cause);
                waiting.push_back(importer);
            }
        }
    }
    found
}

/// Whether a name is a module of Splunk, or a part of one, that Karst does not have.
fn is_missing(name: &str) -> bool {
    is_in(name, SPLUNK) && !SUPPLIED.iter().any(|known| is_in(name, known) || is_in(known, name))
}

/// Whether a name is that of a package or of a part of it.
fn is_in(name: &str, package: &str) -> bool {
    name.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
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

/// The modules that a text imports at its start, with the packages that they are in; the first ones if there
/// is not room for all.
fn imported(text: &str, module: &str, room: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if found.len() >= room {
            break;
        }
        let line = line.split('#').next().unwrap_or_default().trim_end();
        let (from, names) = if let Some(names) = line.strip_prefix("import ") {
            (None, names)
        } else if let Some((from, names)) =
            line.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            (Some(absolute(from.trim(), module)), names.trim_start_matches('('))
        } else {
            continue;
        };
        // Each name is joined with it.
        if from.as_ref().is_some_and(|from| from.len() > LONGEST) {
            continue;
        }
        found.extend(from.iter().flat_map(|from| with_packages(from)));
        for name in names.split(',').map(first_word) {
            if found.len() >= room {
                break;
            }
            match &from {
                Some(_) if name.is_empty() => {}
                Some(from) => found.extend(with_packages(&format!("{from}.{name}"))),
                None => found.extend(with_packages(name)),
            }
        }
    }
    found.remove("");
    found
}

/// A module and the packages that it is in; nothing if the name is too long.
fn with_packages(name: &str) -> impl Iterator<Item = String> {
    let name = if name.len() <= LONGEST { name } else { "" };
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    ends.map(move |end| name[..end].to_owned())
}

/// The name in `name as other`.
fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
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
        reasons(files).into_keys().collect()
    }

    fn reasons(files: &[(&str, &str)]) -> BTreeMap<String, String> {
        let packed = |(path, text): &(&str, &str)| PackedFile {
            path: path.into(),
            bytes: text.as_bytes().to_vec(),
            executable: false,
        };
        let files: Vec<PackedFile> = files.iter().map(packed).collect();
        unable(&files)
    }

    #[test]
    fn programs_that_import_splunk_themselves_or_by_a_module_are_listed() {
        let found = needing(&[
            ("bin/direct.py", "import os, splunk.Intersplunk as si, splunk.search\n"),
            ("bin/by_module.py", "from cs_utils import log\n"),
            ("bin/by_package.py", "import kit.deep\n"),
            ("bin/cs_utils.py", "import logger_manager\n"),
            ("lib/logger_manager.py", "from splunk.clilib.info_gather import x\n"),
            ("lib/kit/__init__.py", ""),
            ("lib/kit/deep.py", "from .base import x\n"),
            ("lib/kit/base.py", "from splunk import search # needed\n"),
            ("bin/of_kit.py", "import kit\n"),
            ("bin/sdk.py", "from splunklib.searchcommands import dispatch\nimport splunk_io\n"),
            ("bin/careful.py", "try:\n    import splunk.search\nexcept ImportError:\n    pass\n"),
            ("bin/tool.sh", "import splunk\n"),
        ]);
        assert_eq!(found, ["by_module.py", "by_package.py", "cs_utils.py", "direct.py"]);
    }

    #[test]
    fn a_missing_module_is_named_and_modules_that_karst_has_are_not_missing() {
        let found = reasons(&[
            ("bin/function.py", "from splunk.search import dispatch\n"),
            ("bin/package.py", "from splunk import Intersplunk, saved\n"),
            ("bin/through.py", "import function\n"),
            ("bin/a.py", "import splunk\nimport splunk.Intersplunk as si\n"),
            ("bin/b.py", "from splunk import Intersplunk, setupSplunkLogger\n"),
            ("bin/c.py", "from splunk.Intersplunk import readResults, decodeMV\n"),
            (
                "bin/d.py",
                "from splunk.clilib import cli_common\nimport splunk.mining.dcutils as dcu\n",
            ),
            ("bin/e.py", "from splunk.appserver.mrsparkle.lib.util import make_splunkhome_path\n"),
            ("bin/f.py", "from splunk import rest, entity, ResourceNotFound\nimport splunk.auth\n"),
            ("bin/g.py", "from splunk.models.base import SplunkAppObjModel\n"),
        ]);
        let expected = [
            ("function.py", "splunk.search"),
            ("package.py", "splunk.saved"),
            ("through.py", "splunk.search"),
        ];
        let expected = expected.map(|(program, module)| (program.to_owned(), reason(module)));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn each_supplied_module_is_a_file_and_each_function_is_in_the_package() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/python");
        let package = std::fs::read_to_string(folder.join("splunk/__init__.py")).expect("a text");
        let defines = |name: &str| {
            let begins = [format!("\ndef {name}("), format!("\nclass {name}(")];
            begins.iter().any(|begin| package.contains(begin))
        };
        for module in SUPPLIED {
            let file = folder.join(format!("{}.py", module.replace('.', "/")));
            let name = module.trim_start_matches("splunk.");
            assert!(file.is_file() || defines(name), "{module}");
        }
    }

    #[test]
    fn names_and_chains_of_modules_of_any_length_are_read_in_bounded_time_and_memory() {
        let long = format!("import {}\nimport splunk\n", "a.".repeat(500_000));
        assert_eq!(imported(&long, "x", MOST), BTreeSet::from(["splunk".to_owned()]));
        let many: Vec<String> = (0..1_000).map(|n| format!("import m{n}\n")).collect();
        let many = many.concat();
        assert_eq!(imported(&many, "x", 100).len(), 100);
        let from = |package: &str| format!("from {package} import {}\n", "c,".repeat(500_000));
        assert!(imported(&from(&"b.".repeat(500_000)), "x", MOST).is_empty());
        assert_eq!(imported(&from("a.b"), "x", MOST).len(), 3);
        let chain = |n: usize| (format!("lib/m{n}.py"), format!("import m{}\n", n + 1));
        let mut files: Vec<(String, String)> = (0..20_000).map(chain).collect();
        files.push(("lib/m20000.py".to_owned(), "import splunk.search\n".to_owned()));
        files.push(("bin/first.py".to_owned(), "import m0\n".to_owned()));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(needing(&files), ["first.py"]);
    }

    #[test]
    fn programs_in_python_2_are_listed() {
        let found = reasons(&[
            ("bin/printing.py", "import os\nif x:\n    print a\n"),
            ("bin/catching.py", "try:\n    pass\nexcept OSError, error:\n    pass\n"),
            ("bin/reading.py", "import sys, urllib2\n"),
            ("bin/through.py", "import printing\n"),
            ("bin/careful.py", "try:\n    import urllib2\nexcept (A, B):\n    print('a')\n"),
            ("bin/text.py", "\"\"\"\nprint \"a\"\n\"\"\"\nprint (\"a\")\nprint = a\n"),
            ("bin/own.py", "import urlparse\n"),
            ("bin/urlparse.py", "x = 1\n"),
        ]);
        let old = reason(PYTHON_2);
        assert!(old.starts_with("is in Python 2"), "{old}");
        let expected = [
            ("catching.py", old.clone()),
            ("printing.py", old.clone()),
            ("reading.py", reason("urllib2")),
            ("through.py", old),
        ];
        let expected = expected.map(|(program, reason)| (program.to_owned(), reason));
        assert_eq!(found, BTreeMap::from(expected));
    }

    #[test]
    fn an_app_that_has_the_module_needs_nothing() {
        let files = [("bin/a.py", "import splunk.x\n"), ("bin/splunk/__init__.py", "")];
        assert_eq!(needing(&files), Vec::<String>::new());
    }
}
