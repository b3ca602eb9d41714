// Parts that several views have.
import {h} from './dom.js';
import {t} from './words.js';

/** reason is why the API gave no answer, in words. */
export const reason = (error) => (error.status === 0 ? t('app.unreachable') : error.message);

/** trouble shows why there is no answer; role is 'alert' unless the place where it comes is one that is read out. */
export const trouble = (error, role = null) => h('p', {class: 'notice notice-bad', role}, reason(error));

/** table is a table that scrolls by itself; label is its title, or {id} of the element that has one, and each row has a cell for each of the heads. */
export function table(label, heads, rows) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label.id ? null : label, 'aria-labelledby': label.id}, h('table', {class: 'table'},
    h('thead', null, h('tr', null, heads.map((text) => h('th', {scope: 'col'}, text)))),
    h('tbody', null, rows)));
}
