// What single values are typed into or chosen from.
import {cut} from './form_field.js';
import {digits, number, parse, same} from './json.js';
import {clear, h} from './dom.js';
import {number as written, plural, t} from './words.js';

/** Options beyond this are found by typing: a list of thousands is no choice. */
export const MAX_OPTIONS = 60;
/** Options that a filtered list shows at once. */
export const MAX_OPTIONS_SHOWN = 100;
/** A file becomes text in memory and in one message, a third larger. */
export const MAX_FILE = 8 << 20;
/** Values that a server completes are shown up to here; the specification allows 100. */
const MAX_COMPLETIONS = 100;
/** A server is asked for completions when nobody has typed for so many milliseconds. */
const COMPLETE_AFTER = 200;

// Names of what is likely written in several lines.
const long = /content|text$|body|description|message|sql|code$|markdown|html|prompt|script$|comment|thought|notes$/i;

/** nothing says that there is nothing to fill in, and why. */
export const nothing = (why, kind = 'nothing') => ({kind, node: h('span', {class: 'dim form-nothing'}, why)});

/** text is a line, or several where a text is likely long, or has lines already. */
export function text(ctx, info) {
  const {flat, value, name} = info;
  if (['date', 'date-time'].includes(flat.format) && flat.pattern === undefined) {
    const date = dated(info);
    if (date) return date;
  }
  const lines = value?.includes('\n') || flat.maxLength > 200 || flat.contentMediaType !== undefined ||
    flat.format === undefined && flat.pattern === undefined && flat.maxLength === undefined && long.test(name);
  const completes = ctx.complete && !lines;
  const options = completes ? h('datalist', {id: ctx.id()}) : null;
  const none = h('button', {type: 'button', class: 'button-plain form-small mono', title: t('form.empty'), 'aria-label': t('form.empty.of', {name}), 'aria-pressed': String(value === ''), onclick: () => {
    emit(now === '' ? undefined : '');
    input.focus();
  }}, '""');
  let now = value, timer, asked = 0;
  const emit = (next) => {
    now = next;
    none.hidden = Boolean(next) || flat.minLength > 0;
    none.setAttribute('aria-pressed', String(next === ''));
    info.change(next);
  };
  const input = h(lines ? 'textarea' : 'input', {
    class: 'form-input', value: value ?? '', spellcheck: lines ? null : 'false', rows: lines ? 3 : null,
    type: lines ? null : flat.format === 'email' ? 'email' : flat.format === 'uri' ? 'url' : 'text', autocomplete: 'off', list: options?.id,
    // What is empty is left out, unless somebody says that it is meant: an optional text that was typed and taken back is none.
    oninput: () => {
      emit(input.value === '' ? undefined : input.value);
      if (completes) suggest();
    },
    onpaste: (event) => {
      const pasted = event.clipboardData?.getData('text/plain') ?? '';
      if (lines || !pasted.includes('\n')) return;
      event.preventDefault(); // an input would drop the ends of lines
      info.change(input.value.slice(0, input.selectionStart) + pasted + input.value.slice(input.selectionEnd), true);
    },
    onfocus: completes ? () => suggest() : null,
  });
  none.hidden = Boolean(value) || flat.minLength > 0;

  function suggest() {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++asked;
      let found = [];
      try {
        found = await ctx.complete(info.path(), input.value);
      } catch { /* a field without suggestions is still a field */ }
      if (mine === asked) clear(options, found.slice(0, MAX_COMPLETIONS).map((one) => h('option', {value: String(one)})));
    }, COMPLETE_AFTER);
  }
  return {kind: 'text', input, node: h('div', {class: 'form-line'}, input, options, none)};
}

// dated is a picker; null where the value is there but is none that a picker can hold.
function dated(info) {
  const {flat, value} = info, day = flat.format === 'date';
  const local = (at) => new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
  const at = value === undefined || day ? null : new Date(value);
  if (day ? value !== undefined && !/^\d{4}-\d\d-\d\d$/.test(value) : at && (Number.isNaN(at.getTime()) || !/^\d{4}-/.test(value) || at.getMilliseconds() > 0)) return null;
  const input = h('input', {class: 'form-input', type: day ? 'date' : 'datetime-local', step: day ? null : 1, value: day ? value ?? '' : at ? local(at) : '', oninput: () => {
    // The zone is that of whoever fills in; what is sent is shown below.
    info.change(input.value === '' ? undefined : day ? input.value : new Date(input.value).toISOString().replace('.000Z', 'Z'));
    sent.textContent = day || input.value === '' ? '' : new Date(input.value).toISOString().replace('.000Z', 'Z');
  }});
  const sent = h('span', {class: 'dim mono'}, day ? '' : value ?? '');
  return {kind: 'date', input, node: h('div', {class: 'form-line'}, input, sent)};
}

