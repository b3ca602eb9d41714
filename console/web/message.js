// The panel of one message: what it says, the same message on the other side of Junction, and the call that it belongs to.
import {clear, h} from './dom.js';
import {getExact} from './api.js';
import {counterpart, ends, headersOf} from './diagram.js';
import {flowNote} from './labels.js';
import {nameOf} from './list.js';
import {changes} from './changes.js';
import {tree} from './tree.js';
import {waterfall} from './waterfall.js';
import {trouble} from './parts.js';
import {bytes, clock, duration, number, plural, t} from './words.js';

/** A Panel shows one message. It calls open(seq) for another one, only(call) for a filter, and close(). */
export class Panel {
  seq = 0;
  #asked = 0; // answers to what was asked before are dropped
  #raw = false;
  #call = null;

  constructor({open, only, close}) {
    Object.assign(this, {openOther: open, only, close});
    this.node = h('section', {class: 'panel traffic-panel stack', 'aria-label': t('traffic.panel'), hidden: true});
  }

  hide() {
    this.seq = 0;
    this.#asked++;
    this.#call = null;
    this.node.hidden = true;
    clear(this.node);
  }

  /** isOf reports whether a message belongs to the call that is shown. */
  isOf(item) {
    return this.#call !== null && item.call === this.#call.call && item.pid === this.#call.pid;
  }

