//! The fields of a feed's form: one for each key of the configuration, in its words.

/// How a value is put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// One of a few words; the empty one is "not said".
    Choice(&'static [(&'static str, &'static str)]),
    /// Yes or no.
    Check,
    /// The id of a feed.
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
    pub(super) fields: &'static [Field],
}

const fn field(name: &'static str, label: &'static str, hint: &'static str) -> Field {
    Field { name, label, hint, kind: Kind::Text }
}

const FORMATS: &[(&str, &str)] = &[
    ("", "Told from its bytes"),
    ("gtfs", "GTFS"),
    ("gtfs-rt", "GTFS-Realtime"),
    ("gbfs", "GBFS: a system, file by file"),
    ("netex", "NeTEx: a schedule"),
    ("siri", "SIRI"),
    ("raw", "Raw: only passed on"),
];

/// All but headers and parameters, which are lists of their own.
pub(super) const GROUPS: &[Group] = &[
    Group {
        title: "How its source is asked",
        fields: &[
            field("url", "Address", "https://… or http://…"),
            field("poll", "Interval", "Such as 15s, 5m or 1h; by its format if nothing is said"),
            field(
                "timeout",
                "Timeout",
                "For connecting and the first byte, and for each further piece",
            ),
            field("ttl", "Fresh for at least", "It is not asked sooner, whatever else is said"),
            field("rate", "Rate", "At most so many requests to its host, such as 4/min"),
            field("max_bytes", "Largest body", "Also once inflated, such as 64MiB"),
            Field {
                name: "serial",
                label: "Never ask its host twice at a time",
                hint: "",
                kind: Kind::Check,
            },
        ],
    },
    Group {
        title: "When it is old",
        fields: &[
            field("late_after", "Late after", "The age of the data from which it is called late"),
            field(
                "trip_late_after",
                "A trip is late after",
                "How far behind the timetable a trip is called late; as its network says if nothing is said",
            ),
            field(
                "max_age",
                "Served for at most",
                "The age from which it is not served any more; for ever if nothing is said",
            ),
        ],
    },
    Group {
        title: "What it is",
        fields: &[
            field("name", "Name", "For people; the id if nothing is said"),
            field("publisher", "Publisher", ""),
            field("licence", "Licence", ""),
            field("theme", "Theme", "Such as bus or rail"),
            Field { name: "format", label: "Format", hint: "", kind: Kind::Choice(FORMATS) },
            Field {
                name: "static",
                label: "Schedule",
                hint: "The id of the schedule feed that it belongs to",
                kind: Kind::Feed,
            },
        ],
    },
    Group {
        title: "User and password",
        fields: &[
            field("basic.user", "User", ""),
            Field { name: "basic.password", label: "Password", hint: "", kind: Kind::Secret },
        ],
    },
    Group {
        title: "Client credentials (OAuth 2)",
        fields: &[
            field("oauth2.token_url", "Address of its tokens", ""),
            field("oauth2.client_id", "Client", ""),
            Field { name: "oauth2.client_secret", label: "Secret", hint: "", kind: Kind::Secret },
            field("oauth2.scope", "Scope", ""),
            field("oauth2.audience", "Audience", ""),
        ],
    },
];

/// Keys that are lists of names with secrets.
pub(super) const PAIRS: [(&str, &str); 2] =
    [("headers", "Headers of each request"), ("query", "Parameters added to the address")];
/// Keys that are tables with a few members.
pub(super) const TABLES: [&str; 2] = ["basic", "oauth2"];

/// All fields.
pub(super) fn all() -> impl Iterator<Item = &'static Field> {
    GROUPS.iter().flat_map(|group| group.fields)
}
