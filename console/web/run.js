// One request: how far it is, what came of it, what went over the wire for it, and how to make it elsewhere.
import {get, del} from './api.js';
import {clear, h} from './dom.js';
import {result, tokens} from './results.js';
import {tree} from './tree.js';
import {reason, trouble} from './parts.js';
import {bytes, clock, duration, number, t} from './words.js';

/** target is what a request is about: the name of a tool or prompt, or a URI. */
export function target({params}) {
  return String(params?.name ?? params?.uri ?? params?.ref?.name ?? params?.ref?.uri ?? params?.taskId ?? '');
}

/** took is a time in milliseconds, which the console counts whole. */
export const took = (ms) => (ms > 0 ? duration(ms * 1e6) : `< ${duration(1e6)}`);

/** state is the badge of a request. */
export function state(request) {
  const [kind, word] = request.state === 'running' ? ['accent', 'running']
    : request.state === 'cancelled' ? ['warn', 'cancelled']
      : request.error ? ['bad', 'error']
        : request.result?.isError === true || request.failed ? ['bad', 'iserror'] : request.result?.resultType === 'task' ? ['accent', 'task'] : ['good', 'done'];
  return h('span', {class: `badge badge-${kind}`}, t(`inspector.run.${word}`));
}

/** failure is why there is no result, and what to do; sent is the error's code as it was sent, if that is known. */
export function failure(error, sent) {
  return h('div', {class: 'notice notice-bad stack', role: 'alert'},
    h('p', null, error.code === undefined ? null : h('strong', null, t('inspector.run.code', {code: error.code}), ' '), error.cause),
    error.code !== undefined && sent !== undefined && sent !== error.code ? h('p', null, t('inspector.run.sent', {code: String(sent)})) : null,
    error.remedy ? h('p', null, h('strong', null, t('inspector.remedy'), ' '), error.remedy) : null,
    error.data === undefined || error.data === null ? null : h('div', null, h('strong', null, t('inspector.run.data')), tree(error.data, t('inspector.run.data'))));
}

/** findings are what is wrong with what a server gave. */
export function findings(all) {
  if (!all?.length) return null;
  return h('ul', {class: 'ins-findings'}, all.map((one) => h('li', null, h('strong', null, [one.subject, one.where].filter(Boolean).join(' · '), ': '), one.problem, one.remedy ? h('p', null, h('strong', null, t('inspector.remedy'), ' '), one.remedy) : null)));
}

/** run shows a request; again is called with it to fill in the same once more, read with the URI of a resource. */
export function run(session, n, {again, read, more}) {
  let raw = false;
  const head = h('div', {class: 'toolbar ins-run-head'});
  const body = h('div', {class: 'stack', 'aria-live': 'off'});
  const copies = h('div', {hidden: true, class: 'stack ins-copies'});
  const node = h('section', {class: 'ins-run stack', 'aria-label': t('inspector.run')}, head, copies, body);
  let drawn = ''; // what state is shown

  function draw() {
    const request = session.requests.get(n);
    if (!request) {
      clear(body, h('p', {class: 'dim'}, t('inspector.run.forgotten')));
      return;
    }
    const going = request.state === 'running';
    const text = request.result === undefined ? '' : JSON.stringify(request.result);
    clear(head, state(request),
      h('span', {class: 'dim ins-facts'}, [
        request.began ? clock(request.began) : null,
        going ? null : took(request.ms),
        text ? bytes(new TextEncoder().encode(text).length) : null,
        text ? t('inspector.tokens', {n: number(tokens(text))}) : null,
      ].filter(Boolean).join(' · ')),
      h('span', {class: 'grow'}),
      going ? h('button', {type: 'button', class: 'button-bad', onclick: cancel}, t('inspector.cancel')) : null,
      again && !going ? h('button', {type: 'button', onclick: () => again(request)}, t('inspector.again')) : null,
      more,
      h('button', {type: 'button', 'aria-expanded': String(!copies.hidden), onclick: copy}, t('inspector.copy')),
      h('button', {type: 'button', 'aria-pressed': String(raw), onclick: () => { raw = !raw; draw(); }}, t('inspector.raw')));
    drawn = request.state;
    clear(body, raw ? wire(session, n) : [progress(request, session.asks(n)), logs(session, request), request.error ? failure(request.error, session.sentCode(n)) : null, findings(request.findings),
      request.result === undefined ? (going || request.error ? null : fetched(request)) : result(request.method, request.result, read)]);
  }

  // fetched reads the result of a request whose event had none, as it is large, or old.
  function fetched(request) {
    get(`${session.path}/requests/${n}`).then((whole) => {
      session.requests.set(n, {...request, ...whole, result: whole.result ?? null});
      draw();
    }, (error) => clear(body, h('p', {class: 'notice'}, reason(error))));
    return h('p', {class: 'dim'}, t('inspector.loading'));
  }

  function cancel() {
    del(`${session.path}/requests/${n}`).catch((error) => clear(body, trouble(error)));
  }

  async function copy() {
    copies.hidden = !copies.hidden;
    draw();
    if (copies.hidden) return;
    try {
      const said = await get(`${session.path}/copy/${n}`);
      const entry = typeof said.entry === 'string' ? said.entry : JSON.stringify(said.entry, null, 2);
      clear(copies, [['junction', said.junction], ['curl', said.curl], ['entry', entry]].map(([name, text]) => text && copied(t(`inspector.copy.${name}`), text)),
        (said.notes ?? []).map((note) => h('p', {class: 'dim'}, note)));
    } catch (error) {
      clear(copies, trouble(error));
    }
  }

  draw();
  return {
    node,
    update(topic, value) {
      const now = session.requests.get(n)?.state;
      if (topic === 'answered' && now === 'running') draw(); // to which request it belonged is not said
      if (value?.request !== n && value !== undefined) return;
      if (topic === 'result' || topic === 'request' || raw && (topic === 'message' || topic === 'http') || now === 'running' && (topic === 'notification' || topic === 'question') || now !== drawn) draw();
    },
  };
}

