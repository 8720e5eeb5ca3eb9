/** The colours and fonts of the map. */

export const LIGHT = {
  paper: "#f3f1ec", sea: "#cfe0ea", land: "#f3f1ec", water: "#c3d9e6", park: "#dcE8d0", wood: "#cfdfc4", beach: "#f4ead2",
  urban: "#edeae4", meadow: "#eaeedd", port: "#e6e4e1", apron: "#e2e2e2", runway: "#cfd0d1", street: "#ffffff", main: "#ffffff", motorway: "#fbe3b8", casing: "#dedad1", rail: "#c4c0ba", border: "#a9a49c",
  text: "#37434e", textSoft: "#6a747c", waterText: "#4a7793", parkText: "#55714a", halo: "#fbfaf7", lineCasing: "#ffffff", stop: "#ffffff", stopRing: "#37434e", selected: "#0b1c2a", rental: "#6b3fa0", rentalText: "#ffffff",
};
export const DARK = {
  paper: "#161d24", sea: "#11293b", land: "#1a2129", water: "#11283a", park: "#1b2c26", wood: "#182822", beach: "#2a2a25",
  urban: "#1f2730", meadow: "#1b2725", port: "#232b34", apron: "#232b34", runway: "#313b46", street: "#29323c", main: "#323d49", motorway: "#4a4331", casing: "#161c23", rail: "#39444f", border: "#51606d",
  text: "#d5dde4", textSoft: "#93a1ad", waterText: "#7ba6c2", parkText: "#86a88f", halo: "#141a20", lineCasing: "#46525d", stop: "#10161c", stopRing: "#c9d3db", selected: "#ffffff", rental: "#c7a6ff", rentalText: "#1c1030",
};

/** The page's fonts; the browser renders them, so no font server is needed. */
export const FONT = ["Segoe UI", "Inter", "Roboto", "Noto Sans", "sans-serif"];
