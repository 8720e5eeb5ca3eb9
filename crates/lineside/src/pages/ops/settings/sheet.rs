//! A feed's page for admins: how it is doing, its form, what is laid over the file, its history, and the way out.

use lineside_ingest::Feed;
use maud::{Markup, html};

use super::form::Form;
use super::markup::Shown;
use super::{ADD, Outcome, Subject, address};
use crate::app::App;
use crate::config::duration_text;
use crate::http::Parameters;
use crate::overrides::{BadKey, redacted, toml_of};
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
        let feeds = self.app.ingest().feeds();
        // A feed that has a schedule is none.
        let may_be = |feed: &&std::sync::Arc<Feed>| feed.config().static_feed.is_none();
        let feed = self.subject.and_then(|subject| subject.feed.as_ref());
        let shown = Shown {
            form: self.form,
            over: self.subject.and_then(|subject| subject.over.as_ref()),
            in_file: self.subject.is_some_and(|subject| subject.in_file),
            errors: self.errors(),
            draft: draft.as_deref(),
            schedules: feeds.iter().filter(may_be).map(|feed| feed.id().to_string()).collect(),
            poll: feed.map_or_else(String::new, |feed| {
                duration_text(feed.config().poll_interval(feed.format()))
            }),
        };
        let action = self.subject.map_or_else(|| ADD.to_owned(), |subject| address(&subject.id));
        html! {
            (shown.summary())
            @match self.outcome {
                Some(Outcome::Tried(tried)) => (preview(tried)),
                Some(Outcome::Nothing) => p.note role="alert" { "Nothing is other than it was." },
                _ => {},
            }
            form.card.card-body.settings #settings method="post" action=(action) novalidate {
                (shown.fields(self.subject.is_none()))
                div.act-line {
                    button.button type="submit" name="do" value="preview" { "Preview" }
                    button.button.plain type="submit" name="do" value="apply" {
                        @if self.subject.is_none() { "Add it" } @else { "Apply" }
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
            section.card aria-labelledby="wins" {
                h2 #wins { "Who wins" }
                div.card-body.stack {
                    p {
                        "The configuration’s file is read and never written. What is changed here is laid over it: a key that is "
                        "changed here wins, whatever the file says, until it is given back; all else is as in the file. "
                        @if !self.app.settings().keeps_edits() {
                            "This server has no data_dir, so what is changed here ends with it."
                        } @else {
                            "It is there again after a restart."
                        }
                    }
                    @match toml {
                        Some(toml) => {
                            div {
                                p.small.soft { "The same as it would stand in the file, but for its secrets:" }
                                pre.toml tabindex="0" { code { (toml) } }
                            }
                        },
                        None => p.soft { "No key of it is laid over." },
                    }
                    @if subject.in_file && over.is_some() {
                        form method="post" action=(format!("{}/revert", address(&subject.id))) {
                            button.button.plain type="submit" { "Give all of it back to the file" }
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
                    h2 #history-title { "History" }
                    span.small { a href=(history::ADDRESS) { "Of all feeds" } }
                }
                @match &subject.edits {
                    Some(edits) => (history::list(self.app, edits, false, &address(&subject.id))),
                    None => p.card-body.soft { "It cannot be read at the moment." },
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
            p.crumbs { a href=(OPS) { "Operation" } " / " (id) }
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
                    a.small href=(format!("/feeds/{id}")) { "The feed’s page" }
                }
            }
        }
    }
}

fn head_of_new() -> Markup {
    html! {
        div.page-head {
            p.crumbs { a href=(OPS) { "Operation" } " / " "Add" }
            h1 { "Add a feed" }
            p { "It is polled at once, without a restart. The id and the address are needed; the rest may stay as it is." }
        }
    }
}

/// In the form's place, of a feed that is not there any more.
fn gone(subject: &Subject) -> Markup {
    let is_removed = subject.over.as_ref().is_some_and(|over| over.removed);
    html! {
        p.note {
            @if is_removed {
                "The configuration’s file has this feed; it was removed here, and is left out."
            } @else {
                "This feed is not there any more. What was changed of it stands below."
            }
        }
    }
}

/// What would change, before it does.
fn preview(tried: &Edited) -> Markup {
    let changed = &tried.changed;
    let readers: Vec<String> = changed.networks.iter().map(ToString::to_string).collect();
    html! {
        section.card.preview aria-labelledby="preview" {
            h2 #preview tabindex="-1" autofocus { "What would change" }
            div.card-body.stack {
                (history::changes(&tried.differences, "nothing"))
                @if !readers.is_empty() {
                    p { "Put together anew, so that their readers are given the state: " (readers.join(", ")) "." }
                }
                div.act-line {
                    button.button type="submit" form="settings" name="do" value="apply" { "Apply" }
                    span.small.soft { "Nothing has changed yet." }
                }
            }
        }
    }
}
