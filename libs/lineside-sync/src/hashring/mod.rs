//! Consistent hashing with a placement that is specified.
//!
//! Crates that do this are fast enough, but none promises where a key lands: their hash may change with
//! a release. Where several machines must agree on an owner, placement is a wire contract; so it is written
//! down here, pinned by a test with literal owners, and changes only with the version of that contract.
//!
//! # The placement
//!
//! 1. A place is a number from 0 to 2⁶⁴ − 1, and the numbers form a circle. Bytes have their place at
//!    XXH3-64 of them, with the seed [`SEED`].
//! 2. A member of weight *w* has `w ×` [`POINTS_PER_WEIGHT`] points. Its point number *i*, from 0, has the place
//!    of these bytes: the name in UTF-8, then *i* as four bytes, least significant first.
//! 3. A key belongs to the member whose point is the first at the key's place or after it; after the highest
//!    place comes the lowest.
//! 4. Should two points have one place, the point of the name that sorts first (by bytes) counts, and the other
//!    does not.
//!
//! The order in which members were named does not matter. Nothing here is random.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seed of every hash: `lineside` in ASCII, the first letter in the highest byte.
pub const SEED: u64 = 0x6c69_6e65_7369_6465;

/// Points on the circle for each unit of weight. With 128 a member's share is off by 9 % typically
/// (one part in the square root of its points).
pub const POINTS_PER_WEIGHT: u32 = 128;

/// The most points of all members together: a ring has at most 12 bytes for each.
pub const POINTS_MAX: usize = 1 << 20;

/// Somebody who owns keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RingMember {
    /// What it is called, everywhere the same.
    pub name: Box<str>,
    /// Its share of the keys, in proportion to the others'. With 0 it owns none: it is leaving.
    pub weight: u16,
}

impl RingMember {
    /// A member of that name and weight.
    pub fn new(name: &str, weight: u16) -> Self {
        Self { name: name.into(), weight }
    }
}

/// Who owns which key, among a number of members. A value that never changes: keep it behind an
/// `arc_swap::ArcSwap` and swap it when a member comes or goes.
///
/// Guarantees:
/// - Rings of the same members and weights place every key alike, in every process and release (see the
///   [module](self)).
/// - A member that comes takes keys only for itself, one that goes gives up only its own, and a change of weight
///   moves keys only to or from that member: of *n* equal members, about one key in *n*.
/// - When an owner goes, each of its keys falls to the next of [`owners`](Self::owners), so a follower
///   chosen there is already where the key will be.
/// - Cost: a lookup is one hash of the key and one binary search; nothing allocates.
///
/// ```
/// use lineside_sync::hashring::{HashRing, RingMember};
///
/// let ring = HashRing::new([RingMember::new("a", 1), RingMember::new("b", 1), RingMember::new("c", 2)])?;
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
    /// By name.
    members: Box<[RingMember]>,
    /// Places of the points, rising.
    places: Box<[u64]>,
    /// The member of each point.
    owners: Box<[u32]>,
}

impl HashRing {
    /// A ring of these members.
    ///
    /// # Errors
    /// If two members have one name, or all together more than [`POINTS_MAX`] points.
    pub fn new(members: impl IntoIterator<Item = RingMember>) -> Result<Self, HashRingError> {
        let mut members: Vec<RingMember> = members.into_iter().collect();
        members.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        if let Some(pair) = members.windows(2).find(|pair| pair[0].name == pair[1].name) {
            return Err(HashRingError(ErrorReason::SameName(pair[0].name.clone())));
        }
        let n_points = |member: &RingMember| u32::from(member.weight) * POINTS_PER_WEIGHT;
        let total = members.iter().map(|member| n_points(member) as usize).sum();
        if total > POINTS_MAX {
            return Err(HashRingError(ErrorReason::TooManyPoints(total)));
        }
        let mut points = Vec::with_capacity(total);
        for (member, index) in members.iter().zip(0u32..) {
            let mut bytes = [member.name.as_bytes(), &[0; 4]].concat();
            for point in 0..n_points(member) {
                bytes[member.name.len()..].copy_from_slice(&point.to_le_bytes());
                points.push((hash_position(&bytes), index));
            }
        }
        // Members are sorted by name, so of points at one place the first name's comes first.
        points.sort_unstable();
        points.dedup_by_key(|(place, _)| *place);
        let (places, owners): (Vec<_>, Vec<_>) = points.into_iter().unzip();
        Ok(Self { members: members.into(), places: places.into(), owners: owners.into() })
    }

