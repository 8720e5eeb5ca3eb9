//! A feed's page for admins: its state, form, overrides and history, and a button that removes it.

use lineside_formats::Format;
use lineside_ingest::Feed;
use maud::{Markup, html};

use super::form::Form;
use super::markup::Shown;
use super::{ADD, Outcome, Subject, address, source};
use crate::app::App;
use crate::config::duration_text;
use crate::http::Parameters;
use crate::overrides::{BadKey, defaults_of, redacted, toml_of};
use crate::pages::ops::{acts, done, history};
use crate::pages::{OPS, states};
use crate::settings::Edited;

pub(super) struct Sheet<'a> {
    pub(super) app: &'a App,
    /// None for one that is to be added.
    pub(super) subject: Option<&'a Subject>,
    pub(super) form: &'a Form,
    pub(super) outcome: Option<&'a Outcome>,
}

impl Sheet<'_> {
    pub(super) fn markup(&self, parameters: &Parameters) -> Markup {
        html! {
            div.page {
                @match self.subject {
                    Some(subject) => (head(subject)),
                    None => (head_of_new()),
                }
                (done::said(parameters))
                div.stack {
                    @match self.subject {
                        Some(subject) if subject.feed.is_none() => (gone(subject)),
                        _ => (self.form()),
                    }
                    @if let Some(subject) = self.subject {
                        (self.laid_over(subject))
                        (self.history(subject))
                        @if subject.feed.is_some() {
                            p { a.button.plain href=(format!("{}/remove", address(&subject.id))) { "Remove this feed …" } }
                        }
                    }
                }
            }
        }
    }

    fn errors(&self) -> &[BadKey] {
        match self.outcome {
            Some(Outcome::Bad(errors)) => errors,
            _ => &[],
        }
    }

    fn form(&self) -> Markup {
        let draft = self.form.draft();
        let draft = (!draft.is_empty()).then(|| self.app.admin().keep_draft(draft));
        let feed = self.subject.and_then(|subject| subject.feed.as_ref());
        let shown = Shown {
            form: self.form,
            over: self.subject.and_then(|subject| subject.over.as_ref()),
            in_file: self.subject.is_some_and(|subject| subject.in_file),
            errors: self.errors(),
            draft: draft.as_deref(),
            schedules: schedules(self.app),
            defaults: feed.map(|feed| defaults_of(feed.config())).unwrap_or_default(),
            poll: feed.map_or_else(String::new, |feed| {
                duration_text(feed.config().poll_interval(feed.format()))
            }),
        };
        let action = self.subject.map_or_else(|| ADD.to_owned(), |subject| address(&subject.id));
        let verb = if self.subject.is_some() { "Apply" } else { "Add" };
        html! {
            // A browser presses a form's first button for Enter in a field: it previews, also where the preview before has another.
            button.visually-hidden type="submit" form="settings" name="do" value="preview" tabindex="-1" aria-hidden="true" {}
            (shown.summary())
            @match self.outcome {
                Some(Outcome::Tried(tried)) => (preview(tried, true, verb)),
                Some(Outcome::Tested(tried, result)) => {
                    (source::show(result))
                    @if let Some(tried) = tried { (preview(tried, false, verb)) }
                },
                Some(Outcome::Nothing) => p.note role="alert" { "You have not changed anything." },
                _ => {},
            }
            form.card.card-body.settings #settings method="post" action=(action) novalidate {
                (shown.fields(self.subject.is_none()))
                div.act-line {
                    button.button type="submit" name="do" value="preview" { "Preview" }
                    button.button.plain type="submit" name="do" value="test" { "Test the source" }
                    // A new feed is added from its preview, whose test shows what its source answers.
                    @if self.subject.is_some() {
                        button.button.plain type="submit" name="do" value="apply" { (verb) }
                    }
                }
            }
        }
    }

    fn laid_over(&self, subject: &Subject) -> Markup {
        let over = subject.over.as_ref();
        let keys = over.map(|over| redacted(&over.keys)).unwrap_or_default();
        let toml = toml_of(&subject.id, &keys).ok().filter(|_| !keys.is_empty());
        html! {
            section.card aria-labelledby="overrides" {
                h2 #overrides { "Overrides" }
                div.card-body.stack {
                    p {
                        "Values set here override the configuration file until you reset them. The file is never written. "
                        @if self.app.settings().keeps_edits() {
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
                    @if subject.in_file && over.is_some() {
                        form method="post" action=(format!("{}/revert", address(&subject.id))) {
                            button.button.plain type="submit" { "Reset all to the file" }
                        }
                    }
                }
            }
        }
    }

    fn history(&self, subject: &Subject) -> Markup {
        html! {
            section.card #history aria-labelledby="history-title" {
                div.card-head {
                    h2 #history-title { "History" span.soft.small { " Times in UTC" } }
                    span.small { a href=(history::ADDRESS) { "All feeds" } }
                }
                @match &subject.edits {
                    Some(edits) => (history::list(self.app, edits, false, &address(&subject.id))),
                    None => p.card-body.soft { "The history cannot be read right now." },
                }
            }
        }
    }
}

