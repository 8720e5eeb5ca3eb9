//! `/ops/feeds/<feed>` and `/ops/add`: the configuration of a feed as a form, with preview, test and apply.
//!
//! The form goes through the same [`Settings::edit`] as a program's request does. It works without scripts.

mod fields;
mod form;
mod markup;
mod sheet;
mod source;

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

/// The result of a form that was not applied.
enum Outcome {
    /// It can be applied, with this effect.
    Tried(Edited),
    /// It can be applied, and its source was requested once.
    Tested(Option<Edited>, source::TestResult),
    /// It has faults.
    Bad(Vec<BadKey>),
    /// It changes nothing.
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
    let wish = match sent.one("do") {
        Some("apply") if !is_gone => Wish::Apply,
        Some("test") if !is_gone => Wish::Test,
        _ => Wish::Preview,
    };
    let outcome = match wanted_edit(app, subject, &form) {
        Err(faults) => Outcome::Bad(faults),
        Ok((_, What::Change(keys))) if keys.is_empty() => match (wish, subject) {
            (Wish::Test, Some(Subject { feed: Some(feed), .. })) => {
                Outcome::Tested(None, source::test(app, feed.config().clone()).await)
            }
            _ => Outcome::Nothing,
        },
        Ok((id, what)) => {
            let is_requested_otherwise = what.requests_otherwise();
            match Settings::edit(app, id.clone(), what, wish != Wish::Apply).await {
                Ok(_) if wish == Wish::Apply => return Ok(applied(subject, &id)),
                Ok(_) if is_gone => Outcome::Bad(vec![expired_secrets()]),
                Ok(tried) => {
                    source::preview_or_test(app, tried, wish, is_requested_otherwise).await
                }
                Err(NotEdited::BadKeys(errors)) => Outcome::Bad(errors),
                Err(NotEdited::Exists) => Outcome::Bad(vec![exists()]),
                Err(why) => return Err(why.into()),
            }
        }
    };
    let status = match &outcome {
        Outcome::Bad(_) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::OK,
    };
    let title = subject.map_or("Add a feed".to_owned(), |subject| subject.id.to_string());
    let sheet = Sheet { app, subject, form: &form, outcome: Some(&outcome) };
    Ok(Took::Shown(reply(status, &title, &sheet.markup(&Parameters::default()))))
}

/// The button that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Preview,
    Test,
    Apply,
}

fn applied(subject: Option<&Subject>, id: &FeedId) -> Took {
    match subject {
        Some(_) => Took::Done,
        None => Took::Shown(go_on(&Done::Add.told_at(&address(id), id))),
    }
}

fn expired_secrets() -> BadKey {
    let reason = "the secrets that you entered have expired: enter them again".to_owned();
    BadKey { key: String::new(), reason }
}

fn exists() -> BadKey {
    BadKey { key: "id".to_owned(), reason: NotEdited::Exists.to_string() }
}

/// The feed and the edit that a form asks for.
///
/// # Errors
/// Every fault of the form: of the id, of its rows, and of the values.
fn wanted_edit(
    app: &App,
    subject: Option<&Subject>,
    form: &Form,
) -> Result<(FeedId, What), Vec<BadKey>> {
    let (keys, mut faults) = form.keys(subject.and_then(|subject| subject.over.as_ref()));
    let id = match subject {
        Some(subject) => Some(subject.id.clone()),
        None => match FeedId::new(&form.id) {
            Ok(id) => {
                let is_known = app.ingest().feed(id.as_str()).is_some();
                faults.splice(0..0, is_known.then(exists));
                Some(id)
            }
            Err(error) => {
                faults.insert(0, BadKey { key: "id".to_owned(), reason: error.to_string() });
                None
            }
        },
    };
    let known = subject.map(|subject| &subject.id);
    for fault in Settings::find_faults(app, known, &keys) {
        if !faults.iter().any(|other| other.key == fault.key) {
            faults.push(fault);
        }
    }
    match id {
        Some(id) if faults.is_empty() && subject.is_none() => Ok((id, What::Add(keys))),
        Some(id) if faults.is_empty() => Ok((id, What::Change(keys))),
        _ => Err(faults),
    }
}

fn reply(status: StatusCode, title: &str, main: &Markup) -> Response {
    let mut page = Page::new(title, Section::Operation);
    page.class = "ops-page";
    page.styles = &["ops.css"];
    of_the_moment(layout::reply(status, page.render(main)))
}
