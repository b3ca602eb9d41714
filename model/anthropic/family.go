package anthropic

import (
	"strings"

	"github.com/junction-mcp/junction/model"
)

// family is what is known of models whose names begin alike.
type family struct {
	prefix string
	window int
	price  model.Price
}

// families have the prices of December 2025; the first that fits counts. What is not
// here has no price, which is better than a wrong one.
var families = []family{
	{"claude-opus-4-5", 200_000, model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}},
	{"claude-opus-4-1", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-opus-4-0", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-opus-4-2", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-sonnet-4-5", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-sonnet-4-0", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-sonnet-4-2", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-haiku-4-5", 200_000, model.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}},
	{"claude-3-5-haiku", 200_000, model.Price{Input: 0.8, Output: 4, CacheRead: 0.08, CacheWrite: 1}},
	{"claude-", 200_000, model.Price{}},
}

func familyOf(name string) family {
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f
		}
	}
	return family{}
}
