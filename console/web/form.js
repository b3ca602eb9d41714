// A form made from a JSON Schema: the arguments of a tool or a prompt, or what a server asks a person for.
//
//   const f = form(schema, {value, complete, onchange, defaults});
//   page.append(f.node);
//   if (f.problems().length === 0) await post('call', {arguments: f.value()}); else f.focus();
//
// The value is one for form and raw JSON: what the form cannot show stays in it as it is. Numbers that JavaScript
// cannot hold are in it as JSON.rawJSON, so JSON.stringify, and with it post, sends each digit as it was typed; json.js
// parses such numbers and says which they are. A schema is best parsed with json.js, too. Members that nobody touched
// are not in the value, but for those that are required and can be only one thing; with defaults: true those that have
// a default are, as the specification wants it for the questions of a server.
import {check} from './check.js';
import {enter, field} from './form_field.js';
import {parse} from './json.js';
import {filled, start} from './schema.js';
import {clear, h} from './dom.js';
import {plural, t} from './words.js';

let forms = 0; // so that ids of two forms on a page differ

/** form makes a form. See above. */
export function form(schema, options = {}) {
  schema ??= {type: 'object'};
  const prefix = `form${++forms}-`;
  let ids = 0, root, raw = null, asked = false;
  let value = options.value ?? start(schema, schema);
  if (options.defaults) value = filled(schema, schema, value);

  const ctx = {
    root: schema, complete: options.complete,
    id: () => prefix + ids++,
    broken: new Map(), // what is in a field but is no value: node → {path(), text}
    visited: new WeakSet(), // fields that were left once: only those say what is wrong before somebody asks for all
  };
  const body = h('div', {class: 'form-body'});
  const said = h('p', {class: 'form-said problem', role: 'status'});
  const tab = (text, want) => h('button', {type: 'button', class: 'button', 'aria-pressed': 'false', onclick: () => turn(want)}, text);
  const tabs = [tab(t('form.form'), false), tab(t('form.json'), true)];
  const node = h('div', {class: 'form'}, h('div', {class: 'toolbar form-toolbar', role: 'group', 'aria-label': t('form.views')}, tabs), body, said);

  const changed = (next) => {
    value = next;
    if (asked) refresh();
    else said.textContent = '';
    options.onchange?.(value);
  };

  function draw() {
    ctx.broken.clear();
    tabs.forEach((one, i) => one.setAttribute('aria-pressed', String((raw !== null) === (i === 1))));
    if (raw === null) {
      root = field(ctx, {schema, value, required: true, root: true, depth: 0, path: () => [], emit: changed});
      clear(body, root.node);
      return;
    }
    const id = ctx.id();
    const input = h('textarea', {class: 'form-raw mono', 'aria-label': t('form.json'), 'aria-describedby': id, spellcheck: 'false', rows: Math.min(30, Math.max(6, raw.split('\n').length + 1)), value: raw, oninput: () => {
      raw = input.value;
      const text = read();
      input.setAttribute('aria-invalid', String(text !== ''));
      fault.textContent = text;
      if (!text) changed(raw.trim() === '' ? undefined : parse(raw));
    }});
    const fault = h('p', {class: 'problem', id});
    root = {show: () => {}, focus: () => input.focus()};
    clear(body, input, fault);
  }

  // read says what is wrong with the raw text.
  function read() {
    try {
      if (raw !== null && raw.trim() !== '') parse(raw);
      return '';
    } catch (fault) {
      return t('form.notjson', {reason: fault.message});
    }
  }

  function turn(want) {
    if (want === (raw !== null)) return;
    if (!want && read()) {
      root.focus();
      return;
    }
    raw = want ? JSON.stringify(value, null, 2) ?? '' : null;
    draw();
    if (asked) refresh();
    tabs[want ? 1 : 0].focus();
  }

  function list() {
    if (raw !== null && read()) return [{path: [], text: read()}];
    const broken = [...ctx.broken].filter(([at]) => body.contains(at)).map(([, one]) => ({path: one.path(), text: one.text}));
    const at = new Set(broken.map((one) => JSON.stringify(one.path)));
    const rest = value === undefined ? [] : check(schema, value);
    return [...broken, ...rest.filter((one) => !at.has(JSON.stringify(one.path))).map((one) => ({path: one.path, text: say(one)}))];
  }

  function refresh() {
    const all = list();
    root.show(all, asked);
    said.textContent = asked && all.length > 0 ? plural('form.problems', all.length) + (raw === null ? '' : ' ' + all.slice(0, 5).map((one) => `${one.path.join('.')}: ${one.text}`).join(' ')) : '';
    return all;
  }

  // A field says what is wrong when it is left, not while somebody types for the first time.
  body.addEventListener('focusout', (event) => {
    for (let row = event.target.closest('.form-row'); row && !row.contains(event.relatedTarget); row = row.parentElement.closest('.form-row')) ctx.visited.add(row);
    if (raw === null) root.show(list(), asked);
  });
  draw();
  return {
    node,
    value: () => value,
    set(next) {
      value = next;
      asked = false;
      said.textContent = '';
      if (raw !== null) raw = JSON.stringify(value, null, 2) ?? '';
      draw();
    },
    problems() {
      asked = true;
      return refresh();
    },
    focus() {
      const wrong = node.querySelector('[aria-invalid="true"]') ?? node.querySelector('.form-row > .problem:not([hidden])')?.parentElement;
      if (wrong?.matches('.form-row')) enter(wrong);
      else if (wrong) wrong.focus();
      else enter(body);
    },
  };
}

// say is the text of a fault.
function say(fault) {
  switch (fault.rule) {
    case 'never': return t('form.must.never');
    case 'required': return t('form.must.required');
    case 'type': return t('form.must.type', {type: fault.type});
    case 'enum': return t('form.must.enum');
    case 'const': return t('form.must.const', {value: fault.value});
    case 'minLength': return plural('form.must.minLength', fault.n);
    case 'maxLength': return plural('form.must.maxLength', fault.n);
    case 'pattern': return t('form.must.pattern', {pattern: fault.pattern});
    case 'format': return t('form.must.format', {format: fault.format});
    case 'minimum': return t('form.must.minimum', {n: fault.n});
    case 'maximum': return t('form.must.maximum', {n: fault.n});
    case 'over': return t('form.must.over', {n: fault.n});
    case 'under': return t('form.must.under', {n: fault.n});
    case 'multipleOf': return t('form.must.multipleOf', {n: fault.n});
    case 'minItems': return plural('form.must.minItems', fault.n);
    case 'maxItems': return plural('form.must.maxItems', fault.n);
    case 'unique': return t('form.must.unique');
    case 'contains': return t('form.must.contains');
    case 'minProperties': return plural('form.must.minProperties', fault.n);
    case 'maxProperties': return plural('form.must.maxProperties', fault.n);
    case 'unknown': return t('form.must.unknown');
    case 'name': return t('form.must.name');
    case 'one': return t('form.must.single');
    default: return t('form.must.not');
  }
}
