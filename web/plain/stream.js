/**
 * One `/events` connection: the messages as server-sent events, for networks that block WebSockets.
 *
 * The browser's EventSource reconnects after a lost connection and sends the last event id. This
 * class adds changes of the channels without an interruption, and a restart for lost channels.
 */

/** Silence after which the connection counts as lost: seven heartbeats of the server. */
const SILENCE_MS_MAX = 180_000;

/** Statuses of requests with a missing or insufficient token. */
const REFUSALS = [401, 403];

/** Returns true for channels with a sequence of their own, whose position alone identifies a client's state. */
const hasOwnSequence = (/** @type {string} */ name) => /^(area|ops|app)\//.test(name);

/**
 * Returns the part of a last event id that is valid for another set of channels. The channels of a
 * network share one sequence, so their position says nothing about a channel that is new.
 * @param {string} lastId @param {string[]} channels
 */
export function reusablePositions(lastId, channels) {
  const wanted = new Set(channels);
  const sequenceOf = (/** @type {string} */ position) => position.slice(0, position.lastIndexOf("@"));
  return lastId
    .split(",")
    .filter((position) => hasOwnSequence(position) && wanted.has(sequenceOf(position)))
    .join(",");
}

/** Returns the address of a stream. @param {string[]} channels @param {string} lastId */
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
    /** @type {EventSource|null} the active stream */
    this.source = null;
    /** @type {EventSource|null} the stream that replaces the active one once it is open */
    this.next = null;
  }

  /** Opens the first stream, or a new one after the last has ended. @param {string[]} channels */
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

  /** Discards the last event id, because another transport has continued from there. */
  forget() {
    this.lastId = "";
  }

  /** Restarts all channels because one cannot continue: a request has one position for all of them. */
  restart() {
    this.lastId = "";
    this.close();
    this.hooks.ended({ wasOpen: true, isFinal: false });
  }

  isSilent() {
    return this.source !== null && this.next === null && Date.now() - this.heardAt > SILENCE_MS_MAX;
  }

  /** Returns the positions known from another transport; only channels with a sequence of their own can use them. @param {string[]} channels */
  #positions(channels) {
    const position = (/** @type {string} */ channel) => {
      const held = this.store.position(channel);
      return held ? [`${channel}@${held.epoch}:${held.offset}`] : [];
    };
    return channels.filter(hasOwnSequence).flatMap(position).join(",");
  }

  /** Opens a stream for the current channels; the old stream stays active until the new one is open. */
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
    // The browser reopens a stream that was open, unless its state is CLOSED (2).
    if (source === this.source && source.readyState !== 2) return this.hooks.waiting();
    const isTurnedAway = source.readyState === 2;
    this.close();
    this.hooks.ended({ wasOpen, isFinal: false });
    if (isTurnedAway) this.#checkRefusal();
  }

  /** Requests the stream's address to learn the status, which an EventSource does not expose. */
  async #checkRefusal() {
    const reply = await fetch(eventsUrl(this.channels), { method: "HEAD" }).catch(() => null);
    if (reply && REFUSALS.includes(reply.status)) this.hooks.refused();
  }
}
