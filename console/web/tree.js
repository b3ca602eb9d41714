// JSON in the page: as a tree whose branches are made when somebody opens them, and as what differs between two values.
import {h} from './dom.js';
import {kind as kindOf} from './json.js';
import {differences, gist, membersOf} from './pieces.js';
import {plural, t} from './words.js';

const openDepth = 3; // levels that are open at the beginning

/** tree is a value as a tree. */
export function tree(value) {
  return h('div', {class: 'tree'}, branch(null, value, 0));
}

function branch(key, value, depth) {
  const kind = kindOf(value);
  const name = key === null ? null : [h('bdi', {class: 'tree-key'}, key), ': '];
  if (kind !== 'object' && kind !== 'array' || Object.keys(value).length === 0) {
    const empty = {object: '{}', array: '[]'}[kind];
    return h('div', {class: 'tree-leaf'}, name, h('bdi', {class: `tree-${kind}`}, empty ?? gist(value)));
  }
  const inside = h('div', {class: 'tree-inside'});
  const fill = (from) => {
    const {members, more} = membersOf(value, from);
    inside.append(...members.map(([k, v]) => branch(k, v, depth + 1)));
    if (more > 0) {
      const button = h('button', {class: 'button-plain', onclick: () => { button.remove(); fill(from + members.length); }}, plural('traffic.json.more', more));
      inside.append(button);
    }
  };
  const node = h('details', {
    class: 'tree-branch', ontoggle: () => { if (node.open && !inside.firstChild) fill(0); },
  }, h('summary', null, name, h('span', {class: 'tree-gist'}, plural(`traffic.json.${kind}`, Object.keys(value).length))), inside);
  // Few are open at the beginning, even of an array of many objects.
  if (depth < openDepth && Object.keys(value).length <= 30) {
    fill(0);
    node.open = true;
  }
  return node;
}

/** changes is what differs between two values, as a table. */
export function changes(before, after) {
  const {found, more} = differences(before, after);
  if (found.length === 0) return h('p', {class: 'dim'}, t('traffic.diff.none'));
  return h('div', {class: 'stack'},
    h('ul', {class: 'changes'}, found.map((one) => h('li', {class: `change change-${one.kind}`},
      h('span', {class: 'change-kind'}, t(`traffic.diff.${one.kind}`)),
      h('bdi', {class: 'change-path'}, one.path || t('traffic.diff.all')),
      'before' in one ? h('del', null, short(one.before)) : null,
      'after' in one ? h('ins', null, short(one.after)) : null))),
    more ? h('p', {class: 'dim'}, t('traffic.diff.more')) : null);
}

const short = (value) => (kindOf(value) === 'object' || kindOf(value) === 'array' ? cut(JSON.stringify(value)) : gist(value));
const cut = (text) => (text.length > 400 ? text.slice(0, 400) + '…' : text);
