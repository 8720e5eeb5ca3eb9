//! Consistent hashing with a placement that is specified.
