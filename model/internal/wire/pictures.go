package wire

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/model"
)

// Every later request would include a refused picture again, and the conversation could not
// continue. So pictures are omitted after a refusal.
var (
	// aboutPictures matches an error about a picture in the request. Servers with text-only models
	// report an error about the list that contains the picture.
	aboutPictures = lazy.Regexp(`(?i)\bimages?\b|image_url|input_image|multi-?modal|mmproj|content.{0,20} must be a string`)
	// noPictures matches an error about pictures in general, not about one defective picture.
	noPictures = lazy.Regexp(`(?i)not (be )?(supported|enabled)|does(n't| not) support|unsupported content|unknown variant|only supported by|endpoints found|must be a string|at most 0 |not a multi-?modal|missing data required`)
)

// sendable returns the request with texts in place of refused pictures. It shares unchanged parts
// with req.
func (l *Learned) sendable(req *model.Request, d *model.Dialect) *model.Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	takes := func(m *model.Media) bool {
		return !isPicture(m) || d.TakesPicture(m.Type) && (len(l.refused) == 0 || l.refused[sha256.Sum256(m.Data)] == "")
	}
	sent, changed := *req, false
	for i := range req.Messages {
		parts := withTexts(req.Messages[i].Parts, takes)
		if parts == nil {
			continue
		}
		if !changed {
			sent.Messages, changed = slices.Clone(req.Messages), true
		}
		sent.Messages[i].Parts = parts
	}
	return &sent
}

func isPicture(m *model.Media) bool { return strings.HasPrefix(strings.ToLower(m.Type), "image/") }

// withTexts returns parts with texts in place of media for which takes returns false. It returns
// nil if nothing changed.
func withTexts(parts []model.Part, takes func(*model.Media) bool) []model.Part {
	var changed []model.Part
	for i, p := range parts {
		switch {
		case p.Media != nil && !takes(p.Media):
			p = model.Part{Text: NotShown(p.Media)}
		case p.Result != nil:
			inner := withTexts(p.Result.Parts, takes)
			if inner == nil {
				continue
			}
			result := *p.Result
			result.Parts, p.Result = inner, &result
		default:
			continue
		}
		if changed == nil {
			changed = slices.Clone(parts)
		}
		changed[i] = p
	}
	return changed
}

// fromPictures learns from an error about pictures. It marks all sent pictures as refused, or only
// the newest ones if the error is about one picture. Some servers report it with the status of a
// server error.
func (l *Learned) fromPictures(err error, sent *model.Request) (notes []model.Note, again bool) {
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Status < 400 || failure.Status > 501 || failure.Err != nil || !aboutPictures().MatchString(failure.Message) {
		return nil, false
	}
	all := noPictures().MatchString(failure.Message)
	n := 0
	for i := len(sent.Messages) - 1; i >= 0 && (all || n == 0); i-- {
		n += l.refusePictures(sent.Messages[i].Parts)
	}
	if n == 0 {
		return nil, false
	}
	what := "a picture is"
	if n > 1 {
		what = fmt.Sprintf("%d pictures are", n)
	}
	return []model.Note{{Text: what + " not shown to the model, because its provider refused: " + failure.Message}}, true
}

// refusePictures marks the pictures among parts as refused and returns their number.
func (l *Learned) refusePictures(parts []model.Part) (n int) {
	for i := range parts {
		if result := parts[i].Result; result != nil {
			n += l.refusePictures(result.Parts)
		}
		if m := parts[i].Media; m != nil && isPicture(m) {
			l.remember(sha256.Sum256(m.Data), "a picture")
			n++
		}
	}
	return n
}

// picturesIn returns the number of pictures among parts.
func picturesIn(parts []model.Part) (n int) {
	for i := range parts {
		if result := parts[i].Result; result != nil {
			n += picturesIn(result.Parts)
		}
		if parts[i].Media != nil {
			n++
		}
	}
	return n
}
