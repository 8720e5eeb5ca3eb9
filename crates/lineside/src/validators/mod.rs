//! What the operator's own validators say of schedules, beside what we say.
//!
//! `watch` looks at all schedules once a second and has each new version wait in a bounded queue, once for each validator of
//! its format; one program runs at a time, in `running`. What comes of it is an [`Opinion`], which is kept as reports are and
//! shown `beside` ours. Nobody else waits for it, and it is told to nobody.

mod beside;
mod opinion;
mod running;
mod watch;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_ingest::FeedId;
use parking_lot::Mutex;
use smol_str::SmolStr;

use crate::config::Validator;
use crate::queue::{Figures, Queue};

pub(crate) use self::beside::{Beside, Compared, beside};
#[cfg(test)]
pub(crate) use self::opinion::Failed;
pub(crate) use self::opinion::{Body, Opinion, Said};
pub(crate) use self::watch::watch;

/// The latest opinions on each feed, by the validators' names.
type ByFeed = HashMap<String, Arc<[Arc<Opinion>]>>;

/// A feed, and the name of a validator that its version is to be given to: the one that is served when its turn comes.
type Key = (FeedId, SmolStr);

/// The latest opinions on all feeds, and the queue of those to come.
#[derive(Debug, Default)]
pub(crate) struct Validators {
    by_feed: ArcSwap<ByFeed>,
    /// Held by whoever changes what is known, so that nothing is lost.
    changing: Mutex<()>,
    queue: Queue<Key, Arc<Validator>>,
}

impl Validators {
    /// The latest opinions on a feed, by name.
    pub(crate) fn of(&self, feed: &str) -> Arc<[Arc<Opinion>]> {
        self.by_feed.load().get(feed).cloned().unwrap_or_default()
    }

    /// The latest opinion of one of them on a feed.
    fn find(&self, feed: &str, validator: &str) -> Option<Arc<Opinion>> {
        self.of(feed).iter().find(|opinion| opinion.validator == validator).cloned()
    }

    /// What waits and runs, and what came of it so far.
    pub(crate) fn figures(&self) -> Figures {
        self.queue.figures()
    }

    /// Whether a feed's newest version waits for a validator, or it looks at one right now.
    fn is_pending(&self, feed: &str, validator: &str) -> bool {
        self.queue.standing(|(id, name)| id.as_str() == feed && name == validator).is_some()
    }

    /// Makes it the latest of its validator.
    fn put(&self, feed: &str, opinion: Opinion) {
        let _changing = self.changing.lock();
        let mut opinions = self.of(feed).to_vec();
        opinions.retain(|other| other.validator != opinion.validator);
        opinions.push(Arc::new(opinion));
        opinions.sort_by(|a, b| a.validator.cmp(&b.validator));
        let mut next = ByFeed::clone(&self.by_feed.load());
        next.insert(feed.to_owned(), opinions.into());
        self.by_feed.store(Arc::new(next));
    }

    /// Lets go of what is known of feeds and validators that are gone.
    fn retain(&self, is_there: impl Fn(&str, &str) -> bool) {
        self.queue.retain(|(feed, validator)| is_there(feed.as_str(), validator));
        let _changing = self.changing.lock();
        let before = self.by_feed.load_full();
        let stays = |(feed, opinions): (&String, &Arc<[Arc<Opinion>]>)| {
            opinions.iter().all(|opinion| is_there(feed, &opinion.validator))
        };
        if before.iter().all(stays) {
            return;
        }
        let mut next = ByFeed::clone(&before);
        next.retain(|feed, opinions| {
            let stay = opinions.iter().filter(|opinion| is_there(feed, &opinion.validator));
            *opinions = stay.cloned().collect();
            !opinions.is_empty()
        });
        self.by_feed.store(Arc::new(next));
    }
}

#[cfg(test)]
mod tests {
    use super::opinion::tests::opinion;
    use super::*;

    #[test]
    fn the_latest_of_each_validator_is_known_until_it_or_the_feed_is_gone() {
        let known = Validators::default();
        known.put("city", opinion("b", "1"));
        known.put("city", opinion("a", "1"));
        known.put("city", opinion("b", "2"));
        known.put("town", opinion("a", "3"));
        let names = |feed: &str| {
            let opinions = known.of(feed);
            let told = |it: &Arc<Opinion>| format!("{} {}", it.validator, it.version);
            opinions.iter().map(told).collect::<Vec<_>>()
        };
        assert_eq!(names("city"), ["a 1", "b 2"]);
        assert_eq!(known.find("city", "b").unwrap().version, "2");
        known.retain(|feed, validator| feed == "city" && validator == "b");
        assert_eq!(names("city"), ["b 2"]);
        assert!(names("town").is_empty() && !known.by_feed.load().contains_key("town"));
    }
}
