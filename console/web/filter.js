// Which messages are shown: what stands in the page's address, what is asked of the API, and what a person typed.

// In the order in which they stand in the address. The API knows all of them by these names.
const fields = ['text', 'client', 'server', 'method', 'name', 'pid', 'call', 'kind'];

/** noFilter shows all messages. */
export const noFilter = Object.freeze({});

/** readAddress takes an address such as "812?errors=true&server=weather&view=list" apart: message 812 is open. */
export function readAddress(rest) {
  const [path, query = ''] = rest.split('?', 2);
  const given = new URLSearchParams(query);
  const filter = {};
  for (const field of fields) {
    const value = given.get(field)?.trim();
    if (value && (!['pid', 'call'].includes(field) || /^\d{1,18}$/.test(value))) filter[field] = value;
  }
  if (['true', '1'].includes(given.get('errors'))) filter.errors = 'true';
  if (given.get('ping') === 'true') filter.ping = 'true';
  return {
    seq: /^\d{1,15}$/.test(path) ? Number(path) : 0,
    list: given.get('view') === 'list',
    filter,
  };
}

/** writeAddress is what readAddress reads. */
export function writeAddress({seq, list, filter}) {
  const query = fieldsOf(filter);
  if (filter.ping) query.set('ping', 'true');
  if (list) query.set('view', 'list');
  const text = query.toString();
  return (seq || '') + (text && '?' + text);
}

/** streamQuery is a filter as the API takes it for the stream, in which HTTP headers are no messages of their own. */
export function streamQuery(filter) {
  const query = queryOf(filter);
  query.set('headers', 'false');
  return query;
}

/** queryOf is a filter as the API takes it. Pings are there only for those who ask for them. */
export function queryOf(filter) {
  const query = fieldsOf(filter);
  if (!filter.ping && filter.method !== 'ping') query.set('ping', 'false');
  return query;
}

function fieldsOf(filter) {
  const query = new URLSearchParams();
  for (const field of fields) if (filter[field]) query.set(field, filter[field]);
  if (filter.errors) query.set('errors', 'true');
  return query;
}

/** withField is a filter in which one field has another value; an empty one leaves it out. */
export function withField(filter, field, value) {
  const changed = {...filter};
  delete changed[field];
  if (value) changed[field] = value;
  return changed;
}

/** isEmpty reports whether a filter shows everything. */
export const isEmpty = (filter) => Object.keys(filter).length === 0;

/** isWhole reports whether a filter shows what answers each request that it shows. */
export const isWhole = ({text, errors, kind}) => !text && !errors && !kind;