/** copied is a text with a button that copies it. */
export function copied(title, text) {
  const button = h('button', {type: 'button', onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = t('inspector.copied');
    } catch {
      getSelection().selectAllChildren(body); // no clipboard here, such as over plain HTTP elsewhere
    }
  }}, t('inspector.copy'));
  const body = h('pre', {class: 'code', tabindex: '0'}, text);
  return h('div', {class: 'ins-copied'}, h('div', {class: 'toolbar'}, h('h4', {class: 'grow'}, title), button), body);
}

function progress({state: now, progress: at}, asked) {
  if (now !== 'running') return null;
  const known = Number.isFinite(at?.total) && at.total > 0;
  return h('div', {class: 'ins-progress'},
    h('progress', known ? {max: at.total, value: at.progress, 'aria-label': t('inspector.progress')} : {'aria-label': t('inspector.progress')}),
    h('span', {class: 'dim'}, [asked ? t('inspector.waiting.you') : at ? (known ? `${number(at.progress)} / ${number(at.total)}` : number(at.progress)) : t('inspector.waiting'), at?.message].filter(Boolean).join(' · ')));
}

// logs are the log messages of a request: those that say so, and those of its time where they do not.
function logs(session, {request, began, ms, state: now}) {
  const from = Date.parse(began);
  const to = now === 'running' ? Infinity : from + (ms ?? 0) + 50;
  const all = session.events.notes.filter((note) => note.method === 'notifications/message' && (note.request === request || !note.request && Date.parse(note.time) >= from && Date.parse(note.time) <= to)).slice(-50);
  return all.length === 0 ? null : h('ol', {class: 'ins-log', 'aria-label': t('inspector.logs')}, all.map(logLine));
}

/** logLine is a log message of a server. */
export function logLine({params, time}) {
  const level = String(params?.level ?? 'info');
  const data = params?.data;
  return h('li', {class: ['error', 'critical', 'alert', 'emergency'].includes(level) ? 'ins-log-bad' : level === 'warning' ? 'ins-log-warn' : null},
    h('span', {class: 'dim'}, clock(time)), ' ', h('strong', null, level), ' ', params?.logger ? h('span', {class: 'dim'}, `${params.logger} `) : null,
    typeof data === 'string' ? data : typeof data?.message === 'string' && Object.keys(data).length === 1 ? data.message : JSON.stringify(data));
}

function wire(session, n) {
  const messages = session.events.messages.filter((one) => one.request === n);
  const http = session.events.http.filter((one) => one.request === n);
  if (messages.length === 0 && http.length === 0) return h('p', {class: 'dim'}, t('inspector.raw.none'));
  return [messages.map((one) => message(one)), http.map((one) => exchange(one))];
}

/** direction is a badge of where a message went. That server/discover is refused is how a legacy server is known, and no error. */
export function direction(one) {
  const failed = one.error || one.message?.error;
  const kind = one.toServer ? 'accent' : failed ? (one.method === 'server/discover' ? 'plain' : 'bad') : 'good';
  return h('span', {class: `badge badge-${kind}`}, t(one.toServer ? 'inspector.toserver' : 'inspector.fromserver'));
}

/** message is one that went over the wire. */
export function message(one) {
  const text = one.message === undefined ? one.text ?? one.error ?? '' : JSON.stringify(one.message, null, 2);
  return h('div', {class: 'ins-message'},
    h('div', {class: 'toolbar'},
      direction(one),
      h('strong', {class: 'mono'}, [one.method, one.kind].filter(Boolean).join(' ')),
      h('span', {class: 'dim ins-facts'}, [one.time ? clock(one.time) : null, one.ms === undefined ? null : took(one.ms), bytes(one.bytes ?? 0), t('inspector.tokens', {n: number(tokens(text))})].filter(Boolean).join(' · '))),
    h('pre', {class: 'code', tabindex: '0'}, text.slice(0, 200_000)));
}

/** exchange is a request over HTTP and its response, with headers. */
export function exchange(one) {
  const headers = (title, all) => (all && Object.keys(all).length > 0 ? h('div', null, h('h4', null, title), h('dl', {class: 'pairs ins-headers'}, Object.entries(all).map(([name, value]) => [h('dt', null, name), h('dd', null, String(value))]))) : null);
  return h('details', {class: 'ins-exchange'},
    h('summary', null,
      h('span', {class: `badge badge-${one.error || one.status >= 400 ? 'bad' : 'good'}`}, one.error ? t('inspector.http.none') : String(one.status)), ' ',
      one.step ? h('strong', null, one.step, ' ') : null, h('code', null, `${one.method} ${one.url}`), ' ',
      h('span', {class: 'dim'}, took(one.ms)),
      one.failed || one.error ? h('span', {class: 'ins-why'}, one.failed ?? one.error) : null),
    h('div', {class: 'split ins-both'}, headers(t('inspector.http.sent'), one.requestHeaders), headers(t('inspector.http.received'), one.responseHeaders)),
    [['form', one.form], ['body', one.body], ['answer', one.answer]].map(([name, value]) => (value === undefined || value === null ? null : h('div', null, h('h4', null, t(`inspector.http.${name}`)), tree(value, t(`inspector.http.${name}`))))));
}
