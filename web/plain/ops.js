/**
 * The dashboard: updates the list of feeds and the server's tiles from `ops/feeds` and `ops/node`.
 *
 * Search, filter, order, page and open rows are in the address, with the server's parameter names
 * (crates/lineside-pages/src/ops). The server renders the details of a row, and tiles for ranges over five minutes.
 */
import { DataClock } from "./clock.js";
import { byId, carryParameters, element, island } from "./dom.js";
import { Events } from "./events.js";
import { connectionSign, showRecordedDay, showState } from "./states.js";
import { ageWords, bytesWords, decimalWords, durationWords, numberWords, reportFigures, seconds, shareWords } from "./words.js";

/** Intervals at which countdowns are updated, and open rows and longer ranges fetched, in milliseconds. */
const TICK_MS = 1_000;
const DETAIL_MS = 2_000;
const TILES_MS = 30_000;
/** The range that is drawn live, in milliseconds, and the size of a plot in SVG units. */
const SPAN_MS = 300_000;
const LIVE_RANGE = "5m";
const [WIDTH, HEIGHT] = [120, 30];
/** A threshold is drawn if it is at most this many times the greatest value. */
const THRESHOLD_DRAWN = 2;

/** @type {{now: number, channels: string[], rows: number, range: string, tiles: string, done: Record<string, string>}} */
const page = island("ops-data");
const clock = new DataClock(page.now);
const rows = byId("ops-rows");
const form = /** @type {HTMLFormElement} */ (document.querySelector("form.ops-search"));
const search = /** @type {HTMLInputElement} */ (byId("q"));
const stateFilter = /** @type {HTMLSelectElement} */ (byId("state"));

/** @typedef {{id: string, record: any}} Feed */
/** @type {Map<string, any>} records by feed */
const feeds = new Map();
/** @type {Map<string, any>} */
const samples = new Map();
let isWhole = false;

const nothing = "–";
const age = (/** @type {any} */ record) => {
  const at = seconds(record.data_time ?? record.last_success);
  return at === null ? null : clock.wall() / 1_000 - at - (record.data_time ? (record.recorded_seconds_ago ?? 0) : 0);
};
const untilNext = (/** @type {any} */ record) => {
  const at = seconds(record.next_poll);
  return at === null ? null : at - clock.wall() / 1_000;
};
/** Returns true if a report has a result. @param {any} report */
const hasResult = (report) => report !== null && report.outcome !== "unfinished";
/** Severities of the states. */
const SEVERITY = { ok: 0, unknown: 1, paused: 2, empty: 3, late: 4, stale: 5, expired: 6, failing: 7 };

