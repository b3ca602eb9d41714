// Fills forms as a person does: by what is on the page, with the events that typing and choosing make. Runs in the page.
import {form} from './form.js';
import {get, kind, parse, same} from './json.js';
import {sample} from './sample.js';

const controlOf = (row) => row.querySelector(':scope > .form-control').firstElementChild;
const tell = (node, ...events) => events.forEach((name) => node.dispatchEvent(new Event(name, {bubbles: true})));

function type(input, text) {
  if (!input) throw new Error('no field to type into');
  if (input.disabled) throw new Error('the field is disabled');
  input.value = text;
  if (input.value !== text && input.type !== 'datetime-local') throw new Error(`a field of type ${input.type} does not take ${text}`);
  tell(input, 'input', 'change');
}

// rowsOf are the fields of a group by key, further ones are shown first.
function rowsOf(group) {
  const more = [...group.children].find((one) => one.matches('button') && !one.hidden);
  for (let i = 0; more && !more.hidden && i < 200; i++) more.click();
  return new Map([...group.querySelector(':scope > .form-rows').children].map((row) => [row.dataset.key, row]));
}

function fill(f, row, value, path) {
  const toggle = () => [...row.querySelectorAll(':scope > .form-head .form-actions > button')].find((one) => one.textContent === 'null' && !one.hidden);
  if (row.dataset.kind === 'null' && value !== null) toggle()?.click();
  const kindOf = row.dataset.kind;
  if (value === null && kindOf !== 'null' && kindOf !== 'variant' && kindOf !== 'json') {
    if (toggle()) {
      toggle().click();
      return;
    }
  }
  put(f, row, controlOf(row), kindOf, value, path, row);
}

function put(f, row, control, kindOf, value, path, holder) {
  switch (kindOf) {
    case 'null': if (value !== null) throw new Error('null'); return;
    case 'add': {
      control.querySelector('button').click();
      const next = holder === row ? controlOf(row) : holder.firstElementChild;
      if (holder.dataset.kind === 'add') throw new Error('the button to fill in does nothing');
      return put(f, row, next, holder.dataset.kind, value, path, holder);
    }
    case 'text': case 'file': {
      if (typeof value !== 'string') throw new Error('not a text');
      const input = control.querySelector('input, textarea');
      if (value === '') {
        if (input.value !== '') type(input, '');
        const none = [...control.querySelectorAll('button')].find((one) => !one.hidden);
        if (none.getAttribute('aria-pressed') !== 'true') none.click();
      } else type(input, value);
      return;
    }
    case 'date': {
      if (typeof value !== 'string') throw new Error('not a text');
      const input = control.querySelector('input');
      const at = new Date(value);
      return type(input, input.type === 'date' ? value : new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19));
    }
    case 'number':
      if (kind(value) !== 'number') throw new Error('not a number');
      return type(control.querySelector('input'), JSON.stringify(value));
    case 'choice': {
      const select = control.querySelector('select');
      const now = () => at(f.value(), path);
      const filter = control.querySelector('input[type=search]');
      if (filter) type(filter, typeof value === 'string' ? value : JSON.stringify(value));
      for (const option of [...select.options]) {
        select.value = option.value;
        tell(select, 'change');
        if (same(now(), value)) return;
        if (now() === null) throw new Error('null');
      }
      throw new Error(`no choice ${JSON.stringify(value)}`);
    }
    case 'several': {
      if (!Array.isArray(value)) throw new Error('not a list');
      const boxes = [...control.querySelectorAll('input')];
      for (const box of boxes) if (box.checked) box.click();
      for (let i = 0; i < value.length; i++) {
        if (!boxes.some((box) => {
          if (box.checked) return false;
          box.click();
          if (same(at(f.value(), path)?.at(-1), value[i])) return true;
          box.click();
          return false;
        })) throw new Error(`no box ${JSON.stringify(value[i])}`);
      }
      if (value.length === 0 && boxes[0]) [0, 1].forEach(() => boxes[0].click());
      return;
    }
    case 'json': return type(control.querySelector('textarea'), JSON.stringify(value));
    case 'list': {
      if (!Array.isArray(value)) throw new Error('not a list');
      const plus = () => [...control.querySelectorAll(':scope > div > button')].at(-1);
      const held = () => rowsOf(control);
      const drop = () => [...held().values()].at(-1).querySelectorAll(':scope > .form-head [data-act]');
      if (value.length === 0 && held().size === 0) plus().click();
      while (held().size > value.length) [...drop()].at(-1).click();
      while (held().size < value.length) {
        const size = held().size;
        plus().click();
        if (held().size === size) throw new Error('nothing is added to the list');
      }
      while (held().size > value.length) [...drop()].at(-1).click();
      value.forEach((item, i) => fill(f, held().get(String(i)), item, [...path, i]));
      return;
    }
    case 'object': {
      if (kind(value) !== 'object') throw new Error('not an object');
      let names = Object.keys(value);
      for (let before = -1; names.length > 0 && names.length !== before;) {
        before = names.length;
        names = names.filter((name) => {
          const row = rowsOf(control).get(name);
          if (row) fill(f, row, value[name], [...path, name]);
          return !row;
        });
      }
      for (const name of names) {
        const adder = control.querySelector(':scope > .form-adder, :scope > details > .form-adder');
        if (!adder) throw new Error(`no field ${name}`);
        type(adder.querySelector('input'), name);
        adder.querySelector('button').click();
        fill(f, rowsOf(control).get(name), value[name], [...path, name]);
      }
      return;
    }
    case 'variant': {
      const select = control.querySelector(':scope > select'), inner = control.querySelector(':scope > .form-variant');
      let last;
      for (const option of [...select.options]) {
        select.value = option.value;
        tell(select, 'change');
        try {
          put(f, row, inner.firstElementChild, inner.dataset.kind, value, path, inner);
          if (same(at(f.value(), path), value)) return;
          last = new Error(`became ${JSON.stringify(at(f.value(), path))}`);
        } catch (fault) {
          last = fault;
        }
      }
      throw new Error(`no kind takes ${JSON.stringify(value)}: ${last.message}`);
    }
    default: throw new Error(`nothing can be filled in at ${path.join('.')}: ${control.textContent}`);
  }
}

const at = (value, path) => path.reduce((v, key) => (v === undefined || v === null ? undefined : get(v, String(key))), value);

/** drive makes a form, fills it, and says what it would send: {sent, wanted, problems, ms, fault}. */
export function drive(schemaText) {
  const schema = parse(schemaText);
  let f;
  const make = () => {
    const begun = performance.now();
    f = form(schema);
    document.querySelector('main').replaceChildren(f.node);
    f.node.getBoundingClientRect(); // with its layout
    return performance.now() - begun;
  };
  let ms = make();
  if (ms > 100) ms = Math.min(ms, make()); // others may have had the processor
  const wanted = sample(schema);
  let fault = null;
  if (wanted === undefined) fault = 'no example was found';
  else {
    try {
      fill(f, f.node.querySelector('.form-root'), wanted, []);
      if (!same(f.value(), wanted)) fault = 'the value is another one';
    } catch (e) {
      fault = e.message;
    }
  }
  return {ms, fault, fields: f.node.querySelectorAll('.form-row').length, sent: JSON.stringify(f.value()), wanted: JSON.stringify(wanted), problems: f.problems().map((one) => `${one.path.join('.')}: ${one.text}`)};
}
Object.assign(window, {drive, form, parse, sample, fillForm: (f, value) => fill(f, f.node.querySelector('.form-root'), value, [])});
