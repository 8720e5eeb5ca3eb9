//! `cargo xtask bless`: accepts what the golden files should say now.
//!
//! A golden file changes only by this verb, so that its change is seen in review.

use crate::Verb;
use crate::command::{cargo, run};

pub(crate) const VERB: Verb = Verb {
    name: "bless",
    arguments: "",
    does: "rewrites the golden files that tests compare with; look at the difference before committing it",
    run: |tree, arguments| {
        super::takes_no_arguments(arguments)?;
        run(cargo(&tree.root)
            .args(["test", "--workspace", "--locked"])
            .env("LINESIDE_BLESS", "1"))?;
        run(std::process::Command::new("git").current_dir(&tree.root).args(["status", "--short"]))
    },
};
