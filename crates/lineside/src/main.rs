//! Lineside: one server between public-transport producers and everyone else.

use std::process::ExitCode;

use clap::Parser as _;
use lineside::cli::{self, Cli};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(cli::run(cli));
            // A decoder may still be busy with a large feed: nothing waits for it.
            runtime.shutdown_background();
            code
        }
        Err(error) => cli::cannot_start(&error),
    }
}
