// The calls that wait for an approval, as cards: for the view of the console and the page of the team. All texts of a call
// come from other users or servers, and become text only.
import {clear, h} from './dom.js';

/**
 * waitingCalls returns a function that shows calls in a list, or none as the text that says so. The cards of calls that
 * still wait stay, with the focus and what is typed. decide(call, verb, body) sends a decision and reads the list again;
 * say(text, kind) tells the outcome; time(text) is a time in words.
 */
export function waitingCalls(list, page) {
  const cards = new Map(); // by the id of a call: its element, and the text that it shows
  return (calls, none) => {
    if (![...cards.values()].every((one) => list.contains(one.node))) cards.clear(); // an error took their place
    if (calls.length === 0) {
      cards.clear();
      clear(list, h('p', {class: 'dim'}, none));
      return;
    }
    if (cards.size === 0) clear(list);
    const waits = new Set(calls.map((call) => call.id));
    for (const [id, one] of cards) {
      if (waits.has(id)) continue;
      one.node.remove();
      cards.delete(id);
    }
    for (const call of calls) {
      const text = JSON.stringify(call);
      const one = cards.get(call.id);
      if (one?.text === text) continue;
      const node = card(call, list, page);
      if (one) one.node.replaceWith(node);
      else list.append(node);
      cards.set(call.id, {text, node});
    }
  };
}

/** card shows a call that waits. */
function card(call, list, {t, time, decide, say}) {
  const lasting = call.parts.filter((p) => !p.by).map((p) => p.for).filter(Boolean);
  const length = lasting.length > 0 && h('input', {id: `for-${call.id}`, placeholder: t('approvals.once'), size: 12});
  const reason = h('input', {id: `reason-${call.id}`, maxlength: 500});
  const title = t('approvals.call', call);
  const press = (verb, kind, body) => {
    const button = h('button', {type: 'button', class: kind, onclick: async () => {
      button.disabled = true;
      try {
        const at = [...list.children].indexOf(button.closest('article'));
        await decide(call, verb, body());
        say(t(`approvals.said.${verb}`, call), 'good');
        onward(list, at);
      } catch (error) {
        say(error.message, 'bad');
      }
      button.disabled = false;
    }}, t(`approvals.${verb}`));
    return button;
  };
  const pair = (name, ...value) => [h('dt', null, name), h('dd', null, value)];
  return h('article', {class: 'call', 'aria-label': title},
    h('h3', {class: 'mono', tabindex: -1}, title),
    h('dl', {class: 'pairs'},
      call.endpoint && pair(t('approvals.gateway'), call.endpoint),
      pair(t('approvals.caller'), call.caller || t('approvals.unknown'), call.client ? ` (${call.client})` : ''),
      call.parts.map((p) => pair(t('approvals.role', {name: p.role}), p.by ? t('approvals.by', {name: p.by}) : p.reason || p.rule)),
      pair(t('approvals.until'), time(call.until))),
    call.arguments && h('pre', {tabindex: 0, 'aria-label': t('approvals.arguments')}, pretty(call.arguments)),
    h('form', {onsubmit: (event) => event.preventDefault()},
      length && h('div', {class: 'field'}, h('label', {for: length.id}, t('approvals.for', {most: lasting[0]})), length),
      press('approve', 'button-primary', () => ({for: length ? length.value.trim() : ''})),
      h('div', {class: 'field'}, h('label', {for: reason.id}, t('approvals.reason')), reason),
      press('refuse', 'button-bad', () => ({reason: reason.value}))));
}

/** onward moves the focus from a call that was decided to the one that follows it, or to the heading of the list. */
function onward(list, at) {
  const next = list.children[Math.min(at, list.children.length - 1)]?.querySelector('h3') ?? list.closest('section').querySelector('h2');
  next.tabIndex = -1;
  next.focus();
}

/** pretty indents JSON as text: parsing it would bring back characters that the gateway made visible. */
export function pretty(text) {
  let found = '';
  let depth = 0;
  let quoted = false;
  for (let n = 0; n < text.length; n++) {
    const c = text[n];
    if (quoted) {
      found += c;
      if (c === '\\') found += text[++n] ?? '';
      else if (c === '"') quoted = false;
    } else if (c === '"') {
      quoted = true;
      found += c;
    } else if ((c === '{' || c === '[') && text[n + 1] !== '}' && text[n + 1] !== ']') {
      found += `${c}\n${'  '.repeat(++depth)}`;
    } else if ((c === '}' || c === ']') && text[n - 1] !== '{' && text[n - 1] !== '[') {
      found += `\n${'  '.repeat(depth = Math.max(0, depth - 1))}${c}`;
    } else if (c === ',') {
      found += `,\n${'  '.repeat(depth)}`;
    } else if (c === ':') {
      found += ': ';
    } else {
      found += c;
    }
  }
  return found;
}
