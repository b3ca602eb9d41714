// Package kept stores responses of tools for a while, so that clients can read them as resources.
package kept

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// Answers stores the newest responses of a server. Any client that knows the URI of a response can
// read it. URIs cannot be guessed.
type Answers struct {
	Prefix string        // beginning of all URIs
	Most   int64         // bytes of all responses
	Age    time.Duration // lifetime of each response

	mu     sync.Mutex
	held   int64
	queue  []answer    // the oldest first
	timer  *time.Timer // runs when the oldest response expires; nil without responses
	closed bool
}

type answer struct {
	uri, mime string
	text      bool
	body      []byte
	until     time.Time
}

// Put stores a response and returns its URI, which ends in ending. It returns "" if the response is
// larger than Most.
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

// trim drops expired and excess responses, and sets the timer for the next expiry.
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

// Read reads a stored response as a resource.
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

// Close drops all responses and stores no more.
func (k *Answers) Close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.queue, k.held, k.closed = nil, 0, true
	k.trim()
}
