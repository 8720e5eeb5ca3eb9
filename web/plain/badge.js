/**
 * Route badges: a readable label on the route's colour. crates/lineside-pages/src/badge.rs is the server's version.
 */
const DEFAULT_COLOR = "5b6770";

/** Returns the relative luminance (WCAG 2). @param {string} hex six digits */
function luminance(hex) {
  const channel = (/** @type {number} */ at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4);
}

/** The minimum contrast of text (WCAG 2, AA). */
const CONTRAST_MIN = 4.5;
/** Colours on which white has at least this contrast are darkened until white text reaches `CONTRAST_MIN`. */
const CONTRAST_DARK = 3;

/** Returns the contrast of white on a colour. @param {string} hex */
const contrastOfWhite = (hex) => 1.05 / (luminance(hex) + 0.05);

/** @param {string} hex @param {number} percent */
const darkened = (hex, percent) => [0, 2, 4].map((at) => Math.floor((Number.parseInt(hex.slice(at, at + 2), 16) * percent) / 100).toString(16).padStart(2, "0")).join("");

/**
 * Returns the colours of a badge as `#rrggbb`. The background is the feed's own colour, darkened where white text would be
 * hard to read. Light backgrounds get black text. The feed's own text colour is often unreadable and is not used.
 * @param {string|null|undefined} color
 */
export function badgeColors(color) {
  const hex = /^#?[0-9a-f]{6}$/i.test(color ?? "") ? /** @type {string} */ (color).replace("#", "").toLowerCase() : DEFAULT_COLOR;
  if (contrastOfWhite(hex) < CONTRAST_DARK) return { background: `#${hex}`, text: "#000000" };
  let percent = 100;
  while (contrastOfWhite(darkened(hex, percent)) < CONTRAST_MIN) percent -= 1;
  return { background: `#${darkened(hex, percent)}`, text: "#ffffff" };
}

/** Longer labels may be cut off, so the badge repeats them in its title. */
const LABEL_FITS_CHARS = 16;

/** Makes the element of a badge. @param {string} label @param {string|null|undefined} color */
export function badge(label, color) {
  const { background, text } = badgeColors(color);
  const element = document.createElement("span");
  element.className = "badge";
  element.textContent = label;
  if ([...label].length > LABEL_FITS_CHARS) element.title = label;
  element.style.backgroundColor = background;
  element.style.color = text;
  return element;
}
