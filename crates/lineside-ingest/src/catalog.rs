//! Which feeds and networks there are: one immutable value, swapped as a whole when the operator changes them.
//!
//! Readers take the one of the moment and hold no lock. A feed or a network that stays is the same thing in the next
//! catalog, so whoever holds one of an older catalog reads what everybody reads.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;

use crate::{feed::Feed, network::Network};

/// The catalog of the moment, for all who read it.
pub(crate) type SharedCatalog = Arc<ArcSwap<FeedCatalog>>;

/// Feeds and networks, with the ways to find them.
#[derive(Debug, Default)]
pub(crate) struct FeedCatalog {
    /// In the order of the configuration.
    pub(crate) feeds: Vec<Arc<Feed>>,
    /// In the order in which the configuration first names them.
    pub(crate) networks: Vec<Arc<Network>>,
    feed_by_id: HashMap<String, usize>,
    network_by_group: HashMap<u32, usize>,
    /// The network of a feed, and the feed's number in it.
    place_by_feed: HashMap<String, (usize, usize)>,
}

impl FeedCatalog {
    pub(crate) fn new(feeds: Vec<Arc<Feed>>, networks: Vec<Arc<Network>>) -> FeedCatalog {
        let feed_by_id = feeds.iter().enumerate().map(|(at, feed)| (feed.id().to_string(), at));
        let by_group = networks.iter().enumerate().map(|(at, network)| (network.group(), at));
        let places = networks.iter().enumerate().flat_map(|(at, network)| {
            let numbered = network.feed_ids().iter().enumerate();
            numbered.map(move |(number, id)| (id.to_string(), (at, number)))
        });
        FeedCatalog {
            feed_by_id: feed_by_id.collect(),
            network_by_group: by_group.collect(),
            place_by_feed: places.collect(),
            feeds,
            networks,
        }
    }

    /// The feed of that id.
    pub(crate) fn find_feed(&self, id: &str) -> Option<&Arc<Feed>> {
        self.feeds.get(*self.feed_by_id.get(id)?)
    }

    /// The network of the feed with that id, and the feed's number in it.
    pub(crate) fn find_network_of_feed(&self, feed: &str) -> Option<(&Arc<Network>, usize)> {
        let &(network, number) = self.place_by_feed.get(feed)?;
        Some((self.networks.get(network)?, number))
    }

    /// The network whose rooms have that group.
    pub(crate) fn find_network_of_group(&self, group: u32) -> Option<&Arc<Network>> {
        self.networks.get(*self.network_by_group.get(&group)?)
    }
}
