//! Consistent hashing with a specified placement.
//!
//! The existing crates are fast enough, but none guarantees the placement of a key: a release may change the hash.
//! Several machines must agree on an owner, so placement is a wire contract. It is specified here, pinned by a test
//! with literal owners, and changes only with the version of that contract.
//!
//! # The placement
//!
//! 1. A place is a number from 0 to 2⁶⁴ − 1, and the numbers form a circle. The place of a byte string is its XXH3-64
//!    hash with the seed [`SEED`].
//! 2. A member of weight *w* has `w ×` [`POINTS_PER_WEIGHT`] points. The place of its point number *i*, from 0, is the
//!    place of these bytes: the name in UTF-8, then *i* as four bytes, least significant first.
//! 3. A key belongs to the member whose point is the first at the key's place or after it; the lowest place follows
//!    the highest.
//! 4. If two points have the same place, only the point of the name that sorts first (by bytes) counts.
//!
//! The order of the members does not matter. Nothing here is random.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The seed of every hash: `lineside` in ASCII, the first letter in the highest byte.
pub const SEED: u64 = 0x6c69_6e65_7369_6465;

/// The points on the circle per unit of weight. With 128, a member's share is typically off by 9 % (one part in the
/// square root of its points).
pub const POINTS_PER_WEIGHT: u32 = 128;

/// The largest number of points of all members together; a ring takes at most 12 bytes per point.
pub const POINTS_MAX: usize = 1 << 20;

/// A member of a ring, which owns keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRingMember {
    /// The name, the same in every process.
    pub name: Box<str>,
    /// The share of the keys, in proportion to the other weights. A member with weight 0 owns no keys: it is leaving.
    pub weight: u16,
}

impl HashRingMember {
    /// Creates a member with a name and a weight.
    pub fn new(name: &str, weight: u16) -> Self {
        Self { name: name.into(), weight }
    }
}

/// The owners of all keys among a set of members. The value is immutable: store it in an `arc_swap::ArcSwap` and swap
/// it when a member joins or leaves.
///
/// Guarantees:
/// - Rings with equal members and weights place every key identically, in every process and release (see the
///   [module](self)).
/// - A member that joins only takes keys, one that leaves only gives up its own keys, and a change of weight moves
///   keys only to or from that member: about one key in *n* with *n* equal members.
/// - When an owner leaves, each of its keys moves to the next of [`owners_in_order`](Self::owners_in_order), so a
///   follower chosen there is already the key's next owner.
/// - Cost: a lookup is one hash of the key and one binary search; nothing allocates.
///
/// ```
/// use lineside_sync::hashring::{HashRing, HashRingMember};
///
/// let ring = HashRing::new([HashRingMember::new("a", 1), HashRingMember::new("b", 1), HashRingMember::new("c", 2)])?;
/// let owner = ring.find_owner(b"oslo").expect("somebody has weight");
/// let mut owners = ring.owners_in_order(b"oslo");
/// assert_eq!(owners.next(), Some(owner));
///
/// let follower = owners.next().expect("there are three");
/// let rest = ring.members().iter().filter(|member| *member.name != *owner).cloned();
/// assert_eq!(HashRing::new(rest)?.find_owner(b"oslo"), Some(follower));
/// # Ok::<(), lineside_sync::hashring::HashRingError>(())
/// ```
#[derive(Debug, Clone)]
pub struct HashRing {
    /// Sorted by name.
    members: Box<[HashRingMember]>,
    /// The places of the points, ascending.
    positions: Box<[u64]>,
    /// The member of each point.
    owners: Box<[u32]>,
}

