package schema

// combined checks what the combining keywords ask of the value w.raw[i:end].
func (w *walker) combined(c *check, i, end, depth int) bool {
	ok := true
	for _, sub := range c.all {
		if _, fits := w.value(sub, i, depth); !fits {
			if ok = false; w.report == nil {
				return false
			}
		}
	}
	if c.any != nil && w.matching(c.any, i, depth, 1) == 0 {
		ok = w.failAlternatives(c.any, i, end, depth)
	}
	if c.one != nil {
		switch w.matching(c.one, i, depth, 2) {
		case 0:
			ok = w.failAlternatives(c.one, i, end, depth)
		case 2:
			ok = w.fail("a value that fits exactly one of: "+describeAll(c.one), w.raw[i:end])
		}
	}
	if c.refuse != nil && w.fits(c.refuse, i, depth) {
		ok = w.fail("anything but "+c.refuse.describe(), w.raw[i:end])
	}
	if c.condition != nil && !w.conditional(c, i, depth) {
		ok = false
	}
	return ok && w.work >= 0
}

func (w *walker) conditional(c *check, i, depth int) bool {
	sub := c.otherwise
	if w.fits(c.condition, i, depth) {
		sub = c.then
	}
	if sub == nil {
		return true
	}
	_, ok := w.value(sub, i, depth)
	return ok
}

// fits tells whether a value fits, and reports nothing.
func (w *walker) fits(c *check, i, depth int) bool {
	report := w.report
	w.report = nil
	_, ok := w.value(c, i, depth)
	w.report = report
	return ok && w.work >= 0
}

// matching counts the alternatives that fit, up to enough.
func (w *walker) matching(list []*check, i, depth, enough int) (n int) {
	for _, sub := range list {
		if w.fits(sub, i, depth) {
			if n++; n == enough {
				break
			}
		}
	}
	return n
}

// failAlternatives reports that no alternative fits. Where only one is of the
// value's type, what is wrong with that one says more than the list of all.
func (w *walker) failAlternatives(list []*check, i, end, depth int) bool {
	if w.report == nil {
		return false
	}
	var near *check
	k := kindAt(w.raw, i)
	for _, sub := range list {
		if sub != nil && sub.accepts(k) {
			if near != nil {
				return w.fail(describeAll(list), w.raw[i:end])
			}
			near = sub
		}
	}
	if near == nil {
		return w.fail(describeAll(list), w.raw[i:end])
	}
	w.value(near, i, depth)
	return false
}
