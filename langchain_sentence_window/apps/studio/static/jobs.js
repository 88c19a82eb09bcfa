// Long work on the server.

import { post, stream } from "./api.js";

/**
 * Follow a job until it ends.
 *
 * @param {number} number Its number.
 * @param {(job: Object) => void} onChange Called with the job whenever it has changed, and when it has ended.
 * @returns {Promise<Object>} The job, ended: its status is `done`, `failed` or `stopped`.
 */
export async function follow(number, onChange, { signal } = {}) {
  let last;
  await stream("/api/jobs/follow", { number }, ({ job }) => { last = job; onChange(job); }, { signal });
  return last;
}

/** Stop a job when it next reports. */
export function stop(number) {
  return post("/api/jobs/stop", { number });
}
