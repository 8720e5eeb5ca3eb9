//! `/delays/<feed>`: "Is my train late?", in one word first and then in detail. The answer is made once per state of the
//! network (`crate::delays`); here stands only how it looks, as a page, in a frame of others, and as a badge.

pub(super) mod badge;
mod body;
mod pictures;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use maud::html;

use super::layout::{self, Page, Section};
use crate::app::App;
use crate::delays::{self, Answer, Made, View};
use crate::http::{Embeddable, Parameters, Refusal, Wants, producer_policy};

/// How often a page without scripts is loaded again, in seconds; with scripts it is asked for as often.
const REFRESH_S: u32 = 15;

pub(super) fn router() -> Router<App> {
    Router::new().route("/delays/{feed}", get(page)).route("/delays/{feed}/badge.svg", get(picture))
}

async fn page(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: Parameters,
    wants: Wants,
) -> Response {
    let is_embedded = delays::is_embedded(&parameters);
    let reply = match delays::asked(&app, &feed, &parameters) {
        Ok(question) if is_embedded => {
            delays::reply(&app, question, View::Embedded, &wants, in_frame).await
        }
        Ok(question) => delays::reply(&app, question, View::Page, &wants, whole).await,
        Err(refusal) => Err(refusal),
    };
    match reply {
        Ok(mut reply) => {
            if is_embedded {
                reply.extensions_mut().insert(Embeddable);
            }
            reply
        }
        Err(refusal) => layout::refused(&refusal, is_embedded),
    }
}

async fn picture(
    State(app): State<App>,
    Path(feed): Path<String>,
    parameters: Parameters,
    wants: Wants,
) -> Result<Response, Refusal> {
    let question = delays::asked(&app, &feed, &parameters)?;
    let mut reply = delays::reply(&app, question, View::Badge, &wants, badge::made).await?;
    let (policy, nothing) = producer_policy();
    reply.headers_mut().insert(policy, nothing);
    Ok(reply)
}

fn whole(answer: &Answer) -> Made {
    framed(answer, false)
}

fn in_frame(answer: &Answer) -> Made {
    framed(answer, true)
}

fn framed(answer: &Answer, is_embedded: bool) -> Made {
    let title = body::title(answer);
    let mut page = Page::new(&title, Section::Networks);
    page.is_shared = true;
    page.canonical = Some(body::address(answer));
    page.styles = &["delays.css"];
    page.scripts = &["delays.js"];
    page.refresh = Some(REFRESH_S);
    page.description = Some(format!(
        "{title}: trips that are late now, and the share on time by line and by day."
    ));
    page.is_embedded = is_embedded;
    page.alternates.push(("application/json", body::api_address(answer)));
    let main = html! {
        div.page.delays #delays data-refresh=(REFRESH_S) { (body::markup(answer, is_embedded)) }
    };
    Made::new("text/html; charset=utf-8", page.render(&main).into_string(), answer.made_at)
}
