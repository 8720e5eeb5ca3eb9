/**
 * One `/events` connection: the same messages as server-sent events, for where no WebSocket comes
 * through.
 *
 * The browser's EventSource reconnects by itself after a lost connection and sends the last id it
 * saw; this adds what it leaves out: a new set of channels without a moment of silence, and a fresh
 * start for channels that are lost.
 */

/** Silence after which the connection counts as lost: seven heartbeats of the server. */
const SILENCE_MS_MAX = 180_000;

/** Answers to who shows no token where one is needed, or one that is not enough. */
const REFUSALS = [401, 403];

/** Channels that count by themselves, so that their position alone says what a client holds. */
const countsByItself = (/** @type {string} */ name) => /^(area|ops|app)\//.test(name);

/**
 * The part of a last event id that may be used with other channels than those it was given for.
 * A network's sequence is shared by its channels: its position says nothing about one that is new.
 * @param {string} lastId @param {string[]} channels
 */
export function reusablePositions(lastId, channels) {
  const wanted = new Set(channels);
  const sequenceOf = (/** @type {string} */ position) => position.slice(0, position.lastIndexOf("@"));
  return lastId
    .split(",")
    .filter((position) => countsByItself(position) && wanted.has(sequenceOf(position)))
    .join(",");
}

/** The address of a stream. @param {string[]} channels @param {string} lastId */
export function eventsUrl(channels, lastId = "") {
  const query = new URLSearchParams(channels.map((channel) => ["channel", channel]));
  if (lastId) query.set("last_event_id", lastId);
  return `/events?${query}`;
}

export class Stream {
  /** @param {import("./state.js").Store} store @param {typeof EventSource} Class @param {import("./socket.js").Hooks} hooks */
  constructor(store, Class, hooks) {
    this.name = "events";
    this.store = store;
    this.Class = Class;
    this.hooks = hooks;
    this.lastId = "";
    this.heardAt = 0;
    /** @type {string[]} */
    this.channels = [];
    /** @type {EventSource|null} the one that is read */
    this.source = null;
    /** @type {EventSource|null} the one that takes its place when it answers */
    this.next = null;
  }

  /** The first stream, or one after the last has ended. @param {string[]} channels */
  open(channels) {
    if (channels !== this.channels) this.lastId = reusablePositions(this.lastId, channels);
    if (this.lastId === "") this.lastId = this.#positions(channels);
    this.channels = channels;
    this.#open();
  }

  /** @param {string[]} channels */
  follow(channels) {
    this.channels = channels;
    this.lastId = reusablePositions(this.lastId, channels);
    this.#open();
  }

  close() {
    this.next?.close();
    this.source?.close();
    this.source = this.next = null;
  }

  /** Another transport went on from here: what this one knew is of yesterday. */
  forget() {
    this.lastId = "";
  }

  /** A channel cannot go on from what is held: one request has one position, so all of them start again. */
  restart() {
    this.lastId = "";
    this.close();
    this.hooks.ended({ wasOpen: true, isFinal: false });
  }

  isSilent() {
    return this.source !== null && this.next === null && Date.now() - this.heardAt > SILENCE_MS_MAX;
  }

  /** What a reader over another transport held can be resumed only for channels that count by themselves. @param {string[]} channels */
  #positions(channels) {
    const position = (/** @type {string} */ channel) => {
      const held = this.store.position(channel);
      return held ? [`${channel}@${held.epoch}:${held.offset}`] : [];
    };
    return channels.filter(countsByItself).flatMap(position).join(",");
  }

  /** Opens a stream for the present channels; the old one is read until the new one answers. */
  #open() {
    this.next?.close();
    const source = new this.Class(eventsUrl(this.channels, this.lastId));
    this.next = source;
    source.onopen = () => this.#opened(source);
    source.onmessage = (event) => this.#received(source, event);
    source.onerror = () => this.#failed(source);
  }

  /** @param {EventSource} source */
  #opened(source) {
    if (this.next === source) {
      this.source?.close();
      this.source = source;
      this.next = null;
    }
    this.heardAt = Date.now();
    this.hooks.opened();
  }

  /** @param {EventSource} source @param {MessageEvent} event */
  #received(source, event) {
    if (source !== this.source) return;
    this.heardAt = Date.now();
    const message = JSON.parse(event.data);
    if (!this.channels.includes(message.channel)) return;
    this.lastId = event.lastEventId || this.lastId;
    this.hooks.received(message);
  }

  /** @param {EventSource} source */
  #failed(source) {
    if (source !== this.source && source !== this.next) return;
    const wasOpen = this.source !== null;
    // One that was open the browser opens again by itself, unless it was refused for good.
    if (source === this.source && source.readyState !== 2) return this.hooks.waiting();
    const isTurnedAway = source.readyState === 2;
    this.close();
    this.hooks.ended({ wasOpen, isFinal: false });
    if (isTurnedAway) this.#askWhy();
  }

  /** An EventSource does not say with which answer it was turned away. */
  async #askWhy() {
    const reply = await fetch(eventsUrl(this.channels), { method: "HEAD" }).catch(() => null);
    if (reply && REFUSALS.includes(reply.status)) this.hooks.refused();
  }
}
