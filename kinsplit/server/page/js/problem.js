// Errors in the shape of the service: field, rule, value, remedy.

export class Problem extends Error {
  /**
   * @param {number} status The HTTP status, or 0 without a response.
   * @param {{field?: string, rule: string, value?: unknown, remedy: string}} error
   * @param {string|null} request The X-Request-ID, for finding the request in the log.
   */
  constructor(status, error, request = null) {
    super(`${error.field ? `${error.field} ` : ""}${error.rule}`);
    Object.assign(this, { status, field: error.field ?? null, rule: error.rule, value: error.value, remedy: error.remedy });
    this.request = request;
  }
}

/** Return the problem of a failed response, whether from the service or from a proxy. */
export async function problemOf(response) {
  const request = response.headers.get("X-Request-ID");
  // The service's own message is about headers.
  if (response.status === 401) return new Problem(401, { rule: "The service requires an API key", remedy: "Ask its operator for one." });
  try {
    const { error } = await response.json();
    if (typeof error.rule === "string") return new Problem(response.status, error, request);
  } catch {
    // Not JSON: a proxy's page.
  }
  const rule = `The service responded with status ${response.status}`;
  return new Problem(response.status, { rule, remedy: "Try again later." }, request);
}

/** Return the problem of a request without a response. */
export function unreachable() {
  return new Problem(0, { rule: "The service does not respond", remedy: "Check that it is running, then try again." });
}

/** Return any error as a problem, including errors of the page itself. */
export function asProblem(error) {
  if (error instanceof Problem) return error;
  console.error(error);
  return new Problem(0, { rule: `The page failed: ${error.message}`, remedy: "Reload the page." });
}
