// What has fields within: objects, lists, and the choice between kinds of value.
import {never} from './check.js';
import {body, cut, enter, field, typeWord} from './form_field.js';
import {get, isObject, put, same} from './json.js';
import {flatten, member, only, open, pick, start} from './schema.js';
import {clear, h} from './dom.js';
import {number, t} from './words.js';

/** Members or items that are drawn before somebody asks for more: a browser draws a hundred in some 30 ms. */
export const MAX_ROWS = 100;

/** entries are the members of an object: those of the schema, then others that it has or may have. */
export function entries(ctx, info) {
  const {schema} = info;
  if (info.value === undefined) return add(ctx, info, t('form.add.object'), {});
  let value = info.value, shown = MAX_ROWS, typed = '';
  const extras = new Set(Object.keys(value)); // stay while they are empty, until somebody removes them
  const rows = new Map(), node = h('div', {class: 'form-group'}), holder = h('div', {class: 'form-rows'});
  const more = h('button', {type: 'button', class: 'button', onclick: () => {
    shown += MAX_ROWS;
    arrange();
  }});

  function change(name, next) {
    if (next === undefined) {
      const {[name]: _, ...rest} = value;
      value = rest;
    } else {
      value = put({...value}, name, next);
    }
    info.change(value);
  }

  function row(flat, name) {
    const known = rows.get(name), sub = member(flat, name), extra = !flat.properties.has(name) && !flat.required.has(name);
    if (known && (known.schema === sub || same(known.schema, sub))) {
      known.field.must(flat.required.has(name));
      return known.field.node;
    }
    const made = field(ctx, {
      schema: sub, key: name, value: get(value, name), required: flat.required.has(name), extra, depth: info.depth + 1, path: () => [...info.path(), name],
      emit: (next) => {
        change(name, next);
        if (flat.moving) arrange();
      },
      actions: extra ? act('✕', t('form.remove'), name, () => {
        extras.delete(name);
        rows.delete(name);
        change(name, undefined);
        arrange();
      }) : null,
    });
    rows.set(name, {field: made, schema: sub});
    return made.node;
  }

  function arrange() {
    const flat = flatten(schema, ctx.root, value);
    const names = [...new Set([...flat.properties.keys(), ...flat.required, ...extras])].filter((name) => {
      const sub = flat.properties.get(name);
      return get(value, name) !== undefined || flat.required.has(name) || (sub === undefined ? extras.has(name) : !never(sub));
    });
    // Of many those come first that must be there or are there.
    const first = (name) => flat.required.has(name) || get(value, name) !== undefined;
    const sorted = names.length > MAX_ROWS ? [...names.filter(first), ...names.filter((name) => !first(name))] : names;
    const found = typed ? sorted.filter((name) => name.toLowerCase().includes(typed)) : sorted;
    const nodes = found.slice(0, shown).map((name) => row(flat, name));
    for (const [name, one] of rows) if (!names.includes(name) || one.field.node.isConnected && !nodes.includes(one.field.node)) rows.delete(name);
    // What is in its place already stays there, and with it the focus.
    for (const old of [...holder.children]) if (!nodes.includes(old)) old.remove();
    nodes.forEach((one, i) => holder.children[i] !== one && holder.insertBefore(one, holder.children[i] ?? null));
    more.hidden = found.length <= shown;
    more.textContent = t('form.show', {n: number(Math.max(0, found.length - shown))});
    filter.hidden = names.length <= MAX_ROWS;
    return flat;
  }
  const filter = h('input', {class: 'form-input', type: 'search', placeholder: t('form.members'), 'aria-label': t('form.members'), oninput: () => {
    typed = filter.value.toLowerCase();
    arrange();
  }});
  const flat = arrange();
  node.append(filter, holder, more);
  const others = open(flat) ? adder(info, (name) => {
    if (get(value, name) !== undefined || extras.has(name)) return t('form.there');
    extras.add(name);
    change(name, start(member(flatten(schema, ctx.root, value), name), ctx.root));
    arrange();
    if (rows.has(name)) enter(rows.get(name).field.node);
    return '';
  }) : null;
  const nothing = rows.size === 0 ? h('p', {class: 'dim'}, t('form.noarguments')) : null;
  // A tool whose schema says nothing of arguments has none, as a rule, though it then takes any.
  if (others && nothing && info.depth === 0 && flat.patterns.length === 0 && flat.additionalProperties === undefined) node.append(nothing, h('details', null, h('summary', {class: 'dim'}, t('form.others')), others));
  else if (others ?? nothing) node.append(others ?? nothing);
  return {kind: 'object', node, at: (name) => rows.get(name)?.field, all: () => [...rows.values()].map((one) => one.field)};
}

