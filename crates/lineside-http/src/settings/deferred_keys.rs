//! Separates the keys that apply at once from those that wait for the next start (docs/operate/configuration.md lists
//! both).

use lineside_config::{Config, LimitsConfig, RetentionConfig, ServerConfig};

/// Returns the configuration in force after `next` was read, and the changed keys that wait for the next start. All
/// fields are listed, so that a new one must be assigned to a group.
pub(super) fn split_off_restart_keys(
    now: &Config,
    mut next: Config,
) -> (Config, Vec<&'static str>) {
    let mut waiting = DeferredKeys::default();
    let Config {
        server,
        limits,
        token,
        admin,
        namespaces,
        retention,
        validation,
        // These apply at once.
        api: _,
        uploads: _,
        site: _,
        map: _,
        converters: _,
        external_validators: _,
        feeds: _,
        alerts: _,
        smtp: _,
        source: _,
    } = &mut next;
    waiting.defer_server_keys(server, &now.server);
    waiting.defer_limits_keys(limits, &now.limits);
    waiting.defer_if_changed("token", token, &now.token);
    waiting.defer_if_changed("admin", admin, &now.admin);
    waiting.defer_if_changed("namespace", namespaces, &now.namespaces);
    waiting.defer_retention_keys(retention, &now.retention);
    waiting.defer_if_changed("validation", validation, &now.validation);
    (next, waiting.0)
}

/// The changed keys that wait for the next start.
#[derive(Default)]
struct DeferredKeys(Vec<&'static str>);

impl DeferredKeys {
    /// Resets a value to the current one, and notes its key if they differ.
    fn defer_if_changed<T: Clone + PartialEq>(&mut self, key: &'static str, next: &mut T, now: &T) {
        if next != now {
            next.clone_from(now);
            self.0.push(key);
        }
    }

    fn defer_server_keys(&mut self, next: &mut ServerConfig, now: &ServerConfig) {
        let ServerConfig {
            listen,
            trusted_proxies,
            data_dir,
            drain,
            user_agent,
            tls,
            // These apply at once.
            public_url: _,
            allow_private_subscribers: _,
            cross_origin: _,
        } = next;
        self.defer_if_changed("server.listen", listen, &now.listen);
        self.defer_if_changed("server.trusted_proxies", trusted_proxies, &now.trusted_proxies);
        self.defer_if_changed("server.data_dir", data_dir, &now.data_dir);
        self.defer_if_changed("server.drain", drain, &now.drain);
        self.defer_if_changed("server.user_agent", user_agent, &now.user_agent);
        self.defer_if_changed("server.tls", tls, &now.tls);
    }

    fn defer_limits_keys(&mut self, next: &mut LimitsConfig, now: &LimitsConfig) {
        let LimitsConfig {
            connections,
            connections_per_address,
            channel_log_bytes,
            total_bytes,
            channels_per_session,
            max_message_size,
            unsent_bytes,
            send_timeout,
            load_memory,
        } = next;
        self.defer_if_changed("limits.connections", connections, &now.connections);
        let (per_address, current_limit) = (connections_per_address, &now.connections_per_address);
        self.defer_if_changed("limits.connections_per_address", per_address, current_limit);
        self.defer_if_changed(
            "limits.channel_log_bytes",
            channel_log_bytes,
            &now.channel_log_bytes,
        );
        self.defer_if_changed("limits.total_bytes", total_bytes, &now.total_bytes);
        self.defer_if_changed(
            "limits.channels_per_session",
            channels_per_session,
            &now.channels_per_session,
        );
        self.defer_if_changed("limits.max_message_size", max_message_size, &now.max_message_size);
        self.defer_if_changed("limits.unsent_bytes", unsent_bytes, &now.unsent_bytes);
        self.defer_if_changed("limits.send_timeout", send_timeout, &now.send_timeout);
        self.defer_if_changed("limits.load_memory", load_memory, &now.load_memory);
    }

    fn defer_retention_keys(&mut self, next: &mut RetentionConfig, now: &RetentionConfig) {
        let RetentionConfig { availability, versions, versions_age, reports } = next;
        self.defer_if_changed("retention.availability", availability, &now.availability);
        self.defer_if_changed("retention.versions", versions, &now.versions);
        self.defer_if_changed("retention.versions_age", versions_age, &now.versions_age);
        self.defer_if_changed("retention.reports", reports, &now.reports);
    }
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
        let (in_force, waiting) = split_off_restart_keys(&parse(NOW), parse(next));
        assert_eq!(waiting, waits, "{next}");
        in_force
    }

    #[test]
    fn immediate_keys_apply_at_once() {
        let next = format!(
            "{NOW}public_url = \"https://a.example\"\nallow_private_subscribers = true\ncross_origin = false\n[api]\nkey = \"k\"\n[map]\nstyle = \
             \"https://a.example/style.json\"\n[[feed]]\nid = \"a\"\nurl = \"https://a.example/\"\n"
        );
        let in_force = check(&next, &[]);
        assert!(in_force.server.public_url.is_some() && in_force.api.key.is_some());
        assert!(in_force.server.allow_private_subscribers && !in_force.server.cross_origin);
        assert!(in_force.map.style.is_some());
        assert_eq!(in_force.feeds.len(), 1);
    }

    #[test]
    fn deferred_keys_are_listed_and_stay_unchanged() {
        let next = "[server]\nlisten = \"127.0.0.1:2\"\ndrain = \"1s\"\nuser_agent = \"me\"\n\
                    data_dir = \"d\"\ntrusted_proxies = [\"10.0.0.1\"]\n\
                    tls = { cert = \"a\", key = \"b\" }\n\
                    [limits]\nconnections = 1\nconnections_per_address = 1\nchannel_log_bytes = 2048\n\
                    total_bytes = 1048576\nchannels_per_session = 3\nmax_message_size = 4096\n\
                    unsent_bytes = \"1MiB\"\nsend_timeout = \"1s\"\nload_memory = \"1GiB\"\n\
                    [token]\nhmac = \"s3cret\"\n[admin]\ntoken = \"another s3cret of an admin\"\n[[namespace]]\nprefix = \"app/\"\n\
                    [retention]\navailability = \"2d\"\nversions = 3\nversions_age = \"9d\"\nreports = 3\n\
                    [validation]\nconcurrency = 2\n";
        let waits = [
            "server.listen",
            "server.trusted_proxies",
            "server.data_dir",
            "server.drain",
            "server.user_agent",
            "server.tls",
            "limits.connections",
            "limits.connections_per_address",
            "limits.channel_log_bytes",
            "limits.total_bytes",
            "limits.channels_per_session",
            "limits.max_message_size",
            "limits.unsent_bytes",
            "limits.send_timeout",
            "limits.load_memory",
            "token",
            "admin",
            "namespace",
            "retention.availability",
            "retention.versions",
            "retention.versions_age",
            "retention.reports",
            "validation",
        ];
        assert_eq!(check(next, &waits), parse(NOW));
        check(NOW, &[]);
    }
}