fn head(subject: &Subject) -> Markup {
    let id = subject.id.as_str();
    let own = address(&subject.id);
    html! {
        div.page-head {
            p.crumbs { a href=(OPS) { "Operations" } " / " (id) }
            h1 { @match &subject.feed { Some(feed) => (feed.config().display_name()), None => (id) } }
            @if let Some(feed) = &subject.feed {
                @let status = feed.status();
                div.feed-state {
                    (states::label(id, status.state))
                    span { (status.reason) }
                }
                div.act-line {
                    (acts::button(id, "poll", "Poll now", Some(&own)))
                    @if feed.config().paused { (acts::button(id, "resume", "Resume", Some(&own))) }
                    @else { (acts::button(id, "pause", "Pause", Some(&own))) }
                    a.small href=(format!("/feeds/{id}")) { "Feed page" }
                }
            }
        }
    }
}

fn head_of_new() -> Markup {
    html! {
        div.page-head {
            p.crumbs { a href=(OPS) { "Operations" } " / " "Add" }
            h1 { "Add a feed" }
            p { "The feed is polled right away, without a restart. Only the id and the address are required." }
        }
    }
}

/// In the form's place, of a feed that is not there any more.
fn gone(subject: &Subject) -> Markup {
    let is_removed = subject.over.as_ref().is_some_and(|over| over.removed);
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

/// The effect of the form, before it is applied.
fn preview(tried: &Edited, has_focus: bool, verb: &str) -> Markup {
    let changed = &tried.changed;
    let rebuilt: Vec<String> = changed.networks.iter().map(ToString::to_string).collect();
    html! {
        section.card.preview aria-labelledby="preview" {
            h2 #preview tabindex="-1" autofocus[has_focus] { "Preview" }
            div.card-body.stack {
                (history::changes(&tried.differences, "not set"))
                @if !rebuilt.is_empty() && changed.added.is_empty() {
                    p { "These networks will be rebuilt and clients resynchronised: " (rebuilt.join(", ")) "." }
                }
                div.act-line {
                    button.button type="submit" form="settings" name="do" value="apply" { (verb) }
                    span.small.soft { "Nothing has changed yet." }
                }
            }
        }
    }
}

/// Feeds that may be schedules, by id, with their names.
fn schedules(app: &App) -> Vec<(String, String)> {
    let is_schedule = |feed: &&std::sync::Arc<Feed>| {
        let config = feed.config();
        let format = feed.format().or(config.promised());
        config.static_feed.is_none()
            && format.is_none_or(|format| matches!(format, Format::Gtfs | Format::Netex))
    };
    let named = |feed: &std::sync::Arc<Feed>| {
        (feed.id().to_string(), feed.config().display_name().to_owned())
    };
    let feeds = app.ingest().feeds();
    let mut schedules: Vec<_> = feeds.iter().filter(is_schedule).map(named).collect();
    schedules.sort();
    schedules
}
