// Zoom, search and keyboard navigation for a flame graph that the server has drawn. Each frame's data attributes hold
// its start, width and depth, in samples. This script only moves and marks the frames.
"use strict";
(() => {
  const chart = document.getElementById("chart");
  if (!chart) return;
  const status = document.getElementById("said");
  const field = document.getElementById("search");
  const all = { start: 0, count: Number(chart.dataset.samples), depth: -1 };
  const frames = Array.from(chart.querySelectorAll(".f"), (element) => ({
    element,
    start: Number(element.dataset.s),
    count: Number(element.dataset.n),
    depth: Number(element.dataset.d),
    name: element.querySelector("text").textContent,
    words: element.querySelector("title").textContent,
  }));
  const byElement = new Map(frames.map((frame) => [frame.element, frame]));
  let shown = all;

  const holds = (outer, inner) =>
    outer.start <= inner.start && inner.start + inner.count <= outer.start + outer.count;
  const share = (count) => `${((count * 100) / (all.count || 1)).toFixed(1)} %`;

  // The callers of the zoomed frame take the full width, and frames outside of its stack are hidden.
  function zoom(to) {
    shown = to;
    for (const frame of frames) {
      const above = frame.depth < to.depth && holds(frame, to);
      const within = frame.depth >= to.depth && holds(to, frame);
      frame.element.style.display = above || within ? "" : "none";
      const start = above ? 0 : (frame.start - to.start) / (to.count || 1);
      const width = above ? 1 : frame.count / (to.count || 1);
      frame.element.setAttribute("x", `${start * 100}%`);
      frame.element.setAttribute("width", `${width * 100}%`);
    }
    document.getElementById("whole").disabled = to === all;
  }

  function focus(frame) {
    if (!frame) return;
    for (const other of chart.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", "-1");
    frame.element.setAttribute("tabindex", "0");
    frame.element.focus();
    status.textContent = frame.words;
  }

  // A match within another match is counted once.
  function search() {
    const text = field.value.trim().toLowerCase();
    let until = 0;
    let count = 0;
    for (const frame of [...frames].sort((a, b) => a.start - b.start || a.depth - b.depth)) {
      const found = text !== "" && frame.name.toLowerCase().includes(text);
      frame.element.classList.toggle("found", found);
      if (found && frame.start >= until) {
        count += frame.count;
        until = frame.start + frame.count;
      }
    }
    status.textContent = text === "" ? "" : `${share(count)} of the time is in ${field.value.trim()}`;
  }

  const visible = (frame) => frame.element.style.display !== "none";
  const next = {
    ArrowUp: (at) => frames.find((it) => it.depth === at.depth - 1 && holds(it, at)),
    ArrowDown: (at) => frames.find((it) => it.depth === at.depth + 1 && holds(at, it) && visible(it)),
    ArrowRight: (at) =>
      frames.find((it) => it.depth === at.depth && it.start >= at.start + at.count && visible(it)),
    ArrowLeft: (at) =>
      frames.findLast((it) => it.depth === at.depth && it.start + it.count <= at.start && visible(it)),
  };

  chart.addEventListener("click", (event) => {
    const frame = byElement.get(event.target.closest(".f"));
    if (!frame) return;
    zoom(frame);
    focus(frame);
  });
  chart.addEventListener("mouseover", (event) => {
    const frame = byElement.get(event.target.closest(".f"));
    if (frame) status.textContent = frame.words;
  });
  chart.addEventListener("keydown", (event) => {
    const at = byElement.get(event.target.closest(".f"));
    if (!at) return;
    if (event.key === "Enter" || event.key === " ") zoom(at);
    else if (next[event.key]) focus(next[event.key](at));
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") zoom(all);
    if (event.key === "/" && event.target !== field) {
      event.preventDefault();
      field.focus();
    }
  });
  field.addEventListener("input", search);
  document.getElementById("whole").addEventListener("click", () => zoom(all));
  for (const { element, words } of frames) {
    element.setAttribute("role", "button");
    element.setAttribute("aria-label", words);
    element.setAttribute("tabindex", "-1");
  }
  frames[0]?.element.setAttribute("tabindex", "0");
  document.getElementById("bar").hidden = false;
  zoom(shown);
})();
