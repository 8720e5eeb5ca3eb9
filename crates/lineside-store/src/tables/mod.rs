//! The tables of the database: their rows, and the statements that read and write them.

pub(crate) mod delays;
pub(crate) mod life;
pub(crate) mod notification;
pub(crate) mod reports;
pub(crate) mod retention;
pub(crate) mod snapshots;
pub(crate) mod versions;
