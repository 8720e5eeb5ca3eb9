//! What a session holds of each sequence: one position that is good for all its channels there.
//!
//! A client that lists one position for several channels of a network comes back with that position
//! for all of them. So it must be one up to which *each* of them is complete:
//!
//! - the least of the channels' cursors;
//! - where a session has drained all its rooms, every cursor may be taken up to what the network's
//!   publisher had finished before the session began to look: the rooms then held nothing more. Else a
//!   quiet channel would hold back a busy one, whose ring would not reach back that far;
//! - while a channel is given its state again, its cursor from before. That one stays good: what made
//!   the state necessary (overtaken, restated, a new life) has put it outside what the room covers, for
//!   good, so a client that comes back with it is given the state again;
//! - nothing while a channel has no state at all;
//! - while a new life has reached some channels only, [`Position::NOWHERE`]: another node may know the old life still.

use std::sync::Arc;

use super::subscription::{StartPoint, Subscription};
use crate::{GroupInterest, Position};

/// Bound: one per subscription.
#[derive(Debug, Default)]
pub(super) struct SequenceTable(Vec<Sequence>);

#[derive(Debug)]
struct Sequence {
    name: Box<str>,
    /// How far its publisher is; none for a channel that counts by itself.
    interest: Option<Arc<GroupInterest>>,
    /// What had been published before the present look.
    mark: Option<Position>,
    held: Option<Position>,
    /// Channels in it; without any its place may be taken.
    channels: usize,
    changed: bool,
}

impl SequenceTable {
    /// Adds a channel. What its client honestly claimed to hold can be listed at once.
    pub(super) fn enter_channel(
        &mut self,
        name: &str,
        interest: Option<Arc<GroupInterest>>,
        from: StartPoint,
    ) -> usize {
        let claim = match from {
            StartPoint::Nothing => None,
            StartPoint::Covered(position) => Some(position),
            StartPoint::Now(position) => position,
            StartPoint::Refused(position) => Some(position),
        };
        let living = self.0.iter_mut().position(|it| it.channels > 0 && *it.name == *name);
        if let Some(index) = living {
            let sequence = &mut self.0[index];
            sequence.channels += 1;
            sequence.changed = true;
            let same = match (&sequence.interest, &interest) {
                (Some(known), Some(new)) => Arc::ptr_eq(known, new),
                (known, new) => known.is_none() && new.is_none(),
            };
            if !same {
                // What this name stood for has ended, and its channels here are about to.
                sequence.interest = interest;
                sequence.mark = None;
            }
            if sequence.held != claim {
                sequence.held = None;
            }
            return index;
        }
        let sequence = Sequence {
            name: name.into(),
            interest,
            mark: None,
            held: claim,
            channels: 1,
            changed: true,
        };
        match self.0.iter().position(|it| it.channels == 0) {
            Some(free) => {
                self.0[free] = sequence;
                free
            }
            None => {
                self.0.push(sequence);
                self.0.len() - 1
            }
        }
    }

    pub(super) fn leave_channel(&mut self, index: usize) {
        self.0[index].channels -= 1;
        self.0[index].changed = true;
    }

    /// What it is called.
    pub(super) fn sequence_name(&self, index: usize) -> &str {
        self.0.get(index).map_or("", |sequence| &sequence.name)
    }

    /// A channel of it has moved.
    pub(super) fn touch_sequence(&mut self, index: usize) {
        self.0[index].changed = true;
    }

    /// Notes what has been published before rooms are looked at.
    pub(super) fn mark_published(&mut self) {
        for sequence in &mut self.0 {
            sequence.mark =
                sequence.interest.as_ref().map(|interest| interest.published_position());
        }
    }

    /// For subscriptions in whose rooms a look after the mark found nothing: whoever is not waiting for a state
    /// holds everything up to the mark.
    pub(super) fn raise_to_mark<'a>(
        &mut self,
        subscriptions: impl Iterator<Item = &'a mut Subscription>,
    ) {
        for subscription in subscriptions {
            let sequence = &mut self.0[subscription.sequence];
            if let Some(mark) = sequence.mark {
                sequence.changed |= subscription.raise_cursor(mark);
            }
        }
    }

    pub(super) fn held_positions<'a>(
        &mut self,
        subscriptions: impl Iterator<Item = &'a Subscription> + Clone,
    ) -> impl Iterator<Item = (&str, Position)> {
        for (index, sequence) in
            self.0.iter_mut().enumerate().filter(|(_, sequence)| sequence.changed)
        {
            sequence.changed = false;
            let mut cursors =
                subscriptions.clone().filter(|it| it.sequence == index).map(Subscription::cursor);
            let least = cursors.next().flatten();
            sequence.held = match cursors.fold(least, least_position) {
                // A channel without a state; what was listed stays good for the others.
                None => sequence.held,
                // Offset 0 holds nothing and need not be listed, but what was before is over.
                Some(least) if least.offset == 0 => sequence.held.map(|_| Position::NOWHERE),
                Some(least) => Some(least),
            };
        }
        let living =
            self.0.iter().filter(|sequence| sequence.channels > 0 && !sequence.name.is_empty());
        living.filter_map(|sequence| Some((&*sequence.name, sequence.held?)))
    }
}

/// The lesser of two positions in one life; none where one is missing, nowhere if the lives differ.
fn least_position(a: Option<Position>, b: Option<Position>) -> Option<Position> {
    let (a, b) = (a?, b?);
    match a.epoch == b.epoch {
        true => Some(if b.offset < a.offset { b } else { a }),
        false => Some(Position::NOWHERE),
    }
}
