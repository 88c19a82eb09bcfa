// Elements are made one by one, and text goes into text nodes. Nothing is ever parsed as markup.

/**
 * Make an element.
 *
 * @param {string} tag
 * @param {Object} [properties] DOM properties; `class`; `data` and `aria` with mappings; `role`; `style`, a mapping of
 *   CSS properties; `on`, a mapping of events to functions. `href` and `src` must be addresses on this server.
 * @param {...(Node|string|number|null|undefined|Array)} children Strings become text.
 */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...flat(children));
  return element;
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

/** Return a link to another site, or plain text if the address isn't one of the web. */
export function externalLink(address, text = address) {
  let url;
  try { url = new URL(address); } catch { return document.createTextNode(text); }
  if (!["http:", "https:"].includes(url.protocol)) return document.createTextNode(text);
  const link = el("a", { title: url.href }, text);
  link.href = url.href;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  return link;
}

function set(element, name, value) {
  if (value === null || value === undefined) return;
  if (name === "class") element.className = value;
  else if (name === "data") Object.assign(element.dataset, value);
  else if (name === "aria") for (const [key, each] of Object.entries(value)) element.setAttribute(`aria-${key}`, each);
  else if (name === "role") element.setAttribute("role", value);
  else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
  else if (name === "on") listen(element, value);
  else if (name === "href" || name === "src") element[name] = own(value);
  else if (name in element && !/HTML|^on|^srcdoc$/.test(name)) element[name] = value;
  else throw new Error(`no property ${name}`);
}

function own(address) {
  const url = new URL(address, location.href);
  if (url.origin !== location.origin && url.protocol !== "blob:") throw new Error("an address of another server");
  return url.href;
}

function listen(element, handlers) {
  for (const [event, handler] of Object.entries(handlers)) element.addEventListener(event, handler);
}

function flat(children) {
  return children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== false)
    .map((each) => (each instanceof Node ? each : String(each)));
}
