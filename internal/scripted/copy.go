package scripted

import (
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/model"
)

// kept returns a deep copy of a request.
func kept(req *model.Request) *model.Request {
	own := *req
	own.Tools = slices.Clone(req.Tools)
	for i := range own.Tools {
		own.Tools[i].Schema = slices.Clone(own.Tools[i].Schema)
	}
	own.Stop = slices.Clone(req.Stop)
	own.Messages = slices.Clone(req.Messages)
	for i := range own.Messages {
		own.Messages[i] = copied(&own.Messages[i])
	}
	return &own
}

// copied returns a deep copy of a message. The copy shares the data of providers (Extra, Opaque,
// raw reasoning), which is never modified.
func copied(m *model.Message) model.Message {
	own := *m
	own.Parts = copiedParts(m.Parts)
	return own
}

func copiedParts(parts []model.Part) []model.Part {
	own := slices.Clone(parts)
	for i := range own {
		p := &own[i]
		p.Media, p.Reasoning, p.Opaque = pointed(p.Media), pointed(p.Reasoning), pointed(p.Opaque)
		if p.Call = pointed(p.Call); p.Call != nil {
			p.Call.Arguments = slices.Clone(p.Call.Arguments)
		}
		if p.Result = pointed(p.Result); p.Result != nil {
			p.Result.Parts = copiedParts(p.Result.Parts)
		}
	}
	return own
}

func pointed[T any](p *T) *T {
	if p == nil {
		return nil
	}
	own := *p
	return &own
}

// size returns the approximate total size of parts of a request in bytes.
func size(parts ...any) (n int) {
	for _, part := range parts {
		text, _ := json.Marshal(part) // a part that cannot be encoded counts as 0
		n += len(text)
	}
	return n
}
