// What a server answered, as elements: texts, pictures, sounds, links, documents and structured content. All of it was
// written by somebody else, so it becomes text, and pictures as the browser shows them without running anything.
import {clear, h, link} from './dom.js';
import {isObject, parseText} from './json.js';
import {looksLike, parse, says} from './markdown.js';
import {tree} from './tree.js';
import {bytes, number, t} from './words.js';

// Characters of a text that are shown at once.
const MAX_TEXT_SHOWN = 20_000;
const pictures = /^image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml)$/i;
const sounds = /^audio\/[\w.+-]+$/i;

/** tokens estimates what a text costs a model: a quarter of a token a letter, and one for each that is not of ASCII. */
export function tokens(text) {
  let other = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 127) other++;
  return Math.ceil((text.length - other) / 4) + other;
}

/** result shows what a request brought; read is called with the URI of a resource that somebody wants to read. */
export function result(method, value, read) {
  if (!isObject(value)) return tree(value, t('inspector.result'));
  switch (method) {
    case 'tools/call':
      if (value.resultType === 'task' || isObject(value.task)) return h('div', {class: 'stack'}, h('p', {class: 'dim'}, t('inspector.result.task')), tree(value, t('inspector.result')));
      return h('div', {class: 'stack'},
        value.isError === true ? h('p', {class: 'notice notice-bad'}, t('inspector.result.iserror')) : null,
        content(value.content, read),
        value.structuredContent === undefined ? null : part(t('inspector.result.structured'), tree(value.structuredContent, t('inspector.result.structured'))),
        rest(value, ['content', 'structuredContent', 'isError', 'resultType']));
    case 'resources/read':
      return h('div', {class: 'stack'},
        list(value.contents).length === 0 ? h('p', {class: 'dim'}, t('inspector.result.empty')) : list(value.contents).map((one) => resource(one)),
        rest(value, ['contents', 'resultType', 'ttlMs', 'cacheScope']));
    case 'prompts/get':
      return h('div', {class: 'stack'},
        value.description ? h('p', {class: 'dim ins-text'}, String(value.description)) : null,
        list(value.messages).map((message) => spoken(message, read)),
        rest(value, ['description', 'messages', 'resultType']));
  }
  return tree(value, t('inspector.result'));
}

// rest are the members that are shown nowhere else.
function rest(value, shown) {
  const others = Object.fromEntries(Object.entries(value).filter(([name]) => !shown.includes(name)));
  return Object.keys(others).length === 0 ? null : h('details', {class: 'ins-rest'}, h('summary', null, t('inspector.result.rest')), tree(others, t('inspector.result.rest')));
}

const list = (value) => (Array.isArray(value) ? value : []);
const part = (title, ...children) => h('section', {class: 'ins-part', 'aria-label': title}, h('h4', null, title), children);

/** spoken is a message of a conversation: who says it, and its content. */
export function spoken(message, read) {
  const role = String(message?.role ?? '');
  const who = role === 'user' || role === 'assistant' ? t(`inspector.role.${role}`) : role;
  return h('section', {class: `ins-said ins-said-${role === 'user' ? 'user' : 'other'}`, 'aria-label': who}, h('h4', null, who), content(Array.isArray(message?.content) ? message.content : [message?.content], read));
}

/** content shows the blocks of a result or of a message. */
export function content(blocks, read) {
  if (!Array.isArray(blocks)) return h('p', {class: 'notice'}, t('inspector.result.nocontent'));
  if (blocks.length === 0) return h('p', {class: 'dim'}, t('inspector.result.empty'));
  return blocks.map((one) => block(one, read));
}

function block(one, read) {
  const meant = isObject(one?.annotations) ? notes(one.annotations) : null;
  const shown = (() => {
    switch (one?.type) {
      case 'text': return typeof one.text === 'string' ? text(one.text) : null;
      case 'image': return picture(one.data, one.mimeType);
      case 'audio': return sound(one.data, one.mimeType);
      case 'resource_link': return linked(one, read);
      case 'resource': return isObject(one.resource) ? resource(one.resource) : null;
    }
    return null;
  })();
  return h('div', {class: 'ins-block'}, meant, shown ?? [h('p', {class: 'notice'}, t('inspector.result.unknown', {type: String(one?.type)})), tree(one, t('inspector.result'))]);
}

