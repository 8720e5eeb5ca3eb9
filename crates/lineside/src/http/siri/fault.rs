//! Why a question is not answered, as SIRI says it.

use http::StatusCode;
use lineside_formats::siri::ErrorCondition;

/// A refusal in SIRI's terms. The names are those of the schema; a text says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiriFault {
    kind: &'static str,
    text: String,
}

impl SiriFault {
    /// A parameter or element that cannot be read.
    pub(super) fn invalid_value(text: impl Into<String>) -> Self {
        Self { kind: "OtherError", text: text.into() }
    }

    /// A reference to nothing, or to several things.
    pub(super) fn bad_reference(text: impl Into<String>) -> Self {
        Self { kind: "InvalidDataReferencesError", text: text.into() }
    }

    /// Something of SIRI that is not offered.
    pub(super) fn not_offered(text: impl Into<String>) -> Self {
        Self { kind: "CapabilityNotSupportedError", text: text.into() }
    }

    /// More than one answer may hold.
    pub(super) fn too_many_records(text: impl Into<String>) -> Self {
        Self { kind: "AllowedResourceUsageExceededError", text: text.into() }
    }

    /// Something that a stranger may not have us do.
    pub(super) fn not_allowed(text: impl Into<String>) -> Self {
        Self { kind: "AccessNotAllowedError", text: text.into() }
    }

    /// A subscription that there is not.
    pub(super) fn unknown_subscription(text: impl Into<String>) -> Self {
        Self { kind: "UnknownSubscriptionError", text: text.into() }
    }

    /// The HTTP status of an answer that is this and nothing else.
    pub(super) const STATUS: StatusCode = StatusCode::BAD_REQUEST;

    pub(super) fn fault_text(&self) -> &str {
        &self.text
    }

    /// The same as an element.
    pub(super) fn error_condition(&self) -> ErrorCondition {
        ErrorCondition {
            kind: Some(self.kind.into()),
            text: Some(self.text.as_str().into()),
            description: Some(self.text.as_str().into()),
            ..ErrorCondition::default()
        }
    }
}
