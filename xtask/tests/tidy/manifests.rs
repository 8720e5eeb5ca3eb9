//! Checks of the manifests: one version of each dependency, and the same lints for all crates.

use crate::report;
use crate::tree::{File, file, files_ending};

/// The kind of a dependency.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    line: usize,
    from_workspace: bool,
}

/// The parts of a manifest that the tests need.
pub(crate) struct Manifest {
    pub(crate) path: String,
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
    inherits: Vec<String>,
}

/// Returns the manifests of the workspace's crates. The fuzz crate is not one of them: it needs
/// another toolchain.
pub(crate) fn manifests() -> Vec<Manifest> {
    files_ending("Cargo.toml")
        .iter()
        .filter(|file| file.path != "Cargo.toml" && !file.path.starts_with("fuzz/"))
        .map(read)
        .collect()
}

fn read(file: &File) -> Manifest {
    let mut manifest = Manifest {
        path: file.path.clone(),
        name: String::new(),
        dependencies: Vec::new(),
        inherits: Vec::new(),
    };
    let mut section = String::new();
    for (line, text) in file.lines().map(|(line, text)| (line, text.trim())) {
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = header.to_owned();
            continue;
        }
        let Some((key, value)) = text.split_once('=').filter(|_| !text.starts_with('#')) else {
            continue;
        };
        let (key, value) = (key.trim(), value.trim());
        let from_workspace = key.ends_with(".workspace") || value.contains("workspace = true");
        let name = key.strip_suffix(".workspace").unwrap_or(key).to_owned();
        if let Some(kind) = kind_of(&section) {
            manifest.dependencies.push(Dependency { name, kind, line, from_workspace });
        } else if section == "package" && name == "name" {
            value.trim_matches('"').clone_into(&mut manifest.name);
        } else if from_workspace || (key == "workspace" && value == "true") {
            manifest.inherits.push(format!("{section}.{name}"));
        }
    }
    manifest
}

fn kind_of(section: &str) -> Option<Kind> {
    match section.rsplit('.').next()? {
        "dependencies" => Some(Kind::Normal),
        "build-dependencies" => Some(Kind::Build),
        "dev-dependencies" => Some(Kind::Dev),
        _ => None,
    }
}

#[test]
fn every_crate_inherits_lints_and_versions_from_the_workspace() {
    let mut complaints = Vec::new();
    for manifest in manifests() {
        for inherited in
            ["lints.workspace", "package.version", "package.edition", "package.license"]
        {
            if !manifest.inherits.iter().any(|key| key == inherited) {
                complaints.push(format!(
                    "{}: {inherited} must be inherited from the workspace",
                    manifest.path
                ));
            }
        }
        for dependency in
            manifest.dependencies.iter().filter(|dependency| !dependency.from_workspace)
        {
            complaints.push(format!(
                "{}:{}: move the version of {} to the workspace's manifest",
                manifest.path, dependency.line, dependency.name
            ));
        }
    }
    report(&complaints);
}

#[test]
fn every_workspace_dependency_is_used() {
    let workspace = file("Cargo.toml");
    let used: Vec<Dependency> =
        manifests().into_iter().flat_map(|manifest| manifest.dependencies).collect();
    let listed =
        workspace.lines().skip_while(|(_, line)| *line != "[workspace.dependencies]").skip(1);
    let complaints: Vec<String> = listed
        .take_while(|(_, line)| !line.starts_with('['))
        .filter_map(|(number, line)| Some((number, line.split_once('=')?.0.trim())))
        .filter(|(_, name)| {
            !name.starts_with('#') && !used.iter().any(|dependency| dependency.name == *name)
        })
        .map(|(number, name)| format!("Cargo.toml:{number}: no crate uses {name}"))
        .collect();
    report(&complaints);
}

#[test]
fn the_lock_files_contain_no_download_url() {
    let complaints: Vec<String> = files_ending("package-lock.json")
        .iter()
        .flat_map(|file| {
            let named = file.lines().filter(|(_, line)| line.contains("\"resolved\": \"http"));
            named.map(|(line, _)| {
                format!(
                    "{}:{line}: the lock file contains a download URL; set \
                    omit-lockfile-registry-resolved and lock again",
                    file.path
                )
            })
        })
        .collect();
    report(&complaints);
}
