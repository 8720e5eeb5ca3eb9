//! `cargo xtask demo`: builds and starts a server with the simulated city.

use std::process::Command;

use crate::Verb;
use crate::command::become_program;

pub(crate) const VERB: Verb = Verb {
    name: "demo",
    arguments: "[--port 8080] [--seed N] [--speed X] [--vehicles N] …",
    does: "builds everything, less optimized than a release, and runs a server with a simulated \
        city; passes its arguments to `lineside demo`",
    run: |tree, arguments| {
        println!(
            "Building the demo. The first build takes some minutes, later ones less than one. \
            The server then prints its address."
        );
        super::build::build_with_profile(tree, "demo")?;
        become_program(Command::new(tree.demo_binary()).arg("demo").args(arguments))
    },
};
