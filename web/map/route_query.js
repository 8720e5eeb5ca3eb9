/** Routes as riders ask for them: "1", "line 1", "tram 1", "T1"; as crates/lineside-ingest/src/search/routes.rs ranks them. */
import { modeOf } from "./view.js";

/** Words that stand before a line's name and say nothing. */
const LINE_WORDS = new Set(["line", "route", "linie", "ligne", "linje", "linea"]);

/** The mode that a folded word names, as in crates/lineside-ingest/src/route_mode.rs. */
const MODE_WORDS = new Map(
  Object.entries({
    tram: ["tram", "trams", "tramway", "streetcar", "strassenbahn", "trikk"],
    metro: ["metro", "subway", "underground", "ubahn", "tbane"],
    rail: ["train", "trains", "rail", "zug", "sbahn", "tog"],
    bus: ["bus", "buses", "coach", "buss"],
    ferry: ["ferry", "ferries", "boat", "faehre", "ferge"],
    gondola: ["cable", "gondola", "funicular"],
  }).flatMap(([mode, words]) => words.map((word) => [word, mode])),
);

/** The mode that a letter before a line's number stands for, as in T1. */
const MODE_LETTERS = new Map(Object.entries({ t: "tram", m: "metro", u: "metro", s: "rail", r: "rail", b: "bus", f: "ferry" }));

/** Letters that no decomposition takes apart, as people without them type them. */
const SPELLED_OUT = new Map(Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ı: "i" }));

/** Text without case, diacritics and punctuation: its words, separated by single spaces. @param {string} text */
export function fold(text) {
  const letters = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\p{M}/gu, "").replace(/['’.]/g, "");
  return [...letters].map((letter) => SPELLED_OUT.get(letter) ?? letter).join("").replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** Folded names of routes, which each letter typed is compared with. @type {WeakMap<object, {short: string, all: string}>} */
const foldedNames = new WeakMap();

/** @param {{name: string, long: string}} route */
function foldNames(route) {
  const known = foldedNames.get(route);
  if (known) return known;
  const folded = { short: fold(route.name), all: fold(`${route.name} ${route.long}`) };
  foldedNames.set(route, folded);
  return folded;
}

/** Whether each word begins a word of the folded text. @param {string} folded @param {string[]} words */
const hasWords = (folded, words) => words.every((word) => folded.split(" ").some((other) => other.startsWith(word)));

/** @param {string} word */
const isGeneric = (word) => LINE_WORDS.has(word) || MODE_WORDS.has(word);

export class RouteQuery {
  /** All words, as written. @type {string[]} */
  #words;
  /** The words that name the line where others name its mode, or say no more than that it is one. */
  #name;
  /** @type {string|undefined} */
  #mode;
  /** A number behind a letter that stands for a mode, as in T1. @type {{mode: string, number: string}|null} */
  #number = null;

  /** @param {string} question */
  constructor(question) {
    this.#words = fold(question).split(" ").filter(Boolean);
    this.#name = this.#words.filter((word) => !isGeneric(word));
    const named = this.#words.find((word) => MODE_WORDS.has(word));
    this.#mode = named && MODE_WORDS.get(named);
    const [, letter, number] = (this.#name.length === 1 && /^(\p{L})(\p{Nd}.*)$/u.exec(this.#name[0])) || [];
    const mode = MODE_LETTERS.get(letter ?? "");
    if (mode) this.#number = { mode, number };
  }

  /**
   * How well a route fits, 0 best; null if it does not.
   * @param {{name: string, long: string, type: number}} route
   */
  rank(route) {
    if (this.#words.length === 0) return null;
    const mode = modeOf(route.type);
    const fitsMode = this.#mode === undefined || this.#mode === mode;
    const { short, all } = foldNames(route);
    if (this.#name.length > 0 && fitsMode && hasWords(all, this.#name)) return this.#name.join(" ") === short ? 0 : 3;
    if (hasWords(all, this.#words)) return 2;
    const isNumber = this.#number !== null && fitsMode && this.#number.mode === mode && this.#number.number === short;
    return isNumber ? 1 : null;
  }

  /** Whether a line's short name begins with the words that name it. @param {{name: string, long: string}} route */
  isPrefixOf(route) {
    return this.#name.length > 0 && foldNames(route).short.startsWith(this.#name.join(" "));
  }
}
