//! The actions of an admin on a feed: each is a submitted form, answered with a redirect.

use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Redirect, Response};
use lineside_http::admin::poll_now;
use lineside_http::app::App;
use lineside_http::settings::{EditAction, EditError, EditOutcome};
use lineside_http::{Refusal, limits};
use lineside_model::FeedId;
use maud::{Markup, html};

use super::admins::{RequireAdmin, reply_with_refusal_page};
use super::completed_action::CompletedAction;
use super::{history, mark_not_cacheable};
use crate::forms::read_form;
use crate::layout::{self, NavSection, PageLayout};
use crate::not_found;

/// The form's field that allows an undo to overwrite later edits.
const OVERWRITE: &str = "overwrite";

/// An action without parameters from a form.
#[derive(Clone, Copy)]
enum FeedAction {
    Poll,
    Pause,
    Resume,
    Revert,
    Remove,
    Undo { number: i64, overwrites: bool },
}

impl FeedAction {
    fn parse_action_name(action_name: &str) -> Option<Self> {
        Some(match action_name {
            "poll" => Self::Poll,
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            "revert" => Self::Revert,
            "remove" => Self::Remove,
            _ => return None,
        })
    }

    fn completed_action(self) -> CompletedAction {
        match self {
            Self::Poll => CompletedAction::Poll,
            Self::Pause => CompletedAction::Pause,
            Self::Resume => CompletedAction::Resume,
            Self::Revert => CompletedAction::Revert,
            Self::Remove => CompletedAction::Remove,
            Self::Undo { .. } => CompletedAction::Undo,
        }
    }

    async fn perform_action(self, app: &App, id: &FeedId) -> Result<(), Refusal> {
        let action = match self {
            Self::Poll => return poll_now(app, id.as_str()).await,
            Self::Pause => EditAction::Pause,
            Self::Resume => EditAction::Resume,
            Self::Revert => EditAction::Revert,
            Self::Remove => EditAction::Remove,
            Self::Undo { number, overwrites } => EditAction::Undo { number, overwrites },
        };
        app.live_settings().edit_feed(app.server_context(), id.clone(), action, false).await?;
        Ok(())
    }
}

pub(super) async fn post_action(
    State(app): State<App>,
    _: RequireAdmin,
    Path((id, action_name)): Path<(String, String)>,
    request: Request,
) -> Response {
    match FeedAction::parse_action_name(&action_name) {
        Some(act) => perform_action_and_reply(&app, &id, act, request).await,
        None => not_found::reply_with_not_found_page("Unknown action."),
    }
}

pub(super) async fn post_undo(
    State(app): State<App>,
    _: RequireAdmin,
    Path((id, number)): Path<(String, String)>,
    request: Request,
) -> Response {
    match number.parse() {
        Ok(number) => {
            perform_action_and_reply(
                &app,
                &id,
                FeedAction::Undo { number, overwrites: false },
                request,
            )
            .await
        }
        Err(_) => not_found::reply_with_not_found_page("No change has this number."),
    }
}

async fn perform_action_and_reply(
    app: &App,
    id: &str,
    act: FeedAction,
    request: Request,
) -> Response {
    let Ok(id) = FeedId::new(id) else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let own = super::settings::feed_settings_url(&id);
    let form = match read_form(request, limits::REQUEST_BODY_BYTES_MAX).await {
        Ok((_, form)) => form,
        Err(refusal) => return reply_with_refusal_page(refusal, &own),
    };
    let act = match act {
        FeedAction::Undo { number, .. } => {
            FeedAction::Undo { number, overwrites: form.find_value(OVERWRITE).is_some() }
        }
        act => act,
    };
    match act.perform_action(app, &id).await {
        Ok(()) => redirect_after_action(
            &act.completed_action().url_with_notice(form.find_value("next").unwrap_or(&own), &id),
        ),
        Err(refusal) => reply_with_refusal_page(refusal, &own),
    }
}

/// Redirects to a page that reports the completed action.
pub(super) fn redirect_after_action(address: &str) -> Response {
    let no_store = [(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (no_store, Redirect::to(address)).into_response()
}

/// Renders the confirmation page for removing a feed.
pub(super) async fn get_removal_confirmation(
    State(app): State<App>,
    _: RequireAdmin,
    Path((id, action_name)): Path<(String, String)>,
) -> Response {
    let id = FeedId::new(&id).ok().filter(|_| {
        matches!(FeedAction::parse_action_name(&action_name), Some(FeedAction::Remove))
    });
    let Some(id) = id else { return not_found::reply_with_not_found_page("Unknown action.") };
    let own = super::settings::feed_settings_url(&id);
    match app
        .live_settings()
        .edit_feed(app.server_context(), id.clone(), EditAction::Remove, true)
        .await
    {
        Ok(outcome) => reply_with_confirmation_page(
            &format!("Remove {id}"),
            &render_removal_confirmation(&id, outcome.is_in_file),
        ),
        Err(EditError::UnknownFeed) => not_found::reply_with_not_found_page("No feed has this id."),
        Err(why) => reply_with_refusal_page(why.into(), &own),
    }
}

fn reply_with_confirmation_page(title: &str, main: &Markup) -> Response {
    let mut page = PageLayout::new(title, NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    mark_not_cacheable(layout::reply_with_page(StatusCode::OK, page.render_document(main)))
}

/// Renders the effect of restoring the values before an edit, with a button to do it.
pub(super) async fn get_settings_undo_confirmation(
    State(app): State<App>,
    _: RequireAdmin,
    Path((id, number)): Path<(String, String)>,
) -> Response {
    let (Ok(id), Ok(number)) = (FeedId::new(&id), number.parse()) else {
        return not_found::reply_with_not_found_page("No change has this number.");
    };
    let own = super::settings::feed_settings_url(&id);
    let action = EditAction::Undo { number, overwrites: true };
    match app.live_settings().edit_feed(app.server_context(), id.clone(), action, true).await {
        Ok(outcome) => {
            let title = format!("Restore the values before change {number}");
            reply_with_confirmation_page(
                &title,
                &render_restore_preview(&title, &own, number, &outcome),
            )
        }
        Err(EditError::UnknownEdit) => {
            not_found::reply_with_not_found_page("No change has this number.")
        }
        Err(why) => reply_with_refusal_page(why.into(), &own),
    }
}

fn render_restore_preview(title: &str, own: &str, number: i64, outcome: &EditOutcome) -> Markup {
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
                    (history::render_changes(&outcome.differences, "not set"))
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

fn render_removal_confirmation(id: &FeedId, in_file: bool) -> Markup {
    let own = super::settings::feed_settings_url(id);
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

/// Renders the form of one button: its target and its label.
pub(super) fn render_button(id: &str, act: &str, button_label: &str, next: Option<&str>) -> Markup {
    html! {
        form.ops-act method="post" action=(format!("/ops/feeds/{id}/{act}")) data-act=(act) {
            @if let Some(next) = next { input type="hidden" name="next" value=(next); }
            button.button.plain.compact type="submit" aria-label=(format!("{button_label}: {id}")) { (button_label) }
        }
    }
}
