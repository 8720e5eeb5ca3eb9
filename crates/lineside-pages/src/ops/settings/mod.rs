//! `/ops/feeds/<feed>` and `/ops/add`: the configuration of a feed as a form, with preview, test and apply.
//!
//! The form calls `LiveSettings::edit_feed`, as the API does. It works without scripts.

mod fields;
mod form;
mod markup;
mod sheet;
mod source;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use lineside_config::overrides::{
    FeedOverride, OverrideKeyError, effective_feed_keys, redact_secrets,
};
use lineside_http::admin::BODY_BYTES_MAX;
use lineside_http::app::App;
use lineside_http::settings::{EditAction, EditError, EditOutcome};
use lineside_http::{QueryParameters, Refusal};
use lineside_ingest::Feed;
use lineside_model::FeedId;
use lineside_store::NumberedOverrideEdit;
use maud::Markup;

use self::form::SettingsForm;
use self::sheet::SettingsPage;
use super::actions::redirect_after_action;
use super::admins::{RequireAdmin, reply_with_refusal_page};
use super::completed_action::CompletedAction;
use super::mark_not_cacheable;
use crate::forms::read_form;
use crate::layout::{self, NavSection, PageLayout};
use crate::not_found;

/// The address of the form for a new feed.
pub(super) const ADD: &str = "/ops/add";

/// Returns the address of a feed's form.
pub(super) fn feed_settings_url(id: &FeedId) -> String {
    format!("/ops/feeds/{id}")
}

/// The feed of a page: a running one, or a removed one.
struct EditedFeed {
    id: FeedId,
    feed: Option<Arc<Feed>>,
    current_override: Option<FeedOverride>,
    is_in_file: bool,
    /// `None` if the history cannot be read.
    edits: Option<Vec<NumberedOverrideEdit>>,
}

impl EditedFeed {
    async fn find_edited_feed(app: &App, id: &str) -> Option<Self> {
        let id = FeedId::new(id).ok()?;
        let feed = app.ingest().find_feed(id.as_str());
        let (feed_override, in_file) = app.live_settings().find_feed_override(&id);
        let edits = app.live_settings().list_feed_edits(id.clone()).await.ok();
        let was_there = edits.as_ref().is_some_and(|edits| !edits.is_empty());
        let is_known = feed.is_some() || feed_override.is_some() || was_there;
        is_known.then_some(Self {
            id,
            feed,
            current_override: feed_override,
            is_in_file: in_file,
            edits,
        })
    }

    /// Returns the form with the current values.
    fn initial_form(&self) -> SettingsForm {
        let keys =
            self.feed.as_ref().map(|feed| redact_secrets(&effective_feed_keys(feed.config())));
        SettingsForm::from_keys(&keys.unwrap_or_default())
    }
}

/// The result of a form that was not applied.
enum PreviewOutcome {
    /// The form can be applied, with this effect.
    Tried(EditOutcome),
    /// The form can be applied, and the source was requested once.
    Tested(Option<EditOutcome>, source::SourceTestOutcome),
    /// The form has errors.
    Bad(Vec<OverrideKeyError>),
    /// The form changes nothing.
    Unchanged,
}

pub(super) async fn get_form(
    State(app): State<App>,
    _: RequireAdmin,
    Path(id): Path<String>,
    parameters: QueryParameters,
) -> Response {
    let Some(subject) = EditedFeed::find_edited_feed(&app, &id).await else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let form = subject.initial_form();
    let sheet = SettingsPage { app: &app, subject: Some(&subject), form: &form, outcome: None };
    reply_with_page(StatusCode::OK, subject.id.as_str(), &sheet.render_settings_page(&parameters))
}

pub(super) async fn get_empty_form(State(app): State<App>, _: RequireAdmin) -> Response {
    let sheet =
        SettingsPage { app: &app, subject: None, form: &SettingsForm::default(), outcome: None };
    reply_with_page(
        StatusCode::OK,
        "Add a feed",
        &sheet.render_settings_page(&QueryParameters::default()),
    )
}

/// Previews, tests or applies a form of an existing feed.
pub(super) async fn post_form(
    State(app): State<App>,
    _: RequireAdmin,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let Some(subject) = EditedFeed::find_edited_feed(&app, &id).await else {
        return not_found::reply_with_not_found_page("No feed has this id.");
    };
    let own = feed_settings_url(&subject.id);
    match preview_test_or_apply(&app, Some(&subject), request).await {
        Ok(SubmitOutcome::Done) => {
            redirect_after_action(&CompletedAction::Apply.url_with_notice(&own, &subject.id))
        }
        Ok(SubmitOutcome::Page(response)) => response,
        Err(refusal) => reply_with_refusal_page(refusal, &own),
    }
}

/// Previews, tests or applies a form of a new feed.
pub(super) async fn post_new_form(
    State(app): State<App>,
    _: RequireAdmin,
    request: Request,
) -> Response {
    match preview_test_or_apply(&app, None, request).await {
        Ok(SubmitOutcome::Done) => redirect_after_action(super::OPS),
        Ok(SubmitOutcome::Page(response)) => response,
        Err(refusal) => reply_with_refusal_page(refusal, ADD),
    }
}

