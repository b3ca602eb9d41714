// The inspector: connections of the console's own to servers, each with all that it offers and all that is said on it.
import {activity, authorization} from './activity.js';
import {del, get, post} from './api.js';
import {connect} from './connect.js';
import {clear, h} from './dom.js';
import {history, kept} from './history.js';
import {annotations, item, nameOf} from './item.js';
import {address, fault, overview} from './overview.js';
import {questions} from './questions.js';
import {failure} from './run.js';
import {kinds, Session} from './session.js';
import {reason} from './parts.js';
import {number, plural, t} from './words.js';

const pause = 2000; // milliseconds between two looks at the connections that are not shown
const states = {connecting: 'accent', connected: 'good', failed: 'bad', ended: 'bad', closed: 'plain'};
const sections = ['overview', 'tools', 'resources', 'templates', 'prompts', 'history', 'activity', 'authorization'];

// What is filled in and what came stays while somebody looks at another view.
const sessions = new Map();
let before = ''; // where the view was left

export function view({go, say}) {
  const tabs = h('nav', {class: 'ins-tabs', 'aria-label': t('inspector.connections')});
  const body = h('div', {class: 'stack ins-body'});
  const node = h('div', {class: 'stack inspector', onkeydown: left}, h('div', {class: 'toolbar ins-top'}, h('h1', null, t('inspector.title')), tabs), body);
  let shown = null; // {session, section, key, update, …}
  let path = '';
  let closed = false;
  let opened = false;
  let timer = 0;

  const to = (...parts) => go(['inspector', ...parts.map(encodeURIComponent)].join('/'));

  // look reads which connections there are, and reports whether it could.
  async function look() {
    clearTimeout(timer);
    const known = [...sessions.keys()]; // those that begin meanwhile are not in the answer
    let read = false;
    try {
      const {connections} = await get('connections');
      if (closed) return false;
      read = true;
      for (const one of connections) {
        if (!sessions.has(one.id)) sessions.set(one.id, new Session(one));
        else if (sessions.get(one.id) !== shown?.session) sessions.get(one.id).view = one;
      }
      for (const id of known) {
        const session = sessions.get(id);
        if (!session || connections.some((one) => one.id === id)) continue;
        sessions.delete(id);
        session.view = {...session.view, state: 'closed'};
        session.tell('state');
      }
    } catch { /* the stream of the connection that is shown says that the console is gone */ }
    if (closed) return false;
    drawTabs();
    clearTimeout(timer);
    timer = setTimeout(look, pause);
    return read;
  }

  // find opens a connection that is not known yet, as another page may have made it.
  async function find(rest) {
    leave();
    clear(body, h('p', {class: 'empty', role: 'status'}, t('inspector.loading')));
    drawTabs();
    while (!await look()) {
      if (closed || path !== rest) return;
      clear(body, h('p', {class: 'notice notice-bad', role: 'alert'}, t('app.unreachable')));
      await new Promise((done) => setTimeout(done, pause));
    }
    if (!closed && path === rest) open(rest, true);
  }

  let drawnTabs = '';
  function drawTabs() {
    const all = [...sessions.values()];
    const now = JSON.stringify([shown?.session?.id, ...all.map(({view: one, questions: open}) => [one.id, one.name, one.state, Math.max(open.size, one.questions ?? 0)])]);
    if (now === drawnTabs) return;
    drawnTabs = now;
    clear(tabs, all.map((session) => {
      const {view: one} = session;
      const open = session === shown?.session ? session.questions.size : one.questions ?? 0;
      return h('span', {class: 'ins-tab', 'data-current': session === shown?.session ? '' : null},
        h('a', {href: `#/inspector/${one.id}`, 'aria-current': session === shown?.session ? 'page' : null},
          h('span', {class: `ins-dot ins-dot-${states[one.state] ?? 'plain'}`, role: 'img', 'aria-label': t(`inspector.state.${one.state}`)}), one.name,
          open > 0 ? h('span', {class: 'badge badge-warn'}, plural('inspector.asks', open)) : null),
        h('button', {type: 'button', class: 'button-plain ins-close', 'aria-label': t('inspector.disconnect.of', {name: one.name}), onclick: () => disconnect(session)}, '✕'));
    }), h('a', {href: '#/inspector/new', class: 'ins-new', 'aria-current': shown && !shown.session ? 'page' : null}, '+ ', t('inspector.new')));
  }

  async function disconnect(session) {
    sessions.delete(session.id);
    session.unfollow();
    if (shown?.session === session) to([...sessions.keys()].at(-1) ?? 'new');
    drawTabs();
    await del(session.path).catch(() => {}); // it ended by itself
  }

  function open(rest, looked = false) {
    path = rest;
    before = rest;
    if (rest === '' || rest === '/') {
      const last = [...sessions.keys()].at(-1);
      if (last) {
        to(last);
        return;
      }
    }
    const [id, section = 'overview', ...key] = rest.split('/').map(unescaped);
    const session = sessions.get(id);
    if (!session) {
      if (id && id !== 'new' && !rest.startsWith('?') && !looked) {
        find(rest);
        return;
      }
      leave();
      const given = rest.startsWith('?') ? new URLSearchParams(rest).get('server') ?? new URLSearchParams(rest).get('url') ?? '' : '';
      const one = connect((begun) => {
        sessions.set(begun.id, new Session(begun));
        to(begun.id);
      }, given);
      shown = {...one, session: null};
      clear(body, id && id !== 'new' && !rest.startsWith('?') ? h('p', {class: 'notice', role: 'status'}, t('inspector.gone')) : null, one.node);
      drawTabs();
      one.focus();
      return;
    }
    if (shown?.session !== session) {
      leave();
      shown = connection(session);
      clear(body, shown.node);
      session.follow();
      drawTabs();
    }
    shown.open(sections.includes(section) ? section : 'overview', key.join('/'));
  }

  // Only the connection that is shown is followed, as a browser has few connections to one address.
  function leave() {
    shown?.session?.unfollow();
    shown?.close?.();
    shown = null;
  }

  function connection(session) {
    const head = h('header', {class: 'ins-head'});
    const trouble = h('div');
    const asked = questions(session);
    const nav = h('nav', {class: 'views ins-sections', 'aria-label': t('inspector.sections')});
    const part = h('div', {class: 'ins-section'});
    let section = '';
    let key = '';
    let current = null;

    function drawHead() {
      const {view: one} = session;
      const again = h('button', {type: 'button', onclick: () => post(`${session.path}/connect`).catch((error) => say(reason(error)))}, t('inspector.reconnect'));
      const login = one.fault?.login ? h('button', {type: 'button', class: 'button-primary', onclick: () => { to(session.id, 'authorization'); post(`${session.path}/login`, {}).catch((error) => say(reason(error))); }}, t('inspector.login')) : null;
      clear(head, h('h2', null, one.info?.title ?? one.info?.name ?? one.name), h('span', {class: `badge badge-${states[one.state] ?? 'plain'}`, role: 'status'}, t(`inspector.state.${one.state}`)),
        one.revision ? h('span', {class: 'badge'}, one.revision) : null, one.era ? h('span', {class: 'badge'}, t(`inspector.eraword.${one.era}`)) : null, one.transport ? h('span', {class: 'badge'}, one.transport) : null,
        address(one.server) === one.name ? null : h('span', {class: 'dim mono ins-address', title: address(one.server)}, address(one.server)), h('span', {class: 'grow'}),
        one.state === 'connecting' || one.state === 'closed' ? null : again);
      clear(trouble, session.lost ? h('p', {class: 'notice', role: 'alert'}, t(session.gone ? 'inspector.gone' : 'app.unreachable')) : null, ['failed', 'ended'].includes(one.state) ? fault(one, [login, h('button', {type: 'button', onclick: () => again.click()}, t('inspector.reconnect'))]) : null,
        one.state === 'closed' ? h('p', {class: 'notice'}, t('inspector.gone')) : null);
    }

    function drawNav() {
      const count = (name) => (kinds[name] ? session.lists[name]?.entries?.length : name === 'history' ? kept(session).length : undefined);
      const current = () => nav.querySelector('[aria-current]')?.getBoundingClientRect().left;
      const before = current();
      clear(nav, sections.filter((name) => name !== 'templates' || (session.lists.templates?.entries?.length ?? 0) > 0 || section === name).map((name) => h('a', {href: `#/inspector/${session.id}/${name}`, 'aria-current': name === section ? 'page' : null, class: session.lists[name]?.state === 'none' ? 'ins-without' : null},
        t(`inspector.section.${name}`), count(name) === undefined ? null : h('span', {class: 'ins-count'}, number(count(name))))));
      if (before !== undefined) nav.scrollLeft += current() - before; // a count that comes before it pushes it no further
    }

    const read = (uri) => (session.entry('resources', uri) ? to(session.id, 'resources', uri) : session.ask('resources/read', {uri}).then(({request}) => to(session.id, 'history', request)).catch((error) => say(reason(error))));
    // again fills in once more what was asked, where it was asked.
    function again({method, params}) {
      const kind = {'tools/call': 'tools', 'prompts/get': 'prompts', 'resources/read': 'resources'}[method];
      const name = params?.name ?? params?.uri;
      if (kind && session.entry(kind, name)) {
        if (kind !== 'resources') session.drafts.set(`${kind}/${name}`, params.arguments ?? {});
        to(session.id, kind, name);
      } else {
        session.ask(method, params).then(({request}) => to(session.id, 'history', request)).catch((error) => say(reason(error)));
      }
    }

    function update(topic, value) {
      if (topic === 'state') drawHead();
      if (topic === 'list' || topic === 'request') drawNav();
      if (topic === 'state' || topic === 'question' || topic === 'answered') drawTabs();
      if (topic === 'question') say(t('inspector.said.asks'));
      asked.update();
      current?.update(topic, value);
    }
    drawHead();
    drawNav();
    const unwatch = session.watch(update);
    const resized = new ResizeObserver(() => show(nav, nav.querySelector('[aria-current]')));
    resized.observe(nav);
    return {
      node: h('div', {class: 'stack'}, head, trouble, nav, h('div', {class: 'ins-pair'}, part, asked.node)),
      session,
      close() {
        unwatch();
        resized.disconnect();
      },
      run: () => current?.run?.(),
      rows: () => part,
      back() {
        if (key) to(session.id, section);
      },
      open(wanted, what) {
        const moves = wanted !== section;
        if (moves || !current) {
          section = wanted;
          current = kinds[section] ? entries(session, section, {to, say})
            : section === 'history' ? history(session, {go: to, again, read})
              : section === 'activity' ? activity(session) : section === 'authorization' ? authorization(session) : overview(session);
          clear(part, current.node);
        }
        key = what;
        drawNav();
        if (moves) show(nav, nav.querySelector('[aria-current]'));
        current.open?.(section === 'history' ? Number(what) : what);
      },
    };
  }

  function close() {
    closed = true;
    clearTimeout(timer);
    leave();
  }

  // move goes to the next or the last row of the list.
  function move(by) {
    const rows = [...node.querySelectorAll('[data-row]:not(:disabled)')];
    if (rows.length === 0) return;
    const at = rows.findIndex((row) => row === document.activeElement);
    const from = at >= 0 ? at : rows.findIndex((row) => row.getAttribute('aria-current') === 'true') + (by > 0 ? 0 : 1);
    rows[at < 0 && by > 0 && !rows.some((row) => row.getAttribute('aria-current')) ? 0 : Math.max(0, Math.min(rows.length - 1, from + by))].focus();
  }

  function left(event) {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    if (event.target.matches('input, textarea, select')) {
      event.target.blur();
      event.preventDefault();
    } else {
      back();
    }
  }

  function back() {
    const current = node.querySelector('[data-row][aria-current="true"]');
    shown?.back?.();
    current?.focus();
  }

  look().then(() => { if (!closed && !path && !shown?.session) open(before); });
  // visit is what the address asks for. Without more it is where the view was left; whoever presses the view's name while it
  // is shown wants to begin anew.
  function visit(rest) {
    if (rest || opened || !before) open(rest || (opened ? 'new' : ''));
    else go(`inspector/${before}`);
    opened = true;
  }

  return {node, close, open: visit,
    keys: {j: ['inspector.key.next', () => move(1)], k: ['inspector.key.last', () => move(-1)], 'Ctrl+Enter': ['inspector.key.run', () => shown?.run?.()], Escape: ['inspector.key.back', back]}};
}

