/**
 * The dashboard: the table and the node's figures as they are now, from `ops/feeds` and `ops/node`.
 *
 * Search, filter, order and the rows that are opened stand in the address, in the server's own words
 * (crates/lineside/src/pages/ops). What a row opens to is drawn by the server.
 */
import { DataClock } from "./clock.js";
import { byId, element, island } from "./dom.js";
import { Events } from "./events.js";
import { connectionSign, showState } from "./states.js";
import { ageWords, bytesWords, durationWords, numberWords, reportFigures, seconds, shareWords } from "./words.js";

/** How often what counts down is shown anew, and what is opened is asked for, in milliseconds. */
const TICK_MS = 1_000;
const DETAIL_MS = 2_000;
/** How far back the lines go, in milliseconds, and how large they are drawn. */
const SPAN_MS = 300_000;
const [WIDTH, HEIGHT] = [120, 30];

/** @type {{now: number, channels: string[], rows: number, done: Record<string, string>}} */
const page = island("ops-data");
const clock = new DataClock(page.now);
const rows = byId("ops-rows");
const form = /** @type {HTMLFormElement} */ (document.querySelector("form.ops-search"));
const search = /** @type {HTMLInputElement} */ (byId("q"));
const stateFilter = /** @type {HTMLSelectElement} */ (byId("state"));

/** @typedef {{id: string, record: any}} Feed */
/** @type {Map<string, any>} what each feed's record says */
const feeds = new Map();
/** @type {Map<string, any>} */
const samples = new Map();
let isWhole = false;

const nothing = "–";
const age = (/** @type {any} */ record) => {
  const at = seconds(record.data_time ?? record.last_success);
  return at === null ? null : clock.wall() / 1_000 - at;
};
const untilNext = (/** @type {any} */ record) => {
  const at = seconds(record.next_poll);
  return at === null ? null : at - clock.wall() / 1_000;
};
const share = (/** @type {any} */ record) => (record.fetches.total === 0 ? null : record.fetches.not_modified / record.fetches.total);
/** Whether a report says something of the data. @param {any} report */
const isWord = (report) => report !== null && report.outcome !== "unfinished";
/** How much is wrong with a feed. */
const WRONG = { ok: 0, unknown: 1, empty: 2, late: 3, stale: 4, failing: 5 };

/** What rows are ordered by, and what a cell shows. @type {Record<string, {weight: (feed: Feed) => number|string, words?: (record: any) => string}>} */
const COLUMNS = {
  name: { weight: ({ id, record }) => record.name ?? id },
  state: { weight: ({ record }) => WRONG[/** @type {keyof typeof WRONG} */ (record.state)] ?? 0 },
  report: {
    weight: ({ record: { report } }) => (isWord(report) ? report.errors * 1e9 + report.warnings : -1),
    words: ({ report }) => (report === null ? nothing : reportFigures(report).words),
  },
  next: {
    weight: ({ record }) => seconds(record.next_poll) ?? Infinity,
    words: (record) => {
      const left = untilNext(record);
      if (left === null) return nothing;
      return left < 1 ? "now" : `in ${durationWords(Math.floor(left))}`;
    },
  },
  took: {
    weight: ({ record }) => record.fetches.took?.p99 ?? -1,
    words: ({ fetches: { took } }) => (took ? `${durationWords(took.p50)} · ${durationWords(took.p99)}` : nothing),
  },
  in: { weight: ({ record }) => record.fetches.bytes, words: (record) => bytesWords(record.fetches.bytes) },
  not_modified: { weight: ({ record }) => share(record) ?? -1, words: (record) => (share(record) === null ? nothing : shareWords(share(record) ?? 0)) },
  out: { weight: ({ record }) => record.served.bytes, words: (record) => bytesWords(record.served.bytes) },
  amplification: { weight: ({ record }) => record.amplification ?? -1, words: ({ amplification }) => (amplification === null ? nothing : `${amplification.toFixed(1)} ×`) },
  cache: { weight: ({ record }) => record.cache.bytes, words: (record) => bytesWords(record.cache.bytes) },
  subscribers: { weight: ({ record }) => record.subscribers, words: (record) => numberWords(record.subscribers) },
  lag: {
    weight: ({ record }) => age(record) ?? Infinity,
    words: (record) => {
      const old = age(record);
      return old === null ? "none yet" : ageWords(old);
    },
  },
};

