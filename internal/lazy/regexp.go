package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a function that returns the regular expression, which its first call compiles.
func Regexp(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
