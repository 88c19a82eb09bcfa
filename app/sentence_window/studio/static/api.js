// Calls of the server. A refusal, or an error, is thrown as an `ApiError` with a message to show.

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Call with `GET`; arguments that are null or undefined are left out. */
export function get(path, given = {}, { signal } = {}) {
  return answered(fetch(address(path, given), { signal }));
}

/** Call with `POST` and JSON. */
export function post(path, given = {}, { signal } = {}) {
  return answered(fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given), signal }));
}

/** Call with `POST` and the bytes of a file. */
export function send(path, given, file, { signal } = {}) {
  const headers = { "Content-Type": "application/octet-stream" };
  return answered(fetch(address(path, given), { method: "POST", headers, body: file, signal }));
}

/** Call with `POST` and JSON, and pass on each event of the answer as it comes. */
export async function stream(path, given, onEvent, { signal } = {}) {
  const response = await checked(await reached(fetch(path, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given), signal,
  })));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : lines.pop();
    for (const line of lines) {
      if (!line) continue;
      const event = JSON.parse(line);
      if (event.error) throw new ApiError(event.error.message, 500);
      onEvent(event);
    }
    if (done) return;
  }
}

/** Return the address of a call, for pictures and downloads. */
export function address(path, given = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) if (value !== null && value !== undefined) query.set(name, value);
  return query.size ? `${path}?${query}` : path;
}

async function answered(request) {
  return (await checked(await reached(request))).json();
}

async function reached(request) {
  try {
    return await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server doesn't answer. Is the program still running?", 0);
  }
}

async function checked(response) {
  if (response.ok) return response;
  const text = await response.text();
  let error;
  try { ({ error } = JSON.parse(text)); } catch { /* plain text */ }
  throw new ApiError(error?.message ?? text, response.status);
}
