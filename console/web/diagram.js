// The diagram: who stands where, from whom to whom an arrow goes, and which arrows belong to one call.

const maxLanes = 40; // all others stand in the last one
const maxSeen = 400; // lanes that are known
const maxTracks = 6; // calls whose lines stand next to each other
const maxWaiting = 1000; // requests of which it is known that nothing answered them
const kinds = ['client', 'junction', 'server'];

/** ends are the lanes from which and to which a message goes. Where they are the same it is a remark. */
export function ends(item) {
  const process = {kind: 'junction', name: String(item.pid)};
  let other = process;
  if (item.kind !== 'note' && item.hop === 'client') other = {kind: 'client', name: item.client ?? ''};
  else if (item.kind !== 'note' && item.hop === 'server') other = {kind: 'server', name: item.server ?? ''};
  return Boolean(item.toServer) === (item.hop === 'client') ? [other, process] : [process, other];
}

const keyOf = ({kind, name}) => kind + name;

/**
 * Lanes are the columns, in the order clients, processes of Junction, servers; of each those seen first stand first. Those that
 * only processes had that have ended are there as long as one looks at their messages.
 */
export class Lanes {
  #seen = new Map(); // by kind and name: {kind, name, pids: those that run}
  #ended = new Set(); // numbers of processes
  list = [];
  version = 0; // of the list

