//! How a producer of SIRI is asked, and what of its answers is believed.

use std::fmt;

use super::Secret;
use super::SiriIds;

/// Names of choices, as a configuration has them.
macro_rules! choices {
    ($($(#[$about:meta])* pub enum $Name:ident { $($(#[$meaning:meta])* $Choice:ident = $word:literal,)+ })+) => { $(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $Name { $($(#[$meaning])* $Choice,)+ }

        impl $Name {
            /// All of them.
            pub const ALL: &[$Name] = &[$($Name::$Choice,)+];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $($Name::$Choice => $word,)+ }
            }

            /// What the word means.
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
        /// Estimated timetables: how journeys run.
        Timetables = "et",
        /// Vehicle monitoring: where vehicles are.
        Vehicles = "vm",
        /// Situation exchange: what passengers should know.
        Situations = "sx",
        /// Stop monitoring: what calls at stops.
        Stops = "sm",
    }

    /// How a producer is asked.
    pub enum SiriMode {
        /// By POST, with a request of SIRI.
        Request = "request",
        /// By GET, at an address that says what is wanted.
        Lite = "lite",
        /// Once: from then on it brings what is new by itself.
        Subscribe = "subscribe",
    }

    /// What one answer is of all that there is.
    pub enum SiriAnswers {
        /// All of it: what an answer does not hold is gone.
        Whole = "whole",
        /// What changed since the answer before.
        Changes = "changes",
    }

    /// What requests are sent in.
    pub enum SiriEnvelope {
        /// Nothing: plain XML.
        Xml = "xml",
        /// SOAP, as the French profile has it.
        Soap = "soap",
    }
}

/// The part of a feed's configuration that only SIRI has.
#[derive(Clone, Debug, PartialEq)]
pub struct SiriSource {
    /// What it is asked for.
    pub services: Vec<SiriService>,
    /// How.
    pub mode: SiriMode,
    /// Who asks.
    pub requestor_ref: Option<Secret>,
    /// What answers hold, if that is not the usual: changes from an address of SIRI Lite that is told who asks and from
    /// subscriptions, else all.
    pub answers: Option<SiriAnswers>,
    /// What requests are sent in.
    pub envelope: SiriEnvelope,
    /// What its ids are in the schedule.
    pub ids: SiriIds,
    /// The stops that stop monitoring asks about.
    pub stops: Vec<String>,
}

impl Default for SiriSource {
    /// An address that answers a plain GET, with the schedule's ids.
    fn default() -> SiriSource {
        SiriSource {
            services: vec![SiriService::Timetables],
            mode: SiriMode::Lite,
            requestor_ref: None,
            answers: None,
            envelope: SiriEnvelope::Xml,
            ids: SiriIds::Same,
            stops: Vec::new(),
        }
    }
}

impl SiriSource {
    /// Whether answers hold what changed since the answer before, and not all that there is.
    pub(crate) fn answers_changes(&self) -> bool {
        match (self.mode, self.answers) {
            (SiriMode::Subscribe, _) => true,
            (_, Some(answers)) => answers == SiriAnswers::Changes,
            (SiriMode::Request, None) => false,
            (SiriMode::Lite, None) => self.requestor_ref.is_some(),
        }
    }

    /// Whether it is asked the same as `other` is.
    pub(crate) fn has_same_requests(&self, other: &SiriSource) -> bool {
        let ids = SiriIds::Same;
        SiriSource { ids: ids.clone(), ..self.clone() } == SiriSource { ids, ..other.clone() }
    }
}
