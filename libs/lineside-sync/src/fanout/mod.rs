//! From one publisher to the partitions that listen: one append and at most one signal each.
