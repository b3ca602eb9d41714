package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

func pictured(mime, data string) model.Part {
	return model.Part{Media: &model.Media{Type: mime, Data: []byte(data)}}
}

// album returns a conversation with three pictures; the second is in a result.
func album() *model.Request {
	return &model.Request{Messages: []model.Message{
		{Role: model.RoleUser, Parts: []model.Part{{Text: "one"}, pictured("image/png", "first")}},
		{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: "1", Name: "x", Parts: []model.Part{{Text: "two"}, pictured("image/png", "second!")}}}}},
		{Role: model.RoleUser, Parts: []model.Part{{Text: "three"}, pictured("image/jpeg", "the third"), pictured("audio/wav", "sound")}},
	}}
}

// shown returns the data of the pictures and sounds in a request.
func shown(req *model.Request) (all []string) {
	var look func(parts []model.Part)
	look = func(parts []model.Part) {
		for _, p := range parts {
			if p.Media != nil {
				all = append(all, string(p.Media.Data))
			}
			if p.Result != nil {
				look(p.Result.Parts)
			}
		}
	}
	for _, m := range req.Messages {
		look(m.Parts)
	}
	return all
}

// If a provider refuses pictures, texts take their place. Otherwise the conversation could not
// continue. The complaints are quoted from issues.
func TestPicturesThatAreRefusedBecomeTexts(t *testing.T) {
	t.Parallel()
	for complaint, test := range map[string]struct {
		status int
		left   []string // nil if it is not a complaint about pictures
	}{
		"Invalid content type. image_url is only supported by certain models.":                                                                     {400, []string{"sound"}},
		"this model does not support image input (ref: b8bd630e)":                                                                                  {400, []string{"sound"}},
		"image input is not supported by this server":                                                                                              {500, []string{"sound"}},
		"Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`":                      {422, []string{"sound"}},
		"No endpoints found that support image input":                                                                                              {404, []string{"sound"}},
		"'messages.0' : for 'role:user' the following must be satisfied[('messages.0.content' : value must be a string)]":                          {400, []string{"sound"}},
		"At most 0 image(s) may be provided in one prompt.":                                                                                        {400, []string{"sound"}},
		"messages.19.content.27.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels":               {400, []string{"first", "second!", "sound"}},
		"Failed to load image or audio file":                                                                                                       {400, []string{"first", "second!", "sound"}},
		"tools.0.custom.name: generate_image is too long":                                                                                          {400, nil},
		"the image service is overloaded":                                                                                                          {503, nil},
		"This model's maximum context length is 4096 tokens. However, your messages resulted in 5000 tokens, of which 3000 are in images.":         {400, nil},
		"Failed to parse messages: Unsupported content part type: \"image_url\"; messages = [{\"role\":\"user\",\"content\":[{\"type\":\"text\"}]": {500, []string{"sound"}},
	} {
		s := &Service{Provider: "p"}
		requests, before := []*model.Request{}, fmt.Sprint(shown(album()))
		req := album()
		res, err := s.insist(req, func(sent *model.Request, _ []model.Tool) (*model.Response, error) {
			if requests = append(requests, sent); len(requests) > 1 {
				return &model.Response{}, nil
			}
			return nil, s.failure(Complaint{Message: complaint}, test.status)
		})
		if test.left == nil {
			if err == nil || len(requests) != 1 {
				t.Errorf("%s: %d requests and %v", complaint, len(requests), err)
			}
			continue
		}
		if err != nil || len(requests) != 2 {
			t.Fatalf("%s: %d requests and %v", complaint, len(requests), err)
		}
		if got := shown(requests[1]); !slices.Equal(got, test.left) {
			t.Errorf("%s: then it sends %q, want %q", complaint, got, test.left)
		}
		if len(res.Notes) != 1 || res.Notes[0].Tool != "" || !strings.Contains(res.Notes[0].Text, complaint) {
			t.Errorf("%s: the notes %+v", complaint, res.Notes)
		}
		if fmt.Sprint(shown(req)) != before {
			t.Errorf("%s: the caller's request was changed", complaint)
		}
		last := requests[1].Messages[2].Parts
		if want := "[image/jpeg of 9 bytes, which cannot be shown to this model]"; last[1].Text != want {
			t.Errorf("%s: in its place stands %+v", complaint, last[1])
		}
		// The refusal is remembered, and other pictures are still sent.
		req.Messages = append(req.Messages, model.Message{Role: model.RoleUser, Parts: []model.Part{pictured("image/png", "new")}})
		if got := shown(s.Learned.sendable(req, &model.Dialect{})); !slices.Equal(got, append(test.left, "new")) {
			t.Errorf("%s: the next request sends %q", complaint, got)
		}
	}
}

// Each complaint about one picture removes the newest one that is left, until none is.
func TestPicturesAreLeftOutOneAfterTheOther(t *testing.T) {
	t.Parallel()
	s := &Service{Provider: "p"}
	var sent []string
	_, err := s.insist(album(), func(req *model.Request, _ []model.Tool) (*model.Response, error) {
		sent = append(sent, strings.Join(shown(req), "+"))
		return nil, s.failure(Complaint{Message: "could not process image"}, 400)
	})
	if want := []string{"first+second!+the third+sound", "first+second!+sound", "first+sound", "sound"}; err == nil || !slices.Equal(sent, want) {
		t.Errorf("sent %q, %v", sent, err)
	}
}

func TestPicturesThatADialectDoesNotTakeBecomeTexts(t *testing.T) {
	t.Parallel()
	kinds := []string{"image/png", "image/jpg", "image/JPEG; q=1", "image/gif", "image/webp", "image/svg+xml", "application/pdf"}
	for name, want := range map[string]string{
		"plain":     "image/png image/jpg image/JPEG; q=1 image/gif image/webp image/svg+xml application/pdf",
		"openai":    "image/png image/jpg image/JPEG; q=1 image/gif image/webp application/pdf",
		"anthropic": "image/png image/jpg image/JPEG; q=1 image/gif image/webp application/pdf",
		"gemini":    "image/png image/jpg image/JPEG; q=1 image/webp application/pdf",
		"grammar":   "image/png image/jpg image/JPEG; q=1 image/gif application/pdf",
	} {
		d, _ := model.DialectNamed(name)
		req := &model.Request{Messages: []model.Message{{Role: model.RoleUser}}}
		for _, kind := range kinds {
			req.Messages[0].Parts = append(req.Messages[0].Parts, pictured(kind, kind))
		}
		if got := strings.Join(shown((&Learned{}).sendable(req, &d)), " "); got != want {
			t.Errorf("%s: sends %s, want %s", name, got, want)
		}
	}
}

// If the provider counts no tokens, a picture is not free.
func TestAPictureIsEstimated(t *testing.T) {
	t.Parallel()
	if got := Estimate(album(), &model.Message{}).Input; got < 3*model.PictureTokens {
		t.Errorf("%d tokens", got)
	}
}
