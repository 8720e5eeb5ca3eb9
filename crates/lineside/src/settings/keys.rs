//! Which keys apply at once, and which wait for the next start (docs/operate/configuration.md says it for each).

use crate::config::{Api, Config, Keep, Limits, Map, Server};

/// What is in force once `next` was read, and which of its keys wait for the next start.
pub(super) fn in_force_after(now: &Config, next: Config) -> (Config, Vec<&'static str>) {
    let waiting = waiting(now, &next);
    let Config {
        server,
        api,
        visitors,
        map,
        converters,
        validators,
        feeds,
        alerts,
        smtp,
        source,
        ..
    } = next;
    let in_force = Config {
        server: Server { public_url: server.public_url, ..now.server.clone() },
        api,
        visitors,
        map,
        converters,
        validators,
        feeds,
        alerts,
        smtp,
        source,
        ..now.clone()
    };
    (in_force, waiting)
}

fn waiting(now: &Config, next: &Config) -> Vec<&'static str> {
    // Each field is named here, so that a new one is given a place.
    let Config {
        server,
        limits,
        token,
        api,
        admin,
        namespaces,
        keep,
        visitors: _,
        validation,
        map,
        converters: _,
        validators: _,
        feeds: _,
        alerts: _,
        smtp: _,
        source: _,
    } = next;
    let Limits {
        connections,
        connections_per_address,
        room_bytes,
        total_bytes,
        channels_per_session,
        frame,
    } = limits;
    let Keep { availability, versions, versions_age, reports } = keep;
    // These apply at once, whole.
    let (Api { key: _ }, Map { style: _, pmtiles: _, origins: _ }) = (api, map);
    let is_other = [
        ("limits.connections", *connections != now.limits.connections),
        (
            "limits.connections_per_address",
            *connections_per_address != now.limits.connections_per_address,
        ),
        ("limits.room_bytes", *room_bytes != now.limits.room_bytes),
        ("limits.total_bytes", *total_bytes != now.limits.total_bytes),
        ("limits.channels_per_session", *channels_per_session != now.limits.channels_per_session),
        ("limits.frame", *frame != now.limits.frame),
        ("token", *token != now.token),
        ("admin", *admin != now.admin),
        ("namespace", *namespaces != now.namespaces),
        ("keep.availability", *availability != now.keep.availability),
        ("keep.versions", *versions != now.keep.versions),
        ("keep.versions_age", *versions_age != now.keep.versions_age),
        ("keep.reports", *reports != now.keep.reports),
        ("validation", *validation != now.validation),
    ];
    let is_other = of_server(server, &now.server).into_iter().chain(is_other);
    is_other.filter(|(_, is_other)| *is_other).map(|(key, _)| key).collect()
}

/// The keys of `[server]` that wait, and whether each is another one now.
fn of_server(next: &Server, now: &Server) -> [(&'static str, bool); 6] {
    let Server {
        listen,
        public_url: _,
        trusted_proxies,
        data_dir,
        drain,
        client_name,
        private_consumers: _,
        tls,
    } = next;
    [
        ("server.listen", *listen != now.listen),
        ("server.trusted_proxies", *trusted_proxies != now.trusted_proxies),
        ("server.data_dir", *data_dir != now.data_dir),
        ("server.drain", *drain != now.drain),
        ("server.client_name", *client_name != now.client_name),
        ("server.tls", *tls != now.tls),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(Path::new("lineside.toml"), text).unwrap()
    }

    const NOW: &str = "[server]\nlisten = \"127.0.0.1:1\"\n";

    #[track_caller]
    fn check(next: &str, waits: &[&str]) -> Config {
        let (in_force, waiting) = in_force_after(&parse(NOW), parse(next));
        assert_eq!(waiting, waits, "{next}");
        in_force
    }

    #[test]
    fn what_can_apply_at_once_does() {
        let next = format!(
            "{NOW}public_url = \"https://a.example\"\n[api]\nkey = \"k\"\n[map]\nstyle = \
             \"https://a.example/style.json\"\n[[feed]]\nid = \"a\"\nurl = \"https://a.example/\"\n"
        );
        let in_force = check(&next, &[]);
        assert!(in_force.server.public_url.is_some() && in_force.api.key.is_some());
        assert!(in_force.map.style.is_some());
        assert_eq!(in_force.feeds.len(), 1);
    }

    #[test]
    fn what_waits_is_named_and_stays_as_it_is() {
        let next = "[server]\nlisten = \"127.0.0.1:2\"\ndrain = \"1s\"\nclient_name = \"me\"\n\
                    data_dir = \"d\"\ntrusted_proxies = [\"10.0.0.1\"]\n\
                    tls = { cert = \"a\", key = \"b\" }\n\
                    [limits]\nconnections = 1\nconnections_per_address = 1\nroom_bytes = 2048\n\
                    total_bytes = 1048576\nchannels_per_session = 3\nframe = 4096\n\
                    [token]\nhmac = \"s3cret\"\n[admin]\ntoken = \"another s3cret of an admin\"\n[[namespace]]\nprefix = \"app/\"\n\
                    [keep]\navailability = \"2d\"\nversions = 3\nversions_age = \"9d\"\nreports = 3\n\
                    [validation]\nslots = 2\n";
        let waits = [
            "server.listen",
            "server.trusted_proxies",
            "server.data_dir",
            "server.drain",
            "server.client_name",
            "server.tls",
            "limits.connections",
            "limits.connections_per_address",
            "limits.room_bytes",
            "limits.total_bytes",
            "limits.channels_per_session",
            "limits.frame",
            "token",
            "admin",
            "namespace",
            "keep.availability",
            "keep.versions",
            "keep.versions_age",
            "keep.reports",
            "validation",
        ];
        assert_eq!(check(next, &waits), parse(NOW));
        check(NOW, &[]);
    }
}
