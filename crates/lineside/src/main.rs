//! Lineside: one server between public-transport producers and everyone else.

use std::process::ExitCode;

use clap::Parser as _;
use lineside::cli::{self, Cli};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tasks that run before the runtime polls for I/O: thousands of simultaneous connects are some milliseconds of work,
/// of which other requests should wait for only a part.
const EVENT_INTERVAL: u32 = 8;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .event_interval(EVENT_INTERVAL)
        .thread_name("runtime")
        .build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(cli::run_command(cli));
            // A decoder may still be busy with a large feed; the process does not wait for it.
            runtime.shutdown_background();
            code
        }
        Err(error) => cli::print_runtime_start_failure(&error),
    }
}
