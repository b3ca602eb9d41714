// The page of a gateway's callers, at /team: the calls that wait for them, and what their roles show. All texts come
// from other users or servers, and become text only.

import {waitingCalls} from './call_card.js';
import {clear, h} from './dom.js';
import words from './words/en.js';

const pause = 5000; // milliseconds between two looks at the waiting calls
let me = null;
let status = null;
let show = null; // shows the calls that wait
const sections = [];

/** ask sends a request to the API, and returns its response; an error has the text of the gateway. */
async function ask(method, path, body) {
  const headers = method === 'GET' ? {} : {'Content-Type': 'application/json', 'X-Form-Token': me.token};
  const response = await fetch(`team/api/${path}`, {method, headers, body: body && JSON.stringify(body), cache: 'no-store'});
  if (response.status === 401) {
    location.reload(); // to the login page
    return new Promise(() => {});
  }
  const found = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(found?.error ?? `HTTP status ${response.status}`);
  return found;
}

/** say tells the outcome of an action, also to screen readers. */
function say(text, kind) {
  status.className = kind ? `notice notice-${kind}` : '';
  status.textContent = text;
}

/** act runs an action of a button, which cannot be pressed meanwhile. */
function act(button, does) {
  return async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await does();
    } catch (err) {
      say(err.message, 'bad');
    }
    button.disabled = false;
  };
}

const t = (key, values) => words[key].replace(/\{(\w+)\}/g, (whole, name) => values?.[name] ?? whole);
const time = (text) => text ? new Date(text).toLocaleString() : '';

/** section adds a part of the page, with a heading and a list that load fills in. */
function section(name, title, load, ...also) {
  const list = h('div', {class: 'stack'});
  const fill = async () => {
    try {
      await load(list);
    } catch (err) {
      clear(list, h('p', {class: 'notice notice-bad'}, err.message));
    }
  };
  const again = h('button', {type: 'button', onclick: fill, 'aria-label': `Load again: ${title}`}, 'Load again');
  sections.push(h('section', {class: 'panel stack', id: name, 'aria-labelledby': `${name}-title`},
    h('div', {class: 'toolbar'}, h('h2', {class: 'grow', id: `${name}-title`}, title), also, again), list));
  return fill;
}

function table(heads, rows, empty) {
  if (rows.length === 0) return h('p', {class: 'dim'}, empty);
  return h('div', {class: 'scroll', tabindex: 0, role: 'group', 'aria-label': `Table: ${heads[0]}`}, h('table', {class: 'table'},
    h('thead', null, h('tr', null, heads.map((head) => h('th', {scope: 'col'}, head)))),
    h('tbody', null, rows.map((row) => h('tr', null, row.map((cell) => h('td', null, cell)))))));
}

/** waiting shows the calls that wait for this user. */
async function waiting(list) {
  const {approvals} = await ask('GET', 'approvals');
  document.title = approvals.length > 0 ? `(${approvals.length}) Junction` : 'Junction';
  show ??= waitingCalls(list, {t, time, say, async decide(call, verb, body) {
    await ask('POST', `approvals/${encodeURIComponent(call.id)}/${verb}`, body);
    await waiting(list);
  }});
  show(approvals, 'No call waits for you.');
}

const calls = (query) => async (list) => {
  const found = await ask('GET', `calls${query}`);
  clear(list, table(['Time', 'Tool', 'Caller', 'Outcome', 'Decision', 'Approved or refused by'],
    found.calls.map((c) => [time(c.time), h('span', {class: 'mono'}, c.name ?? c.method), c.principal ?? '', c.outcome ?? '', c.reason ?? c.decision ?? '', c.approver ?? '']),
    'No call in the last 24 hours.'));
};

async function servers(list) {
  const found = await ask('GET', 'servers');
  clear(list, table(['Server', 'State', 'Tools', 'Prompts', 'Resources'],
    found.servers.map((s) => [s.name, h('span', {class: `badge badge-${s.failing ? 'bad' : s.state === 'connected' ? 'good' : 'accent'}`}, s.state), `${s.tools}`, `${s.prompts}`, `${s.resources}`]),
    'There is no server.'));
}

async function users(list) {
  const found = await ask('GET', 'users');
  clear(list, table(['User', 'Since', 'Login until'], found.logins.map((l) => [l.user, time(l.since), time(l.until)]), 'No user is logged in.'));
}

async function keys(list) {
  const found = await ask('GET', 'keys');
  clear(list, table(['Key', 'Made', 'Expires', ''], found.keys.map((k) => {
    const remove = h('button', {type: 'button', class: 'button-bad', 'aria-label': `Remove the key ${k.id}`}, 'Remove');
    remove.addEventListener('click', act(remove, async () => {
      await ask('DELETE', `keys/${encodeURIComponent(k.id)}`);
      say(`Removed the key ${k.id}`, 'good');
      await keys(list);
    }));
    return [h('code', null, k.id), time(k.created), time(k.expires), remove];
  }), 'You have no key.'));
}

/** dress follows the theme of the system. */
function dress() {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const set = () => { document.documentElement.dataset.theme = dark.matches ? 'dark' : 'light'; };
  dark.addEventListener('change', set);
  set();
}

async function begin() {
  dress();
  status = h('p', {role: 'status', 'aria-live': 'polite'});
  try {
    me = await ask('GET', 'me');
  } catch (err) {
    document.body.append(h('main', {class: 'team'}, h('h1', null, 'Junction'), h('p', {class: 'notice notice-bad'}, err.message)));
    return;
  }
  const sees = (part) => me.sees.includes(part);
  const fills = [section('approvals', 'Calls that wait for you', waiting)];
  if (me.log) fills.push(section('calls', 'Your calls', calls('')));
  if (me.log && sees('audit')) fills.push(section('audit', 'All calls', calls('?all')));
  if (sees('servers')) fills.push(section('servers', 'Servers', servers));
  if (sees('logins')) fills.push(section('logins', 'Logged in', users));
  if (sees('keys')) {
    const make = h('button', {type: 'button'}, 'Make a key');
    const fill = section('keys', 'Your keys', keys, make);
    make.addEventListener('click', act(make, async () => {
      const made = await ask('POST', 'keys', {});
      say('', 'good');
      clear(status, 'Your new key, which is shown only now: ', h('code', {class: 'key'}, made.key));
      await fill();
    }));
    fills.push(fill);
  }
  const leave = h('button', {type: 'button'}, 'Log out');
  leave.addEventListener('click', act(leave, async () => {
    await ask('POST', 'logout');
    location.reload();
  }));
  document.body.append(
    h('a', {class: 'skip', href: '#approvals'}, 'To the calls that wait'),
    h('header', {class: 'head'}, h('span', {class: 'brand grow'}, h('img', {src: 'team/icon.svg', alt: ''}), h('h1', null, 'Junction')),
      h('span', {class: 'dim'}, me.roles.length > 0 ? `${me.name} (${me.roles.join(', ')})` : me.name), leave),
    h('main', {class: 'team', id: 'main'}, status, me.needsRole && h('p', {class: 'notice'}, 'You have no role here: ask the operator of this gateway for one.'), sections));
  await Promise.all(fills.map((fill) => fill()));
  setInterval(() => { if (!document.hidden) fills[0](); }, pause);
}

begin();
