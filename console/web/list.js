// The stream of messages as rows, of which only those that one sees are in the document: as a list, or as a diagram, in
// which each row has its arrow.
import {clear, h} from './dom.js';
import {arrow, callKey, ends, laneOf, Lanes, tracks, Waiting} from './diagram.js';
import {visible} from './rows.js';
import {bytes, clock, duration, plural, t} from './words.js';

const heights = {list: 28, diagram: 38}; // of a row; traffic.css has them, too
const roomForAll = 240; // pixels in which there is room for a method next to a name
const narrowest = 112; // pixels of a lane
const gutters = {wide: 152, narrow: 58}; // left of the lanes, for the time and the lines of calls
const block = 200; // rows for which the lines of calls are made at a time
const long = 1e9; // nanoseconds that are a long wait
const effects = {allow: 'badge-good', ask: 'badge-warn', deny: 'badge-bad'};
const columns = ['time', 'call', 'route', 'what', 'took', 'size'];

/** nameOf is what stands over a lane. */
export function nameOf({kind, name}, alone) {
  if (kind === 'junction') return alone ? 'Junction' : t('traffic.process', {pid: name});
  return name || t('traffic.unnamed');
}

/** A List shows rows. It calls select(seq) when a person chose one, need(queries) for what it lacks, and moved() when it was scrolled. */
export class List {
  rows = null; // AllRows or FoundRows
  selected = 0; // number of a message
  lanes = new Lanes();
  waiting = new Waiting(); // empty, where not all messages of a call are shown
  follows = true; // it is at the end, and stays there

  #diagram = true;
  #drawn = new Map(); // by key: {element, state}
  #lines = {at: -1, rows: null, made: []};
  #version = 0; // of what the lines are made of
  #frame = 0;
  #tick = 0;

