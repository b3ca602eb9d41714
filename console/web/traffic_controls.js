// What stands over the stream: the filter, and what one can do with what is shown.
import {clear, h} from './dom.js';
import {queryOf} from './filter.js';
import {t} from './words.js';

const typing = 250; // milliseconds after a key before the filter changes
const choices = ['client', 'server', 'method', 'pid'];
const formats = ['jsonl', 'har', 'svg', 'mermaid'];

/**
 * Controls are the filters and the actions. They call filter(field, value), form(list), pause(), clear() and reset().
 */
export class Controls {
  #timer = 0;
  #chosen = {};
  #texts = {};
  #known = {};

  constructor(on) {
    const text = (field, props) => (this.#texts[field] = h('input', {
      type: 'search', placeholder: t(`traffic.filter.${field}`), 'aria-label': t(`traffic.filter.${field}`), autocomplete: 'off', spellcheck: 'false',
      oninput: () => {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => on.filter(field, this.#texts[field].value.trim()), typing);
      }, ...props,
    }));
    for (const field of choices) {
      this.#chosen[field] = h('select', {'aria-label': t(`traffic.filter.${field}`), onchange: () => on.filter(field, this.#chosen[field].value)});
    }
    this.errors = h('button', {class: 'traffic-errors', 'aria-pressed': 'false', onclick: () => on.filter('errors', this.errors.getAttribute('aria-pressed') === 'true' ? '' : 'true')}, t('traffic.errors'));
    this.ping = h('button', {class: 'traffic-ping', 'aria-pressed': 'false', onclick: () => on.filter('ping', this.ping.getAttribute('aria-pressed') === 'true' ? '' : 'true')}, t('traffic.ping'));
    this.forms = [false, true].map((list) => h('button', {onclick: () => on.form(list)}, t(list ? 'traffic.list' : 'traffic.diagram')));
    this.pause = h('button', {onclick: on.pause});
    this.links = formats.map((format) => h('a', {download: ''}, t(`traffic.export.${format}`)));
    this.menu = h('details', {class: 'menu'}, h('summary', {class: 'button'}, t('traffic.export')),
      h('div', {class: 'menu-items', onclick: () => { this.menu.open = false; }}, this.links));
    this.reset = h('button', {class: 'button-plain', onclick: on.reset}, t('traffic.filter.reset'));
    this.call = h('button', {class: 'badge badge-accent traffic-call-chip', onclick: () => on.filter('call', ''), title: t('traffic.filter.reset')});
    this.fields = h('div', {class: 'traffic-fields', id: 'traffic-fields'}, choices.map((field) => this.#chosen[field]), text('name'), this.ping);
    this.more = h('button', {class: 'traffic-more', 'aria-expanded': 'false', 'aria-controls': 'traffic-fields', onclick: () => this.#toggle()}, t('traffic.filter'));
    this.filters = h('div', {class: 'traffic-filter', role: 'search'}, text('text', {'data-filter': ''}), this.more, this.fields, this.call, this.errors, this.reset);
    this.actions = h('div', {class: 'traffic-actions'}, h('div', {class: 'segments', role: 'group', 'aria-label': t('traffic.form')}, this.forms), this.pause,
      h('button', {onclick: on.clear}, t('traffic.clear')), this.menu);
    this.see({});
  }

  close() { clearTimeout(this.#timer); }

  #toggle() {
    const open = this.fields.classList.toggle('is-open');
    this.more.setAttribute('aria-expanded', String(open));
  }

  /** see adds to the choices what there is. */
  see(known) {
    for (const field of choices) {
      const select = this.#chosen[field];
      const names = known[field] ?? [];
      const chosen = this.filter?.[field] ?? '';
      const all = ['', ...new Set(chosen && !names.includes(chosen) ? [chosen, ...names] : names)];
      const text = all.join('\n');
      if (this.#known[field] !== text) clear(select, all.map((name) => h('option', {value: name}, name === '' ? t(`traffic.any.${field}`) : name)));
      this.#known[field] = text;
      select.value = chosen;
      select.classList.toggle('is-set', chosen !== '');
    }
  }

  /** show shows a state: {filter, list, paused}, and what there is to choose from. */
  show({filter, list, paused}, known) {
    this.filter = filter;
    for (const [field, input] of Object.entries(this.#texts)) if (document.activeElement !== input) input.value = filter[field] ?? '';
    this.see(known);
    this.errors.setAttribute('aria-pressed', String(Boolean(filter.errors)));
    this.ping.setAttribute('aria-pressed', String(Boolean(filter.ping)));
    this.forms.forEach((button, n) => button.setAttribute('aria-pressed', String(list === (n === 1))));
    this.pause.textContent = t(paused ? 'traffic.go.on' : 'traffic.pause');
    this.pause.classList.toggle('button-primary', paused);
    this.reset.hidden = Object.keys(filter).length === 0;
    this.call.hidden = !filter.call;
    this.call.textContent = filter.call ? `${t('traffic.call.number', {n: filter.call})} ✕` : '';
    this.links.forEach((link, n) => {
      const query = queryOf(filter);
      query.set('format', formats[n]);
      link.href = `api/v1/traffic/export?${query}`;
    });
  }
}
