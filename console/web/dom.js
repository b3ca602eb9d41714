// Elements without HTML: whatever a server or a client wrote becomes text, and can become nothing else.

const svgNamespace = 'http://www.w3.org/2000/svg';

// Set as properties: the attribute of the same name is only the value at the start.
const properties = new Set(['value', 'checked', 'disabled', 'hidden', 'selected', 'open', 'indeterminate', 'readOnly']);

/** h makes an element: h('button', {class: 'button', onclick: save}, 'Save'). */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** svg makes an element of a picture. */
export function svg(tag, props, ...children) {
  return fill(document.createElementNS(svgNamespace, tag), props, children);
}

/** clear takes everything out of a node, and puts children in. */
export function clear(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false && !properties.has(name)) continue;
    if (name.startsWith('on')) {
      if (typeof value !== 'function') throw new TypeError(`${name}: expected a function`);
      node.addEventListener(name.slice(2), value);
    } else if (properties.has(name)) {
      node[name] = value;
    } else {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(node, child);
    else if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

// Schemes of addresses that a person may follow from the page: no other one runs nothing.
const followed = new Set(['http:', 'https:']);

/** link makes a link that opens elsewhere, or only text where the address is of a kind that is not followed. */
export function link(address, ...children) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return h('span', null, ...children);
  }
  if (!followed.has(url.protocol)) return h('span', {title: address}, ...children);
  return h('a', {href: url.href, target: '_blank', rel: 'noopener noreferrer'}, ...children);
}