// adder asks for the name of a further member.
function adder(info, added) {
  const said = h('p', {class: 'problem', role: 'status'});
  const go = () => {
    if (!name.value) return;
    said.textContent = added(name.value);
    if (!said.textContent) name.value = '';
  };
  const name = h('input', {class: 'form-input', type: 'text', autocomplete: 'off', placeholder: t('form.name'), 'aria-label': t('form.name.of', {name: info.name}), onkeydown: (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    go();
  }});
  return h('div', {class: 'form-adder'}, h('div', {class: 'form-line'}, name, h('button', {type: 'button', class: 'button', onclick: go}, t('form.add.member'))), said);
}

// add stands for a group that is left out: it begins when somebody wants it.
function add(ctx, info, text, empty) {
  const input = h('button', {type: 'button', class: 'button form-add', onclick: () => {
    const begun = start(info.schema, ctx.root);
    info.change(isObject(empty) === isObject(begun) ? begun ?? empty : empty, true);
  }}, text, h('span', {class: 'quiet'}, ` ${info.name}`));
  return {kind: 'add', node: h('div', null, input)};
}

/** list is an array: items are added, removed and moved. */
export function list(ctx, info) {
  const {schema} = info;
  const flat = flatten(schema, ctx.root, info.value), most = flat.maxItems ?? Infinity;
  const sub = (i) => flat.tuple?.[i] ?? flat.items ?? true;
  let value = info.value ?? [], shown = MAX_ROWS, rows = [];
  const holder = h('div', {class: 'form-rows'});
  const more = h('button', {type: 'button', class: 'button', onclick: () => {
    const from = rows.length;
    shown += MAX_ROWS;
    draw(from);
  }});
  const plus = h('button', {type: 'button', class: 'button form-add', onclick: () => {
    const known = value.length, whole = known === 0 && flat.tuple ? start(schema, ctx.root) : null;
    value = whole?.length > 0 ? whole : [...value, start(sub(known), ctx.root)];
    shown = Math.max(shown, value.length);
    info.change(value);
    draw(known);
    enter(rows[known].node);
  }}, t('form.add.item'), h('span', {class: 'quiet'}, ` ${info.name}`));

  function item(i) {
    const name = `${info.name} ${number(i + 1)}`.trim();
    const move = (by, button) => {
      if (i + by < 0 || i + by >= value.length) return;
      value = value.with(i, value[i + by]).with(i + by, value[i]);
      shown = Math.max(shown, i + by + 1);
      info.change(value);
      draw(0);
      rows[i + by].node.querySelectorAll(':scope > .form-head [data-act]')[button].focus();
    };
    const remove = () => {
      value = value.toSpliced(i, 1);
      info.change(value);
      draw(0);
      plus.focus();
    };
    // What the items of a tuple mean is their place: they do not move.
    const fixed = flat.tuple && i < flat.tuple.length;
    return field(ctx, {
      schema: sub(i), key: i, label: name, value: value[i], required: true, depth: info.depth + 1, path: () => [...info.path(), i],
      emit: (next) => {
        value = value.with(i, next);
        info.change(value);
      },
      actions: [...(fixed ? [] : [act('↑', t('form.up'), name, () => move(-1, 0)), act('↓', t('form.down'), name, () => move(1, 1))]), act('✕', t('form.remove'), name, remove)],
    });
  }
  // draw makes the rows from one on; those before it stay, with what somebody is typing there.
  function draw(from) {
    rows = Array.from({length: Math.min(value.length, shown)}, (_, i) => (i < from && rows[i] ? rows[i] : item(i)));
    rows.slice(from).forEach((one, i) => (holder.children[from + i] ? holder.replaceChild(one.node, holder.children[from + i]) : holder.append(one.node)));
    while (holder.children.length > rows.length) holder.lastChild.remove();
    more.hidden = value.length <= shown;
    more.textContent = t('form.show', {n: number(Math.max(0, value.length - shown))});
    plus.hidden = value.length >= most || flat.items === false && value.length >= (flat.tuple?.length ?? 0);
  }
  draw(0);
  return {kind: 'list', node: h('div', {class: 'form-group'}, holder, more, h('div', null, plus)), at: (i) => rows[i], all: () => rows};
}

