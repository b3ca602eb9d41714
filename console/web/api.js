// What the page asks of the junction that serves it.
import {parse} from './json.js';

const base = 'api/v1/';
const slowest = 5000; // milliseconds between two tries to get a stream back

/** An ApiError says why there is no answer: status 0, if the console cannot be reached. */
export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export const get = (path) => request('GET', path);
/** getExact is get with numbers as they were written: those that JavaScript would change are JSON.rawJSON, where there is that. */
export const getExact = (path) => request('GET', path, undefined, exact);
export const post = (path, body) => request('POST', path, body ?? {});
export const put = (path, body) => request('PUT', path, body ?? {});
export const del = (path) => request('DELETE', path);

const exactly = (key, value, context) =>
  (typeof value === 'number' && context?.source && context.source !== String(value) ? JSON.rawJSON?.(context.source) ?? value : value);

// Only a number with many digits may be one that JavaScript changes; reading each as it is written takes longer.
const parsed = (text) => (/\d{16}/.test(text) ? parse(text) : JSON.parse(text));
const exact = (text) => JSON.parse(text, exactly);

async function request(method, path, body, read = parsed) {
  const init = {method, headers: {}};
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers['Content-Type'] = 'application/json';
  }
  let response;
  try {
    response = await fetch(base + path, init);
  } catch {
    throw new ApiError('', 0);
  }
  const text = await response.text();
  let value = null;
  try {
    value = text === '' ? null : read(text);
  } catch {
    value = {error: text};
  }
  if (!response.ok) throw new ApiError(value?.error ?? response.statusText, response.status);
  return value;
}

/**
 * stream reads server-sent events until the function that it returns is called: onEvent(name, value, id) for each, and
 * onState('open' | 'lost') when it changed. While nobody sees the page it does not read, as a browser has few connections
 * to one address for all its pages; what went meanwhile follows then, as far as the console has kept it.
 */
export function stream(path, onEvent, onState = () => {}) {
  let stopped = false;
  let reading = null; // an AbortController
  let last = '';
  let pause = 0;
  let timer = 0;

  async function read(signal) {
    const response = await fetch(base + path, {signal, headers: {Accept: 'text/event-stream', ...(last && {'Last-Event-ID': last})}});
    if (!response.ok) throw new ApiError(response.statusText, response.status);
    onState('open');
    pause = 0;
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const {done, value} = await reader.read();
      if (done) return;
      const events = (rest + value).split('\n\n');
      rest = events.pop();
      for (const event of events) take(event);
    }
  }

  function take(text) {
    let name = 'message';
    let data = '';
    for (const line of text.split('\n')) {
      const at = line.indexOf(':');
      if (at <= 0) continue;
      const value = line.slice(at + 1).replace(/^ /, '');
      if (line.startsWith('event:')) name = value;
      else if (line.startsWith('data:')) data += value;
      else if (line.startsWith('id:')) last = value;
    }
    if (data !== '') onEvent(name, parsed(data), last);
  }

  function start() {
    if (stopped || reading || document.hidden) return;
    const mine = new AbortController();
    reading = mine;
    read(mine.signal)
      .catch((error) => error)
      .then((error) => {
        if (reading === mine) reading = null;
        if (stopped || mine.signal.aborted) return;
        onState('lost', error);
        pause = Math.min(slowest, pause * 2 + 250);
        timer = setTimeout(start, pause);
      });
  }

  function look() {
    clearTimeout(timer);
    if (document.hidden) {
      reading?.abort();
      reading = null;
    } else {
      start();
    }
  }

  document.addEventListener('visibilitychange', look);
  start();
  return () => {
    stopped = true;
    clearTimeout(timer);
    document.removeEventListener('visibilitychange', look);
    reading?.abort();
  };
}
