// What happens on a connection, newest first: notifications, messages, output of the program, requests over HTTP.
import {post} from './api.js';
import {clear, h, link} from './dom.js';
import {direction, exchange, logLine, message, target, took} from './run.js';
import {tree} from './tree.js';
import {reason} from './parts.js';
import {bytes, clock, number, t} from './words.js';

// Rows at once; the filter finds others.
const MAX_ROWS = 200;
const least = ['notifications', 'messages', 'output', 'http'];

/** activity shows one of the kinds at a time. */
export function activity(session) {
  let kind = 'notifications';
  const list = h('div', {class: 'ins-events', role: 'log', 'aria-live': 'off', 'aria-label': t('inspector.section.activity')});
  const filter = h('input', {type: 'search', 'data-filter': '', placeholder: t('inspector.filter'), 'aria-label': t('inspector.filter'), oninput: () => draw()});
  const buttons = least.map((name) => h('button', {type: 'button', 'aria-pressed': String(name === kind), onclick: () => {
    kind = name;
    buttons.forEach((button, n) => button.setAttribute('aria-pressed', String(least[n] === kind)));
    draw();
  }}, t(`inspector.events.${name}`)));
  const kinds = {
    notifications: [() => session.events.notes, note],
    messages: [() => session.events.messages, folded],
    output: [() => session.events.lines, line],
    http: [() => session.events.http, exchange],
  };
  const drawn = new WeakMap(); // nodes of events: what is open stays open

  function draw() {
    const [events, show] = kinds[kind];
    const word = filter.value.trim().toLowerCase();
    const rows = events().filter((one) => word === '' || JSON.stringify(one).toLowerCase().includes(word)).slice(-MAX_ROWS - 1).reverse();
    clear(list,
      session.missed > 0 ? h('p', {class: 'notice'}, t('inspector.missed', {n: number(session.missed)})) : null,
      rows.length === 0 ? h('div', {class: 'empty'}, h('p', null, t(word ? 'inspector.filter.none' : `inspector.silent.${kind}`))) : null,
      rows.slice(0, MAX_ROWS).map((one) => {
        if (!drawn.has(one)) drawn.set(one, show(one));
        return drawn.get(one);
      }), rows.length > MAX_ROWS ? h('p', {class: 'dim'}, t('inspector.events.older')) : null);
  }
  draw();
  let due = 0;
  return {
    node: h('div', {class: 'stack'}, h('div', {class: 'toolbar'}, h('div', {class: 'ins-ways', role: 'group', 'aria-label': t('inspector.section.activity')}, buttons), h('span', {class: 'grow ins-filter'}, filter)), list),
    update() {
      due ||= requestAnimationFrame(() => { due = 0; draw(); });
    },
  };
}

function note(one) {
  if (one.method === 'notifications/message') return h('ol', {class: 'ins-log'}, logLine(one));
  const words = one.own ? t(one.params.ended ? 'inspector.sub.ended' : 'inspector.sub.agreed', {why: one.params.ended ?? ''}) : one.method;
  return h('details', {class: 'ins-event'}, h('summary', null, h('span', {class: 'dim'}, clock(one.time)), ' ', h('strong', {class: one.own ? null : 'mono'}, words), ' ', one.params?.uri ? h('code', null, String(one.params.uri)) : null, one.params?.message ? h('span', {class: 'dim'}, String(one.params.message)) : null), tree(one.params ?? null, one.method));
}

// folded is a message whose text is there once somebody opens it.
function folded(one) {
  const node = h('details', {class: 'ins-event', ontoggle: () => node.open && node.childNodes.length === 1 && node.append(message(one))}, h('summary', null,
    h('span', {class: 'dim'}, clock(one.time)), ' ', direction(one), ' ',
    h('strong', {class: 'mono'}, one.method ?? one.kind ?? ''), ' ', target({params: one.message?.params}), h('span', {class: 'dim ins-facts'}, ` ${[one.kind, one.ms === undefined ? null : took(one.ms), bytes(one.bytes ?? 0)].filter(Boolean).join(' · ')}`)));
  return node;
}

/** line is one of the output of a server's program; on standard output only messages belong. */
export function line(one) {
  return h('div', {class: `ins-line ins-line-${one.from}`}, h('span', {class: 'dim'}, clock(one.time)), ' ', one.from === 'stdout' ? h('span', {class: 'badge badge-bad'}, 'stdout') : null, ' ', h('code', null, one.line), one.remedy ? h('p', {class: 'ins-why'}, one.remedy) : null);
}

/** authorization shows what was asked of authorization servers, step by step, and begins a login. */
export function authorization(session) {
  const node = h('div', {class: 'stack'});
  const drawn = new WeakMap();
  const fault = h('p', {class: 'problem', role: 'alert'});
  async function begin() {
    fault.textContent = '';
    try {
      await post(`${session.path}/login`, {});
    } catch (error) {
      fault.textContent = reason(error);
    }
  }
  function draw() {
    const steps = session.events.http.filter((one) => one.purpose === 'authorization' || one.status === 401 || one.status === 403);
    const {login} = session;
    const going = login && ['begun', 'open'].includes(login.state);
    clear(node,
      h('div', {class: 'toolbar'}, h('button', {type: 'button', class: 'button-primary', disabled: !session.view.canLogin || going, onclick: begin}, t('inspector.login')),
        h('span', {class: 'dim'}, t(session.view.canLogin ? 'inspector.login.what' : 'inspector.login.none'))),
      fault,
      login ? h('div', {class: login.state === 'failed' ? 'notice notice-bad' : 'panel', role: 'status'}, h('p', null, h('strong', null, t(`inspector.login.${login.state}`)), ' ', login.cause ?? login.detail ?? ''),
        login.remedy ? h('p', null, login.remedy) : null, login.state === 'open' ? h('p', {class: 'ins-text'}, link(login.url, login.url)) : null) : null,
      steps.length === 0 ? h('div', {class: 'empty'}, h('p', null, t('inspector.authorization.none')))
        : h('ol', {class: 'ins-steps'}, steps.map((one) => {
          if (!drawn.has(one)) drawn.set(one, h('li', null, exchange(one)));
          return drawn.get(one);
        })));
  }
  draw();
  return {node, update: (topic) => ['http', 'login', 'state'].includes(topic) && draw()};
}
