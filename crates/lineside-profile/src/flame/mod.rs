//! The flame graph: stacks with a common beginning share a frame, whose width is the time spent in it.
//!
//! The root is at the top and calls extend downwards, so that a page opens at the beginning. The graph is rendered
//! here; the page's script only zooms and searches, so the page is readable without scripts.

mod flame_page;
mod flame_svg;

use std::sync::Arc;

pub use flame_page::{render_page_section, server_page_csp};
pub(super) use flame_page::{render_standalone_page, standalone_page_csp};
pub(super) use flame_svg::{render_svg, standalone_svg_csp as picture_policy};

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::symbolized_profile::SymbolizedProfile;

/// Returns the hash source of a style or script for a content security policy.
fn csp_hash_source(text: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())))
}

/// Frames narrower than this fraction of the width are left out: they are invisible, and many thousands.
const FRAME_WIDTH_DIVISOR: u64 = 4_000;

/// A function, thread or stage at one position in the graph.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FlameFrame {
    name: Arc<str>,
    /// Number of frames above it.
    depth: usize,
    /// Samples to the left of the frame.
    start: u64,
    /// Samples in the frame and in its callees.
    count: u64,
    /// Samples in the frame itself.
    own: u64,
}

/// Returns all visible frames, from the root down and from left to right.
fn layout_frames(recorded: &SymbolizedProfile) -> Vec<FlameFrame> {
    let mut frames: Vec<FlameFrame> = Vec::new();
    // The frames of the previous stack, by depth.
    let mut open: Vec<usize> = Vec::new();
    let mut start = 0;
    // The stacks are sorted, so stacks with a common beginning are adjacent.
    for (stack, &count) in &recorded.stacks {
        let alike =
            open.iter().zip(stack).take_while(|(frame, name)| frames[**frame].name == **name);
        open.truncate(alike.count());
        for (depth, name) in stack.iter().enumerate().skip(open.len()) {
            open.push(frames.len());
            frames.push(FlameFrame { name: Arc::clone(name), depth, start, count: 0, own: 0 });
        }
        open.iter().for_each(|frame| frames[*frame].count += count);
        if let Some(frame) = open.last() {
            frames[*frame].own += count;
        }
        start += count;
    }
    frames.retain(|frame| frame.count.saturating_mul(FRAME_WIDTH_DIVISOR) >= start);
    frames
}

/// Formats a share in percent.
fn format_percent(count: u64, total: u64) -> String {
    format!("{:.1} %", count as f64 * 100.0 / total.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::symbolized_profile::tests::example_profile;
    use super::*;

    #[test]
    fn stacks_with_a_common_start_share_frames() {
        let frames = layout_frames(&example_profile());
        let seen: Vec<(&str, usize, u64, u64, u64)> =
            frames.iter().map(|it| (&*it.name, it.depth, it.start, it.count, it.own)).collect();
        assert_eq!(
            seen,
            [
                ("partition-0", 0, 0, 7, 0),
                ("deliver", 1, 0, 7, 0),
                ("work", 2, 0, 7, 1),
                ("flush", 3, 1, 6, 6),
                ("runtime", 0, 7, 3, 0),
                ("http", 1, 7, 3, 0),
                ("poll", 2, 7, 3, 0),
                ("a<b;c", 3, 7, 3, 3),
            ]
        );
    }

    #[test]
    fn frames_too_narrow_to_see_are_omitted() {
        let mut recorded = example_profile();
        recorded.stacks.insert(vec!["worker-0".into(), "assist".into()], 2 * FRAME_WIDTH_DIVISOR);
        recorded.stacks.insert(vec!["a".into(), "b".into()], 1);
        let names: Vec<Arc<str>> =
            layout_frames(&recorded).into_iter().map(|frame| frame.name).collect();
        assert!(names.contains(&"worker-0".into()) && !names.contains(&"a".into()), "{names:?}");
        recorded.stacks.clear();
        assert_eq!(layout_frames(&recorded), []);
    }
}
