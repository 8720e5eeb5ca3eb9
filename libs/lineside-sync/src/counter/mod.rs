//! Counters with a cell per thread, folded when read.
