package host

import (
	"slices"

	"github.com/junction-mcp/junction/model"
)

// dropMedia drops the data of images and sounds in messages that a summary stands for. The
// model is not sent them any more, and a conversation of days would hold every
// screenshot of it.
func (c *Conversation) dropMedia() {
	replaced := c.summary.Messages
	c.messages = slices.Clone(c.messages) // requests may still hold the others
	bare := map[*model.Part]*model.Message{}
	for i := range c.messages[:min(replaced, len(c.messages))] {
		m := &c.messages[i]
		if parts, some := withoutMedia(m.Parts); some {
			first := &m.Parts[0]
			m.Parts = parts
			copied := *m
			bare[first] = &copied
		}
	}
	for i := range c.entries {
		if m := c.entries[i].Message; m != nil && len(m.Parts) > 0 && bare[&m.Parts[0]] != nil {
			c.entries[i].Message = bare[&m.Parts[0]]
		}
	}
}

// withoutMedia is parts without the data of images and sounds, and whether there was any.
func withoutMedia(parts []model.Part) (bare []model.Part, some bool) {
	bare = slices.Clone(parts)
	for i := range bare {
		p := &bare[i]
		switch {
		case p.Media != nil && len(p.Media.Data) > 0:
			p.Media, some = &model.Media{Type: p.Media.Type}, true
		case p.Result != nil:
			if of, any := withoutMedia(p.Result.Parts); any {
				result := *p.Result
				result.Parts, some = of, true
				p.Result = &result
			}
		}
	}
	return bare, some
}
