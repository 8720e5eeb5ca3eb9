//! `cargo xtask demo`: builds and starts a server with the simulated city.

use std::process::Command;

use crate::Verb;
use crate::command::become_program;

pub(crate) const VERB: Verb = Verb {
    name: "demo",
    arguments: "[--port 8080] [--seed N] [--speed X] [--vehicles N] …",
    does: "builds everything and runs a server with a simulated city; passes its arguments to \
        `lineside demo`",
    run: |tree, arguments| {
        super::build::build(tree)?;
        become_program(Command::new(tree.release_binary()).arg("demo").args(arguments))
    },
};
