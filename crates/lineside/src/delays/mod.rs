//! "Is my train late?": answered once per state of a network, and then given out as it lies there.
//!
//! A question names a feed, and a line or a stop of it. Its [`Mark`](question::Mark) says what the answer follows from: the
//! network's state, how its sources are, the threshold. What was made for a mark is right as long as the mark is, so a
//! request compares and copies nothing but a pointer; the first one after a change makes the answer for all. Nobody asks
//! here how a feed came to be as it is.

mod answer;
mod day;
mod kinds;
mod looks;
mod question;
mod stops;

use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use bytes::Bytes;
use http::HeaderValue;
use lineside_sync::UnixMillis;
use lineside_sync::table::{Limits, Table};
use xxhash_rust::xxh3::xxh3_128;

pub(crate) use self::answer::{Answer, LineCount, Word};
pub(crate) use self::day::{Day, Gap, LINES_OF_FEED_MAX, Quarter, first_start, gaps, number};
pub(crate) use self::kinds::Noun;
pub(crate) use self::looks::{keep, watch};
pub(crate) use self::question::{Question, Source, is_of_alerts};
pub(crate) use self::stops::STOPS_MAX;

use crate::app::App;
use crate::http::{Makers, Refusal, Representation, Wants, aside};

/// Answers that are kept: of some hundred lines and stops, in each of their forms.
const KEPT_MAX: usize = 2_048;
/// Bytes of these.
const KEPT_BYTES_MAX: usize = 64 << 20;
/// The next poll mostly makes an answer useless long before.
const KEPT_FOR: Duration = Duration::from_secs(120);
/// How long a client need not ask again at most: polls may be hours apart, and a source may fall silent.
const FRESH_FOR_MAX: Duration = Duration::from_secs(15);

/// As what an answer goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum View {
    /// The page, in its frame.
    Page,
    /// The page for frames of others.
    Embedded,
    /// JSON.
    Json,
    /// A small picture.
    Badge,
}

/// A made answer.
#[derive(Debug)]
pub(crate) struct Made {
    kind: HeaderValue,
    body: Bytes,
    hash: u128,
    at: UnixMillis,
}

impl Made {
    /// A body of a kind.
    pub(crate) fn new(kind: &'static str, body: impl Into<Bytes>, at: UnixMillis) -> Self {
        let body = body.into();
        Self { kind: HeaderValue::from_static(kind), hash: xxh3_128(&body), body, at }
    }
}

type Key = (View, question::Key, question::Mark);

/// The answers that lie ready, and what was seen over the day.
#[derive(Debug)]
pub(crate) struct Delays {
    made: Table<Key, Arc<Made>, Refusal>,
    makers: Makers,
    day: Day,
    stops: stops::Stops,
}

impl Default for Delays {
    fn default() -> Self {
        let limits = Limits { entries: KEPT_MAX, weight: KEPT_BYTES_MAX, age: Some(KEPT_FOR) };
        Self {
            made: Table::new(limits, |_, made| made.body.len()),
            makers: Makers::default(),
            day: Day::default(),
            stops: stops::Stops::default(),
        }
    }
}

impl Delays {
    /// What was seen over the day.
    pub(crate) fn day(&self) -> &Day {
        &self.day
    }

    /// What was seen over the day of what a question is about. Of one line at one stop nothing is remembered.
    fn past(&self, question: &Question, now: UnixMillis) -> day::Past {
        match (&question.stop, &question.route) {
            (None, _) => self.day.of(question, now),
            (Some(stop), None) => self.stops.ask(&question.feed, stop, now),
            (Some(_), Some(_)) => day::Past::default(),
        }
    }

    /// Lets go of what is old. `now` is the clock's monotonic time.
    pub(crate) fn sweep(&self, now: Duration) {
        self.made.sweep(now);
    }
}

/// The reply to a question in one of its forms, which `make` writes where nobody has asked before.
pub(crate) async fn reply(
    app: &App,
    question: Question,
    view: View,
    wants: &Wants,
    make: fn(&Answer) -> Made,
) -> Result<Response, Refusal> {
    let fresh_for = question.fresh_for(app).min(FRESH_FOR_MAX);
    let key = (view, question.key(), question.mark(app));
    let load = async || {
        let place = app.delays().makers.place().await?;
        let day = app.delays().past(&question, app.now());
        let now = app.now();
        let work = move || {
            let _place = place;
            make(&Answer::of(question, day, now))
        };
        Ok(Arc::new(aside(work).await?))
    };
    let made = app.delays().made.load(key, load).await?;
    let reply = Representation::hashed(made.kind.clone(), made.body.clone(), made.hash);
    let reply = reply.modified(Some(made.at), app.now()).fresh_for(fresh_for);
    Ok(reply.reply(wants, app).await)
}

/// Which line and stop the parameters of a request name.
pub(crate) fn asked(
    app: &App,
    feed: &str,
    parameters: &crate::http::Parameters,
) -> Result<Question, Refusal> {
    Question::of(app, feed, parameters.one("route"), parameters.one("stop"))
}

/// Whether an address asks for the form that stands in frames of others.
pub(crate) fn is_embedded(parameters: &crate::http::Parameters) -> bool {
    parameters.one("embed").is_some_and(|said| said != "0")
}
