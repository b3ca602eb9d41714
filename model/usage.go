package model

import "cmp"

// Usage counts tokens.
type Usage struct {
	// Input are the tokens of the request, those read from and written to the
	// provider's cache included.
	Input int `json:"input"`
	// Output are the tokens of the answer, its reasoning included.
	Output int `json:"output"`
	// CacheRead and CacheWrite are the part of Input that came from the provider's
	// prompt cache, and that went into it.
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	// Reasoning is the part of Output that was thought, where the provider says so.
	Reasoning int `json:"reasoning,omitempty"`
	// Estimated is whether the provider said nothing and the numbers are a guess
	// from the length of the texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
		Estimated:  u.Estimated || v.Estimated,
	}
}

// Price is what tokens cost, in US dollars for a million of them. The zero Price is one
// that is not known.
type Price struct {
	// Free says that they cost nothing.
	Free       bool    `json:"free,omitempty"`
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cacheRead,omitempty"`  // 0 means as Input
	CacheWrite float64 `json:"cacheWrite,omitempty"` // 0 means as Input
}

// Known reports whether it is known what tokens cost.
func (p Price) Known() bool { return p != Price{} }

// Cost returns what the tokens cost, in US dollars.
func (p Price) Cost(u Usage) float64 {
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	plain := max(0, u.Input-u.CacheRead-u.CacheWrite)
	return (float64(plain)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write + float64(u.Output)*p.Output) / 1e6
}

// PictureTokens is a guess how many tokens a picture takes: providers scale it down until
// it takes some 260 to 1,600.
const PictureTokens = 1_200

// EstimateTokens guesses how many tokens a text of so many bytes has: a quarter.
// It is used before a provider has counted, and where none does.
func EstimateTokens(bytes int) int { return (bytes + 3) / 4 }
