package openai

import (
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// llama.cpp reports with a server error that a model supports no pictures, and that it cannot read
// one, such as WebP.
func TestAModelWithoutEyesGetsTexts(t *testing.T) {
	t.Parallel()
	blind := answer{status: http.StatusInternalServerError, body: `{"error":{"code":500,"message":"image input is not supported by this server","type":"server_error"}}`}
	s, m := at(t, Options{Provider: "llamacpp"}, blind)
	req := hello()
	req.Messages[0].Parts = append(req.Messages[0].Parts,
		model.Part{Media: &model.Media{Type: "image/png", Data: []byte("PNG")}}, model.Part{Media: &model.Media{Type: "image/webp", Data: []byte("WEBP")}})
	if res := generate(t, m, req); len(res.Notes) != 1 || !strings.Contains(res.Notes[0].Text, "a picture is not shown to the model, because its provider refused: image input is not supported") {
		t.Errorf("the notes %+v", res.Notes)
	}
	for i, want := range []string{
		`[{"content":[{"text":"hello","type":"text"},{"image_url":{"url":"data:image/png;base64,UE5H"},"type":"image_url"},{"text":"[image/webp of 4 bytes, which cannot be shown to this model]","type":"text"}],"role":"user"}]`,
		`[{"content":"hello\n\n[image/png of 3 bytes, which cannot be shown to this model]\n\n[image/webp of 4 bytes, which cannot be shown to this model]","role":"user"}]`,
	} {
		if got := s.member(t, i, "messages"); got != want {
			t.Errorf("request %d: %s", i, got)
		}
	}
}
