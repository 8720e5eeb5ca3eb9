/**
 * Cached images of vehicles: a dot at low zoom, the route's badge at high zoom.
 */
import { badgeColors } from "../plain/badge.js";

/** Maximum number of cached images; a network with more routes redraws some of them. */
const SPRITES_MAX = 2_000;
const LABEL_CHARS_MAX = 6;

/** @typedef {{canvas: HTMLCanvasElement, width: number, height: number}} Sprite */

export class Sprites {
  constructor() {
    /** @type {Map<string, Sprite>} */
    this.cache = new Map();
  }

  clear() {
    this.cache.clear();
  }

  /** @param {string|null} color @param {number} radius @param {string} ring @returns {Sprite} */
  dot(color, radius, ring) {
    return this.#cached(`dot ${color} ${radius} ${ring}`, () => {
      const size = radius * 2 + 4;
      return draw(size, size, (context) => {
        context.beginPath();
        context.arc(size / 2, size / 2, radius, 0, 2 * Math.PI);
        context.fillStyle = badgeColors(color).background;
        context.fill();
        context.lineWidth = 1.5;
        context.strokeStyle = ring;
        context.stroke();
      });
    });
  }

  /** @param {string} label @param {string|null} color @param {string} ring @returns {Sprite} */
  badge(label, color, ring) {
    return this.#cached(`badge ${label} ${color} ${ring}`, () => {
      const text = label.length > LABEL_CHARS_MAX ? `${label.slice(0, LABEL_CHARS_MAX - 1)}…` : label;
      const { background, text: ink } = badgeColors(color);
      const font = `700 11.5px ${getComputedStyle(document.body).fontFamily}`;
      const width = Math.max(textWidth(text, font) + 10, 20);
      const height = 19;
      return draw(width + 4, height + 4, (context) => {
        context.beginPath();
        context.roundRect(2, 2, width, height, 5);
        context.fillStyle = background;
        context.fill();
        context.lineWidth = 1.8;
        context.strokeStyle = ring;
        context.stroke();
        context.font = font;
        context.fillStyle = ink;
        context.textAlign = "center";
        context.textBaseline = "middle";
        context.fillText(text, width / 2 + 2, height / 2 + 2.5);
      });
    });
  }

  /** Returns an arrow head that points north. @param {string|null} color @param {string} ring @returns {Sprite} */
  arrow(color, ring) {
    return this.#cached(`arrow ${color} ${ring}`, () =>
      draw(14, 13, (context) => {
        context.beginPath();
        context.moveTo(7, 1.5);
        context.lineTo(11.5, 11.5);
        context.lineTo(2.5, 11.5);
        context.closePath();
        context.fillStyle = badgeColors(color).background;
        context.strokeStyle = ring;
        context.lineJoin = "round";
        context.lineWidth = 1.8;
        context.stroke();
        context.fill();
      }),
    );
  }

  /** @param {string} key @param {() => Sprite} make @returns {Sprite} */
  #cached(key, make) {
    let sprite = this.cache.get(key);
    if (!sprite) {
      if (this.cache.size >= SPRITES_MAX) this.cache.clear();
      sprite = make();
      this.cache.set(key, sprite);
    }
    return sprite;
  }
}

/** @param {number} width @param {number} height @param {(context: CanvasRenderingContext2D) => void} paint @returns {Sprite} */
function draw(width, height, paint) {
  const ratio = Math.max(globalThis.devicePixelRatio || 1, 1);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(width * ratio);
  canvas.height = Math.ceil(height * ratio);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(ratio, ratio);
  paint(context);
  return { canvas, width, height };
}

/** @type {CanvasRenderingContext2D|null} */
let measuring = null;

/** @param {string} text @param {string} font */
function textWidth(text, font) {
  measuring ??= document.createElement("canvas").getContext("2d");
  if (!measuring) return text.length * 7;
  measuring.font = font;
  return measuring.measureText(text).width;
}
