/** Ranks routes for questions such as "1", "line 1", "tram 1" or "T1", as crates/lineside-ingest/src/search/routes.rs does. */
import { modeOf } from "./view.js";

/** Words in front of a line's name that carry no information. */
const LINE_WORDS = new Set(["line", "route", "linie", "ligne", "linje", "linea"]);

/** Modes by folded word, as in crates/lineside-ingest/src/route_mode.rs. */
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

/** Modes by the letter before a line's number, as in T1. */
const MODE_LETTERS = new Map(Object.entries({ t: "tram", m: "metro", u: "metro", s: "rail", r: "rail", b: "bus", f: "ferry" }));

/** Replacements of letters that Unicode does not decompose, as they are typed on other keyboards. */
const SPELLED_OUT = new Map(Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ı: "i" }));

/** Removes case, diacritics and punctuation; words are separated by single spaces. @param {string} text */
export function fold(text) {
  const letters = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/\p{M}/gu, "").replace(/['’.]/g, "");
  return [...letters].map((letter) => SPELLED_OUT.get(letter) ?? letter).join("").replace(/[^\p{L}\p{N}]+/gu, " ").trim();
}

/** Cache of folded route names, which every keystroke is compared with. @type {WeakMap<object, {short: string, all: string}>} */
const foldedNames = new WeakMap();

/** @param {{name: string, long: string}} route */
function foldNames(route) {
  const known = foldedNames.get(route);
  if (known) return known;
  const folded = { short: fold(route.name), all: fold(`${route.name} ${route.long}`) };
  foldedNames.set(route, folded);
  return folded;
}

/** Returns true if each word is the start of a word of the folded text. @param {string} folded @param {string[]} words */
const hasWords = (folded, words) => words.every((word) => folded.split(" ").some((other) => other.startsWith(word)));

/** @param {string} word */
const isGeneric = (word) => LINE_WORDS.has(word) || MODE_WORDS.has(word);

export class RouteQuery {
  /** All words of the question. @type {string[]} */
  #words;
  /** The words of the line's name, without mode words and generic words. */
  #name;
  /** @type {string|undefined} */
  #mode;
  /** The number and mode of a name such as T1. @type {{mode: string, number: string}|null} */
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
   * Returns the rank of a route, 0 is best; null if it does not match.
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

  /** Returns true if the line's short name begins with the name in the question. @param {{name: string, long: string}} route */
  isPrefixOf(route) {
    return this.#name.length > 0 && foldNames(route).short.startsWith(this.#name.join(" "));
  }
}
