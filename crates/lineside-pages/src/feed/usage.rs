//! The use of a feed: a download with its size, and commands to copy.

use lineside_formats::Format;
use maud::{Markup, html};

use super::super::{recipes, report, words};
use super::FeedView;

/// The problem of a stop without coordinates in a NeTEx publication.
const STOP_WITHOUT_LOCATION: &str = "stop_without_location";

/// One file to download.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FeedDownload {
    label: String,
    path: String,
    /// The size in bytes, if it is known without building the file.
    size: Option<u64>,
}

impl FeedView {
    /// Renders the card on the feed's use.
    pub(super) fn render_usage(&self) -> Markup {
        let has_data = self.snapshot.is_some();
        let downloads = self.list_downloads();
        html! {
            section.card #use aria-labelledby="use-title" {
                h2 #use-title { "Use this feed" }
                div.card-body.stack {
                    @if !has_data {
                        p.soft { "There is nothing to download yet: no valid data has arrived from the source." }
                    }
                    @if !downloads.is_empty() {
                        div.downloads {
                            @for (at, download) in downloads.iter().enumerate() {
                                a.button.plain[at > 0] href=(download.path) download {
                                    span {
                                        (download.label)
                                        @if let Some(size) = download.size { span.nowrap.numeric { " · " (words::format_bytes(size)) } }
                                    }
                                }
                            }
                        }
                    }
                    @if let Some(note) = self.describe_placeholder_positions() {
                        p.soft.small.placeholder-positions { (note) " " a href="#problems" { "Which stops" } }
                    }
                    @if let Some((subscriptions, requests)) = self.n_readers {
                        p.soft.small.readers data-subscriptions=(subscriptions) data-requests=(requests) {
                            "Readers now: " (words::format_count(subscriptions, "subscription", "subscriptions")) ", "
                            (words::format_count(requests, "request", "requests")) " since the server started."
                        }
                    }
                    div.snippets {
                        @for recipe in recipes::list_recipes(&self.base, self.feed_id(), self.format(), has_data) {
                            details.recipe {
                                summary { (recipe.title) }
                                p { (recipe.what) }
                                div.copy {
                                    code tabindex="0" data-recipe=(recipe.name) { (recipe.line) }
                                    button.button.plain.compact type="button" data-copy hidden { "Copy" }
                                }
                            }
                        }
                    }
                    @if self.format().is_some_and(|it| !it.is_raw()) { (self.render_badge_embed_code()) }
                }
            }
        }
    }

    /// Says that positions in the GTFS file of a publication are invented. GTFS demands a position of every stop.
    fn describe_placeholder_positions(&self) -> Option<String> {
        if self.format() != Some(Format::Netex) {
            return None;
        }
        let problems = self.feed.problems_including_files();
        let counts = problems.problem_counts();
        let without = counts.filter(|(_, code, _)| *code == STOP_WITHOUT_LOCATION);
        let n_stops: u64 = without.map(|(_, _, n)| n).sum();
        let stops = words::format_count(n_stops, "stop has", "stops have");
        (n_stops > 0).then(|| {
            format!(
                "{stops} no coordinates in the publication. The GTFS file places them near other \
                stops or in the city of its time zone: these positions are not real."
            )
        })
    }

    /// Renders the badge of the feed's report, with the lines that embed it.
    fn render_badge_embed_code(&self) -> Markup {
        let (base, id) = (&self.base, self.feed_id());
        let image = report::report_badge_url(id);
        // An id needs no escaping in Markdown and HTML; a name may.
        let alt = format!("Validation report of {id}");
        let lines = [
            ("markdown", "Markdown", format!("[![{alt}]({base}{image})]({base}/feeds/{id})")),
            (
                "html",
                "HTML",
                format!(
                    "<a href=\"{base}/feeds/{id}\"><img src=\"{base}{image}\" alt=\"{alt}\"></a>"
                ),
            ),
        ];
        html! {
            details.recipe.badge-lines {
                summary { "Badge " img src=(image) alt={ "Badge: " (alt) } height="22"; }
                div #badge {
                    @for (name, title, line) in &lines {
                        p.small { (title) }
                        div.copy {
                            code tabindex="0" data-badge=(name) { (line) }
                            button.button.plain.compact type="button" data-copy hidden { "Copy" }
                        }
                    }
                }
            }
        }
    }

    /// Returns the downloadable files, the most useful first; none before the source has delivered data.
    fn list_downloads(&self) -> Vec<FeedDownload> {
        let Some(snapshot) = &self.snapshot else { return Vec::new() };
        let length = |bytes: &[u8]| u64::try_from(bytes.len()).ok();
        let id = self.feed_id();
        let original = |label: &str| FeedDownload {
            label: label.to_owned(),
            path: format!("/proxy/{id}"),
            size: length(&snapshot.bytes),
        };
        let download_link =
            |label: &str, path: String, size| FeedDownload { label: label.to_owned(), path, size };
        let served = self.served.as_ref().and_then(|served| length(&served.bytes));
        match self.format() {
            Some(Format::Gtfs) => {
                let own = download_link("Download GTFS", format!("/gtfs/{id}.zip"), served);
                let converted = self.feed.config().converter.is_some();
                std::iter::once(own).chain(converted.then(|| original("Original file"))).collect()
            }
            Some(Format::Netex) => {
                vec![
                    original("Download NeTEx"),
                    download_link("As GTFS", format!("/gtfs/{id}.zip"), None),
                ]
            }
            Some(Format::GtfsRt) => vec![
                original("Download GTFS-Realtime"),
                download_link("As JSON", format!("/gtfs-rt/{id}.json"), None),
            ],
            Some(Format::Siri) => vec![
                download_link("Download GTFS-Realtime", format!("/gtfs-rt/{id}.pb"), None),
                original("Original SIRI"),
            ],
            Some(Format::Gbfs) => {
                vec![download_link(
                    "Open the discovery file",
                    format!("/proxy/{id}/gbfs.json"),
                    None,
                )]
            }
            Some(Format::Raw) | None => vec![original("Download")],
        }
    }
}
