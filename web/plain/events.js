/**
 * The channels of a page, over one connection that survives the network and resumes.
 *
 * It is a WebSocket (socket.js), or server-sent events (stream.js) where none can be opened: some
 * proxies let none through. What is held (state.js) outlives both, so that whichever comes next goes
 * on from there.
 */
import { Socket } from "./socket.js";
import { Store } from "./state.js";
import { Stream } from "./stream.js";

/** The most channels that one `/events` request may name. */
export const CHANNELS_MAX = 64;
/** First and longest pause before another try, in milliseconds; each is halved at random. */
const RETRY_MS = 1_000;
const RETRY_MS_MAX = 30_000;
/** How often it is looked whether a connection has fallen silent. */
const WATCH_MS = 10_000;
/**
 * WebSockets in a row that could not be opened before it is tried without. Where one has worked on
 * this page, more of them: then it is the server that is away, and no proxy that is in the way.
 */
const REFUSALS = 1;
const REFUSALS_WHERE_IT_WORKED = 4;

/**
 * @typedef {"idle"|"connecting"|"live"|"waiting"|"ended"|"refused"} Status
 * @typedef {object} Options
 * @property {(applied: import("./state.js").Applied, message: import("./state.js").Message) => void} onChange
 * @property {(status: Status, transport: string) => void} [onStatus]
 * @property {typeof EventSource} [source]  the EventSource class; tests hand in their own
 * @property {typeof WebSocket|null} [socket]  the WebSocket class; null for none
 */

export class Events {
  /** @param {Options} options */
  constructor({ onChange, onStatus = () => {}, source = globalThis.EventSource, socket = globalThis.WebSocket }) {
    this.store = new Store();
    /** @type {string[]} */
    this.channels = [];
    this.failures = 0;
    /** WebSockets in a row that could not be opened. */
    this.refusals = 0;
    this.socketWorked = false;
    /** The server has said that we are not to come back, or that we are not let in. */
    this.isOver = false;
    /** @type {any} */
    this.retry = null;
    this.onChange = onChange;
    this.onStatus = onStatus;
    /** @type {Stream} */
    this.stream = new Stream(this.store, source, this.#hooks(() => this.stream));
    /** @type {Socket|null} */
    this.socket = socket ? new Socket(this.store, socket, this.#hooks(() => this.socket)) : null;
    /** @type {Socket|Stream|null} the connection that is used, or tried */
    this.link = null;
    this.wake = () => this.#wake();
    this.online = () => this.#online();
    globalThis.addEventListener?.("online", this.online);
    globalThis.document?.addEventListener("visibilitychange", this.wake);
    this.watch = setInterval(this.wake, WATCH_MS);
  }

  /**
   * Follows these channels, and only these. What the old and the new set share stays held.
   * @param {string[]} channels  at most CHANNELS_MAX; what is beyond is left out
   * @returns {import("./state.js").Held[]} what was held only by channels that are gone
   */
  follow(channels) {
    const wanted = [...new Set(channels)].slice(0, CHANNELS_MAX);
    const same = wanted.length === this.channels.length && wanted.every((name) => this.channels.includes(name));
    if (same) {
      if (wanted.length === 0) this.#idle();
      return [];
    }
    this.channels = wanted;
    const dropped = this.store.keepOnly(wanted);
    if (wanted.length === 0) this.#idle();
    else if (this.link) this.link.follow(wanted);
    else this.#open();
    return dropped;
  }

  close() {
    clearInterval(this.watch);
    globalThis.removeEventListener?.("online", this.online);
    globalThis.document?.removeEventListener("visibilitychange", this.wake);
    this.#drop();
  }

  /** There is nothing to wait for. */
  #idle() {
    this.#drop();
    this.failures = 0;
    if (!this.isOver) this.#say("idle");
  }

  #drop() {
    clearTimeout(this.retry);
    this.retry = null;
    this.link?.close();
    this.link = null;
  }

  /** @param {() => Socket|Stream|null} link @returns {import("./socket.js").Hooks} */
  #hooks(link) {
    return {
      opened: () => this.link === link() && this.#opened(),
      received: (message) => this.link === link() && this.#received(message),
      waiting: () => this.link === link() && this.#say("waiting"),
      ended: (end) => this.link === link() && this.#ended(end),
      // Where there is no link the next try is waited for.
      refused: () => (this.link ?? link()) === link() && this.#refused(),
    };
  }

  #open() {
    this.#drop();
    if (this.channels.length === 0 || this.isOver) return;
    const refusalsMax = this.socketWorked ? REFUSALS_WHERE_IT_WORKED : REFUSALS;
    const link = this.socket && this.refusals < refusalsMax ? this.socket : this.stream;
    this.link = link;
    if (this.failures === 0) this.#say("connecting");
    link.open(this.channels);
  }

  /** @param {Status} status */
  #say(status) {
    this.onStatus(status, this.link?.name ?? "");
  }

  #opened() {
    this.failures = 0;
    if (this.link === this.socket) {
      this.refusals = 0;
      this.socketWorked = true;
      this.stream.forget();
    }
    this.#say("live");
  }

  /** @param {import("./state.js").Message} message */
  #received(message) {
    const applied = this.store.apply(message);
    if (applied.lost) this.link?.restart(message.channel);
    this.onChange(applied, message);
  }

  /** @param {{wasOpen: boolean, isFinal: boolean}} end */
  #ended({ wasOpen, isFinal }) {
    const wasSocket = this.link === this.socket;
    this.#say(isFinal ? "ended" : "waiting");
    this.link = null;
    this.isOver = isFinal;
    if (isFinal) return;
    if (!wasOpen) this.refusals = wasSocket ? this.refusals + 1 : 0;
    // The first that is not let through may be a proxy's doing: then there is nothing to wait for.
    const isFirst = wasSocket && !wasOpen && !this.socketWorked && this.failures === 0;
    this.#later(isFirst ? 0 : Math.min(RETRY_MS * 2 ** this.failures, RETRY_MS_MAX));
    this.failures += 1;
  }

  /** Trying again would be answered the same. */
  #refused() {
    this.isOver = true;
    this.#say("refused");
    this.#drop();
  }

  /** @param {number} pause */
  #later(pause) {
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.#open(), pause * (0.5 + Math.random() / 2));
  }

  /** After sleep or a change of network a dead connection can look alive: resuming is cheap. */
  #wake() {
    if (globalThis.document?.hidden || !this.link?.isSilent()) return;
    this.#open();
  }

  /** The network is back: nobody waits out a pause, and not all come at the same moment. */
  #online() {
    if (this.retry === null || this.link) return;
    this.#later(RETRY_MS);
  }
}
