//! The answer to a subscription request.

use lineside_formats::siri::{MessagePayload, SiriMessage, SiriTime, SubscriptionResponse};

use crate::fetch_failure::{FailureCode, FetchError};

/// Maximum number of reported refusals per answer: no request contains more subscriptions.
const REFUSALS_MAX: usize = 1_010;

/// The terms of an accepted subscription.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SubscriptionAgreement {
    /// The end of the subscription, by the producer's clock.
    pub(super) valid_until: Option<SiriTime>,
    /// The start time of the producer's service, by its clock.
    pub(super) started: Option<SiriTime>,
    /// Refused parts with the producer's unredacted reasons. Bounded: [`REFUSALS_MAX`].
    pub(super) refused: Vec<String>,
}

/// The reason why there is no subscription.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SubscriptionRefusal {
    /// The producer refuses, with this unredacted text.
    Refused(String),
    /// The message is not an answer to a subscription request.
    NoAnswer,
}

impl SubscriptionRefusal {
    /// Converts to a failure; `shown` redacts secrets in the producer's text.
    pub(super) fn to_failure(&self, shown: impl Fn(&str) -> String) -> FetchError {
        match self {
            SubscriptionRefusal::Refused(reason_text) => {
                let detail =
                    format!("the producer refused the subscription: {}", shown(reason_text));
                FetchError::new(FailureCode::Refused, detail)
            }
            SubscriptionRefusal::NoAnswer => {
                let detail = "the response is SIRI, but not a SubscriptionResponse";
                FetchError::new(FailureCode::Decode, detail)
            }
        }
    }
}

impl SubscriptionAgreement {
    /// # Errors
    /// Returns an error if everything is refused, or if the message is not an answer to a subscription request.
    pub(super) fn from_message(
        message: &SiriMessage,
    ) -> Result<SubscriptionAgreement, SubscriptionRefusal> {
        let mut agreement = None;
        for payload in &message.payloads {
            match payload {
                MessagePayload::SubscriptionResponse(response) => {
                    let known = agreement.get_or_insert_with(SubscriptionAgreement::default);
                    known
                        .add_subscription_response(response)
                        .map_err(SubscriptionRefusal::Refused)?;
                }
                MessagePayload::Fault(fault) => {
                    let reason_text = fault.reason.as_deref().unwrap_or("a fault without a reason");
                    return Err(SubscriptionRefusal::Refused(reason_text.to_owned()));
                }
                _ => {}
            }
        }
        agreement.ok_or(SubscriptionRefusal::NoAnswer)
    }

    /// # Errors
    /// Returns the producer's reason if everything is refused.
    fn add_subscription_response(&mut self, response: &SubscriptionResponse) -> Result<(), String> {
        let mut refused = Vec::new();
        for status in &response.response_statuses {
            if status.status == Some(false) {
                let condition = status.error_condition.as_ref();
                let reason_text =
                    condition.and_then(|it| it.text.as_deref().or(it.description.as_deref()));
                refused.push((status, reason_text.unwrap_or("the producer gives no reason")));
            } else if let Some(until) = status.valid_until {
                self.valid_until = Some(self.valid_until.map_or(until, |known| known.min(until)));
            }
        }
        if let Some((_, reason_text)) = refused.first()
            && refused.len() == response.response_statuses.len()
        {
            return Err((*reason_text).to_owned());
        }
        let n_left = REFUSALS_MAX - self.refused.len();
        self.refused.extend(refused.into_iter().take(n_left).map(|(status, reason_text)| {
            match status.subscription_ref.as_deref() {
                Some(name) => format!("{name}: {reason_text}"),
                None => reason_text.to_owned(),
            }
        }));
        self.started = response.service_started_time.or(self.started);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use jiff::tz::TimeZone;
    use lineside_formats::siri::{self, MessageLimits};

    use super::*;

    fn agreement(inside: &str) -> Result<SubscriptionAgreement, SubscriptionRefusal> {
        let body = format!("<Siri xmlns=\"http://www.siri.org.uk/siri\">{inside}</Siri>");
        let decoded =
            siri::decode_siri_message(body.as_bytes(), &TimeZone::UTC, &MessageLimits::default());
        SubscriptionAgreement::from_message(&decoded.unwrap().0)
    }

    fn response(
        statuses: &[&str],
        inside: &str,
    ) -> Result<SubscriptionAgreement, SubscriptionRefusal> {
        let statuses: String =
            statuses.iter().map(|it| format!("<ResponseStatus>{it}</ResponseStatus>")).collect();
        agreement(&format!("<SubscriptionResponse>{statuses}{inside}</SubscriptionResponse>"))
    }

    const REFUSED: &str = "<SubscriptionRef>a-et</SubscriptionRef><Status>false</Status>\
                           <ErrorCondition><OtherError><ErrorText>Full</ErrorText></OtherError>\
                           </ErrorCondition>";

    #[test]
    fn an_agreement_and_a_refusal_are_distinguished() {
        assert_eq!(
            response(&["<Status>true</Status>"], "").unwrap(),
            SubscriptionAgreement::default()
        );
        let refused = response(&[REFUSED, REFUSED], "").unwrap_err();
        let failure = refused.to_failure(str::to_uppercase);
        assert_eq!(failure.code, FailureCode::Refused);
        assert_eq!(failure.detail, "the producer refused the subscription: FULL");
        let failure = agreement("").unwrap_err().to_failure(str::to_uppercase);
        assert_eq!(failure.code, FailureCode::Decode);
    }

    #[test]
    fn the_accepted_parts_count_if_a_part_is_refused() {
        let until = |at: &str| format!("<Status>true</Status><ValidUntil>{at}</ValidUntil>");
        let (later, sooner) = (until("2026-11-21T14:00:00Z"), until("2026-11-21T13:00:00Z"));
        let started = "<ServiceStartedTime>2026-11-20T08:00:00Z</ServiceStartedTime>";
        let agreement = response(&[&later, REFUSED, &sooner], started).unwrap();
        assert_eq!(agreement.refused, ["a-et: Full"]);
        let hours = |time: Option<SiriTime>| (time.unwrap().as_seconds() - 1_795_262_400) / 3_600;
        assert_eq!((hours(agreement.valid_until), hours(agreement.started)), (1, -28));
    }
}
