//! The server program: everything that talks to the outside, around libraries that do not.
//!
//! # Layout
//! - `config`: the TOML file and `--feed` arguments, with all checks.
//! - `cli`: one file per command; `main.rs` only calls it.
//! - `server`: wiring, start to stop. `app`: the handle that handlers share. `settings`: the configuration in force, and
//!   its reload. `overrides`: the changes of admins.
//! - `http`: the public addresses, their replies and refusals, the accept loop.
//! - `pages`: the HTML pages. `demo`: the simulated city's own HTTP server and its faults.
//! - `admin`: authentication of admins.
//! - `token`: the tokens of clients, signed by the operator's back end. `auth`: the permissions of clients.
//! - `ops`: the state of the feeds and the node, for the dashboard.
//! - `profile`: profiles of the threads, as flame graphs.
//! - `check`: validation of files. `uploads`: validation of uploaded files. `external_validators`: runs of the operator's
//!   own validators.
//! - `spelling`: suggestions for misspelt words.
//! - `watch`: the client of the terminal. `job_queue`: a bounded queue with a few slots. `metrics`, `histogram`,
//!   `shutdown`, `data_dir`, `handoff_file`, `timeout`: as named.

mod client_network;
mod admin;
mod app;
mod archive_reader;
mod context;
mod delay_replies;
mod ops_collector;
mod validation_tasks;
mod check;
pub mod cli;
mod config;
mod convert;
mod data_dir;
mod handoff_file;
mod demo;
mod delays;
mod rlimit;
mod routes;
mod auth;
mod http;
mod json;
mod last_stops;
mod histogram;
mod start_demo;
mod storage;
mod trip_matching;
mod metrics;
mod overrides;
mod ops;
mod ops_channels;
mod keyed_change;
mod server_channels;
mod notification_counts;
mod secrets;
mod times;
mod notifications;
mod pages;
mod profile;
mod job_queue;
mod reports;
mod server;
mod settings;
mod shutdown;
mod signals;
mod spelling;
#[cfg(test)]
mod test_schedule;
mod token;
mod external_validators;
mod uploads;
mod watch;

use lineside_sync::real_time;

pub use app::{App, BASE_MAP_PATH, MAP_STYLE_PATH, MAP_TILES_PATH, MapLinks};
pub use config::feeds_from_arguments;
pub use config::{
    AdminConfig, ApiConfig, Config, ConfigError, ConfigErrors, ConfigSource, FeedArgument,
    LimitsConfig, MapConfig, MapSource, ServerConfig, SiteConfig, SiteLogo, TokenConfig, TokenKey,
    UploadsConfig,
};
pub use demo::{Demo, DemoOptions, DemoSiriMode};
pub use server::{RunningServer, ServerOptions, start_server};
pub use shutdown::Shutdown;
pub use start_demo::{start_demo, start_demo_with_clock};
