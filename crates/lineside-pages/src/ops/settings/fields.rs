//! The fields of a feed's form: one for each key of the configuration, with its name.

/// The kind of a field's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InputKind {
    Text,
    /// One of a few words; the empty one means not set.
    Choice(&'static [(&'static str, &'static str)]),
    /// A whole number.
    Number,
    /// The id of a schedule feed, chosen from the existing ones.
    Feed,
    /// A secret: never shown, and unchanged if the field is empty.
    Secret,
}

/// One key.
#[derive(Debug)]
pub(super) struct SettingsField {
    /// The key in the configuration; members of a table as `basic.user`.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: &'static str,
    pub(super) kind: InputKind,
}

impl SettingsField {
    /// Returns the key of the configuration that the field sets, as a whole or in part.
    pub(super) fn config_key(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }
}

/// Fields under one heading.
#[derive(Debug)]
pub(super) struct FieldGroup {
    pub(super) title: &'static str,
    /// True if the group is always open; the others open if one of their fields is set or invalid.
    pub(super) is_essential: bool,
    pub(super) fields: &'static [SettingsField],
}

const fn new_field(name: &'static str, label: &'static str, hint: &'static str) -> SettingsField {
    SettingsField { name, label, hint, kind: InputKind::Text }
}

const fn new_group(title: &'static str, fields: &'static [SettingsField]) -> FieldGroup {
    FieldGroup { title, is_essential: false, fields }
}

const FORMATS: &[(&str, &str)] = &[
    ("", "Detect automatically"),
    ("gtfs", "GTFS schedule"),
    ("gtfs-rt", "GTFS Realtime"),
    ("gbfs", "GBFS system"),
    ("netex", "NeTEx schedule"),
    ("siri", "SIRI"),
    ("raw", "Raw: pass through unread"),
];

/// All groups; headers and query parameters are separate lists.
pub(super) const GROUPS: &[FieldGroup] = &[
    FieldGroup {
        title: "Essentials",
        is_essential: true,
        fields: &[
            new_field(
                "url",
                "Address",
                "https://… or http://…; only the configuration file can name local files",
            ),
            SettingsField {
                name: "format",
                label: "Format",
                hint: "",
                kind: InputKind::Choice(FORMATS),
            },
            SettingsField {
                name: "static",
                label: "Schedule",
                hint: "For real-time feeds: the schedule that their ids refer to",
                kind: InputKind::Feed,
            },
            new_field("name", "Name", "Shown on pages; default: the id"),
        ],
    },
    new_group(
        "Polling",
        &[
            new_field("poll", "Interval", "Such as 15s, 5m or 1h. Default depends on the format"),
            new_field(
                "timeout",
                "Timeout",
                "For connecting and the first byte, and for each further chunk",
            ),
            new_field("ttl", "Minimum age", "Minimum time between requests"),
            new_field("rate", "Rate limit", "Most requests to the host, such as 4/min"),
            new_field("max_bytes", "Largest body", "After decompression, too. Such as 64MiB"),
            SettingsField {
                name: "max_concurrent_requests",
                label: "Concurrent requests",
                hint: "Most requests to the host at a time, over all feeds. Unlimited if empty",
                kind: InputKind::Number,
            },
        ],
    ),
    new_group(
        "Age limits",
        &[
            new_field(
                "late_after",
                "Late after",
                "Age of the data from which the feed counts as late",
            ),
            new_field(
                "trip_late_after",
                "A trip is late after",
                "Delay from which a trip counts as late. Default: as for its schedule",
            ),
            new_field(
                "max_age",
                "Serve for at most",
                "Age from which data is no longer served. Default: no limit",
            ),
        ],
    ),
    new_group(
        "About the feed",
        &[
            new_field("publisher", "Publisher", ""),
            new_field("licence", "Licence", ""),
            new_field("theme", "Mode", "Such as bus or rail"),
            new_field("description", "Description", "A sentence or two, shown on the feed's page"),
        ],
    ),
    new_group(
        "User and password",
        &[
            new_field("basic.user", "User", ""),
            SettingsField {
                name: "basic.password",
                label: "Password",
                hint: "",
                kind: InputKind::Secret,
            },
        ],
    ),
    new_group(
        "Client credentials (OAuth 2)",
        &[
            new_field("oauth2.token_url", "Token URL", ""),
            new_field("oauth2.client_id", "Client ID", ""),
            SettingsField {
                name: "oauth2.client_secret",
                label: "Client secret",
                hint: "",
                kind: InputKind::Secret,
            },
            new_field("oauth2.scope", "Scope", ""),
            new_field("oauth2.audience", "Audience", ""),
        ],
    ),
];

/// Keys that are lists of names with secrets.
pub(super) const PAIRS: [(&str, &str); 2] =
    [("headers", "Request headers"), ("query", "Query parameters")];
/// Keys that are tables with a few members.
pub(super) const TABLES: [&str; 2] = ["basic", "oauth2"];

pub(super) fn all_fields() -> impl Iterator<Item = &'static SettingsField> {
    GROUPS.iter().flat_map(|group| group.fields)
}
