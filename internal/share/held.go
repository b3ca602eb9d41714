package share

// maxSampled is how many keys are looked at to find one that holds much.
const maxSampled = 64

// Held counts what each key holds of something that can be taken back: where there is too much, the key that holds most gives some up. It
// is not safe for concurrent use.
type Held struct {
	used int
	by   map[string]int
	most string // the key that held most when it was last seen
}

// NewHeld returns a Held of which nothing is held.
func NewHeld() *Held { return &Held{by: map[string]int{}} }

// Add counts more of a key, or less where n is below 0.
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

// Used is how much all keys hold.
func (h *Held) Used() int { return h.used }

// Of is how much a key holds.
func (h *Held) Of(key string) int { return h.by[key] }

// Most is the key that holds most, as far as some of many are looked at.
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

// GivesUp is the key that gives some up for n more of a key: that which would hold most, but not one that holds nothing yet. ok is false
// where nothing is held.
func (h *Held) GivesUp(key string, n int) (from string, ok bool) {
	from = h.Most()
	if held := h.by[key]; held > 0 && held+n >= h.by[from] {
		from = key
	}
	return from, h.used > 0
}
