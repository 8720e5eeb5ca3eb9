//! `cargo xtask deep clients`: stock clients of other projects read the demo.
//!
//! The checks are Python scripts in `xtask/clients/`. This module finds or fetches their requirements and passes them
//! in environment variables. Requirements that are unavailable on this machine are left out; the checks that need them
//! are skipped, and the run fails unless the caller allows that.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::command::{output, run};
use crate::setup::Node;
use crate::tree::Tree;
use crate::verbs::build::build;

/// The OpenTripPlanner release, as one jar with all dependencies.
const PLANNER_VERSION: &str = "2.9.0";
/// The lowest Java version that can run that release.
const JAVA_VERSION_MIN: u32 = 25;
/// The npm package with the JavaScript bindings of GTFS-Realtime.
const REALTIME_BINDINGS: &str = "gtfs-realtime-bindings@2.2.0";
const MAVEN_DEPENDENCY_PLUGIN: &str = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1";

/// Runs every client that this machine has or can fetch.
pub(super) fn run_clients(tree: &Tree, allows_skips: bool) -> anyhow::Result<()> {
    let checks = tree.root.join("xtask/clients");
    let tools = tree.target.join("tools/clients");
    std::fs::create_dir_all(&tools)
        .with_context(|| format!("cannot create {}", tools.display()))?;
    let python = install_python_packages(&checks.join("requirements.txt"), &tools.join("python"))?;
    let mut command = Command::new(python);
    command.arg(checks.join("run.py")).env("PYTHONDONTWRITEBYTECODE", "1");
    // Its bindings need an older protobuf than the other packages.
    let bods =
        install_python_packages(&checks.join("requirements-bods.txt"), &tools.join("python-bods"));
    if let Ok(python) = bods {
        command.env("BODS_PYTHON", python);
    }
    if let Some(java) = find_java() {
        command.env("JAVA", java);
        if has_maven() {
            command.env("OTP_JAR", fetch_planner(&tools)?);
            command.env("GBFS_CLASSPATH", fetch_validator(&checks, &tools, "gbfs")?);
            command.env("GTFS_CLASSPATH", fetch_validator(&checks, &tools, "gtfs")?);
        }
    }
    if let Ok(node) = Node::find_or_install(tree) {
        command.env("NODE", node.program());
        command.env("NODE_PATH", fetch_realtime_bindings(&node, &tools)?);
    }
    let publications = tree.root.join("../shared/data/netex");
    if publications.is_dir() {
        command.env("PUBLICATIONS", publications);
    }
    command.env("LINESIDE_BIN", find_binary(tree)?);
    if allows_skips {
        command.arg("--allow-skips");
    }
    run(&mut command)
}

/// Returns the program named by `LINESIDE_BIN`, or else the release build.
fn find_binary(tree: &Tree) -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("LINESIDE_BIN") {
        return Ok(PathBuf::from(named));
    }
    build(tree)?;
    Ok(tree.release_binary())
}

/// Creates a virtual environment with these packages. Returns its Python.
fn install_python_packages(requirements: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder))
            .context("the checks need Python 3 with its venv module")?;
    }
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"])
        .arg(requirements))?;
    Ok(python)
}

/// Returns a Java that is new enough: `JAVA_HOME`'s, the one on `PATH`, or one in `/usr/lib/jvm`.
fn find_java() -> Option<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin/java"));
    let installed = std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten();
    let found = home
        .into_iter()
        .chain([PathBuf::from("java")])
        .chain(installed.map(|folder| folder.path().join("bin/java")))
        .find(|java| java_version(java).is_some_and(|version| version >= JAVA_VERSION_MIN));
    if found.is_none() {
        println!("the Java clients are skipped: they need a JDK {JAVA_VERSION_MIN} or newer");
    }
    found
}

/// Returns the major version, from a line such as `openjdk 25.0.1 2025-10-21`.
fn java_version(java: &Path) -> Option<u32> {
    let text = output(Command::new(java).arg("--version"))?;
    text.split_whitespace().nth(1)?.split('.').next()?.parse().ok()
}

fn has_maven() -> bool {
    let found = output(Command::new("mvn").arg("--version")).is_some();
    if !found {
        println!("the Java clients are skipped: they need `mvn` (Debian's package maven)");
    }
    found
}

/// Returns a Maven command with its own repository under `target/`.
fn maven(tools: &Path) -> Command {
    let mut command = Command::new("mvn");
    command.args(["--quiet", "--batch-mode"]);
    command.arg(format!("-Dmaven.repo.local={}", repository(tools).display()));
    command
}

fn repository(tools: &Path) -> PathBuf {
    tools.join("maven")
}

fn fetch_planner(tools: &Path) -> anyhow::Result<PathBuf> {
    let folder = repository(tools).join("org/opentripplanner");
    let jar = folder.join(format!("otp-shaded/{PLANNER_VERSION}/otp-shaded-{PLANNER_VERSION}.jar"));
    if jar.is_file() {
        return Ok(jar);
    }
    // The published POM names a parent that is not published. An empty one replaces it.
    let parent = folder.join(format!("otp-root/{PLANNER_VERSION}"));
    std::fs::create_dir_all(&parent)?;
    std::fs::write(
        parent.join(format!("otp-root-{PLANNER_VERSION}.pom")),
        format!(
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.opentripplanner</groupId>\
            <artifactId>otp-root</artifactId><version>{PLANNER_VERSION}</version>\
            <packaging>pom</packaging></project>"
        ),
    )?;
    run(maven(tools)
        .args([&format!("{MAVEN_DEPENDENCY_PLUGIN}:get"), "-Dtransitive=false"])
        .arg(format!("-Dartifact=org.opentripplanner:otp-shaded:{PLANNER_VERSION}")))?;
    if !jar.is_file() {
        bail!("Maven did not fetch {}", jar.display());
    }
    Ok(jar)
}

/// Fetches the validator of `pom-<format>.xml`. Returns the folder with its jars.
fn fetch_validator(checks: &Path, tools: &Path, format: &str) -> anyhow::Result<PathBuf> {
    let folder = tools.join(format!("{format}-validator"));
    run(maven(tools)
        .arg("--file")
        .arg(checks.join(format!("pom-{format}.xml")))
        .arg(format!("{MAVEN_DEPENDENCY_PLUGIN}:copy-dependencies"))
        .arg(format!("-DoutputDirectory={}", folder.display())))?;
    Ok(folder)
}

/// Fetches the JavaScript bindings of GTFS-Realtime. Returns the folder with the npm packages.
fn fetch_realtime_bindings(node: &Node, tools: &Path) -> anyhow::Result<PathBuf> {
    let folder = tools.join("npm");
    std::fs::create_dir_all(&folder)?;
    let quiet = ["--no-save", "--no-package-lock", "--no-audit", "--no-fund"];
    run(node
        .npm(&folder)
        .arg("install")
        .args(quiet)
        .arg("--prefix")
        .arg(&folder)
        .arg(REALTIME_BINDINGS))?;
    Ok(folder.join("node_modules"))
}