/* ---- what is asked for ------------------------------------------------------------------------ */

const address = new URL(location.href);
/** @type {{column: string, isDown: boolean}|null} */
let sort = readSort(address.searchParams.get("sort") ?? "");
/** @type {Set<string>} */
const opened = new Set([address.searchParams.get("open") ?? ""].filter((id) => id !== ""));

/** @param {string} text */
function readSort(text) {
  const isDown = text.startsWith("-");
  const column = isDown ? text.slice(1) : text;
  return column in COLUMNS ? { column, isDown } : null;
}

function keepInAddress() {
  const url = new URL(location.href);
  const open = [...opened].at(-1);
  const said = { q: search.value.trim(), state: stateFilter.value, sort: sort ? `${sort.isDown ? "-" : ""}${sort.column}` : "", open: open ?? "" };
  for (const [name, value] of Object.entries(said)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url);
}

/** @returns {Feed[]} those asked for, in the order asked for */
function pick() {
  const words = search.value.trim().toLowerCase();
  const state = stateFilter.value;
  const found = [];
  for (const [id, record] of feeds) {
    const isNamed = id.toLowerCase().includes(words) || (record.name ?? "").toLowerCase().includes(words);
    if (isNamed && (state === "" || record.state === state)) found.push({ id, record });
  }
  if (!sort) return found;
  const { weight } = COLUMNS[sort.column];
  const sign = sort.isDown ? -1 : 1;
  return found.sort((a, b) => {
    const [left, right] = [weight(a), weight(b)];
    return left === right ? 0 : sign * (left < right ? -1 : 1);
  });
}

/* ---- the table -------------------------------------------------------------------------------- */

/** The row of a feed, made if there is none. @param {Feed} feed @returns {HTMLElement} */
function rowOf({ id, record }) {
  const known = document.getElementById(`feed-${id}`);
  if (known) return known;
  const template = /** @type {HTMLTemplateElement} */ (byId("ops-row"));
  const row = /** @type {HTMLElement} */ (template.content.firstElementChild?.cloneNode(true));
  row.id = `feed-${id}`;
  row.dataset.feed = id;
  const link = /** @type {HTMLAnchorElement} */ (row.querySelector(".feed-name"));
  link.href = `/feeds/${encodeURIComponent(id)}`;
  link.textContent = record.name ?? id;
  const more = /** @type {HTMLAnchorElement} */ (row.querySelector(".ops-more"));
  more.href = `/ops?open=${encodeURIComponent(id)}#feed-${id}`;
  more.setAttribute("aria-label", `More of ${id}`);
  const edit = /** @type {HTMLAnchorElement|null} */ (row.querySelector(".ops-edit"));
  if (edit) {
    edit.href = `/ops/feeds/${encodeURIComponent(id)}`;
    edit.setAttribute("aria-label", `Edit: ${id}`);
  }
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (row.querySelectorAll("form.ops-act"))) makeAct(form, id, form.dataset.act ?? "");
  row.querySelector(".state")?.setAttribute("data-state-of", id);
  row.querySelector(".cell-state div")?.setAttribute("data-reason-of", id);
  return row;
}

/** @param {HTMLElement} row @param {Feed} feed */
function fill(row, { id, record }) {
  const pause = /** @type {HTMLFormElement|null} */ (row.querySelector('form[data-act="pause"], form[data-act="resume"]'));
  if (pause) makeAct(pause, id, record.paused ? "resume" : "pause");
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll("[data-col]"))) {
    const words = COLUMNS[cell.dataset.col ?? ""]?.words?.(record);
    if (words !== undefined && cell.textContent !== words) cell.textContent = words;
  }
}

