// The stored conversations of junction chat, to be read: #/conversations is the list, and #/conversations/ID one of them.
import {clear, h} from './dom.js';
import {get} from './api.js';
import {labels} from './labels.js';
import {looksLike} from './markdown.js';
import {table, trouble} from './parts.js';
import {rendered} from './results.js';
import {bytes, locale, moment, number, plural, t} from './words.js';

const usual = 50; // conversations in the list at first; Show more doubles them
const atMost = 999; // one less than the archive gives
const typing = 250; // milliseconds without a key before a search begins

export function view({go}) {
  const node = h('div', {class: 'stack'});
  let shown = null; // {path, node, close}

  return {
    node,
    open(path) {
      if (shown?.path === path) return;
      shown?.close();
      shown = {path, ...(path === '' ? list() : conversation(decodeURIComponent(path)))};
      clear(node, shown.node);
    },
    close() { shown?.close(); },
    keys: {Escape: ['conversations.key.back', () => { if (shown.path !== '') go('conversations'); }]},
  };
}

function list() {
  const found = h('div', {class: 'stack', 'aria-busy': 'true'});
  const search = h('input', {type: 'search', 'data-filter': true, class: 'grow', 'aria-label': t('conversations.search'), placeholder: t('conversations.search'), oninput: later});
  let timer = 0;
  let asked = 0;
  let most = usual;

  function later() {
    most = usual;
    clearTimeout(timer);
    timer = setTimeout(look, typing);
  }

  async function look() {
    const mine = ++asked;
    try {
      const {conversations} = await get(`conversations?limit=${most + 1}&search=${encodeURIComponent(search.value)}`);
      if (mine === asked) clear(found, conversations.length > 0 ? conversations.slice(0, most).map(row) : none(search.value), conversations.length > most && most < atMost ? h('div', null, more) : null);
    } catch (error) {
      if (mine === asked) clear(found, trouble(error, 'alert'));
    }
    if (mine === asked) found.removeAttribute('aria-busy');
  }
  const more = h('button', {onclick: async () => {
    const last = found.querySelectorAll('.conversation-row').length;
    most = Math.min(most * 2, atMost);
    await look();
    found.querySelectorAll('.conversation-row')[last]?.focus(); // the first of those that came
  }}, t('conversations.more'));
  look();
  return {
    node: h('div', {class: 'stack'}, h('h1', null, t('conversations.title')), h('div', {class: 'toolbar'}, search), found),
    close() {
      asked = -1;
      clearTimeout(timer);
    },
  };
}

function none(search) {
  return h('div', {class: 'panel empty'}, search
    ? h('p', null, t('conversations.notfound'))
    : [h('p', null, t('conversations.none')), h('code', null, 'junction chat')]);
}

function row(meta) {
  return h('a', {class: 'panel conversation-row', href: `#/conversations/${encodeURIComponent(meta.id)}`},
    h('span', {class: 'conversation-title'}, meta.title || t('conversations.untitled')),
    meta.match && meta.match !== meta.title ? h('span', {class: 'dim'}, meta.match) : null,
    h('span', {class: 'dim'}, figures(meta)));
}

function figures(meta) {
  return [
    moment(meta.changed),
    meta.model,
    plural('conversations.questions', meta.questions),
    plural('conversations.calls', meta.calls),
    plural('conversations.tokens', meta.tokens),
    meta.cost > 0 ? new Intl.NumberFormat(locale(), {style: 'currency', currency: 'USD', maximumFractionDigits: 4}).format(meta.cost) : '',
  ].filter(Boolean).join(' · ');
}

function conversation(id) {
  const head = h('div', {class: 'stack'});
  const entries = h('ol', {class: 'conversation', 'aria-busy': 'true', 'aria-label': t('conversations.entries')});
  const flow = h('section', {class: 'panel stack', hidden: true, 'aria-labelledby': 'flow-title'});
  const more = h('button', {hidden: true, onclick: () => read(next)}, t('conversations.more'));
  const sources = new Map(); // by their names: as the flow had it last
  let next = 0;
  let closed = false;

  async function read(from) {
    more.disabled = true;
    try {
      const page = await get(`conversations/${encodeURIComponent(id)}?from=${from}`);
      if (closed) return;
      if (from === 0) {
        clear(head, h('h1', null, page.meta.title || t('conversations.untitled')), h('p', {class: 'dim'}, figures(page.meta)),
          page.meta.folder ? h('p', {class: 'dim mono'}, page.meta.folder) : null,
          page.meta.parent ? h('p', {class: 'dim'}, t('conversations.forked', {id: page.meta.parent})) : null,
          h('p', {class: 'dim'}, t('conversations.resume'), ' ', h('code', null, `junction chat --resume=${page.meta.id}`)));
      }
      page.entries.forEach((entry, n) => entries.append(...[show(entry, page.from + n)].flat().filter(Boolean)));
      next = page.next ?? 0;
      more.hidden = next === 0;
    } catch (error) {
      if (!closed) clear(head, trouble(error, 'alert'));
    }
    more.disabled = false;
    entries.removeAttribute('aria-busy');
  }

  // show is an entry; one of the flow becomes what is new in it.
  function show(entry) {
    if (entry.message) return message(entry);
    if (entry.flow) return flowed(entry);
    const words = note(entry);
    return words ? item('note', entry.at, h('span', {class: 'dim'}, words)) : null;
  }

  function flowed(entry) {
    const fresh = [];
    for (const source of entry.flow.sources ?? []) {
      const name = [source.server, source.tool ?? source.uri].filter(Boolean).join(' / ');
      const before = sources.get(name);
      if (!before || before.labels !== source.labels || (before.alarms ?? 0) < (source.alarms ?? 0)) fresh.push([name, source]);
      sources.set(name, source);
    }
    flow.hidden = sources.size === 0;
    clear(flow, h('h2', {id: 'flow-title'}, t('conversations.flow')), h('p', {class: 'dim'}, t('conversations.flow.what')),
      table({id: 'flow-title'}, ['source', 'labels', 'reads', 'alarms'].map((key) => t(`conversations.${key}`)),
        [...sources].map(([name, source]) => h('tr', null, h('td', {class: 'mono'}, name), h('td', null, labels(source.labels)), h('td', null, number(source.reads ?? 0)), h('td', null, source.alarms ? number(source.alarms) : '')))));
    return fresh.map(([name, source]) => item('flow', entry.at, t('conversations.read', {name}), ' ', labels(source.labels),
      source.alarms ? [' ', h('span', {class: 'badge badge-bad'}, plural('conversations.orders', source.alarms))] : null));
  }

  read(0);
  return {
    node: h('div', {class: 'stack'}, h('p', null, h('a', {href: '#/conversations'}, t('conversations.back'))), head, flow, h('div', {class: 'panel'}, entries, more)),
    close() { closed = true; },
  };
}

