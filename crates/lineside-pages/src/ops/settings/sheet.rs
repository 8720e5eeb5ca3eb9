//! A feed's page for admins: its state, form, overrides and history, and a button that removes it.

use lineside_config::format_duration;
use lineside_config::overrides::{
    OverrideKeyError, default_feed_keys, format_feed_toml, redact_secrets,
};
use lineside_formats::Format;
use lineside_http::QueryParameters;
use lineside_http::app::App;
use lineside_http::page_paths::OPS;
use lineside_http::settings::EditOutcome;
use lineside_ingest::Feed;
use maud::{Markup, html};

use super::form::SettingsForm;
use super::markup::SettingsView;
use super::{ADD, EditedFeed, PreviewOutcome, feed_settings_url, source};
use crate::ops::{actions, completed_action, history};
use crate::states;

pub(super) struct SettingsPage<'a> {
    pub(super) app: &'a App,
    /// `None` for a new feed.
    pub(super) subject: Option<&'a EditedFeed>,
    pub(super) form: &'a SettingsForm,
    pub(super) outcome: Option<&'a PreviewOutcome>,
}

impl SettingsPage<'_> {
    pub(super) fn render_settings_page(&self, parameters: &QueryParameters) -> Markup {
        html! {
            div.page {
                @match self.subject {
                    Some(subject) => (render_feed_heading(subject)),
                    None => (render_new_feed_heading()),
                }
                (completed_action::render_action_notice(parameters))
                div.stack {
                    @match self.subject {
                        Some(subject) if subject.feed.is_none() => (render_removed_notice(subject)),
                        _ => (self.render_form()),
                    }
                    @if let Some(subject) = self.subject {
                        (self.render_override(subject))
                        (self.render_history(subject))
                        @if subject.feed.is_some() {
                            p { a.button.plain href=(format!("{}/remove", feed_settings_url(&subject.id))) { "Remove this feed …" } }
                        }
                    }
                }
            }
        }
    }

    fn form_errors(&self) -> &[OverrideKeyError] {
        match self.outcome {
            Some(PreviewOutcome::Bad(errors)) => errors,
            _ => &[],
        }
    }

    fn render_form(&self) -> Markup {
        let draft = self.form.draft_secrets();
        let draft = (!draft.is_empty()).then(|| self.app.admin_auth().store_form_secrets(draft));
        let feed = self.subject.and_then(|subject| subject.feed.as_ref());
        let shown = SettingsView {
            form: self.form,
            current_override: self.subject.and_then(|subject| subject.current_override.as_ref()),
            is_in_file: self.subject.is_some_and(|subject| subject.is_in_file),
            errors: self.form_errors(),
            existing_feed: self
                .app
                .ingest()
                .find_feed(&self.form.id)
                .map(|feed| feed.id().to_string()),
            draft: draft.as_deref(),
            schedules: list_schedules(self.app),
            defaults: feed.map(|feed| default_feed_keys(feed.config())).unwrap_or_default(),
            poll: feed.map_or_else(String::new, |feed| {
                format_duration(feed.config().poll_interval(feed.format()))
            }),
        };
        let action =
            self.subject.map_or_else(|| ADD.to_owned(), |subject| feed_settings_url(&subject.id));
        let verb = if self.subject.is_some() { "Apply" } else { "Add" };
        html! {
            // For Enter in a field, a browser presses the form's first button: it must be the preview, also if the
            // previous preview has another one.
            button.visually-hidden type="submit" form="settings" name="do" value="test" tabindex="-1" aria-hidden="true" {}
            (shown.render_error_summary())
            @match self.outcome {
                Some(PreviewOutcome::Tried(tried)) => (render_preview(tried, true, verb, false)),
                Some(PreviewOutcome::Tested(tried, result)) => {
                    (source::render_result(result))
                    @if let Some(tried) = tried {
                        @let failed = !matches!(result, Some(Ok(_)));
                        (render_preview(tried, false, verb, failed))
                    }
                },
                Some(PreviewOutcome::Unchanged) => p.note role="alert" { "You have not changed anything." },
                _ => {},
            }
            form.card.card-body.settings #settings method="post" action=(action) novalidate {
                (shown.render_fields(self.subject.is_none()))
                div.act-line {
                    button.button type="submit" name="do" value="test" { "Test and preview" }
                    // A new feed is added from its preview, whose test shows the source's answer.
                    @if self.subject.is_some() {
                        button.button.plain type="submit" name="do" value="apply" { (verb) }
                    }
                }
            }
        }
    }

    fn render_override(&self, subject: &EditedFeed) -> Markup {
        let feed_override = subject.current_override.as_ref();
        let keys = feed_override
            .map(|feed_override| redact_secrets(&feed_override.keys))
            .unwrap_or_default();
        let toml = format_feed_toml(&subject.id, &keys).ok().filter(|_| !keys.is_empty());
        html! {
            section.card aria-labelledby="overrides" {
                h2 #overrides { "Overrides" }
                div.card-body.stack {
                    p {
                        "Values set here override the configuration file until you reset them. The file is never written. "
                        @if self.app.live_settings().persists_edits() {
                            "They survive restarts."
                        } @else {
                            "This server has no data_dir, so they are lost when it stops."
                        }
                    }
                    @match toml {
                        Some(toml) => {
                            div {
                                p.small.soft { "To move them to the configuration file, copy this and fill in the secrets:" }
                                pre.toml tabindex="0" { code { (toml) } }
                            }
                        },
                        None => p.soft { "No overrides." },
                    }
                    @if subject.is_in_file && feed_override.is_some() {
                        form method="post" action=(format!("{}/revert", feed_settings_url(&subject.id))) {
                            button.button.plain type="submit" { "Reset all to the file" }
                        }
                    }
                }
            }
        }
    }

    fn render_history(&self, subject: &EditedFeed) -> Markup {
        html! {
            section.card #history aria-labelledby="history-title" {
                div.card-head {
                    h2 #history-title { "History" span.soft.small { " Times in UTC" } }
                    span.small { a href=(history::ADDRESS) { "All feeds" } }
                }
                @match &subject.edits {
                    Some(edits) => (history::render_list(self.app, edits, false, &feed_settings_url(&subject.id))),
                    None => p.card-body.soft { "The history cannot be read right now." },
                }
            }
        }
    }
}

