import { el } from "../dom.js";

export const title = "Evaluate";

export function mount(container, app) {
  container.append(el("h2", {}, title));
}
