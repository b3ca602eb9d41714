package toolsearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	embedTimeout     = 2 * time.Second  // limit for the vectors of a search's queries
	batchTimeouts    = 10               // limit for a batch of Index.Embed, in units of embedTimeout
	embedWeight      = 0.4              // share of the score by meaning in a fused score
	embedBatch       = 64               // texts of one call of an Embedder
	maxEmbedText     = 2 << 10          // bytes of an embedded text
	maxDimensions    = 8_192            // maximum numbers in a vector
	maxVectors       = 16_384           // cached vectors; at the limit the cache is emptied
	maxEmbedFailures = 3                // consecutive failures before searches pause embedding
	embedPause       = 30 * time.Second // duration of this pause
)

// Embedder converts texts to vectors. Texts of similar meaning must have vectors of similar
// direction. Embed must return one vector for each text, in their order, and return when ctx ends.
// All vectors must have the same length of at most 8,192. An Index calls Embed from the goroutines
// that call the Index, with at most 64 texts of at most 2 KiB at a time.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// dense holds the state of search by meaning. A nil dense is valid.
type dense struct {
	embedder Embedder

	embedding chan struct{} // contains a value while Index.Embed runs

	mu         sync.Mutex
	dimensions int // of all vectors; 0 until the first vector
	cache      map[textHash][]float32
	failures   int // consecutive failures
	paused     time.Time
}

type textHash [sha256.Size]byte

func hash(text string) textHash { return sha256.Sum256([]byte(text)) }

func newDense(e Embedder) *dense {
	if e == nil {
		return nil
	}
	return &dense{embedder: e, embedding: make(chan struct{}, 1), cache: make(map[textHash][]float32)}
}

// embedText returns the text of a tool to embed.
func (t *Tool) embedText() string {
	name := t.Name
	if t.Title != "" && t.Title != t.Name {
		name += " (" + t.Title + ")"
	}
	return plaintext.Beginning(t.Server+": "+name+": "+t.Description, maxEmbedText)
}

// Embed computes the vectors of all tools that have none. It returns when all tools have a vector,
// or with an error when the Embedder failed; another call continues from there. Call Embed after
// SetServer. Until then, searches find new tools by words only. Vectors are cached by text, so a
// tool that is added again costs nothing. Without an Embedder, Embed does nothing. Of several
// concurrent calls, one works and the others wait.
func (x *Index) Embed(ctx context.Context) error {
	d := x.dense
	if d == nil {
		return nil
	}
	select {
	case d.embedding <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-d.embedding }()
	for {
		batch := x.withoutVector()
		if len(batch) == 0 {
			return nil
		}
		texts := make([]string, len(batch))
		for i := range batch {
			texts[i] = batch[i].embedText()
		}
		vectors, err := d.embed(ctx, texts, batchTimeouts*embedTimeout)
		if err != nil {
			return fmt.Errorf("toolsearch: vectors of %d tools: %w", len(batch), err)
		}
		x.setVectors(batch, texts, vectors)
	}
}

// withoutVector returns some of the tools without a vector. Before that, it assigns cached vectors.
func (x *Index) withoutVector() []Tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []Tool
	for _, name := range slices.Sorted(maps.Keys(x.servers)) {
		for _, e := range x.servers[name].tools {
			if e.vector != nil {
				continue
			}
			if e.vector = x.dense.cached(e.tool.embedText()); e.vector != nil {
				x.built.Store(nil)
			} else if out = append(out, e.tool); len(out) == embedBatch {
				return out
			}
		}
	}
	return out
}

// setVectors sets the vectors of tools, except of tools whose texts have changed.
func (x *Index) setVectors(tools []Tool, texts []string, vectors [][]float32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, t := range tools {
		x.dense.keep(texts[i], vectors[i])
		if e := x.byID[t.ID]; e != nil && e.tool.embedText() == texts[i] {
			e.vector = vectors[i]
		}
	}
	x.built.Store(nil)
}

func (d *dense) cached(text string) []float32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cache[hash(text)]
}

func (d *dense) keep(text string, v []float32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.cache) >= maxVectors {
		clear(d.cache)
	}
	d.cache[hash(text)] = v
}

// embed returns the vectors of texts, scaled to length one.
func (d *dense) embed(ctx context.Context, texts []string, timeout time.Duration) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	vectors, err := d.embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("the embedder returned %d vectors for %d texts", len(vectors), len(texts))
	}
	out := make([][]float32, len(vectors))
	for i, v := range vectors {
		if err := d.measure(v); err != nil {
			return nil, err
		}
		if out[i] = unit(v); out[i] == nil {
			return nil, errors.New("the embedder returned a vector without direction")
		}
	}
	return out, nil
}

// measure returns an error if a vector does not have the length of the first vector.
func (d *dense) measure(v []float32) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dimensions == 0 && len(v) <= maxDimensions {
		d.dimensions = len(v)
	}
	if len(v) == 0 || len(v) != d.dimensions {
		return fmt.Errorf("the embedder returned a vector of %d numbers, expected %d, and at most %d", len(v), d.dimensions, maxDimensions)
	}
	return nil
}

// unit returns v scaled to length one, or nil if that is impossible.
func unit(v []float32) []float32 {
	var sum float64
	for _, n := range v {
		sum += float64(n) * float64(n)
	}
	if sum == 0 || math.IsInf(sum, 0) || math.IsNaN(sum) {
		return nil
	}
	out, length := make([]float32, len(v)), math.Sqrt(sum)
	for i, n := range v {
		out[i] = float32(float64(n) / length)
	}
	return out
}
