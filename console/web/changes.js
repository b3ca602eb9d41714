// What differs between two values.
import {h} from './dom.js';
import {kind} from './json.js';
import {differences, gist} from './pieces.js';
import {t} from './words.js';

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

const short = (value) => (kind(value) === 'object' || kind(value) === 'array' ? cut(JSON.stringify(value)) : gist(value));
const cut = (text) => (text.length > 400 ? text.slice(0, 400) + '…' : text);
