//! Secrets that an admin has typed into a form and not yet applied. They stay here, so that no page has to show them for the
//! browser to send them again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lineside_ingest::Secret;
use parking_lot::Mutex;

use super::secrets::random_secret;

/// How long a form may be looked at before it is sent again.
const KEPT_FOR: Duration = Duration::from_secs(3_600);
/// Forms at once; one more lets go of the oldest.
const DRAFTS_MAX: usize = 64;

/// Secrets by the names of their fields.
pub(crate) type Draft = BTreeMap<String, Secret>;

/// In the order in which they came.
#[derive(Debug, Default)]
pub(super) struct SecretDrafts(Mutex<VecDeque<StoredDraft>>);

#[derive(Debug)]
struct StoredDraft {
    id: Secret,
    until: Duration,
    draft: Draft,
}

impl SecretDrafts {
    /// Keeps the secrets of a form; gives the name that they are found by.
    pub(super) fn store_draft(&self, draft: Draft, now: Duration) -> String {
        let id = random_secret();
        let mut drafts = self.0.lock();
        drafts.retain(|kept| kept.until > now);
        if drafts.len() >= DRAFTS_MAX {
            drafts.pop_front();
        }
        drafts.push_back(StoredDraft { id: Secret::new(id.clone()), until: now + KEPT_FOR, draft });
        id
    }

    /// The secrets of a form, unless it is too long ago.
    pub(super) fn find_draft(&self, id: &str, now: Duration) -> Option<Draft> {
        let drafts = self.0.lock();
        let found = drafts.iter().find(|kept| kept.id.reveal() == id && kept.until > now);
        found.map(|kept| kept.draft.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> Draft {
        Draft::from([("basic.password".to_owned(), Secret::new(text.to_owned()))])
    }

    #[test]
    fn what_was_typed_is_found_again_for_a_while() {
        let (drafts, start) = (SecretDrafts::default(), Duration::from_secs(5));
        let id = drafts.store_draft(draft("hunter2"), start);
        assert_eq!(drafts.find_draft(&id, start), Some(draft("hunter2")));
        assert_eq!(drafts.find_draft("", start), None);
        assert_eq!(drafts.find_draft(&id, start + KEPT_FOR), None);
        assert!(!format!("{drafts:?}").contains("hunter2") && !format!("{drafts:?}").contains(&id));
    }

    #[test]
    fn one_too_many_lets_go_of_the_oldest() {
        let (drafts, now) = (SecretDrafts::default(), Duration::ZERO);
        let ids: Vec<String> =
            (0..=DRAFTS_MAX).map(|_| drafts.store_draft(draft("x"), now)).collect();
        assert_eq!(drafts.find_draft(&ids[0], now), None);
        assert!(ids[1..].iter().all(|id| drafts.find_draft(id, now).is_some()));
    }
}