  constructor({select, need, moved}) {
    Object.assign(this, {select, need, moved});
    this.head = h('div', {class: 'traffic-lanes'});
    this.body = h('div', {class: 'traffic-rows'});
    this.node = h('div', {
      class: 'traffic-stream', tabindex: '0', onscroll: () => this.#scrolled(), onclick: (event) => this.#clicked(event),
    }, this.head, this.body);
    this.resized = new ResizeObserver(() => this.#resized());
    this.resized.observe(this.node);
  }

  close() {
    this.resized.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#tick);
  }

  get rowHeight() { return this.#diagram ? heights.diagram : heights.list; }

  /** show begins anew with rows, as a diagram or as a list. */
  show(rows, diagram) {
    this.rows = rows;
    this.#diagram = diagram;
    this.#drawn.clear();
    clear(this.body);
    for (const [name, value] of Object.entries({
      role: diagram ? 'listbox' : 'grid', 'aria-label': t(diagram ? 'traffic.diagram.label' : 'traffic.list.label'), 'aria-colcount': diagram ? null : columns.length,
    })) value === null ? this.node.removeAttribute(name) : this.node.setAttribute(name, value);
    this.node.classList.toggle('is-diagram', diagram);
    this.body.setAttribute('role', diagram ? 'presentation' : 'rowgroup');
    this.#showHead();
    this.follows = true;
    this.changed();
  }

  /** see learns from messages who talks. */
  see(items) {
    this.lanes.see(items);
  }

  /** changed shows rows that came, or went. */
  changed() {
    this.#version++;
    if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); });
  }

  /** shift keeps in place what one sees when rows came at the beginning, or went there. */
  shift(rows) {
    if (rows === 0 || this.follows) return;
    this.body.style.minHeight = `${this.rows.count * this.rowHeight}px`;
    this.node.scrollTop += rows * this.rowHeight;
  }

  toEnd() {
    this.follows = true;
    this.changed();
  }

  /** reveal scrolls to a row. */
  reveal(row) {
    const top = row * this.rowHeight;
    const room = this.node.clientHeight - this.head.offsetHeight;
    const to = Math.min(top, Math.max(this.node.scrollTop, top + this.rowHeight - room));
    if (to === this.node.scrollTop) return;
    this.node.scrollTop = to;
    this.follows = row === this.rows.count - 1;
  }

  #scrolled() {
    this.follows = this.node.scrollTop + this.node.clientHeight >= this.node.scrollHeight - 4;
    if (!this.#frame) this.#frame = requestAnimationFrame(() => { this.#frame = 0; this.#draw(); });
    this.moved();
  }

  #resized() {
    if (!this.rows) return;
    this.#showHead();
    this.changed();
  }

  #clicked(event) {
    const row = event.target.closest('[data-seq]');
    if (row) this.select(Number(row.dataset.seq));
  }

  #showHead() {
    this.#version++;
    if (!this.#diagram) {
      this.head.removeAttribute('aria-hidden');
      this.head.setAttribute('role', 'rowgroup');
      this.head.style.minWidth = this.body.style.minWidth = '';
      clear(this.head, h('div', {class: 'traffic-row traffic-titles', role: 'row', 'aria-rowindex': '1'}, columns.map((name, n) =>
        h('span', {role: 'columnheader', 'aria-colindex': n + 1, class: `traffic-${name}`}, t(`traffic.column.${name}`)))));
      return;
    }
    const {list} = this.lanes;
    const gutter = this.node.clientWidth < 640 ? gutters.narrow : gutters.wide;
    this.gutter = gutter;
    this.width = Math.max(this.node.clientWidth - gutter, list.length * narrowest);
    this.head.removeAttribute('role');
    this.head.setAttribute('aria-hidden', 'true'); // each row says from whom to whom it goes
    const lane = laneOf(this.width, list.length);
    const {alone} = this.lanes;
    for (const one of [this.head, this.body]) {
      one.style.minWidth = `${gutter + this.width}px`;
      one.style.setProperty('--lane', `${lane}px`);
      one.style.setProperty('--gutter', `${gutter}px`);
    }
    clear(this.head, list.map((one) => h('div', {class: `traffic-lane traffic-lane-${one.kind}`, title: nameOf(one, false)},
      h('span', null, nameOf(one, alone)))));
  }

  #draw() {
    const {rows, node, body, rowHeight} = this;
    if (!rows) return;
    body.style.minHeight = `${rows.count * rowHeight}px`;
    node.setAttribute('aria-rowcount', rows.count + 1);
    if (this.#diagram) node.removeAttribute('aria-rowcount');
    if (this.follows) node.scrollTop = node.scrollHeight;
    const within = [node.scrollTop, node.clientHeight - this.head.offsetHeight, rowHeight, rows.count];
    const {start, end} = visible(...within);
    const looked = visible(...within, 0);
    if (this.lanes.choose(Array.from({length: looked.end - looked.start}, (_, n) => rows.at(looked.start + n)).filter(Boolean)) && this.#diagram) {
      this.#showHead();
      if (this.follows) node.scrollTop = node.scrollHeight; // the head may have another height, and be wider than the page
    }
    const queries = rows.missing(start, end);
    if (queries.length > 0) this.need(queries);
    const chosen = rows.rowOf(this.selected);
    const call = chosen >= 0 && rows.at(chosen) ? callKey(rows.at(chosen)) : '';
    const lines = this.#linesFor(start, end);
    const kept = new Map();
    let ticks = false;
    for (let row = start; row < end; row++) {
      const item = rows.at(row);
      const key = item ? item.seq : `empty ${row}`;
      const waits = item && this.waiting.has(item) ? Math.max(0, Math.floor((Date.now() - Date.parse(item.time)) / 1000)) : -1;
      ticks ||= waits >= 0;
      const before = row > 0 ? rows.at(row - 1) : undefined;
      const gap = item && before ? (Date.parse(item.time) - Date.parse(before.time)) * 1e6 : 0;
      const at = {row, lines: lines[row - this.#lines.at] ?? [], waits, gap, isSelected: row === chosen, isOfCall: call !== '' && item !== undefined && callKey(item) === call};
      const state = `${row} ${waits} ${gap >= long} ${at.isSelected} ${at.isOfCall} ${this.width} ${this.lanes.version} ${at.lines.map((line) => line.track + line.part + line.own)}`;
      let drawn = this.#drawn.get(key);
      if (!drawn || drawn.state !== state) {
        const element = item ? this.#row(item, at) : h('div', {class: 'traffic-row is-empty', role: 'presentation'});
        element.style.transform = `translateY(${row * rowHeight}px)`;
        if (drawn) drawn.element.replaceWith(element);
        else body.append(element);
        drawn = {element, state};
      }
      kept.set(key, drawn);
    }
    for (const [key, {element}] of this.#drawn) if (!kept.has(key)) element.remove();
    this.#drawn = kept;
    if (chosen >= start && chosen < end) node.setAttribute('aria-activedescendant', `message-${this.selected}`);
    else node.removeAttribute('aria-activedescendant');
    clearTimeout(this.#tick);
    if (ticks) this.#tick = setTimeout(() => this.changed(), 1000);
  }

  // The lines are made for whole blocks, so that they do not change while one scrolls.
  #linesFor(start, end) {
    const from = Math.max(0, (Math.floor(start / block) - 1) * block);
    const to = Math.min(this.rows.count, (Math.floor(end / block) + 2) * block);
    const of = `${from} ${to} ${this.#version}`;
    if (this.#lines.of !== of) {
      const items = [];
      for (let row = from; row < to; row++) items.push(this.rows.at(row));
      this.#lines = {of, at: from, made: tracks(items)};
    }
    return this.#lines.made;
  }

  #row(item, at) {
    const classes = ['traffic-row', `is-${item.legacy ? 'response' : item.kind}`];
    if (item.error) classes.push('is-failed');
    if (at.isSelected) classes.push('is-selected');
    if (at.isOfCall) classes.push('is-of-call');
    if (at.gap >= long) classes.push('has-gap');
    const props = {id: `message-${item.seq}`, class: classes.join(' '), 'data-seq': item.seq, 'aria-selected': String(at.isSelected)};
    const gap = at.gap >= long ? h('span', {class: 'traffic-gap'}, t('traffic.later', {time: duration(at.gap)})) : null;
    if (this.#diagram) {
      return h('div', {...props, role: 'option', 'aria-posinset': at.row + 1, 'aria-setsize': this.rows.count},
        h('span', {class: 'traffic-time'}, clock(item.time)), h('span', {class: 'quiet'}, this.#sentence(item)), callLines(at.lines), gap, this.#arrow(item, at),
        item.call ? h('span', {class: 'quiet'}, t('traffic.call.number', {n: item.call})) : null);
    }
    const {alone} = this.lanes;
    const [from, to] = ends(item);
    const side = (lane) => h('bdi', {class: `traffic-side-${lane.kind}`}, nameOf(lane, alone));
    const cells = {
      time: [clock(item.time)],
      call: [callLines(at.lines), item.call ? h('span', {class: 'traffic-number'}, `#${item.call}`) : null],
      route: from.kind === to.kind ? [nameOf(from, alone)] : [side(from), h('span', {class: 'traffic-to'}, ' → '), side(to)],
      what: [what(item), gap],
      took: [took(item, at.waits)],
      size: [item.size ? bytes(item.size) : ''],
    };
    return h('div', {...props, role: 'row', 'aria-rowindex': at.row + 2}, columns.map((name) => h('span', {role: 'gridcell', class: `traffic-${name}`}, cells[name])));
  }

  #arrow(item, at) {
    if (item.kind === 'dropped') return h('span', {class: 'traffic-missed'}, what(item));
    const place = arrow(this.lanes.of(item), this.width, this.lanes.list.length);
    const text = h('span', {class: place.textLeft ? 'traffic-text' : 'traffic-text is-right'}, what(item), took(item, at.waits));
    const gutter = this.gutter;
    text.title = [...text.children].map((part) => part.textContent).join(' ');
    text.style.maxWidth = `${place.room - 16}px`;
    text.classList.toggle('is-narrow', place.room < roomForAll);
    if (place.remark) {
      text.classList.add('is-remark');
      text.classList.remove('is-right');
      text.style.left = `${gutter + place.left}px`;
      return text;
    }
    const line = h('span', {class: `traffic-arrow ${place.toRight ? 'to-right' : 'to-left'}`}); // over the ground of the text
    line.style.left = `${gutter + place.left}px`;
    line.style.width = `${place.width}px`;
    if (place.textLeft) text.style.left = `${gutter + place.left + 8}px`;
    else text.style.right = `${this.width - place.left - place.width + 8}px`;
    return [text, line];
  }

  // sentence is what the arrow says to those who see it.
  #sentence(item) {
    if (item.kind === 'dropped') return '';
    const [from, to] = ends(item).map((lane) => nameOf(lane, false));
    return `${t('traffic.from.to', {from, to})}, ${t(item.legacy ? 'traffic.legacy' : `traffic.kind.${item.kind}`)}`;
  }
}