/// The outcome of a submitted form.
enum SubmitOutcome {
    Done,
    Page(Response),
}

async fn preview_test_or_apply(
    app: &App,
    subject: Option<&EditedFeed>,
    request: Request,
) -> Result<SubmitOutcome, Refusal> {
    let (_, sent) = read_form(request, BODY_BYTES_MAX).await?;
    let draft = sent.find_value("draft").map(|name| app.admin_auth().find_form_secrets(name));
    let is_gone = matches!(draft, Some(None));
    let form = SettingsForm::from_parameters(&sent, &draft.flatten().unwrap_or_default());
    let button = match sent.find_value("do") {
        Some("apply") if !is_gone => PressedButton::Apply,
        Some("test") if !is_gone => PressedButton::Test,
        _ => PressedButton::Preview,
    };
    let outcome = match edit_from_form(app, subject, &form) {
        Err(faults) => PreviewOutcome::Bad(faults),
        Ok((_, EditAction::Change(keys))) if keys.is_empty() => match (button, subject) {
            (PressedButton::Test, Some(EditedFeed { feed: Some(feed), .. })) => {
                PreviewOutcome::Tested(
                    None,
                    source::run_source_test(app, feed.config().clone()).await,
                )
            }
            _ => PreviewOutcome::Unchanged,
        },
        Ok((id, action)) => {
            let is_requested_otherwise = action.changes_source_requests();
            match app
                .live_settings()
                .edit_feed(app.server_context(), id.clone(), action, button != PressedButton::Apply)
                .await
            {
                Ok(_) if button == PressedButton::Apply => {
                    return Ok(redirect_after_apply(subject, &id));
                }
                Ok(_) if is_gone => PreviewOutcome::Bad(vec![expired_secrets_error()]),
                Ok(edit_outcome) => {
                    source::preview_or_test(app, edit_outcome, button, is_requested_otherwise).await
                }
                Err(EditError::BadKeys(errors)) => PreviewOutcome::Bad(errors),
                Err(EditError::Exists) => {
                    PreviewOutcome::Bad(vec![id_error(EditError::Exists.to_string())])
                }
                Err(why) => return Err(why.into()),
            }
        }
    };
    let status = match &outcome {
        PreviewOutcome::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    let title = subject.map_or("Add a feed".to_owned(), |subject| subject.id.to_string());
    let sheet = SettingsPage { app, subject, form: &form, outcome: Some(&outcome) };
    Ok(SubmitOutcome::Page(reply_with_page(
        status,
        &title,
        &sheet.render_settings_page(&QueryParameters::default()),
    )))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PressedButton {
    Preview,
    Test,
    Apply,
}

fn redirect_after_apply(subject: Option<&EditedFeed>, id: &FeedId) -> SubmitOutcome {
    match subject {
        Some(_) => SubmitOutcome::Done,
        None => SubmitOutcome::Page(redirect_after_action(
            &CompletedAction::Add.url_with_notice(&feed_settings_url(id), id),
        )),
    }
}

fn expired_secrets_error() -> OverrideKeyError {
    let reason = "the secrets that you entered have expired: enter them again".to_owned();
    OverrideKeyError { key: String::new(), reason }
}

fn id_error(reason: String) -> OverrideKeyError {
    OverrideKeyError { key: "id".to_owned(), reason }
}

/// Returns the feed and the edit of a form.
///
/// # Errors
///
/// Returns every error of the form: of the id, of its rows, and of the values.
fn edit_from_form(
    app: &App,
    subject: Option<&EditedFeed>,
    form: &SettingsForm,
) -> Result<(FeedId, EditAction), Vec<OverrideKeyError>> {
    let (keys, mut faults) =
        form.changed_keys(subject.and_then(|subject| subject.current_override.as_ref()));
    let id = match subject {
        Some(subject) => Some(subject.id.clone()),
        None => match FeedId::new(&form.id) {
            Ok(id) => {
                if app.ingest().find_feed(id.as_str()).is_some() {
                    faults.insert(0, id_error(format!("{id} exists")));
                }
                Some(id)
            }
            Err(_) if form.id.is_empty() => {
                faults.insert(0, id_error("give an id, such as city-vehicles".to_owned()));
                None
            }
            Err(error) => {
                faults.insert(0, id_error(error.to_string()));
                None
            }
        },
    };
    let known = subject.map(|subject| &subject.id);
    for fault in app.live_settings().find_key_errors(known, &keys) {
        if !faults.iter().any(|other| other.key == fault.key) {
            faults.push(fault);
        }
    }
    match id {
        Some(id) if faults.is_empty() && subject.is_none() => Ok((id, EditAction::Add(keys))),
        Some(id) if faults.is_empty() => Ok((id, EditAction::Change(keys))),
        _ => Err(faults),
    }
}

fn reply_with_page(status: StatusCode, title: &str, main: &Markup) -> Response {
    let mut page = PageLayout::new(title, NavSection::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    mark_not_cacheable(layout::reply_with_page(status, page.render_document(main)))
}
