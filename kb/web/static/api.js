// What the server is asked. One request of a kind at a time: a newer one cancels the older.

const running = new Map();
let csrf = "";

/** An `error.v1` of the server, or what the browser says where it cannot be reached. */
export class Failure extends Error {
  constructor(message, hint, code) {
    super(message);
    this.hint = hint;
    this.code = code;
  }
}

/** The wire object at an address. Resolves to null where a newer request of the same `kind` took its place, or it was cancelled. */
export async function get(kind, path, params = new URLSearchParams()) {
  running.get(kind)?.abort();
  const control = new AbortController();
  running.set(kind, control);
  try {
    const words = params.toString();
    const answer = await fetch(words ? `${path}?${words}` : path, { signal: control.signal });
    return await read(answer);
  } catch (error) {
    if (control.signal.aborted) return null;
    throw told(error);
  } finally {
    if (running.get(kind) === control) running.delete(kind);
  }
}

/** Gives up what is asked of these kinds: it resolves to null. */
export function cancel(...kinds) {
  for (const kind of kinds) running.get(kind)?.abort();
}

/** What the page is told at its start; its second token goes with every POST. */
export async function start() {
  const found = await get("start", "/api/start");
  csrf = found.csrf;
  return found;
}

/** A POST, which may change something; the answer as it comes. */
export async function post(path, body, signal, keepalive = false) {
  try {
    const answer = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json", "x-kb-csrf": csrf },
      body: JSON.stringify(body),
      signal,
      keepalive,
    });
    if (!answer.ok) await read(answer);
    return answer;
  } catch (error) {
    throw told(error);
  }
}

async function read(answer) {
  const isJson = (answer.headers.get("content-type") ?? "").includes("json");
  const found = isJson ? await answer.json() : null;
  if (answer.ok && found !== null) return found;
  if (answer.status === 403) throw new Failure("this page is of an earlier start of kb web", "open the address that it printed", "locked");
  if (found === null) throw new Failure(`kb answered with ${answer.status}`, "start kb web again, and open its address", "");
  throw new Failure(found.message, found.hint, found.code);
}

function told(error) {
  if (error instanceof Failure || error.name === "AbortError") return error;
  return new Failure("kb does not answer", "is kb web still running? start it again, and open its address", "away");
}
