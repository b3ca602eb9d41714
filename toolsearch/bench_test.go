package toolsearch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// made returns the tools of an invented server. Their words are random syllables, few of them
// common and most rare.
func made(r *rand.Rand, n int) []Tool {
	word := func() string {
		const syllables = "ba be bi bo da de di do ka ke ki ko la le li lo ma me mi mo ra re ri ro ta te ti to"
		parts := strings.Fields(syllables)
		k := int(r.ExpFloat64() * 120)
		return parts[k%len(parts)] + parts[k/len(parts)%len(parts)] + parts[(k/7+3)%len(parts)] + "n"
	}
	text := func(words int) string {
		out := make([]string, words)
		for i := range out {
			out[i] = word()
		}
		return strings.Join(out, " ")
	}
	tools := make([]Tool, n)
	for i := range tools {
		tools[i] = Tool{
			Name:        fmt.Sprintf("%s_%s_%d", word(), word(), i),
			Description: text(20 + r.IntN(20)),
			Schema: fmt.Appendf(nil, `{"type":"object","properties":{"%s":{"type":"string","description":%q},"%s":{"type":"integer","description":%q}}}`,
				"a"+word(), text(8), "b"+word(), text(8)),
		}
	}
	return tools
}

func catalogue(tools int) *Index {
	x := New(Options{})
	r := rand.New(rand.NewPCG(3, 4))
	for i := 0; i < tools; i += 5 {
		x.SetServer(fmt.Sprint("server", i), "", made(r, min(5, tools-i)))
	}
	return x
}

const asked = "babebin bebobon kadoren, the dabakin of a lakiton and bibaben with 3 delodin"

func TestASearchAllocatesLittle(t *testing.T) {
	x := catalogue(300)
	q := Query{Text: asked}
	if n := testing.AllocsPerRun(100, func() { x.Search(context.Background(), q) }); n > 8 {
		t.Errorf("%v allocations a search", n)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := catalogue(2_375)
	b.ReportAllocs()
	for b.Loop() {
		x.Search(context.Background(), Query{Text: asked})
	}
}

func BenchmarkSearchAllowed(b *testing.B) {
	x := catalogue(2_375)
	b.ReportAllocs()
	for b.Loop() {
		x.Search(context.Background(), Query{Text: asked, Allow: func(id string) bool { return len(id)%2 == 0 }})
	}
}

func BenchmarkIndex(b *testing.B) {
	tools := made(rand.New(rand.NewPCG(3, 4)), 2_375)
	for b.Loop() {
		x := New(Options{})
		for i := 0; i < len(tools); i += 5 {
			x.SetServer(fmt.Sprint("server", i), "", tools[i:i+5])
		}
	}
}

func BenchmarkChangedTool(b *testing.B) {
	x := catalogue(2_375)
	tools := made(rand.New(rand.NewPCG(5, 6)), 100)
	x.SetServer("last", "", tools)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		tools[7].Description = fmt.Sprint("babebin ", i)
		x.SetServer("last", "", tools)
	}
}

// BenchmarkRemember measures remembering a used query, and the search after it.
func BenchmarkRemember(b *testing.B) {
	x := catalogue(5_000)
	var ids []string
	for _, p := range x.table().slots {
		ids = append(ids, p.tool.ID)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Remember(ids[i*7%len(ids)], fmt.Sprint("babebin bebobon kadoren the lakiton of ", i%1_000))
		x.Search(context.Background(), Query{Text: asked})
	}
}
