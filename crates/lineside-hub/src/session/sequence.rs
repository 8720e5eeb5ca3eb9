//! A session's position in each sequence: one position that is valid for all its channels there.
//!
//! A client that lists one position for several channels of a network returns with that position for all of them. So
//! it must be a position up to which *each* channel is complete:
//!
//! - the least of the channels' cursors.
//! - After a session has drained all its rooms, every cursor may be raised to the position that the network's
//!   publisher had finished before the session began to look, because the rooms then had nothing more. Otherwise a
//!   quiet channel would hold back a busy one, whose ring would not reach back that far.
//! - While a channel gets its state again, its earlier cursor. This one stays valid: the cause of the state
//!   (overtaken, restated, a new epoch) has put the cursor outside what the room covers, permanently, so a client that
//!   returns with it gets the state again.
//! - None while a channel has no state at all.
//! - [`Position::NOWHERE`] while a new epoch has reached only some channels: another node may still know the old one.

use std::sync::Arc;

use super::subscription::{Subscription, SubscriptionStart};
use crate::{Position, RoomGroup};

/// The sequences of a session. Bound: one per subscription.
#[derive(Debug, Default)]
pub(super) struct ClientSequencePositions(Vec<SequencePosition>);

#[derive(Debug)]
struct SequencePosition {
    name: Box<str>,
    /// The group that tracks the publisher's position; `None` for a channel with its own sequence.
    interest: Option<Arc<RoomGroup>>,
    /// The published position before the current look at the rooms.
    mark: Option<Position>,
    position: Option<Position>,
    /// The number of the session's channels in the sequence; at 0 the entry may be reused.
    channels: usize,
    changed: bool,
}

impl ClientSequencePositions {
    /// Adds a channel. The position that its client validly claimed can be listed at once.
    pub(super) fn add_channel_to_sequence(
        &mut self,
        name: &str,
        interest: Option<Arc<RoomGroup>>,
        from: SubscriptionStart,
    ) -> usize {
        let claim = match from {
            SubscriptionStart::Nothing => None,
            SubscriptionStart::Covered(position) => Some(position),
            SubscriptionStart::Now(position) => position,
            SubscriptionStart::Refused(position) => Some(position),
        };
        let living = self.0.iter_mut().position(|it| it.channels > 0 && *it.name == *name);
        if let Some(index) = living {
            let sequence = &mut self.0[index];
            sequence.channels += 1;
            sequence.changed = true;
            let same = match (&sequence.interest, &interest) {
                (Some(current), Some(new)) => Arc::ptr_eq(current, new),
                (current, new) => current.is_none() && new.is_none(),
            };
            if !same {
                // The old sequence of this name has ended, and its channels here are about to end.
                sequence.interest = interest;
                sequence.mark = None;
            }
            if sequence.position != claim {
                sequence.position = None;
            }
            return index;
        }
        let sequence = SequencePosition {
            name: name.into(),
            interest,
            mark: None,
            position: claim,
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

    pub(super) fn remove_channel_from_sequence(&mut self, index: usize) {
        self.0[index].channels -= 1;
        self.0[index].changed = true;
    }

    /// Returns the sequence's name.
    pub(super) fn sequence_name(&self, index: usize) -> &str {
        self.0.get(index).map_or("", |sequence| &sequence.name)
    }

    /// Records that a channel of the sequence has moved.
    pub(super) fn mark_sequence_changed(&mut self, index: usize) {
        self.0[index].changed = true;
    }

    /// Records the published positions before the rooms are looked at.
    pub(super) fn record_published_positions(&mut self) {
        for sequence in &mut self.0 {
            sequence.mark =
                sequence.interest.as_ref().map(|interest| interest.published_position());
        }
    }

    /// Raises the cursors of subscriptions whose rooms had nothing new after the mark: those that do not wait for a
    /// state have everything up to the mark.
    pub(super) fn raise_cursors_to_published<'a>(
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

    pub(super) fn client_positions<'a>(
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
            sequence.position = match cursors.fold(least, lesser_position_in_epoch) {
                // A channel has no state yet; the listed position stays valid for the others.
                None => sequence.position,
                // Offset 0 means no content and need not be listed, but the earlier position is no longer valid.
                Some(least) if least.offset == 0 => sequence.position.map(|_| Position::INVALID),
                Some(least) => Some(least),
            };
        }
        let living =
            self.0.iter().filter(|sequence| sequence.channels > 0 && !sequence.name.is_empty());
        living.filter_map(|sequence| Some((&*sequence.name, sequence.position?)))
    }
}

/// Returns the lesser of two positions in one epoch; `None` if one is missing, `NOWHERE` if the epochs differ.
fn lesser_position_in_epoch(a: Option<Position>, b: Option<Position>) -> Option<Position> {
    let (a, b) = (a?, b?);
    match a.epoch == b.epoch {
        true => Some(if b.offset < a.offset { b } else { a }),
        false => Some(Position::INVALID),
    }
}
