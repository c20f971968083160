//! Computes the fingerprint of the code that plans and runs searches: of the sources of this crate and of the
//! crates of the workspace that it uses, and of the versions of external crates. Processes run parts of
//! searches for each other only if their fingerprints are equal (`recipes/recipe.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Result;
use std::path::{Path, PathBuf};

const VERSIONS: &str = "../../Cargo.lock";

fn main() -> Result<()> {
    let mut hasher = DefaultHasher::new();
    for name in with_used("search")? {
        let sources = Path::new("..").join(&name).join("src");
        println!("cargo:rerun-if-changed={}", sources.display());
        println!("cargo:rerun-if-changed=../{name}/Cargo.toml");
        let mut files = Vec::new();
        collect(&sources, &mut files)?;
        files.sort();
        for file in files {
            let path = file.to_string_lossy().replace('\\', "/");
            (path, fs::read(&file)?).hash(&mut hasher);
        }
    }
    println!("cargo:rerun-if-changed={VERSIONS}");
    fs::read(VERSIONS)?.hash(&mut hasher);
    println!("cargo:rustc-env=KARST_SEARCH_CODE={:016x}", hasher.finish());
    Ok(())
}

/// Returns the folder of a crate, and those of all crates of the workspace that it uses.
fn with_used(first: &str) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut left = vec![first.to_owned()];
    while let Some(name) = left.pop() {
        let manifest = fs::read_to_string(format!("../{name}/Cargo.toml"))?;
        if found.insert(name) {
            left.extend(uses(&manifest));
        }
    }
    Ok(found)
}

/// Returns the crates among the dependencies of a manifest that have a folder beside this one.
fn uses(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let lines = lines.take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next());
    let is_here =
        |name: &&str| !name.is_empty() && Path::new("..").join(name).join("Cargo.toml").is_file();
    names.filter(is_here).map(str::to_owned).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
