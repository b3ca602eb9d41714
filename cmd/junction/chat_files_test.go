package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAFileGoesAlong(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{"list.txt": "buy milk\n", "picture.png": "\x89PNG\x00"})
	if got := runs(t, "", "chat", "-p", "add 2 and 40", "--attach", "list.txt"); got.code != cli.ExitOK || got.stdout != "42\n" {
		t.Errorf("%+v", got)
	}
	if got := runs(t, "", "conversations", "export", "last"); !strings.Contains(got.stdout, "[attached: list.txt]") || !strings.Contains(got.stdout, "buy milk") {
		t.Errorf("recorded %s", got.stdout)
	}
	if got := runs(t, "", "chat", "-p", "x", "--attach", "picture.png"); got.code != cli.ExitUsage || !strings.Contains(got.stderr, "picture.png is neither text") {
		t.Errorf("%+v", got)
	}
}

// A picture goes to the model, into the archive and out of it, and a trace names it.
func TestAPictureGoesAlong(t *testing.T) {
	clitest.NoState(t)
	clitest.Write(t, map[string]string{"cat.png": clitest.Painted(t, 640, 480), "bad.png": clitest.Painted(t, 3, 4)[:20]})
	var sent []string
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent = append(sent, string(body)); len(sent) == 3 {
			http.Error(w, `{"error":{"message":"this model does not support image input"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A cat.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(provider.Close)
	model := []string{"--model", "openai:eyes", "--base-url", provider.URL}
	const name, url = "[attached: picture cat.png (640x480, 1 KB)]", `"image_url":{"url":"data:image/png;base64,iVBORw0KGgo`

	got := runs(t, "", append([]string{"chat", "-p", "what is it?", "--attach", "cat.png", "--json", "--trace", "--trace-file", "run.svg"}, model...)...)
	if got.code != cli.ExitOK || !strings.Contains(got.stdout, `"answered":{"text":"A cat."`) || strings.Contains(got.stdout, "iVBOR") {
		t.Errorf("%+v", got)
	}
	if len(sent) != 1 || !strings.Contains(sent[0], name) || !strings.Contains(sent[0], url) {
		t.Fatalf("sent %.2000q", sent)
	}
	diagram, err := os.ReadFile(clitest.In(t, "run.svg"))
	for what, text := range map[string]string{"the trace": got.stderr, "the diagram": string(diagram)} {
		if err != nil || !strings.Contains(text, "picture cat.png") || !strings.Contains(text, "[image/png]") {
			t.Errorf("%s does not name the picture: %v\n%.3000s", what, err, text)
		}
	}
	for format, want := range map[string][]string{"markdown": {name, "[image/png, 1225 bytes]"}, "json": {name, `"data":"iVBORw0KGgo`}} {
		exported := runs(t, "", "conversations", "export", "last", "--format", format)
		for _, want := range want {
			if !strings.Contains(exported.stdout, want) {
				t.Errorf("%s lacks %s: %s%s", format, want, exported.stdout, exported.stderr)
			}
		}
	}

	got = runs(t, clitest.Painted(t, 3, 4), append([]string{"chat", "--resume", "-p", "and this?", "--attach", "-"}, model...)...)
	if got.code != cli.ExitOK || len(sent) != 2 || strings.Count(sent[1], url) != 2 || !strings.Contains(sent[1], "picture standard input (3x4, 75 bytes)") {
		t.Errorf("%+v, sent %.3000q", got, sent[1:])
	}
	got = runs(t, "", append([]string{"chat", "--resume", "-p", "sure?"}, model...)...) // by a model that sees nothing
	if got.code != cli.ExitOK || len(sent) != 4 || strings.Contains(sent[3], "image_url") || !strings.Contains(got.stderr, "2 pictures are not shown to the model, as its provider refused: this model does not support image input") {
		t.Errorf("%+v, sent %.3000q", got, sent[2:])
	}
	for _, attach := range []string{"bad.png", "-"} {
		got := runs(t, clitest.Painted(t, 3, 4)[:20], "chat", "-p", "x", "--attach", attach)
		if got.code != cli.ExitUsage || !strings.Contains(got.stderr, "begins as a PNG picture, and is damaged") {
			t.Errorf("%s: %+v", attach, got)
		}
	}
}
