package toolsearch

import (
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// concepts is an Embedder with three meanings.
type concepts struct{}

func (concepts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		v := []float32{0.1, 0.1, 0.1}
		for k, words := range []string{"letter mail recipient grandma", "event day birthday", "contract sign lawyer"} {
			for w := range strings.FieldsSeq(words) {
				if strings.Contains(strings.ToLower(text), w) {
					v[k]++
				}
			}
		}
		out[i] = v
	}
	return out, nil
}

// asks is an Embedder that calls a function and counts.
type asks struct {
	calls, texts int
	answer       func(ctx context.Context, texts []string) ([][]float32, error)
}

func (a *asks) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	a.calls++
	a.texts += len(texts)
	return a.answer(ctx, texts)
}

func with(e Embedder, tools *Index) *Index {
	x := New(Options{Embedder: e})
	for _, s := range tools.Servers() {
		var own []Tool
		for _, p := range tools.table().slots {
			if p.tool.Server == s.Name {
				own = append(own, p.tool)
			}
		}
		x.SetServer(s.Name, s.About, own)
	}
	return x
}

func TestMeaningFindsMoreThanWords(t *testing.T) {
	t.Parallel()
	x := with(concepts{}, offices())
	before := x.Search(context.Background(), Query{Text: "grandma"})
	if len(before.Hits) != 0 || !strings.Contains(before.Note, "no tool has a vector") {
		t.Errorf("before Embed: %+v", before)
	}
	if err := x.Embed(context.Background()); err != nil {
		t.Fatal(err)
	}
	r := x.Search(context.Background(), Query{Text: "grandma"})
	if len(r.Hits) == 0 || !strings.HasPrefix(r.Hits[0].ID, "mail") || r.Note != "" {
		t.Errorf("got %+v", r)
	}
	for _, h := range r.Hits {
		if h.Score <= 0 || h.Score > 1 {
			t.Errorf("score %v", h.Score)
		}
	}
	if r := x.Search(context.Background(), Query{Text: "sign the contract with a key"}); r.Hits[0].ID != "vault__sign_contract" {
		t.Errorf("words no longer count: %+v", r.Hits)
	}
	x.SetServer("new", "", []Tool{{Name: "stamp"}})
	if r := x.Search(context.Background(), Query{Text: "stamp"}); r.Hits[0].ID != "new__stamp" || !strings.Contains(r.Note, "1 of 10 tools") {
		t.Errorf("a tool without a vector: %+v", r)
	}
}

func TestMeaningRespectsPermissions(t *testing.T) {
	t.Parallel()
	all := with(concepts{}, offices())
	part := with(concepts{}, offices())
	part.SetServer("vault", "", nil)
	for _, x := range []*Index{all, part} {
		if err := x.Embed(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []string{"lawyer", "birthday", "letter to grandma", "list"} {
		got := all.Search(context.Background(), Query{Text: q, Limit: 20, Allow: func(id string) bool { return !strings.HasPrefix(id, "vault") }})
		want := part.Search(context.Background(), Query{Text: q, Limit: 20})
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, want %+v", q, got, want)
		}
	}
}

func TestVectorsAreAskedForOnceABatchAndKept(t *testing.T) {
	t.Parallel()
	e := &asks{answer: concepts{}.Embed}
	x := with(e, catalogue(150))
	for range 2 {
		if err := x.Embed(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if e.calls != 3 || e.texts != 150 {
		t.Errorf("%d calls with %d texts, want 3 with 150", e.calls, e.texts)
	}
	tool, _ := x.Tool(x.table().slots[0].tool.ID)
	x.SetServer(tool.Server, "", nil)
	x.SetServer(tool.Server, "", []Tool{tool})
	if err := x.Embed(context.Background()); err != nil || e.texts != 150 {
		t.Errorf("a tool that came back: %d texts, %v", e.texts, err)
	}
	e.calls = 0
	x.SearchAll(context.Background(), make([]Query, 10))
	if e.calls != 1 {
		t.Errorf("%d calls for a batch of queries", e.calls)
	}
	if err := New(Options{}).Embed(context.Background()); err != nil {
		t.Errorf("without an Embedder: %v", err)
	}
}

func TestAnEmbedderThatAnswersNonsenseIsAnErrorAndSearchGoesOn(t *testing.T) {
	t.Parallel()
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for name, v := range map[string][][]float32{
		"too few":     {},
		"too many":    {{1}, {1}},
		"an empty":    {{}},
		"a zero":      {{0, 0}},
		"not numbers": {{nan, 1}},
		"infinite":    {{inf, 1}},
		"a huge":      {make([]float32, maxDimensions+1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := New(Options{Embedder: &asks{answer: func(context.Context, []string) ([][]float32, error) { return v, nil }}})
			x.SetServer("s", "", []Tool{{Name: "stamp"}})
			if err := x.Embed(context.Background()); err == nil {
				t.Error("no error")
			}
			if r := x.Search(context.Background(), Query{Text: "stamp"}); len(r.Hits) != 1 || !strings.Contains(r.Note, "words alone") {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestVectorsOfAnotherLengthAreRefused(t *testing.T) {
	t.Parallel()
	length := 3
	x := New(Options{Embedder: &asks{answer: func(_ context.Context, texts []string) ([][]float32, error) {
		return slices.Repeat([][]float32{slices.Repeat([]float32{1}, length)}, len(texts)), nil
	}}})
	x.SetServer("s", "", []Tool{{Name: "stamp"}})
	if err := x.Embed(context.Background()); err != nil {
		t.Fatal(err)
	}
	length = 4
	if r := x.Search(context.Background(), Query{Text: "stamp"}); len(r.Hits) != 1 || !strings.Contains(r.Note, "expected 3") {
		t.Errorf("got %+v", r)
	}
}

func TestASlowEmbedderCostsItsTimeoutAndThenNothingForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		well := false
		e := &asks{answer: func(ctx context.Context, texts []string) ([][]float32, error) {
			if well {
				return concepts{}.Embed(ctx, texts)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		x := with(e, offices())
		ask := func() (Results, time.Duration) {
			start := time.Now()
			r := x.Search(context.Background(), Query{Text: "sign contract"})
			if len(r.Hits) == 0 || r.Hits[0].ID != "vault__sign_contract" {
				t.Errorf("got %+v", r)
			}
			return r, time.Since(start)
		}
		for range maxEmbedFailures {
			if r, took := ask(); took != embedTimeout || !strings.Contains(r.Note, "deadline") {
				t.Errorf("took %v: %q", took, r.Note)
			}
		}
		if r, took := ask(); took != 0 || !strings.Contains(r.Note, "30s") {
			t.Errorf("while paused: took %v: %q", took, r.Note)
		}
		time.Sleep(embedPause)
		well = true
		if err := x.Embed(context.Background()); err != nil {
			t.Fatal(err)
		}
		if r, _ := ask(); r.Note != "" {
			t.Errorf("after the pause: %q", r.Note)
		}
	})
}

func TestCancelledCallersAreNotFailuresOfTheEmbedder(t *testing.T) {
	t.Parallel()
	x := with(&asks{answer: func(ctx context.Context, texts []string) ([][]float32, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return concepts{}.Embed(ctx, texts)
	}}, offices())
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for range 2 * maxEmbedFailures {
		if r := x.Search(gone, Query{Text: "sign contract"}); len(r.Hits) == 0 || r.Note == "" {
			t.Errorf("got %+v", r)
		}
	}
	if err := x.Embed(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := x.Embed(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r := x.Search(context.Background(), Query{Text: "sign contract"}); r.Note != "" {
		t.Errorf("the embedder is paused: %q", r.Note)
	}
}
