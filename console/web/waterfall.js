// The waterfall of one call: a bar for each request of it, on the hop where it went, over the time of the whole call.
import {h} from './dom.js';
import {bars} from './diagram.js';
import {duration, t} from './words.js';

/** waterfall is the picture of a call; open(seq) shows a message of it. */
export function waterfall(call, seq, open) {
  const all = bars(call);
  return h('ol', {class: 'waterfall'}, all.map(({span, waits, length, left, width}) => {
    const bar = h('span', {class: `waterfall-bar is-${span.hop}${waits ? ' is-waiting' : ''}${span.error ? ' is-failed' : ''}`});
    bar.style.left = `${Math.min(left, 99.6)}%`;
    bar.style.width = `${Math.min(width, 100 - Math.min(left, 99.6))}%`;
    const where = span.hop === 'server' ? span.server : call.client || t('traffic.unnamed');
    const time = waits ? t('traffic.waits') : duration(length);
    return h('li', null, h('button', {class: 'waterfall-row', 'aria-current': span.seq === seq || span.answer === seq ? 'true' : null, onclick: () => open(span.seq)},
      h('bdi', {class: 'waterfall-where'}, where),
      h('bdi', {class: 'waterfall-what', title: span.method}, span.name || span.method || ''),
      h('span', {class: 'waterfall-lane'}, bar),
      h('span', {class: 'waterfall-time'}, h('span', {class: 'quiet'}, t('traffic.began', {time: duration(span.start)}) + ' '), time)));
  }));
}
