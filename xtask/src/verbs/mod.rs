//! The verbs, one file each.

pub(crate) mod demo;
pub(crate) mod test;
pub(crate) mod build;
pub(crate) mod bench;
pub(crate) mod bless;
pub(crate) mod deep;

use anyhow::bail;

/// Refuses arguments where a verb takes none.
fn takes_no_arguments(arguments: &[String]) -> anyhow::Result<()> {
    match arguments.first() {
        Some(first) => bail!("this command takes no argument, but got {first:?}"),
        None => Ok(()),
    }
}
