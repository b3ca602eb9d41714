package anthropic

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// The form is that of https://docs.anthropic.com/en/docs/vision. A refused picture is not sent
// again.
func TestAPictureOfTheUserIsSent(t *testing.T) {
	req := asking()
	req.Messages[0].Parts = append(req.Messages[0].Parts, model.Part{Media: &model.Media{Type: "image/webp", Data: []byte("WEBP")}})
	m, s := opened(t, Options{}, refusal("messages.0.content.1.image.source.base64: Could not process image"), reply{200, fine})
	res, err := m.Generate(t.Context(), req, nil)
	if err != nil || len(s.sent) != 2 || len(res.Notes) != 1 {
		t.Fatalf("%d requests, %+v, %v", len(s.sent), res, err)
	}
	for i, want := range []string{
		`{"type":"image","source":{"type":"base64","media_type":"image/webp","data":"V0VCUA=="}`,
		`{"type":"text","text":"[image/webp of 4 bytes, which cannot be shown to this model]"`,
	} {
		if !strings.Contains(s.sent[i], want) {
			t.Errorf("request %d lacks %s: %s", i, want, s.sent[i])
		}
	}
}
