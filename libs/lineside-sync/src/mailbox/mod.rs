//! Many senders, one receiver: bounded, first in first out per sender, in parallel when senders contend.
