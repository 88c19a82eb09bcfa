// Sending one file. `fetch` doesn't say how much of a body is sent, so this is an XMLHttpRequest.

import { address, ApiError } from "./api.js";

/**
 * Send a file.
 *
 * @param {File} file
 * @param {(part: number) => void} onProgress Called with the part that is sent, from 0 to 1.
 * @param {AbortSignal} signal
 * @returns {Promise<{upload: string, name: string}>} The name by which the server has it, and the name that it will get.
 */
export function upload(file, onProgress, signal) {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new DOMException("stopped", "AbortError"));
    const request = new XMLHttpRequest();
    const fail = (message) => reject(new ApiError("Refused", message, request.status));
    request.upload.addEventListener("progress", (event) => { if (event.lengthComputable) onProgress(event.loaded / event.total); });
    request.addEventListener("load", () => {
      let reply;
      try { reply = JSON.parse(request.responseText); } catch { return fail(request.responseText || "the server refused it"); }
      if (request.status === 200) resolve(reply);
      else fail(reply.error?.message ?? "the server refused it");
    });
    request.addEventListener("error", () => fail("it couldn't be sent: it can't be read, it is a folder, or the server refused it"));
    request.addEventListener("abort", () => reject(new DOMException("stopped", "AbortError")));
    signal.addEventListener("abort", () => request.abort());
    request.open("POST", address("/api/documents/upload", { name: file.name }));
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.send(file);
  });
}
