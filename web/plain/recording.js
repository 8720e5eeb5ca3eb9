/** Pages of a network that plays a recording. */

const DAY_MS = 86_400_000;

/**
 * Reloads the page when its recording has ended, or has jumped over a gap to another day: then everything on the page changes, its
 * notices too.
 * @param {string} network @param {{replay_time?: string|null, replay_ended?: boolean}} record of one of its feeds
 */
export function reloadAfterJump(network, { replay_time: now, replay_ended: hasEnded = false }) {
  const tag = document.querySelector(`[data-recording-of="${CSS.escape(network)}"]`);
  const shown = tag?.querySelector("time")?.dateTime;
  if (!tag || !shown || !now) return;
  const isOtherDay = Math.abs(Date.parse(now) - Date.parse(shown)) >= DAY_MS;
  if (isOtherDay || hasEnded !== tag.hasAttribute("data-ended")) location.reload();
}