/** Puts everything as it is now where it belongs; what stands there already is not touched, so that the focus stays. */
function show() {
  if (!isWhole) return;
  const found = pick();
  const shown = found.slice(0, page.rows);
  /** @type {HTMLElement[]} */
  const wanted = [];
  for (const feed of shown) {
    const row = rowOf(feed);
    wanted.push(row);
    fill(row, feed);
    const sheet = sheets.get(feed.id);
    if (opened.has(feed.id) && sheet) wanted.push(sheet);
  }
  const keep = new Set(wanted);
  for (const row of [...rows.children]) if (!keep.has(/** @type {HTMLElement} */ (row))) row.remove();
  wanted.forEach((row, at) => {
    if (rows.children[at] !== row) rows.insertBefore(row, rows.children[at] ?? null);
  });
  for (const { id, record } of shown) {
    showState(id, record);
    const reason = document.querySelector(`#${CSS.escape(`feed-${id}`)} .cell-state div`);
    if (reason instanceof HTMLElement) {
      reason.hidden = record.state === "ok" && !record.paused;
      if (reason.textContent !== record.reason) reason.textContent = record.reason;
    }
  }
  byId("none").hidden = found.length > 0;
  byId("found").textContent = foundWords(found.length);
  for (const head of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-sort]"))) {
    const isSorted = sort?.column === head.dataset.sort;
    head.setAttribute("aria-sort", isSorted ? (sort?.isDown ? "descending" : "ascending") : "none");
  }
}

/** @param {number} found */
function foundWords(found) {
  const all = `${numberWords(feeds.size)} ${feeds.size === 1 ? "feed" : "feeds"}`;
  if (found > page.rows) return `the first ${page.rows} of ${all}: search for the rest`;
  return found === feeds.size ? all : `${numberWords(found)} of ${all}`;
}

/* ---- what a row opens to ---------------------------------------------------------------------- */

/** @type {Map<string, HTMLElement>} */
const sheets = new Map();
for (const row of /** @type {NodeListOf<HTMLElement>} */ (rows.querySelectorAll("tr.ops-open"))) {
  const id = /** @type {HTMLElement|null} */ (row.querySelector("[data-detail]"))?.dataset.detail;
  if (id) sheets.set(id, row);
}

/** @param {string} id */
async function askFor(id) {
  const reply = await fetch(`/ops/rows/${encodeURIComponent(id)}`);
  if (!reply.ok || !opened.has(id)) return;
  const text = await reply.text();
  let sheet = sheets.get(id);
  if (!sheet) {
    const cell = element("td", { role: "cell", colspan: Object.keys(COLUMNS).length });
    sheet = element("tr.ops-open", { role: "row" }, cell);
    sheets.set(id, sheet);
  }
  const cell = /** @type {HTMLElement} */ (sheet.firstElementChild);
  // The server's own markup, of its own page.
  if (cell.dataset.text !== text) cell.innerHTML = text;
  cell.dataset.text = text;
  show();
}

/** @param {string} id */
function turn(id) {
  if (opened.delete(id)) sheets.delete(id);
  else opened.add(id);
  const more = document.querySelector(`#${CSS.escape(`feed-${id}`)} .ops-more`);
  const isOpen = opened.has(id);
  more?.setAttribute("aria-expanded", String(isOpen));
  const word = isOpen ? "Less" : "More";
  if (more) more.textContent = word;
  more?.setAttribute("aria-label", `${word} of ${id}`);
  keepInAddress();
  show();
  if (isOpen) askFor(id).catch(() => {}); // the server is away, and the sign above says so
}

/* ---- what is done with a feed ----------------------------------------------------------------- */

/** What is being done, so that it is not done twice. @type {Set<string>} */
const underWay = new Set();

/** What each button says. @type {Record<string, string>} */
const ACTS = { poll: "Poll now", pause: "Pause", resume: "Resume" };

/** Makes a button one that does this with this feed; the focus stays on it. @param {HTMLFormElement} form @param {string} id @param {string} act */
function makeAct(form, id, act) {
  const action = `/ops/feeds/${encodeURIComponent(id)}/${act}`;
  if (form.getAttribute("action") === action) return;
  form.setAttribute("action", action);
  form.dataset.act = act;
  const button = /** @type {HTMLElement} */ (form.querySelector("button"));
  button.textContent = ACTS[act];
  button.setAttribute("aria-label", `${ACTS[act]}: ${id}`);
}

/** @param {string} words */
const say = (words) => (byId("said").textContent = words);

