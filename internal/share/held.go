package share

// maxSampled is the maximum number of keys that are examined to find one that has many items.
const maxSampled = 64

// Held counts the items of each key, for items that can be taken back. If there are too many items,
// the key with the most loses some. A Held is not safe for concurrent use.
type Held struct {
	used int
	by   map[string]int
	most string // the key with the most items, as far as known
}

// NewHeld returns an empty Held.
func NewHeld() *Held { return &Held{by: map[string]int{}} }

// Add adds n items to a key. n may be negative.
func (h *Held) Add(key string, n int) {
	h.used += n
	h.by[key] += n
	switch held := h.by[key]; {
	case held <= 0:
		delete(h.by, key)
	case held > h.by[h.most]:
		h.most = key
	}
}

// Used returns the number of items of all keys.
func (h *Held) Used() int { return h.used }

// Of returns the number of items of a key.
func (h *Held) Of(key string) int { return h.by[key] }

// Most returns the key with the most items. If there are many keys, it examines only some of them.
func (h *Held) Most() string {
	looked := 0
	for key, held := range h.by {
		if looked++; looked > maxSampled {
			break
		}
		if held > h.by[h.most] {
			h.most = key
		}
	}
	return h.most
}

// GivesUp returns the key that must lose items if key takes n more. It is the key that would then
// have the most items, but never a key that has none now. ok is false if no key has items.
func (h *Held) GivesUp(key string, n int) (from string, ok bool) {
	from = h.Most()
	if held := h.by[key]; held > 0 && held+n >= h.by[from] {
		from = key
	}
	return from, h.used > 0
}
