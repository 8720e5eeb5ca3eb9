//! Following channels of a running server: a small client of `/events` that resumes.

mod events;
mod follow;
mod show;

pub(crate) use follow::{Ended, follow};
pub(crate) use show::{Show, Style};
