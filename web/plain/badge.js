/**
 * Route badges: the route's colour with a label that can be read on it, as crates/lineside/src/pages/badge.rs.
 */
const DEFAULT_COLOR = "5b6770";

/** Relative luminance after WCAG 2. @param {string} hex six digits */
function luminance(hex) {
  const channel = (/** @type {number} */ at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4);
}

/**
 * The colours of a badge as `#rrggbb`: the feed's own background, and black or white on it, whichever
 * reads better. A feed's own text colour is often unreadable, so it is not asked.
 * @param {string|null|undefined} color
 */
export function badgeColors(color) {
  const hex = /^#?[0-9a-f]{6}$/i.test(color ?? "") ? /** @type {string} */ (color).replace("#", "").toLowerCase() : DEFAULT_COLOR;
  const light = luminance(hex);
  return { background: `#${hex}`, text: 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 ? "#ffffff" : "#000000" };
}

/** A badge as an element. @param {string} label @param {string|null|undefined} color */
export function badge(label, color) {
  const { background, text } = badgeColors(color);
  const element = document.createElement("span");
  element.className = "badge";
  element.textContent = label;
  element.style.backgroundColor = background;
  element.style.color = text;
  return element;
}
