package console

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	maxOnce  = 16          // documents that wait to be asked for
	onceTime = time.Minute // that one waits
)

// A once is a document that is served to the first who asks for it.
type once struct {
	path    string
	handler http.Handler
	until   time.Time
}

// Once returns a path at which h answers one request, within a minute, and without the cookie. It is outside of the console's
// own path: a document that a server wrote can read its own address, and must not learn the console's from it.
func (c *Console) Once(h http.Handler) (path string) {
	path = "/" + rand.Text()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.waiting = slices.DeleteFunc(c.waiting, func(o once) bool { return now.After(o.until) })
	if len(c.waiting) >= maxOnce {
		c.waiting = slices.Delete(c.waiting, 0, 1)
	}
	c.waiting = append(c.waiting, once{path, h, now.Add(onceTime)})
	return path
}

// served is the handler of a document that waits at a path, which ends that; nil where there is none.
func (c *Console) served(r *http.Request) http.Handler {
	if r.Method != http.MethodGet || strings.HasPrefix(r.URL.Path, c.path) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.waiting, func(o once) bool { return o.path == r.URL.Path })
	if i < 0 {
		return nil
	}
	o := c.waiting[i]
	c.waiting = slices.Delete(c.waiting, i, i+1)
	if time.Now().After(o.until) {
		return nil
	}
	return o.handler
}
