package httptool

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// A keep holds answers for a while. Who has the URI of one may read it; nobody can guess it.
type keep struct {
	name  string
	most  int64
	age   time.Duration
	mu    sync.Mutex
	held  int64
	queue []*keptAnswer // the oldest first
	timer *time.Timer   // ends the oldest; nil where none is kept
}

type keptAnswer struct {
	uri, mime string
	text      bool
	body      []byte
	until     time.Time
}

func newKeep(name string, most int64, age time.Duration) *keep {
	return &keep{name: name, most: most, age: age}
}

// put keeps an answer and returns its URI; "" where it is larger than all that may be kept.
func (k *keep) put(mime string, text bool, body []byte) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if int64(len(body)) > k.most {
		return ""
	}
	a := &keptAnswer{uri: k.prefix() + rand.Text(), mime: mime, text: text, body: body, until: time.Now().Add(k.age)}
	k.queue = append(k.queue, a)
	k.held += int64(len(body))
	k.trim()
	return a.uri
}

func (k *keep) prefix() string { return "answer://" + k.name + "/" }

// trim drops what is too old or too much, and has the timer look again when the next one is too old.
func (k *keep) trim() {
	now := time.Now()
	for len(k.queue) > 0 && (k.held > k.most || !k.queue[0].until.After(now)) {
		k.held -= int64(len(k.queue[0].body))
		k.queue[0] = nil
		k.queue = k.queue[1:]
	}
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if len(k.queue) > 0 {
		k.timer = time.AfterFunc(k.queue[0].until.Sub(now), func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.trim()
		})
	}
}

func (k *keep) get(uri string) *keptAnswer {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trim()
	for _, a := range k.queue {
		if a.uri == uri {
			return a
		}
	}
	return nil
}

// clear drops everything.
func (k *keep) clear() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue, k.held = nil, 0
	k.trim()
}

// offer registers the template under which the answers can be read.
func (k *keep) offer(s *mcp.Server) {
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: k.prefix() + "{id}", Name: "answer", Title: "An answer of the API",
		Description: "What a tool of this server was answered, whole: results link to it. It is kept for " + k.age.String() + " at most.",
	}, func(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		a := k.get(uri)
		if a == nil {
			return nil, mcp.ErrResourceNotFound
		}
		contents := mcp.BlobContents(a.uri, a.mime, a.body)
		if a.text {
			contents = mcp.TextContents(a.uri, a.mime, string(a.body))
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
	})
}
