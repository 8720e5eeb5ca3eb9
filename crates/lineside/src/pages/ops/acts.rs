//! What one button does with a feed, sent as a form and answered with the page that one goes on at.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use lineside_ingest::FeedId;
use maud::{Markup, html};

use super::admins::{Admin, refused};
use super::done::Done;
use super::{history, of_the_moment};
use crate::app::App;
use crate::http::admin::ask_now;
use crate::http::{Refusal, limits};
use crate::pages::forms::read_form;
use crate::pages::layout::{self, Page, Section};
use crate::settings::{Edited, NotEdited, Settings, What};

/// The form's field that restores the values before an edit over those of later ones.
const OVERWRITE: &str = "overwrite";

/// Something that needs no more than to be said.
#[derive(Clone, Copy)]
enum Act {
    Poll,
    Pause,
    Resume,
    Revert,
    Remove,
    Undo { number: i64, overwrites: bool },
}

impl Act {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "poll" => Self::Poll,
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            "revert" => Self::Revert,
            "remove" => Self::Remove,
            _ => return None,
        })
    }

    fn done(self) -> Done {
        match self {
            Self::Poll => Done::Poll,
            Self::Pause => Done::Pause,
            Self::Resume => Done::Resume,
            Self::Revert => Done::Revert,
            Self::Remove => Done::Remove,
            Self::Undo { .. } => Done::Undo,
        }
    }

    async fn carry_out(self, app: &App, id: &FeedId) -> Result<(), Refusal> {
        let what = match self {
            Self::Poll => return ask_now(app, id.as_str()).await,
            Self::Pause => What::Pause,
            Self::Resume => What::Resume,
            Self::Revert => What::Revert,
            Self::Remove => What::Remove,
            Self::Undo { number, overwrites } => What::Undo { number, overwrites },
        };
        Settings::edit(app, id.clone(), what, false).await?;
        Ok(())
    }
}

pub(super) async fn act(
    State(app): State<App>,
    _: Admin,
    Path((id, word)): Path<(String, String)>,
    request: Request,
) -> Response {
    match Act::parse(&word) {
        Some(act) => answer(&app, &id, act, request).await,
        None => layout::not_found("Unknown action."),
    }
}

pub(super) async fn undo(
    State(app): State<App>,
    _: Admin,
    Path((id, number)): Path<(String, String)>,
    request: Request,
) -> Response {
    match number.parse() {
        Ok(number) => answer(&app, &id, Act::Undo { number, overwrites: false }, request).await,
        Err(_) => layout::not_found("No change has this number."),
    }
}

async fn answer(app: &App, id: &str, act: Act, request: Request) -> Response {
    let Ok(id) = FeedId::new(id) else {
        return layout::not_found("No feed has this name.");
    };
    let own = super::settings::address(&id);
    let form = match read_form(request, limits::REQUEST_BODY_BYTES_MAX).await {
        Ok((_, form)) => form,
        Err(refusal) => return refused(refusal, &own),
    };
    let act = match act {
        Act::Undo { number, .. } => Act::Undo { number, overwrites: form.one(OVERWRITE).is_some() },
        act => act,
    };
    match act.carry_out(app, &id).await {
        Ok(()) => go_on(&act.done().told_at(form.one("next").unwrap_or(&own), &id)),
        Err(refusal) => refused(refusal, &own),
    }
}

/// Leads to a page that says what was done.
pub(super) fn go_on(address: &str) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, Redirect::to(address)).into_response()
}

/// Asks whether a feed is really to go.
pub(super) async fn confirm(
    State(app): State<App>,
    _: Admin,
    Path((id, word)): Path<(String, String)>,
) -> Response {
    let id = FeedId::new(&id).ok().filter(|_| matches!(Act::parse(&word), Some(Act::Remove)));
    let Some(id) = id else { return layout::not_found("Unknown action.") };
    let own = super::settings::address(&id);
    match Settings::edit(&app, id.clone(), What::Remove, true).await {
        Ok(tried) => confirmation(&format!("Remove {id}"), &question(&id, tried.in_file)),
        Err(NotEdited::UnknownFeed) => layout::not_found("No feed has this name."),
        Err(why) => refused(why.into(), &own),
    }
}

fn confirmation(title: &str, main: &Markup) -> Response {
    let mut page = Page::new(title, Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    of_the_moment(layout::reply(StatusCode::OK, page.render(main)))
}

/// Shows what restoring the values before an edit would change, with the button that does it.
pub(super) async fn confirm_restore(
    State(app): State<App>,
    _: Admin,
    Path((id, number)): Path<(String, String)>,
) -> Response {
    let (Ok(id), Ok(number)) = (FeedId::new(&id), number.parse()) else {
        return layout::not_found("No change has this number.");
    };
    let own = super::settings::address(&id);
    let what = What::Undo { number, overwrites: true };
    match Settings::edit(&app, id.clone(), what, true).await {
        Ok(tried) => {
            let title = format!("Restore the values before change {number}");
            confirmation(&title, &restore_preview(&title, &own, number, &tried))
        }
        Err(NotEdited::UnknownEdit) => layout::not_found("No change has this number."),
        Err(why) => refused(why.into(), &own),
    }
}

fn restore_preview(title: &str, own: &str, number: i64, tried: &Edited) -> Markup {
    html! {
        div.page {
            div.page-head {
                p.crumbs { a href="/ops" { "Operations" } " / " a href=(own) { (own.rsplit('/').next().unwrap_or_default()) } }
                h1 { (title) }
                p { "Later changes of the same keys are overwritten. They stay in the history." }
            }
            section.card.preview aria-labelledby="preview" {
                h2 #preview { "Preview" }
                div.card-body.stack {
                    (history::changes(&tried.differences, "not set"))
                    form.act-line method="post" action=(format!("{own}/history/{number}/undo")) {
                        input type="hidden" name=(OVERWRITE) value="true";
                        button.button type="submit" { "Restore" }
                        a.button.plain href=(own) { "Cancel" }
                    }
                }
            }
        }
    }
}

fn question(id: &FeedId, in_file: bool) -> Markup {
    let own = super::settings::address(id);
    html! {
        div.page {
            div.page-head {
                p.crumbs { a href="/ops" { "Operations" } " / " a href=(own) { (id) } }
                h1 { "Remove " (id) "?" }
                p {
                    "Its URLs will return 404 and subscribers will be notified. "
                    @if in_file {
                        "The feed stays in the configuration file and is left out until you undo this."
                    } @else {
                        "You can undo this in its history."
                    }
                }
            }
            form.act-line method="post" action=(format!("{own}/remove")) {
                button.button.danger type="submit" { "Remove " (id) }
                a.button.plain href=(own) { "Cancel" }
            }
        }
    }
}

/// The form of one button: where it is sent, and what it says.
pub(super) fn button(id: &str, act: &str, word: &str, next: Option<&str>) -> Markup {
    html! {
        form.ops-act method="post" action=(format!("/ops/feeds/{id}/{act}")) data-act=(act) {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            button.button.plain.compact type="submit" aria-label=(format!("{word}: {id}")) { (word) }
        }
    }
}
