//! Paths of the source tree and of the folders that cargo builds into.

use std::path::PathBuf;

use anyhow::Context as _;

/// The paths that every verb uses.
pub(crate) struct Tree {
    /// The root of the repository.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// Cargo's folder for binaries of the dev profile. `cargo xtask` itself is one of them.
    pub(crate) dev: PathBuf,
    /// Cargo's folder for binaries of the release profile.
    pub(crate) release: PathBuf,
}

impl Tree {
    /// Finds the tree from the path of this program, so that a target folder set by environment or
    /// configuration is followed without reading either.
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .context("cannot find the repository that contains xtask/")?
            .to_owned();
        let this = std::env::current_exe().context("cannot find the path of this program")?;
        let dev = this.parent().context("this program's file is not in a folder")?.to_owned();
        let target = dev.parent().context("cannot find cargo's target folder")?.to_owned();
        let release = target.join("release");
        Ok(Self { root, target, dev, release })
    }

    /// Returns the folder of the web part's sources.
    pub(crate) fn web(&self) -> PathBuf {
        self.root.join("web")
    }

    /// Returns the path of the server built with the dev profile.
    pub(crate) fn dev_binary(&self) -> PathBuf {
        self.dev.join(executable("lineside"))
    }

    /// Returns the path of the server built with the release profile.
    pub(crate) fn release_binary(&self) -> PathBuf {
        self.release.join(executable("lineside"))
    }

    /// Returns the path of the server built with the demo profile.
    pub(crate) fn demo_binary(&self) -> PathBuf {
        self.target.join("demo").join(executable("lineside"))
    }
}

fn executable(name: &str) -> String {
    format!("{name}{}", std::env::consts::EXE_SUFFIX)
}
