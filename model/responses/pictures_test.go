package responses

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

// The form is that of https://platform.openai.com/docs/guides/images-vision for responses. A
// refused picture is not sent again.
func TestAPictureOfTheUserIsSent(t *testing.T) {
	req := asking()
	last := &req.Messages[len(req.Messages)-1]
	last.Parts = append(last.Parts, model.Part{Media: &model.Media{Type: "image/webp", Data: []byte("WEBP")}})
	m, s := opened(t, Options{}, refusal("The image data you provided does not represent a valid image"), reply{200, fine})
	res, err := m.Generate(t.Context(), req, nil)
	if err != nil || len(s.sent) != 2 || len(res.Notes) != 1 {
		t.Fatalf("%d requests, %+v, %v", len(s.sent), res, err)
	}
	for i, want := range []string{
		`"content":[{"type":"input_text","text":"and?"},{"type":"input_image","image_url":"data:image/webp;base64,V0VCUA=="}]`,
		`and?\n\n[image/webp of 4 bytes, which cannot be shown to this model]`,
	} {
		if !strings.Contains(s.sent[i], want) {
			t.Errorf("request %d lacks %s: %s", i, want, s.sent[i])
		}
	}
}
