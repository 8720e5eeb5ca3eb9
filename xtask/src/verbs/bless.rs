//! `cargo xtask bless`: accepts the current state in place of the recorded one.
//!
//! Golden files, the list of rules, and the record of the longest files and functions change only by this verb, so that
//! their changes are seen in review.

use std::process::Command;

use crate::Verb;
use crate::command::{cargo, run};

pub(crate) const VERB: Verb = Verb {
    name: "bless",
    arguments: "",
    does: "updates golden files and the record of the longest files and functions; review the \
        difference",
    run: |tree, arguments| {
        super::takes_no_arguments(arguments)?;
        run(cargo(&tree.root)
            .args(["test", "--locked", "--package", "xtask", "--test", "tidy", "ratchet"])
            .env("LINESIDE_BLESS", "1"))?;
        run(cargo(&tree.root)
            .args([
                "test",
                "--locked",
                "--package",
                "lineside-validate",
                "--tests",
                "the_documentation_lists_each_kind",
            ])
            .env("LINESIDE_BLESS", "1"))?;
        run(Command::new("git").current_dir(&tree.root).args([
            "diff",
            "--stat",
            "xtask/tests/tidy",
            "docs/rules",
        ]))
    },
};
