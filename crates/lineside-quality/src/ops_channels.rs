//! The names of the dashboard's channels.

use lineside_hub::EncodedChannelName;

/// The prefix of the dashboard's channels.
const PREFIX: &str = "ops/";
/// The channel of each feed's health and load.
pub const FEEDS: &str = "ops/feeds";
/// The channel of the node's load, now and in the last minutes.
pub const NODE: &str = "ops/node";

/// Returns true if a channel is one of the dashboard's, which only admins may read.
pub fn is_dashboard_channel(channel: &EncodedChannelName) -> bool {
    channel.as_str().starts_with(PREFIX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_channels_below_ops_are_the_dashboards() {
        assert!(is_dashboard_channel(&EncodedChannelName::parse_channel_name("ops/x").unwrap()));
        assert!(!is_dashboard_channel(&EncodedChannelName::parse_channel_name("opera/x").unwrap()));
    }
}
