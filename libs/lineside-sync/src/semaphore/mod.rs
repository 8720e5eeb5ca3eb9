//! Permits that are had at once or not at all.
