// One field of a form: its name, what it is for, what is in it, and what is wrong with that.
import {never} from './check.js';
import {choices, file, json, nothing, numeric, text, several} from './form_controls.js';
import {entries, list, variant} from './form_groups.js';
import {isObject, kind, same} from './json.js';
import {flatten, only, shows, variants} from './schema.js';
import {clear, h} from './dom.js';
import {number, t} from './words.js';

/** A description is cut here: a server may have written a book. */
export const MAX_DESCRIPTION_SHOWN = 4000;
/** Fields within fields; what is deeper is JSON. Each is drawn within the last, and 20 are more than a screen shows. */
export const MAX_NESTED = 20;
/** A name or a title is cut here. */
const MAX_NAME_SHOWN = 200;

/** cut shortens a text of a server. */
export const cut = (text, most = MAX_NAME_SHOWN) => (text.length > most ? text.slice(0, most) + '…' : text);

/**
 * field makes a field. spec has schema, value, required, key (a name or an index), label, depth, path() and
 * emit(value), which gets each new value, undefined where it is left out; actions are buttons at its head.
 * The result has node, path, show(problems, all), must(required) and set(key).
 */
export function field(ctx, spec) {
  let {value, required} = spec, control, before;
  const flat = flatten(spec.schema, ctx.root, value);
  const ids = {input: ctx.id(), label: ctx.id(), help: ctx.id(), fault: ctx.id()};
  const name = cut(spec.label ?? String(spec.key ?? '')), title = typeof flat.title === 'string' ? cut(flat.title) : '';
  const star = h('span', {class: 'form-must', hidden: !required || typeof spec.key !== 'string'}, h('span', {'aria-hidden': 'true'}, '*'), h('span', {class: 'quiet'}, t('form.required')));
  const label = h('label', {id: ids.label, for: ids.input}, h('span', {class: 'form-name'}, name || title || t('form.value')), name && plainly(title) !== plainly(name) && title ? h('span', {class: 'dim'}, ` ${title}`) : null, star);
  const out = h('button', {type: 'button', class: 'button-plain form-small', title: t('form.omit'), 'aria-label': t('form.omit.of', {name}), onclick: () => change(undefined, true)}, t('form.omit.short'));
  const empty = h('button', {type: 'button', class: 'button-plain form-small mono', 'aria-label': t('form.null', {name}), 'aria-pressed': 'false', onclick: () => {
    const next = value === null ? before : null;
    if (value !== null) before = value;
    change(next, true);
  }}, 'null');
  const fault = h('p', {class: 'problem', id: ids.fault, hidden: true});
  const helps = [typeof flat.description === 'string' ? cut(flat.description, MAX_DESCRIPTION_SHOWN) : '', bounds(flat)].filter(Boolean);
  const help = h('div', {class: 'hint form-help', id: ids.help, hidden: helps.length === 0}, helps.map((one) => h('p', null, one)));
  const holder = h('div', {class: 'form-control'});
  const head = h('div', {class: 'form-head'}, label,
    h('span', {class: 'badge'}, typeName(flat)), flat.deprecated === true ? h('span', {class: 'badge badge-warn'}, t('form.deprecated')) : null,
    flat.readOnly === true ? h('span', {class: 'badge'}, t('form.readonly')) : null,
    h('span', {class: 'form-actions'}, empty, out, spec.actions));
  const bare = spec.root && !flat.never && (isObject(value) || variants(spec.schema, flat, ctx.root).length > 0);
  const node = h('div', {class: spec.root ? 'form-row form-root' : 'form-row'}, head, help, holder, fault);
  if (spec.key !== undefined) node.dataset.key = String(spec.key);
  head.hidden = bare;

  function change(next, redraw = false) {
    value = next;
    spec.emit(next);
    if (redraw) draw(true);
    else actions();
  }
  function actions() {
    out.hidden = required || spec.extra || value === undefined;
    empty.hidden = !flat.nullable || flat.types?.length === 0 && value === null;
    empty.setAttribute('aria-pressed', String(value === null));
  }
  function draw(again) {
    actions();
    control = body(ctx, {...spec, flat: flatten(spec.schema, ctx.root, value), value, required, change, ids, name, nested: false});
    clear(holder, control.node);
    node.dataset.kind = control.kind;
    // A group has no element that a label could be for.
    if (control.input) {
      control.input.id = ids.input;
      control.input.setAttribute('aria-describedby', `${ids.help} ${ids.fault}`);
      if (required && control.input.matches('input:not([type=file]), select, textarea')) control.input.setAttribute('aria-required', 'true');
      if (bare) control.input.setAttribute('aria-label', title || t('form.value'));
    } else {
      control.node.setAttribute('role', 'group');
      control.node.setAttribute(bare ? 'aria-label' : 'aria-labelledby', bare ? title || t('form.form') : ids.label);
      control.node.setAttribute('aria-describedby', `${ids.help} ${ids.fault}`);
      label.removeAttribute('for');
    }
    if (control.input) label.setAttribute('for', ids.input);
    if (flat.readOnly === true && !required) for (const one of holder.querySelectorAll('input, select, textarea, button')) one.disabled = true;
    if (again) enter(holder);
  }
  draw(false);

  return {
    node,
    path: spec.path,
    must(now) {
      if (now === required) return;
      required = now;
      star.hidden = !now;
      if (now) control.input?.setAttribute('aria-required', 'true');
      else control.input?.removeAttribute('aria-required');
      actions();
    },
    // show says what is wrong here, and below; what is wrong in a part that is not drawn is said here, too.
    show(problems, all) {
      const depth = spec.path().length, own = [];
      const below = new Map();
      for (const one of problems) {
        const inner = one.path.length > depth ? control.at?.(one.path[depth]) : undefined;
        if (inner) below.set(inner, [...(below.get(inner) ?? []), one]);
        else own.push(one.path.length > depth ? `${one.path.slice(depth).join('.')}: ${one.text}` : one.text);
      }
      for (const inner of control.all?.() ?? []) inner.show(below.get(inner) ?? [], all);
      const seen = all || ctx.visited.has(node);
      fault.hidden = !seen || own.length === 0;
      fault.textContent = fault.hidden ? '' : own.slice(0, 5).join(' ');
      const target = control.input ?? null;
      if (fault.hidden) target?.removeAttribute('aria-invalid');
      else target?.setAttribute('aria-invalid', 'true');
    },
  };
}

