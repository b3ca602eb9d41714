package schema

import "reflect"

// Certain reports whether everything that a value of type t encodes to fits the
// schema that [For] infers, so that checking it would be a waste. It does not
// where a tag or the type's own schema allows less than the type can hold.
// A pointer counts as what it points to.
func Certain(t reflect.Type) bool {
	t = indirect(t)
	b := &builder{root: t, active: map[reflect.Type]bool{}, names: map[reflect.Type]string{}}
	s, err := b.shape(t)
	if err != nil {
		return false
	}
	s.definitions = b.definitions
	return s.certain()
}

func (s *shape) certain() bool {
	if s == nil {
		return true
	}
	if s.raw != nil || s.narrowed {
		return false
	}
	for _, list := range [][]namedShape{s.properties, s.definitions} {
		for _, p := range list {
			if !p.shape.certain() {
				return false
			}
		}
	}
	return s.items.certain() && s.additional.certain()
}
