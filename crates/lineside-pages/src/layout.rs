//! The layout of every page.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use lineside_http::page_context;
use maud::{DOCTYPE, Markup, html};
use serde::Serialize;

use super::{assets, icons, site_files};

/// The navigation entry of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NavSection {
    Catalog,
    Networks,
    Map,
    Operation,
    Documentation,
    Validate,
    Other,
}

/// The layout options of a page.
#[derive(Debug)]
pub(super) struct PageLayout<'a> {
    /// The subject of the page, such as the name of a stop; the site's name is added.
    pub(super) title: &'a str,
    /// A sentence for search engines and link previews; by default a description of the site.
    pub(super) description: Option<String>,
    /// The canonical address for search engines, from its path on; by default the requested path.
    pub(super) canonical: Option<String>,
    /// True if search engines may list it.
    pub(super) is_indexed: bool,
    /// True if the document is cached for further requests, which may have reached the server by another name.
    pub(super) is_shared: bool,
    pub(super) section: NavSection,
    /// Further classes of the body.
    pub(super) class: &'a str,
    /// Style sheets of `web/plain` besides the one of every page.
    pub(super) styles: &'a [&'a str],
    /// Modules of `web/plain` to load.
    pub(super) scripts: &'a [&'a str],
    /// A bundled part, if this binary has it.
    pub(super) bundle: Option<assets::AssetBundle>,
    /// Seconds between reloads without scripts.
    pub(super) refresh: Option<u32>,
    /// True if the page is embedded in another site: then it has no navigation.
    pub(super) is_embedded: bool,
    /// Links for machines in the head: type and address.
    pub(super) alternates: Vec<(&'static str, String)>,
    /// The discovery file of the page's GBFS system, which applications look for in a page's head.
    pub(super) gbfs: Option<String>,
}

impl<'a> PageLayout<'a> {
    pub(super) fn new(title: &'a str, section: NavSection) -> Self {
        Self {
            title,
            description: None,
            canonical: None,
            is_indexed: section != NavSection::Operation,
            is_shared: false,
            section,
            class: "",
            styles: &[],
            scripts: &[],
            bundle: None,
            refresh: None,
            is_embedded: false,
            alternates: Vec::new(),
            gbfs: None,
        }
    }

    /// Renders the complete document.
    pub(super) fn render_document(&self, main: &Markup) -> Markup {
        html! {
            (DOCTYPE)
            html lang="en" {
                (self.render_html_head())
                body class=[self.body_classes()] {
                    @if !self.is_embedded {
                        a.skip href="#main" { "Skip to the content" }
                        (self.render_masthead())
                    }
                    main #main tabindex="-1" { (main) }
                    @if !self.is_embedded { (render_footer()) }
                }
            }
        }
    }

    fn render_html_head(&self) -> Markup {
        let site = page_context::current_site_config();
        let title = format!("{} · {}", self.title, site.name);
        html! {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                (self.render_page_metadata(&title, &site.name))
                @if let Some(seconds) = self.refresh {
                    noscript { meta http-equiv="refresh" content=(seconds); }
                }
                (render_icon_links())
                @for style in self.bundle.iter().flat_map(|bundle| &bundle.styles) {
                    link rel="stylesheet" href=(style);
                }
                link rel="stylesheet" href=(assets::unbundled_asset_url("lineside.css"));
                @for style in self.styles {
                    link rel="stylesheet" href=(assets::unbundled_asset_url(style));
                }
                @for (kind, address) in &self.alternates {
                    link rel="alternate" type=(kind) href=(address);
                }
                @if let Some(address) = &self.gbfs {
                    link rel="gbfs" type="application/json" href=(address);
                }
                @for script in self.scripts {
                    script type="module" src=(assets::unbundled_asset_url(script)) {}
                }
                @if let Some(bundle) = &self.bundle {
                    script type="module" src=(bundle.script) {}
                }
            }
        }
    }

    /// Renders the metadata for search engines and link previews.
    fn render_page_metadata(&self, title: &str, site: &str) -> Markup {
        if !self.is_indexed {
            return html! { meta name="robots" content="noindex"; };
        }
        let general =
            || format!("Public-transport feeds, live departures and open data, served by {site}.");
        let description = self.description.clone().unwrap_or_else(general);
        let context = page_context::current_page_context();
        let base = context.as_ref().and_then(|context| match self.is_shared {
            true => context.configured_public_url(),
            false => Some(context.base_url()),
        });
        let base = base.unwrap_or_default();
        let request_path = context.as_ref().map(|context| context.request_path().to_owned());
        let address = self.canonical.clone().or(request_path).map(|path| format!("{base}{path}"));
        html! {
            meta name="description" content=(description);
            meta property="og:type" content="website";
            meta property="og:site_name" content=(site);
            meta property="og:title" content=(title);
            meta property="og:description" content=(description);
            meta property="og:image" content=(format!("{base}{}", site_files::PREVIEW));
            meta property="og:image:width" content="1200";
            meta property="og:image:height" content="630";
            meta name="twitter:card" content="summary_large_image";
            @if let Some(address) = address {
                meta property="og:url" content=(address);
                link rel="canonical" href=(address);
            }
        }
    }

    /// Returns the classes of the body as one attribute: of several, a browser uses only the first.
    fn body_classes(&self) -> Option<String> {
        let embedded = self.is_embedded.then_some("embedded");
        let classes = [Some(self.class).filter(|class| !class.is_empty()), embedded];
        let classes: Vec<&str> = classes.into_iter().flatten().collect();
        (!classes.is_empty()).then(|| classes.join(" "))
    }

    fn render_masthead(&self) -> Markup {
        let site = page_context::current_site_config();
        let current = |section| (self.section == section).then_some("page");
        html! {
            header.masthead {
                div.masthead-in {
                    a.wordmark href="/" {
                        @match site.logo {
                            Some(_) => img src=(site_files::LOGO) alt="";,
                            None => (icons::mark()),
                        }
                        (site.name)
                    }
                    nav.nav aria-label="Pages" {
                        a href="/" aria-current=[current(NavSection::Catalog)] { "Feeds" }
                        a href="/networks" aria-current=[current(NavSection::Networks)] { "Networks" }
                        a href="/map" aria-current=[current(NavSection::Map)] { "Map" }
                        a href="/validate" aria-current=[current(NavSection::Validate)] { "Validate" }
                        a href="/ops" aria-current=[current(NavSection::Operation)] { "Ops" }
                        a href="/docs" aria-current=[current(NavSection::Documentation)] { "Docs" }
                    }
                }
            }
        }
    }
}

