//! SIRI faults: the reasons why a query is refused.

use http::StatusCode;
use lineside_formats::siri::ErrorCondition;

/// A refusal with an error name of the SIRI schema, and a text that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiriFault {
    kind: &'static str,
    text: String,
}

impl SiriFault {
    /// A parameter or element is invalid.
    pub(super) fn invalid_value(text: impl Into<String>) -> Self {
        Self { kind: "OtherError", text: text.into() }
    }

    /// A reference is unknown or ambiguous.
    pub(super) fn bad_reference(text: impl Into<String>) -> Self {
        Self { kind: "InvalidDataReferencesError", text: text.into() }
    }

    /// A part of SIRI is not implemented.
    pub(super) fn not_offered(text: impl Into<String>) -> Self {
        Self { kind: "CapabilityNotSupportedError", text: text.into() }
    }

    /// The reply would exceed its limit.
    pub(super) fn too_many_records(text: impl Into<String>) -> Self {
        Self { kind: "AllowedResourceUsageExceededError", text: text.into() }
    }

    /// The client may not do this.
    pub(super) fn not_allowed(text: impl Into<String>) -> Self {
        Self { kind: "AccessNotAllowedError", text: text.into() }
    }

    /// There is no such subscription.
    pub(super) fn unknown_subscription(text: impl Into<String>) -> Self {
        Self { kind: "UnknownSubscriptionError", text: text.into() }
    }

    /// HTTP status of a reply that consists of a fault.
    pub(super) const STATUS: StatusCode = StatusCode::BAD_REQUEST;

    pub(super) fn fault_text(&self) -> &str {
        &self.text
    }

    /// Converts the fault to its element.
    pub(super) fn error_condition(&self) -> ErrorCondition {
        ErrorCondition {
            kind: Some(self.kind.into()),
            text: Some(self.text.as_str().into()),
            description: Some(self.text.as_str().into()),
            ..ErrorCondition::default()
        }
    }
}
