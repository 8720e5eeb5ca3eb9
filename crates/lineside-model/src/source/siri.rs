//! Settings for requests to a SIRI producer and for the interpretation of its answers.

use std::fmt;

use super::Secret;
use super::SiriIdMapping;

/// Defines enumerations with their names in the configuration.
macro_rules! choices {
    ($($(#[$about:meta])* pub enum $Name:ident { $($(#[$meaning:meta])* $Choice:ident = $word:literal,)+ })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Name { $($(#[$meaning])* $Choice,)+ }

        impl $Name {
            /// All variants.
            pub const ALL: &[$Name] = &[$($Name::$Choice,)+];

            /// Returns the name in the configuration.
            pub fn as_str(self) -> &'static str {
                match self { $($Name::$Choice => $word,)+ }
            }

            /// Parses the configured name.
            pub fn parse(word: &str) -> Option<$Name> {
                $Name::ALL.iter().copied().find(|it| it.as_str() == word)
            }
        }

        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )+ };
}

choices! {
    /// A service of SIRI.
    pub enum SiriService {
        /// Estimated timetables: realtime data of journeys.
        Timetables = "et",
        /// Vehicle monitoring: positions of vehicles.
        Vehicles = "vm",
        /// Situation exchange: information for passengers.
        Situations = "sx",
        /// Stop monitoring: calls at stops.
        Stops = "sm",
    }

    /// The kind of requests to a producer.
    pub enum SiriMode {
        /// POST with a SIRI request.
        Request = "request",
        /// GET of a URL that states the request.
        Lite = "lite",
        /// One subscription, after which the producer delivers by itself.
        Subscribe = "subscribe",
    }

    /// The content of an answer.
    pub enum SiriAnswers {
        /// All data: items that an answer does not contain are removed.
        Whole = "whole",
        /// Changes since the preceding answer.
        Changes = "changes",
    }

    /// The envelope of requests.
    pub enum SiriEnvelope {
        /// Plain XML without an envelope.
        Xml = "xml",
        /// SOAP, as in the French profile.
        Soap = "soap",
    }
}

/// The SIRI settings of a feed.
#[derive(Clone, Debug, PartialEq)]
pub struct SiriSourceSettings {
    /// The requested services.
    pub services: Vec<SiriService>,
    /// The kind of requests.
    pub mode: SiriMode,
    /// The requestor reference.
    pub requestor_ref: Option<Secret>,
    /// The content of answers, if not the default: changes for subscriptions and for SIRI Lite with a requestor
    /// reference, else all data.
    pub answers: Option<SiriAnswers>,
    /// The envelope of requests.
    pub envelope: SiriEnvelope,
    /// The mapping of ids to those of the schedule.
    pub ids: SiriIdMapping,
    /// The stops for stop monitoring.
    pub stops: Vec<String>,
}

impl Default for SiriSourceSettings {
    /// Returns the settings of a URL that answers a plain GET, with the schedule's ids.
    fn default() -> SiriSourceSettings {
        SiriSourceSettings {
            services: vec![SiriService::Timetables],
            mode: SiriMode::Lite,
            requestor_ref: None,
            answers: None,
            envelope: SiriEnvelope::Xml,
            ids: SiriIdMapping::Same,
            stops: Vec::new(),
        }
    }
}

impl SiriSourceSettings {
    /// Returns true if answers contain changes since the preceding answer instead of all data.
    pub fn is_limited_to_changes(&self) -> bool {
        match (self.mode, self.answers) {
            (SiriMode::Subscribe, _) => true,
            (_, Some(answers)) => answers == SiriAnswers::Changes,
            (SiriMode::Request, None) => false,
            (SiriMode::Lite, None) => self.requestor_ref.is_some(),
        }
    }

    /// Returns true if both settings lead to the same requests.
    pub fn has_same_requests(&self, other: &SiriSourceSettings) -> bool {
        let ids = SiriIdMapping::Same;
        SiriSourceSettings { ids: ids.clone(), ..self.clone() }
            == SiriSourceSettings { ids, ..other.clone() }
    }
}
