package main

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/up/layer"
)

// Each layer is around one thing, those that are around more stand before those around less, and ARCHITECTURE.md has them in this order.
func TestTheChainIsAsThePageSays(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var names [3][]string
	last := layer.Edge
	for _, l := range layer.All() {
		scope := l.Scope()
		names[scope] = append(names[scope], l.Name)
		if scope < last {
			t.Errorf("%s is around more than what stands before it", l.Name)
		}
		last = scope
	}
	for _, some := range names {
		if list := strings.Join(some, ", "); !strings.Contains(strings.Join(strings.Fields(string(page)), " "), ": "+list) {
			t.Errorf("ARCHITECTURE.md does not have %s", list)
		}
	}
}
