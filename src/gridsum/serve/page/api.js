// The server's answers as objects, its refusals as errors whose message is meant for the visitor.

export class Refusal extends Error {}

async function read(response) {
  const content = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return {}; // no JSON: only a server that is not ours, or a broken one, answers so
  });
  if (!response.ok) throw new Refusal(content.error ?? `the server answered ${response.status}`);
  return content;
}

async function ask(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal("the server does not answer; is gridsum serve still running?");
  }
  return read(response);
}

export function post(address, body, signal) {
  const headers = { "content-type": "application/json" };
  return ask(address, { method: "POST", headers, body: JSON.stringify(body), signal });
}

export function get(address, parameters = {}, signal = undefined) {
  const query = new URLSearchParams(parameters).toString();
  return ask(query ? `${address}?${query}` : address, { signal });
}
