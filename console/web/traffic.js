// The stream of messages between clients, Junction and servers, while they go.
import {clear, h} from './dom.js';
import {del, get, stream} from './api.js';
import {Controls} from './traffic_controls.js';
import {Waiting} from './diagram.js';
import {isEmpty, isWhole, readAddress, streamQuery, withField, writeAddress} from './filter.js';
import {List} from './list.js';
import {Panel} from './message.js';
import {AllRows, FoundRows} from './rows.js';
import {reason} from './parts.js';
import {plural, t} from './words.js';

const page = 200; // messages that are asked for at a time
const catchUpPage = 1000;
const atOnce = 4; // requests for rows that go on at the same time
const again = 3000; // milliseconds until what failed is tried again
const lookPause = 2000; // milliseconds between two looks whether something runs, while there are no messages

export function view({say}) {
  return new Traffic(say);
}

class Traffic {
  #stepped = false; // the step before this one in the history has no panel
  #state = {seq: 0, list: false, filter: {}, paused: false};
  #rows = null;
  #methods = new Set();
  #stop = () => {}; // ends the stream of events
  #round = 0; // counts filters, so that answers to what was asked with an older one are dropped
  #last = 0; // the newest message of which the page has seen all before it
  #lastRow = 0; // place of the newest one that it has heard of
  #bounds = null; // the newest that the page has heard of what there is
  #since = 0; // messages that came while the page is paused, or the person is elsewhere
  #asking = new Set(); // queries for rows that go on
  #condition = 'loading'; // loading, open, lost, or failed: why is in #fault
  #fault = '';
  #endpoint = undefined; // where a junction up is reached
  #running = null; // whether a junction up runs; null while that is not known
  #timers = new Set();
  #wanted = -1; // the row that a person went to, and that has to come first

