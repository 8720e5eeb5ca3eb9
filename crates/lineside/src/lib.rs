//! The server program: everything that talks to the outside, around libraries that do not.
//!
//! # Layout
//! - `cli`: one file per command; `main.rs` only calls it.
//! - `server`: wiring, start to stop. `app`: the handle that handlers share. `routes`: the router.
//! - `settings`: the configuration in force, its reload, and the edits of admins.
//! - `http`: the public addresses, their replies and refusals, the accept loop.
//! - `pages`: the HTML pages. `demo`: the simulated city's own HTTP server and its faults.
//! - `admin`: authentication of admins.
//! - `token`: the tokens of clients, signed by the operator's back end. `auth`: the permissions of clients.
//! - `ops`: the state of the feeds and the node, for the dashboard.
//! - `delays`: the delay reports; `delay_replies` answers with them.
//! - `notifications`: messages to operators about their feeds.
//! - `watch`: the client of the terminal. `metrics`, `histogram`, `data_dir`, `handoff_file`, `storage`: as named.

pub mod cli;
mod data_dir;
mod handoff_file;
mod demo;
mod rlimit;
mod routes;
mod start_demo;
mod storage;
mod notifications;
mod server;
mod sessions;
mod signals;
mod watch;

pub use demo::{DemoCity, DemoOptions, DemoSiriMode};
pub use lineside_config::feeds_from_arguments;
pub use lineside_config::{
    AdminConfig, ApiConfig, Config, ConfigError, ConfigErrors, ConfigSource, FeedArgument,
    LimitsConfig, MapConfig, MapSource, ServerConfig, SiteConfig, SiteLogo, TokenConfig, TokenKey,
    UploadsConfig,
};
pub use lineside_http::app::{App, BASE_MAP_PATH, MAP_STYLE_PATH, MAP_TILES_PATH, MapSourceUrls};
pub use lineside_quality::shutdown::Shutdown;
pub use server::{RunningServer, ServerOptions, start_server};
pub use start_demo::{start_demo, start_demo_with_clock};
