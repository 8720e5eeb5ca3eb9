//! One run of a validator over the version of a feed that is served.

use lineside_ingest::{Cover, FeedId, run_validator};
use lineside_store::BlobHash;

use super::opinion::{Opinion, mark, read};
use crate::app::App;
use crate::config::Validator;

/// The largest result that is read; the reference's, with 1,000 rows of each code, has at most some 20 MiB.
const OUTPUT_MAX: u64 = 32 << 20;

/// What a validator says of the version that is served; nothing if there is none of its format any more.
///
/// Cancel safety: dropped, it ends the program.
pub(super) async fn run(app: &App, id: &FeedId, validator: &Validator) -> Option<Opinion> {
    let feed = app.ingest().feed(id.as_str())?;
    let held = feed.held()?;
    let snapshot = held.snapshot();
    let (bytes, format, tag) =
        (snapshot.bytes.clone(), snapshot.format, format!("{:032x}", snapshot.hash));
    drop(held);
    if format != validator.format {
        return None;
    }
    let (program, began) = (&validator.program, app.now());
    let input = bytes.clone();
    let ran =
        run_validator(program, input, format, feed.config(), OUTPUT_MAX, &**app.clock()).await;
    let times = (began, app.now());
    let cover = Cover::of(program, feed.config());
    let reading = move || {
        let version = BlobHash::of(&bytes).to_string();
        let said = read(ran, &version, times, &cover);
        (version, said)
    };
    let (version, said) = tokio::task::spawn_blocking(reading).await.ok()?;
    let before = app.validators().find(id.as_str(), &validator.name);
    let (said, failed) = match said {
        Ok(said) => (Some(said), None),
        Err(failed) => (before.and_then(|before| before.said.clone()), Some(failed)),
    };
    let (validator, mark) = (validator.name.to_string(), mark(program));
    Some(Opinion { validator, version, tag, mark, said, failed })
}

/// Whether a validator is still to be asked: it is configured as it was.
pub(super) fn is_wanted(app: &App, feed: &FeedId, validator: &Validator) -> bool {
    app.ingest().feed(feed.as_str()).is_some()
        && app.config().validators.iter().any(|it| **it == *validator)
}
