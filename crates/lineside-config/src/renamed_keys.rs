//! Keys that had other names before version 0.1.0.

/// Pairs of the former name and the key of today. `[]` marks tables of a list.
const RENAMED_KEYS: [(&str, &str); 11] = [
    ("keep", "retention"),
    ("visitors", "uploads"),
    ("validator", "external_validator"),
    ("server.client_name", "server.user_agent"),
    ("server.private_consumers", "server.allow_private_subscribers"),
    ("limits.room_bytes", "limits.channel_log_bytes"),
    ("limits.frame", "limits.max_message_size"),
    ("validation.slots", "validation.concurrency"),
    ("validation.waiting", "validation.queue"),
    ("uploads.keep", "uploads.retention"),
    ("feed[].serial", "feed[].max_concurrent_requests"),
];

/// Returns the advice for a key that was renamed, such as `feed[].serial`. A table of a list has `[]` for its number.
pub(super) fn renamed_key_advice(key: &str) -> Option<String> {
    let (_, new) = RENAMED_KEYS.iter().find(|(old, _)| *old == key)?;
    let name = new.rsplit('.').next().unwrap_or(new);
    Some(match *new {
        "feed[].max_concurrent_requests" => {
            format!("renamed: write `{name} = 1` for `serial = true`")
        }
        _ => format!("renamed: write `{name}`"),
    })
}
