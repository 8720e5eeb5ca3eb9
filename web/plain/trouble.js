/**
 * A connection's sign that does not call data live while the page has a banner (crates/lineside/src/pages/of_network.rs).
 */
import { DELAYED, connectionSign } from "./states.js";

/**
 * What the sign says in place of "Live": that live data are missing while the page shows a banner, or delayed while a feed's polls
 * fail. A timetable that has ended says nothing of them.
 */
function bannerWords() {
  if (document.querySelector("[data-trouble]:not([hidden])")) return "Live data missing";
  const states = [...document.querySelectorAll("[data-trouble-of] [data-state-of]")];
  return states.some((state) => DELAYED.includes(state.getAttribute("data-state") ?? "")) ? "Live data delayed" : null;
}

/** What is shown of a recording is not live. */
const recordingWords = () => (document.querySelector("[data-recording-of]") ? "Recording" : null);

/** The same for a page with departures, of which a timetable that has ended has none. */
export const departureWords = () => bannerWords() ?? (document.querySelector("[data-expired-of]:not([hidden])") ? "Timetable ended" : recordingWords());

/**
 * Says how the connection is, and while it is open whether what it brings is live.
 * @param {string} id of the element
 * @param {() => string|null} [troubleWords] what it says in place of "Live"; null while live data are live
 */
export function liveSign(id, troubleWords = () => bannerWords() ?? recordingWords()) {
  const showConnection = connectionSign(id, "Live");
  /** @type {[import("./events.js").Status, string]|null} */
  let last = null;
  const update = () => {
    const sign = document.getElementById(id);
    if (!sign || !last) return;
    const trouble = last[0] === "live" ? troubleWords() : null;
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
    /** After a banner was shown or hidden. */
    update,
  };
}
