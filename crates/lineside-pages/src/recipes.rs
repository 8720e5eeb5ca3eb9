//! Commands to copy from a feed's page into a terminal, a program or another system. A test runs each.

use lineside_formats::{Format, FormatKind};

/// One command with its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsageRecipe {
    /// The recipe's name in tests: `curl-events`, `centrifuge`, …
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) line: String,
}

/// Returns the recipes of a feed. `base` is this server's address; a feed's id needs no escaping in a shell, a URL or a
/// script.
///
/// Without data there are only streams, which wait for the first data.
pub(super) fn list_recipes(
    base: &str,
    feed: &str,
    format: Option<Format>,
    has_data: bool,
) -> Vec<UsageRecipe> {
    let mut recipes = if has_data { download_recipes(base, feed, format) } else { Vec::new() };
    recipes.extend(stream_recipes(base, feed));
    recipes
}

fn stream_recipes(base: &str, feed: &str) -> Vec<UsageRecipe> {
    vec![
        UsageRecipe {
            name: "curl-events",
            title: "Stream every change in a terminal",
            what: "The full state first, then each change.",
            line: format!("curl -N '{base}/events?channel=feed/{feed}'"),
        },
        UsageRecipe {
            name: "centrifuge",
            title: "Stream it in a program",
            what: "Over a WebSocket that carries hundreds of channels: npm install centrifuge. There are also clients \
                   for Swift, Dart, Java, Go, Python and C#.",
            line: centrifuge_example(base, feed),
        },
        UsageRecipe {
            name: "event-source",
            title: "Stream it in a browser",
            what: "Reconnects and resumes by itself.",
            line: format!(
                "new EventSource(\"{base}/events?channel=feed/{feed}\").onmessage = (event) => \
                 console.log(JSON.parse(event.data))"
            ),
        },
    ]
}

/// Returns the recipes for downloads.
fn download_recipes(base: &str, feed: &str, format: Option<Format>) -> Vec<UsageRecipe> {
    let mut recipes = Vec::new();
    let curl = |name, title, what, path: String| {
        let file = path.rsplit('/').next().unwrap_or(feed).to_owned();
        UsageRecipe { name, title, what, line: format!("curl --compressed -o {file} {base}{path}") }
    };
    match format.map(Format::kind) {
        Some(FormatKind::Schedule) => recipes.push(curl(
            "gtfs",
            "Download the schedule",
            "The last zip that could be read, even when the source is down.",
            format!("/gtfs/{feed}.zip"),
        )),
        Some(FormatKind::Realtime) => {
            recipes.push(curl(
                "gtfs-rt",
                "Download as GTFS-Realtime",
                "For programs that poll; regenerated from the current data.",
                format!("/gtfs-rt/{feed}.pb"),
            ));
            recipes.push(UsageRecipe {
                name: "gtfs-rt-json",
                title: "Read it as JSON",
                what: "The same message with the field names of the specification.",
                line: format!("curl --compressed {base}/gtfs-rt/{feed}.json"),
            });
        }
        Some(FormatKind::System) => {
            recipes.push(UsageRecipe {
                name: "gbfs",
                title: "Read the system",
                what: "The discovery file, with links to the last good copy of each file on this server.",
                line: format!("curl --compressed {base}/proxy/{feed}/gbfs.json"),
            });
            return recipes;
        }
        Some(FormatKind::Raw) | None => {}
    }
    recipes.push(UsageRecipe {
        name: "proxy",
        title: "Download the original",
        what: "The last good reply of the source, unchanged.",
        line: format!("curl --compressed -o {feed}.bytes {base}/proxy/{feed}"),
    });
    recipes
}

/// Returns a program for Node or a bundler. If the server uses TLS, the WebSocket does too.
fn centrifuge_example(base: &str, feed: &str) -> String {
    let socket = base.replacen("http", "ws", 1);
    format!(
        "import {{ Centrifuge }} from \"centrifuge\";\n\
         \n\
         const centrifuge = new Centrifuge(\n\
         \x20 \"{socket}/connection/websocket\",\n\
         );\n\
         const feed = centrifuge.newSubscription(\"feed/{feed}\");\n\
         feed.on(\"publication\", ({{ data }}) => console.log(data));\n\
         feed.subscribe();\n\
         centrifuge.connect();"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_examples_of_streams_and_downloads() {
        let names = |format| -> Vec<&str> {
            list_recipes("http://h", "city", format, true)
                .iter()
                .map(|recipe| recipe.name)
                .collect()
        };
        let streams = ["curl-events", "centrifuge", "event-source"];
        let with = |more: &[&'static str]| [more, &streams].concat();
        assert_eq!(names(Some(Format::GtfsRt)), with(&["gtfs-rt", "gtfs-rt-json", "proxy"]));
        assert_eq!(names(Some(Format::Siri)), names(Some(Format::GtfsRt)));
        assert_eq!(names(Some(Format::Netex)), names(Some(Format::Gtfs)));
        assert_eq!(names(Some(Format::Gtfs)), with(&["gtfs", "proxy"]));
        assert_eq!(names(Some(Format::Gbfs)), with(&["gbfs"]));
        assert_eq!(names(Some(Format::Raw)), with(&["proxy"]));
        let waiting = list_recipes("http://h", "city", Some(Format::Gtfs), false);
        assert_eq!(waiting.iter().map(|recipe| recipe.name).collect::<Vec<_>>(), streams);
    }

    #[test]
    fn the_websocket_address_has_the_security_of_the_page() {
        assert!(
            centrifuge_example("https://h", "f").contains("  \"wss://h/connection/websocket\"")
        );
        assert!(centrifuge_example("http://h", "f").contains("\"ws://h/connection/websocket\""));
    }
}
