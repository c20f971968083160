//! Makes sure there is a folder of console files to embed; it is empty where the console was not
//! built, and the server then says how to build it.

use std::path::Path;

fn main() {
    let dist = Path::new("../console/dist");
    println!("cargo:rerun-if-changed={}", dist.display());
    if let Err(error) = std::fs::create_dir_all(dist) {
        println!("cargo:warning=cannot create {}: {error}", dist.display());
    }
}
