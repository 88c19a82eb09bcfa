import { el } from "../dom.js";

export const title = "Tune";

export function mount(container, app) {
  container.append(el("h2", {}, title));
}
