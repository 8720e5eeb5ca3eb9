/**
 * A connection status that does not say "Live" while the page shows a banner (crates/lineside-pages/src/network_page.rs).
 */
import { DELAYED, connectionSign } from "./states.js";

/**
 * Returns the text to show instead of "Live": live data are missing while the page shows a banner, or delayed while a feed's
 * polls fail. An ended timetable says nothing about live data.
 */
function bannerWords() {
  if (document.querySelector("[data-trouble]:not([hidden])")) return "Live data missing";
  const states = [...document.querySelectorAll("[data-trouble-of] [data-state-of]")];
  return states.some((state) => DELAYED.includes(state.getAttribute("data-state") ?? "")) ? "Live data delayed" : null;
}

/** The text for a page of a recording. */
const RECORDING = "Recording";
/** The text for a page without departures because its timetable has ended. */
const ENDED = "Timetable ended";

/** Returns the text for a page of a recording. */
const recordingWords = () => (document.querySelector("[data-recording-of]") ? RECORDING : null);

/** Returns true if the timetable has ended and the page shows no departure and no vehicle. */
const isEnded = () => document.querySelector("[data-expired-of]") !== null && !document.querySelector(".board [data-trip], .vehicle");

/** Returns the text for a page with departures: without live data, an ended timetable has none. */
export const departureWords = () => bannerWords() ?? (isEnded() ? ENDED : recordingWords());

/**
 * Returns a status that shows the connection's state and, while it is open, whether the data are live.
 * @param {string} id of the element
 * @param {() => string|null} [troubleWords] returns the text to show instead of "Live"; null if the data are live
 */
export function liveSign(id, troubleWords = () => bannerWords() ?? recordingWords()) {
  const showConnection = connectionSign(id, "Live");
  /** @type {[import("./events.js").Status, string]|null} */
  let last = null;
  const update = () => {
    const sign = document.getElementById(id);
    if (!sign || !last) return;
    const trouble = last[0] === "live" ? troubleWords() : null;
    // A tag beside the status may already say that the page shows a recording, and the banner that the timetable has ended.
    const isTagged = trouble === RECORDING && sign.parentElement?.querySelector("[data-recording-of]") !== null;
    sign.hidden = isTagged || (trouble === ENDED && document.querySelector("[data-expired-of]:not([hidden])") !== null);
    if (trouble !== null) {
      sign.dataset.transport = last[1];
      sign.dataset.status = "stale";
      if (sign.textContent !== trouble) sign.textContent = trouble;
    } else {
      showConnection(...last);
    }
  };
  return {
    /** @param {import("./events.js").Status} status @param {string} transport */
    show(status, transport) {
      last = [status, transport];
      update();
    },
    /** Call it after a banner was shown or hidden. */
    update,
  };
}