/// Renders the icons, the manifest, and the color of the browser's own bars.
fn render_icon_links() -> Markup {
    html! {
        meta name="theme-color" media="(prefers-color-scheme: light)" content="#ffffff";
        meta name="theme-color" media="(prefers-color-scheme: dark)" content="#171f28";
        link rel="icon" href=(site_files::ICON) sizes="32x32";
        link rel="icon" type="image/svg+xml" href=(assets::unbundled_asset_url("icon.svg"));
        link rel="apple-touch-icon" href=(site_files::TOUCH_ICON);
        link rel="manifest" href=(site_files::MANIFEST);
    }
}

fn render_footer() -> Markup {
    let site = page_context::current_site_config();
    let text = |url: &Option<url::Url>| url.as_ref().map(ToString::to_string);
    let operator = [
        ("Contact", site.contact.clone()),
        ("Imprint", text(&site.imprint)),
        ("Privacy", text(&site.privacy)),
        ("Accessibility", text(&site.accessibility)),
    ];
    let operator = operator.into_iter().filter_map(|(name, link)| Some((name, link?)));
    let operator: Vec<(&str, String)> = operator.collect();
    html! {
        footer.footer {
            div.footer-in {
                @if !operator.is_empty() {
                    nav aria-label="About this site" {
                        @for (at, (name, link)) in operator.iter().enumerate() {
                            @if at > 0 { " · " }
                            a href=(link) { (name) }
                        }
                    }
                }
                span { "Lineside " (env!("CARGO_PKG_VERSION")) }
                nav aria-label="More" {
                    a href="/docs" { "Documentation" }
                    " · "
                    a href="/docs/api" { "API reference" }
                    " · "
                    a href="/api/v1/feeds" { "Feeds as JSON" }
                    " · "
                    a href="/metrics" { "Metrics" }
                }
            }
        }
    }
}

/// Renders data for the page's scripts, as an element that no browser executes.
pub(super) fn render_script_data(id: &str, data: &impl Serialize) -> Markup {
    // A `<` in JSON can only be inside a string, where its escape means the same: so no feed's text can close the
    // element.
    let json = serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned());
    html! {
        script type="application/json" id=(id) { (maud::PreEscaped(json.replace('<', "\\u003c"))) }
    }
}

/// Returns a page as a response; the HTTP layer adds the content security policy.
pub(super) fn reply_with_page(status: StatusCode, page: Markup) -> Response {
    let headers = [(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    (status, headers, Html(page.into_string())).into_response()
}

/// Renders a foldable section: its heading is always shown, with a note. `id` is inside the folded part, so that a
/// browser opens it for a link to `#id`.
pub(super) fn render_foldable_section(
    id: &str,
    title: &str,
    note: &Markup,
    is_open: bool,
    body: &Markup,
) -> Markup {
    let heading = format!("{id}-title");
    html! {
        section.card.fold aria-labelledby=(heading) {
            details open[is_open] {
                summary.card-head {
                    h2 id=(heading) { (title) }
                    span.soft.small { (note) }
                }
                div.fold-body id=(id) { (body) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_has_all_its_classes_in_one_attribute() {
        let body = |class, is_embedded| {
            let page = PageLayout { class, is_embedded, ..PageLayout::new("x", NavSection::Other) };
            let text = page.render_document(&html! {}).into_string();
            let (_, body) = text.split_once("<body").unwrap();
            body.split('>').next().unwrap().to_owned()
        };
        assert_eq!(body("", false), "");
        assert_eq!(body("map-page", false), " class=\"map-page\"");
        assert_eq!(body("map-page", true), " class=\"map-page embedded\"");
        assert_eq!(body("", true), " class=\"embedded\"");
    }

    #[test]
    fn a_feeds_text_cannot_leave_its_data_island() {
        let island = render_script_data("x", &"</script><script>alert(1)</script>").into_string();
        assert_eq!(island.matches("</script>").count(), 1, "{island}");
    }
}
