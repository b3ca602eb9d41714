// One connection to a server, as the page knows it: what its events said so far. The connection itself is the console's, so
// it goes on while another view is shown, and another page that opens it learns all of it from the same events.
import {get, post, put, stream} from './api.js';

/** Messages, notifications, lines of output and HTTP exchanges that are kept of a connection, of each kind. */
export const MAX_KEPT = 1_000;
const pause = 60; // milliseconds until what came is settled: all events of before come at once

/** kinds are the lists that a server may have: how they are asked for, and what an entry is known by. */
export const kinds = {
  tools: {method: 'tools/list', array: 'tools', key: 'name', capability: 'tools'},
  resources: {method: 'resources/list', array: 'resources', key: 'uri', capability: 'resources'},
  templates: {method: 'resources/templates/list', array: 'resourceTemplates', key: 'uriTemplate', capability: 'resources'},
  prompts: {method: 'prompts/list', array: 'prompts', key: 'name', capability: 'prompts'},
};

/** changes says how a list differs from the one before it: keys of what was added, removed and changed. */
export function changes(before, after, key) {
  const old = new Map(before.map((entry) => [entry[key], JSON.stringify(entry)]));
  const now = new Map(after.map((entry) => [entry[key], JSON.stringify(entry)]));
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now.keys()].filter((name) => old.has(name) && old.get(name) !== now.get(name)),
  };
}

// ran is the kind and the key of what a request is about, as far as it is of a list.
function ran({method, params}) {
  switch (method) {
    case 'tools/call': return `tools/${params?.name}`;
    case 'prompts/get': return `prompts/${params?.name}`;
    case 'resources/read': return `resources/${params?.uri}`;
  }
  return '';
}

/** A Session is a connection that a page follows. */
export class Session {
  constructor(view) {
    this.id = view.id;
    this.path = `connections/${view.id}`;
    this.view = view;
    this.lists = {}; // by kind: {state: 'loading' | 'ready' | 'failed' | 'none', entries, failure, changes}
    this.drafts = new Map(); // what was filled in, by kind and key
    this.latest = new Map(); // the last run, by kind and key
    this.requests = new Map();
    this.questions = new Map();
    this.tasks = new Map();
    this.events = {steps: [], lines: [], http: [], messages: [], notes: [], findings: []};
    this.login = null;
    this.missed = 0;
    this.lost = false; // the stream is
    this.last = '';
    this.watchers = new Set();
    this.waiting = new Map(); // functions, by request
    this.connects = 0; // how often it was connected, as far as is known
    this.listed = 0; // for which of these the lists were asked for
    this.timer = 0;
    this.stop = null;
  }

  /** follow reads events until unfollow. */
  follow() {
    this.stop ??= stream(`${this.path}/events${this.last && `?after=${this.last}`}`, (name, value, id) => {
      this.last = id || this.last;
      this.take(name, value);
    }, (state, error) => {
      this.lost = state === 'lost';
      this.gone = error?.status === 404;
      if (this.gone) this.unfollow();
      this.tell('state');
    });
    this.settle();
  }

  unfollow() {
    this.stop?.();
    this.stop = null;
    clearTimeout(this.timer);
  }

  /** watch has f called with what changed until the function that it returns is called. */
  watch(f) {
    this.watchers.add(f);
    return () => this.watchers.delete(f);
  }

  tell(topic, value) {
    for (const f of [...this.watchers]) f(topic, value);
  }

  /** take learns what an event says. */
  take(name, value) {
    switch (name) {
      case 'state':
        if (value.state === 'connecting') this.events.steps = [];
        if (value.state === 'connected') this.connects++;
        this.view = value;
        this.settle();
        break;
      case 'step': keep(this.events.steps, value); break;
      case 'stderr':
      case 'stdout': keep(this.events.lines, {...value, from: name}); break;
      case 'http': keep(this.events.http, value); break;
      case 'message': keep(this.events.messages, value); break;
      case 'finding': keep(this.events.findings, value); break;
      case 'notification':
        keep(this.events.notes, value);
        this.heard(value);
        break;
      case 'request':
        this.requests.set(value.request, value);
        if (ran(value)) this.latest.set(ran(value), value.request); // also of before the page was loaded
        break;
      case 'result': this.finished(value); break;
      case 'question': this.questions.set(value.question, value); break;
      case 'answered': this.questions.delete(value.question); break;
      case 'subscription': {
        this.view = {...this.view, subscriptions: value.ended ? undefined : value};
        keep(this.events.notes, {method: 'subscription', params: value, time: value.time, own: true});
        break;
      }
      case 'task': this.tasks.set(value.task, {...this.tasks.get(value.task), ...value}); break;
      case 'login': this.login = value; break;
      case 'gap': this.missed += value.missed; break;
    }
    this.tell(name, value);
  }

