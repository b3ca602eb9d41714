package sandbox

import (
	"strings"
	"testing"
)

// A server chooses the text of a failure, and each failure is examined before it is passed on.
func TestALongPathCostsLittle(t *testing.T) {
	root := machine(t)
	r := &refusing{root: -1, home: root + "/home", refuse: func(Refusal) {}}
	path := strings.Repeat("/a", maxMentionedPath/2)
	if got := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			r.mentioned(path, true)
		}
	}).AllocedBytesPerOp(); got > 100<<10 {
		t.Errorf("%d bytes are allocated for a path of %d", got, len(path))
	}
}

func TestOnlySoMuchOfAllTextsIsSearched(t *testing.T) {
	texts := append(make([]string, 0), strings.Repeat("a ", maxMentionedText/2))
	for len(texts)*maxMentionedText < maxMentionedTexts {
		texts = append(texts, texts[0])
	}
	if got := pathsIn(append(texts, "/srv/a")); got != nil {
		t.Errorf("found %q", got)
	}
	if got := pathsIn(append(texts[1:], "/srv/a")); len(got) != 1 {
		t.Errorf("found %q", got)
	}
}
