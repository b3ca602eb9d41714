// Package prefix finds the keys that have a prefix.
package prefix

// End returns the first key after all that have the prefix, or "" if there is none.
func End(prefix string) string {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xff {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return string(end)
}
