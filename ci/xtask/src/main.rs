//! Checks of the repository itself: allowed arrows between crates, rings of modules, unused dependencies,
//! licences, module docs, file sizes.
//!
//! `cargo run -p xtask` prints what is wrong; the same checks run as tests.
#![allow(clippy::disallowed_methods)]

mod arrows;
mod dependencies;
mod rings;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let root = root();
    let problems = [
        arrows::problems(&root),
        rings::problems(&root),
        dependencies::unused(&root),
        dependencies::unlisted(&root),
        dependencies::licences(&root),
        tidy::problems(&root),
    ];
    let mut code = ExitCode::SUCCESS;
    for problem in problems.into_iter().flat_map(|found| match found {
        Ok(problems) => problems,
        Err(error) => vec![format!("{error:#}")],
    }) {
        println!("{problem}");
        code = ExitCode::FAILURE;
    }
    code
}

/// The repository's top folder.
fn root() -> PathBuf {
    // Asked for when it runs: a build directory may be shared by several checkouts.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs this program");
    Path::new(&package).join("../..")
}