/** numeric is a line for a number of any length. What is none stays as text, which the check then finds. */
export function numeric(ctx, info) {
  const input = h('input', {class: 'form-input', type: 'text', inputmode: info.flat.types?.[0] === 'integer' ? 'numeric' : 'decimal', autocomplete: 'off', value: digits(info.value) ?? info.value ?? '', oninput: () => {
    const typed = input.value.trim();
    info.change(typed === '' ? undefined : number(typed) ?? typed);
  }});
  return {kind: 'number', input, node: h('div', {class: 'form-line'}, input)};
}

/** choices is a choice of one value; of many it is a list that is filtered. */
export function choices(ctx, info, values) {
  const {flat, value} = info, mixed = values.some((one) => typeof one !== 'string') && values.some((one) => typeof one === 'string');
  const word = (one) => {
    const title = flat.titles.get(JSON.stringify(one));
    return cut(title ?? (typeof one === 'string' && one !== '' && !mixed ? one : JSON.stringify(one)));
  };
  const options = values.map((one, i) => ({i, text: word(one)}));
  const option = ({i, text}) => h('option', {value: String(i), selected: value !== undefined && same(values[i], value)}, text);
  const few = values.length <= MAX_OPTIONS;
  const select = h('select', {class: 'form-input', size: few ? null : 8, onchange: () => info.change(select.value === '' ? undefined : values[select.value])});
  if (few) {
    select.append(h('option', {value: '', selected: value === undefined}, info.required ? t('form.choose') : t('form.omitted')), ...options.map(option));
    return {kind: 'choice', input: select, node: h('div', {class: 'form-line'}, select)};
  }
  const more = h('p', {class: 'dim', role: 'status'});
  const filter = h('input', {class: 'form-input', type: 'search', placeholder: t('form.filter', {n: written(values.length)}), 'aria-label': t('form.filter.of', {name: info.name}), oninput: () => show()});
  function show() {
    const typed = filter.value.toLowerCase();
    const found = options.filter((one) => one.text.toLowerCase().includes(typed));
    // The chosen one stays in the list, as one that is not in it could not be seen.
    const chosen = options.find((one) => info.value !== undefined && same(values[one.i], info.value));
    const shown = found.slice(0, MAX_OPTIONS_SHOWN);
    clear(select, chosen && !shown.includes(chosen) ? option(chosen) : null, shown.map(option));
    more.textContent = found.length > MAX_OPTIONS_SHOWN ? plural('form.more', found.length - MAX_OPTIONS_SHOWN) : '';
  }
  show();
  return {kind: 'choice', input: select, node: h('div', {class: 'form-stack'}, filter, select, more)};
}

/** several is a choice of any number of values. They stay in the order in which they were chosen. */
export function several(ctx, info, one) {
  const chosen = [...(info.value ?? [])];
  const boxes = one.enum.map((value) => {
    const box = h('input', {type: 'checkbox', checked: chosen.some((other) => same(value, other)), onchange: () => {
      const at = chosen.findIndex((other) => same(value, other));
      if (box.checked && at < 0) chosen.push(value);
      else if (!box.checked && at >= 0) chosen.splice(at, 1);
      info.change([...chosen]);
    }});
    return h('label', {class: 'form-check'}, box, h('span', null, one.titles.get(JSON.stringify(value)) ?? (typeof value === 'string' ? cut(value) : JSON.stringify(value))));
  });
  return {kind: 'several', node: h('div', {class: 'form-checks'}, boxes)};
}

/** file is a text in base64, of a file or typed. */
export function file(ctx, info) {
  const said = h('p', {class: 'dim', role: 'status'});
  const input = h('textarea', {class: 'form-input mono', rows: 2, spellcheck: 'false', value: info.value ?? '', oninput: () => info.change(input.value === '' ? undefined : input.value)});
  const chosen = h('input', {type: 'file', 'aria-label': t('form.file', {name: info.name}), onchange: () => {
    const [one] = chosen.files;
    if (!one) return;
    if (one.size > MAX_FILE) {
      said.textContent = t('form.file.large', {n: written(MAX_FILE >> 20)});
      return;
    }
    const reader = new FileReader();
    reader.onerror = () => { said.textContent = t('form.file.unread', {name: one.name}); };
    reader.onload = () => {
      input.value = reader.result.slice(reader.result.indexOf(',') + 1);
      said.textContent = one.name;
      info.change(input.value);
    };
    reader.readAsDataURL(one);
  }});
  return {kind: 'file', input, node: h('div', {class: 'form-stack'}, input, chosen, said)};
}

/** json is any value as JSON: where the schema has no form, or the value is none that its form can show. */
export function json(ctx, info) {
  const node = h('div', {class: 'form-stack'});
  const input = h('textarea', {class: 'form-input mono', rows: 4, spellcheck: 'false', value: JSON.stringify(info.value, null, 2) ?? '', oninput: () => {
    ctx.broken.delete(node);
    try {
      info.change(input.value.trim() === '' ? undefined : parse(input.value));
    } catch (fault) {
      ctx.broken.set(node, {path: info.path, text: t('form.notjson', {reason: fault.message})});
    }
  }});
  node.append(input, h('p', {class: 'dim'}, t('form.asjson')));
  return {kind: 'json', input, node};
}
