package toolsearch

import (
	"context"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// queries returns the vectors of queries, or nil and why there are none. It may be called on nil.
func (d *dense) queries(ctx context.Context, qs []Query) (vectors [][]float32, note string) {
	if d == nil || len(qs) == 0 {
		return nil, ""
	}
	if left := d.pause(); left > 0 {
		return nil, fmt.Sprintf("found by words alone: the embedder failed %d times in a row and is asked again in %v", maxEmbedFailures, left.Round(time.Second))
	}
	texts := make([]string, len(qs))
	for i, q := range qs {
		texts[i] = plaintext.Beginning(q.Text, maxEmbedText)
	}
	limited, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	for len(vectors) < len(texts) {
		some := texts[len(vectors):min(len(vectors)+embedBatch, len(texts))]
		got, err := d.embed(limited, some, embedTimeout)
		if err != nil {
			if ctx.Err() == nil { // a caller that has given up says nothing about the embedder
				d.asked(false)
			}
			return nil, fmt.Sprintf("found by words alone: %v", err)
		}
		vectors = append(vectors, got...)
	}
	d.asked(true)
	return vectors, ""
}

// pause is how long searches still do without the embedder.
func (d *dense) pause() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Until(d.paused)
}

// asked notes how asking the embedder ended.
func (d *dense) asked(well bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failures++; well {
		d.failures = 0
	} else if d.failures >= maxEmbedFailures {
		d.failures, d.paused = 0, time.Now().Add(embedPause)
	}
}

// scoreMeaning replaces the scores by words in s with fused ones. Each half is
// brought to the scale from 0 to 1 first: words by the best score, meaning by
// how far a tool stands out of the allowed ones, of which most have nothing to do
// with the query. It returns a note if tools have no vector.
func (t *table) scoreMeaning(s *scratch, vector []float32) (note string) {
	bestByWords, _ := s.best(0)
	s.near = zeroed(s.near, len(t.slots))
	var sum, most float64
	with, without := 0, 0
	for n := range t.slots {
		p := &t.slots[n]
		switch {
		case !s.allows(n):
		case len(p.vector) == 0:
			without++
		default:
			s.near[n] = dot(p.vector, vector)
			sum += s.near[n]
			most = max(most, s.near[n])
			with++
		}
	}
	t.fuse(s, bestByWords, sum/float64(max(1, with)), most)
	switch {
	case with == 0:
		return "found by words alone: no tool has a vector yet"
	case without > 0:
		return fmt.Sprintf("%d of %d tools have no vector yet and are found by words alone", without, with+without)
	}
	return ""
}

// fuse replaces scores by words, of which the best is given, by fused ones.
func (t *table) fuse(s *scratch, bestByWords, mean, most float64) {
	for n := range s.scores {
		if bestByWords > 0 {
			s.scores[n] /= bestByWords
		}
		p := &t.slots[n]
		meaning := 0.0
		switch {
		case !s.allows(n), len(p.vector) == 0:
			continue // what is missing is taken to be like what is there
		case most > mean:
			meaning = max(0, (s.near[n]-mean)/(most-mean))
		case most > 0:
			meaning = 1 // all are equally near, one tool for instance
		}
		s.scores[n] = (1-embedWeight)*s.scores[n] + embedWeight*meaning
	}
}

// dot is the product of two vectors of the same length.
func dot(a, b []float32) float64 {
	var sum float32
	for i, n := range a {
		sum += n * b[i]
	}
	return float64(sum)
}
