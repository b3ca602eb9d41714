// The labels of a conversation's text: private, or by somebody whom nobody chose to obey.
import {h} from './dom.js';
import {plural, t} from './words.js';

/** labels are badges for labels as the API has them, such as "private+untrusted". */
export function labels(text) {
  return String(text ?? '').split(/[\s,|+]+/).filter(Boolean).map((label) => [h('span', {class: `badge ${label === 'untrusted' ? 'badge-warn' : label === 'private' ? 'badge-accent' : ''}`}, label), ' ']);
}

/** flowNote is what a note of labels says: what the conversation had read before a call, or what the call brought. */
export function flowNote(note) {
  const sources = Array.isArray(note.sources) ? note.sources : [];
  return h('div', {class: 'stack'},
    h('p', null, t(note.of === 'result' ? 'traffic.labels.result' : 'traffic.labels.call'), ' ', labels(note.labels)),
    sources.length > 0 ? h('ul', null, sources.map((source) => h('li', {class: 'mono'}, h('bdi', null, String(source)))), note.more ? h('li', {class: 'dim'}, plural('traffic.labels.more', Number(note.more))) : null) : null);
}