    /// The owner of a key; none if no member has weight.
    pub fn find_owner(&self, key: &[u8]) -> Option<&str> {
        let point = self.first_point_at(key);
        let owner = self.owners.get(point)?;
        Some(&self.members[*owner as usize].name)
    }

    /// All members with weight, each once, in the order in which the key would fall to them: its owner, then
    /// whoever would own it without that one, and so on.
    ///
    /// Cost: to find the n-th about n points are looked at while n is small beside the number of members.
    pub fn owners_in_order(&self, key: &[u8]) -> OwnerIter<'_> {
        OwnerIter {
            ring: self,
            next: self.first_point_at(key),
            left: self.owners.len(),
            told: Vec::new(),
        }
    }

    /// All members, by name.
    pub fn members(&self) -> &[RingMember] {
        &self.members
    }

    /// The part of all places that a member owns, from 0 to 1; 0 if there is no such member.
    pub fn owned_share(&self, name: &str) -> f64 {
        let Ok(member) = self.members.binary_search_by(|member| (*member.name).cmp(name)) else {
            return 0.0;
        };
        let before = self.places.iter().cycle().skip(self.places.len().saturating_sub(1));
        let arcs = self.places.iter().zip(before).zip(&self.owners);
        let owned = arcs.filter(|(_, owner)| **owner as usize == member);
        owned.map(|((place, before), _)| place.wrapping_sub(*before) as f64).sum::<f64>() / CIRCLE
    }

    /// The index of the first point at the key's place or after it; 0 for a ring without points.
    fn first_point_at(&self, key: &[u8]) -> usize {
        let key = hash_position(key);
        let point = self.places.partition_point(|place| *place < key);
        if point == self.places.len() { 0 } else { point }
    }
}

/// How many places there are, as near as a float can say: 2⁶⁴.
const CIRCLE: f64 = u64::MAX as f64;

fn hash_position(bytes: &[u8]) -> u64 {
    xxh3_64_with_seed(bytes, SEED)
}

/// The owners of a key, in order. See [`HashRing::owners_in_order`].
#[derive(Debug, Clone)]
pub struct OwnerIter<'a> {
    ring: &'a HashRing,
    next: usize,
    /// Points not looked at yet.
    left: usize,
    told: Vec<u32>,
}

impl<'a> Iterator for OwnerIter<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.told.len() == self.ring.members.len() {
            return None;
        }
        while self.left > 0 {
            let owner = self.ring.owners[self.next];
            self.left -= 1;
            self.next = if self.next + 1 == self.ring.owners.len() { 0 } else { self.next + 1 };
            if !self.told.contains(&owner) {
                self.told.push(owner);
                return Some(&self.ring.members[owner as usize].name);
            }
        }
        None
    }
}

/// Why members make no ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashRingError(ErrorReason);

#[derive(Debug, Clone, PartialEq, Eq)]
enum ErrorReason {
    SameName(Box<str>),
    TooManyPoints(usize),
}

impl fmt::Display for HashRingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ErrorReason::SameName(name) => write!(f, "two members are called {name:?}"),
            ErrorReason::TooManyPoints(n) => {
                write!(f, "{n} points, more than {POINTS_MAX}: lower the weights in proportion")
            }
        }
    }
}

impl std::error::Error for HashRingError {}