/** Sort keys and cell texts of the columns. @type {Record<string, {weight: (feed: Feed) => number|string, words?: (record: any) => string}>} */
const COLUMNS = {
  name: { weight: ({ id, record }) => record.name ?? id },
  state: { weight: ({ record }) => SEVERITY[/** @type {keyof typeof SEVERITY} */ (record.state)] ?? 0 },
  report: {
    weight: ({ record: { report } }) => (hasResult(report) ? report.errors * 1e9 + report.warnings : -1),
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
  out: { weight: ({ record }) => record.served.bytes, words: (record) => bytesWords(record.served.bytes) },
  amplification: { weight: ({ record }) => record.amplification ?? -1, words: ({ amplification }) => (amplification === null ? nothing : `${decimalWords(amplification)} ×`) },
  subscribers: { weight: ({ record }) => record.subscribers, words: (record) => numberWords(record.subscribers) },
  lag: {
    weight: ({ record }) => age(record) ?? Infinity,
    words: (record) => {
      const old = age(record);
      if (old === null) return "none yet";
      return record.data_time ? ageWords(old) : `fetched ${ageWords(old)}`;
    },
  },
};

/* ---- the address ------------------------------------------------------------------------------ */

const address = new URL(location.href);
/** The default order: feeds in trouble first. */
const TROUBLE_FIRST = { column: "state", isDown: true };
/** @type {{column: string, isDown: boolean}} */
let sort = readSort(address.searchParams.get("sort") ?? "") ?? TROUBLE_FIRST;
/** The page of the list, from 1. */
let pageNumber = Math.max(1, Number.parseInt(address.searchParams.get("page") ?? "1", 10) || 1);
/** @type {Set<string>} */
const opened = new Set([address.searchParams.get("open") ?? ""].filter((id) => id !== ""));

/** @param {string} text */
function readSort(text) {
  const isDown = text.startsWith("-");
  const column = isDown ? text.slice(1) : text;
  return column in COLUMNS ? { column, isDown } : null;
}

function writeAddress() {
  const url = new URL(location.href);
  const open = [...opened].at(-1);
  const isUsual = sort.column === TROUBLE_FIRST.column && sort.isDown === TROUBLE_FIRST.isDown;
  const values = {
    q: search.value.trim(),
    state: stateFilter.value,
    sort: isUsual ? "" : `${sort.isDown ? "-" : ""}${sort.column}`,
    page: pageNumber > 1 ? String(pageNumber) : "",
    open: open ?? "",
  };
  for (const [name, value] of Object.entries(values)) {
    if (value) url.searchParams.set(name, value);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url);
  carryParameters(".ranges a", ["q", "state", "sort", "page", "open"]);
  // The list of another state begins at its first page, with its rows closed.
  carryParameters("#tally a", ["q", "sort", "range"]);
}

/** @returns {Feed[]} the feeds that match search and filter, sorted */
function pick() {
  const words = search.value.trim().toLowerCase();
  const state = stateFilter.value;
  const found = [];
  for (const [id, record] of feeds) {
    const isNamed = id.toLowerCase().includes(words) || (record.name ?? "").toLowerCase().includes(words);
    if (isNamed && (state === "" || record.state === state)) found.push({ id, record });
  }
  const compare = (/** @type {number|string} */ left, /** @type {number|string} */ right) => (left === right ? 0 : left < right ? -1 : 1);
  const { weight } = COLUMNS[sort.column];
  const sign = sort.isDown ? -1 : 1;
  return found.sort((a, b) => sign * compare(weight(a), weight(b)) || compare(COLUMNS.name.weight(a), COLUMNS.name.weight(b)));
}

/* ---- the table -------------------------------------------------------------------------------- */

/** Returns the row of a feed, and creates it if there is none. @param {Feed} feed @returns {HTMLElement} */
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
  link.title = id;
  const more = /** @type {HTMLAnchorElement} */ (row.querySelector(".ops-more"));
  more.href = `/ops?open=${encodeURIComponent(id)}#feed-${id}`;
  more.setAttribute("aria-label", `More about ${id}`);
  const edit = /** @type {HTMLAnchorElement|null} */ (row.querySelector(".ops-edit"));
  if (edit) {
    edit.href = `/ops/feeds/${encodeURIComponent(id)}`;
    edit.setAttribute("aria-label", `Edit: ${id}`);
  }
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (row.querySelectorAll("form.ops-act"))) setAction(form, id, form.dataset.act ?? "");
  row.querySelector(".state")?.setAttribute("data-state-of", id);
  row.querySelector(".reason")?.setAttribute("data-reason-of", id);
  row.querySelector(".service-tag")?.setAttribute("data-service-of", id);
  return row;
}

/** @param {HTMLElement} row @param {Feed} feed */
function fill(row, { id, record }) {
  const pause = /** @type {HTMLFormElement|null} */ (row.querySelector('form[data-act="pause"], form[data-act="resume"]'));
  if (pause) setAction(pause, id, record.paused ? "resume" : "pause");
  for (const cell of /** @type {NodeListOf<HTMLElement>} */ (row.querySelectorAll("[data-col]"))) {
    const words = COLUMNS[cell.dataset.col ?? ""]?.words?.(record);
    if (words !== undefined && cell.textContent !== words) cell.textContent = words;
  }
  const report = /** @type {HTMLElement|null} */ (row.querySelector('[data-col="report"]'));
  if (report && record.report) report.dataset.verdict = reportFigures(record.report).verdict;
  showRecordedDay(row, record.recorded_day);
}

