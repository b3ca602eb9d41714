package share

// maxSampled limits the keys examined to find one that holds much.
const maxSampled = 64

// Held counts the items of each key, for items that can be taken back: if there are too many, the
// key with the most gives some up. It is not safe for concurrent use.
type Held struct {
	used int
	by   map[string]int
	most string // the key with the most when it was last examined
}

// NewHeld returns an empty Held.
func NewHeld() *Held { return &Held{by: map[string]int{}} }

// Add adds n items to a key, or removes some if n is negative.
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

// Used returns the items of all keys.
func (h *Held) Used() int { return h.used }

// Of returns the items of a key.
func (h *Held) Of(key string) int { return h.by[key] }

// Most returns the key with the most items. Of many keys it examines only some.
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

// GivesUp returns the key that gives up items for n more of key: the one that would hold the most,
// but not one without items. ok is false if nothing is held.
func (h *Held) GivesUp(key string, n int) (from string, ok bool) {
	from = h.Most()
	if held := h.by[key]; held > 0 && held+n >= h.by[from] {
		from = key
	}
	return from, h.used > 0
}
