//! What is remembered between questions: answers that were given at this state, and what those know who ask again.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lineside_hub::Epoch;
use lineside_ingest::siri::{Before, Service};
use lineside_sync::UnixMillis;
use lineside_sync::table::{Limits, Table};
use xxhash_rust::xxh3::xxh3_128;

use super::answer::{self, Known};
use super::asked::{Asked, Subject};
use super::form::Form;
use super::scene::Scene;
use crate::app::App;
use crate::http::Refusal;
use crate::http::aside::aside;

/// Answers that are kept for the next who asks the same at the same state.
const ANSWERS: Limits =
    Limits { entries: 10_000, weight: 64 << 20, age: Some(Duration::from_secs(60)) };
/// Who asks again, for as long as the Nordic form promises. What each knows takes some bytes a network.
const REQUESTORS: Limits =
    Limits { entries: 20_000, weight: 16 << 20, age: Some(Duration::from_secs(600)) };

/// A question at a state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct AnswerKey {
    subject: Subject,
    form: Form,
    asked: Arc<Asked>,
    scene: (UnixMillis, Vec<(Epoch, u64, UnixMillis)>),
}

/// Who asks what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Requestor {
    pub(super) id: RequestorId,
    pub(super) service: Service,
    /// Another question is another requestor's: what was passed over for the one may be wanted for the other.
    pub(super) asked: Asked,
}

/// What a client calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RequestorId {
    /// `requestorId` of an address: a name that nobody else uses.
    Name(String),
    /// `RequestorRef` of a posted request. Programs have the same one wherever they run, so the client's address is part
    /// of it.
    Posted { name: String, client: IpAddr, form: Form },
}

impl RequestorId {
    fn len(&self) -> usize {
        match self {
            Self::Name(name) | Self::Posted { name, .. } => name.len(),
        }
    }
}

impl Requestor {
    /// The requestor of a question. How many records are wanted at once and what the request is called may differ from
    /// request to request.
    pub(super) fn new(id: RequestorId, service: Service, asked: &Asked) -> Self {
        let asked = Asked { most: None, message_ref: None, ..asked.clone() };
        Self { id, service, asked }
    }
}

/// An answer, ready to be sent.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) bytes: Bytes,
    pub(super) hash: u128,
    pub(super) is_fault: bool,
}

/// Kept answers and known requestors.
pub(crate) struct Desk {
    answers: Table<Arc<AnswerKey>, Answer, Refusal>,
    requestors: Table<Arc<Requestor>, Known>,
}

impl Default for Desk {
    fn default() -> Self {
        const OVERHEAD: usize = 256;
        Self {
            answers: Table::new(ANSWERS, |key, answer| {
                answer.bytes.len()
                    + key.asked.bytes()
                    + key.scene.1.len() * size_of::<(Epoch, u64, UnixMillis)>()
                    + OVERHEAD
            }),
            requestors: Table::new(REQUESTORS, |requestor, known| {
                requestor.id.len()
                    + requestor.asked.bytes()
                    + known.len() * size_of::<(Epoch, Before)>()
                    + OVERHEAD
            }),
        }
    }
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desk").field("requestors", &self.requestors.len()).finish_non_exhaustive()
    }
}

impl Desk {
    /// Lets go of what is old. `now` is the clock's monotonic time.
    pub(crate) fn sweep(&self, now: Duration) {
        self.answers.sweep(now);
        self.requestors.sweep(now);
    }

    /// The answer to a question, made once for all who ask it at this state, away from the threads that serve sockets.
    pub(super) async fn answer(
        &self,
        app: &App,
        scene: &Scene,
        subject: Subject,
        asked: Asked,
        form: Form,
    ) -> Result<Answer, Refusal> {
        let asked = Arc::new(asked);
        let key = AnswerKey { subject, form, asked: Arc::clone(&asked), scene: scene.key() };
        let make = async || {
            let place = app.admission().admit_maker().ok_or(Refusal::Busy)?;
            let scene = scene.clone();
            aside(move || {
                let _place = place;
                let made = answer::message(&scene, subject, &asked);
                let is_fault = made.is_err();
                let (Ok(message) | Err(message)) = made;
                let bytes = form.encode(&message);
                Answer { hash: xxh3_128(&bytes), bytes, is_fault }
            })
            .await
        };
        self.answers.load(Arc::new(key), make).await
    }

    /// What one who asks again knows; nothing the first time.
    pub(super) fn known(&self, requestor: &Arc<Requestor>) -> Known {
        self.requestors.pin().get(requestor).cloned().unwrap_or_default()
    }

    /// Remembers what one who asks again has been told.
    pub(super) fn remember(&self, requestor: Arc<Requestor>, known: Known) {
        self.requestors.insert(requestor, known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_much_is_not_remembered_for_little() {
        let desk = Desk::default();
        let names = |n: usize| (0..100).map(|at| format!("{n}-{at}-{}", "x".repeat(300))).collect();
        for n in 0..1_000 {
            let asked = Asked { excluded: names(n), ..Asked::default() };
            let service = Service::VehicleMonitoring;
            let requestor = Requestor::new(RequestorId::Name("me".to_owned()), service, &asked);
            desk.remember(Arc::new(requestor), Known::new());
        }
        // A thousand questions of 30 KB and more.
        assert!((100..600).contains(&desk.requestors.len()), "{}", desk.requestors.len());
    }
}
