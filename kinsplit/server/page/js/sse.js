// Server-sent events of a POST request, which EventSource does not support.

/**
 * Yield the events of a response as they arrive.
 * @param {Response} response
 * @yields {{event: string, data: any}}
 */
export async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  let event = "message";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += value;
      const lines = held.split(/\r\n|\n|\r(?!$)/);
      held = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
          event = "message";
          data = [];
        } else if (line.startsWith("event:")) event = line.slice(6).trim();
        else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
      }
    }
  } finally {
    // Cancelling makes the service stop its model.
    await reader.cancel().catch(() => {});
  }
}
