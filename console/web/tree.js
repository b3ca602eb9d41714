// JSON as a tree that opens where somebody looks, so that a large or deep value costs nothing until then.
import {h} from './dom.js';
import {digits, isObject, kind} from './json.js';
import {number, t} from './words.js';

// Members that are shown at once; a button shows as many more.
const MAX_MEMBERS = 100;
// Characters of a text in the tree, until it is opened.
const MAX_TEXT_SHOWN = 2_000;

/** size is how many members or items a value has; undefined for a value that has none. */
export function size(value) {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : undefined;
}

/** brief is the beginning of a value in one line. */
export function brief(value, length = 60, depth = 0) {
  const is = kind(value);
  if (depth > 2 && size(value)) return '…';
  const text = is === 'array' ? `[${value.slice(0, 4).map((item) => brief(item, 20, depth + 1)).join(', ')}${value.length > 4 ? ', …' : ''}]`
    : is === 'object' ? `{${Object.keys(value).slice(0, 6).join(', ')}${Object.keys(value).length > 6 ? ', …' : ''}}`
      : is === 'string' ? JSON.stringify(value.slice(0, length + 1)) : digits(value) ?? String(value);
  return text.length > length ? text.slice(0, length - 1) + '…' : text;
}

/** tree shows a value; the first level is open, and further ones where all of it is small. */
export function tree(value, label) {
  return h('div', {class: 'tree', role: 'group', 'aria-label': label}, branch(null, value, true));
}

function branch(name, value, open) {
  const n = size(value);
  const key = name === null ? null : [h('span', {class: 'tree-key'}, name), ': '];
  if (!n) return h('div', {class: 'tree-leaf'}, key, leaf(value));
  const inside = h('div', {class: 'tree-inside'});
  const fill = () => {
    if (inside.firstChild) return;
    const entries = Array.isArray(value) ? [...value.keys()].map((i) => [String(i), i]) : Object.keys(value).map((k) => [k, k]);
    more(inside, value, entries, 0, n <= 6);
  };
  const node = h('details', {class: 'tree-branch', ontoggle: () => node.open && fill()},
    h('summary', null, key, h('span', {class: 'tree-brief'}, brief(value)), ' ', h('span', {class: 'tree-size'}, number(n))), inside);
  if (open) {
    fill();
    node.open = true;
  }
  return node;
}

function more(inside, value, entries, from, open) {
  for (const [name, at] of entries.slice(from, from + MAX_MEMBERS)) inside.append(branch(name, value[at], open && (size(value[at]) ?? 0) <= 8));
  if (entries.length <= from + MAX_MEMBERS) return;
  const button = h('button', {type: 'button', class: 'button-plain', onclick: () => {
    button.remove();
    more(inside, value, entries, from + MAX_MEMBERS, false);
  }}, t('inspector.tree.more', {n: number(entries.length - from - MAX_MEMBERS)}));
  inside.append(button);
}

function leaf(value) {
  const is = kind(value);
  if (is !== 'string' || value.length <= MAX_TEXT_SHOWN) return h('span', {class: `tree-${is}`}, is === 'string' ? JSON.stringify(value) : digits(value) ?? JSON.stringify(value));
  const text = h('span', {class: 'tree-string'}, JSON.stringify(value.slice(0, MAX_TEXT_SHOWN)) + '…');
  const button = h('button', {type: 'button', class: 'button-plain', onclick: () => {
    text.textContent = JSON.stringify(value);
    button.remove();
  }}, t('inspector.tree.whole', {n: number(value.length)}));
  return [text, ' ', button];
}