impl HashRing {
    /// Creates a ring of these members.
    ///
    /// # Errors
    /// Returns an error if two members have the same name, or if all members together have more than [`POINTS_MAX`]
    /// points.
    pub fn new(members: impl IntoIterator<Item = HashRingMember>) -> Result<Self, HashRingError> {
        let mut members: Vec<HashRingMember> = members.into_iter().collect();
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(HashRingError(HashRingErrorReason::SameName(pair[0].name.clone())));
        }
        let n_points = |member: &HashRingMember| u32::from(member.weight) * POINTS_PER_WEIGHT;
        let total = members.iter().map(|member| n_points(member) as usize).sum();
        if total > POINTS_MAX {
            return Err(HashRingError(HashRingErrorReason::TooManyPoints(total)));
        }
        let mut points = Vec::with_capacity(total);
        for (member, index) in members.iter().zip(0u32..) {
            let mut bytes = [member.name.as_bytes(), &[0; 4]].concat();
            for point in 0..n_points(member) {
                bytes[member.name.len()..].copy_from_slice(&point.to_le_bytes());
                points.push((hash_to_ring_position(&bytes), index));
            }
        }
        // Members are sorted by name, so the point of the first name comes first among points at one place.
        points.sort_unstable();
        points.dedup_by_key(|(position, _)| *position);
        let (positions, owners): (Vec<_>, Vec<_>) = points.into_iter().unzip();
        Ok(Self { members: members.into(), positions: positions.into(), owners: owners.into() })
    }

    /// Returns the owner of a key; `None` if no member has weight.
    pub fn find_owner(&self, key: &[u8]) -> Option<&str> {
        let point = self.first_point_at_or_after(key);
        let owner = self.owners.get(point)?;
        Some(&self.members[*owner as usize].name)
    }

    /// Returns all members with weight, each once, in the order in which the key would move to them: its owner, then
    /// the member that would own it without the first, and so on.
    ///
    /// Cost: finding the n-th member examines about n points while n is small compared to the number of members.
    pub fn owners_in_order(&self, key: &[u8]) -> OwnerIter<'_> {
        OwnerIter {
            ring: self,
            next: self.first_point_at_or_after(key),
            left: self.owners.len(),
            yielded: Vec::new(),
        }
    }

    /// Returns all members, sorted by name.
    pub fn members(&self) -> &[HashRingMember] {
        &self.members
    }

    /// Returns the share of all places that a member owns, from 0 to 1; 0 if there is no such member.
    pub fn owned_key_share(&self, name: &str) -> f64 {
        let Ok(member) = self.members.binary_search_by(|member| (*member.name).cmp(name)) else {
            return 0.0;
        };
        let before = self.positions.iter().cycle().skip(self.positions.len().saturating_sub(1));
        let arcs = self.positions.iter().zip(before).zip(&self.owners);
        let owned = arcs.filter(|(_, owner)| **owner as usize == member);
        owned.map(|((position, before), _)| position.wrapping_sub(*before) as f64).sum::<f64>()
            / CIRCLE
    }

    /// Returns the index of the first point at the key's place or after it; 0 for a ring without points.
    fn first_point_at_or_after(&self, key: &[u8]) -> usize {
        let key = hash_to_ring_position(key);
        let point = self.positions.partition_point(|position| *position < key);
        if point == self.positions.len() { 0 } else { point }
    }
}

/// The number of places, 2⁶⁴, as exactly as a float can hold it.
const CIRCLE: f64 = u64::MAX as f64;

fn hash_to_ring_position(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, SEED)
}

/// An iterator over the owners of a key, in order. See [`HashRing::owners_in_order`].
#[derive(Debug, Clone)]
pub struct OwnerIter<'a> {
    ring: &'a HashRing,
    next: usize,
    /// The number of points not examined yet.
    left: usize,
    yielded: Vec<u32>,
}

impl<'a> Iterator for OwnerIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.yielded.len() == self.ring.members.len() {
            return None;
        }
        while self.left > 0 {
            let owner = self.ring.owners[self.next];
            self.left -= 1;
            self.next = if self.next + 1 == self.ring.owners.len() { 0 } else { self.next + 1 };
            if !self.yielded.contains(&owner) {
                self.yielded.push(owner);
                return Some(&self.ring.members[owner as usize].name);
            }
        }
        None
    }
}

/// The error of a set of members that cannot form a ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRingError(HashRingErrorReason);

#[derive(Debug, Clone, PartialEq, Eq)]
enum HashRingErrorReason {
    SameName(Box<str>),
    TooManyPoints(usize),
}

impl fmt::Display for HashRingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            HashRingErrorReason::SameName(name) => write!(f, "two members have the name {name:?}"),
            HashRingErrorReason::TooManyPoints(n) => {
                write!(
                    f,
                    "{n} points exceed the limit of {POINTS_MAX}; lower the weights in proportion"
                )
            }
        }
    }
}

impl std::error::Error for HashRingError {}