function notes(annotations) {
  const all = Object.entries(annotations).map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : typeof value === 'object' ? JSON.stringify(value) : value}`);
  return all.length === 0 ? null : h('p', {class: 'dim ins-small'}, all.join(' · '));
}

/** text shows a text, with a switch: as it is, as Markdown, and as a tree where it is JSON. */
export function text(value) {
  const json = parseText(value);
  const ways = {plain: () => plain(value), ...(looksLike(value) && json === undefined && {rendered: () => rendered(value)}), ...(json !== undefined && {tree: () => tree(json, t('inspector.way.tree'))})};
  const names = Object.keys(ways);
  const body = h('div', null, ways[names.at(-1)]());
  if (names.length === 1) return body;
  const buttons = names.map((name) => h('button', {type: 'button', 'aria-pressed': String(name === names.at(-1)), onclick: () => {
    clear(body, ways[name]());
    buttons.forEach((button, n) => button.setAttribute('aria-pressed', String(names[n] === name)));
  }}, t(`inspector.way.${name}`)));
  return h('div', null, h('div', {class: 'ins-ways', role: 'group', 'aria-label': t('inspector.ways')}, buttons), body);
}

/** plain is a text as it is; of a long one the beginning, until somebody wants all of it. */
export function plain(value) {
  const body = h('pre', {class: 'code ins-plain', tabindex: '0'}, value.slice(0, MAX_TEXT_SHOWN));
  if (value.length <= MAX_TEXT_SHOWN) return body;
  const button = h('button', {type: 'button', onclick: () => {
    body.textContent = value;
    button.remove();
  }}, t('inspector.tree.whole', {n: number(value.length)}));
  return [body, button];
}

/** rendered is Markdown as elements. */
export function rendered(value) {
  return h('div', {class: 'ins-markdown'}, parse(value).map(blockOf));
}

function blockOf(node) {
  switch (node.type) {
    case 'heading': return h(`h${Math.min(6, node.level + 3)}`, {class: `ins-h${node.level}`}, node.children.map(inlineOf));
    case 'code': return h('pre', {class: 'code', tabindex: '0'}, node.text);
    case 'quote': return h('blockquote', null, node.blocks.map(blockOf));
    case 'list': return h(node.ordered ? 'ol' : 'ul', {start: node.ordered && node.start !== 1 ? node.start : null}, node.items.map((item) => h('li', null, item.map((one) => (one.type === 'paragraph' ? h('p', null, one.children.map(inlineOf)) : blockOf(one))))));
    case 'rule': return h('hr');
    case 'table': {
      const cell = (tag) => (children, n) => h(tag, {class: `ins-${node.align[n]}`, scope: tag === 'th' ? 'col' : null}, children.map(inlineOf));
      return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': t('inspector.table')}, h('table', {class: 'table'}, h('thead', null, h('tr', null, node.head.map(cell('th')))), h('tbody', null, node.rows.map((row) => h('tr', null, row.map(cell('td')))))));
    }
  }
  return h('p', null, node.children.map(inlineOf));
}

function inlineOf(node) {
  if (typeof node === 'string') return node;
  switch (node.type) {
    case 'code': return h('code', null, node.text);
    case 'break': return h('br');
    case 'link': return linkTo(node.address, node.children.map(inlineOf));
    case 'image': return [h('span', {class: 'dim'}, t('inspector.picture'), ' '), linkTo(node.address, node.text || node.address)]; // it is not loaded: that would tell its server who reads
    case 'strike': return h('s', null, node.children.map(inlineOf));
  }
  return h(node.type, null, node.children.map(inlineOf));
}

// linkTo says where it leads, whatever its words say.
function linkTo(address, words) {
  const node = link(address, words);
  return node.href && !says(node.textContent, node.href) ? [node, ' ', h('bdi', {class: 'ins-target'}, node.href)] : node;
}

function decoded(data) {
  if (typeof data !== 'string' || !/^[A-Za-z0-9+/\s]*={0,2}\s*$/.test(data)) return null;
  try {
    return Uint8Array.from(atob(data.replace(/\s/g, '')), (c) => c.charCodeAt(0));
  } catch {
    return null;
  }
}

function picture(data, type) {
  const raw = decoded(data);
  if (!raw || !pictures.test(type)) return saved(raw, type);
  const image = h('img', {src: `data:${type};base64,${data.replace(/\s/g, '')}`, alt: t('inspector.picture.alt', {type}), class: 'ins-picture', onerror: () => image.replaceWith(h('p', {class: 'notice'}, t('inspector.picture.broken', {type})))});
  return h('figure', null, image, h('figcaption', null, saved(raw, type)));
}

function sound(data, type) {
  const raw = decoded(data);
  if (!raw || !sounds.test(type)) return saved(raw, type);
  return h('figure', null, h('audio', {controls: true, src: `data:${type};base64,${data.replace(/\s/g, '')}`}), h('figcaption', null, saved(raw, type)));
}

// saved offers bytes for a download; it never opens them here, where they would be a page of the console's own.
function saved(raw, type, name = 'result') {
  const kind = typeof type === 'string' && type ? type : t('inspector.type.none');
  if (!raw) return h('p', {class: 'notice'}, t('inspector.bytes.broken', {type: kind}));
  return h('span', {class: 'toolbar dim'}, `${kind}, ${bytes(raw.length)}`, h('button', {type: 'button', class: 'button-plain', onclick: () => {
    const address = URL.createObjectURL(new Blob([raw], {type: 'application/octet-stream'}));
    h('a', {href: address, download: name.replace(/[^\w.-]+/g, '_').slice(-80) || 'result'}).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }}, t('inspector.save')));
}

function linked(one, read) {
  const uri = String(one.uri ?? '');
  return h('div', {class: 'ins-linked'},
    h('strong', null, String(one.title ?? one.name ?? uri)), ' ', h('code', null, uri),
    one.description ? h('p', {class: 'ins-text'}, String(one.description)) : null,
    h('div', {class: 'toolbar dim'}, [one.mimeType, Number.isFinite(one.size) ? bytes(one.size) : null].filter(Boolean).join(', '), read && uri ? h('button', {type: 'button', onclick: () => read(uri)}, t('inspector.read')) : null));
}

/** resource shows what a resource has: its text, its picture or its bytes. */
export function resource(one) {
  const uri = String(one?.uri ?? '');
  const type = String(one?.mimeType ?? '');
  const body = typeof one?.text === 'string' ? text(one.text)
    : typeof one?.blob === 'string' ? (pictures.test(type) ? picture(one.blob, type) : sounds.test(type) ? sound(one.blob, type) : saved(decoded(one.blob), type, uri.split('/').pop()))
      : tree(one, t('inspector.result'));
  return h('div', {class: 'ins-resource'}, h('div', {class: 'toolbar'}, h('code', null, uri), type ? h('span', {class: 'badge'}, type) : null), body);
}