/** Does it, and says what came of it; how the feed is then, comes by itself. @param {string} id @param {string} act */
async function carryOut(id, act) {
  const name = `${id}/${act}`;
  if (underWay.has(name)) return;
  underWay.add(name);
  try {
    const reply = await fetch(`/api/v1/admin/feeds/${encodeURIComponent(id)}/${act}`, { method: "POST" });
    if (reply.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    else if (reply.ok) say(page.done[act].replace("{}", id));
    else say(`${id}: ${(await reply.json()).detail}`);
  } catch {
    say(`${id}: the server did not answer.`);
  } finally {
    underWay.delete(name);
  }
}

/** Says that a profile is being recorded, while the page waits for it. @param {HTMLFormElement} form */
function sayRecording(form) {
  say(`Recording for ${new FormData(form).get("seconds")} s. The flame graph comes then.`);
}

/* ---- the node --------------------------------------------------------------------------------- */

/** @type {Record<string, (value: number) => string>} */
const GAUGES = {
  connections: numberWords,
  subscriptions: numberWords,
  deliveries: perSecond,
  delivery_p99: durationWords,
  requests: perSecond,
  memory: bytesWords,
  cpu: (value) => `${shareWords(value)} of a core`,
  mailboxes: numberWords,
};

/** @param {number} value */
function perSecond(value) {
  return value < 100 ? `${value.toFixed(1)} / s` : `${numberWords(Math.round(value))} / s`;
}

function showNode() {
  const all = [...samples.values()].sort((a, b) => a.at - b.at);
  const now = all.at(-1);
  if (!now) return;
  for (const gauge of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-gauge]"))) {
    const name = gauge.dataset.gauge ?? "";
    const words = GAUGES[name];
    if (!words) continue;
    const values = all.filter((sample) => sample[name] !== null).map((sample) => [sample.at, sample[name]]);
    const most = values.reduce((greatest, [, value]) => Math.max(greatest, value), 0);
    const points = values.map(([at, value]) => {
      const x = WIDTH * (1 - (now.at - at) / SPAN_MS);
      const y = HEIGHT - 1 - (HEIGHT - 2) * (value / Math.max(most, Number.MIN_VALUE));
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    gauge.querySelector("polyline")?.setAttribute("points", points.join(" "));
    const shown = gauge.querySelector(".gauge-now");
    if (shown) shown.textContent = now[name] === null ? nothing : words(now[name]);
    const highest = gauge.querySelector(".gauge-most span");
    if (highest) highest.textContent = words(most);
  }
}

/** @param {Record<string, number>} states how many feeds are in each */
function showTally(states) {
  const counts = Object.entries(states).filter(([, n]) => n > 0).map(([state, n]) => `${numberWords(n)} ${state}`);
  if (feeds.size > 0) byId("tally").textContent = `${numberWords(feeds.size)} ${feeds.size === 1 ? "feed" : "feeds"}: ${counts.join(", ")}`;
}

/* ---- as it changes ---------------------------------------------------------------------------- */

const events = new Events({
  // A session is a cookie, which goes along with a request of the event stream and not of a WebSocket's messages.
  socket: null,
  onStatus: connectionSign("live"),
  onChange(_, message) {
    clock.observe(message.data.at);
    feeds.clear();
    for (const { id, record } of events.store.list("feed")) feeds.set(id, record);
    samples.clear();
    for (const { id, record } of events.store.list("sample")) samples.set(id, record);
    isWhole ||= feeds.size > 0;
    show();
    showNode();
    const node = events.store.find({ feed: "", kind: "node", id: "now" });
    if (node) showTally(node.record.feeds);
  },
});
events.follow(page.channels);

setInterval(show, TICK_MS);
setInterval(() => {
  if (document.hidden) return;
  for (const id of opened) askFor(id).catch(() => {}); // as above
}, DETAIL_MS);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  keepInAddress();
  show();
});
for (const field of [search, stateFilter]) {
  field.addEventListener("input", () => {
    keepInAddress();
    show();
  });
}
document.addEventListener("submit", (event) => {
  const sent = /** @type {HTMLFormElement} */ (event.target);
  const feed = /** @type {HTMLElement|null} */ (sent.closest("[data-feed]"))?.dataset.feed;
  if (sent.id === "profile") sayRecording(sent);
  if (!sent.dataset.act || !feed) return;
  event.preventDefault();
  carryOut(feed, sent.dataset.act);
});
document.addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const head = /** @type {HTMLElement|null} */ (link.closest("[data-sort]"));
  if (head) {
    event.preventDefault();
    const column = head.dataset.sort ?? "";
    const isFigure = column !== "name";
    sort = { column, isDown: sort?.column === column ? !sort.isDown : isFigure };
    keepInAddress();
    show();
  } else if (link.classList.contains("ops-more")) {
    event.preventDefault();
    turn(/** @type {HTMLElement} */ (link.closest("[data-feed]")).dataset.feed ?? "");
  }
});
