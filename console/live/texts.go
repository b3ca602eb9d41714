package live

import "strings"

// texts are those that a message has in the index. Most messages have all of them in common with others.
type texts struct {
	client, server, method, name, note string
	shared                             string // the message itself, where others have it, too
}

// A textsID is the number of texts in a table. It has none of number 0, which are empty.
type textsID int32

// A textTable keeps texts once, for as long as a message has them.
type textTable struct {
	numbers map[texts]textsID
	all     []counted // by textsID
	free    []textsID
	bytes   int
}

type counted struct {
	texts
	uses   int32
	fits   fit
	asking uint64 // whose answer fits is
}

const textsSize = 150 // bytes, about, that texts cost in addition to their own

// of returns texts by their number.
func (w *textTable) of(n textsID) *texts { return &w.all[n].texts }

// add returns the number of texts, which are most likely those of recent: no message may have them any more.
func (w *textTable) add(t *texts, recent textsID) textsID {
	if *w.of(recent) == *t && w.all[recent].uses > 0 {
		return w.again(recent)
	}
	if n, known := w.numbers[*t]; known {
		return w.again(n)
	}
	kept := *t
	for _, text := range [...]*string{&kept.client, &kept.server, &kept.method, &kept.name, &kept.note, &kept.shared} {
		*text = strings.Clone(*text)
	}
	n := textsID(len(w.all))
	if last := len(w.free) - 1; last >= 0 {
		n, w.free = w.free[last], w.free[:last]
	} else {
		w.all = append(w.all, counted{})
	}
	w.all[n] = counted{texts: kept, uses: 1}
	w.numbers[kept] = n
	w.bytes += kept.size()
	return n
}

func (t *texts) size() int {
	return len(t.client) + len(t.server) + len(t.method) + len(t.name) + len(t.note) + len(t.shared) + textsSize
}

func (w *textTable) again(n textsID) textsID {
	w.all[n].uses++
	return n
}

func (w *textTable) release(n textsID) {
	if n == 0 {
		return
	}
	c := &w.all[n]
	if c.uses--; c.uses > 0 {
		return
	}
	delete(w.numbers, c.texts)
	w.bytes -= c.size()
	*c = counted{}
	w.free = append(w.free, n)
}
