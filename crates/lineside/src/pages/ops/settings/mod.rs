//! `/ops/feeds/<feed>` and `/ops/add`: how a feed is configured, as a form that is tried first and then applied.
//!
//! The form goes through the same [`Settings::edit`] as a program's request does. It works without scripts.

mod fields;
mod form;
mod markup;
mod sheet;

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use lineside_ingest::{Feed, FeedId};
use lineside_store::NumberedEdit;
use maud::Markup;

use self::form::Form;
use self::sheet::Sheet;
use super::acts::go_on;
use super::admins::{Admin, refused};
use super::done::Done;
use super::of_the_moment;
use crate::app::App;
use crate::http::admin::BODY_BYTES_MAX;
use crate::http::{Parameters, Refusal};
use crate::overrides::{BadKey, Override, keys_of, redacted};
use crate::pages::forms::read_form;
use crate::pages::layout::{self, Page, Section};
use crate::settings::{Edited, NotEdited, Settings, What};

/// Where a feed is added.
pub(super) const ADD: &str = "/ops/add";

/// The address of a feed's form.
pub(super) fn address(id: &FeedId) -> String {
    format!("/ops/feeds/{id}")
}

/// A feed as its page is about it: one that runs, or one that there was.
struct Subject {
    id: FeedId,
    feed: Option<Arc<Feed>>,
    over: Option<Override>,
    in_file: bool,
    /// None if they cannot be read now.
    edits: Option<Vec<NumberedEdit>>,
}

impl Subject {
    async fn find(app: &App, id: &str) -> Option<Self> {
        let id = FeedId::new(id).ok()?;
        let feed = app.ingest().feed(id.as_str());
        let (over, in_file) = app.settings().find_override(&id);
        let edits = Settings::history(app, id.clone()).await.ok();
        let was_there = edits.as_ref().is_some_and(|edits| !edits.is_empty());
        let is_known = feed.is_some() || over.is_some() || was_there;
        is_known.then_some(Self { id, feed, over, in_file, edits })
    }

    /// The form as it is before anybody has touched it.
    fn form(&self) -> Form {
        let keys = self.feed.as_ref().map(|feed| redacted(&keys_of(feed.config())));
        Form::of(&keys.unwrap_or_default())
    }
}

/// What was sent came to something else than a change.
enum Outcome {
    /// It can be applied, and this is what it would come to.
    Tried(Edited),
    /// It is no good.
    Bad(Vec<BadKey>),
    /// It says nothing new.
    Nothing,
}

pub(super) async fn show(
    State(app): State<App>,
    _: Admin,
    Path(id): Path<String>,
    parameters: Parameters,
) -> Response {
    let Some(subject) = Subject::find(&app, &id).await else {
        return layout::not_found("No feed has this name.");
    };
    let form = subject.form();
    let sheet = Sheet { app: &app, subject: Some(&subject), form: &form, outcome: None };
    reply(StatusCode::OK, subject.id.as_str(), &sheet.markup(&parameters))
}

pub(super) async fn show_empty(State(app): State<App>, _: Admin) -> Response {
    let sheet = Sheet { app: &app, subject: None, form: &Form::default(), outcome: None };
    reply(StatusCode::OK, "Add a feed", &sheet.markup(&Parameters::default()))
}

/// Tries or applies what was sent of a feed.
pub(super) async fn take(
    State(app): State<App>,
    _: Admin,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let Some(subject) = Subject::find(&app, &id).await else {
        return layout::not_found("No feed has this name.");
    };
    let own = address(&subject.id);
    match sent(&app, Some(&subject), request).await {
        Ok(Took::Done) => go_on(&Done::Apply.told_at(&own, &subject.id)),
        Ok(Took::Shown(response)) => response,
        Err(refusal) => refused(refusal, &own),
    }
}

/// Tries or applies what was sent of a feed that there is not yet.
pub(super) async fn take_new(State(app): State<App>, _: Admin, request: Request) -> Response {
    match sent(&app, None, request).await {
        Ok(Took::Done) => go_on(super::OPS),
        Ok(Took::Shown(response)) => response,
        Err(refusal) => refused(refusal, ADD),
    }
}

/// What became of a form.
enum Took {
    Done,
    Shown(Response),
}

async fn sent(app: &App, subject: Option<&Subject>, request: Request) -> Result<Took, Refusal> {
    let (_, sent) = read_form(request, BODY_BYTES_MAX).await?;
    let draft = sent.one("draft").map(|name| app.admin().find_draft(name));
    let is_gone = matches!(draft, Some(None));
    let form = Form::read(&sent, &draft.flatten().unwrap_or_default());
    let over = subject.and_then(|subject| subject.over.as_ref());
    let only_try = sent.one("do") != Some("apply") || is_gone;
    let outcome = match what(subject, &form, over) {
        Err(errors) => Outcome::Bad(errors),
        Ok((_, What::Change(keys))) if keys.is_empty() => Outcome::Nothing,
        Ok((id, what)) => match Settings::edit(app, id.clone(), what, only_try).await {
            Ok(_) if !only_try && subject.is_none() => {
                let done = Done::Add.told_at(&address(&id), &id);
                return Ok(Took::Shown(go_on(&done)));
            }
            Ok(_) if !only_try => return Ok(Took::Done),
            Ok(_) if is_gone => Outcome::Bad(vec![BadKey {
                key: String::new(),
                reason: "the secrets that you gave are not kept any longer: give them again"
                    .to_owned(),
            }]),
            Ok(tried) => Outcome::Tried(tried),
            Err(NotEdited::BadKeys(errors)) => Outcome::Bad(errors),
            Err(NotEdited::Exists) => Outcome::Bad(vec![BadKey {
                key: "id".to_owned(),
                reason: NotEdited::Exists.to_string(),
            }]),
            Err(why) => return Err(why.into()),
        },
    };
    let status = match &outcome {
        Outcome::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    let title = subject.map_or("Add a feed".to_owned(), |subject| subject.id.to_string());
    let sheet = Sheet { app, subject, form: &form, outcome: Some(&outcome) };
    Ok(Took::Shown(reply(status, &title, &sheet.markup(&Parameters::default()))))
}

/// What a form would have done, and with which feed.
fn what(
    subject: Option<&Subject>,
    form: &Form,
    over: Option<&Override>,
) -> Result<(FeedId, What), Vec<BadKey>> {
    let keys = form.keys(over);
    let Some(subject) = subject else {
        let id = FeedId::new(&form.id);
        let fault = id
            .as_ref()
            .err()
            .map(|error| BadKey { key: "id".to_owned(), reason: error.to_string() });
        return match (id, keys) {
            (Ok(id), Ok(keys)) => Ok((id, What::Add(keys))),
            (_, keys) => Err(fault.into_iter().chain(keys.err().into_iter().flatten()).collect()),
        };
    };
    keys.map(|keys| (subject.id.clone(), What::Change(keys)))
}

fn reply(status: StatusCode, title: &str, main: &Markup) -> Response {
    let mut page = Page::new(title, Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    of_the_moment(layout::reply(status, page.render(main)))
}
