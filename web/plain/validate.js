/** The upload form: accepts a dropped file and shows the name of the selected one. */

const zone = document.querySelector("[data-drop]");
const input = zone?.querySelector("input[type=file]");

if (zone instanceof HTMLElement && input instanceof HTMLInputElement) {
  const output = document.createElement("output");
  output.htmlFor.add(input.id);
  zone.append(output);
  const show = () => (output.textContent = input.files?.[0] ? `Selected: ${input.files[0].name}` : "");
  input.addEventListener("change", show);
  /** @param {boolean} is */
  const mark = (is) => zone.toggleAttribute("data-over", is);
  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      mark(true);
    });
  }
  zone.addEventListener("dragleave", (event) => {
    if (!(event instanceof DragEvent && event.relatedTarget instanceof Node && zone.contains(event.relatedTarget))) mark(false);
  });
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    const files = event instanceof DragEvent ? event.dataTransfer?.files : undefined;
    if (files?.length) {
      input.files = files;
      show();
    }
  });
}
