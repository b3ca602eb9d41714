// The rows of the stream, of which the page has only some: those that were seen lately, and the newest.
//
// Without a filter the messages have places, from the first to the last one, so what is at a place is fetched when somebody
// scrolls there. With one nobody knows how many there are before all were looked at: the rows are those that
// were found, from the newest backward.

const pageSize = 200; // messages that are fetched at a time
const maxPages = 80; // that are kept of all messages

/** visible says which rows are to be in the document. */
export function visible(scrollTop, height, rowHeight, count, beyond = 8) {
  const start = Math.max(0, Math.floor(scrollTop / rowHeight) - beyond);
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + beyond);
  return {start: Math.min(start, end), end};
}

/** AllRows are the rows where nothing is filtered. */
export class AllRows {
  #pages = new Map(); // by number; the one that was used last stands last
  #places = new Map(); // of the messages in them, by their number
  first = 1;
  last = 0;
  more = false; // nothing is before the first one

  get count() { return Math.max(0, this.last - this.first + 1); }

  at(row) { return this.#page(this.first + row)?.[(this.first + row) % pageSize]; }

  rowOf(seq) {
    const place = this.#places.get(seq);
    return place >= this.first && place <= this.last ? place - this.first : -1;
  }

  #page(place) {
    const number = Math.floor(place / pageSize);
    const page = this.#pages.get(number);
    if (page) {
      this.#pages.delete(number);
      this.#pages.set(number, page);
    }
    return page;
  }

  /** put keeps messages. */
  put(items) {
    for (const item of items) {
      let page = this.#page(item.row);
      if (!page) {
        page = new Array(pageSize);
        this.#pages.set(Math.floor(item.row / pageSize), page);
      }
      page[item.row % pageSize] = item;
      this.#places.set(item.seq, item.row);
    }
    for (const [number, page] of this.#pages) {
      if (this.#pages.size <= maxPages) break;
      this.#pages.delete(number);
      for (const item of page) if (item) this.#places.delete(item.seq);
    }
  }

  /** bounds sets which messages there are, as the API says, and returns how many rows went at the beginning. */
  bounds({firstRow: first, lastRow: last}) {
    const gone = this.count === 0 ? 0 : Math.min(this.count, Math.max(0, first - this.first));
    [this.first, this.last] = [first, Math.max(last, first - 1)];
    return gone;
  }

  /** missing are the queries that bring what these rows lack. */
  missing(start, end) {
    const queries = [];
    for (let row = start; row < end; row++) {
      if (this.at(row)) continue;
      const begin = Math.floor((this.first + row) / pageSize) * pageSize;
      queries.push({afterRow: Math.max(0, begin - 1), limit: pageSize});
      row = begin + pageSize - 1 - this.first;
    }
    return queries;
  }
}

/** FoundRows are the rows that a filter shows. */
export class FoundRows {
  #items = []; // the oldest first
  #next = 0; // where to look for older ones
  more = true; // there may be older ones

  get count() { return this.#items.length; }

  at(row) { return this.#items[row]; }

  rowOf(seq) {
    let [low, high] = [0, this.#items.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#items[middle].seq < seq) low = middle + 1;
      else high = middle;
    }
    return this.#items[low]?.seq === seq ? low : -1;
  }

  /** put adds newer messages. */
  put(items) {
    for (const item of items) if (item.seq > (this.#items.at(-1)?.seq ?? 0)) this.#items.push(item);
  }

  /** older adds a page of older ones, the newest first, and returns how many rows came at the beginning. */
  older({items, next, more}) {
    const added = items.filter((item) => item.seq < (this.#items[0]?.seq ?? Infinity)).reverse();
    this.#items = added.concat(this.#items);
    [this.#next, this.more] = [next, more];
    return added.length;
  }

  /** bounds sets which messages there are, and returns how many rows went at the beginning. */
  bounds({first}) {
    let gone = 0;
    while (gone < this.#items.length && this.#items[gone].seq < first) gone++;
    if (gone > 0) this.#items.splice(0, gone);
    return gone;
  }

  /** missing are the queries that bring what these rows lack: older ones, when the first of them is near. */
  missing(start) {
    return this.more && start < pageSize ? [{before: this.#next, limit: pageSize}] : [];
  }
}
