//! Lets `cargo build` alone succeed: the bundled part of the pages is embedded when it has been
//! built (`cargo xtask build`), and an empty folder otherwise. Nothing is built or fetched here.

use std::fs;
use std::path::Path;

fn main() {
    let dist = Path::new("../../web/dist");
    if !dist.exists()
        && let Err(error) = fs::create_dir_all(dist)
    {
        println!("cargo::warning=cannot create web/dist, the map will be missing: {error}");
    }
    println!("cargo::rerun-if-changed=../../web/dist");
    println!("cargo::rerun-if-changed=../../web/plain");
}
