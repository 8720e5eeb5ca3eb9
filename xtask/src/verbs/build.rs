//! `cargo xtask build`: builds the server as it is released.

use crate::command::{cargo, run};
use crate::tree::Tree;
use crate::{Verb, web};

pub(crate) const VERB: Verb = Verb {
    name: "build",
    arguments: "",
    does: "builds the web part and the server in target/release, and installs missing tools",
    run: |tree, arguments| {
        super::takes_no_arguments(arguments)?;
        build(tree)?;
        println!("built {}", tree.release_binary().display());
        Ok(())
    },
};

/// Builds the web part first, because the release binary embeds it.
pub(in crate::verbs) fn build(tree: &Tree) -> anyhow::Result<()> {
    build_with_profile(tree, "release")
}

/// Builds the web part, and the server with a profile.
pub(in crate::verbs) fn build_with_profile(tree: &Tree, profile: &str) -> anyhow::Result<()> {
    web::build(tree)?;
    let arguments = ["build", "--profile", profile, "--locked", "--package", "lineside"];
    run(cargo(&tree.root).args(arguments))
}
