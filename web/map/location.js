/** The reader's location: asks the browser for it, explains failures, and shows a dot on the map. */
import { Marker } from "maplibre-gl";
import { byId, element } from "../plain/dom.js";
import { distanceWords } from "./find.js";

/** Timeouts for the browser's answer, in milliseconds: on the reader's request, and when the page opens. */
const ASKED_MS = 10_000;
const UNASKED_MS = 1_500;
/** Maximum age of a position, in milliseconds. */
const AGE_MS = 60_000;

/** @typedef {import("./regions.js").Place} Place */

/** Returns advice for a reader whose location is not available. @param {number|null} code of GeolocationPositionError */
export function adviceFor(code) {
  if (code === 1) return "We couldn't get your location. Allow location access for this site in your browser, then try again.";
  if (code === 3) return "Finding your location took too long. Try again, or search for a stop.";
  if (code === 2) return "Your device doesn't know its location right now. Try again, or search for a stop.";
  return "This browser has no location service. Search for a stop instead.";
}

const ADVICE_INSECURE = "Browsers share your location only with pages loaded over https. Open this page over https, or search for a stop.";

/** @param {PositionOptions} options @returns {Promise<Place>} */
const position = (options) =>
  new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(({ coords: { longitude, latitude } }) => resolve({ longitude, latitude }), reject, options));

/** Returns the location if the reader has already granted permission, and never asks for it. @returns {Promise<Place|null>} */
export async function grantedPlace() {
  try {
    const { state } = await navigator.permissions.query({ name: "geolocation" });
    if (state !== "granted") return null;
    const late = new Promise((resolve) => setTimeout(() => resolve(null), UNASKED_MS));
    return await /** @type {Promise<Place|null>} */ (Promise.race([position({ timeout: UNASKED_MS, maximumAge: 10 * AGE_MS }), late]));
  } catch {
    return null;
  }
}

export class Location {
  /** @type {Place|null} the last known location */
  place = null;
  /** @type {Marker|null} */
  #dot = null;

  /** Asks the browser for the location, and shows the reason of a failure next to the button. @returns {Promise<Place|null>} */
  async ask() {
    this.say("");
    if (!isSecureContext) return this.say(ADVICE_INSECURE);
    if (!("geolocation" in navigator)) return this.say(adviceFor(null));
    try {
      this.place = await position({ timeout: ASKED_MS, maximumAge: AGE_MS });
    } catch (error) {
      return this.say(adviceFor(/** @type {GeolocationPositionError} */ (error).code ?? null));
    }
    return this.place;
  }

  /** @param {string} text an empty text hides the note @param {...Node} more @returns {null} */
  say(text, ...more) {
    const note = byId("locate-note");
    note.replaceChildren(text, ...more);
    note.hidden = text === "";
    return null;
  }

  /** Says that no network is near, and offers the nearest one. @param {string} name of the nearest network @param {number} meters to it @param {() => void} go shows it */
  offerNearest(name, meters, go) {
    const leave = () => {
      this.say("");
      go();
    };
    return this.say("No network within 100 km of you; nearest: ", element("button.link.target", { type: "button", "data-nearest": "", onclick: leave }, name), document.createTextNode(`, ${distanceWords(meters)} away`));
  }

  /** @param {import("maplibre-gl").Map} map */
  showDot(map) {
    if (!this.place) return;
    this.#dot ??= new Marker({ element: element("span.here", { role: "img", "aria-label": "Your location" }) });
    this.#dot.setLngLat([this.place.longitude, this.place.latitude]).addTo(map);
  }
}