  /** see adds whom messages name; looked are lanes that one looks at. */
  see(items, looked = new Set()) {
    for (const item of items) {
      for (const lane of ends(item)) {
        const key = keyOf(lane);
        if (!this.#seen.has(key) && this.#room(looked)) this.#seen.set(key, {...lane, pids: new Set()});
        if (!this.#ended.has(item.pid)) this.#seen.get(key)?.pids.add(item.pid);
      }
    }
  }

  /** end takes the processes that have ended. */
  end(pids) {
    this.#ended = new Set(pids);
    for (const lane of this.#seen.values()) lane.pids = new Set([...lane.pids].filter((pid) => !this.#ended.has(pid)));
  }

  // room reports whether one more can be known. What has ended makes room for it, but what one looks at.
  #room(looked) {
    if (this.#seen.size < maxSeen) return true;
    for (const [key, lane] of this.#seen) if (lane.pids.size === 0 && !looked.has(key)) return this.#seen.delete(key);
    return false;
  }

  /** choose makes the list, where one looks at these messages, and reports whether it changed. */
  choose(items) {
    const looked = new Set(items.flatMap(ends).map(keyOf));
    this.see(items, looked);
    const list = [...this.#seen].filter(([key, lane]) => looked.has(key) || lane.pids.size > 0).slice(0, maxLanes).map(([, lane]) => lane)
      .sort((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind));
    if (list.length === this.list.length && list.every((lane, n) => lane === this.list[n])) return false;
    this.list = list;
    this.version++;
    return true;
  }

  /** alone says that there is one process. */
  get alone() { return this.list.filter(({kind}) => kind === 'junction').length === 1; }

  /** of are the places of a message's lanes. */
  of(item) {
    return ends(item).map((lane) => {
      const at = this.list.findIndex(({kind, name}) => kind === lane.kind && name === lane.name);
      return at < 0 ? this.list.length - 1 : at;
    });
  }

  /** names are those of one kind that are known, for a choice. */
  names(kind) {
    return [...this.#seen.values()].filter((lane) => lane.kind === kind && lane.name !== '').map(({name}) => name);
  }
}

/** laneOf is how wide each lane is: its middle is at a whole pixel, as a line between two pixels may not be drawn. */
export const laneOf = (width, lanes) => 2 * Math.floor(width / 2 / Math.max(1, lanes));

/**
 * arrow is where an arrow of a row is drawn, in pixels, on which side of the row its text begins, and the room for that: the
 * length of the arrow. What has no arrow has half of the lanes next to its own, too.
 */
export function arrow([from, to], width, lanes) {
  const lane = laneOf(width, lanes);
  const x = (n) => (n + 0.5) * lane;
  const [left, right] = [Math.min(x(from), x(to)), Math.max(x(from), x(to))];
  const room = from === to ? 2 * Math.min(lane, left, width - left) : right - left;
  return {left, width: right - left, toRight: to > from, remark: from === to, textLeft: left + right <= width, room};
}

/** callKey names a call: that of one process. */
export const callKey = (item) => (item.call ? `${item.pid}/${item.call}` : '');

/**
 * tracks draws the line that joins the messages of each call, next to those of other calls that go on meanwhile. For each
 * message it gives the lines of its row: {track, part: 'only' | 'begin' | 'end' | 'on', own}.
 */
export function tracks(items) {
  const last = new Map();
  items.forEach((item, row) => { if (item?.call) last.set(callKey(item), row); });
  const open = new Array(maxTracks).fill('');
  return items.map((item, row) => {
    const key = item ? callKey(item) : '';
    let begins = false;
    if (key && !open.includes(key)) {
      const free = open.indexOf('');
      if (free >= 0) [open[free], begins] = [key, true];
    }
    const lines = [];
    open.forEach((call, track) => {
      if (!call) return;
      const own = call === key;
      const finishes = last.get(call) === row;
      const begun = own && begins;
      lines.push({track, own, part: begun && finishes ? 'only' : begun ? 'begin' : finishes ? 'end' : 'on'});
      if (finishes) open[track] = '';
    });
    return lines;
  });
}

// Of what is asked of a client nobody knows what answers it: that says neither which method it is about nor which call it
// belongs to. A subscription is answered when it ends.
const isAwaited = (item) => item.kind === 'request' && item.toServer && item.method !== 'subscriptions/listen';
const isAnswer = (item) => ['response', 'error', 'failure'].includes(item.kind);

/** Waiting are the requests that nothing has answered yet. */
export class Waiting {
  #open = new Map(); // the numbers of requests, the oldest first, by what they share with what answers them

  see(items) {
    for (const item of items) {
      if (!isAwaited(item) && !(isAnswer(item) && !item.toServer)) continue;
      const key = this.#key(item);
      const numbers = this.#open.get(key) ?? [];
      if (item.kind === 'request') {
        if (this.#open.size >= maxWaiting) this.#open.delete(this.#open.keys().next().value);
        if (numbers.length < maxWaiting) this.#open.set(key, [...numbers, item.seq]);
      } else if (numbers.length > 1) {
        this.#open.set(key, numbers.slice(1));
      } else {
        this.#open.delete(key);
      }
    }
  }

  has(item) {
    return isAwaited(item) && (this.#open.get(this.#key(item))?.includes(item.seq) ?? false);
  }

  #key({pid, call = 0, hop, server = '', method = ''}) { return JSON.stringify([pid, call, hop, server, method]); }
}

/** counterpart is the message of the other hop that says the same: the first answer to the first answer, and so on. */
export function counterpart(messages, seq) {
  const mine = messages.find((message) => message.seq === seq);
  if (!mine || !['client', 'server'].includes(mine.hop)) return null;
  const sameKind = (a) => a.kind === mine.kind || isAnswer(a) && isAnswer(mine);
  const alike = messages.filter((a) => sameKind(a) && a.method === mine.method && Boolean(a.toServer) === Boolean(mine.toServer));
  const rank = alike.filter(({hop}) => hop === mine.hop).indexOf(mine);
  return alike.filter(({hop}) => hop && hop !== mine.hop)[rank] ?? null;
}

/** headersOf is the note of the HTTP headers of the exchange that carried a message, among those of its call. */
export function headersOf(messages, {hop, server, id, seq}) {
  const notes = messages.filter((note) => note.note === 'http' && note.hop === hop && note.server === server && JSON.stringify(note.id) === JSON.stringify(id) && note.message);
  return notes.find((note) => note.seq > seq) ?? notes.at(-1) ?? null;
}

/**
 * bars is where the bars of a call's waterfall stand, in percent. What nobody answered goes on to the end; what was asked of
 * a client, to the next message on that hop.
 */
export function bars({spans, took, began, messages = []}) {
  const whole = Math.max(took, ...spans.map((span) => span.start + (span.took ?? 0)), 1);
  const since = (time) => (Date.parse(time) - Date.parse(began)) * 1e6;
  return spans.map((span) => {
    const asked = messages.find(({seq}) => seq === span.seq);
    const next = asked && !asked.toServer && messages.find(({seq, hop, server, kind}) => seq > span.seq && hop === asked.hop && server === asked.server && kind !== 'note');
    const length = span.answer ? span.took ?? 0 : next ? Math.max(0, since(next.time) - span.start) : whole - span.start;
    return {span, waits: !span.answer && !next, length, left: 100 * span.start / whole, width: Math.max(0.4, 100 * length / whole)};
  });
}
