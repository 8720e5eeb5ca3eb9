//! The fields of a feed's form: one for each key of the configuration, in its words.

/// How a value is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// One of a few words; the empty one is "not said".
    Choice(&'static [(&'static str, &'static str)]),
    /// Yes or no.
    Check,
    /// The id of a schedule feed, chosen from those that there are.
    Feed,
    /// Never shown; left empty it stays what it is.
    Secret,
}

/// One key.
#[derive(Debug)]
pub(super) struct Field {
    /// As in the configuration; what stands in a table, as `basic.user`.
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    pub(super) hint: &'static str,
    pub(super) kind: Kind,
}

impl Field {
    /// The key of the configuration that it is, or is part of.
    pub(super) fn key(&self) -> &'static str {
        self.name.split('.').next().unwrap_or(self.name)
    }
}

/// Fields under one heading.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    /// Whether it is always open; the others open when something in them is set or wrong.
    pub(super) is_essential: bool,
    pub(super) fields: &'static [Field],
}

const fn field(name: &'static str, label: &'static str, hint: &'static str) -> Field {
    Field { name, label, hint, kind: Kind::Text }
}

const fn group(title: &'static str, fields: &'static [Field]) -> Group {
    Group { title, is_essential: false, fields }
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

/// All but headers and parameters, which are lists of their own.
pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "Essentials",
        is_essential: true,
        fields: &[
            field(
                "url",
                "Address",
                "https://… or http://…; only the configuration file can name local files",
            ),
            Field { name: "format", label: "Format", hint: "", kind: Kind::Choice(FORMATS) },
            Field {
                name: "static",
                label: "Schedule",
                hint: "For real-time feeds: the schedule that their ids refer to",
                kind: Kind::Feed,
            },
            field("name", "Name", "Shown on pages; default: the id"),
        ],
    },
    group(
        "Polling",
        &[
            field("poll", "Interval", "Such as 15s, 5m or 1h. Default depends on the format"),
            field(
                "timeout",
                "Timeout",
                "For connecting and the first byte, and for each further chunk",
            ),
            field("ttl", "Minimum age", "Minimum time between requests"),
            field("rate", "Rate limit", "Most requests to the host, such as 4/min"),
            field("max_bytes", "Largest body", "After decompression, too. Such as 64MiB"),
            Field {
                name: "serial",
                label: "One request at a time to this host",
                hint: "",
                kind: Kind::Check,
            },
        ],
    ),
    group(
        "Age limits",
        &[
            field("late_after", "Late after", "Age of the data from which the feed counts as late"),
            field(
                "trip_late_after",
                "A trip is late after",
                "Delay from which a trip counts as late. Default: as for its schedule",
            ),
            field(
                "max_age",
                "Serve for at most",
                "Age from which data is no longer served. Default: no limit",
            ),
        ],
    ),
    group(
        "About the feed",
        &[
            field("publisher", "Publisher", ""),
            field("licence", "Licence", ""),
            field("theme", "Mode", "Such as bus or rail"),
            field("description", "Description", "A sentence or two, shown on the feed's page"),
        ],
    ),
    group(
        "User and password",
        &[
            field("basic.user", "User", ""),
            Field { name: "basic.password", label: "Password", hint: "", kind: Kind::Secret },
        ],
    ),
    group(
        "Client credentials (OAuth 2)",
        &[
            field("oauth2.token_url", "Token URL", ""),
            field("oauth2.client_id", "Client ID", ""),
            Field {
                name: "oauth2.client_secret",
                label: "Client secret",
                hint: "",
                kind: Kind::Secret,
            },
            field("oauth2.scope", "Scope", ""),
            field("oauth2.audience", "Audience", ""),
        ],
    ),
];

/// Keys that are lists of names with secrets.
pub(super) const PAIRS: [(&str, &str); 2] =
    [("headers", "Request headers"), ("query", "Query parameters")];
/// Keys that are tables with a few members.
pub(super) const TABLES: [&str; 2] = ["basic", "oauth2"];

/// All fields.
pub(super) fn all() -> impl Iterator<Item = &'static Field> {
    GROUPS.iter().flat_map(|group| group.fields)
}