/** enter focuses what is filled in first within a node. */
export function enter(node) {
  const seen = (selector) => [...node.querySelectorAll(selector)].find((one) => one.checkVisibility() && !one.closest('.form-head'));
  (seen('input, select, textarea') ?? seen('button'))?.focus();
}

/** body makes what a value is changed with: {node, kind, input?, at?(key), all?()}. */
export function body(ctx, info) {
  const {flat, value, schema} = info;
  if (flat.never) return value === undefined ? nothing(t('form.must.never')) : json(ctx, info);
  if (value === null && flat.nullable) return nothing('null', 'null');
  if (info.depth > MAX_NESTED) return json(ctx, info);
  if (flat.types?.length === 0 && flat.nullable && value === undefined) return choices(ctx, info, [null]);
  if (flat.enum) return flat.enum.some((one) => same(one, value)) || value === undefined ? choices(ctx, info, flat.enum) : json(ctx, info);
  const all = variants(schema, flat, ctx.root);
  if (all.length > 0) return variant(ctx, info, all);
  const type = only(flat);
  if (!shows(type, value)) return json(ctx, info);
  switch (type) {
    case 'object': return entries(ctx, info);
    case 'array': {
      const one = flat.items === undefined || flat.tuple ? null : flatten(flat.items, ctx.root);
      const known = one?.enum && !one.nullable && one.enum.length <= 40 && (value ?? []).every((item, i) => one.enum.some((other) => same(item, other)) && value.findIndex((other) => same(item, other)) === i);
      return known && !(flat.minItems > one.enum.length) ? several(ctx, info, one) : list(ctx, info);
    }
    case 'boolean': return choices(ctx, info, [true, false]);
    case 'number': case 'integer': return numeric(ctx, info);
    case 'string': return flat.contentEncoding === 'base64' || flat.format === 'byte' || flat.format === 'binary' ? file(ctx, info) : text(ctx, info);
    default: return json(ctx, info);
  }
}

const plainly = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');

/** typeWord is the name of a JSON type. */
export function typeWord(type) {
  switch (type) {
    case 'string': return t('form.type.string');
    case 'number': return t('form.type.number');
    case 'integer': return t('form.type.integer');
    case 'boolean': return t('form.type.boolean');
    case 'object': return t('form.type.object');
    case 'array': return t('form.type.array');
    case 'null': return 'null';
    default: return t('form.type.any');
  }
}

function typeName(flat) {
  if (flat.enum) return t('form.type.enum');
  if (flat.choices.length > 0 || flat.types?.length > 1) return t('form.type.choice');
  if (flat.types?.length === 0) return flat.nullable ? 'null' : t('form.type.never');
  const format = typeof flat.format === 'string' ? ` (${cut(flat.format, 40)})` : '';
  return typeWord(only(flat)) + format;
}

// bounds are the rules of a field in words.
function bounds(flat) {
  const all = [];
  const say = (low, high) => all.push(low === undefined ? t('form.most', {n: number(high)}) : high === undefined ? t('form.least', {n: number(low)}) : t('form.between', {low: number(low), high: number(high)}));
  for (const [low, high] of [['minimum', 'maximum'], ['minItems', 'maxItems']]) if (flat[low] !== undefined || flat[high] !== undefined) say(flat[low], flat[high]);
  if (flat.exclusiveMinimum !== undefined) all.push(t('form.must.over', {n: number(flat.exclusiveMinimum)}));
  if (flat.exclusiveMaximum !== undefined) all.push(t('form.must.under', {n: number(flat.exclusiveMaximum)}));
  if (flat.maxLength !== undefined) all.push(t('form.characters', {n: number(flat.maxLength)}));
  if (flat.pattern !== undefined) all.push(t('form.pattern', {pattern: cut(String(flat.pattern))}));
  if (flat.default !== undefined && flat.default !== null) all.push(t('form.default', {value: cut(JSON.stringify(flat.default))}));
  const given = Array.isArray(flat.examples) ? flat.examples : flat.example === undefined ? [] : [flat.example];
  if (given.length > 0) all.push(t('form.examples', {values: given.slice(0, 3).map((one) => cut(JSON.stringify(one) ?? '')).join(', ')}));
  return all.join(' · ');
}
