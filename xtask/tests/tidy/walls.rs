//! Checks of the dependencies between crates.

use crate::manifests::{Kind, Manifest, manifests};
use crate::report;

/// The rule for a crate: its allowed and its forbidden dependencies.
struct Room {
    name: &'static str,
    /// The crates of this workspace that it may depend on.
    sees: &'static [&'static str],
    /// A description of the crate, for the message.
    rule: &'static str,
    /// External packages that would break the rule.
    never: &'static [&'static str],
}

const SOCKETS: &[&str] =
    &["axum", "hyper", "hyper-util", "mio", "reqwest", "socket2", "tower", "tower-http"];

/// The crates, from the lowest layer to the highest.
static ROOMS: &[Room] = &[
    Room {
        name: "lineside-sync",
        sees: &[],
        rule: "it contains the primitives and the clock, and depends on no other crate",
        never: SOCKETS,
    },
    Room {
        name: "lineside-formats",
        sees: &[],
        rule: "it converts bytes to records and back; it does no I/O and depends on no other crate",
        never: &["axum", "hyper", "reqwest", "tokio"],
    },
    Room {
        name: "lineside-gbfs",
        sees: &["lineside-formats"],
        rule: "it converts the files of shared-mobility systems to records and back; it does no I/O",
        never: &["axum", "hyper", "reqwest", "tokio"],
    },
    Room {
        name: "lineside-validate",
        sees: &["lineside-formats"],
        rule: "rules map bytes and a date to notices; they use no clock and no sockets",
        never: &["axum", "hyper", "reqwest", "tokio"],
    },
    Room {
        name: "lineside-hub",
        sees: &["lineside-sync"],
        rule: "the hub uses neither transit formats nor sockets (docs/decisions/0001)",
        never: &[
            "axum",
            "hyper",
            "mio",
            "prost",
            "reqwest",
            "serde",
            "serde_json",
            "socket2",
            "tokio",
        ],
    },
    Room {
        name: "lineside-wire",
        sees: &["lineside-hub", "lineside-sync"],
        rule: "the wire encodes sessions as bytes; it uses no HTTP library and no transit format",
        never: &["axum", "hyper", "reqwest"],
    },
    Room {
        name: "lineside-model",
        sees: &["lineside-formats", "lineside-sync"],
        rule: "the model is immutable values and functions of them; it uses no sockets, no hub and \
            no async runtime",
        never: &["axum", "hyper", "mio", "reqwest", "tokio", "tower", "tower-http"],
    },
    Room {
        name: "lineside-fetch",
        sees: &["lineside-model", "lineside-formats", "lineside-sync"],
        rule: "fetch returns the bytes of a source; it does not publish and serves nobody",
        never: &["axum", "hyper", "hyper-util", "tower", "tower-http"],
    },
    Room {
        name: "lineside-ingest",
        sees: &[
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "ingest publishes into the hub; it does not depend on the server of the result",
        never: &["axum", "hyper", "hyper-util", "tower", "tower-http"],
    },
    Room {
        name: "lineside-store",
        sees: &["lineside-model", "lineside-sync"],
        rule: "the store implements the archives of its callers; it uses no sockets and no async \
            runtime",
        never: &["axum", "hyper", "mio", "reqwest", "tokio", "tower", "tower-http"],
    },
    Room {
        name: "lineside-config",
        sees: &[
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "the configuration is read and checked here; nothing is started",
        never: SOCKETS,
    },
    Room {
        name: "lineside-profile",
        sees: &["lineside-sync"],
        rule: "the profiler samples its own process; it serves nobody",
        never: SOCKETS,
    },
    Room {
        name: "lineside-quality",
        sees: &[
            "lineside-config",
            "lineside-store",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "quality finds faults in data and reports them; it uses no HTTP server",
        never: SOCKETS,
    },
    Room {
        name: "lineside-http",
        sees: &[
            "lineside-quality",
            "lineside-profile",
            "lineside-config",
            "lineside-store",
            "lineside-wire",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "the API and its listener; it shows no pages, and starts no server",
        never: &[],
    },
    Room {
        name: "lineside-siri",
        sees: &[
            "lineside-http",
            "lineside-quality",
            "lineside-config",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "SIRI as a server uses the state of the API; no page depends on it",
        never: &[],
    },
    Room {
        name: "lineside-pages",
        sees: &[
            "lineside-http",
            "lineside-quality",
            "lineside-profile",
            "lineside-config",
            "lineside-store",
            "lineside-wire",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "pages read the state of the server; they contain no protocol",
        never: &[],
    },
    Room {
        name: "lineside-testkit",
        sees: &["lineside-formats", "lineside-sync"],
        rule: "only tests depend on the helpers of tests; they use a server as clients do",
        never: &["axum", "hyper", "hyper-util", "tower", "tower-http"],
    },
    Room {
        name: "lineside-sim",
        sees: &["lineside-gbfs", "lineside-formats", "lineside-sync"],
        rule: "the simulated city makes feeds; it does not depend on the server that reads them",
        never: &["axum", "hyper", "reqwest", "tokio"],
    },
    Room {
        name: "lineside-load",
        sees: &["lineside-wire", "lineside-sync"],
        rule: "the load generator uses a server as clients do; it does not depend on the server's \
            code",
        never: &["axum", "hyper", "hyper-util", "reqwest", "tokio", "tower", "tower-http"],
    },
    Room {
        name: "lineside",
        sees: &[
            "lineside-pages",
            "lineside-siri",
            "lineside-http",
            "lineside-quality",
            "lineside-profile",
            "lineside-config",
            "lineside-load",
            "lineside-sim",
            "lineside-store",
            "lineside-wire",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "the program may depend on every crate, and no crate may depend on the program",
        never: &[],
    },
    Room {
        name: "lineside-bench",
        sees: &[
            "lineside-sim",
            "lineside-wire",
            "lineside-ingest",
            "lineside-fetch",
            "lineside-model",
            "lineside-hub",
            "lineside-validate",
            "lineside-gbfs",
            "lineside-formats",
            "lineside-sync",
        ],
        rule: "benchmarks use the libraries, not the program",
        never: &[],
    },
    Room {
        name: "xtask",
        sees: &[],
        rule: "xtask is built first, so it depends on no other crate",
        never: &[],
    },
];

/// Further crates that only tests may use: the simulated city, and the libraries.
const TESTS_ALSO_SEE: &[&str] =
    &["lineside-testkit", "lineside-sim", "lineside-formats", "lineside-sync"];

#[test]
fn crates_depend_only_on_lower_layers() {
    let mut complaints = Vec::new();
    for manifest in manifests() {
        let Some(room) = ROOMS.iter().find(|room| room.name == manifest.name) else {
            complaints.push(format!(
                "{}: {} has no entry in ROOMS (xtask/tests/tidy/walls.rs); add one with its \
                allowed dependencies",
                manifest.path, manifest.name
            ));
            continue;
        };
        complaints.extend(looks_where_it_must_not(room, &manifest));
    }
    report(&complaints);
}

fn looks_where_it_must_not(room: &Room, manifest: &Manifest) -> Vec<String> {
    let ours = |name: &str| ROOMS.iter().any(|room| room.name == name);
    let mut complaints = Vec::new();
    for dependency in &manifest.dependencies {
        let name = dependency.name.as_str();
        let in_tests = dependency.kind == Kind::Dev;
        let allowed = room.sees.contains(&name) || (in_tests && TESTS_ALSO_SEE.contains(&name));
        if ours(name) && !allowed {
            complaints.push(format!("{} must not depend on {name}: {}", room.name, room.rule));
        }
        if !in_tests && room.never.contains(&name) {
            complaints.push(format!("{} must not use {name}: {}", room.name, room.rule));
        }
    }
    complaints
}

#[test]
fn every_layer_entry_has_a_crate() {
    let names: Vec<String> = manifests().into_iter().map(|manifest| manifest.name).collect();
    let missing: Vec<String> = ROOMS
        .iter()
        .filter(|room| !names.iter().any(|name| name == room.name))
        .map(|room| {
            format!("ROOMS has an entry for {}, but the workspace has no such crate", room.name)
        })
        .collect();
    report(&missing);
}
