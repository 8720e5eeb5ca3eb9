//! The program: everything that talks to the outside, around rooms that do not.
//!
//! # Layout
//! - `config`: the TOML file and `--feed` arguments, checked whole.
//! - `cli`: one file per command; `main.rs` only calls it.
//! - `server`: wiring, start to stop. `app`: the handle that handlers share. `settings`: what is in force, read again.
//!   `overrides`: what admins lay over it.
//! - `http`: the public addresses, their replies and refusals, the accept loop.
//! - `pages`: what people see. `demo`: the simulated city's own door and its faults.
//! - `admin`: who may change how the server runs.
//! - `token`: who clients are, by what the operator's back end has signed. `gate`: what they may.
//! - `ops`: how the feeds and the node are doing, for who watches them.
//! - `profile`: what the threads are at, and the flame graph of that.
//! - `check`: what is wrong with a file. `visitors`: the same for what visitors bring. `validators`: what the operator's own
//!   programs say of schedules.
//! - `spelling`: the known word that a misspelt one may mean.
//! - `watch`: the terminal's client. `queue`: who waits for one of a few slots. `metrics`, `latencies`, `shutdown`, `data_dir`,
//!   `kept_file`, `patience`: as named.

mod client_network;
mod admin;
mod app;
mod check;
pub mod cli;
mod config;
mod convert;
mod data_dir;
mod handoff_file;
mod demo;
mod delays;
mod rlimit;
mod auth;
mod http;
mod json;
mod last_stops;
mod histogram;
mod storage;
mod trip_matching;
mod metrics;
mod overrides;
mod ops;
mod notifications;
mod pages;
mod timeout;
mod profile;
mod job_queue;
mod reports;
mod server;
mod settings;
mod shutdown;
mod spelling;
#[cfg(test)]
mod test_schedule;
mod token;
mod external_validators;
mod uploads;
mod watch;

pub use app::{App, BASE_MAP_PATH, MAP_STYLE_PATH, MAP_TILES_PATH, MapLinks};
pub use config::feeds_from_arguments;
pub use config::{
    AdminConfig, ApiConfig, Config, ConfigError, ConfigErrors, ConfigSource, FeedArgument,
    LimitsConfig, MapConfig, MapSource, ServerConfig, SiteConfig, SiteLogo, TokenConfig, TokenKey,
    UploadsConfig,
};
pub use demo::{Demo, DemoOptions, DemoSiriMode, start_demo, start_demo_with_clock};
pub use server::{RunningServer, ServerOptions, start_server};
pub use shutdown::Shutdown;
