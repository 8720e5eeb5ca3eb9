//! The web part: npm packages, the bundle that the server embeds, and its tests.
//!
//! The packages and the bundle have stamps with a hash of their inputs, so that a second run does nothing.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::command::run;
use crate::setup::{Node, chromium};
use crate::tree::Tree;

/// Folders of `web/` that are not part of the bundle.
const NOT_SOURCES: &[&str] = &["node_modules", "dist", "tests", "test-results"];

/// Installs missing packages and builds `web/dist`, if its inputs have changed.
pub(crate) fn build(tree: &Tree) -> anyhow::Result<()> {
    let node = packages(tree)?;
    let (dist, stamp) = (tree.web().join("dist"), tree.target.join("xtask/web.stamp"));
    let made_from = hash_of_sources(&tree.web())?;
    // A cargo build creates the folder, so only its contents show that the bundle exists.
    if dist.join("manifest.json").is_file() && is_stamped(&stamp, &made_from) {
        println!("the web part is up to date");
        return Ok(());
    }
    run(node.npm(&tree.web()).args(["run", "build"]))?;
    write_stamp(&stamp, &made_from)
}

/// Runs the stock Centrifuge client and readers of event streams against the server's dev build.
pub(crate) fn test_clients(tree: &Tree) -> anyhow::Result<()> {
    let node = packages(tree)?;
    run(node.npm(&tree.web()).args(["run", "test:protocol"]).env("LINESIDE_BIN", tree.dev_binary()))
}

/// Checks the web part's types and runs its own tests, in the browser against the server's dev build.
pub(crate) fn test(tree: &Tree) -> anyhow::Result<()> {
    let node = packages(tree)?;
    run(node.npm(&tree.web()).args(["run", "check"]))?;
    run(node.npm(&tree.web()).args(["run", "test:unit"]))?;
    let chromium = chromium()?;
    run(node
        .npm(&tree.web())
        .args(["run", "test:browser"])
        .env("LINESIDE_BIN", tree.dev_binary())
        .env("LINESIDE_CHROMIUM", chromium))
}

/// Returns Node, after installing the packages of `web/package-lock.json`.
fn packages(tree: &Tree) -> anyhow::Result<Node> {
    let node = Node::find_or_install(tree)?;
    let web = tree.web();
    let lock = web.join("package-lock.json");
    let bytes = std::fs::read(&lock).with_context(|| format!("cannot read {}", lock.display()))?;
    let (stamp, made_from) = (web.join("node_modules/.lineside-stamp"), hash_of(&bytes));
    if is_stamped(&stamp, &made_from) {
        return Ok(node);
    }
    run(node.npm(&web).args(["ci", "--no-audit", "--no-fund"]))?;
    write_stamp(&stamp, &made_from)?;
    Ok(node)
}

fn is_stamped(stamp: &Path, made_from: &str) -> bool {
    std::fs::read_to_string(stamp).is_ok_and(|text| text == made_from)
}

fn write_stamp(stamp: &Path, made_from: &str) -> anyhow::Result<()> {
    let folder = stamp.parent().context("the stamp file is not in a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(stamp, made_from))
        .with_context(|| format!("cannot write {}", stamp.display()))
}

fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn hash_of_sources(web: &Path) -> anyhow::Result<String> {
    let mut files = BTreeMap::new();
    collect(web, &mut files)?;
    let mut hasher = DefaultHasher::new();
    files.hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let skipped = NOT_SOURCES.iter().any(|name| path.file_name().is_some_and(|is| is == *name));
        if path.is_dir() && !skipped {
            collect(&path, files)?;
        } else if path.is_file() {
            let bytes =
                std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(path, bytes);
        }
    }
    Ok(())
}
