//! Grouping of feeds into networks.

use std::{collections::HashMap, sync::Arc};

use super::NetworkFeedConfigs;
use crate::{
    catalog::{Feed, FeedCatalog, Network},
    feed_config::FeedConfig,
    feed_id::FeedId,
};

/// Removes feeds whose id occurred before.
pub(super) fn drop_duplicate_feed_ids(feeds: Vec<FeedConfig>) -> NetworkFeedConfigs {
    let mut unique: NetworkFeedConfigs = Vec::new();
    for config in feeds {
        if unique.iter().all(|known| known.id != config.id) {
            unique.push(Arc::new(config));
        }
    }
    unique
}

/// Groups realtime feeds with the schedule that they name. A feed without such a name, or whose named feed is missing
/// or belongs to another one itself, forms its own network.
pub(super) fn group_feeds_into_networks(configs: &NetworkFeedConfigs) -> Vec<NetworkFeedConfigs> {
    let schedule_of = |config: &Arc<FeedConfig>| {
        let named = config.static_feed.as_ref()?;
        let owner = configs.iter().find(|other| other.id == *named)?;
        (owner.static_feed.is_none() && owner.id != config.id).then(|| owner.id.clone())
    };
    let first = configs.iter().filter(|config| schedule_of(config).is_none());
    let mut groups: Vec<NetworkFeedConfigs> =
        first.map(|config| vec![Arc::clone(config)]).collect();
    let by_id: HashMap<FeedId, usize> =
        groups.iter().enumerate().map(|(at, members)| (members[0].id.clone(), at)).collect();
    for config in configs {
        if let Some(&at) = schedule_of(config).and_then(|owner| by_id.get(&owner)) {
            groups[at].push(Arc::clone(config));
        }
    }
    groups
}

/// Builds the catalog of networks, with feeds in the order of the configurations.
pub(super) fn build_catalog<'a, F: Iterator<Item = &'a Arc<Feed>>>(
    configs: &NetworkFeedConfigs,
    networks: impl Iterator<Item = (&'a Arc<Network>, F)>,
) -> FeedCatalog {
    let (mut by_id, mut all) = (HashMap::new(), Vec::new());
    for (network, feeds) in networks {
        all.push(Arc::clone(network));
        by_id.extend(feeds.map(|feed| (feed.id().clone(), Arc::clone(feed))));
    }
    let feeds = configs.iter().filter_map(|config| by_id.remove(&config.id));
    FeedCatalog::new(feeds.collect(), all)
}
