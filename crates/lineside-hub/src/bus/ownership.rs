//! The assignment of networks to nodes.
//!
//! A roster is a number and the current nodes with their weights. The maintainer of the list of nodes issues the
//! numbers, each only once and rising: whenever a node joins, leaves, returns without its data, or changes its weight.
//! Two nodes may know different rosters for a while. The number, as the term of the networks owned by it, tells which
//! node is right.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use lineside_sync::hashring::{HashRing, HashRingError, HashRingMember};

/// The nodes of the cluster at one time.
#[derive(Debug)]
pub struct NodeRoster {
    number: u64,
    ring: HashRing,
}

impl NodeRoster {
    /// Returns the roster's number; 0 is the state before the first roster.
    pub fn roster_number(&self) -> u64 {
        self.number
    }

    /// Returns the owner of a network; `None` if no node has weight. One hash and a binary search.
    pub fn find_owner_of_network(&self, network: &str) -> Option<&str> {
        self.ring.find_owner(network.as_bytes())
    }

    /// Returns true if the node owns the network.
    pub fn is_owner(&self, network: &str, node: &str) -> bool {
        self.find_owner_of_network(network) == Some(node)
    }

    /// Returns the nodes, by name, with their weights.
    pub fn member_nodes(&self) -> &[HashRingMember] {
        self.ring.members()
    }

    /// Returns the share of all networks that a node may expect to own, from 0 to 1.
    pub fn expected_network_share(&self, node: &str) -> f64 {
        self.ring.owned_key_share(node)
    }
}

/// The latest roster known to this node. Reading it costs one load.
///
/// ```
/// use lineside_hub::bus::NetworkOwnership;
/// use lineside_sync::hashring::HashRingMember;
///
/// let mut nodes = vec![HashRingMember::new("a", 1), HashRingMember::new("b", 1)];
/// let ownership = NetworkOwnership::new(1, nodes.clone())?;
/// let owner = ownership.load_roster().find_owner_of_network("oslo").map(str::to_owned);
/// // That node leaves: its networks go to the others.
/// nodes.retain(|node| Some(&*node.name) != owner.as_deref());
/// ownership.replace_roster_if_newer(2, nodes)?;
/// assert!(ownership.load_roster().find_owner_of_network("oslo").is_some_and(|next| Some(next) != owner.as_deref()));
/// # Ok::<(), lineside_sync::hashring::HashRingError>(())
/// ```
pub struct NetworkOwnership(ArcSwap<NodeRoster>);

impl NetworkOwnership {
    /// Creates an ownership with a first roster; with number 0 and no nodes, no network has an owner yet.
    ///
    /// # Errors
    /// Returns the errors of [`replace_roster_if_newer`](Self::replace_roster_if_newer).
    pub fn new(
        number: u64,
        nodes: impl IntoIterator<Item = HashRingMember>,
    ) -> Result<Arc<Self>, HashRingError> {
        let roster = NodeRoster { number, ring: HashRing::new(nodes)? };
        Ok(Arc::new(Self(ArcSwap::from_pointee(roster))))
    }

    /// Replaces the roster if `number` is higher than that of the current one; returns true if it was. A leaving node
    /// has weight 0.
    ///
    /// # Errors
    /// Returns an error if two nodes have the same name, or if the weights are too large together.
    pub fn replace_roster_if_newer(
        &self,
        number: u64,
        nodes: impl IntoIterator<Item = HashRingMember>,
    ) -> Result<bool, HashRingError> {
        let next = Arc::new(NodeRoster { number, ring: HashRing::new(nodes)? });
        let previous =
            self.0.rcu(|now| if now.number < number { next.clone() } else { now.clone() });
        Ok(previous.number < number)
    }

    /// Returns the current roster. Borrow from the guard, and do not hold it for long.
    pub fn load_roster(&self) -> arc_swap::Guard<Arc<NodeRoster>> {
        self.0.load()
    }
}

impl fmt::Debug for NetworkOwnership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NetworkOwnership").field(&self.load_roster()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NETWORKS: u32 = 1_000;

    fn nodes(weights: &[(&str, u16)]) -> Vec<HashRingMember> {
        weights.iter().map(|(name, weight)| HashRingMember::new(name, *weight)).collect()
    }

    fn owners(ownership: &NetworkOwnership) -> Vec<Option<String>> {
        let roster = ownership.load_roster();
        (0..NETWORKS)
            .map(|n| roster.find_owner_of_network(&format!("network {n}")).map(str::to_owned))
            .collect()
    }

    #[test]
    fn when_a_node_leaves_only_its_networks_move() {
        let ownership = NetworkOwnership::new(0, []).expect("no nodes");
        assert!(owners(&ownership).iter().all(Option::is_none));
        assert_eq!(
            ownership.replace_roster_if_newer(1, nodes(&[("a", 1), ("b", 1), ("c", 1)])),
            Ok(true)
        );
        let before = owners(&ownership);
        assert_eq!(
            ownership.replace_roster_if_newer(2, nodes(&[("a", 1), ("b", 0), ("c", 1)])),
            Ok(true)
        );
        let after = owners(&ownership);
        assert!(!after.contains(&Some("b".into())));
        for (before, after) in before.iter().zip(&after) {
            assert!(before == after || before.as_deref() == Some("b"));
        }
        assert!(!ownership.load_roster().is_owner("network 1", "b"));
    }

    #[test]
    fn a_node_owns_networks_in_proportion_to_its_weight() {
        let ownership = NetworkOwnership::new(0, []).expect("no nodes");
        ownership.replace_roster_if_newer(1, nodes(&[("a", 1), ("b", 3)])).expect("a ring");
        let of_b = owners(&ownership).iter().filter(|it| it.as_deref() == Some("b")).count();
        assert!((600..900).contains(&of_b), "{of_b}");
        assert!((0.6..0.9).contains(&ownership.load_roster().expected_network_share("b")));
    }

    #[test]
    fn an_older_roster_is_ignored() {
        let ownership = NetworkOwnership::new(0, []).expect("no nodes");
        assert_eq!(ownership.replace_roster_if_newer(5, nodes(&[("a", 1)])), Ok(true));
        assert_eq!(ownership.replace_roster_if_newer(4, nodes(&[("b", 1)])), Ok(false));
        assert_eq!(ownership.replace_roster_if_newer(5, nodes(&[("b", 1)])), Ok(false));
        assert_eq!(
            (
                ownership.load_roster().roster_number(),
                ownership.load_roster().find_owner_of_network("x")
            ),
            (5, Some("a"))
        );
        assert!(ownership.replace_roster_if_newer(6, nodes(&[("a", 1), ("a", 1)])).is_err());
    }
}