/** Updates the table. Rows that are already in place are not moved, so that the focus stays. */
function show() {
  if (!isWhole) return;
  const found = pick();
  const pages = Math.max(1, Math.ceil(found.length / page.rows));
  const current = Math.min(pageNumber, pages);
  const first = (current - 1) * page.rows;
  const shown = found.slice(first, first + page.rows);
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
    const reason = document.querySelector(`#${CSS.escape(`feed-${id}`)} .reason`);
    if (reason instanceof HTMLElement) {
      reason.hidden = record.state === "ok";
      if (reason.textContent !== record.reason) reason.textContent = record.reason;
      if (reason.title !== record.reason) reason.title = record.reason;
    }
  }
  byId("none").hidden = found.length > 0;
  byId("found").textContent = foundWords(found.length, first);
  showPager(current, pages);
  for (const head of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-sort]"))) {
    const isSorted = sort.column === head.dataset.sort;
    head.setAttribute("aria-sort", isSorted ? (sort.isDown ? "descending" : "ascending") : "none");
  }
}

/** Returns a text such as "1 to 50 of 120 feeds". @param {number} found @param {number} first */
function foundWords(found, first) {
  const all = `${numberWords(feeds.size)} ${feeds.size === 1 ? "feed" : "feeds"}`;
  if (found <= page.rows) return found === feeds.size ? all : `${numberWords(found)} of ${all}`;
  const last = Math.min(first + page.rows, found);
  return `${numberWords(first + 1)} to ${numberWords(last)} of ${found === feeds.size ? all : `${numberWords(found)} matching`}`;
}

/** @param {number} current @param {number} pages */
function showPager(current, pages) {
  const pager = byId("pager");
  pager.hidden = pages < 2;
  byId("page-words").textContent = `Page ${current} of ${pages}`;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (pager.querySelectorAll("[data-page]"))) {
    const to = link.dataset.page === "next" ? current + 1 : current - 1;
    link.hidden = to < 1 || to > pages;
    const url = new URL(location.href);
    url.searchParams.set("page", String(to));
    link.href = url.pathname + url.search;
  }
}

/* ---- details of a row ------------------------------------------------------------------------- */

/** @type {Map<string, HTMLElement>} */
const sheets = new Map();
for (const row of /** @type {NodeListOf<HTMLElement>} */ (rows.querySelectorAll("tr.ops-open"))) {
  const id = /** @type {HTMLElement|null} */ (row.querySelector("[data-detail]"))?.dataset.detail;
  if (id) sheets.set(id, row);
}

/** @param {string} id */
async function fetchDetails(id) {
  const reply = await fetch(`/ops/rows/${encodeURIComponent(id)}`);
  if (!reply.ok || !opened.has(id)) return;
  const text = await reply.text();
  let sheet = sheets.get(id);
  if (!sheet) {
    const cell = element("td", { role: "cell", colspan: document.querySelectorAll("#ops thead th").length });
    sheet = element("tr.ops-open", { role: "row" }, cell);
    sheets.set(id, sheet);
  }
  const cell = /** @type {HTMLElement} */ (sheet.firstElementChild);
  // The markup comes from this server, so it is safe to insert.
  if (cell.dataset.text !== text) cell.innerHTML = text;
  cell.dataset.text = text;
  show();
}

/** @param {string} id */
function toggleDetails(id) {
  if (opened.delete(id)) sheets.delete(id);
  else opened.add(id);
  const more = document.querySelector(`#${CSS.escape(`feed-${id}`)} .ops-more`);
  const isOpen = opened.has(id);
  more?.setAttribute("aria-expanded", String(isOpen));
  const word = isOpen ? "Less" : "More";
  more?.setAttribute("aria-label", `${word} about ${id}`);
  if (more) more.textContent = word;
  writeAddress();
  show();
  if (isOpen) fetchDetails(id).catch(() => {}); // the server is unreachable; the status above shows it
}

/* ---- actions on a feed ------------------------------------------------------------------------ */

/** Pending actions; an action is not sent twice at once. @type {Set<string>} */
const pending = new Set();

