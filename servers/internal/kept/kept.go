// Package kept keeps what tools of a server answered, for a while, so that it can be read as a resource.
package kept

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// Answers are the newest of a server. Who has the URI of one may read it; it cannot be guessed.
type Answers struct {
	Prefix string        // of the URIs
	Most   int64         // bytes of all
	Age    time.Duration // how long each is kept

	mu     sync.Mutex
	held   int64
	queue  []answer    // the oldest first
	timer  *time.Timer // ends the oldest; nil where none is kept
	closed bool
}

type answer struct {
	uri, mime string
	text      bool
	body      []byte
	until     time.Time
}

// Put keeps an answer and returns its URI, with an ending; "" where it is larger than all that may be kept.
func (k *Answers) Put(ending, mime string, text bool, body []byte) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if int64(len(body)) > k.Most {
		return ""
	}
	uri := k.Prefix + rand.Text() + ending
	if !k.closed {
		k.queue = append(k.queue, answer{uri, mime, text, body, time.Now().Add(k.Age)})
		k.held += int64(len(body))
		k.trim()
	}
	return uri
}

// trim drops what is too old or too much, and has the timer look again when the next one is too old.
func (k *Answers) trim() {
	now := time.Now()
	for len(k.queue) > 0 && (k.held > k.Most || !k.queue[0].until.After(now)) {
		k.held -= int64(len(k.queue[0].body))
		k.queue = slices.Delete(k.queue, 0, 1)
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

// Read reads the resource that an answer is.
func (k *Answers) Read(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.trim()
	i := slices.IndexFunc(k.queue, func(a answer) bool { return a.uri == uri })
	if i < 0 {
		return nil, mcp.ErrResourceNotFound
	}
	contents := mcp.BlobContents(uri, k.queue[i].mime, k.queue[i].body)
	if k.queue[i].text {
		contents = mcp.TextContents(uri, k.queue[i].mime, string(k.queue[i].body))
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

// Close drops all answers, and keeps no further ones.
func (k *Answers) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue, k.held, k.closed = nil, 0, true
	k.trim()
}
