//! The catalog of feeds and networks: one immutable value, replaced as a whole when the operator changes it.
//!
//! Readers load the current catalog and hold no lock. Unchanged feeds and networks are shared between catalogs, so a
//! holder of an older catalog still reads current data.

mod feed;
mod gbfs_files;
mod network;

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;

pub use self::feed::{Feed, RejectedSchedule};
pub(crate) use self::feed::{ImmediatePollRequest, RestoredSnapshotInfo};
pub use self::gbfs_files::GbfsFeedFile;
pub(crate) use self::gbfs_files::prefix_with_language;
pub use self::network::Network;

/// The current catalog, shared by all readers.
pub(crate) type SharedCatalog = Arc<ArcSwap<FeedCatalog>>;

/// Feeds and networks with lookup tables.
#[derive(Debug, Default)]
pub(crate) struct FeedCatalog {
    /// Feeds in the order of the configuration.
    pub(crate) feeds: Vec<Arc<Feed>>,
    /// Networks in the order in which the configuration first names them.
    pub(crate) networks: Vec<Arc<Network>>,
    feed_by_id: HashMap<String, usize>,
    network_by_group: HashMap<u32, usize>,
    /// The network's index and the feed's number in it, by feed id.
    position_by_feed: HashMap<String, (usize, usize)>,
}

impl FeedCatalog {
    pub(crate) fn new(feeds: Vec<Arc<Feed>>, networks: Vec<Arc<Network>>) -> FeedCatalog {
        let feed_by_id = feeds.iter().enumerate().map(|(at, feed)| (feed.id().to_string(), at));
        let by_group = networks.iter().enumerate().map(|(at, network)| (network.room_group(), at));
        let positions = networks.iter().enumerate().flat_map(|(at, network)| {
            let numbered = network.feed_ids().iter().enumerate();
            numbered.map(move |(number, id)| (id.to_string(), (at, number)))
        });
        FeedCatalog {
            feed_by_id: feed_by_id.collect(),
            network_by_group: by_group.collect(),
            position_by_feed: positions.collect(),
            feeds,
            networks,
        }
    }

    pub(crate) fn find_feed(&self, id: &str) -> Option<&Arc<Feed>> {
        self.feeds.get(*self.feed_by_id.get(id)?)
    }

    /// Returns the network of a feed, and the feed's number in it.
    pub(crate) fn find_network_of_feed(&self, feed: &str) -> Option<(&Arc<Network>, usize)> {
        let &(network, number) = self.position_by_feed.get(feed)?;
        Some((self.networks.get(network)?, number))
    }

    /// Returns the network whose rooms have a group.
    pub(crate) fn find_network_by_room_group(&self, group: u32) -> Option<&Arc<Network>> {
        self.networks.get(*self.network_by_group.get(&group)?)
    }
}
