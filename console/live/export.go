package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/junction-mcp/junction/console/reply"
)

const (
	maxDrawn      = 2_000 // messages of a diagram, the newest
	maxAnswerAway = 1_000 // messages of a call between a request and its answer
	exportTime    = 30 * time.Second
)

func (r *Ring) serveExport(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	f, err := filterOf(q)
	if err != nil {
		reply.Error(w, http.StatusBadRequest, err)
		return
	}
	form, known := map[string]struct {
		contentType string
		write       func(http.ResponseWriter, *filter) error
	}{
		"jsonl":   {"application/jsonl", r.exportLines},
		"har":     {"application/json", r.exportHAR},
		"svg":     {"image/svg+xml", func(w http.ResponseWriter, f *filter) error { return r.draw(f).SVG(w) }},
		"mermaid": {"text/plain; charset=utf-8", func(w http.ResponseWriter, f *filter) error { return r.draw(f).Mermaid(w) }},
	}[q.Get("format")]
	if !known {
		reply.Error(w, http.StatusBadRequest, fmt.Errorf("format: expected jsonl, har, svg or mermaid, got %.40q", q.Get("format")))
		return
	}
	ending := q.Get("format")
	if ending == "mermaid" {
		ending = "mmd"
	}
	w.Header().Set("Content-Type", form.contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="traffic.`+ending+`"`)
	_ = form.write(w, &f) // who does not read it any more is gone
}

// each calls do with all messages that a filter shows, the oldest first.
func (r *Ring) each(w http.ResponseWriter, f *filter, do func(*summary) error) error {
	out := http.NewResponseController(w)
	for p := (page{More: true}); p.More; {
		p = r.list(f, p.Next, true, maxPage)
		_ = out.SetWriteDeadline(time.Now().Add(exportTime)) // where there is none, whoever serves has one
		for i := range p.Items {
			if err := do(&p.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Ring) exportLines(w http.ResponseWriter, f *filter) error {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return r.each(w, f, func(s *summary) error {
		d, known := r.wholeOf(s.Seq)
		if !known {
			return nil
		}
		return lines.Encode(&d)
	})
}