/** Labels of the buttons. @type {Record<string, string>} */
const ACTS = { poll: "Poll now", pause: "Pause", resume: "Resume" };

/** Sets a button's action and feed; the focus stays on the button. @param {HTMLFormElement} form @param {string} id @param {string} act */
function setAction(form, id, act) {
  const action = `/ops/feeds/${encodeURIComponent(id)}/${act}`;
  if (form.getAttribute("action") === action) return;
  form.setAttribute("action", action);
  form.dataset.act = act;
  const button = /** @type {HTMLElement} */ (form.querySelector("button"));
  button.textContent = ACTS[act];
  button.setAttribute("aria-label", `${ACTS[act]}: ${id}`);
}

/** @param {string} words */
const showResult = (words) => (byId("said").textContent = words);

/** Carries out an action and shows its result. The feed's new state arrives over the channel. @param {string} id @param {string} act */
async function carryOut(id, act) {
  const name = `${id}/${act}`;
  if (pending.has(name)) return;
  pending.add(name);
  try {
    const reply = await fetch(`/api/v1/admin/feeds/${encodeURIComponent(id)}/${act}`, { method: "POST" });
    if (reply.status === 401) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    else if (reply.ok) showResult(page.done[act].replace("{}", id));
    else showResult(`${id}: ${(await reply.json()).detail}`);
  } catch {
    showResult(`${id}: the server did not answer.`);
  } finally {
    pending.delete(name);
  }
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
  cpu: (value) => (value < 1 ? shareWords(value) : `${value.toFixed(1)} cores`),
  mailboxes: numberWords,
};

/** @param {number} value */
function perSecond(value) {
  return value < 100 ? `${value.toFixed(1)} / s` : `${numberWords(Math.round(value))} / s`;
}

/** @param {HTMLElement} tile @param {Array<[number, number]>} values times and values @param {number} now */
function drawLine(tile, values, now) {
  const plot = /** @type {SVGElement|null} */ (tile.querySelector(".spark"));
  const words = GAUGES[tile.dataset.gauge ?? ""];
  if (!plot || !words) return;
  const peak = values.reduce((greatest, [, value]) => Math.max(greatest, value), 0);
  const threshold = Number(tile.dataset.threshold ?? NaN);
  const isDrawn = threshold <= peak * THRESHOLD_DRAWN;
  const top = Math.max(isDrawn ? threshold : 0, peak, Number.MIN_VALUE);
  const y = (/** @type {number} */ value) => (HEIGHT - 1 - (HEIGHT - 2) * (value / top)).toFixed(1);
  const points = values.map(([at, value]) => `${(WIDTH * (1 - (now - at) / SPAN_MS)).toFixed(1)},${y(value)}`);
  plot.querySelector("polyline")?.setAttribute("points", points.join(" "));
  plot.dataset.points = JSON.stringify(values);
  plot.querySelector(".threshold")?.setAttribute("visibility", isDrawn ? "visible" : "hidden");
  for (const end of ["y1", "y2"]) plot.querySelector(".threshold")?.setAttribute(end, y(isDrawn ? threshold : 0));
  const highest = tile.querySelector(".gauge-most span");
  if (highest) highest.textContent = words(peak).replace("< ", "under ");
  const scale = tile.querySelector(".plot-top");
  if (scale) scale.textContent = words(isDrawn ? top : peak);
}

function showNode() {
  const all = [...samples.values()].sort((a, b) => a.at - b.at);
  const now = all.at(-1);
  if (!now) return;
  for (const tile of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-gauge]"))) {
    const name = tile.dataset.gauge ?? "";
    const words = GAUGES[name];
    if (!words) continue;
    const shown = tile.querySelector(".gauge-now");
    if (shown) shown.textContent = now[name] === null ? nothing : words(now[name]);
    tile.toggleAttribute("data-over", now[name] !== null && now[name] >= Number(tile.dataset.threshold ?? Infinity));
    if (page.range !== LIVE_RANGE) continue;
    drawLine(tile, all.filter((sample) => sample[name] !== null).map((sample) => [sample.at, sample[name]]), now.at);
  }
}

