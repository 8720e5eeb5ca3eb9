//! Lines to copy from a feed's page into a terminal, a program or another system. A test runs each.

use lineside_formats::Format;

/// One line with what it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recipe {
    /// Names the recipe for tests: `curl-events`, `centrifuge`, …
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) what: &'static str,
    pub(super) line: String,
}

/// What one can do with a feed. `base` is this server's address; a feed's id is safe in a shell, in
/// a URL and in a script as it stands.
pub(super) fn recipes(base: &str, feed: &str, format: Option<Format>) -> Vec<Recipe> {
    let mut recipes = streams(base, feed);
    recipes.extend(files(base, feed, format));
    recipes
}

/// Ways to follow it.
fn streams(base: &str, feed: &str) -> Vec<Recipe> {
    vec![
        Recipe {
            name: "curl-events",
            title: "Follow every change in a terminal",
            what: "The whole state first, then each change as it is known.",
            line: format!("curl -N '{base}/events?channel=feed/{feed}'"),
        },
        Recipe {
            name: "centrifuge",
            title: "Follow it in a program",
            what: "Over a WebSocket that carries hundreds of channels: npm install centrifuge. There are clients for \
                   Swift, Dart, Java, Go, Python and C#, too.",
            line: centrifuge(base, feed),
        },
        Recipe {
            name: "event-source",
            title: "Follow it in a browser",
            what: "Reconnects and resumes by itself.",
            line: format!(
                "new EventSource(\"{base}/events?channel=feed/{feed}\").onmessage = (event) => \
                 console.log(JSON.parse(event.data))"
            ),
        },
    ]
}

/// What one can take of it at once.
fn files(base: &str, feed: &str, format: Option<Format>) -> Vec<Recipe> {
    let mut recipes = Vec::new();
    let curl = |name, title, what, path: String| {
        let file = path.rsplit('/').next().unwrap_or(feed).to_owned();
        Recipe { name, title, what, line: format!("curl --compressed -o {file} {base}{path}") }
    };
    match format {
        Some(Format::Gtfs | Format::Netex) => recipes.push(curl(
            "gtfs",
            "Take the schedule",
            "The last good zip, also while the producer is away.",
            format!("/gtfs/{feed}.zip"),
        )),
        Some(Format::GtfsRt | Format::Siri) => {
            recipes.push(curl(
                "gtfs-rt",
                "Take it as GTFS-Realtime",
                "For any program that polls; made anew from the state.",
                format!("/gtfs-rt/{feed}.pb"),
            ));
            recipes.push(Recipe {
                name: "gtfs-rt-json",
                title: "Read it as JSON",
                what: "The same message with the specification's field names.",
                line: format!("curl --compressed {base}/gtfs-rt/{feed}.json"),
            });
        }
        Some(Format::Gbfs) => {
            recipes.push(Recipe {
                name: "gbfs",
                title: "Read the system",
                what: "The discovery file: its addresses lead to the last good bytes of each file here.",
                line: format!("curl --compressed {base}/proxy/{feed}/gbfs.json"),
            });
            return recipes;
        }
        Some(Format::Raw) | None => {}
    }
    recipes.push(Recipe {
        name: "proxy",
        title: "Take the producer's own bytes",
        what: "The last good ones, as they came.",
        line: format!("curl --compressed -o {feed}.bytes {base}/proxy/{feed}"),
    });
    recipes
}

/// A program for Node or a bundler. Where TLS is, the WebSocket has it, too.
fn centrifuge(base: &str, feed: &str) -> String {
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
    fn a_feed_of_each_format_can_be_followed_and_taken() {
        let names = |format| -> Vec<&str> {
            recipes("http://h", "city", format).iter().map(|recipe| recipe.name).collect()
        };
        let streams = ["curl-events", "centrifuge", "event-source"];
        let with = |more: &[&'static str]| [&streams, more].concat();
        assert_eq!(names(Some(Format::GtfsRt)), with(&["gtfs-rt", "gtfs-rt-json", "proxy"]));
        assert_eq!(names(Some(Format::Siri)), names(Some(Format::GtfsRt)));
        assert_eq!(names(Some(Format::Netex)), names(Some(Format::Gtfs)));
        assert_eq!(names(Some(Format::Gtfs)), with(&["gtfs", "proxy"]));
        assert_eq!(names(Some(Format::Gbfs)), with(&["gbfs"]));
        assert_eq!(names(Some(Format::Raw)), with(&["proxy"]));
    }

    #[test]
    fn the_websocket_is_secure_where_the_page_is() {
        assert!(centrifuge("https://h", "f").contains("  \"wss://h/connection/websocket\""));
        assert!(centrifuge("http://h", "f").contains("\"ws://h/connection/websocket\""));
    }
}