fn render_feed_heading(subject: &EditedFeed) -> Markup {
    let id = subject.id.as_str();
    let own = feed_settings_url(&subject.id);
    html! {
        div.page-head {
            p.crumbs { a href=(OPS) { "Operations" } " / " (id) }
            h1 { @match &subject.feed { Some(feed) => (feed.config().display_name()), None => (id) } }
            @if let Some(feed) = &subject.feed {
                @let status = feed.status();
                div.feed-state {
                    (states::render_live_state_label(id, status.state))
                    span { (status.reason) }
                }
                div.act-line {
                    (actions::render_button(id, "poll", "Poll now", Some(&own)))
                    @if feed.config().paused { (actions::render_button(id, "resume", "Resume", Some(&own))) }
                    @else { (actions::render_button(id, "pause", "Pause", Some(&own))) }
                    a.small href=(format!("/feeds/{id}")) { "Feed page" }
                }
            }
        }
    }
}

fn render_new_feed_heading() -> Markup {
    html! {
        div.page-head {
            p.crumbs { a href=(OPS) { "Operations" } " / " "Add" }
            h1 { "Add a feed" }
            p { "The feed is polled right away, without a restart. Only the id and the address are required." }
        }
    }
}

/// Renders a notice in place of the form of a removed feed.
fn render_removed_notice(subject: &EditedFeed) -> Markup {
    let is_removed =
        subject.current_override.as_ref().is_some_and(|feed_override| feed_override.removed);
    html! {
        p.note {
            @if is_removed {
                "This feed is in the configuration file, but was removed here."
            } @else {
                "This feed was removed. Its change history is below."
            }
        }
    }
}

/// Renders the effect of the form, before it is applied. `has_failed`: its source did not work when it was tested.
fn render_preview(outcome: &EditOutcome, has_focus: bool, verb: &str, has_failed: bool) -> Markup {
    let changed = &outcome.change;
    let rebuilt: Vec<String> = changed.networks.iter().map(ToString::to_string).collect();
    html! {
        section.card.preview aria-labelledby="preview" {
            h2 #preview tabindex="-1" autofocus[has_focus] { "Preview" }
            div.card-body.stack {
                @for id in &changed.added { p { "New feed: " code { (id) } } }
                (history::render_changes(&outcome.differences, "not set"))
                @if !rebuilt.is_empty() && changed.added.is_empty() {
                    p { "These networks will be rebuilt and clients resynchronised: " (rebuilt.join(", ")) "." }
                }
                div.act-line {
                    button.button type="submit" form="settings" name="do" value="apply" data-despite-failure[has_failed] { (verb) @if has_failed { " anyway" } }
                    span.small.soft { "Nothing has changed yet." }
                }
            }
        }
    }
}

/// Returns the feeds that may be schedules, by id, with their names.
fn list_schedules(app: &App) -> Vec<(String, String)> {
    let is_schedule = |feed: &&std::sync::Arc<Feed>| {
        let config = feed.config();
        let format = feed.format().or(config.configured_format());
        config.static_feed.is_none() && format.is_none_or(Format::is_schedule)
    };
    let named = |feed: &std::sync::Arc<Feed>| {
        (feed.id().to_string(), feed.config().display_name().to_owned())
    };
    let feeds = app.ingest().feeds();
    let mut schedules: Vec<_> = feeds.iter().filter(is_schedule).map(named).collect();
    schedules.sort();
    schedules
}
