//! Following the channels of a running server: a small client of `/events` that resumes.

mod event_parser;
mod follow;
mod event_format;

pub(crate) use event_format::{EventFormatter, EventStyle};
pub(crate) use follow::{FollowEndReason, follow_channels_until_error};
