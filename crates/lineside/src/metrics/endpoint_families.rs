//! Which addresses are timed together: a dozen families, however many addresses and ids there are.

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndpointFamily {
    /// Last good bytes.
    Proxy,
    /// Last good schedules.
    Gtfs,
    /// GTFS-Realtime as it goes out again.
    GtfsRt,
    /// GeoJSON, the map's own files among it.
    GeoJson,
    /// SIRI.
    Siri,
    /// GBFS systems in our versions.
    Gbfs,
    /// Streams: until the connection is handed on.
    Events,
    /// WebSockets: until the connection is handed on.
    WebSocket,
    /// The API.
    Api,
    /// Recordings, which take as long as they are asked to.
    Profile,
    /// The server API.
    ServerApi,
    /// Health and figures.
    Health,
    /// What people see, and its files.
    Pages,
    /// Where nothing is.
    Nowhere,
}

/// How the addresses of a family begin. The first that fits counts, so what is longer stands before.
const BEGINNINGS: &[(&str, EndpointFamily)] = &[
    ("/proxy/", EndpointFamily::Proxy),
    ("/resource/", EndpointFamily::Proxy),
    ("/gtfs/", EndpointFamily::Gtfs),
    ("/gtfs-rt/", EndpointFamily::GtfsRt),
    ("/geojson/", EndpointFamily::GeoJson),
    ("/map/", EndpointFamily::GeoJson),
    ("/siri/", EndpointFamily::Siri),
    ("/gbfs/", EndpointFamily::Gbfs),
    ("/events", EndpointFamily::Events),
    ("/connection/", EndpointFamily::WebSocket),
    ("/api/v1/admin/profile", EndpointFamily::Profile),
    ("/ops/profile", EndpointFamily::Profile),
    ("/api/v1/", EndpointFamily::Api),
    ("/api/", EndpointFamily::ServerApi),
    ("/healthz", EndpointFamily::Health),
    ("/readyz", EndpointFamily::Health),
    ("/metrics", EndpointFamily::Health),
    ("/", EndpointFamily::Pages),
];

impl EndpointFamily {
    /// All, in the order of their numbers.
    pub(crate) const ALL: [Self; 14] = [
        Self::Proxy,
        Self::Gtfs,
        Self::GtfsRt,
        Self::GeoJson,
        Self::Siri,
        Self::Gbfs,
        Self::Events,
        Self::WebSocket,
        Self::Api,
        Self::Profile,
        Self::ServerApi,
        Self::Health,
        Self::Pages,
        Self::Nowhere,
    ];

    /// The family of a template such as `/proxy/{feed}`; none means that no template fitted the request.
    pub(crate) fn for_template(template: Option<&str>) -> Self {
        let Some(template) = template else { return Self::Nowhere };
        let fits = |(beginning, _): &&(&str, Self)| template.starts_with(beginning);
        BEGINNINGS.iter().find(fits).map_or(Self::Nowhere, |(_, family)| *family)
    }

    /// One word for it.
    pub(crate) const fn label_value(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Gtfs => "gtfs",
            Self::GtfsRt => "gtfs_rt",
            Self::GeoJson => "geojson",
            Self::Siri => "siri",
            Self::Gbfs => "gbfs",
            Self::Events => "events",
            Self::WebSocket => "websocket",
            Self::Api => "api",
            Self::Profile => "profile",
            Self::ServerApi => "server_api",
            Self::Health => "health",
            Self::Pages => "pages",
            Self::Nowhere => "nowhere",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_family() {
        for (template, family) in [
            (Some("/proxy/{feed}"), "proxy"),
            (Some("/resource/{feed}"), "proxy"),
            (Some("/gtfs/{file}"), "gtfs"),
            (Some("/gtfs-rt/{file}"), "gtfs_rt"),
            (Some("/geojson/{feed}/{file}"), "geojson"),
            (Some("/map/base-map.geojson"), "geojson"),
            (Some("/gbfs/{feed}/{version}/{file}"), "gbfs"),
            (Some("/map"), "pages"),
            (Some("/siri/2.0/{file}"), "siri"),
            (Some("/events"), "events"),
            (Some("/connection/websocket"), "websocket"),
            (Some("/api/v1/feeds"), "api"),
            (Some("/api/v1/admin/profile"), "profile"),
            (Some("/ops/profile"), "profile"),
            (Some("/api/v1/admin/feeds"), "api"),
            (Some("/api/publish"), "server_api"),
            (Some("/metrics"), "health"),
            (Some("/"), "pages"),
            (None, "nowhere"),
        ] {
            assert_eq!(
                EndpointFamily::for_template(template).label_value(),
                family,
                "{template:?}"
            );
        }
    }

    #[test]
    fn families_are_numbered_as_they_stand() {
        for (number, family) in EndpointFamily::ALL.into_iter().enumerate() {
            assert_eq!(family as usize, number);
        }
    }
}
