//! The tools that a Rust toolchain does not include: Node with npm, Chromium for the browser tests, and cargo-deny.
//!
//! On Debian, as root, missing tools are installed; elsewhere one line says what to install. If Debian's Node is too
//! old for the web part's bundler, a newer one is installed as an npm package in cargo's target folder.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{cargo, output, run};
use crate::tree::Tree;

/// The Node release that is fetched as an npm package if the system's is too old.
const NODE_PACKAGE_VERSION: &str = "22";
/// The npm release for that Node.
const NPM_PACKAGE_VERSION: &str = "11";

/// The cargo-deny release that is built if there is none.
const CARGO_DENY_VERSION: &str = "0.20.2";

/// A Node installation that can build and test the web part.
pub(crate) struct Node {
    /// A folder that precedes `PATH`, if Node is not on it.
    first: Option<PathBuf>,
}

impl Node {
    /// Finds Node and npm, or installs them.
    pub(crate) fn find_or_install(tree: &Tree) -> anyhow::Result<Self> {
        let fetched = Self { first: Some(tools(tree).join("node_modules/.bin")) };
        for node in [Self { first: None }, fetched] {
            if node.is_fit() {
                return Ok(node);
            }
        }
        if !is_debian_root() {
            bail!(
                "the web part needs Node 20.19 or 22.12 or newer, with npm: {}",
                how_to_install("nodejs npm", "node")
            );
        }
        Self::install(tree)
    }

    fn install(tree: &Tree) -> anyhow::Result<Self> {
        let system = Self { first: None };
        if system.npm_version().is_none() {
            apt_install(&["nodejs", "npm"])?;
            if system.is_fit() {
                return Ok(system);
            }
        }
        let package = format!("node-linux-{}@{NODE_PACKAGE_VERSION}", node_architecture()?);
        let tools = tools(tree);
        std::fs::create_dir_all(&tools)
            .with_context(|| format!("cannot create {}", tools.display()))?;
        run(Command::new("npm")
            .args([
                "install",
                "--no-save",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
                "--prefix",
            ])
            .arg(&tools)
            .args([package, format!("npm@{NPM_PACKAGE_VERSION}")]))?;
        let node = Self { first: Some(tools.join("node_modules/.bin")) };
        if !node.is_fit() {
            bail!("Node was installed into {}, but does not run", tools.display());
        }
        Ok(node)
    }

    /// Returns an npm command that finds this Node.
    pub(crate) fn npm(&self, folder: &Path) -> Command {
        let mut command = self.command("npm");
        command.current_dir(folder);
        command
    }

    /// Returns the path of `node`, or its name if it is on `PATH`.
    pub(crate) fn program(&self) -> PathBuf {
        self.first.as_ref().map_or_else(|| PathBuf::from("node"), |first| first.join("node"))
    }

    fn command(&self, program: &str) -> Command {
        let Some(first) = &self.first else { return Command::new(program) };
        let mut command = Command::new(first.join(program));
        command.env("PATH", path_with(first));
        command
    }

    fn is_fit(&self) -> bool {
        let version = output(self.command("node").arg("--version"));
        version.is_some_and(|version| is_fit_version(&version)) && self.npm_version().is_some()
    }

    fn npm_version(&self) -> Option<String> {
        output(self.command("npm").arg("--version"))
    }
}

/// Returns true if a Node version meets Vite's requirement: 20.19 and later 20s, or 22.12 and later.
fn is_fit_version(version: &str) -> bool {
    let mut numbers = version.trim_start_matches('v').split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else { return false };
    match major {
        20 => minor >= 19,
        22 => minor >= 12,
        _ => major > 22,
    }
}

/// Finds the programs that the tests call, or installs each with its Debian package.
pub(crate) fn test_programs() -> anyhow::Result<()> {
    const PROGRAMS: [(&str, &str); 2] = [("curl", "curl"), ("kill", "procps")];
    let missing = PROGRAMS.iter().filter(|(program, _)| find_on_path(&[*program]).is_none());
    let packages: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Ok(());
    }
    if !is_debian_root() {
        let names = packages.join(" ");
        bail!("the tests need {names}: {}", how_to_install(&names, &names));
    }
    apt_install(&packages)
}

/// Finds cargo-deny, or builds it from source, without optimization since it runs for a second.
pub(crate) fn cargo_deny(tree: &Tree) -> anyhow::Result<PathBuf> {
    if let Some(found) = find_on_path(&["cargo-deny"]) {
        return Ok(found);
    }
    let folder = tools(tree).join("cargo-deny");
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        let mut install = cargo(&tree.root);
        install.args(["install", "--locked", "--debug", "--version", CARGO_DENY_VERSION, "--root"]);
        let settings = [("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_DEV_OPT_LEVEL", "0")];
        run(install.arg(&folder).arg("cargo-deny").envs(settings))?;
    }
    Ok(program)
}

/// Finds Chromium, or installs it.
pub(crate) fn chromium() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("LINESIDE_CHROMIUM") {
        return Ok(PathBuf::from(named));
    }
    if let Some(found) = find_chromium() {
        return Ok(found);
    }
    if !is_debian_root() {
        bail!(
            "the browser tests need Chromium: {}, or set LINESIDE_CHROMIUM to its path",
            how_to_install("chromium", "chromium")
        );
    }
    apt_install(&["chromium", "fonts-dejavu-core"])?;
    find_chromium().context("Chromium was installed, but is not on PATH")
}

fn find_chromium() -> Option<PathBuf> {
    find_on_path(&["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"])
}

/// Returns the first of these programs on `PATH`.
fn find_on_path(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

fn apt_install(packages: &[&str]) -> anyhow::Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").args(arguments);
        command
    };
    run(&mut apt(&["update", "--quiet"]))?;
    let install = ["install", "--yes", "--quiet", "--no-install-recommends"];
    run(apt(&install).args(packages))
}

fn is_debian_root() -> bool {
    Path::new("/etc/debian_version").exists()
        && output(Command::new("id").arg("-u")).as_deref() == Some("0")
}

fn how_to_install(debian: &str, homebrew: &str) -> String {
    if Path::new("/etc/debian_version").exists() {
        format!("run `sudo apt-get install {debian}`")
    } else if cfg!(target_os = "macos") {
        format!("run `brew install {homebrew}`")
    } else {
        format!("install {homebrew} with your system's package manager")
    }
}

fn node_architecture() -> anyhow::Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("x64"),
        "aarch64" => Ok("arm64"),
        other => bail!(
            "this system's Node is too old, and there is no Node package for the \
            architecture {other}"
        ),
    }
}

fn tools(tree: &Tree) -> PathBuf {
    tree.target.join("tools")
}

fn path_with(first: &Path) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(first.to_owned()).chain(std::env::split_paths(&rest));
    std::env::join_paths(folders).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::is_fit_version;

    #[test]
    fn node_versions_are_judged_as_the_bundler_does() {
        for fit in ["v20.19.0", "v20.20.2", "v22.12.0", "v23.0.0", "v26.10.0"] {
            assert!(is_fit_version(fit), "{fit}");
        }
        for unfit in ["v18.20.4", "v20.18.3", "v21.7.0", "v22.11.0", "", "nonsense", "v20"] {
            assert!(!is_fit_version(unfit), "{unfit}");
        }
    }
}
