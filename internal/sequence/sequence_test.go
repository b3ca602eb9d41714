package sequence

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestLanesStandByTheirRankAndTheLastOneIsForAllOthers(t *testing.T) {
	client, process := Lane{Rank: 0, Name: "client"}, Lane{Rank: 1, Name: "junction"}
	d := Diagram{MaxLanes: 4, Others: "others"}
	for n := range 9 {
		d.Items = append(d.Items, Item{From: process, To: Lane{Rank: 2, Name: fmt.Sprint("server ", n)}, Title: "call"})
	}
	d.Items = append(d.Items, Item{From: client, To: process, Title: "call"})
	names := func() (all []string) {
		for _, lane := range d.lanes() {
			all = append(all, lane.Name)
		}
		return all
	}
	if got := strings.Join(names(), ", "); got != "junction, server 0, server 1, others" {
		t.Errorf("the lanes are %s", got)
	}
	d.MaxLanes = 0
	if got := names(); len(got) != 11 || got[0] != "client" || got[1] != "junction" {
		t.Errorf("without a limit the lanes are %q", got)
	}
}

// The programs of Mermaid refuse a diagram that is too long, even if names of lanes take most of
// it.
func TestDiagramsFitMermaid(t *testing.T) {
	d := Diagram{MaxLanes: 60, Others: "others", Summary: strings.Repeat("長", 500)}
	for n := range 2_000 {
		d.Items = append(d.Items, Item{From: Lane{Name: "client"}, To: Lane{Rank: 1, Name: fmt.Sprint(n, strings.Repeat("<", 40))}, Title: strings.Repeat(";", 200), Label: "x"})
	}
	var text strings.Builder
	if err := d.Mermaid(&text); err != nil || text.Len() > maxMermaid {
		t.Errorf("%d bytes, %v", text.Len(), err)
	}
	if !strings.Contains(text.String(), " earlier lines were left out\n") {
		t.Error("it does not say what was left out")
	}
}

func TestADiagramOfNothingIsOne(t *testing.T) {
	for name, d := range map[string]Diagram{"nothing": {}, "a note": {Items: []Item{{Form: Note, Title: "x"}}, Omitted: 1, Summary: "all"}} {
		var svg, mermaid strings.Builder
		if err := errors.Join(d.SVG(&svg), d.Mermaid(&mermaid)); err != nil || !strings.HasPrefix(mermaid.String(), "sequenceDiagram\n") || strings.Contains(mermaid.String(), "p1") {
			t.Errorf("%s: %v\n%s", name, err, mermaid.String())
		}
		decoder := xml.NewDecoder(strings.NewReader(svg.String()))
		for {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
