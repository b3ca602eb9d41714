// What runs: each junction up, and the state of its servers.
import {clear, h} from './dom.js';
import {get} from './api.js';
import {plural, t} from './words.js';

const pause = 1000; // milliseconds between two looks

const kinds = {ready: 'good', failed: 'bad', starting: 'accent', waiting: 'warn'};

export function view() {
  const list = h('div', {class: 'stack', 'aria-busy': 'true'});
  const node = h('div', {class: 'stack'}, h('h1', null, t('servers.title')), list);
  let last = '';
  let closed = false;
  let timer = 0;

  async function look() {
    if (!document.hidden) {
      try {
        const {instances} = await get('instances');
        if (closed) return;
        const now = JSON.stringify(instances);
        if (now !== last) clear(list, instances.length === 0 ? none() : instances.map(instance));
        last = now;
      } catch (error) {
        if (closed) return;
        last = '';
        clear(list, h('p', {class: 'notice notice-bad', role: 'alert'}, error.status === 0 ? t('app.unreachable') : error.message));
      }
      list.removeAttribute('aria-busy');
    }
    timer = setTimeout(look, pause);
  }
  look();
  return {node, close() { closed = true; clearTimeout(timer); }};
}

function none() {
  return h('div', {class: 'panel empty'}, h('p', null, t('servers.none')), h('code', null, 'junction up'));
}

function instance(one) {
  const id = `instance-${one.pid}`;
  return h('section', {class: 'panel stack', 'aria-labelledby': id},
    h('div', {class: 'toolbar'}, h('h2', {id, class: 'mono'}, one.endpoint), h('span', {class: 'dim'}, t('servers.process', {pid: one.pid}))),
    one.folder ? h('p', {class: 'dim mono'}, one.folder) : null,
    h('p', null, one.summary),
    [one.configError, ...(one.problems ?? []), ...(one.audit ?? [])].filter(Boolean).map((text) => h('p', {class: 'notice'}, text)),
    h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-labelledby': id}, h('table', {class: 'table'},
      h('thead', null, h('tr', null, ['name', 'state', 'offers', 'line'].map((key) => h('th', {scope: 'col'}, t(`servers.${key}`))))),
      h('tbody', null, (one.servers ?? []).map(server)))));
}

function server(one) {
  return h('tr', null,
    h('td', null, h('span', {class: 'servers-name'}, one.name)),
    h('td', null, h('span', {class: `badge badge-${kinds[one.state] ?? 'plain'}`}, one.state)),
    h('td', null, plural('servers.tools', one.tools)),
    h('td', {class: 'servers-line'}, one.line));
}
