//! Secrets of a form that an admin has not yet applied. They are stored on the server, so that a page does not have to
//! contain them for the browser to send them again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use lineside_config::secrets::random_secret;
use lineside_model::Secret;
use parking_lot::Mutex;

/// Longest time between showing a form and sending it again.
const DRAFT_LIFETIME: Duration = Duration::from_secs(3_600);
/// Largest number of drafts; one more evicts the oldest.
const DRAFTS_MAX: usize = 64;

/// Secrets by the names of their form fields.
pub type FormSecrets = BTreeMap<String, Secret>;

/// The stored drafts, oldest first.
#[derive(Debug, Default)]
pub(super) struct FormSecretsStore(Mutex<VecDeque<StoredFormSecrets>>);

#[derive(Debug)]
struct StoredFormSecrets {
    id: Secret,
    until: Duration,
    draft: FormSecrets,
}

impl FormSecretsStore {
    /// Stores the secrets of a form; returns the id to find them by.
    pub(super) fn store_form_secrets(&self, draft: FormSecrets, now: Duration) -> String {
        let id = random_secret();
        let mut drafts = self.0.lock();
        drafts.retain(|stored| stored.until > now);
        if drafts.len() >= DRAFTS_MAX {
            drafts.pop_front();
        }
        drafts.push_back(StoredFormSecrets {
            id: Secret::new(id.clone()),
            until: now + DRAFT_LIFETIME,
            draft,
        });
        id
    }

    /// Returns the secrets of a form, unless they have expired.
    pub(super) fn find_form_secrets(&self, id: &str, now: Duration) -> Option<FormSecrets> {
        let drafts = self.0.lock();
        let found = drafts.iter().find(|stored| stored.id.reveal() == id && stored.until > now);
        found.map(|stored| stored.draft.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> FormSecrets {
        FormSecrets::from([("basic.password".to_owned(), Secret::new(text.to_owned()))])
    }

    #[test]
    fn a_draft_is_found_until_it_expires() {
        let (drafts, start) = (FormSecretsStore::default(), Duration::from_secs(5));
        let id = drafts.store_form_secrets(draft("hunter2"), start);
        assert_eq!(drafts.find_form_secrets(&id, start), Some(draft("hunter2")));
        assert_eq!(drafts.find_form_secrets("", start), None);
        assert_eq!(drafts.find_form_secrets(&id, start + DRAFT_LIFETIME), None);
        assert!(!format!("{drafts:?}").contains("hunter2") && !format!("{drafts:?}").contains(&id));
    }

    #[test]
    fn the_oldest_draft_is_dropped_beyond_the_limit() {
        let (drafts, now) = (FormSecretsStore::default(), Duration::ZERO);
        let ids: Vec<String> =
            (0..=DRAFTS_MAX).map(|_| drafts.store_form_secrets(draft("x"), now)).collect();
        assert_eq!(drafts.find_form_secrets(&ids[0], now), None);
        assert!(ids[1..].iter().all(|id| drafts.find_form_secrets(id, now).is_some()));
    }
}
