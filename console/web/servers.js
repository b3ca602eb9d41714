// What runs: each junction up and its servers. #/servers is the list, #/servers/PID one gateway, and
// #/servers/PID/NAME one server of it.
import {clear, h} from './dom.js';
import {get} from './api.js';
import {reason, table} from './parts.js';
import {duration, plural, t} from './words.js';
import {gateway} from './gateway.js';
import {successor} from './instances.js';
import {server, badge} from './server.js';

const pause = 1000; // milliseconds between two looks
const figuresPause = 5000; // the same, at what calls took of late

export function view({go, say}) {
  const node = h('div', {class: 'stack'});
  let closed = false;
  let timer = 0;
  let instances = null; // not known yet
  let figures = []; // of the console that watches them
  let counted = -Infinity; // when
  let shown = null; // {path, node, show(instance), close?()}

  async function look() {
    clearTimeout(timer);
    if (!document.hidden) {
      try {
        ({instances} = await get('instances'));
        if (performance.now() - counted > figuresPause) {
          counted = performance.now();
          figures = (await get('traffic/figures')).servers;
        }
        if (closed) return;
        for (const one of instances) for (const of of one.servers ?? []) of.figures = figures.find((f) => f.pid === one.pid && f.server === of.name);
        shown.show(instances, null);
      } catch (error) {
        if (closed) return;
        shown.show(instances ?? [], reason(error));
      }
    }
    timer = setTimeout(look, pause);
  }

  function open(path) {
    if (shown?.path === path) return;
    shown?.close?.();
    const [pid, ...rest] = path.split('/').map(decodeURIComponent);
    const name = rest.join('/');
    if (pid === '') shown = list();
    else if (name === '') shown = of(pid, '', gateway(pid, {say}));
    else shown = of(pid, name, server(pid, name, {say}));
    shown.path = path;
    clear(node, shown.node);
    if (instances) shown.show(instances, null);
    look();
  }

  // of shows one gateway, or something of it, as long as it runs.
  function of(pid, name, part) {
    const problem = h('p', {class: 'notice notice-bad', role: 'alert', hidden: true});
    let was = null; // the process as it was seen last
    let said = '';
    part.node.hidden = true; // it has nothing to show yet
    return {
      node: h('div', {class: 'stack'}, problem, part.node),
      close: part.close,
      show(all, trouble) {
        const one = all.find((instance) => String(instance.pid) === pid);
        if (one) was = one;
        part.node.hidden = !was;
        part.end?.(!one && !trouble);
        const text = trouble ?? (one ? '' : t(was ? 'servers.ended' : 'servers.unknown', {pid}));
        const next = one || trouble ? undefined : successor(all, was, name);
        if (text + next?.pid !== said) {
          said = text + next?.pid;
          problem.hidden = text === '';
          clear(problem, text, next ? [' ', h('a', {href: `#/servers/${[next.pid, ...name ? [encodeURIComponent(name)] : []].join('/')}`}, t('servers.again', {pid: next.pid}))] :
            text && !was ? [' ', h('a', {href: '#/servers'}, t('gateway.back'))] : '');
        }
        if (one) part.show(one);
      },
    };
  }

  return {
    node,
    open,
    close() {
      closed = true;
      clearTimeout(timer);
      shown?.close?.();
    },
    keys: {Escape: ['servers.key.back', () => { if (shown.path !== '') go(['servers', ...shown.path.split('/').slice(0, -1)].join('/')); }]},
  };
}

function list() {
  const content = h('div', {class: 'stack', 'aria-busy': 'true'});
  let last = '';
  return {
    node: h('div', {class: 'stack'}, h('h1', null, t('servers.title')), content),
    show(all, trouble) {
      const now = JSON.stringify([all, trouble]);
      if (now === last) return;
      last = now;
      content.removeAttribute('aria-busy');
      const focused = document.activeElement?.id; // a row that is made again keeps it
      clear(content,
        trouble ? h('p', {class: 'notice notice-bad', role: 'alert'}, trouble) : null,
        all.length === 0 && !trouble ? none() : all.map(instance));
      if (focused) document.getElementById(focused)?.focus();
    },
  };
}

function none() {
  return h('div', {class: 'panel empty'}, h('p', null, t('servers.none')), h('code', null, 'junction up'));
}

function instance(one) {
  const id = `instance-${one.pid}`;
  return h('section', {class: 'panel stack', 'aria-labelledby': id},
    h('div', {class: 'toolbar'},
      h('h2', {id, class: 'mono grow servers-endpoint'}, one.endpoint),
      h('span', {class: 'dim'}, t('servers.process', {pid: one.pid})),
      h('a', {id: `${id}-open`, class: 'button servers-open', href: `#/servers/${one.pid}`}, t('servers.gateway'))),
    one.folder ? h('p', {class: 'dim mono'}, one.folder) : null,
    remarks(one),
    (one.servers ?? []).length === 0 ? h('p', {class: 'dim'}, t('servers.noservers')) : table({id}, ['name', 'state', 'offers', 'running', 'lately', 'line'].map((key) => t(`servers.${key}`)), one.servers.map((s) => row(one.pid, s))));
}

/** remarks are what is wrong with a gateway. */
export function remarks(one) {
  const lines = [...(one.problems ?? []).map((text) => t('servers.unused', {text})), ...(one.audit ?? [])];
  if (one.configError) lines.unshift(t('servers.broken', {text: one.configError}));
  return lines.map((text) => h('p', {class: 'notice'}, text));
}

function row(pid, one) {
  return h('tr', null,
    h('td', null, h('a', {id: `server-${pid}-${one.name}`, class: 'servers-name', href: `#/servers/${pid}/${encodeURIComponent(one.name)}`}, one.name)),
    h('td', null, badge(one), one.withheld?.length ? [' ', h('span', {class: 'badge badge-warn'}, plural('servers.withheld', one.withheld.length))] : null),
    h('td', {class: 'servers-offers'}, offers(one)),
    h('td', null, one.running > 0 ? plural('servers.requests', one.running) : ''),
    h('td', {class: 'servers-lately'}, lately(one.figures)),
    h('td', {class: 'dim servers-line'}, one.line));
}

/** lately is what calls of a server came to in the last minutes, as far as the console saw them. */
export function lately(figures) {
  if (!figures) return '';
  return [
    plural('servers.calls', figures.calls),
    figures.errors > 0 ? [', ', h('span', {class: 'server-error'}, plural('servers.errors', figures.errors))] : '',
    h('span', {class: 'dim', title: t('servers.times')}, ` ${duration(figures.p50)} / ${duration(figures.p95)}`),
  ];
}

/** offers says how much a server has. */
export function offers(one) {
  return ['tools', 'prompts', 'resources', 'templates'].filter((kind) => one[kind] > 0).map((kind) => plural(`servers.${kind}`, one[kind])).join(', ');
}