function what(item) {
  if (item.kind === 'dropped') return [h('span', {class: 'traffic-method'}, plural('traffic.missed', item.count ?? 0))];
  if (item.legacy) return [h('span', {class: 'badge'}, t('traffic.legacy')), h('bdi', {class: 'traffic-method'}, item.method)];
  const marked = item.error || item.kind === 'note' || item.kind === 'notification' && !item.method?.startsWith('notifications/'); // which says it itself
  const label = item.error && item.kind === 'response' ? t('traffic.kind.error') : t(`traffic.kind.${item.kind}`);
  return [
    item.effect && effects[item.effect] ? h('span', {class: `badge ${effects[item.effect]}`}, t(`traffic.effect.${item.effect}`)) : marked ? h('span', {class: `badge ${item.error ? 'badge-bad' : item.kind === 'note' ? 'badge-accent' : ''}`}, item.note || label) : null,
    h('bdi', {class: 'traffic-method'}, methodOf(item)),
    item.name ? h('bdi', {class: 'traffic-name'}, item.name) : null,
  ];
}

// methodOf has the beginning that all notifications have by itself: where there is little room, what follows says more.
function methodOf({method, kind}) {
  if (!method) return kind === 'response' ? t('traffic.kind.response') : '';
  const [, prefix, rest] = /^(notifications\/)?(.*)$/s.exec(method);
  return [prefix ? h('span', {class: 'traffic-prefix'}, prefix) : null, rest];
}

function took(item, waits) {
  if (waits >= 1) return h('span', {class: `traffic-waits ${waits >= 10 ? 'is-very-long' : ''}`}, t('traffic.waits.for', {time: duration(waits * 1e9)}));
  if (!item.took || item.kind === 'note') return null;
  return h('span', {class: item.took >= 10 * long ? 'traffic-took-text is-very-long' : item.took >= long ? 'traffic-took-text is-long' : 'traffic-took-text'}, duration(item.took));
}

function callLines(lines) {
  return h('span', {class: 'traffic-calls', 'aria-hidden': 'true'}, lines.map(({track, part, own}) => h('i', {class: `track track-${track} track-${part}${own ? ' track-own' : ''}`})));
}
