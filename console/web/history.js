// What was asked of a server, newest first: to look at again, to run again, and to compare.
import {get} from './api.js';
import {clear, h} from './dom.js';
import {diff, folded, sorted} from './compare.js';
import {run, state, target, took} from './run.js';
import {trouble} from './parts.js';
import {clock, number, t} from './words.js';

const quiet = new Set(['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list', 'completion/complete']);
// Rows at once; the filter finds others.
const MAX_ROWS = 200;

/** kept are the requests that somebody made: not those for lists and for completions, which the page makes by itself. */
export const kept = (session) => [...session.requests.values()].filter((one) => !quiet.has(one.method));

/** history shows the requests of a connection; open is the number of the one to show next to them. */
export function history(session, {go, again, read}) {
  const list = h('tbody');
  const detail = h('div', {class: 'stack ins-outcome'});
  const filter = h('input', {type: 'search', 'data-filter': '', placeholder: t('inspector.filter'), 'aria-label': t('inspector.filter'), oninput: () => draw()});
  const all = h('input', {type: 'checkbox', onchange: () => draw()});
  const compare = h('button', {type: 'button', disabled: true, onclick: () => differ()}, t('inspector.compare'));
  const empty = h('div', {class: 'empty'}, h('p', null, t('inspector.history.none')));
  const chosen = []; // at most two
  let shown = null;
  let opened = 0;

  function draw() {
    const word = filter.value.trim().toLowerCase();
    const rows = (all.checked ? [...session.requests.values()] : kept(session)).filter((one) => word === '' || `${one.method} ${target(one)} ${JSON.stringify(one.params ?? '')}`.toLowerCase().includes(word)).reverse();
    empty.hidden = rows.length > 0;
    clear(list, rows.slice(0, MAX_ROWS).map((one) => {
      const label = `${one.method} ${target(one)}`.trim();
      return h('tr', {'aria-current': one.request === opened ? 'true' : null},
        h('td', null, h('input', {type: 'checkbox', checked: chosen.includes(one.request), 'aria-label': t('inspector.choose', {n: one.request}), onchange: () => choose(one.request)})),
        h('td', {class: 'dim ins-number'}, number(one.request)),
        h('td', {class: 'ins-asked'}, h('a', {href: `#/inspector/${session.id}/history/${one.request}`, 'data-row': ''}, h('strong', null, target(one) || one.method), target(one) ? h('span', {class: 'dim'}, ` ${one.method}`) : null, h('span', {class: 'quiet'}, label))),
        h('td', null, state(one)),
        h('td', {class: 'dim ins-number'}, one.began ? clock(one.began) : ''),
        h('td', {class: 'dim ins-number'}, one.state === 'running' ? '' : took(one.ms)));
    }), rows.length > MAX_ROWS ? h('tr', null, h('td', {colspan: 6, class: 'dim'}, t('inspector.more', {n: number(rows.length - MAX_ROWS)}))) : null);
  }

  function choose(n) {
    const at = chosen.indexOf(n);
    if (at >= 0) chosen.splice(at, 1);
    else chosen.push(n);
    if (chosen.length > 2) chosen.shift();
    compare.disabled = chosen.length !== 2;
    draw();
  }

  async function differ() {
    const [before, after] = [...chosen].sort((x, y) => x - y);
    shown = null;
    try {
      const both = await Promise.all([before, after].map((n) => get(`${session.path}/requests/${n}`)));
      clear(detail, h('section', {class: 'stack', 'aria-label': t('inspector.compare')}, h('h3', null, t('inspector.difference', {before: number(before), after: number(after)})),
        [['asked', 'params'], ['answered', 'result']].map(([word, member]) => h('div', null, h('h4', null, t(`inspector.difference.${word}`)), lines(sorted(both[0][member] ?? both[0].error), sorted(both[1][member] ?? both[1].error))))));
      detail.scrollIntoView({block: 'nearest'}); // it stands below the rows
    } catch (error) {
      clear(detail, trouble(error));
    }
  }

  const node = h('div', {class: 'ins-history'},
    h('div', {class: 'stack'},
      h('div', {class: 'toolbar'}, h('span', {class: 'grow ins-filter'}, filter), h('label', {class: 'toolbar dim'}, all, t('inspector.history.all')), compare),
      h('div', {class: 'scroll'}, h('table', {class: 'table ins-requests'}, h('caption', {class: 'quiet'}, t('inspector.section.history')), list)), empty), detail);
  draw();
  return {
    node,
    open(n) {
      opened = n;
      draw();
      shown = n && session.requests.has(n) ? run(session, n, {again, read}) : null;
      clear(detail, shown ? [h('h3', null, target(session.requests.get(n)) || session.requests.get(n).method), asked(session.requests.get(n)), shown.node] : n ? h('p', {class: 'dim'}, t('inspector.run.forgotten')) : null);
    },
    update(topic, value) {
      if (topic === 'request' || topic === 'result') draw();
      shown?.update(topic, value);
    },
  };
}

function asked({params}) {
  return params === undefined || params === null ? null : h('details', {class: 'ins-definition'}, h('summary', null, t('inspector.difference.asked')), h('pre', {class: 'code', tabindex: '0'}, JSON.stringify(params, null, 2)));
}

function lines(before, after) {
  const found = diff(before, after);
  if (found.every(({kind}) => kind === 'same')) return h('p', {class: 'dim'}, t('inspector.difference.none'));
  const mark = {same: ' ', less: '−', more: '+'};
  const words = {less: t('inspector.difference.less'), more: t('inspector.difference.more')};
  const line = ({kind, text}) => h('div', {class: `ins-diff-${kind}`}, h('span', {class: 'ins-diff-mark', 'aria-label': words[kind], role: words[kind] ? 'img' : null}, mark[kind]), text);
  return h('div', {class: 'code ins-diff', tabindex: '0', role: 'region', 'aria-label': t('inspector.compare')}, folded(found).map((one) => {
    if (one.kind !== 'fold') return line(one);
    const fold = h('button', {type: 'button', class: 'button-plain', onclick: () => fold.replaceWith(...one.lines.map(line))}, t('inspector.difference.fold', {n: number(one.lines.length)}));
    return fold;
  }));
}