  /** show asks for a message, and shows it. */
  async show(seq) {
    const asked = ++this.#asked;
    const again = this.seq === seq;
    this.seq = seq;
    this.node.hidden = false;
    if (!again) this.node.setAttribute('aria-busy', 'true');
    try {
      const message = await getExact(`traffic/${seq}`);
      const call = message.call ? await getExact(`traffic/calls/${message.pid}/${message.call}`) : null;
      if (asked !== this.#asked) return;
      this.#call = call;
      const top = again ? this.node.scrollTop : 0;
      clear(this.node, this.#all(message, call));
      this.node.scrollTop = top;
    } catch (error) {
      if (asked !== this.#asked) return;
      clear(this.node, this.#head(t('traffic.message', {n: seq})), trouble(error, 'alert'));
    }
    this.node.removeAttribute('aria-busy');
  }

  #head(...title) {
    return h('div', {class: 'traffic-panel-head'}, h('h2', {class: 'mono'}, title),
      h('button', {class: 'button-plain', onclick: this.close, 'aria-label': t('app.close'), title: t('app.close')}, '✕'));
  }

  #all(message, call) {
    const [from, to] = ends(message).map((lane) => nameOf(lane, false));
    const other = call && counterpart(call.messages, message.seq);
    const asks = ['request', 'notification'].includes(message.kind);
    const {message: headers} = (call && headersOf(call.messages, message)) ?? {};
    const notes = (call?.messages ?? []).filter(({kind, note, seq}) => kind === 'note' && note !== 'http' && seq !== message.seq);
    return [
      this.#head(h('bdi', null, message.method ?? t(`traffic.kind.${message.kind}`)), message.name ? h('bdi', {class: 'traffic-panel-name'}, message.name) : null),
      h('div', {class: 'toolbar'},
        h('span', {class: `badge ${message.error ? 'badge-bad' : 'badge-accent'}`}, message.note || (message.legacy ? t('traffic.legacy') : message.error && message.kind === 'response' ? t('traffic.kind.error') : t(`traffic.kind.${message.kind}`))),
        message.took ? h('span', {class: 'badge'}, duration(message.took)) : null,
        message.size ? h('span', {class: 'badge'}, bytes(message.size)) : null,
        message.tokens ? h('span', {class: 'badge', title: t('traffic.tokens.why')}, t('traffic.tokens', {n: number(message.tokens)})) : null,
        message.call ? h('button', {class: 'button-small', onclick: () => this.only(message)}, t('traffic.only.call', {n: message.call})) : null),
      pairs([
        ['from', from === to ? from : `${from} → ${to}`], ['time', clock(message.time)], ['process', String(message.pid)], ['id', message.id === undefined ? null : JSON.stringify(message.id)],
        ['revision', message.revision], ['transport', message.transport],
      ]),
      message.legacy ? h('p', null, t('traffic.legacy.why')) : null,
      message.fault ? h('p', {class: message.legacy ? 'dim' : 'notice notice-bad'}, message.fault) : null,
      call && call.spans.length > 0 ? section('call', this.#callTitle(call), waterfall(call, message.seq, this.openOther)) : null,
      section('message', t('traffic.section.message'), this.#body(message)),
      headers && (asks || headers.status) ? section('headers', t('traffic.section.headers'), headersList(headers, asks)) : null,
      other ? section('other', t('traffic.section.other', {name: nameOf(ends(other)[other.toServer ? 1 : 0], false)}),
        this.#difference(message, other), h('details', {class: 'stack'}, h('summary', null, t('traffic.other.whole')), this.#body(other))) : null,
      notes.length > 0 ? section('notes', t('traffic.section.notes'), notes.map((note) => h('div', {class: 'traffic-note'},
        h('span', {class: 'badge badge-accent'}, note.note ?? ''), note.message === undefined ? null : isFlow(note) ? flowNote(note.message) : tree(note.message)))) : null,
    ];
  }

  #callTitle(call) {
    const parts = [t('traffic.call.number', {n: call.call}), duration(call.took)];
    if (call.rounds > 1) parts.push(plural('traffic.rounds', call.rounds));
    if (call.tokens) parts.push(t('traffic.tokens', {n: number(call.tokens)}));
    if (call.more) parts.push(t('traffic.call.more'));
    return parts.join(' · ');
  }

  // What the message toward the server, or back to the client, has that the one before it had not.
  #difference(message, other) {
    if (message.message === undefined || other.message === undefined) return null;
    return message.seq < other.seq ? changes(message.message, other.message) : changes(other.message, message.message);
  }

  #body(message) {
    if (message.message === undefined) {
      return message.fault ? null : h('p', {class: 'dim'}, message.missing ? t('traffic.no.message', {why: message.missing}) : t('traffic.no.text'));
    }
    const text = JSON.stringify(message.message, null, 2);
    const shown = h('div');
    const flow = isFlow(message) ? flowNote(message.message) : null;
    const copied = h('button', {class: 'button-small', onclick: async () => {
      try {
        await navigator.clipboard.writeText(text);
        copied.textContent = t('traffic.copied');
      } catch {
        copied.textContent = t('traffic.not.copied');
      }
    }}, t('traffic.copy'));
    const choices = [false, true].map((raw) => h('button', {class: 'button-small', onclick: () => { this.#raw = raw; choose(); }}, t(raw ? 'traffic.raw' : 'traffic.tree')));
    const choose = () => {
      choices.forEach((button, n) => button.setAttribute('aria-pressed', String(this.#raw === (n === 1))));
      clear(shown, this.#raw ? h('pre', {class: 'code', tabindex: '0'}, text) : tree(message.message));
    };
    choose();
    return h('div', {class: 'stack'}, flow, h('div', {class: 'toolbar'}, h('div', {class: 'segments', role: 'group', 'aria-label': t('traffic.as')}, choices), copied), shown);
  }
}

const isFlow = ({note, message}) => note === 'labels' && typeof message?.of === 'string';

function section(name, title, ...children) {
  return h('section', {class: `stack traffic-section-${name}`, 'aria-labelledby': `traffic-${name}`}, h('h3', {id: `traffic-${name}`}, title), children);
}

// headersList is what a note of an HTTP exchange says: of what asks, the request; of what answers, the response.
function headersList({method, url, requestHeaders, status, responseHeaders}, asks) {
  const rows = [[t('traffic.http'), asks ? `${method} ${url}` : String(status)], ...Object.entries((asks ? requestHeaders : responseHeaders) ?? {}).map(([name, values]) => [name, [values].flat().join(', ')])];
  return h('dl', {class: 'pairs traffic-pairs'}, rows.map(([name, value]) => [h('dt', null, h('bdi', null, name)), h('dd', {class: 'mono'}, h('bdi', null, value))]));
}

function pairs(rows) {
  return h('dl', {class: 'pairs traffic-pairs'}, rows.filter(([, value]) => value).map(([key, value]) => [h('dt', null, t(`traffic.of.${key}`)), h('dd', null, h('bdi', null, value))]));
}
