//! `[limits]`: the number of clients and their use of resources.

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use super::LimitsConfig;
use super::config_checker::ConfigChecker;
use super::value::{COUNT, CountText, DurationText, SizeText};

const CHANNEL_LOG_BYTES: RangeInclusive<u64> = 1024..=(1 << 30);
const TOTAL_BYTES: RangeInclusive<u64> = (1 << 20)..=(1 << 40);
/// With more channels the work of each step of a session would be noticeable.
const CHANNELS: RangeInclusive<u64> = 1..=4_096;
/// A larger message would count as more commands than a connection may send at once.
const MAX_MESSAGE_SIZE: RangeInclusive<u64> = 1024..=(1 << 20);
const LOAD_MEMORY: RangeInclusive<u64> = (1 << 20)..=(1 << 40);
const SEND_TIMEOUT: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(600);

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LimitsTable {
    pub(super) connections: Option<Spanned<CountText>>,
    pub(super) connections_per_address: Option<Spanned<CountText>>,
    pub(super) channel_log_bytes: Option<Spanned<SizeText>>,
    pub(super) total_bytes: Option<Spanned<SizeText>>,
    pub(super) channels_per_session: Option<Spanned<CountText>>,
    pub(super) max_message_size: Option<Spanned<SizeText>>,
    pub(super) unsent_bytes: Option<Spanned<SizeText>>,
    pub(super) send_timeout: Option<Spanned<DurationText>>,
    pub(super) load_memory: Option<Spanned<SizeText>>,
}

impl ConfigChecker<'_> {
    pub(super) fn check_limits(
        &mut self,
        table: LimitsTable,
        defaults: LimitsConfig,
    ) -> LimitsConfig {
        let connections = self
            .check_count("limits.connections", &table.connections, COUNT)
            .unwrap_or(defaults.connections);
        let connections_per_address = self
            .check_count("limits.connections_per_address", &table.connections_per_address, COUNT)
            .unwrap_or(defaults.connections_per_address);
        let channels_per_session = self
            .check_count("limits.channels_per_session", &table.channels_per_session, CHANNELS)
            .unwrap_or(defaults.channels_per_session);
        LimitsConfig {
            connections,
            connections_per_address,
            channel_log_bytes: self.check_memory_size(
                "limits.channel_log_bytes",
                &table.channel_log_bytes,
                CHANNEL_LOG_BYTES,
            ),
            total_bytes: self.check_memory_size(
                "limits.total_bytes",
                &table.total_bytes,
                TOTAL_BYTES,
            ),
            channels_per_session,
            max_message_size: self
                .check_memory_size(
                    "limits.max_message_size",
                    &table.max_message_size,
                    MAX_MESSAGE_SIZE,
                )
                .unwrap_or(defaults.max_message_size),
            unsent_bytes: self
                .check_memory_size("limits.unsent_bytes", &table.unsent_bytes, TOTAL_BYTES)
                .unwrap_or(defaults.unsent_bytes),
            send_timeout: self
                .check_duration("limits.send_timeout", table.send_timeout, SEND_TIMEOUT)
                .unwrap_or(defaults.send_timeout),
            load_memory: self
                .check_memory_size("limits.load_memory", &table.load_memory, LOAD_MEMORY)
                .map_or(defaults.load_memory, |bytes| bytes as u64),
        }
    }
}
