package integration

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// A trace is drawn as SVG, which every program for XML can read, and as Mermaid, which
// Mermaid itself renders in a browser.
func TestTraceIsDrawn(t *testing.T) {
	t.Parallel()
	chat := newChat(t, everythingOf(t), sumTalk(), "--approve", "everything", "--allow", "everything/add")
	for name, verify := range map[string]func(*testing.T, string){"trace.svg": verifySVG, "trace.mmd": verifyMermaid} {
		t.Run(name, func(t *testing.T) {
			if _, stderr, code := chat.ask(t, "What are two and forty?", "--trace-file", name); code != 0 {
				t.Fatalf("exit code %d: %.2000s", code, stderr)
			}
			drawing, err := os.ReadFile(chat.home + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"tools/list", "add", "What are two and forty?", "It is 42."} {
				if !strings.Contains(string(drawing), word) {
					t.Errorf("%q is not in the diagram", word)
				}
			}
			verify(t, string(drawing))
		})
	}
}

func verifySVG(t *testing.T, drawing string) {
	t.Helper()
	elements := 0
	for decoder := xml.NewDecoder(strings.NewReader(drawing)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in %.500s", err, drawing)
		}
		if start, ok := token.(xml.StartElement); ok {
			if elements++; elements == 1 && start.Name.Local != "svg" {
				t.Errorf("the first element is %s", start.Name.Local)
			}
		}
	}
	if elements < 20 {
		t.Errorf("the diagram has %d elements", elements)
	}
}

// renderPage lets Mermaid render a text.
const renderPage = `<!doctype html><meta charset="utf-8"><script src="mermaid.js"></script><pre id="text">%s</pre><div id="out"></div><script>
mermaid.initialize({startOnLoad: false})
mermaid.render("drawn", document.getElementById("text").textContent).then(
  drawn => { document.body.innerHTML = "<h1>rendered</h1>" + drawn.svg },
  fault => { document.body.textContent = "refused: " + fault })
</script>`

func verifyMermaid(t *testing.T, drawing string) {
	t.Helper()
	script := npm(t, "diagram", "node_modules", "@mermaid-js", "tiny", "dist", "mermaid.tiny.js")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mermaid.js" {
			http.ServeFile(w, r, script)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, renderPage, html.EscapeString(drawing))
	}))
	t.Cleanup(server.Close)
	page := run(t, isolated(t), program(t, "chromium"), "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(),
		"--virtual-time-budget=60000", "--dump-dom", server.URL+"/")
	for _, word := range []string{"<h1>rendered</h1>", "<svg", "call add", "7 answer", "It is 42."} {
		if !strings.Contains(page, word) {
			t.Fatalf("%q is not in what Mermaid renders: %.1500s\nthe text is\n%.1500s", word, page, drawing)
		}
	}
}
