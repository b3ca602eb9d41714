// A difference of two texts as Junction prints it: lines that begin with + or -.
import {h} from './dom.js';

/** diff shows it in which added and removed lines differ by more than a colour. */
export function diff(text) {
  return h('pre', {class: 'diff'}, text.split('\n').map((line) => {
    const kind = {'+': 'added', '-': 'removed'}[line[0]];
    return kind ? h(kind === 'added' ? 'ins' : 'del', null, line + '\n') : line + '\n';
  }));
}