function item(kind, at, ...children) {
  return h('li', {class: `conversation-${kind}`}, h('time', {class: 'dim conversation-time', datetime: at}, new Date(at).toLocaleTimeString(locale())), h('div', {class: 'conversation-body'}, children));
}

// message is what a person, a model or a tool said.
function message(entry) {
  const {role, parts} = entry.message;
  if (role === 'user' && entry.shown) return item('user', entry.at, h('p', {class: 'conversation-text'}, entry.shown), h('details', null, h('summary', {class: 'dim'}, t('conversations.sent')), parts.map(part)));
  if (role === 'user') return item(role, entry.at, (parts ?? []).map((one) => (one.text === undefined ? part(one) : h('p', {class: 'conversation-text'}, one.text)))); // as it was typed
  return item(role, entry.at, (parts ?? []).map(part));
}

// written is a text of a model or a tool: Markdown as it is meant, with a button for what was written.
function written(text) {
  const raw = h('p', {class: 'conversation-text'}, text);
  if (!looksLike(text)) return raw;
  const meant = rendered(text);
  raw.hidden = true;
  const button = h('button', {type: 'button', class: 'button-plain button-small conversation-raw', 'aria-pressed': 'false', onclick: () => {
    [raw.hidden, meant.hidden] = [meant.hidden, raw.hidden];
    button.setAttribute('aria-pressed', String(!raw.hidden));
  }}, t('conversations.raw'));
  return h('div', {class: 'conversation-written'}, button, meant, raw);
}

function part(one) {
  if (one.text !== undefined) return written(one.text);
  if (one.reasoning) return h('details', null, h('summary', {class: 'dim'}, t('conversations.reasoning')), h('p', {class: 'conversation-text dim'}, one.reasoning.text ?? ''));
  if (one.call) {
    return h('details', {class: 'conversation-call'}, h('summary', null, h('span', {class: 'badge badge-accent'}, t('conversations.call')), ' ', h('span', {class: 'mono'}, one.call.name), ' ', h('span', {class: 'dim conversation-arguments mono'}, JSON.stringify(one.call.arguments))),
      one.call.malformed ? h('p', {class: 'notice notice-bad'}, one.call.malformed) : null, h('pre', null, one.call.raw || JSON.stringify(one.call.arguments, null, 2)));
  }
  if (one.result) {
    return h('details', {class: 'conversation-call'}, h('summary', null, h('span', {class: `badge ${one.result.isError ? 'badge-bad' : 'badge-good'}`}, t(one.result.isError ? 'conversations.failed' : 'conversations.result')), ' ', h('span', {class: 'mono'}, one.result.name)), (one.result.parts ?? []).map(part));
  }
  if (one.media) return media(one.media);
  return h('p', {class: 'dim'}, t('conversations.opaque'));
}

// Kinds of pictures that a browser decodes without running anything of them.
const pictures = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

function media({type, data}) {
  if (pictures.includes(type)) return h('img', {class: 'conversation-picture', alt: type, src: `data:${type};base64,${data}`});
  return h('p', {class: 'dim'}, `${type}, ${bytes(Math.floor((data ?? '').length * 3 / 4))}`);
}

// note is any other entry in words.
function note(e) {
  if (e.summary) return h('details', null, h('summary', null, plural('conversations.summary', e.summary.messages)), written(e.summary.text));
  if (e.found) return t('conversations.found', {tools: e.found.map((f) => `${f.server}/${f.tool}`).join(', ')});
  if (e.kept) return t('conversations.kept', {tool: `${e.kept.server}/${e.kept.tool}`, uri: e.kept.uri});
  if (e.note) return t('conversations.note', {text: e.note});
  if (e.plan) return [t('conversations.plan', {goal: e.plan.goal ?? ''}), h('ul', null, (e.plan.steps ?? []).map((step) => h('li', null, step.text, step.state ? ` (${step.state})` : '')))];
  if (e.switched) return t(e.switched.off ? 'conversations.off' : 'conversations.on', {server: e.switched.server});
  if (e.withdrawn) return t('conversations.withdrawn', {server: e.withdrawn.server, tool: e.withdrawn.tool ?? ''});
  if (e.task) return t('conversations.task', {n: e.task.number, tool: e.task.began ? `${e.task.began.tool.server}/${e.task.began.tool.tool}` : ''});
  if (e.title) return t('conversations.named', {title: e.title});
  if (e.totals) return [plural('conversations.requests', e.totals.requests), plural('conversations.calls', e.totals.calls), plural('conversations.asked', e.totals.asked)].join(' · ');
  return null;
}