// act is a button at the head of a field.
const act = (sign, word, name, run) => h('button', {type: 'button', class: 'button-plain form-small', 'data-act': '', title: word, 'aria-label': `${word}: ${name}`, onclick: run}, sign);

/** variant is the choice between kinds of value. Each keeps what was filled in, for when it is chosen again. */
export function variant(ctx, info, all) {
  let now = pick(all, info.value, ctx.root), inner;
  const kept = new Map(), seen = new Set();
  const labels = all.map((one) => {
    let text = one.label ?? (one.type ? typeWord(one.type) : one.only.size > 0 ? t('form.with', {names: [...one.only].slice(0, 5).join(', ')}) : kindOf(ctx, flatten(one.schema, ctx.root))) ?? '';
    if (!text || seen.has(text)) text = `${text} ${number(one.number ?? 1)}`.trim();
    seen.add(text);
    return cut(text);
  });
  const holder = h('div', {class: 'form-variant'});
  const select = h('select', {class: 'form-kind', 'aria-label': t('form.kind', {name: info.name}), onchange: () => {
    kept.set(now, value);
    now = Number(select.value);
    // Members that both have go along.
    let next = kept.has(now) ? kept.get(now) : start(all[now].schema, ctx.root);
    if (isObject(value) && isObject(next)) {
      const flat = flatten(all[now].schema, ctx.root);
      for (const [name, one] of Object.entries(value)) if (flat.properties.has(name) && get(next, name) === undefined && !flatten(flat.properties.get(name), ctx.root).enum) next = put({...next}, name, one);
    }
    if (next === undefined && !info.required) info.change(undefined);
    value = next;
    info.change(next);
    draw();
  }}, labels.map((text, i) => h('option', {value: String(i), selected: i === now}, text)));
  let value = info.value;
  function draw() {
    inner = body(ctx, {...info, schema: all[now].schema, flat: flatten(all[now].schema, ctx.root, value), value, depth: info.depth + 1, change: (next, redraw) => {
      value = next;
      info.change(next);
      if (redraw) {
        draw();
        enter(holder);
      }
    }});
    if (inner.input) inner.input.id = info.ids.input;
    else inner.node.setAttribute('role', 'group');
    const labelled = inner.input ?? inner.node;
    if (info.root) labelled.setAttribute('aria-label', info.name || t('form.value')); // its head is not shown
    else labelled.setAttribute('aria-labelledby', info.ids.label);
    labelled.setAttribute('aria-describedby', `${info.ids.help} ${info.ids.fault}`);
    clear(holder, inner.node);
    holder.dataset.kind = inner.kind;
  }
  draw();
  return {kind: 'variant', node: h('div', {class: 'form-stack'}, select, holder), at: (key) => inner.at?.(key), all: () => inner.all?.() ?? [], get input() { return inner.input; }};
}

function kindOf(ctx, flat) {
  if (flat.enum) return flat.enum.slice(0, 3).map(String).join(', ');
  if (flat.types?.length !== 1) return null;
  const item = only(flat) === 'array' && flat.items !== undefined ? flatten(flat.items, ctx.root) : null;
  return item?.types?.length === 1 ? `${typeWord('array')}: ${typeWord(item.types[0])}` : typeWord(flat.types[0]);
}