// show scrolls a row of links, which may be wider than the screen, to one of them.
function show(nav, link) {
  if (!link) return;
  const [all, one] = [nav.getBoundingClientRect(), link.getBoundingClientRect()];
  nav.scrollLeft += one.left - all.left - (all.width - one.width) / 2;
}

function unescaped(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// entries is a list of what a server has, and next to it the one that is open.
function entries(session, kind, {to, say}) {
  const list = h('div', {class: 'ins-list'});
  const filter = h('input', {type: 'search', 'data-filter': '', placeholder: t('inspector.filter'), 'aria-label': t('inspector.filter'), oninput: () => draw(), onkeydown: (event) => {
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      list.querySelector('[data-row]')?.focus();
    }
  }});
  const detail = h('div', {class: 'ins-detail'});
  const node = h('div', {class: 'ins-items'}, h('div', {class: 'stack ins-side'}, h('span', {class: 'ins-filter'}, filter), list), detail);
  const {key} = kinds[kind];
  let opened = '';
  let current = null;

  function draw() {
    const {state, entries: all, failure: failed, changes} = session.lists[kind] ?? {state: 'loading'};
    const word = filter.value.trim().toLowerCase();
    const rows = (all ?? []).filter((entry) => word === '' || `${entry[key]} ${entry.name ?? ''} ${nameOf(entry)} ${entry.description ?? ''}`.toLowerCase().includes(word));
    const on = session.view.state === 'connected';
    clear(list,
      changes && (changes.added.length || changes.removed.length || changes.changed.length) ? h('div', {class: 'notice', role: 'status'}, ['added', 'removed', 'changed'].map((what) => (changes[what].length === 0 ? null : h('p', null, h('strong', null, t(`inspector.list.${what}`)), ' ', changes[what].slice(0, 20).join(', '))))) : null,
      failed ? failure(failed) : null,
      failed ? h('button', {type: 'button', onclick: () => session.list(kind)}, t('inspector.reload')) : null,
      rows.map((entry) => h('a', {class: 'ins-entry', href: `#/inspector/${session.id}/${kind}/${encodeURIComponent(entry[key])}`, 'data-row': '', 'aria-current': entry[key] === opened ? 'true' : null},
        h('span', {class: 'ins-name'}, nameOf(entry)), kind === 'tools' ? h('span', {class: 'ins-badges'}, annotations(entry).slice(0, 1)) : null,
        nameOf(entry) === entry[key] ? null : h('span', {class: 'ins-about mono'}, entry[key]),
        entry.description ? h('span', {class: 'ins-about'}, String(entry.description).slice(0, 200)) : null)),
      rows.length > 0 || failed ? null : h('p', {class: 'empty'}, t(word ? 'inspector.filter.none' : !on && state !== 'ready' ? 'inspector.list.unconnected' : state === 'none' ? 'inspector.list.without' : state === 'loading' ? 'inspector.loading' : 'inspector.list.empty')));
  }
  draw();
  return {
    node,
    run: () => current?.start(),
    open(what) {
      if (what === opened && current) return;
      opened = what;
      draw();
      node.toggleAttribute('data-open', Boolean(what));
      if (!what) {
        current = null;
        clear(detail, h('div', {class: 'empty ins-nothing'}, h('p', null, t('inspector.list.choose')), h('p', null, h('kbd', null, 'j'), ' ', h('kbd', null, 'k'), ' ', h('kbd', null, 'Enter'))));
        return;
      }
      const row = list.querySelector('[aria-current="true"]');
      const hidden = row ? row.offsetTop - list.offsetTop - list.scrollTop : 0;
      if (hidden < 0 || hidden > list.clientHeight - 40) list.scrollTop += hidden - list.clientHeight / 3; // of the list only, not of the page
      current = item(session, kind, what, {go: (...parts) => to(session.id, ...parts), say});
      clear(detail, current.node);
      current.focus();
    },
    update(topic, value) {
      if (topic === 'list' && value === kind || topic === 'state') draw();
      current?.update(topic, value);
    },
  };
}
