// What went wrong, in the service's one shape: field, rule, value, remedy.

export class Problem extends Error {
  /**
   * @param {number} status The HTTP status, or 0 where there was no answer.
   * @param {{field?: string, rule: string, value?: unknown, remedy: string}} error
   * @param {string|null} request The X-Request-ID, by which the log knows the request.
   */
  constructor(status, error, request = null) {
    super(`${error.field ? `${error.field} ` : ""}${error.rule}`);
    Object.assign(this, { status, field: error.field ?? null, rule: error.rule, value: error.value, remedy: error.remedy });
    this.request = request;
  }
}

/** Return the problem that an answer tells of, also if something between page and service made it up. */
export async function problemOf(response) {
  const request = response.headers.get("X-Request-ID");
  // The service speaks to programs here, of headers.
  if (response.status === 401) return new Problem(401, { rule: "The service needs an API key", remedy: "Ask whoever runs it." });
  try {
    const { error } = await response.json();
    if (typeof error.rule === "string") return new Problem(response.status, error, request);
  } catch {
    // Not JSON: a proxy's page.
  }
  const rule = `The service answered with status ${response.status}`;
  return new Problem(response.status, { rule, remedy: "Try again in a while." }, request);
}

/** Return the problem of a request without an answer. */
export function unreachable() {
  return new Problem(0, { rule: "The service does not answer", remedy: "See whether it runs, then try again." });
}

/** Return any error as a problem; one of the page itself is shown too, not swallowed. */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  console.error(error);
  return new Problem(0, { rule: `The page failed: ${error.message}`, remedy: "Reload it." });
}