/** Fetches the tiles of a longer range, which the server renders. */
async function fetchTiles() {
  if (page.range === LIVE_RANGE || document.hidden) return;
  const reply = await fetch(`${page.tiles}?range=${encodeURIComponent(page.range)}`);
  // The markup comes from this server, so it is safe to insert.
  if (reply.ok) byId("gauges").innerHTML = await reply.text();
}

const timeFormat = new Intl.DateTimeFormat("en-GB", { weekday: page.range === "1w" ? "short" : undefined, hour: "2-digit", minute: "2-digit", second: page.range === LIVE_RANGE ? "2-digit" : undefined, hourCycle: "h23", timeZone: "UTC" });

/** Shows the value of a plot at the pointer. @param {PointerEvent} event */
function showValue(event) {
  const plot = event.target instanceof Element ? /** @type {HTMLElement|null} */ (event.target.closest(".plot")) : null;
  for (const other of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".plot-value:not([hidden])"))) {
    if (other.parentElement !== plot) other.hidden = true;
  }
  const spark = /** @type {SVGElement|null|undefined} */ (plot?.querySelector(".spark"));
  const tile = /** @type {HTMLElement|null|undefined} */ (plot?.closest("[data-gauge]"));
  if (!plot || !spark || !tile) return;
  /** @type {Array<[number, number]>} */
  const values = JSON.parse(spark.dataset.points || "[]");
  const last = values.at(-1);
  if (!last) return;
  const box = spark.getBoundingClientRect();
  const length = Number(byId("gauges").dataset.length);
  const at = clock.wall() - length * (1 - (event.clientX - box.left) / Math.max(1, box.width));
  const nearest = values.reduce((best, value) => (Math.abs(value[0] - at) < Math.abs(best[0] - at) ? value : best), last);
  const shown = /** @type {HTMLElement} */ (plot.querySelector(".plot-value"));
  shown.textContent = `${GAUGES[tile.dataset.gauge ?? ""](Math.round(nearest[1] * 1_000) / 1_000)} at ${timeFormat.format(nearest[0])}`;
  shown.hidden = false;
}
document.addEventListener("pointermove", showValue);
document.addEventListener("pointerdown", showValue);

/** @param {Record<string, number>} states number of feeds by state */
function showTally(states) {
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-tally]"))) {
    const n = states[item.dataset.tally ?? ""] ?? 0;
    item.hidden = n === 0;
    const count = item.querySelector("b");
    if (count) count.textContent = numberWords(n);
  }
}

/* ---- live updates ----------------------------------------------------------------------------- */

const events = new Events({
  // The session is a cookie. The server reads it from the request of an event stream, and not from a WebSocket's messages.
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
setInterval(() => fetchTiles().catch(() => {}), TILES_MS); // the server is unreachable; the status above shows it
setInterval(() => {
  if (document.hidden) return;
  for (const id of opened) fetchDetails(id).catch(() => {}); // as above
}, DETAIL_MS);

form.addEventListener("submit", (event) => {
  event.preventDefault();
  pageNumber = 1;
  writeAddress();
  show();
});
for (const field of [search, stateFilter]) {
  field.addEventListener("input", () => {
    pageNumber = 1;
    writeAddress();
    show();
  });
}
document.addEventListener("submit", (event) => {
  const sent = /** @type {HTMLFormElement} */ (event.target);
  const feed = /** @type {HTMLElement|null} */ (sent.closest("[data-feed]"))?.dataset.feed;
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
    sort = { column, isDown: sort.column === column ? !sort.isDown : column !== "name" };
    pageNumber = 1;
    writeAddress();
    show();
  } else if (link.dataset.page) {
    event.preventDefault();
    pageNumber += link.dataset.page === "next" ? 1 : -1;
    writeAddress();
    show();
    byId("ops-title").scrollIntoView({ block: "start" });
  } else if (link.classList.contains("ops-more")) {
    event.preventDefault();
    toggleDetails(/** @type {HTMLElement} */ (link.closest("[data-feed]")).dataset.feed ?? "");
  }
});
