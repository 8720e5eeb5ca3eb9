//! Families of endpoints whose requests are timed together: a dozen labels, independent of the number of endpoints and
//! ids.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointFamily {
    /// Last good bytes.
    Proxy,
    /// Last good schedules.
    Gtfs,
    /// GTFS-Realtime built from the state.
    GtfsRt,
    /// GeoJSON, including the map's own files.
    GeoJson,
    Siri,
    /// GBFS systems in the served versions.
    Gbfs,
    /// Event streams, until the connection moves to a partition.
    Events,
    /// WebSockets, until the connection moves to a partition.
    WebSocket,
    Api,
    /// Profiles, which take as long as requested.
    Profile,
    ServerApi,
    /// Health checks and metrics.
    Health,
    /// Pages and their files.
    Pages,
    /// Unknown addresses.
    Unknown,
}

/// Path prefixes of the families. The first match counts, so longer prefixes come first.
const PATH_PREFIXES: &[(&str, EndpointFamily)] = &[
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
    /// All families, in the order of their discriminants.
    pub const ALL: [Self; 14] = [
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
        Self::Unknown,
    ];

    /// Returns the family of a route template such as `/proxy/{feed}`; `None` means that no route matched.
    pub fn for_template(template: Option<&str>) -> Self {
        let Some(template) = template else { return Self::Unknown };
        let fits = |(beginning, _): &&(&str, Self)| template.starts_with(beginning);
        PATH_PREFIXES.iter().find(fits).map_or(Self::Unknown, |(_, family)| *family)
    }

    pub const fn label_value(self) -> &'static str {
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
            Self::Unknown => "unknown",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_belongs_to_its_endpoint_family() {
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
            (None, "unknown"),
        ] {
            assert_eq!(
                EndpointFamily::for_template(template).label_value(),
                family,
                "{template:?}"
            );
        }
    }

    #[test]
    fn families_are_numbered_in_the_order_of_the_list() {
        for (number, family) in EndpointFamily::ALL.into_iter().enumerate() {
            assert_eq!(family as usize, number);
        }
    }
}