  constructor(say) {
    this.say = say;
    this.controls = new Controls({
      filter: (field, value) => this.#filter(withField(this.#state.filter, field, value)),
      form: (list) => this.#form(list),
      pause: () => this.#pause(),
      clear: () => this.#clear(),
      reset: () => this.#filter({}),
    });
    this.list = new List({select: (seq) => this.#open(seq), need: (queries) => this.#need(queries), moved: () => this.#moved()});
    this.list.node.addEventListener('keydown', (event) => this.#pressed(event));
    this.panel = new Panel({open: (seq) => this.#open(seq, true), only: ({pid, call}) => this.#filter({pid: String(pid), call: String(call)}), close: () => this.#open(0)});
    this.status = h('div', {class: 'traffic-status'});
    this.latest = h('button', {class: 'traffic-latest button-primary', hidden: true, onclick: () => this.#toEnd()});
    this.notice = h('div', {class: 'traffic-notice', role: 'status'});
    this.empty = h('div', {class: 'empty traffic-empty', hidden: true});
    this.node = h('div', {class: 'traffic'},
      h('div', {class: 'traffic-head'}, h('h1', null, t('traffic.title')), this.status, this.controls.actions), this.controls.filters, this.notice,
      h('div', {class: 'traffic-split'}, h('div', {class: 'panel traffic-main'}, this.list.node, this.empty, this.latest), this.panel.node));
    this.keys = {
      j: ['traffic.key.next', () => this.#step(1)],
      k: ['traffic.key.previous', () => this.#step(-1)],
      Enter: ['traffic.key.open', () => this.#enter()],
      Escape: [null, () => this.#open(0)],
      p: ['traffic.key.pause', () => this.#pause()],
      e: ['traffic.key.errors', () => this.#filter(withField(this.#state.filter, 'errors', this.#state.filter.errors ? '' : 'true'))],
      d: ['traffic.key.form', () => this.#form(!this.#state.list)],
    };
  }

  close() {
    this.#round++;
    this.#stop();
    this.#timers.forEach(clearTimeout);
    this.list.close();
    this.controls.close();
  }

  /** open shows what stands in the page's address. */
  open(rest) {
    const {seq, list, filter} = readAddress(rest);
    if (this.#round > 0 && writeAddress({seq: 0, list, filter}) === writeAddress({...this.#state, seq: 0})) { // Back, or Forward
      this.#stepped = seq !== 0;
      this.#show(seq);
      return;
    }
    Object.assign(this.#state, {seq, list, filter});
    this.#begin();
    if (seq) this.panel.show(seq);
    else this.panel.hide();
  }

  #later(what, pause) {
    const timer = setTimeout(() => { this.#timers.delete(timer); what(); }, pause);
    this.#timers.add(timer);
  }

  // What is shown stands in the address, so that it can be kept. Only a panel that opens is a step in the history, so that
  // Back closes it; each letter of a filter would be one.
  #address(isStep = false) {
    history[isStep ? 'pushState' : 'replaceState'](null, '', `#/traffic/${writeAddress(this.#state)}`.replace(/\/$/, ''));
    this.#stepped ||= isStep;
  }

  // begin asks for the newest messages, and for those that come.
  async #begin() {
    const round = ++this.#round;
    this.#stop();
    const {filter, list} = this.#state;
    this.#wanted = -1;
    this.#rows = isEmpty(filter) ? new AllRows() : new FoundRows();
    this.#state.paused = false;
    this.#since = 0;
    this.#asking.clear();
    this.#condition = 'loading';
    this.list.selected = this.#state.seq;
    this.list.waiting = new Waiting();
    this.list.show(this.#rows, !list);
    this.#showAll();
    const query = streamQuery(filter);
    query.set('limit', page);
    try {
      const answer = await get(`traffic?${query}`);
      if (round !== this.#round) return;
      this.#fault = answer.fault ?? '';
      this.#rows.bounds(answer);
      this.list.lanes.end(answer.ended);
      this.#see(answer.items.toReversed());
      this.#rows instanceof FoundRows ? this.#rows.older(answer) : this.#rows.put(answer.items);
      [this.#last, this.#lastRow] = [answer.last, answer.lastRow];
      this.#condition = 'open';
    } catch (error) {
      if (round !== this.#round) return;
      [this.#condition, this.#fault] = error.status === 0 ? ['lost', ''] : ['failed', error.message];
      if (error.status === 0) this.#later(() => { if (round === this.#round) this.#begin(); }, again);
      this.#showAll();
      return;
    }
    this.#listen(round);
    this.list.changed();
    this.#showAll();
  }

  #listen(round) {
    const query = streamQuery(this.#state.filter);
    query.set('after', this.#last);
    this.#stop = stream(`traffic/stream?${query}`, (name, batch, id) => {
      if (round === this.#round && name === 'messages') this.#take(batch, Number(id));
    }, (condition) => {
      if (round !== this.#round) return;
      this.#condition = condition;
      this.#showAll();
    });
  }

  // see learns from the newest messages.
  #see(items) {
    this.list.see(items);
    if (isWhole(this.#state.filter)) this.list.waiting.see(items);
    for (const {method} of items) if (method && this.#methods.size < 200) this.#methods.add(method);
  }

  // take takes what came. With a filter, what the stream left out is asked for.
  async #take(batch, upTo) {
    const round = this.#round;
    this.#fault = batch.fault ?? '';
    if (batch.ended) {
      this.list.lanes.end(batch.ended);
      this.list.changed();
    }
    if (batch.cleared || batch.skipped) this.list.waiting = new Waiting(); // the answers are not among what came
    if (batch.cleared) {
      this.list.shift(-this.#rows.bounds({...batch, lastRow: batch.firstRow - 1}));
      this.#since = 0;
      this.#state.paused = false;
      this.list.follows = true;
    }
    if (batch.skipped && this.#rows instanceof FoundRows) {
      try {
        batch.items = await this.#between(this.#last, upTo);
      } catch {
        return this.#begin();
      }
      if (round !== this.#round) return;
    }
    const isAll = this.#rows instanceof AllRows;
    const came = isAll ? Math.max(0, batch.lastRow - this.#lastRow) : batch.items.length;
    [this.#last, this.#lastRow, this.#bounds] = [upTo, batch.lastRow, batch];
    if (this.#state.paused) {
      this.#since += came;
      if (!isAll) this.held = this.held.concat(batch.items).slice(-catchUpPage * 100);
      this.#showAll();
      return;
    }
    this.#add(batch.items, batch);
    this.#since = this.list.follows ? 0 : this.#since + came;
    if (batch.items.some((item) => this.panel.isOf(item))) this.panel.show(this.panel.seq);
    this.#showAll();
  }

  #add(items, bounds) {
    this.#see(items);
    const gone = this.#rows.bounds(bounds);
    this.#rows.put(items);
    this.list.shift(-gone);
    this.list.changed();
  }

  async #between(after, last) {
    const found = [];
    for (let [next, more] = [after, true]; more && next < last;) {
      const query = streamQuery(this.#state.filter);
      query.set('after', next);
      query.set('limit', catchUpPage);
      const answer = await get(`traffic?${query}`);
      found.push(...answer.items.filter(({seq}) => seq <= last));
      [next, more] = [answer.next, answer.more];
    }
    return found;
  }

  // need asks for rows that a person looks at.
  #need(queries) {
    const round = this.#round;
    for (const one of queries) {
      const key = JSON.stringify(one);
      if (this.#asking.size >= atOnce || this.#asking.has(key) || this.#condition === 'loading') continue;
      this.#asking.add(key);
      const query = streamQuery(this.#state.filter);
      for (const [name, value] of Object.entries(one)) query.set(name, value);
      get(`traffic?${query}`).then((answer) => {
        if (round !== this.#round) return;
        this.#asking.delete(key);
        if (this.#rows instanceof FoundRows) this.list.shift(this.#rows.older(answer));
        else this.#rows.put(answer.items);
        this.list.see(answer.items.toReversed());
        this.list.changed();
        if (this.#wanted >= 0 && this.#rows.at(this.#wanted)) this.#choose(this.#wanted);
        this.#showAll();
      }, () => {
        if (round !== this.#round) return;
        this.#later(() => { this.#asking.delete(key); this.list.changed(); }, again);
      });
    }
  }

  #filter(filter) {
    this.#state.filter = filter;
    this.#address();
    this.#begin();
  }

  #form(list) {
    this.#state.list = list;
    this.#address();
    this.list.show(this.#rows, !list);
    this.#showAll();
    this.say(t(list ? 'traffic.list' : 'traffic.diagram'));
  }

  #pause() {
    const paused = this.#state.paused = !this.#state.paused;
    if (paused) {
      this.held = [];
      this.#since = 0;
    } else {
      if (this.#bounds) this.#add(this.held, this.#bounds);
      this.held = [];
      this.list.toEnd();
      this.#since = 0;
    }
    this.#showAll();
    this.say(t(paused ? 'traffic.paused' : 'traffic.live'));
  }

  async #clear() {
    try {
      await del('traffic');
      this.#open(0);
    } catch (error) {
      this.#fault = reason(error);
      this.#showAll();
    }
  }

  #moved() {
    if (!this.list.follows || this.#since === 0 || this.#state.paused) return;
    this.#since = 0;
    this.#showAll();
  }

  #toEnd() {
    if (this.#state.paused) this.#pause();
    this.#since = 0;
    this.list.toEnd();
    this.list.node.focus({preventScroll: true});
    this.#showAll();
  }

  // open shows a message in the panel; 0 closes it. One that another message led to is scrolled to.
  #open(seq, reveal = false) {
    this.#state.seq = seq;
    this.#address(seq !== 0 && !this.#stepped && this.panel.node.hidden);
    this.#show(seq, reveal);
  }

  #show(seq, reveal = false) {
    this.#state.seq = this.list.selected = seq;
    const row = this.#rows.rowOf(seq);
    if (reveal && row >= 0) this.list.reveal(row);
    this.list.changed();
    const opens = this.panel.node.hidden;
    if (seq) {
      this.panel.show(seq);
      if (opens && row >= 0) requestAnimationFrame(() => this.list.reveal(row)); // the panel takes room
    } else if (!this.panel.node.hidden) {
      this.panel.hide();
      this.list.node.focus({preventScroll: true});
    }
  }

  #step(by) {
    const {count} = this.#rows;
    if (count === 0) return;
    const at = this.#rows.rowOf(this.list.selected);
    const row = at < 0 ? (by > 0 ? Math.max(0, count - 1) : count - 1) : Math.min(count - 1, Math.max(0, at + by));
    this.#choose(row);
  }

  // choose selects a row without opening it, but for a panel that is open.
  #choose(row) {
    const item = this.#rows.at(row);
    this.list.reveal(row);
    this.list.changed();
    this.#wanted = item ? -1 : row;
    if (!item) return;
    this.list.selected = item.seq;
    if (!this.panel.node.hidden) this.#open(item.seq);
  }

  #enter() {
    if (this.list.selected) this.#open(this.list.selected);
  }

  #pressed(event) {
    const rows = Math.max(1, Math.floor(this.list.node.clientHeight / this.list.rowHeight) - 2);
    const at = this.#rows.rowOf(this.list.selected);
    const to = {ArrowDown: at + 1, ArrowUp: at < 0 ? this.#rows.count - 1 : at - 1, PageDown: at + rows, PageUp: at - rows, Home: 0, End: this.#rows.count - 1}[event.key];
    if (to === undefined || event.ctrlKey || event.altKey || event.metaKey || this.#rows.count === 0) return;
    event.preventDefault();
    this.#choose(Math.min(this.#rows.count - 1, Math.max(0, to)));
  }

  #showAll() {
    const {lanes} = this.list;
    this.controls.show(this.#state, {client: lanes.names('client'), server: lanes.names('server'), pid: lanes.names('junction'), method: [...this.#methods].sort()});
    const {count} = this.#rows;
    const filtered = !isEmpty(this.#state.filter);
    const condition = this.#condition === 'lost' ? 'lost' : this.#state.paused ? 'paused' : this.#condition === 'open' ? 'live' : 'loading';
    clear(this.status, h('span', {class: `traffic-dot is-${condition}`}), h('span', null, t(`traffic.${condition}`)),
      h('span', {class: 'dim'}, count === 0 ? '' : filtered ? plural(this.#rows.more ? 'traffic.found.more' : 'traffic.found', count) : plural('traffic.count', count)));
    const trouble = this.#condition === 'lost' ? t('app.unreachable') : this.#fault;
    if (this.notice.textContent !== trouble) clear(this.notice, trouble ? h('p', {class: 'notice notice-bad'}, trouble) : null);
    this.latest.hidden = this.#since === 0 || this.list.follows && !this.#state.paused;
    this.latest.textContent = plural('traffic.since', this.#since);
    this.#showEmpty(count, filtered);
  }

  #showEmpty(count, filtered) {
    const shown = count === 0 && this.#condition !== 'failed';
    this.empty.hidden = !shown;
    this.list.node.classList.toggle('is-empty', shown);
    if (!shown) return;
    if (filtered && this.#rows.more && this.#condition === 'open') this.#need(this.#rows.missing(0, 0)); // it looks further back
    const kind = this.#condition === 'loading' ? 'loading' : filtered ? (this.#rows.more ? 'searching' : 'nothing') : this.#running === false ? 'none' : 'waiting';
    if (this.emptyKind !== kind) clear(this.empty, this.#emptyText(kind));
    this.emptyKind = kind;
    if (!filtered && !this.looking) this.#look();
  }

  #emptyText(kind) {
    switch (kind) {
      case 'loading': return h('p', null, t('traffic.loading'));
      case 'searching': return h('p', null, t('traffic.searching'));
      case 'nothing': return [h('p', null, t('traffic.nothing')), h('button', {onclick: () => this.#filter({})}, t('traffic.filter.reset'))];
      case 'none': return [h('h2', null, t('traffic.none.title')), h('p', null, t('traffic.none.up')), h('pre', {class: 'code'}, 'junction up'),
        h('p', null, t('traffic.none.connect')), h('p', {class: 'dim'}, t('traffic.none.others'))];
      default: return [h('h2', null, t('traffic.waiting.title')), h('p', null, t('traffic.waiting')), h('pre', {class: 'code'}, this.#command())];
    }
  }

  // command is a call that this page shows: one through a junction up, where one has an address.
  #command() {
    return `junction call ${this.#endpoint ?? 'URL'} SERVER__TOOL`;
  }

  // look finds out whether anything runs that could say something, for as long as nothing was said.
  async #look() {
    this.looking = true;
    try {
      const {instances} = await get('instances');
      this.#running = instances.length > 0;
      this.#endpoint = instances.find((one) => one.endpoint !== 'stdio')?.endpoint;
    } catch {
      this.#running = null;
    }
    this.#later(() => {
      this.looking = false;
      if (this.#rows.count === 0) this.#showAll();
    }, this.#running === null ? again : lookPause);
    if (this.#rows.count === 0) this.#showEmpty(0, !isEmpty(this.#state.filter));
  }
}
