//! The page around the graph, as one file that needs no network.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::super::symbolized_profile::SymbolizedProfile;
use super::flame_svg::render_graph;
use super::{csp_hash_source, format_percent};

const SCRIPT: &str = include_str!("flame.js");
const STYLE: &str = concat!(include_str!("page.css"), include_str!("picture.css"));
/// The body style of a standalone page; a page of the server has its own style sheet.
const BODY_STYLE: &str = include_str!("body.css");
/// With fewer samples the shares mean little.
const SAMPLES_MIN: u64 = 10;
/// Below this many samples, each is more than one percent.
const SAMPLES_FEW: u64 = 100;
/// Number of functions in the list of those that take the most time.
const HOTTEST: usize = 25;

/// Renders a standalone page that needs no server.
pub(crate) fn render_standalone_page(recorded: &SymbolizedProfile) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(meta_element_csp());
                title { "Lineside: CPU profile" }
                style { (PreEscaped(BODY_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                main { (render_profile_content(recorded)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Renders the content with its style and script for a page of the server.
pub fn render_page_section(recorded: &SymbolizedProfile) -> Markup {
    html! {
        style { (PreEscaped(STYLE)) }
        div.page.wide.flame { (render_profile_content(recorded)) }
        script { (PreEscaped(SCRIPT)) }
    }
}

fn render_profile_content(recorded: &SymbolizedProfile) -> Markup {
    let samples = recorded.sample_count();
    html! {
        h1 { "CPU profile" }
        (render_recording_facts(recorded))
        @if samples < SAMPLES_MIN {
            p.note {
                "Too few samples for a graph, because the server was nearly idle. Record for longer, or under load."
            }
        } @else {
            @if samples < SAMPLES_FEW {
                p.note data-few-samples=(samples) { "Few samples: each of them is a large share of the graph. Record for longer, or under load." }
            }
            div #bar hidden {
                label for="search" { "Search" }
                input #search type="search" autocomplete="off";
                button #whole type="button" { "Show all" }
                span {
                    "Click or " kbd { "Enter" } " to zoom in, " kbd { "Esc" } " to zoom out, arrows to move, "
                    kbd { "/" } " to search."
                }
            }
            p #said aria-live="polite" {}
            (render_graph(recorded, None))
        }
        (render_stage_table(recorded))
        (render_hottest_functions(recorded))
    }
}

/// Returns the content security policy of the standalone page: only its own style and script.
pub(crate) fn standalone_page_csp() -> String {
    format!("{}; frame-ancestors 'none'", meta_element_csp())
}

/// Returns the content security policy of a server page with [`render_page_section`], which also needs the server's
/// style sheets.
pub fn server_page_csp() -> String {
    let (style, script) = (csp_hash_source(STYLE), csp_hash_source(SCRIPT));
    format!(
        "default-src 'none'; style-src 'self' {style}; script-src 'self' {script}; img-src 'self'; manifest-src 'self'; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// Returns the part of the policy that a page may set in a `meta` element.
fn meta_element_csp() -> String {
    let (style, script) = (csp_hash_source(&[BODY_STYLE, STYLE].concat()), csp_hash_source(SCRIPT));
    format!(
        "default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"
    )
}

fn render_recording_facts(recorded: &SymbolizedProfile) -> Markup {
    let began = Timestamp::from_millisecond(recorded.began.0).unwrap_or_default();
    html! {
        p {
            (recorded.sample_count()) @if recorded.sample_count() == 1 { " sample in " } @else { " samples in " } (format!("{:.1}", recorded.length.as_secs_f64())) " s from "
            (began.strftime("%Y-%m-%d %H:%M:%S UTC")) ", " (recorded.hertz)
            " per second of CPU time of a thread. Waiting time isn’t sampled."
            @if recorded.lost > 0 {
                " " (recorded.lost) " more samples were dropped."
            }
        }
        p {
            "The thread is on top, below it the stage, then the call stack. Width = time spent."
        }
    }
}

/// Renders the share of each stage on each thread.
fn render_stage_table(recorded: &SymbolizedProfile) -> Markup {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for (stack, count) in &recorded.stacks {
        if let [thread, stage, ..] = stack.as_slice() {
            *counts.entry((thread, stage)).or_default() += count;
        }
    }
    let samples = recorded.sample_count();
    html! {
        h2 { "By thread and stage" }
        div.wide { table {
            thead { tr { th.n { "Share" } th.n { "Samples" } th { "Thread" } th { "Stage" } } }
            tbody {
                @for ((thread, stage), count) in counts {
                    tr {
                        td.n { (format_percent(count, samples)) } td.n { (count) }
                        td { (thread) } td { (stage) }
                    }
                }
            }
        } }
    }
}

/// Renders the functions that take the most time, without their callees.
fn render_hottest_functions(recorded: &SymbolizedProfile) -> Markup {
    let mut own: HashMap<&Arc<str>, u64> = HashMap::new();
    for (stack, count) in &recorded.stacks {
        if let Some(innermost) = stack.get(2..).and_then(<[_]>::last) {
            *own.entry(innermost).or_default() += count;
        }
    }
    let mut own: Vec<_> = own.into_iter().collect();
    own.sort_unstable_by_key(|(name, count)| (u64::MAX - count, *name));
    let samples = recorded.sample_count();
    html! {
        h2 { "In the function itself" }
        div.wide { table {
            thead { tr { th.n { "Share" } th.n { "Samples" } th { "Function" } } }
            tbody {
                @for (name, count) in own.into_iter().take(HOTTEST) {
                    tr { td.n { (format_percent(count, samples)) } td.n { (count) } td { (name) } }
                }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::symbolized_profile::tests::example_profile;
    use super::*;

    #[test]
    fn the_page_has_no_external_references() {
        let page = render_standalone_page(&example_profile());
        for outside in ["src=", "href=", "url(", "@import", "fetch(", "import("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert_eq!(page.matches("<script>").count(), 1);
        assert_eq!(page.matches("<style>").count(), 1);
        assert!(page.contains("10 samples in 2.0 s from 2023-11-14 22:13:20 UTC"), "{page}");
        assert!(page.contains("1 more samples were dropped"), "{page}");
    }

    #[test]
    fn the_content_security_policy_matches_the_page() {
        let page = render_standalone_page(&example_profile());
        let inside = |tag: &str| {
            let text = page.split_once(&format!("<{tag}>")).unwrap().1;
            text.split_once(&format!("</{tag}>")).unwrap().0.to_owned()
        };
        for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
            assert!(
                standalone_page_csp()
                    .contains(&format!("{directive} {};", csp_hash_source(&inside(tag)))),
                "{tag}"
            );
        }
        assert!(!standalone_page_csp().contains("unsafe"));
    }

    #[test]
    fn tables_list_stages_and_functions_as_text() {
        let page = render_standalone_page(&example_profile());
        let row = "<tr><td class=\"n\">70.0 %</td><td class=\"n\">7</td><td>partition-0</td><td>deliver</td></tr>";
        assert!(page.contains(row), "{page}");
        let row = "<tr><td class=\"n\">60.0 %</td><td class=\"n\">6</td><td>flush</td></tr>";
        assert!(page.contains(row), "{page}");
        assert!(page.contains("<td>a&lt;b;c</td>"), "{page}");
    }

    #[test]
    fn a_graph_needs_enough_samples() {
        let has_graph =
            |recorded: &SymbolizedProfile| render_standalone_page(recorded).contains("id=\"bar\"");
        let mut recorded = example_profile();
        assert_eq!((recorded.sample_count(), has_graph(&recorded)), (SAMPLES_MIN, true));
        let rarest = recorded.stacks.iter().min_by_key(|(_, count)| **count);
        let rarest = rarest.map(|(stack, _)| stack.clone()).unwrap();
        recorded.stacks.remove(&rarest);
        assert!(recorded.sample_count() < SAMPLES_MIN);
        assert!(!has_graph(&recorded));
    }
}