  heard({method, params, request}) {
    const running = this.requests.get(request);
    if (method === 'notifications/progress' && running) running.progress = params;
    const kind = /^notifications\/(tools|resources|prompts)\/list_changed$/.exec(method)?.[1];
    if (kind) this.stale = new Set([...this.stale ?? [], kind, ...(kind === 'resources' ? ['templates'] : [])]);
    if (kind) this.settle();
  }

  finished(value) {
    const known = this.requests.get(value.request);
    const done = {...known, ...value, params: known?.params ?? value.params};
    this.requests.set(value.request, done);
    for (const [n, one] of this.requests) { // the console keeps as many
      if (this.requests.size <= MAX_KEPT / 2 || one.state === 'running') break;
      this.requests.delete(n);
    }
    if (!this.waiting.has(value.request)) return;
    if (done.large) {
      get(`${this.path}/requests/${value.request}`).then((whole) => {
        this.requests.set(value.request, whole);
        this.resolve(whole);
        this.tell('result', whole);
      }, (error) => this.resolve({...done, error: {cause: error.message}}));
    } else {
      this.resolve(done);
    }
  }

  resolve(done) {
    this.waiting.get(done.request)?.(done);
    this.waiting.delete(done.request);
  }

  /** settle asks for the lists once the events of before have come, and again for those that changed. */
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (this.view.state !== 'connected' || !this.stop) return;
      const first = this.listed < Math.max(1, this.connects);
      this.listed = Math.max(1, this.connects);
      const due = first ? Object.keys(kinds) : [...this.stale ?? []];
      this.stale = new Set();
      for (const kind of due) this.list(kind, !first);
    }, pause);
  }

  /** list asks for a list; where it changed, it is noted how. */
  async list(kind, changed = false) {
    const {method, array, key, capability} = kinds[kind];
    const before = this.lists[kind];
    if (this.view.capabilities && !this.view.capabilities[capability]) {
      this.lists[kind] = {state: 'none', entries: []};
      this.tell('list', kind);
      return;
    }
    if (!before?.entries) this.lists[kind] = {state: 'loading'};
    this.tell('list', kind);
    try {
      const {result, error} = await this.ask(method);
      if (result) {
        const entries = (Array.isArray(result[array]) ? result[array] : []).filter((entry) => typeof entry?.[key] === 'string');
        this.lists[kind] = {state: 'ready', entries, changes: changed && before?.entries ? changes(before.entries, entries, key) : null};
      } else if (error.code === -32601) {
        this.lists[kind] = {state: 'none', entries: []};
      } else {
        this.lists[kind] = {state: 'failed', failure: error};
      }
    } catch (error) {
      this.lists[kind] = {state: 'failed', failure: {cause: error.message}};
    }
    this.tell('list', kind);
  }

  /** entry finds one of a list. */
  entry(kind, key) {
    return this.lists[kind]?.entries?.find((entry) => entry[kinds[kind].key] === key);
  }

  /** begin makes a request, and gives its number. */
  async begin(method, params, options = {}) {
    const {request} = await post(`${this.path}/requests`, {method, ...(params && {params}), ...options});
    if (!this.requests.has(request)) this.requests.set(request, {request, method, params, state: 'running', began: new Date().toISOString()});
    return request;
  }

  /** outcome waits for what comes of a request. */
  outcome(request) {
    const known = this.requests.get(request);
    if (known && known.state !== 'running' && !known.large) return Promise.resolve(known);
    return new Promise((resolve) => {
      this.waiting.set(request, resolve);
      if (known && known.state !== 'running') this.finished(known);
    });
  }

  /** ask makes a request, and waits for what comes of it. */
  async ask(method, params, options) {
    return this.outcome(await this.begin(method, params, options));
  }

  answer(question, body) {
    return post(`${this.path}/answers/${question}`, body);
  }

  /** subscribe sets what is listened for. */
  subscribe(filter) {
    return put(`${this.path}/subscriptions`, filter);
  }

  /** asks says whether the server waits for what it asked at a request. */
  asks(request) {
    return [...this.questions.values()].some((question) => question.request === request);
  }

  /** sentCode is the code of the error as the server sent it: a legacy one may have another number in modern revisions. */
  sentCode(request) {
    return this.events.messages.findLast((one) => one.request === request && !one.toServer && one.message?.error)?.message.error.code;
  }

  /** changed is when the server said last that a resource changed, as far as notifications are kept. */
  changed(uri) {
    return this.events.notes.findLast((note) => note.method === 'notifications/resources/updated' && note.params?.uri === uri)?.time;
  }

  /** filter is what is listened for now. */
  filter() {
    return this.view.subscriptions?.filter ?? {};
  }
}

function keep(all, value) {
  all.push(value);
  if (all.length > MAX_KEPT) all.splice(0, all.length - MAX_KEPT);
}
