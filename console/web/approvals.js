// The calls that wait for the approval of a role, in each junction up of this user, who decides for every role: #/approvals.
import {waitingCalls} from './call_card.js';
import {clear, h} from './dom.js';
import {get, post} from './api.js';
import {reason} from './parts.js';
import {moment, t} from './words.js';

const pause = 2000; // milliseconds between two looks
const ended = [404, 410]; // statuses of a process that ended since it was listed

export function view() {
  const status = h('p', {role: 'status', 'aria-live': 'polite'});
  const trouble = h('div', {class: 'stack'});
  const list = h('div', {class: 'stack', 'aria-busy': 'true'});
  const show = waitingCalls(list, {t, time: moment, say, decide});
  let closed = false;
  let timer = 0;
  let faults = '';

  function say(text, kind) {
    status.className = `notice notice-${kind}`;
    status.textContent = text;
  }

  async function decide(call, verb, body) {
    await post(`instances/${call.pid}/approvals/${encodeURIComponent(call.id)}/${verb}`, body);
    await look();
  }

  async function of({pid, endpoint}) {
    try {
      return (await get(`instances/${pid}/approvals`)).approvals.map((call) => ({...call, pid, endpoint}));
    } catch (error) {
      return ended.includes(error.status) ? [] : {fault: `${endpoint}: ${reason(error)}`};
    }
  }

  async function look() {
    clearTimeout(timer);
    if (!document.hidden) {
      const found = await get('instances').then(({instances}) => Promise.all(instances.map(of)), (error) => [{fault: reason(error)}]);
      if (closed) return;
      const why = found.filter(({fault}) => fault).map(({fault}) => fault);
      if (why.join() !== faults) clear(trouble, why.map((text) => h('p', {class: 'notice notice-bad', role: 'alert'}, text)));
      faults = why.join();
      list.removeAttribute('aria-busy');
      show(found.filter(Array.isArray).flat().sort((a, b) => new Date(a.since) - new Date(b.since)), t('approvals.none'));
    }
    if (!closed) timer = setTimeout(look, pause);
  }

  look();
  return {
    node: h('div', {class: 'stack'}, h('h1', null, t('approvals.title')), h('p', {class: 'dim'}, t('approvals.what')), status, trouble,
      h('section', {class: 'panel stack', 'aria-labelledby': 'waiting-title'}, h('h2', {id: 'waiting-title'}, t('approvals.waiting')), list)),
    close() {
      closed = true;
      clearTimeout(timer);
    },
  };
}
